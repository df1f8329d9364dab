package run

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// Explaining a call asks the gate's scripts too, and says which line refuses.
func TestExplainAsksTheGate(t *testing.T) {
	r := newRig(t)
	r.real(map[string]string{"work/tool:gate": `func tool_gate(ctx) {
    if ctx.input.get("path", "") == "b.txt" {
        return hook.deny("b is not for you")
    }
    return hook.allow()
}
`})
	r.config.Policy = manifest.Policy{Default: "allow"}
	for path, want := range map[string]loop.Verdict{"a.txt": loop.VerdictAllow, "b.txt": loop.VerdictDeny} {
		got, err := r.svc.Explain(context.Background(), "read_file", json.RawMessage(`{"path":"`+path+`"}`), "")
		if err != nil || got.Outcome != want {
			t.Fatalf("%s: %s, %v; want %s\n%+v", path, got.Outcome, err, want, got.Steps)
		}
		last := got.Steps[len(got.Steps)-1]
		if want == loop.VerdictDeny && (last.Layer != loop.LayerHook || last.Because != "b is not for you" || !strings.Contains(last.Source, "tool:gate.risor:3:")) {
			t.Errorf("the last step is %+v", last)
		}
	}
}
