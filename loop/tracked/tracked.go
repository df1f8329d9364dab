// Package tracked owns what a command changed in files that git tracks: it
// looks before and after, so that the change can be undone. Start at Look. It
// runs no hook, filter or file system monitor of a repository: git's index is
// read here, and git itself is asked for the bytes of objects only.
package tracked

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// keptFile is the largest file whose bytes are kept, keptTotal what is kept
	// of all of them in one look, for files that git does not have as they are.
	keptFile  = 1 << 20
	keptTotal = 64 << 20
	// maxChanges bounds the files of one command that can be put back; a
	// command that changes more (another branch) is git's to undo.
	maxChanges = 2000
	// askWithin is how long git may take to give the bytes.
	askWithin = 10 * time.Second
)

// Before is how the tracked files were before a command.
type Before struct {
	repo  repository
	files []file
}

type file struct {
	entry
	path  string
	info  fs.FileInfo // nil: it was not there
	bytes []byte      // where git does not have them; nil: too large, or git has them
	clean bool        // as the index has it
}

// Change is a tracked file that is no longer as it was.
type Change struct {
	Path          string // absolute
	Before, After []byte
	Created       bool // it was not there before
	Gone          bool // it is not there any more
	Mode          fs.FileMode
}

// Look says how the files are that git tracks below root; nil where it tracks
// none. An error says why what it tracks cannot be looked at.
func Look(root string) (*Before, error) {
	repo, ok := repositoryOf(root)
	if !ok {
		return nil, nil
	}
	entries, written, err := repo.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was ever added
	}
	if err != nil {
		return nil, err
	}
	b := &Before{repo: repo, files: make([]file, 0, len(entries))}
	kept := 0
	for _, e := range entries {
		f := file{entry: e, path: filepath.Join(repo.top, filepath.FromSlash(e.name))}
		if !below(root, f.path) {
			continue
		}
		if info, err := os.Lstat(f.path); err == nil {
			if !info.Mode().IsRegular() {
				continue
			}
			f.info = info
		}
		f.clean = f.info != nil && e.blob != "" && f.info.Size() == e.size && sameTime(f.info.ModTime(), e.mtime) && f.info.ModTime().Before(written)
		if f.info != nil && !f.clean && f.info.Size() <= keptFile && kept < keptTotal {
			if text, err := readRegular(f.path); err == nil {
				f.bytes = text
				kept += len(text)
			}
		}
		b.files = append(b.files, f)
	}
	return b, nil
}

// sameTime compares with the precision that the index has.
func sameTime(a, index time.Time) bool {
	return a.Unix() == index.Unix() && (index.Nanosecond() == 0 || a.Nanosecond() == index.Nanosecond())
}

func below(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// readRegular reads a file of at most keptFile bytes, and nothing else.
func readRegular(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > keptFile {
		return nil, errors.New("too large, or no file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, keptFile+1))
	if err == nil && len(text) > keptFile {
		err = errors.New("too large")
	}
	if text == nil {
		text = []byte{}
	}
	return text, err
}

// Changes gives what is no longer as it was, and the paths of changed files
// that could not be put back, since nobody has their bytes.
func (b *Before) Changes(ctx context.Context) (changes []Change, lost []string) {
	if b == nil {
		return nil, nil
	}
	var changed []*file
	for i := range b.files {
		if f := &b.files[i]; f.moved() {
			changed = append(changed, f)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	if len(changed) > maxChanges {
		for _, f := range changed[maxChanges:] {
			lost = append(lost, f.path)
		}
		changed = changed[:maxChanges]
	}
	blobs := b.blobs(ctx, changed)
	for _, f := range changed {
		c, ok := f.change(blobs)
		switch {
		case !ok:
			lost = append(lost, f.path)
		case !c.Gone && !c.Created && bytes.Equal(c.Before, c.After):
		default:
			changes = append(changes, c)
		}
	}
	return changes, lost
}

// moved says that the file may have been changed.
func (f *file) moved() bool {
	info, err := os.Lstat(f.path)
	switch {
	case err != nil:
		return f.info != nil && errors.Is(err, fs.ErrNotExist)
	case f.info == nil:
		return info.Mode().IsRegular()
	}
	return info.Mode() != f.info.Mode() || info.Size() != f.info.Size() || !info.ModTime().Equal(f.info.ModTime()) || !os.SameFile(info, f.info)
}

func (f *file) change(blobs map[string][]byte) (Change, bool) {
	c := Change{Path: f.path, Before: f.bytes, Created: f.info == nil}
	if f.info != nil {
		c.Mode = f.info.Mode().Perm()
	}
	if f.clean {
		var have bool
		// What git converts on checkout is not what was in the file.
		if c.Before, have = blobs[f.blob]; !have || int64(len(c.Before)) != f.info.Size() {
			return c, false
		}
	}
	if !c.Created && c.Before == nil {
		return c, false
	}
	after, err := readRegular(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Gone = true
	case err != nil:
		return c, false
	}
	c.After = after
	return c, true
}

// blobs asks git for the bytes of the files that were as the index has them.
func (b *Before) blobs(ctx context.Context, files []*file) map[string][]byte {
	var ask bytes.Buffer
	total := int64(0)
	for _, f := range files {
		if !f.clean || f.size > keptFile || total+f.size > keptTotal {
			continue
		}
		total += f.size
		ask.WriteString(f.blob + "\n")
	}
	if ask.Len() == 0 {
		return nil
	}
	git, err := exec.LookPath("git")
	if err != nil || below(b.repo.top, git) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "-c", "core.fsmonitor=false", "-c", "protocol.allow=never", "--git-dir="+b.repo.dir, "cat-file", "--batch")
	// An empty GIT_ALLOW_PROTOCOL allows no protocol, whatever the repository
	// sets: a git that does not know GIT_NO_LAZY_FETCH would fetch a missing
	// object from where the repository says, by a program that it names, too.
	cmd.Env = append(os.Environ(), "GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
	cmd.Dir, cmd.Stdin = b.repo.top, &ask
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	blobs := readBatch(out)
	_, _ = io.Copy(io.Discard, io.LimitReader(out, keptTotal))
	_ = cmd.Wait()
	return blobs
}

// readBatch reads what cat-file --batch prints.
func readBatch(out io.Reader) map[string][]byte {
	blobs := map[string][]byte{}
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return blobs
		}
		parts := strings.Fields(line)
		if len(parts) == 2 { // "… missing"
			continue
		}
		if len(parts) != 3 || parts[1] != "blob" {
			return blobs
		}
		size, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil || size < 0 || size > keptFile {
			return blobs
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(r, text); err != nil {
			return blobs
		}
		if end, err := r.ReadByte(); err != nil || end != '\n' {
			return blobs
		}
		blobs[parts[0]] = text
	}
}
