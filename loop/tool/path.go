package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"agent-ls/loop"
)

// workspace is what the tools of one session share.
type workspace struct {
	Options

	mu    sync.Mutex
	plans map[string]planned // by tool and arguments
}

// planned is what the last Prepare of some arguments found, so that Run can
// tell whether the world has moved since policy looked.
type planned struct {
	path   string
	digest string // of the bytes before; "" for a file that did not exist
	edits  bool
}

// maxPlans bounds what is remembered; an older plan that was dropped is made
// again from the same arguments.
const maxPlans = 512

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

// key names a tool with its arguments.
func planKey(tool string, args json.RawMessage) string {
	sum := sha256.Sum256(append([]byte(tool+"\x00"), args...))
	return string(sum[:])
}

func (w *workspace) plan(tool string, args json.RawMessage, p planned) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.plans) >= maxPlans {
		clear(w.plans)
	}
	w.plans[planKey(tool, args)] = p
}

// check holds what a call is about to do against what was planned.
func (w *workspace) check(tool string, args json.RawMessage, path string) (planned, error) {
	w.mu.Lock()
	p, ok := w.plans[planKey(tool, args)]
	w.mu.Unlock()
	switch {
	case !ok && !within(w.Root, path):
		return p, fmt.Errorf("%s is outside the workspace and nobody has judged this call", path)
	case ok && p.path != path:
		return p, fmt.Errorf("the path leads to %s now; it led to %s when the call was judged. Nothing was done; call again", w.show(path), w.show(p.path))
	}
	return p, nil
}

// within tells whether a path is the folder or lies below it.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
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
