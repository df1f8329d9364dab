//go:build unix

package manifest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe in the place of a file must not make the server wait for a writer.
func TestPipesAreNotOpened(t *testing.T) {
	s := workspace(t, "-- ws/.agent-ls/agent.toml --\n[stages.a]\nprompt = \"p.md\"\n")
	if err := syscall.Mkfifo(filepath.Join(s.Root, ".agent-ls", "p.md"), 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	if err := os.Mkdir(filepath.Join(s.Root, ".agent-ls", "agents"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(s.Root, ".agent-ls", "agents", "x.toml"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, found := load(t, s)
	if len(found) != 2 || found[0].Code != CodeMissingFile || found[1].Code != CodeMissingFile {
		t.Errorf("findings = %v, want both pipes refused", found)
	}
	if len(cfg.Blocking("", found)) != 1 {
		t.Errorf("the agent is blocked by %v", cfg.Blocking("", found))
	}
}
