package tool

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agent-ls/hooks/shell"
)

// readOnly tells whether a line is one plain command that only looks, so that
// it may run beside others. Pipes, redirects, chains, substitutions, subshells
// and words that are not known are none of it. It is no judgement about what
// may run: policy makes that.
func readOnly(line string) bool {
	cs := shell.Commands(line)
	if len(cs) != 1 || !cs[0].Name.Known || cs[0].Name.Text == "" {
		return false
	}
	c := cs[0]
	if len(c.Redirects) > 0 || len(c.Assigns) > 0 || len(c.Through) > 0 {
		return false
	}
	args, known := plainWords(c.Args)
	if !known || !plainCall(line) {
		return false
	}
	if c.Name.Text == "git" {
		return gitLooks(args)
	}
	forbidden, looks := looking[c.Name.Text]
	return looks && !slices.ContainsFunc(args, func(a string) bool { return hasOption(a, forbidden) })
}

// plainCall tells whether a line is a single command as it stands, not one in
// a subshell, a block or the background.
func plainCall(line string) bool {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || len(f.Stmts) != 1 {
		return false
	}
	st := f.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && !st.Background && !st.Coprocess && !st.Negated
}

// looking are commands that change nothing, with the options that make them
// do so or run something.
var looking = map[string][]string{
	"ls": nil, "cat": nil, "head": nil, "tail": {"-f", "-F", "--follow", "--retry"}, "nl": nil, "tac": nil, "pwd": nil, "wc": nil,
	"stat": nil, "file": {"-C", "--compile"}, "du": nil, "df": nil, "which": nil, "type": nil, "whoami": nil, "id": nil, "uname": nil,
	"basename": nil, "dirname": nil, "realpath": nil, "readlink": nil, "echo": nil, "true": nil, "false": nil, "test": nil,
	"grep": nil, "egrep": nil, "fgrep": nil, "rg": {"--pre", "--hostname-bin", "--search-zip", "-z"},
	"diff": nil, "cmp": nil, "comm": nil, "cut": nil, "sort": {"-o", "--output", "--compress-program", "-T", "--temporary-directory"},
	"sha256sum": nil, "sha1sum": nil, "md5sum": nil, "cksum": nil, "ps": nil, "nproc": nil,
	"tree": {"-o", "--output"},
	"find": {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"},
}

// hasOption tells whether an argument is one of the options, or has it in a
// bundle of letters, or shortens its name.
func hasOption(arg string, options []string) bool {
	for _, o := range options {
		switch {
		case arg == o || strings.HasPrefix(arg, o+"="):
			return true
		case strings.HasPrefix(o, "--"):
			name, _, _ := strings.Cut(arg, "=")
			if len(name) > 2 && strings.HasPrefix(o, name) {
				return true
			}
		case len(o) == 2 && strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, o[1:]):
			return true
		}
	}
	return false
}

// gitReads are git's subcommands that only look, with what makes them do more.
var gitReads = map[string][]string{
	"status": nil, "log": gitRuns, "diff": gitRuns, "show": gitRuns, "blame": gitRuns, "shortlog": nil, "describe": nil,
	"rev-parse": nil, "rev-list": nil, "ls-files": nil, "ls-tree": nil, "merge-base": nil, "cat-file": {"--textconv", "--filters"},
	"grep": {"-O", "--open-files-in-pager", "--ext-grep", "--textconv"},
}

var gitRuns = []string{"--output", "--ext-diff", "--textconv"}

func gitLooks(args []string) bool {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return false // -c, --exec-path and the like change what git runs
	}
	forbidden, looks := gitReads[args[0]]
	return looks && !slices.ContainsFunc(args[1:], func(a string) bool { return hasOption(a, forbidden) })
}
