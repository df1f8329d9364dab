package policy

import (
	"os"
	"path/filepath"
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

// paths judges what a command reads or writes. Of a command that starts
// another one, started, the words of that one are left to it.
func (l *line) paths(c, started shell.Command, starts bool) {
	base := c.Base()
	if slices.Contains([]string{"cd", "pushd"}, base) || bash(base) && base != "time" {
		return // they look at no file's content
	}
	if n := len(c.Args) - len(started.Words()); starts && n >= 0 && slices.Equal(c.Args[n:], started.Words()) {
		c.Args = c.Args[:n]
	}
	if why := l.gitShows(c); why != "" {
		l.mustAsk("shell", shown(c)+": "+why)
	}
	if why := unpacks(c); why != "" && l.hasWriteDenials() {
		l.unsure(true, shown(c)+": "+why+", and some files may not be written")
	}
	if dangerOf(base).code && l.hasReadDenials() && len(dangers(base, knownArgs(c))) > 0 {
		l.unsure(true, shown(c)+": its program can read files, and some may not be read")
	}
	if spec, ok := fileCommands[base]; ok {
		l.fileWords(c, spec)
	} else {
		l.named(c, starts)
	}
	if slices.ContainsFunc(c.Args, func(a shell.Word) bool { return !a.Known }) && l.deniesPaths() {
		l.unsure(true, shown(c)+": a word that is not known could be a denied file")
	}
}

// fileWords judges the words of a command that is known.
func (l *line) fileWords(c shell.Command, spec fileCommand) {
	got := spec.operands(c)
	below := spec.folders || spec.recursive != "" && hasLetter(c, spec.recursive)
	if below && len(got.words) == 0 {
		got.words = []string{"."}
	}
	for _, w := range got.written {
		l.touch(w, use{write: true})
	}
	for _, w := range got.either {
		l.touch(w, use{read: true, write: true})
	}
	if spec.copies != none {
		l.copied(c, spec, got)
		return
	}
	writes := spec.write || spec.inPlace != nil && spec.inPlace(c)
	for i, w := range got.words {
		u := use{read: !spec.write || spec.shows, write: writes || spec.last && i == 1, below: below}
		if spec.last && i == 1 {
			u.read, u.below = false, false
		}
		u.all = u.write && (spec.all || spec.inPlace != nil && !spec.write)
		l.touch(w, u)
	}
}

// use is what a command does with one path.
type use struct {
	read, write bool
	below       bool // it reads what is below a folder
	all         bool // it changes what is below a folder
}

// touch judges one path of a known command.
func (l *line) touch(name string, u use) {
	if name == "-" || device(name) {
		return
	}
	if u.read {
		l.path("read_file", name, false, false)
	}
	if u.write {
		l.path("write_file", name, true, false)
	}
	if u.below && l.hasReadDenials() && l.folder(name) {
		l.say(loop.LayerRule, loop.VerdictAsk, true, "shell", name+": what is below that folder is used, and some files may not be read")
	}
	if u.all {
		l.changesBelow(name)
	}
}

// changesBelow asks where a whole folder is changed, moved or linked and what
// is below it may not be written.
func (l *line) changesBelow(name string) {
	for _, d := range l.dirs {
		p, ok := resolve(d, name)
		if !ok {
			continue
		}
		if why, yes := l.below(p, l.unwritable); yes {
			l.say(loop.LayerRule, loop.VerdictAsk, true, "shell", name+": it changes what is below that folder: "+why)
		}
	}
}

// copied judges a command that brings files from one place to another.
func (l *line) copied(c shell.Command, spec fileCommand, got operands) {
	sources, into := got.words, got.target
	switch {
	case spec.makesFolders && (hasLetter(c, "d") || hasLong(c, "directory")):
		for _, w := range got.words {
			l.touch(w, use{read: true, write: true})
		}
		return
	case into == "" && spec.copies == syncs && len(sources) > 1:
		// Its options are many. One that takes the next word could hide which
		// word is the last, so each but the first may be written.
		for _, w := range sources[1:] {
			l.touch(w, use{write: true, all: true})
		}
		into = sources[len(sources)-1]
	case into == "" && len(sources) > 1:
		into, sources = sources[len(sources)-1], sources[:len(sources)-1]
	case into == "" && spec.copies != syncs:
		into = "." // one word: the copy or link lies here
	}
	folder := got.target != "" || into == "." || len(sources) > 1 || strings.HasSuffix(into, "/") || l.many || l.folder(into)
	// What lay there gets another name with a backup and in an exchange.
	there := use{write: true, read: hasLetter(c, "bS") || hasLong(c, "backup", "suffix", "exchange")}
	if into != "" && into != "." {
		l.touch(into, there)
	}
	away := spec.copies == moves || spec.copies == links || spec.copies == copies && (hasLetter(c, "ls") || hasLong(c, "link", "symbolic-link"))
	parents := hasLong(c, "parents", "relative") || spec.copies == syncs
	whole := away || spec.copies == syncs || hasLetter(c, "rRa")
	for _, w := range sources {
		gone := away || spec.copies == syncs && hasLong(c, "remove-source-files")
		l.touch(w, use{read: true, write: gone, below: whole, all: gone})
		for _, w := range l.linkTargets(spec, into, w) {
			l.touch(w, use{read: true, write: true, below: true, all: true})
		}
		if into == "" {
			continue
		}
		if base := lastName(w); folder && base != "" {
			l.touch(strings.TrimSuffix(into, "/")+"/"+base, there)
		}
		if parents {
			l.touch(strings.TrimSuffix(into, "/")+"/"+w, there)
		}
		if whole && spec.copies != links {
			l.brings(w, into)
		}
	}
}

// linkTargets is what the text of a symbolic link may mean: it counts from
// the folder of the link, not from where the command runs.
func (l *line) linkTargets(spec fileCommand, into, text string) []string {
	if spec.copies != links || into == "." || strings.HasPrefix(text, "/") {
		return nil
	}
	out := []string{strings.TrimSuffix(into, "/") + "/" + text}
	if i := strings.LastIndexByte(strings.TrimRight(into, "/"), '/'); i >= 0 {
		out = append(out, into[:i+1]+text)
	}
	if !l.many && !l.folder(into) {
		return out[1:]
	}
	return out
}

// lastName is the name that a copy of a path gets in a folder, "" if none.
func lastName(path string) string {
	path = strings.TrimRight(path, "/")
	path = path[strings.LastIndexByte(path, '/')+1:]
	if path == "." || path == ".." {
		return ""
	}
	return path
}

// brings asks where a folder's content would come to lie on what may not be
// written.
func (l *line) brings(source, into string) {
	for _, d := range l.dirs {
		from, ok1 := resolve(d, source)
		to, ok2 := resolve(d, into)
		if !ok1 || !ok2 {
			continue
		}
		if _, err := os.Lstat(from); err != nil {
			// It may be made by then, with any content.
			if why, yes := l.below(to, l.unwritable); yes && l.many {
				l.say(loop.LayerRule, loop.VerdictAsk, true, "shell", source+": what it brings to "+into+" is not known: "+why)
			}
			continue
		}
		why, yes := l.below(from, func(p string) (string, bool) {
			rel, err := filepath.Rel(from, p)
			if err != nil {
				return "", false
			}
			if why, yes := l.unwritable(filepath.Join(to, rel)); yes {
				return why, true
			}
			return l.unwritable(filepath.Join(to, lastName(source), rel))
		})
		if yes {
			l.say(loop.LayerRule, loop.VerdictAsk, true, "shell", source+": it brings to "+into+" what may not be written: "+why)
		}
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
