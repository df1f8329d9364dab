//go:build unix

package server_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// hangingFile is a file that reading does not come back from.
func hangingFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	return path
}
