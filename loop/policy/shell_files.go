package policy

import (
	"os"
	"slices"
	"strings"

	"agent-ls/hooks/shell"
	"agent-ls/loop"
)

// redirect judges a redirection as the read or write that it is.
func (l *line) redirect(rd shell.Redirect) {
	switch rd.Op {
	case "<<", "<<-", "<<<":
		return
	}
	if !rd.Target.Known {
		// It could be a file that is always asked about.
		l.unsure(rd.Op != "<" || l.deniesPaths(), "a redirect to a file that only a running shell can tell")
		return
	}
	t := rd.Target.Text
	switch {
	case (rd.Op == ">&" || rd.Op == "<&") && strings.Trim(strings.TrimSuffix(t, "-"), "0123456789") == "":
		return
	case strings.HasPrefix(t, "/dev/tcp/") || strings.HasPrefix(t, "/dev/udp/"):
		l.unsure(l.deniesCommands(), "a redirect that opens a network connection")
		return
	case device(t):
		return
	}
	if rd.Op == "<" || rd.Op == "<&" {
		l.path("read_file", t, false, true)
		return
	}
	l.path("write_file", t, true, true)
}

// device tells whether a path is a device that neither keeps nor tells anything.
func device(path string) bool {
	switch path {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/random", "/dev/urandom":
		return true
	}
	return strings.HasPrefix(path, "/dev/fd/") && !strings.Contains(path[len("/dev/fd/"):], "/")
}

// path judges one path that a command names, in every folder it may lie in.
func (l *line) path(tool, name string, write, byDefault bool) {
	if l.lost && !strings.HasPrefix(name, "/") {
		l.unsure(l.deniesPaths(), name+" lies in a folder that is not known")
	}
	for _, d := range l.dirs {
		p, ok := resolve(d, name)
		if !ok {
			l.unsure(l.deniesPaths(), name+": its links lead nowhere")
			continue
		}
		l.add(l.pathAnswer(tool, p, write, byDefault)...)
	}
}

// fileCommand says which of a command's words are paths.
type fileCommand struct {
	write     bool   // what it names it writes
	skip      int    // words before the first path that are none
	folders   bool   // what is below a folder counts as well
	recursive string // options that make it look below folders
	last      bool   // the second path is written
	program   string // options that take the place of the first word
}

// fileCommands are commands whose words are known to be paths. A word that is
// no path in truth does no harm: it is then one inside the workspace.
var fileCommands = map[string]fileCommand{
	"cat": {}, "tac": {}, "head": {}, "tail": {}, "nl": {}, "less": {}, "more": {}, "bat": {}, "batcat": {}, "view": {}, "wc": {}, "sort": {}, "cut": {}, "paste": {}, "join": {}, "rev": {}, "fold": {}, "fmt": {}, "column": {}, "expand": {}, "pr": {},
	"comm": {}, "cmp": {}, "od": {}, "hexdump": {}, "strings": {}, "file": {}, "base64": {}, "base32": {}, "md5sum": {}, "sha1sum": {}, "sha256sum": {}, "sha512sum": {}, "cksum": {}, "zcat": {}, "bzcat": {}, "xzcat": {}, "zless": {}, "readelf": {}, "objdump": {}, "nm": {}, "iconv": {},
	"diff": {recursive: "r"}, "uniq": {last: true}, "xxd": {last: true},
	"grep": {skip: 1, recursive: "rR", program: "ef"}, "egrep": {skip: 1, recursive: "rR", program: "ef"}, "fgrep": {skip: 1, recursive: "rR", program: "ef"}, "zgrep": {skip: 1, program: "ef"},
	"rg": {skip: 1, folders: true, program: "ef"}, "ag": {skip: 1, folders: true}, "ack": {skip: 1, folders: true},
	"sed": {skip: 1, program: "ef"}, "awk": {skip: 1, program: "f"}, "gawk": {skip: 1, program: "f"}, "mawk": {skip: 1, program: "f"}, "jq": {skip: 1, program: "f"}, "yq": {skip: 1},
	"ls": {}, "tree": {}, "du": {}, "stat": {}, "readlink": {}, "realpath": {}, "find": {},
	"tee": {write: true}, "touch": {write: true}, "mkdir": {write: true}, "rmdir": {write: true}, "rm": {write: true}, "unlink": {write: true}, "shred": {write: true}, "truncate": {write: true}, "mkfifo": {write: true},
	"cp": {write: true}, "mv": {write: true}, "ln": {write: true}, "install": {write: true}, "chmod": {write: true, skip: 1}, "chown": {write: true, skip: 1}, "chgrp": {write: true, skip: 1}, "split": {write: true}, "csplit": {write: true}, "rsync": {write: true}, "dd": {write: true}, "patch": {write: true}, "gzip": {write: true}, "gunzip": {write: true},
}

// paths judges what a known file command reads or writes.
func (l *line) paths(c shell.Command) {
	spec, ok := fileCommands[c.Base()]
	if !ok {
		return
	}
	tool := "read_file"
	if spec.write {
		tool = "write_file"
	}
	skip := spec.skip
	words := spec.operands(c, &skip)
	below := spec.folders || spec.recursive != "" && hasLetter(c, spec.recursive)
	if below && len(words) == 0 {
		words = []string{"."}
	}
	for i, w := range words {
		if w == "-" || device(w) {
			continue
		}
		if spec.write && (c.Base() == "cp" || c.Base() == "rsync") && i < len(words)-1 {
			l.path("read_file", w, false, false)
			continue
		}
		write := spec.write || spec.last && i == 1
		l.path(map[bool]string{true: "write_file", false: tool}[write], w, write, false)
		if below && !write && l.hasReadDenials() && l.folder(w) {
			l.say(loop.LayerRule, loop.VerdictAsk, true, "shell", shown(c)+": it looks at every file below "+w+", and some of them may not be read")
		}
	}
	if slices.ContainsFunc(c.Args, func(a shell.Word) bool { return !a.Known }) && l.deniesPaths() {
		l.unsure(true, shown(c)+": a word that is not known could be a denied file")
	}
}

// folder tells whether a name may be a folder.
func (l *line) folder(name string) bool {
	for _, d := range l.dirs {
		if p, ok := resolve(d, name); ok {
			if info, err := os.Stat(p); err == nil && info.IsDir() {
				return true
			}
		}
	}
	return false
}

// operands are the words that may be paths: those that are no options, what
// is attached to an option, and the values of dd.
func (f fileCommand) operands(c shell.Command, skip *int) []string {
	for _, a := range c.Args {
		if a.Known && f.program != "" && len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && strings.ContainsAny(a.Text[1:], f.program) {
			*skip = 0 // the program or pattern came with an option
		}
		if a.Known && f.program != "" && hasPrefix(a.Text, "--regexp", "--file", "--expression", "--from-file") {
			*skip = 0
		}
	}
	var out []string
	plain := false
	for _, a := range c.Args {
		t := a.Text
		switch {
		case !a.Known:
			if *skip > 0 && !plain {
				*skip--
			}
		case t == "--" && !plain:
			plain = true
		case !plain && len(t) > 1 && t[0] == '-':
			if _, v, ok := strings.Cut(t, "="); ok && v != "" {
				out = append(out, v)
			} else if len(t) > 2 && t[1] != '-' && strings.Contains(t[2:], "/") {
				out = append(out, t[2:])
			}
		case *skip > 0:
			*skip--
		case c.Base() == "dd":
			if v, ok := strings.CutPrefix(t, "of="); ok {
				out = append(out, v)
			} else if v, ok := strings.CutPrefix(t, "if="); ok {
				out = append(out, v)
			}
		default:
			out = append(out, t)
		}
	}
	return out
}

func hasLetter(c shell.Command, letters string) bool {
	return slices.ContainsFunc(c.Args, func(a shell.Word) bool {
		if !a.Known {
			return true
		}
		if strings.HasPrefix(a.Text, "--") {
			return strings.HasPrefix(a.Text, "--r") || strings.HasPrefix(a.Text, "--de")
		}
		return len(a.Text) > 1 && a.Text[0] == '-' && strings.ContainsAny(a.Text[1:], letters)
	})
}
