package realpath

import (
	"os"
	"path/filepath"
	"testing"
)

func TestResolve(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(root, "real")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	linked := os.Symlink(real, filepath.Join(root, "link")) == nil // not every user of Windows may
	for path, want := range map[string]string{
		"":                 "",
		"real":             "real",
		"real/../real/./x": "real/x",
		"real/no/such":     "real/no/such",
		"link/no/such":     "real/no/such",
		"link":             "real",
	} {
		if path == "link" && !linked || path == "link/no/such" && !linked {
			continue
		}
		at := func(p string) string {
			if p == "" {
				return ""
			}
			return root + string(filepath.Separator) + filepath.FromSlash(p)
		}
		if got := Resolve(at(path)); got != at(want) {
			t.Errorf("Resolve(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		folder, path string
		want         bool
	}{
		{"/a", "/a", true}, {"/a", "/a/b/c", true}, {"/a", "/a/..b", true}, {"/", "/a", true},
		{"/a", "/ab", false}, {"/a/b", "/a", false}, {"/a", "/", false}, {"/a", "/b", false}, {"", "/a", false}, {"", "a", false},
	} {
		if got := Within(filepath.FromSlash(tt.folder), filepath.FromSlash(tt.path)); got != tt.want {
			t.Errorf("Within(%q, %q) = %v", tt.folder, tt.path, got)
		}
	}
}
