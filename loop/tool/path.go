package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/loop"
)

// workspace is what the tools of one session share.
type workspace struct{ Options }

const maxLinks = 40

// resolvePath is the absolute path that a name leads to, every symlink and
// every ".." followed, for files that do not exist yet as well. What it
// returns has no symlink in it at this moment.
func resolvePath(root, name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("the path is empty")
	case strings.IndexByte(name, 0) >= 0:
		return "", errors.New("the path contains a zero byte")
	}
	path := name
	if !filepath.IsAbs(path) {
		// Not Join: it would take "link/.." away before the link is followed.
		path = root + string(filepath.Separator) + path
	}
	volume := filepath.VolumeName(path)
	todo := strings.Split(filepath.ToSlash(path[len(volume):]), "/")
	done := volume + string(filepath.Separator)
	for links := 0; len(todo) > 0; {
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
		info, err := os.Lstat(next)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "not a directory"):
			return "", fmt.Errorf("%s: %w", name, errors.Unwrap(err))
		case err != nil || info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0:
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many symbolic links", name)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			done = volume + string(filepath.Separator)
			target = target[len(volume):]
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	return done, nil
}

func (w *workspace) resolve(name string) (string, error) { return resolvePath(w.Root, name) }

// judged holds a path that a call is about to touch against those that the
// gate judged for this very call. No call, as while it is prepared, means that
// nothing was judged yet and nothing is told.
func (w *workspace) judged(call *loop.Invocation, path string) error {
	switch {
	case call == nil || slices.ContainsFunc(call.Judged.Paths, func(p loop.PathAccess) bool { return p.Path == path }):
		return nil
	case len(call.Judged.Paths) == 0:
		return fmt.Errorf("nobody has judged that this call touches %s. Nothing was done; call again", w.show(path))
	}
	return fmt.Errorf("the path leads to %s now; it led to %s when the call was judged. Nothing was done; call again", w.show(path), w.show(call.Judged.Paths[0].Path))
}

// errUnjudged is why a call does not write: what it would change was not there
// to be judged when the gate looked.
var errUnjudged = errors.New("what this would change was not judged; nothing was written; call again")

// withheld is why a call cannot be done, in words that show what is in a file
// that the session does not know. Only a call that passed the gate says them.
type withheld struct {
	path string
	err  error
}

func (e *withheld) Error() string { return e.err.Error() }
func (e *withheld) Unwrap() error { return e.err }

// withhold keeps the words of an error from whoever has not read the file as
// it is now.
func (w *workspace) withhold(path string, now []byte, err error) error {
	if w.Tracker.Seen(path) == digestOf(now) {
		return err
	}
	return &withheld{path, err}
}

// unsaid is the plan of a writing call that cannot be done for reasons that
// nobody may hear before the gate has judged its path: it has the path and no
// edits, and running it says why. Every other error is returned.
func (w *workspace) unsaid(verb string, err error) (loop.Plan, error) {
	var held *withheld
	if !errors.As(err, &held) {
		return loop.Plan{}, err
	}
	return loop.Plan{
		Effect: loop.Write, Title: verb + w.show(held.path),
		Paths: []loop.PathAccess{{Path: held.path, Write: true}},
	}, nil
}

// digestOf is how the model is told which bytes a file has.
func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// read gets a file's bytes, the open document before the disk, nil for a file
// that does not exist.
func (w *workspace) read(ctx context.Context, path string) (text loop.FileText, found bool, err error) {
	text, err = w.Files.Read(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return loop.FileText{}, false, nil
	}
	return text, err == nil, err
}

// size refuses what is too large to be read whole, before it is.
func (w *workspace) size(path string, most int64) error {
	if _, open := w.Files.Open()[path]; open {
		return nil
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil //nolint:nilerr // reading will say so
	case info.IsDir():
		return fmt.Errorf("%s is a folder; list_files shows what is in it", w.show(path))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", w.show(path))
	case info.Size() > most:
		return fmt.Errorf("%s has %d bytes, more than the %d that can be read; use grep, or shell with head, tail or sed -n", w.show(path), info.Size(), most)
	}
	return nil
}
