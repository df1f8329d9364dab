package server_test

import (
	"path/filepath"
	"testing"
)

// hangingFile is just a file that is not there: windows has no such pipes.
func hangingFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "config.toml")
}
