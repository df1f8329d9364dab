//go:build unix

package textfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("text"), []byte("abc"), 0o600), os.Symlink("text", at("link")), syscall.Mkfifo(at("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"text", "link"} {
		if text, err := Read(at(name), 3); err != nil || string(text) != "abc" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, path := range []string{at("pipe"), dir, "/dev/zero"} {
		if text, err := Read(path, 3); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if text, err := Read(at("text"), 2); err == nil || !strings.Contains(err.Error(), "larger than 2 bytes") {
		t.Errorf("too large: %q, %v", text, err)
	}
	if _, err := Read(at("gone"), 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
}
