package bridge_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"agent-ls/lsp"
	"agent-ls/lsp/internal/bridge"
	"agent-ls/lsp/lsptest"
)

// A run takes its scripts from the disk: what is typed and not saved is not in
// force yet.
func TestUnsavedHookIsNotInForce(t *testing.T) {
	root := calcWorkspace(t, fixAdd)
	w := openWindow(t, root, t.TempDir(), bridge.AgentFlags(everything...))
	w.approveWith(map[string]any{"outcome": "allowOnce"})
	w.saving()
	guard := w.path(".agent-ls/hooks/guard.risor")
	saved, err := os.ReadFile(guard)
	if err != nil {
		t.Fatal(err)
	}
	w.Open(w.uri(".agent-ls/hooks/guard.risor"), "risor", string(saved))
	w.SetText(w.uri(".agent-ls/hooks/guard.risor"), "func on_tool_call(ctx) {\n\treturn hook.cancel(\"typed\")\n}\n")
	s := w.start("Add is wrong")
	if end := w.finished(s.RunID); end.Status != "done" || strings.Contains(end.Error, "typed") {
		t.Errorf("the run ended %+v", end)
	}

	// The session goes on as one of its own, with what was chosen for it.
	ask[bridge.OK](w, "agent/set", map[string]any{"sessionId": s.SessionID, "mode": "plan"})
	fork := ask[bridge.ForkResult](w, "agent/fork", map[string]any{"sessionId": s.SessionID})
	first := ask[bridge.SessionsResult](w, "agent/sessions", map[string]any{"query": "ADD IS"})
	if len(first.Sessions) != 2 || fork.SessionID == s.SessionID {
		t.Errorf("sessions %+v, fork %+v", first, fork)
	}
	ask[bridge.OK](w, "agent/deleteSession", map[string]any{"sessionId": s.SessionID})
	left := ask[bridge.SessionsResult](w, "agent/sessions", map[string]any{})
	if len(left.Sessions) != 1 || left.Sessions[0].SessionID != fork.SessionID {
		t.Errorf("left are %+v", left)
	}
}

// Settings in a shape that cannot be read are said, not lost in silence.
func TestInitializationOptionsOfAnotherShapeAreSaid(t *testing.T) {
	root := calcWorkspace(t, fixAdd)
	extra := lsptest.Folder(bridge.FileURI(root))
	extra["initializationOptions"] = []string{"mode"}
	w := &window{t: t, root: root, state: t.TempDir()}
	w.Editor = lsptest.Start(t, func(ctx context.Context, stream io.ReadWriteCloser) error {
		return lsp.Serve(ctx, stream, lsp.Deps{StateDir: w.state, CacheDir: w.state, Environ: []string{"HOME=" + w.state}})
	})
	w.Initialize(map[string]any{}, extra)
	w.Await("window/showMessage", func(raw json.RawMessage) bool {
		return strings.Contains(string(raw), "initializationOptions is not an object")
	})
}
