package server_test

import (
	"slices"
	"strings"
	"testing"

	"agent-ls/hooks/check"
	"agent-ls/lsp/internal/server"
	"agent-ls/lsp/lsptest"
)

// A fixture is checked while it is typed, against the contract and against its
// script as the editor has it.
func TestFixturesAreChecked(t *testing.T) {
	w := newWorkspace(t, map[string]string{".agent-ls/agent.toml": plainManifest, ".agent-ls/hooks/guard.risor": "func on_tool_call(ctx) {\n    return nil\n}\n"})
	e := start(t, server.Options{})
	e.Initialize(modern, w.folder())
	uri, script := w.uri(".agent-ls/hooks/guard_test.toml"), w.uri(".agent-ls/hooks/guard.risor")
	text, _ := lsptest.Mark(t, "event = \"on_tool_call\"\nctx.⟦field:tool_call⟧ = []\nwant = \"⟦action:alow⟧\"\n")
	e.Open(uri, "toml", text)
	got := e.Diagnostics(uri, 1)
	var codes []string
	for _, d := range got {
		codes = append(codes, d.Code)
	}
	if want := []string{string(check.CodeUnknownField), string(check.CodeUnknownAction)}; !slices.Equal(codes, want) {
		t.Fatalf("%v, want %v", codes, want)
	}
	if at := e.TextAt(uri, got[0].Range); at != "tool_call" || !strings.Contains(got[0].Message, "tool_calls") {
		t.Errorf("%q: %s", at, got[0].Message)
	}
	// The finding about a function goes when the function comes, unsaved.
	version := e.SetText(uri, "event = \"tool:gate\"\nwant = \"allow\"\n")
	got = e.Diagnostics(uri, version)
	if len(got) != 1 || got[0].Code != string(check.CodeMissingFunction) {
		t.Fatalf("%+v", got)
	}
	e.Open(script, "risor", "func tool_gate(ctx) {\n    return nil\n}\n")
	e.AwaitDiagnostics(uri, func(p lsptest.Published) bool { return len(p.Diagnostics) == 0 })
}
