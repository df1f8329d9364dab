package tool

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"agent-ls/loop"
)

// maxFile is the largest file that is read whole.
const maxFile = 64 << 20

// disk is the files as they are on disk. It follows no symlink, in any part
// of a path: callers pass paths in which every link was followed already.
type disk struct{ root string }

// Disk is the file system without an editor in front of it.
func Disk(root string) loop.Files { return disk{root} }

// Open lists nothing: there is no editor.
func (disk) Open() map[string]bool { return nil }

// Read reads a regular file.
func (disk) Read(ctx context.Context, path string) (loop.FileText, error) {
	if err := ctx.Err(); err != nil {
		return loop.FileText{}, err
	}
	dir, err := openFolder(filepath.Dir(path))
	if err != nil {
		return loop.FileText{}, err
	}
	defer dir.Close()
	b, _, err := readIn(dir, filepath.Base(path), path)
	return loop.FileText{Bytes: b}, err
}

// readIn reads a regular file of an open folder.
func readIn(dir *os.Root, name, path string) ([]byte, fs.FileInfo, error) {
	before, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, &fs.PathError{Op: "read", Path: path, Err: errors.Unwrap(err)}
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, nil, fmt.Errorf("read %s: it is a symbolic link", path)
	case !before.Mode().IsRegular():
		return nil, nil, fmt.Errorf("read %s: not a regular file", path)
	case before.Size() > maxFile:
		return nil, nil, fmt.Errorf("read %s: %d bytes are more than %d", path, before.Size(), maxFile)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "read", Path: path, Err: errors.Unwrap(err)}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !os.SameFile(before, info) {
		return nil, nil, fmt.Errorf("read %s: %w", path, loop.ErrFileChanged)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("read %s: it grew past %d bytes", path, maxFile)
	}
	if b == nil {
		b = []byte{}
	}
	return b, info, err
}

// Write replaces a file at once or not at all, keeping its mode and owner.
func (disk) Write(ctx context.Context, path string, before, after []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if before == nil {
		if err := makeFolders(filepath.Dir(path)); err != nil {
			return err
		}
	}
	dir, err := openFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(path)
	now, info, err := readIn(dir, name, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && before == nil:
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: it is gone: %w", path, loop.ErrFileChanged)
	case err != nil:
		return err
	case before == nil:
		return fmt.Errorf("write %s: it exists now: %w", path, loop.ErrFileChanged)
	case !bytes.Equal(now, before):
		return fmt.Errorf("write %s: %w", path, loop.ErrFileChanged)
	}
	mode := fs.FileMode(0o644)
	if info != nil {
		mode = info.Mode().Perm()
	}
	temp, err := writeBeside(dir, after, mode, info)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if before == nil {
		// Link fails where a file has appeared meanwhile; rename would not.
		err = dir.Link(temp, name)
		_ = dir.Remove(temp)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("write %s: it exists now: %w", path, loop.ErrFileChanged)
		}
		if err == nil {
			return nil
		}
		// A file system without hard links.
		if temp, err = writeBeside(dir, after, mode, nil); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	if err := dir.Rename(temp, name); err != nil {
		_ = dir.Remove(temp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// writeBeside writes a new file in the folder and returns its name.
func writeBeside(dir *os.Root, content []byte, mode fs.FileMode, like fs.FileInfo) (string, error) {
	var random [8]byte
	_, _ = rand.Read(random[:])
	name := ".agent-ls-" + hex.EncodeToString(random[:]) + ".tmp"
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil {
		keepOwner(f, like)
		err = f.Chmod(newMode(mode, like))
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = dir.Remove(name)
		return "", err
	}
	return name, nil
}

// newMode is the mode that a new file gets: an old one's, or what the umask
// leaves of the usual.
func newMode(mode fs.FileMode, like fs.FileInfo) fs.FileMode {
	if like != nil {
		return mode
	}
	return mode &^ umask
}

// makeFolders makes what is missing of a path, following no link.
func makeFolders(path string) error {
	if info, err := os.Lstat(path); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a folder", path)
		}
		return nil
	}
	parent := filepath.Dir(path)
	if parent == path {
		return fmt.Errorf("%s does not exist", path)
	}
	if err := makeFolders(parent); err != nil {
		return err
	}
	dir, err := openFolder(parent)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Mkdir(filepath.Base(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
