package shell

import (
	"slices"
	"strings"

	"agent-ls/hooks/lazyexp"
)

// scriptOptions are the options of a command whose values a shell runs.
type scriptOptions struct {
	short string
	long  []string
}

var scriptOptionsOf = map[string]scriptOptions{
	"tar":        {"IF", []string{"to-command", "use-compress-program", "checkpoint-action", "rsh-command", "info-script", "new-volume-script"}},
	"rsync":      {"e", []string{"rsh", "rsync-path"}},
	"npx":        {"c", []string{"call"}},
	"npm exec":   {"c", []string{"call"}},
	"npm x":      {"c", []string{"call"}},
	"git rebase": {"x", []string{"exec"}},
	"git grep":   {"O", []string{"open-files-in-pager"}},
	"git clone":  {"u", []string{"upload-pack"}},
	"git fetch":  {"", []string{"upload-pack"}}, "git pull": {"", []string{"upload-pack"}}, "git ls-remote": {"", []string{"upload-pack", "exec"}},
	"git fetch-pack": {"", []string{"upload-pack", "exec"}}, "git archive": {"", []string{"exec"}}, "git push": {"", []string{"receive-pack", "exec"}}, "git send-pack": {"", []string{"receive-pack", "exec"}},
	"git difftool":      {"x", []string{"extcmd"}},
	"git filter-branch": {"", []string{"setup", "subdirectory-filter", "env-filter", "tree-filter", "index-filter", "parent-filter", "msg-filter", "commit-filter", "tag-name-filter"}},
	"sort":              {"", []string{"compress-program"}}, "split": {"", []string{"filter"}}, "zip": {"", []string{"unzip-command"}}, "rg": {"", []string{"pre"}},
	"nc": {"c", []string{"sh-exec", "exec"}}, "ncat": {"c", []string{"sh-exec", "exec"}}, "man": {"P", []string{"pager"}},
}

var (
	sedRuns   = lazyexp.New(`(^|[^\w\s]|[0-9IM\n])\s*e(\s|$|[;}])|[^\w\s][gpiImM0-9]*e[gpiImM0-9]*\s*($|[;}\n])`)
	awkRuns   = lazyexp.New(`system|getline|print(.*[^|])?\|($|[^|])|@load`)
	editorRun = lazyexp.New(`!|system|exe|call|py|lua|perl|ruby|term|make|grep|source|^so`)
	gitKeys   = lazyexp.New(`(?i)pager|editor|command|\.cmd$|program|external|textconv|helper|hookspath|fsmonitor|\.clean$|\.smudge$|\.process$|driver|include|askpass|proxy|protocol|uploadpack|receivepack|browser|^man\.`)
	// alternative are names under which a command goes by as well.
	alternative = map[string]string{"gtar": "tar", "bsdtar": "tar", "gsed": "sed", "gawk": "awk", "mawk": "awk", "nawk": "awk", "vi": "vim", "nvim": "vim", "ex": "vim", "view": "vim", "vimdiff": "vim", "gvim": "vim", "lldb": "gdb", "bunx": "npx", "byobu": "screen", "zellij": "screen"}
)

// scripts reads the commands that a command's options and programs hold.
func (r *reader) scripts(name string, cmd Command, s scope) {
	if other, ok := alternative[name]; ok {
		name = other
	}
	args := cmd.Args
	r.optionScripts(name, args, s)
	switch name {
	case "git":
		r.git(args, s)
	case "npm":
		if len(args) > 0 && args[0].Known {
			r.optionScripts("npm "+args[0].Text, args[1:], s)
		}
	case "sed":
		if anyText(args, func(t string) bool { return sedRuns.MatchString(sedProgram(t)) }) {
			r.lost(s)
		}
	case "awk":
		if anyText(args, awkRuns.MatchString) {
			r.lost(s)
		}
	case "vim":
		r.editor(args, s)
	case "gdb":
		r.debugger(args, s)
	case "tmux", "screen":
		if !slices.ContainsFunc(args, func(a Word) bool {
			return a.Known && (strings.HasPrefix(a.Text, "ls") || strings.HasPrefix(a.Text, "list") || a.Text == "-V" || a.Text == "-ls" || a.Text == "-v" || strings.HasPrefix(a.Text, "has") || strings.HasPrefix(a.Text, "kill-"))
		}) || len(args) > 3 {
			r.lost(s)
		}
	case "socat":
		if anyText(args, func(t string) bool {
			t = strings.ToUpper(t)
			return strings.Contains(t, "EXEC:") || strings.Contains(t, "SYSTEM:") || strings.Contains(t, "SHELL:")
		}) {
			r.lost(s)
		}
	case "capsh":
		for i, a := range args {
			if a.Known && (a.Text == "--" || a.Text == "==") {
				r.shell(Command{Args: args[i+1:], Redirects: cmd.Redirects}, s)
				return
			}
		}
	case "jobs":
		if len(args) > 1 && args[0].Known && args[0].Text == "-x" {
			r.command(args[1:], nil, cmd.Redirects, s)
		}
	}
}

// editor reads the commands that vim is given at its start.
func (r *reader) editor(args []Word, s scope) {
	for i, a := range args {
		command := strings.HasPrefix(a.Text, "+") || i > 0 && (args[i-1].Text == "-c" || args[i-1].Text == "--cmd" || args[i-1].Text == "-S")
		if a.Known && command && editorRun.MatchString(a.Text) || !a.Known && command {
			r.lost(s)
			return
		}
	}
}

// debugger reads what gdb runs: the program behind --args, and its own commands.
func (r *reader) debugger(args []Word, s scope) {
	for i, a := range args {
		switch key, _, _ := strings.Cut(strings.TrimLeft(a.Text, "-"), "="); {
		case !strings.HasPrefix(a.Text, "-"):
		case key == "args":
			r.command(args[i+1:], nil, nil, s)
			return
		case slices.Contains([]string{"ex", "x", "iex", "ix", "eval-command", "command", "init-command", "init-eval-command", "o", "s", "S", "O", "one-line", "source"}, key):
			r.lost(s)
			return
		}
	}
}

// sedProgram is what in a word of sed may be a program.
func sedProgram(t string) string {
	if rest, ok := strings.CutPrefix(t, "--"); ok {
		_, rest, _ = strings.Cut(rest, "=")
		return rest
	}
	if strings.HasPrefix(t, "-") {
		_, t, _ = strings.Cut(t, "e")
	}
	return t
}

func anyText(args []Word, match func(string) bool) bool {
	return slices.ContainsFunc(args, func(a Word) bool { return a.Known && match(a.Text) })
}

// optionScripts reads the values of options that a shell runs: attached, in
// the next word, or at the end of some short options.
func (r *reader) optionScripts(name string, args []Word, s scope) {
	spec, ok := scriptOptionsOf[name]
	if !ok {
		return
	}
	for i, a := range args {
		if !a.Known || len(a.Text) < 2 || a.Text[0] != '-' {
			continue
		}
		if a.Text == "--" {
			return
		}
		value, has := "", false
		if long, isLong := strings.CutPrefix(a.Text, "--"); isLong {
			key, rest, attached := strings.Cut(long, "=")
			if !slices.ContainsFunc(spec.long, func(l string) bool { return len(key) > 1 && strings.HasPrefix(l, key) }) {
				continue
			}
			value, has = rest, attached
		} else {
			at := strings.IndexAny(a.Text, spec.short)
			if spec.short == "" || at < 1 {
				continue
			}
			value, has = a.Text[at+1:], at+1 < len(a.Text)
		}
		switch {
		case has:
			r.script(strings.TrimPrefix(value, "exec="), s)
		case i+1 < len(args) && args[i+1].Known:
			r.script(strings.TrimPrefix(args[i+1].Text, "exec="), s)
		default:
			r.lost(s)
		}
	}
}

// git reads what git's settings, aliases and subcommands run.
func (r *reader) git(args []Word, s scope) {
	for len(args) > 0 && args[0].Known && strings.HasPrefix(args[0].Text, "-") {
		t := args[0].Text
		args = args[1:]
		switch {
		case t == "-c" && len(args) > 0:
			r.setting(args[0], s)
			args = args[1:]
		case strings.HasPrefix(t, "-c"):
			r.setting(Word{t[2:], true}, s)
		case strings.HasPrefix(t, "--config-env"):
			r.lost(s)
			if !strings.Contains(t, "=") {
				args = args[min(1, len(args)):]
			}
		case slices.Contains([]string{"-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"}, t):
			args = args[min(1, len(args)):]
		}
	}
	if len(args) == 0 || !args[0].Known {
		return
	}
	sub, rest := args[0].Text, args[1:]
	r.optionScripts("git "+sub, rest, s)
	switch sub {
	case "submodule":
		at := slices.IndexFunc(rest, func(a Word) bool { return a.Known && a.Text == "foreach" })
		if at < 0 {
			return
		}
		rest = rest[at+1:]
		for len(rest) > 0 && rest[0].Known && strings.HasPrefix(rest[0].Text, "-") {
			rest = rest[1:]
		}
		r.joined(rest, s)
	case "bisect":
		if len(rest) > 1 && rest[0].Known && rest[0].Text == "run" {
			r.command(rest[1:], nil, nil, s)
		}
	case "config":
		for i, a := range rest {
			if a.Known && i+1 < len(rest) && strings.Contains(a.Text, ".") {
				if v := rest[i+1]; v.Known {
					r.setting(Word{a.Text + "=" + v.Text, true}, s)
				} else {
					r.lost(s)
				}
				return
			}
		}
	}
}

// setting reads git's NAME=VALUE.
func (r *reader) setting(w Word, s scope) {
	key, value, _ := strings.Cut(w.Text, "=")
	switch {
	case !w.Known:
		r.lost(s)
	case strings.HasPrefix(strings.ToLower(key), "alias."):
		if script, ok := strings.CutPrefix(value, "!"); ok {
			r.script(script, s)
		} else {
			r.script("git "+value, s)
		}
	case gitKeys.MatchString(key):
		r.lost(s)
	}
}
