package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Undone is what became of one change when it was undone.
type Undone struct {
	Change
	// Did says what was done about it: "put back", "moved back", "removed
	// again", "put aside" or, where nothing could be, "left".
	Did   string
	Aside string // absolute, where what is new, or was there instead, was put aside
	OK    bool   // it is as it was, or what is new is out of the way
}

// clockStep is how much older than the moment of a snapshot a file may look
// that was written after it.
const clockStep = 10 * time.Millisecond

// PutBack undoes the changes and returns those that could not be undone.
func (c Changes) PutBack() Changes {
	var left Changes
	for _, u := range c.Undo() {
		if !u.OK {
			left = append(left, u.Change)
		}
	}
	return left
}

// Undo undoes the changes and says what it did. It deletes only what the
// command itself has made: a new file that is older than the command, or that
// may be the missing one, is moved aside instead.
func (c Changes) Undo() []Undone { return c.undo(false) }

// SetAside undoes the changes as Undo does, but deletes nothing: others may
// have made them while the command ran. What is new is moved aside, and of what
// is put back the later one is kept beside it.
func (c Changes) SetAside() []Undone {
	if len(c) > 0 {
		c[0].then.keep = true
	}
	return c.undo(true)
}

// undo is Undo; hold moves aside all that is new, whosever it is.
func (c Changes) undo(hold bool) []Undone {
	if len(c) == 0 {
		return nil
	}
	then := c[0].then
	out := c.moveBack()
	if len(out) > 0 {
		c = then.Compare(Snapshot(then.root)) // a moved folder took much with it
	}
	lost := false
	for _, ch := range c {
		if ch.What == "created" {
			continue
		}
		u := Undone{Change: ch, Did: "put back"}
		if u.Aside, u.OK = ch.restore(); !u.OK {
			u.Did, lost = "left", true
		}
		out = append(out, u)
	}
	for _, ch := range slices.Backward(c) {
		if ch.What == "created" && !slices.Contains(then.gave, ch.Path) {
			out = append(out, ch.takeAway(lost || hold))
		}
	}
	slices.SortStableFunc(out, func(a, b Undone) int { return strings.Compare(a.Path, b.Path) })
	list(then.root).remember()
	return out
}

// moveBack finds what was moved away among what is new, and moves it back. It
// goes by the file itself, and by its bytes where none were kept: a move from
// one file system to another makes a copy.
func (c Changes) moveBack() []Undone {
	then := c[0].then
	missing := map[string]fs.FileInfo{}
	for _, ch := range c {
		if ch.What == "removed" || ch.What == "changed" && ch.was.mode.IsRegular() {
			missing[ch.Path] = ch.was.info
		}
	}
	for repo, info := range then.repos {
		if _, err := os.Lstat(repo); errors.Is(err, fs.ErrNotExist) {
			missing[repo] = info
		}
	}
	var out []Undone
	for _, ch := range c {
		if ch.What != "created" || len(missing) == 0 {
			continue
		}
		_ = filepath.WalkDir(ch.Path, func(p string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // gone or closed: nothing to find there
			}
			info, err := e.Info()
			if err != nil {
				return nil //nolint:nilerr // as above
			}
			for was, known := range missing {
				if !moved(known, info) && !then.copied(was, p, info) {
					continue
				}
				if then.straighten(filepath.Dir(was)) != nil || then.vacate(was, known) != nil || os.Rename(p, was) != nil {
					return nil
				}
				delete(missing, was)
				g := then.files[was]
				out = append(out, Undone{Change: Change{Path: was, What: "removed", was: &g, then: then}, Did: "moved back", OK: true})
				if info.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			return nil
		})
	}
	return out
}

// moved tells whether one file is the other under a new name. Numbers of files
// are given again, so one that is not a folder must also look as it did.
func moved(was, is fs.FileInfo) bool {
	return was.Mode().Type() == is.Mode().Type() && os.SameFile(was, is) &&
		(was.IsDir() || was.Size() == is.Size() && was.ModTime().Equal(is.ModTime()))
}

// copied tells whether a new file has the bytes of one that cannot be written
// again, since its own were not kept.
func (d *Digests) copied(was, path string, info fs.FileInfo) bool {
	g, ok := d.files[was]
	if !ok || g.kept != nil || !info.Mode().IsRegular() || info.Size() != g.info.Size() || info.Size() > hashedBytes {
		return false
	}
	now, ok := (&Digests{kept: keptTotal}).digest(path)
	return ok && now.sum == g.sum
}

// vacate makes sure that a path can be renamed to: a folder is never written
// over, another kind of file than was there gives way.
func (d *Digests) vacate(path string, was fs.FileInfo) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case was.IsDir():
		return fs.ErrExist
	case info.IsDir():
		return fs.ErrExist
	case d.keep:
		to, err := aside(path)
		d.gave = append(d.gave, to)
		return err
	}
	return nil
}

// clear gets what a command put in the place of something else out of the way:
// links and what it has made are removed, what may be older is moved aside.
func (d *Digests) clear(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 && !d.keep {
		return os.Remove(path)
	}
	if d.keep || d.full || d.list.unseen(path) || older(path, d.at.Add(-clockStep)) {
		_, err := aside(path)
		return err
	}
	return os.RemoveAll(path)
}

// straighten makes a folder of the workspace exist, without a link on the way
// to it: what a command put there instead of a folder is moved aside.
func (d *Digests) straighten(dir string) error {
	rel, err := filepath.Rel(d.root, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return fs.ErrInvalid
	}
	at := d.root
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if part == "." {
			continue
		}
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err == nil && !info.IsDir() {
			if err := d.clear(at); err != nil {
				return err
			}
		}
		if err != nil || !info.IsDir() {
			if err := os.Mkdir(at, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// aside moves a path to a name that nothing reads, and returns that.
func aside(path string) (string, error) {
	to := asideName(path)
	return to, os.Rename(path, to)
}

// asideName is a name beside a path that nothing has.
func asideName(path string) string {
	to := path + ".put-aside"
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return to
		}
		to = path + ".put-aside-" + strconv.Itoa(n)
	}
}

// takeAway removes what a command has created, or moves it aside.
func (ch Change) takeAway(lost bool) Undone {
	u := Undone{Change: ch}
	switch _, err := os.Lstat(ch.Path); {
	case errors.Is(err, fs.ErrNotExist):
		u.Did, u.OK = "removed again", true
	case lost || ch.then.full || ch.then.list.unseen(ch.Path) || older(ch.Path, ch.then.at.Add(-clockStep)):
		to, err := aside(ch.Path)
		if u.Did, u.Aside, u.OK = "put aside", to, err == nil; err != nil {
			u.Did, u.Aside = "left", ""
		}
	default:
		u.Did, u.OK = "removed again", os.RemoveAll(ch.Path) == nil
		if !u.OK {
			u.Did = "left"
		}
	}
	return u
}

// older tells whether a file in a tree was written before a moment, so that it
// was there already, elsewhere, or may have been.
func older(path string, than time.Time) bool {
	found := false
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			found = true // in doubt
			return filepath.SkipAll
		}
		if e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err != nil || info.ModTime().Before(than) {
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// restore is putBack; where nothing may be deleted, what is there instead is
// first given a second name, which it returns, "" if nothing needs one.
func (ch Change) restore() (kept string, ok bool) {
	was, is := ch.was, ch.is
	if !ch.then.keep || is == nil || was.mode.Type() != is.mode.Type() || is.mode.IsDir() || was.sum == is.sum && was.link == is.link ||
		was.mode.IsRegular() && was.kept == nil {
		return "", ch.putBack() // there is nothing to lose, or clear keeps it
	}
	to := asideName(ch.Path)
	linked := was.mode.IsRegular() && os.Link(ch.Path, to) == nil // so that the path is there all the time
	if !linked && os.Rename(ch.Path, to) != nil {
		return "", false
	}
	if ch.putBack() {
		return to, true
	}
	if linked {
		_ = os.Remove(to)
	} else {
		_ = os.Rename(to, ch.Path)
	}
	return "", false
}

func (ch Change) putBack() bool {
	was := ch.was
	if ch.then.straighten(filepath.Dir(ch.Path)) != nil {
		return false
	}
	info, err := os.Lstat(ch.Path)
	there := err == nil
	if there && info.Mode().Type() != was.mode.Type() {
		// Another kind of file is there now, never to be written through.
		if ch.then.clear(ch.Path) != nil {
			return false
		}
		there = false
	}
	switch {
	case was.mode.IsDir():
		return (there || os.Mkdir(ch.Path, 0o755) == nil) && os.Chmod(ch.Path, was.mode.Perm()) == nil
	case was.mode&fs.ModeSymlink != 0:
		if there && os.Remove(ch.Path) != nil {
			return false
		}
		return os.Symlink(was.link, ch.Path) == nil
	case !was.mode.IsRegular():
		return false
	case was.kept == nil:
		// Its bytes were not kept; where only its mode changed, that is enough.
		now, ok := (&Digests{kept: keptTotal}).digest(ch.Path)
		return ok && now.sum == was.sum && os.Chmod(ch.Path, was.mode.Perm()) == nil
	default:
		return write(ch.Path, was)
	}
}

// write puts kept bytes to a path in one step.
func write(path string, g *digest) bool {
	temp, err := os.CreateTemp(filepath.Dir(path), ".agent-ls-*")
	if err != nil {
		return false
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(g.kept)
	return temp.Close() == nil && err == nil && os.Chmod(temp.Name(), g.mode.Perm()) == nil && os.Rename(temp.Name(), path) == nil
}
