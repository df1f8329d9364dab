//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSuspendedChanges(t *testing.T) {
	const was = "guard"
	start := map[string]string{".agent-ls/agent.toml": was, "AGENTS.md": "x", ".vscode/tasks.json": "{}", "plain.txt": "p"}
	change := func(root string) {
		write := func(name, text string) {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(".agent-ls/agent.toml", "changed")
		write(".agent-ls/hooks/new.risor", "new")
		write("sub/.git/config", "[core]")
		write("sub/.git/objects/ab/c", "data")
		write("sub/.git/HEAD", "ref")
		write(".envrc", "export A=1")
		for _, gone := range []string{"AGENTS.md", ".vscode"} {
			if err := os.RemoveAll(filepath.Join(root, gone)); err != nil {
				t.Fatal(err)
			}
		}
	}
	after := map[string]string{
		".agent-ls/agent.toml": "changed", ".agent-ls/hooks/new.risor": "new", "sub/.git/config": "[core]", "sub/.git/objects/ab/c": "data", "sub/.git/HEAD": "ref",
		".envrc": "export A=1", "plain.txt": "p",
	}
	for _, accept := range []bool{true, false} {
		root := t.TempDir()
		place{root: root}.put(t, start)
		before := Snapshot(root)
		change(root)
		later := Snapshot(root)
		s := before.Compare(later).Suspend()
		if !s.Whole() {
			t.Fatalf("not all was undone: %+v", s.Undone)
		}
		meanwhile := tree(t, root)
		for name, text := range start {
			if meanwhile[name] != text {
				t.Errorf("meanwhile %s is %q, want %q", name, meanwhile[name], text)
			}
		}
		for name := range meanwhile {
			if why, yes := Protected(root, filepath.Join(root, name)); yes && start[name] == "" && !strings.Contains(name, ".put-aside") {
				t.Errorf("meanwhile %s is there: %s", name, why)
			}
		}
		offered, ok := s.Offered()
		var names []string
		for _, o := range offered {
			rel, _ := filepath.Rel(root, o.Path)
			names = append(names, o.What+" "+rel)
		}
		if got, want := strings.Join(names, ", "), "changed .agent-ls/agent.toml, created .agent-ls/hooks/new.risor, created .envrc, removed .vscode/tasks.json, removed AGENTS.md, created sub/.git/HEAD, created sub/.git/config"; !ok || got != want {
			t.Errorf("Offered = %s, %t, want %s", got, ok, want)
		}
		want := start
		if accept {
			want = after
			if failed := s.Accept(); len(failed) > 0 {
				t.Errorf("Accept failed for %v", failed)
			}
		} else {
			s.Refuse()
		}
		got := tree(t, root)
		for name, text := range want {
			if got[name] != text {
				t.Errorf("accept %t: %s is %q, want %q", accept, name, got[name], text)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("accept %t: too much is there: %v", accept, got)
		}
	}
}

// tree are the files below a folder.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(root, p)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
