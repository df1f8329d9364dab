package sandbox

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agent-ls/loop/realpath"
)

const (
	mostHops   = 40      // links on the way of one path
	configSize = 1 << 20 // of a git configuration that is read
	mostLeads  = 64      // configurations that include one another
)

// follow adds what the listed things lead to: links, the file .git of a work
// tree, and what git's settings name.
func (l *listing) follow() {
	for i := 0; i < len(l.tops); i++ { // the list grows meanwhile
		p := l.tops[i]
		links, end := hops(p)
		for _, link := range links {
			l.lead(link, p)
		}
		if end != "" {
			l.lead(end, p)
		}
		if strings.EqualFold(filepath.Base(p), ".git") {
			l.followFile(p)
		}
	}
	for _, repo := range slices.Sorted(maps.Keys(l.repos)) {
		l.followRepo(repo)
	}
	// What git's settings name may be a link, too.
	for _, p := range slices.Clone(l.tops) {
		if links, end := hops(p); l.from[p] != "" && end != "" {
			for _, link := range append(links, end) {
				l.lead(link, p)
			}
		}
	}
}

// lead adds what something protected leads to, where it lies in the folder. A
// target that holds the folder as a whole is left out: nothing could be
// written any more.
func (l *listing) lead(target, from string) {
	if target != "" && realpath.Within(l.root, target) && !realpath.Within(target, l.root) {
		l.add(target, from)
	}
}

// followFile reads a .git that is a file.
func (l *listing) followFile(path string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
	if !ok {
		return
	}
	tree := filepath.Dir(path)
	dir = realpath.Resolve(absolute(tree, strings.TrimSpace(dir)))
	l.repo(dir, tree, path)
	if text, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil && len(text) < 4096 {
		l.repo(realpath.Resolve(absolute(dir, strings.TrimSpace(string(text)))), tree, path)
	}
}

// repo adds the protected parts of a folder of git's own that has any name.
func (l *listing) repo(dir, tree, from string) {
	if !realpath.Within(l.root, dir) || realpath.Within(dir, l.root) {
		return
	}
	l.repos[dir] = tree
	for _, n := range protectedGit {
		l.lead(filepath.Join(dir, n), from)
	}
}

// followRepo adds what the settings of a repository name.
func (l *listing) followRepo(dir string) {
	tree := l.repos[dir]
	todo := []string{filepath.Join(dir, "config"), filepath.Join(dir, "config.worktree")}
	for i := 0; i < len(todo) && i < mostLeads; i++ {
		for _, s := range gitSettings(todo[i]) {
			switch {
			case s.key == "core.worktree":
				tree = absolute(dir, s.value)
			case s.key == "core.hookspath":
				l.lead(realpath.Resolve(absolute(tree, s.value)), todo[i])
			case s.key == "include.path":
				file := realpath.Resolve(absolute(filepath.Dir(todo[i]), s.value))
				l.lead(file, todo[i])
				todo = append(todo, file)
			}
		}
	}
}

type setting struct{ key, value string }

// gitSettings reads a git configuration as far as paths need it: sections,
// keys without case, quotes and comments. What it cannot read is left out.
func gitSettings(path string) []setting {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > configSize {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var out []setting
	section := ""
	joined := strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\\\n", "")
	for line := range strings.SplitSeq(joined, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, _ := strings.Cut(line[1:], "]")
			name, _, _ := strings.Cut(head, " ")
			section, line = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(rest)
			if section == "includeif" {
				section = "include"
			}
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		out = append(out, setting{section + "." + strings.ToLower(strings.TrimSpace(key)), unquoted(value)})
	}
	return out
}

// unquoted is a value of a git configuration without quotes and comment.
func unquoted(value string) string {
	var b strings.Builder
	quoted, runes := false, []rune(strings.TrimSpace(value))
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(runes):
			i++
			b.WriteRune(runes[i])
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(b.String())
		default:
			b.WriteRune(c)
		}
	}
	return strings.TrimSpace(b.String())
}

// absolute is a path that a setting names, seen from a folder.
func absolute(from, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		return filepath.Join(home, filepath.FromSlash(rest))
	}
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(from, path)
}

// hops lists the links on the way of a path but for the path itself, and where
// the way ends; "" when there is no link on it.
func hops(path string) (links []string, end string) {
	todo := strings.Split(filepath.ToSlash(path[len(filepath.VolumeName(path)):]), "/")
	done := filepath.VolumeName(path) + string(filepath.Separator)
	count := 0
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, part)
		target := ""
		if info, err := os.Lstat(next); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			target, _ = os.Readlink(next)
		}
		if target == "" {
			done = next
			continue
		}
		if count++; count > mostHops {
			return links, ""
		}
		if next != path {
			links = append(links, next)
		}
		if filepath.IsAbs(target) {
			volume := filepath.VolumeName(target)
			done, target = volume+string(filepath.Separator), target[len(volume):]
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	if count == 0 {
		return nil, ""
	}
	return links, done
}

// led remembers, by workspace, what protected things led to when the workspace
// was looked through last, which is before and after every command.
type led struct {
	mu    sync.Mutex
	roots map[string]*leads
}

type leads struct {
	own   string            // how the root's own names looked
	paths map[string]string // target to what leads there
}

var known = led{roots: map[string]*leads{}}

// remember keeps what a listing found.
func (l *listing) remember() {
	if l.root == "" {
		return
	}
	paths := map[string]string{}
	for p, from := range l.from {
		if from != "" {
			paths[p] = from
		}
	}
	own := appearance(l.root)
	known.mu.Lock()
	defer known.mu.Unlock()
	known.roots[l.root] = &leads{own, paths}
}

// appearance changes whenever something that leads elsewhere may have changed
// among the root's own protected names.
func appearance(root string) string {
	var b strings.Builder
	for _, n := range append(ownNames(), ".git") {
		info, err := os.Lstat(filepath.Join(root, n))
		if err != nil {
			continue
		}
		b.WriteString(n + info.Mode().String() + info.ModTime().String())
		if info.Mode()&fs.ModeSymlink != 0 {
			target, _ := os.Readlink(filepath.Join(root, n))
			b.WriteString(target)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ledTo tells whether something protected leads to a path.
func ledTo(root, path string) (why string, yes bool) {
	if root == "" || root == filepath.Dir(root) || !filepath.IsAbs(root) {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	if !realpath.Within(root, path) {
		return "", false
	}
	own := appearance(root)
	known.mu.Lock()
	l := known.roots[root]
	known.mu.Unlock()
	if l == nil || l.own != own {
		list(root).remember()
		known.mu.Lock()
		l = known.roots[root]
		known.mu.Unlock()
	}
	for target, from := range l.paths {
		if realpath.Within(strings.ToLower(target), strings.ToLower(path)) {
			rel, err := filepath.Rel(root, from)
			if err != nil {
				rel = from
			}
			return filepath.ToSlash(rel) + " leads there, and runs or steers later", true
		}
	}
	return "", false
}
