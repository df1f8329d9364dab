//go:build unix

package hooks_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"agent-ls/hooks"
)

// A script imports only what is beside it, not what a link there leads to.
// Windows lets few users make links.
func TestLinkOutOfTheFolderIsNotImported(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "out.risor")
	if err := os.WriteFile(outside, []byte("reason := \"outside\""), 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "guard.risor")
	if err := os.WriteFile(script, []byte("from more import reason\nfunc on_tool_call(ctx) {\n  return hook.deny(reason)\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "more.risor")); err != nil {
		t.Fatal(err)
	}
	d := hooks.Declaration{ID: "g", Event: "on_tool_call", Path: script}
	set, findings, err := newEngine(t, hooks.Options{}).Load(context.Background(), []hooks.Declaration{d}, hooks.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if set != nil {
		if o := fire(t, set, batch()); o.Failure == nil {
			t.Errorf("it is imported: %v", findings)
		}
	}
}
