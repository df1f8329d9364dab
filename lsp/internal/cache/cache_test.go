package cache

import (
	"os"
	"path/filepath"
	"testing"

	"agent-ls/lsp/internal/text"
)

func TestFunctionLines(t *testing.T) {
	const script = "func a(ctx) {\n    return 1\n}\nfunc b(x, y) { return x }\n"
	for _, tt := range []struct {
		name, other string
		same        bool
	}{
		{"another body", "func a(ctx) {\n    return 2\n}\n\nfunc b(x, y) { return y }\n", true},
		{"another parameter", "func a(c) {\n    return 1\n}\nfunc b(x) { return x }\n", true},
		{"another name", "func aa(ctx) {\n    return 1\n}\nfunc b(x, y) { return x }\n", false},
		{"one less", "func a(ctx) {\n    return 1\n}\n", false},
		{"one more, after a lone CR", script + "\rfunc c() {}", false},
	} {
		if got := functionLines(script) == functionLines(tt.other); got != tt.same {
			t.Errorf("%s: the functions count as the same: %v, want %v", tt.name, got, tt.same)
		}
	}
	_ = functionLines("func")
	_ = functionLines("xfunc func func ")
}

func TestDifferences(t *testing.T) {
	a, b := stamp{size: 1, time: 1}, stamp{size: 2, time: 1}
	for _, tt := range []struct {
		name     string
		was, now map[string]stamp
		want     int
	}{
		{"the same", map[string]stamp{"x": a}, map[string]stamp{"x": a}, 0},
		{"changed", map[string]stamp{"x": a}, map[string]stamp{"x": b}, 1},
		{"appeared", map[string]stamp{"x": {}}, map[string]stamp{"x": a}, 1},
		{"went", map[string]stamp{"x": a}, map[string]stamp{"x": {}}, 1},
		{"new and there", nil, map[string]stamp{"x": a}, 1},
		{"new and not there", nil, map[string]stamp{"x": {}}, 0},
		{"no longer looked at", map[string]stamp{"x": a}, nil, 1},
	} {
		if got := differences(tt.was, tt.now); len(got) != tt.want {
			t.Errorf("%s: %v, want %d", tt.name, got, tt.want)
		}
	}
}

func TestKinds(t *testing.T) {
	settings := []string{"/home/u/.config/agent-ls/config.toml", "/etc/agent-ls/policy.toml"}
	for _, tt := range []struct {
		path, language string
		want           Kind
	}{
		{"/w/.agent-ls/agent.toml", "toml", Manifest},
		{"/w/.agent-ls/agents/review.toml", "toml", Manifest},
		{"/w/.agent-ls/other.toml", "toml", NoKind},
		{"/w/agents/x.toml", "toml", NoKind},
		{"/w/Cargo.toml", "toml", NoKind},
		{"/home/u/.config/agent-ls/config.toml", "toml", Manifest},
		{"/w/hooks/a.risor", "", Script},
		{"/w/hooks/a.RISOR", "plaintext", Script},
		{"", "risor", Script},
		{"", "toml", NoKind},
		{"/w/main.go", "go", NoKind},
	} {
		if got := kindOf(tt.path, tt.language, settings); got != tt.want {
			t.Errorf("kindOf(%q, %q) = %s, want %s", tt.path, tt.language, got, tt.want)
		}
	}
}

func TestDirtyIsAgainstTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.risor")
	if err := os.WriteFile(path, []byte("\ufeffx := 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]bool{"x := 1\n": false, "\ufeffx := 1\n": false, "x := 2\n": true} {
		doc := Document{Path: path, Source: text.NewSource(content)}
		if got := doc.Dirty(); got != want {
			t.Errorf("Dirty of %q = %v, want %v", content, got, want)
		}
	}
	if !(&Document{Path: path + "x", Source: text.NewSource("")}).Dirty() {
		t.Error("a document without a file is clean")
	}
}

func TestSnapshotsDoNotChange(t *testing.T) {
	s := NewSession(Options{Encoding: text.UTF16, Environ: []string{}, UserConfig: "/nowhere/config.toml", OrgPolicy: "/nowhere/policy.toml"})
	s.Open("untitled:a", "risor", 1, "x := 1\n")
	before := s.Snapshot()
	doc := before.Open("untitled:a")
	if err := s.Change("untitled:a", 2, []text.Change{{Text: "y := 2\n"}}); err != nil {
		t.Fatal(err)
	}
	s.Close("untitled:a")
	if got := before.Open("untitled:a"); got != doc || got.Source.Text() != "x := 1\n" || got.Version != 1 {
		t.Errorf("the snapshot now has %+v", got)
	}
	if s.Snapshot().Open("untitled:a") != nil {
		t.Error("the closed document is still open")
	}
}

func TestSpellingsOfOneDocument(t *testing.T) {
	s := NewSession(Options{Encoding: text.UTF16, Environ: []string{}, UserConfig: "/nowhere/config.toml", OrgPolicy: "/nowhere/policy.toml"})
	const opened = "file:///w/a%20b/%5bx%5d.risor"
	s.Open(opened, "risor", 1, "x := 1\n")
	for _, other := range []string{opened, "file:///w/a b/[x].risor", "file:///w/a%20b/%5Bx%5D.risor", "file://localhost/w/a%20b/[x].risor"} {
		doc := s.Snapshot().Open(other)
		if doc == nil {
			t.Errorf("%s is not open", other)
			continue
		}
		if doc.URI != opened {
			t.Errorf("%s is spelled %s", other, doc.URI)
		}
	}
	if got := s.Snapshot().URI("/w/a b/[x].risor"); got != opened {
		t.Errorf("the path is spelled %s", got)
	}
}
