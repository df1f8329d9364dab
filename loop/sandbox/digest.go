package sandbox

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// keptBytes is the largest protected file whose bytes are kept so that it
	// can be put back; larger ones are only noticed.
	keptBytes = 1 << 20
	// Bounds of the search for protected files below the workspace.
	searchedFolders = 1500
	searchedDepth   = 8
	protectedCount  = 4000
)

// Digests says what the protected files of a workspace were at one moment.
type Digests struct {
	root  string
	files map[string]digest // by absolute path
}

type digest struct {
	sum  [sha256.Size]byte
	mode fs.FileMode
	link string
	kept []byte // nil when too large
}

// Change is one protected file that a command changed.
type Change struct {
	Path string // absolute
	What string // "created", "changed", "removed"
	was  *digest
}

// Changes are what a command did to protected files.
type Changes []Change

// skipped are folders in which no protected file is looked for: they are
// large, and what is in them steers nobody.
var skipped = []string{"node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__", "objects", "logs"}

// Snapshot reads the protected files of a workspace.
func Snapshot(root string) Digests {
	d := Digests{root: root, files: map[string]digest{}}
	if root == "" {
		return d
	}
	for _, p := range protectedPaths(root) {
		d.add(p)
	}
	return d
}

// protectedPaths lists the files and folders of a workspace that are
// protected; what is below such a folder is not listed.
func protectedPaths(root string) []string {
	var out []string
	folders := 0
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read cannot be compared
		}
		if path == root {
			return nil
		}
		_, yes := Protected(root, path)
		if yes && e.Name() != ".git" {
			out = append(out, path)
			if len(out) > protectedCount {
				return filepath.SkipAll
			}
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !e.IsDir() {
			if yes {
				out = append(out, path) // a .git that is a file
			}
			return nil
		}
		folders++
		rel, _ := filepath.Rel(root, path)
		switch {
		case folders > searchedFolders:
			return filepath.SkipAll
		case slices.Contains(skipped, e.Name()), strings.Count(rel, string(filepath.Separator)) >= searchedDepth:
			return filepath.SkipDir
		}
		return nil
	})
	return out
}

// add reads one path and, of a folder, all that is below it.
func (d *Digests) add(path string) {
	_ = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil || len(d.files) > protectedCount {
			return nil //nolint:nilerr // as above
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile: absent
		}
		g := digest{mode: info.Mode()}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			g.link, _ = os.Readlink(p)
		case info.Mode().IsRegular() && info.Size() <= keptBytes:
			b, err := os.ReadFile(p)
			if err != nil {
				return nil //nolint:nilerr // as above
			}
			g.kept, g.sum = b, sha256.Sum256(b)
			if b == nil {
				g.kept = []byte{}
			}
		case info.Mode().IsRegular():
			g.sum = sha256.Sum256([]byte(info.ModTime().String()))
		}
		d.files[p] = g
		return nil
	})
}

// Compare lists what differs in the later one, by path.
func (d Digests) Compare(later Digests) Changes {
	var out Changes
	for p, was := range d.files {
		is, ok := later.files[p]
		switch {
		case !ok:
			out = append(out, Change{Path: p, What: "removed", was: &was})
		case is.sum != was.sum || is.mode != was.mode || is.link != was.link:
			out = append(out, Change{Path: p, What: "changed", was: &was})
		}
	}
	for p := range later.files {
		if _, ok := d.files[p]; !ok {
			out = append(out, Change{Path: p, What: "created"})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// PutBack undoes the changes and returns those that could not be undone.
func (c Changes) PutBack() Changes {
	var left Changes
	// Created ones go first and from the end, so that folders are empty.
	for _, ch := range slices.Backward(c) {
		if ch.What == "created" {
			if os.Remove(ch.Path) != nil && os.RemoveAll(ch.Path) != nil {
				left = append(left, ch)
			}
		}
	}
	for _, ch := range c {
		if ch.What != "created" && !ch.putBack() {
			left = append(left, ch)
		}
	}
	return left
}

func (ch Change) putBack() bool {
	switch was := ch.was; {
	case was.mode.IsDir():
		if info, err := os.Lstat(ch.Path); err == nil && !info.IsDir() && os.Remove(ch.Path) != nil {
			return false
		}
		return os.MkdirAll(ch.Path, 0o755) == nil && os.Chmod(ch.Path, was.mode.Perm()) == nil
	case was.mode&fs.ModeSymlink != 0:
		_ = os.RemoveAll(ch.Path)
		return os.Symlink(was.link, ch.Path) == nil
	case was.kept == nil:
		return false
	default:
		if info, err := os.Lstat(ch.Path); err == nil && !info.Mode().IsRegular() {
			_ = os.RemoveAll(ch.Path) // never through a link
		}
		temp, err := os.CreateTemp(filepath.Dir(ch.Path), ".agent-ls-*")
		if err != nil {
			return false
		}
		defer os.Remove(temp.Name())
		_, err = temp.Write(was.kept)
		return temp.Close() == nil && err == nil && os.Chmod(temp.Name(), was.mode.Perm()) == nil && os.Rename(temp.Name(), ch.Path) == nil
	}
}
