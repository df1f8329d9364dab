package sandbox

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/loop/realpath"
)

// Bounds of the search for protected files below the workspace. What lies at
// its root is found whatever they are.
const (
	searchedEntries = 250_000 // in ordinary folders
	searchedBulk    = 50_000  // in folders such as node_modules
	readAtOnce      = 1024
)

// bulk are folders that are large and in which little steers anybody: they are
// looked into last, with a bound of their own.
var bulk = []string{"node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__"}

// gitBulk are parts of git's own folders that hold data only.
var gitBulk = []string{"objects", "logs", "refs", "lfs"}

// listing is what is protected below a folder.
type listing struct {
	root  string
	tops  []string          // files and folders, the most important first; some may not exist
	from  map[string]string // of a top: what leads there, "" where its name says it
	repos map[string]string // folders of git's own, and the work tree of each
	// unread are folders that were not looked into, for whatever reason.
	unread []string
	// incomplete tells that a bound was reached in ordinary folders.
	incomplete bool
}

// list finds what is protected below a folder: first the folder's own, by
// name, then breadth-first, so that nothing that lies deep hides what does not.
func list(root string) *listing { return listWithin(root, searchedEntries, searchedBulk) }

func listWithin(root string, entries, inBulk int) *listing {
	l := &listing{root: root, from: map[string]string{}, repos: map[string]string{}}
	if root == "" {
		return l
	}
	for _, name := range ownNames() {
		p := filepath.Join(root, name)
		if _, err := os.Lstat(p); err == nil {
			l.add(p, "")
		}
	}
	if info, err := os.Lstat(filepath.Join(root, ".git")); err == nil && info.IsDir() {
		l.repos[filepath.Join(root, ".git")] = root
	}
	var later []string
	queue, _ := l.read(root, int(^uint(0)>>1), &later)
	l.incomplete = l.walk(queue, entries, &later)
	_ = l.walk(later, inBulk, nil) // what it leaves is unread, which counts as in doubt
	l.follow()
	return l
}

// ownNames are the protected names at a workspace's root.
func ownNames() []string {
	var out []string
	for _, n := range []string{"hooks", "config", "config.worktree", "commondir", "gitdir"} {
		out = append(out, filepath.Join(".git", n))
	}
	out = append(out, ".agent-ls", ".envrc")
	for _, n := range protectedFiles {
		if stem, ok := strings.CutSuffix(n, ".md"); ok {
			out = append(out, strings.ToUpper(stem)+".md")
		}
		out = append(out, n)
	}
	out = append(out, protectedFolders...)
	for _, n := range protectedGithub {
		out = append(out, filepath.Join(".github", n))
	}
	return out
}

// walk reads folders breadth-first until so many entries were seen, and tells
// whether that bound ended it.
func (l *listing) walk(queue []string, left int, later *[]string) (bounded bool) {
	for len(queue) > 0 {
		if left <= 0 {
			l.unread = append(l.unread, queue...)
			return true
		}
		folders, n := l.read(queue[0], left, later)
		queue = append(queue[1:], folders...)
		if left -= n; left <= 0 {
			bounded = true
		}
	}
	return bounded
}

// read looks at the entries of one folder, at most so many, and returns those
// that are folders to look into and how many entries it saw.
func (l *listing) read(dir string, most int, later *[]string) (folders []string, seen int) {
	f, err := os.Open(dir)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			l.unread = append(l.unread, dir)
		}
		return nil, 1
	}
	defer f.Close()
	var put []string // looked into later
	ofGit := false
	for {
		entries, err := f.ReadDir(readAtOnce)
		for _, e := range entries {
			seen++
			p := filepath.Join(dir, e.Name())
			ofGit = ofGit || e.Name() == "HEAD"
			_, yes := named(l.root, p)
			switch {
			case yes && e.IsDir() && strings.EqualFold(e.Name(), ".git"):
				l.repos[p] = dir
				folders = append(folders, p)
			case yes:
				l.add(p, "")
			case e.IsDir() && later != nil && slices.Contains(bulk, e.Name()):
				put = append(put, p)
			case e.IsDir():
				folders = append(folders, p)
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				l.unread = append(l.unread, dir)
			}
			break
		}
		if seen >= most {
			l.unread = append(l.unread, dir)
			break
		}
	}
	if _, inGit := named(l.root, filepath.Join(dir, "hooks")); inGit && ofGit {
		if _, known := l.repos[dir]; !known {
			l.repos[dir] = dir // of a submodule
		}
		folders = slices.DeleteFunc(folders, func(p string) bool { return slices.Contains(gitBulk, filepath.Base(p)) })
	}
	if later != nil {
		*later = append(*later, put...)
	}
	slices.Sort(folders)
	return folders, seen
}

// add puts a path on the list, unless it is there or lies below one that is.
func (l *listing) add(path, from string) bool {
	if l.holds(path) {
		return false
	}
	l.tops, l.from[path] = append(l.tops, path), from
	return true
}

// holds tells whether a path is on the list or below one that is.
func (l *listing) holds(path string) bool {
	for p := path; ; p = filepath.Dir(p) {
		if _, ok := l.from[p]; ok {
			return true
		}
		if p == filepath.Dir(p) {
			return false
		}
	}
}

// unseen tells whether a path lies where the search did not look.
func (l *listing) unseen(path string) bool {
	return l.incomplete || slices.ContainsFunc(l.unread, func(u string) bool { return realpath.Within(u, path) })
}
