// Package realpath says where a path leads and what lies in which folder. Rules,
// sandbox, trust and tools ask it, so that all of them mean the same file.
package realpath

import (
	"path/filepath"
	"strings"
)

// Resolve follows the symlinks of a path as far as it exists; what does not
// exist yet stays as it is named. "" stays "".
func Resolve(path string) string {
	if path == "" {
		return ""
	}
	path = filepath.Clean(path)
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// Within says whether a path is the folder or lies below it. It compares names
// only: resolve both before. Nothing lies in "".
func Within(folder, path string) bool {
	if folder == "" {
		return false
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
