package bridge_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent-ls/lsp/internal/bridge"
	"agent-ls/lsp/lsptest"
)

// What was recorded is played through the script as the editor shows it.
func TestReplay(t *testing.T) {
	w := openWindow(t, calcWorkspace(t, fixAdd), t.TempDir(), bridge.AgentFlags(everything...))
	w.saving()
	w.approveWith(map[string]any{"outcome": "allowOnce"})
	started := w.start("Add is wrong")
	if end := w.finished(started.RunID); end.Status != "done" {
		t.Fatalf("the run ended with %+v", end)
	}
	script := w.uri(".agent-ls/hooks/guard.risor")
	play := func(more map[string]any) bridge.ReplayResult {
		t.Helper()
		params := map[string]any{"uri": script}
		for k, v := range more {
			params[k] = v
		}
		return ask[bridge.ReplayResult](w, "agent/replay", params)
	}
	if got := play(nil); got.Checked != 2 || got.Unchanged != 2 || len(got.Changed)+len(got.Errors) > 0 {
		t.Errorf("the script of the run: %+v", got)
	}

	// The open document counts, saved or not, and the file stays as it is.
	w.Open(script, "risor", guard)
	w.Replace(script, `call.name == "shell"`, `call.name == "edit"`)
	got := play(map[string]any{"sessions": "last:1", "workDoneToken": "r1"})
	if got.Checked != 2 || got.Unchanged != 1 || len(got.Changed) != 1 {
		t.Fatalf("the document: %+v", got)
	}
	c := got.Changed[0]
	if c.Decision.Action != "allow" || c.Now.Action != "deny" || c.SessionID != started.SessionID || c.Seq != c.Decision.Seq || c.Because != "it did allow and would now deny: no shell here" {
		t.Errorf("the change: %+v", c)
	}
	if c.Now.Hook.URI != script || c.Now.Hook.Range.Start.Line != 3 || c.Now.Hook.Digest == c.Decision.Hook.Digest {
		t.Errorf("the hook now: %+v", c.Now.Hook)
	}
	w.Await("$/progress", func(raw json.RawMessage) bool {
		return strings.Contains(string(raw), `"end"`) && strings.Contains(string(raw), `"r1"`)
	})
	var told []string
	for _, m := range w.Messages("$/progress") {
		if strings.Contains(string(m.Params), `"r1"`) {
			told = append(told, decode[struct{ Value struct{ Kind string } }](t, m.Params).Value.Kind)
		}
	}
	if !slices.Equal(told, []string{"begin", "report", "end"}) {
		t.Errorf("progress: %v", told)
	}

	// The given text counts before both.
	failing := strings.Replace(guard, "return hook.allow()", `return json.unmarshal("{")`, 1)
	got = play(map[string]any{"text": failing, "sessions": []string{started.SessionID}, "function": "on_tool_call"})
	if got.Checked != 2 || len(got.Errors) != 2 {
		t.Fatalf("the text: %+v", got)
	}
	if e := got.Errors[0]; e.Kind != "script" || e.URI != script || e.Range == nil || e.Range.Start.Line != 6 || e.Decision == nil || e.Seq == 0 {
		t.Errorf("the error: %+v", e)
	}
	got = play(map[string]any{"text": "func on_tool_call(ctx) {\n\treturn tru\n}\n"})
	if len(got.Errors) != 1 || got.Errors[0].Kind != "finding" || got.Errors[0].Range.Start.Line != 1 || got.Checked != 0 {
		t.Errorf("a text that does not pass its check: %+v", got)
	}

	for want, params := range map[int]map[string]any{
		-32013: {"sessions": []string{"ses_none"}},
		-32602: {"sessions": "last:none"},
	} {
		params["uri"] = script
		if code := lsptest.Code(w.Call("agent/replay", params, nil)); code != want {
			t.Errorf("%v: %d, want %d", params, code, want)
		}
	}
	for _, params := range []map[string]any{{}, {"uri": "untitled:x"}, {"uri": script, "limit": -1}, {"uri": script, "function": "on_tool_cal"}, {"uri": script, "workDoneToken": 1.5}, {"uri": w.uri("gone.risor")}} {
		if code := lsptest.Code(w.Call("agent/replay", params, nil)); code != -32602 {
			t.Errorf("%v: %d, want -32602", params, code)
		}
	}
	if text, err := os.ReadFile(w.path(".agent-ls/hooks/guard.risor")); err != nil || string(text) != guard {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// Both ways to cancel end a replay that would take long.
func TestReplayIsCancelled(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "config.toml"), []byte("[hooks.limits]\noperations = 100_000_000_000\ntime = \"60s\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := openWindow(t, calcWorkspace(t, fixAdd), state, bridge.AgentFlags(everything...))
	w.saving()
	w.approveWith(map[string]any{"outcome": "allowOnce"})
	w.finished(w.start("Add is wrong").RunID)
	slow := "func on_tool_call(ctx) {\n\tn := 0\n\tfor n < 1000000000000 { n++ }\n\treturn nil\n}\n"
	params := map[string]any{"uri": w.uri(".agent-ls/hooks/guard.risor"), "text": slow, "workDoneToken": "r2"}
	begun := func() {
		w.Await("$/progress", func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"report"`) })
		w.Forget()
	}
	p := w.Send("agent/replay", params)
	begun()
	p.Cancel()
	if code := lsptest.Code(p.Result(nil)); code != -32800 {
		t.Errorf("a cancelled request: %d", code)
	}
	p = w.Send("agent/replay", params)
	begun()
	w.Notify("window/workDoneProgress/cancel", map[string]any{"token": "r2"})
	if code := lsptest.Code(p.Result(nil)); code != -32800 {
		t.Errorf("a cancelled progress: %d", code)
	}
}
