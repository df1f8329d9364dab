package policy

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/hooks/shell"
	"agent-ls/loop"
	"agent-ls/loop/realpath"
	"agent-ls/loop/sandbox"
)

// maxBelow bounds the entries that are looked at below one folder. A folder
// with more is taken to hold what is looked for.
const maxBelow = 20_000

// maxWord, in bytes, and maxParts bound a word in which paths are looked for.
const maxWord, maxParts = 64 << 10, 200

// contentReaders show the content of files that they name, among much else.
var contentReaders = []string{"git", "date", "xargs", "curl", "wget", "openssl", "gpg"}

// outside asks where a word names a file outside the workspace that is there,
// or that could be made there.
func (l *line) outside(c shell.Command, name, path string) {
	if !slices.Contains(contentReaders, c.Base()) || realpath.Within(l.root, path) || device(path) || device(name) {
		return
	}
	_, err := os.Lstat(path)
	if folder := filepath.Dir(path); err != nil && folder != filepath.Dir(folder) && !strings.ContainsAny(name, " \n") {
		_, err = os.Stat(folder)
	}
	if err == nil {
		l.mustAsk("workspace", shown(c)+": it names "+path+", outside the workspace")
	}
}

// named judges a command of which it is not known what it does with its
// words. Where one of them is a path that may not be read or written, or a
// folder above one that may not be read, only a person can let it run.
func (l *line) named(c shell.Command, starts bool) {
	if sub, ok := gitFiles(c); ok {
		l.fileWords(sub, fileCommands[sub.Base()])
	}
	// What a command starts is judged by itself; go takes folders one by one.
	flat := starts || c.Base() == "go"
	dirs := l.dirs
	for _, name := range elsewhere(c) {
		for _, d := range l.dirs {
			if p, ok := resolve(d, name); ok && !slices.Contains(dirs, p) {
				dirs = append(slices.Clone(dirs), p)
			}
		}
	}
	seen := map[string]bool{}
	for _, a := range c.Args {
		if !a.Known {
			continue
		}
		if len(a.Text) > maxWord || strings.Count(a.Text, ",")+strings.Count(a.Text, ":")+strings.Count(a.Text, "=")+strings.Count(a.Text, "@") > maxParts {
			l.unsure(l.deniesPaths(), shown(c)+": a word is too long to look for paths in it")
			continue
		}
		for _, name := range pathsIn(a.Text) {
			for _, d := range dirs {
				if p, ok := resolve(d, name); ok && !seen[p] {
					seen[p] = true
					l.namedPath(c, p, flat)
					l.outside(c, name, p)
				}
			}
		}
	}
}

// gitFiles is the plain command that git's mv and rm are like.
func gitFiles(c shell.Command) (shell.Command, bool) {
	if c.Base() != "git" {
		return c, false
	}
	i := slices.IndexFunc(c.Args, func(a shell.Word) bool { return a.Known && (a.Text == "mv" || a.Text == "rm") })
	if i < 0 {
		return c, false
	}
	return shell.Command{Name: c.Args[i], Args: c.Args[i+1:]}, true
}

// namedPath judges one path that an unknown command may mean.
func (l *line) namedPath(c shell.Command, p string, flat bool) {
	rel, inside := l.relative(p)
	asks := func(r rule) bool { return r.verdict == loop.VerdictAsk && !r.bare && l.globMatch(r, p, rel, inside) }
	for _, tool := range []string{"read_file", "write_file"} {
		if a := l.ruleAnswer(tool, asks); a.verdict != loop.VerdictNone {
			l.add(a)
		}
	}
	switch why, guarded := l.unwritable(p); {
	case l.state != "" && realpath.Within(l.state, p):
		l.say(loop.LayerBuiltin, loop.VerdictDeny, false, "state", l.show(p)+" is agent-ls's own state")
	case l.Unreadable(p):
		l.mustAsk("shell", shown(c)+": it names "+l.show(p)+", which may not be read")
	case guarded:
		l.mustAsk("shell", shown(c)+": it names "+l.show(p)+": "+why)
	case !flat && l.hasReadDenials():
		unreadable := func(p string) (string, bool) { return l.show(p) + " may not be read", l.Unreadable(p) }
		if why, yes := l.below(p, unreadable); yes {
			l.mustAsk("shell", shown(c)+": it names a folder: "+why)
		}
	}
}

// elsewhere lists the folders to which a command's options lead it.
func elsewhere(c shell.Command) []string {
	var out []string
	for i, a := range c.Args {
		if !a.Known {
			continue
		}
		key, value, attached := strings.Cut(a.Text, "=")
		switch {
		case key == "-C" || key == "--wd" || key == "-D" && (c.Base() == "sudo" || c.Base() == "doas") || len(key) > 4 && abbreviates(strings.TrimLeft(key, "-"), "directory", "chdir", "cwd", "prefix", "work-tree", "working-directory", "private-cwd"):
			if !attached && i+1 < len(c.Args) {
				value = c.Args[i+1].Text
			}
		case strings.HasPrefix(a.Text, "-C"):
			value = a.Text[2:]
		default:
			continue
		}
		if value != "" {
			out = append(out, value)
		}
	}
	return out
}

// leads adds the folders in which a command may start another one.
func (l *line) leads(c shell.Command) {
	for _, name := range elsewhere(c) {
		for _, d := range slices.Clone(l.dirs) {
			dir, ok := resolve(d, name)
			if !ok {
				l.lost = true
				continue
			}
			l.enter(dir)
		}
	}
	if slices.ContainsFunc(c.Args, func(a shell.Word) bool { return a.Known && (a.Text == "-execdir" || a.Text == "-okdir") }) {
		l.lost = true
		l.unsure(l.deniesPaths(), shown(c)+": it starts a command in a folder that is not known")
	}
}

// pathsIn lists what in a word may be a path: the word, what is attached to
// an option, and the parts of lists, of NAME=VALUE, REVISION:PATH and @FILE.
func pathsIn(word string) []string {
	if word == "" || word == "-" || device(word) {
		return nil
	}
	var out []string
	add := func(s string) {
		blank := strings.Trim(s, " .") == "" && s != "." && s != ".." // no name, but an argument like any
		if !blank && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	add(word)
	if word == "..." {
		add(".") // all packages
	}
	if _, rest, ok := strings.Cut(word, "://"); ok {
		rest, _, _ = strings.Cut(rest, "?")
		rest, _, _ = strings.Cut(rest, "#")
		if _, p, ok := strings.Cut(rest, "/"); ok {
			if base := path.Base(p); p != "" && !strings.HasSuffix(p, "/") && base != "." && base != ".." {
				add(base) // the name that a download gets
				add(strings.TrimSuffix(base, ".git"))
			}
			if strings.HasPrefix(strings.ToLower(word), "file:") {
				add("/" + p)
			}
		}
		if i := strings.Index(word, "="); i < 0 || i > strings.Index(word, "://") {
			return out
		}
	}
	if strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") {
		for i := 2; i < len(word) && i < 10; i++ {
			add(word[i:])
		}
	}
	for i, c := range word {
		if strings.ContainsRune("=:,@", c) {
			add(word[i+1:])
		}
	}
	for _, part := range strings.FieldsFunc(word, func(c rune) bool { return strings.ContainsRune("=:,@", c) }) {
		add(part)
	}
	for i, s := range out {
		if s = strings.TrimSuffix(s, "..."); len(s) < len(out[i]) {
			out[i] = "./" + strings.TrimSuffix(s, "/") // all packages below it
			if strings.HasPrefix(s, "/") {
				out[i] = s
			}
		}
	}
	return out
}

// unwritable tells whether a path may not be written, but by a person's leave.
func (r *Rules) unwritable(path string) (why string, yes bool) {
	if why, yes := sandbox.Protected(r.root, path); yes {
		return why, true
	}
	if r.state != "" && realpath.Within(r.state, path) {
		return "agent-ls's own state", true
	}
	rel, inside := r.relative(path)
	for _, one := range r.rules {
		if one.verdict == loop.VerdictDeny && slices.Contains(writers, one.tool) && !one.bare && r.globMatch(one, path, rel, inside) {
			return "rule " + one.source(), true
		}
	}
	return "", false
}

// hasWriteDenials tells whether some file may not be written.
func (r *Rules) hasWriteDenials() bool {
	return slices.ContainsFunc(r.rules, func(one rule) bool {
		return one.verdict == loop.VerdictDeny && slices.Contains(writers, one.tool) && !one.bare
	})
}

// below looks for a path of a kind in a folder and below it, links followed
// one step. What is too much to look at counts as found.
func (r *Rules) below(folder string, kind func(path string) (string, bool)) (why string, yes bool) {
	if r.state != "" && realpath.Within(folder, r.state) {
		return "agent-ls's own state is there", true
	}
	seen := 0
	enough := errors.New("enough")
	filepath.WalkDir(folder, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be looked at cannot be used either
		}
		if seen++; seen > maxBelow {
			why, yes = "it holds too many files to look at each", true
			return enough
		}
		if why, yes = kind(p); yes {
			return enough
		}
		if d.Type()&fs.ModeSymlink != 0 {
			if to, ok := resolve(filepath.Dir(p), d.Name()); ok {
				if why, yes = kind(to); yes {
					return enough
				}
			}
		}
		return nil
	})
	return why, yes
}

// unpacks says how a command writes files that no word names, "" if it does
// not.
func unpacks(c shell.Command) string {
	words, ok := knownWords(c)
	if !ok {
		return ""
	}
	args := words[1:]
	has := func(letters string) bool { return hasLetter(c, letters) }
	switch c.Base() {
	case "tar", "bsdtar", "gtar":
		if has("x") || hasLong(c, "extract", "get") || len(args) > 0 && !strings.HasPrefix(args[0], "-") && strings.Contains(args[0], "x") {
			return "what it writes is said by the archive"
		}
	case "unzip":
		if len(args) == 0 || len(args[0]) < 2 || args[0][0] != '-' || strings.Trim(args[0][1:], "lptvzZ") != "" {
			return "what it writes is said by the archive"
		}
	case "cpio", "pax":
		if has("irp") || hasLong(c, "extract", "pass-through") {
			return "what it writes is said by the archive"
		}
	case "7z", "7za", "7zr", "unrar", "ar", "jar":
		if len(args) > 0 && strings.Contains(args[0], "x") || len(args) > 0 && args[0] == "e" {
			return "what it writes is said by the archive"
		}
	case "patch":
		if len(args) == 0 || args[0] != "--dry-run" {
			return "what it writes is said by the patch"
		}
	case "git":
		if rest := withoutGlobals("git", args); len(rest) > 0 && (rest[0] == "apply" || rest[0] == "am") {
			return "what it writes is said by the patch"
		}
	case "sed", "gsed":
		if len(sedScript(args)) > 0 || has("f") {
			return "its script can write files"
		}
	case "awk", "gawk", "mawk", "nawk":
		if len(awkProgram(args)) > 0 {
			return "its program can write files"
		}
	}
	return ""
}
