package tool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// openFolderByName opens a folder and checks afterwards that what was opened
// is what the path names without any link.
func openFolderByName(path string) (*os.Root, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil {
		err = sameFolder(path, opened)
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

func sameFolder(path string, opened fs.FileInfo) error {
	straight, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	now, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if straight != filepath.Clean(path) || !os.SameFile(now, opened) {
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("a symbolic link is in the way")}
	}
	return nil
}
