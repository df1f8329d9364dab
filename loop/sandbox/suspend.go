package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Suspended are changes of protected files that were undone until a person
// says whether they may stay. Nothing acts on them meanwhile, and if nobody
// ever answers they stay undone.
type Suspended struct {
	Undone []Undone
	whole  bool
	root   string
}

// Suspend undoes the changes so that Accept can make them again.
func (c Changes) Suspend() Suspended {
	s := Suspended{Undone: c.undo(true), whole: true}
	if len(c) > 0 {
		s.root = c[0].then.root
	}
	for _, u := range s.Undone {
		s.whole = s.whole && u.OK
	}
	return s
}

// Whole tells whether all was undone. Where it was not, protected files are as
// the command left them.
func (s Suspended) Whole() bool { return s.whole }

// Offered are the changes that Accept can make again, with the bytes of files
// before and after them; ok is false where not all of them can be made again.
func (s Suspended) Offered() (offered []Offer, ok bool) {
	if !s.whole {
		return nil, false
	}
	for _, u := range s.Undone {
		switch {
		case u.Did == "moved back":
			return nil, false
		case u.What == "created" && u.Aside == "":
			return nil, false
		case u.What == "created":
			offered = append(offered, created(u)...)
			continue
		case u.What == "changed" && !(u.is.mode.IsRegular() && u.is.kept != nil || u.is.mode.IsDir() || u.is.link != ""):
			return nil, false
		case u.was.mode.IsDir():
			continue // what was in it says what happened
		}
		o := Offer{Path: u.Path, What: u.What, Before: u.was.kept}
		if u.is != nil {
			o.After = u.is.kept
		}
		offered = append(offered, o)
	}
	return offered, true
}

// Offer is one change of a protected file that a person may accept. Before and
// After are nil for what is not there, or is no file.
type Offer struct {
	Path, What    string
	Before, After []byte
}

// mostOffered bounds the files of one new folder that are shown.
const mostOffered = 20

// created are the files that something new brings, but for the bulk of git's.
func created(u Undone) []Offer {
	var out []Offer
	_ = filepath.WalkDir(u.Aside, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // it cannot be shown
		case len(out) >= mostOffered:
			return filepath.SkipAll
		case e.IsDir() && slices.Contains(gitBulk, e.Name()):
			return filepath.SkipDir
		case e.IsDir():
			return nil
		}
		rel, err := filepath.Rel(u.Aside, p)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		o := Offer{Path: filepath.Join(u.Path, rel), What: "created"}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() <= keptBytes {
			o.After, _ = os.ReadFile(p)
		}
		out = append(out, o)
		return nil
	})
	return out
}

// Accept makes the changes again, as the command had made them, and returns
// the paths where that failed. What lies there meanwhile is never written over
// but for what Suspend put there.
func (s Suspended) Accept() (failed []string) {
	// First what is gone or changed, folders before what is in them.
	for _, u := range s.Undone {
		if u.What != "created" && !u.again() {
			failed = append(failed, u.Path)
		}
	}
	for _, u := range slices.Backward(s.Undone) {
		if u.What == "removed" && u.was.mode.IsDir() {
			_ = os.Remove(u.Path) // if it is empty again
		}
	}
	for _, u := range s.Undone {
		if u.What != "created" {
			continue
		}
		if _, err := os.Lstat(u.Path); !errors.Is(err, fs.ErrNotExist) || u.Change.then.straighten(filepath.Dir(u.Path)) != nil || os.Rename(u.Aside, u.Path) != nil {
			failed = append(failed, u.Path)
		}
	}
	s.remember()
	return failed
}

// again makes one change of something that was there before.
func (u Undone) again() bool {
	switch info, err := os.Lstat(u.Path); {
	case err != nil || info.Mode().Type() != u.was.mode.Type():
		return false
	case u.What == "removed" && u.was.mode.IsDir():
		return true // when all in it is gone
	case u.What == "removed":
		return os.Remove(u.Path) == nil
	case u.is.mode.Type() != u.was.mode.Type() && !u.was.mode.IsDir():
		if os.Remove(u.Path) != nil {
			return false
		}
	}
	switch {
	case u.is.mode.IsDir():
		return os.Chmod(u.Path, u.is.mode.Perm()) == nil
	case u.is.link != "":
		_ = os.Remove(u.Path)
		return os.Symlink(u.is.link, u.Path) == nil
	}
	return write(u.Path, u.is)
}

// Refuse leaves the changes undone and removes what only the command has
// made. What may be older stays aside.
func (s Suspended) Refuse() {
	for i := range s.Undone {
		u := &s.Undone[i]
		if u.What != "created" || u.Aside == "" || u.then.full || u.then.list.unseen(u.Path) || older(u.Aside, u.then.at.Add(-clockStep)) {
			continue
		}
		if os.RemoveAll(u.Aside) == nil {
			u.Did, u.Aside = "removed again", ""
		}
	}
	s.remember()
}

func (s Suspended) remember() {
	if s.root != "" {
		list(s.root).remember()
	}
}

// Names are the paths, the highest ones only.
func (s Suspended) Names() []string {
	var out []string
	for _, u := range s.Undone {
		if !slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(u.Path, o+string(filepath.Separator)) }) {
			out = append(out, u.Path)
		}
	}
	return out
}
