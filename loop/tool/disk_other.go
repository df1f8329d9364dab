//go:build !linux

package tool

import "os"

// openFolder opens a folder by a path in which no part may be a symlink.
func openFolder(path string) (*os.Root, error) { return openFolderByName(path) }
