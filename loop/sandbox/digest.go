package sandbox

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent-ls/loop/realpath"
)

const (
	// keptBytes is the largest protected file whose bytes are kept so that it
	// can be put back, keptTotal what is kept of all of them; others are
	// noticed, and moved back where they were moved away.
	keptBytes = 1 << 20
	keptTotal = 256 << 20
	// hashedBytes is the largest file whose bytes are compared; of larger ones
	// the time counts.
	hashedBytes = 64 << 20
	// protectedCount bounds the protected files that are read.
	protectedCount = 100_000
)

// Digests says what the protected files of a workspace were at one moment.
type Digests struct {
	root  string
	at    time.Time
	list  *listing
	files map[string]digest      // by absolute path
	repos map[string]fs.FileInfo // the folders of git's own
	kept  int64
	full  bool // there were more than protectedCount
	// bound are the tops that the command had read-only, each by a mount that
	// it could not move.
	bound []string
	// keep: what is undone may be a person's, so none of it is deleted.
	keep bool
	gave []string // what gave way already, under its new name
}

type digest struct {
	sum  [sha256.Size]byte
	mode fs.FileMode
	link string
	kept []byte // nil when too large
	info fs.FileInfo
}

// Change is one protected file that a command changed, or a whole folder that
// it created.
type Change struct {
	Path string // absolute
	What string // "created", "changed", "removed"
	was  *digest
	is   *digest  // as the command left it; nil when it was removed, or created
	then *Digests // all that was before
}

// Changes are what a command did to protected files.
type Changes []Change

// Snapshot reads the protected files of a workspace.
func Snapshot(root string) Digests {
	d := Digests{root: root, at: time.Now(), list: list(root), files: map[string]digest{}, repos: map[string]fs.FileInfo{}}
	for i := 0; i < len(d.list.tops); i++ { // links in what is read add to it
		d.add(d.list.tops[i])
	}
	for repo := range d.list.repos {
		if info, err := os.Lstat(repo); err == nil {
			d.repos[repo] = info
		}
	}
	d.list.remember()
	return d
}

// Incomplete says why protected files may have been overlooked, "" if none
// were. Those at the workspace's root never are.
func (d *Digests) Incomplete() string {
	switch {
	case d.full:
		return "there are too many protected files to watch all of them"
	case d.list != nil && d.list.incomplete:
		return "the workspace has too many files to watch all that are protected; those in its root were watched"
	}
	return ""
}

// add reads one path and, of a folder, all that is below it.
func (d *Digests) add(path string) {
	_ = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read cannot be compared
		}
		if len(d.files) > protectedCount {
			d.full = true
			return filepath.SkipAll
		}
		g, ok := d.digest(p)
		if !ok {
			return nil // gone meanwhile: absent
		}
		d.files[p] = g
		if g.link != "" && p != path {
			links, end := hops(p)
			for _, l := range append(links, end) {
				d.list.lead(l, p)
			}
		}
		return nil
	})
}

func (d *Digests) digest(p string) (digest, bool) {
	info, err := os.Lstat(p)
	if err != nil {
		return digest{}, false
	}
	g := digest{mode: info.Mode(), info: info}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		g.link, _ = os.Readlink(p)
	case !info.Mode().IsRegular():
	case info.Size() <= keptBytes && d.kept < keptTotal:
		b, err := os.ReadFile(p)
		if err != nil {
			g.sum = sha256.Sum256([]byte(info.ModTime().String()))
			return g, true
		}
		g.kept, g.sum = append([]byte{}, b...), sha256.Sum256(b)
		d.kept += int64(len(b))
	case info.Size() <= hashedBytes:
		if f, err := os.Open(p); err == nil {
			h := sha256.New()
			_, _ = io.Copy(h, io.LimitReader(f, hashedBytes))
			_ = f.Close()
			g.sum = [sha256.Size]byte(h.Sum(nil))
		}
	default:
		g.sum = sha256.Sum256([]byte(info.ModTime().String()))
	}
	return g, true
}

// Compare lists what differs in the later one, by path. What was created is
// listed once, as the highest folder that is new, and a new folder of git's
// own as a whole.
func (d Digests) Compare(later Digests) Changes {
	// What no longer leads anywhere, or is no longer found, is still looked at.
	for _, p := range d.list.tops {
		if _, ok := later.list.from[p]; !ok {
			later.add(p)
		}
	}
	var out Changes
	for p, was := range d.files {
		is, ok := later.files[p]
		if !ok {
			is, ok = later.digest(p)
		}
		if d.others(p) {
			continue
		}
		switch {
		case !ok:
			out = append(out, Change{Path: p, What: "removed", was: &was, then: &d})
		case is.sum != was.sum || is.mode != was.mode || is.link != was.link:
			out = append(out, Change{Path: p, What: "changed", was: &was, is: &is, then: &d})
		}
	}
	created := map[string]bool{}
	for p := range later.files {
		if _, ok := d.files[p]; ok {
			continue
		}
		// What something new leads to was there before, and is nobody's doing.
		if _, yes := named(d.root, p); yes || d.list.holds(p) {
			created[d.highest(p, later)] = true
		}
	}
	for p := range created {
		if !created[filepath.Dir(p)] && !d.others(p) {
			out = append(out, Change{Path: p, What: "created", then: &d})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// others tells whether a change of a path was not the command's doing: it lies
// in what the command had read-only. A mount is gone once somebody puts another
// file in the place of what it is on, so that must be the same one still; and
// a file with several names can be written by another of them.
func (d *Digests) others(path string) bool {
	for _, top := range d.bound {
		was, ok := d.files[top]
		if !ok || !realpath.Within(top, path) {
			continue
		}
		if file, known := d.files[path]; known && file.mode.IsRegular() && links(file.info) > 1 {
			return false
		}
		now, err := os.Lstat(top)
		return err == nil && os.SameFile(was.info, now)
	}
	return false
}

// highest is what of a new path is new as a whole and protected.
func (d Digests) highest(path string, later Digests) string {
	top := path
	for p := filepath.Dir(path); realpath.Within(d.root, p) && p != d.root; p = filepath.Dir(p) {
		_, was := d.files[p]
		_, is := later.files[p]
		_, repo := later.list.repos[p]
		_, knew := d.list.repos[p]
		if is && !was || repo && !knew && filepath.Base(p) == ".git" {
			top = p
		}
	}
	return top
}
