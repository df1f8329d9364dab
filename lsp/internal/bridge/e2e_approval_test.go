package bridge_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"agent-ls/lsp/internal/bridge"
	"agent-ls/lsp/lsptest"
)

// openApproval starts a run and holds it at its approval.
func (w *window) openApproval() (bridge.StartResult, bridge.Approval) {
	w.t.Helper()
	release := make(chan struct{})
	w.t.Cleanup(func() { close(release) })
	asked := make(chan bridge.Approval, 10)
	w.On("agent/approve", func(raw json.RawMessage) (any, error) {
		asked <- decode[bridge.Approval](w.t, raw)
		<-release
		return nil, errors.New("too late")
	})
	started := w.start("Add is wrong")
	select {
	case ap := <-asked:
		return started, ap
	case <-time.After(lsptest.Patience):
		w.t.Fatal("no approval")
		return started, bridge.Approval{}
	}
}

func TestCancelWhileAnApprovalIsOpen(t *testing.T) {
	w := openWindow(t, calcWorkspace(t, fixAdd), t.TempDir(), bridge.AgentFlags(everything...))
	started, ap := w.openApproval()
	begin := time.Now()
	if got := ask[bridge.CancelResult](w, "agent/cancel", map[string]any{"runId": started.RunID}); !got.Cancelled {
		t.Error("not cancelled")
	}
	w.Await("$/cancelRequest", func(json.RawMessage) bool { return true })
	resolved := decode[bridge.ApprovalResolved](t, w.Await("agent/approvalResolved", func(json.RawMessage) bool { return true }).Params)
	if resolved.ID != ap.ID || resolved.Outcome != "deny" || resolved.By != "cancel" {
		t.Errorf("resolved %+v", resolved)
	}
	end := w.finished(started.RunID)
	if took := time.Since(begin); took > 100*time.Millisecond && !raceEnabled {
		t.Errorf("the run ended %v after the cancel", took)
	}
	if end.Status != "cancelled" || end.StopReason != "user" {
		t.Errorf("the run ended with %+v", end)
	}
	w.Await("agent/event", func(raw json.RawMessage) bool {
		e := decode[event](t, raw)
		return e.Type == "approval_withdrawn" && e.ID == ap.ID
	})
	ask[bridge.CancelResult](w, "agent/cancel", map[string]any{"runId": started.RunID}) // again is no error
	if code := lsptest.Code(w.Call("agent/resolve", map[string]any{"id": ap.ID, "outcome": "allowOnce"}, nil)); code != -32011 {
		t.Errorf("an answer after the cancel = %d", code)
	}
	if got := w.disk("calc.go"); got != calc {
		t.Errorf("calc.go is %q", got)
	}
	next := w.start("again") // the session and the server go on
	w.Must("agent/cancel", map[string]any{"runId": next.RunID}, nil)
}

// The editor is gone in the middle of an approval. In the next one it is still
// open, and the run goes on with the answer.
func TestApprovalOutlivesTheEditor(t *testing.T) {
	root, state := calcWorkspace(t, fixAdd), t.TempDir()
	first := openWindow(t, root, state, bridge.AgentFlags(everything...))
	started, ap := first.openApproval()
	first.Hangup()
	_ = first.Wait()

	w := openWindow(t, root, state, bridge.AgentFlags(everything...))
	pending := ask[bridge.PendingResult](w, "agent/pending", nil)
	if len(pending.Approvals) != 1 || pending.Approvals[0].ID != ap.ID || pending.Approvals[0].Digest != ap.Digest ||
		pending.Approvals[0].Elsewhere || len(pending.Approvals[0].Edits) != 1 || pending.Approvals[0].Edits[0].URI != w.uri("calc.go") {
		t.Fatalf("agent/pending = %+v", pending)
	}
	if got := ask[bridge.OK](w, "agent/resolve", map[string]any{"id": ap.ID, "outcome": "allowOnce"}); !got.OK {
		t.Error("not ok")
	}
	if end := w.finished(started.RunID); end.Status != "done" {
		t.Errorf("the run ended with %+v", end)
	}
	if got := w.disk("calc.go"); !strings.Contains(got, "func Add(a, b int) int {\n\treturn a + b") {
		t.Errorf("calc.go is %q", got)
	}
}

// Two windows on one workspace: an answer in one reaches the run in the other.
func TestTwoWindows(t *testing.T) {
	root, state := calcWorkspace(t, fixAdd), t.TempDir()
	one := openWindow(t, root, state, bridge.AgentFlags(everything...))
	two := openWindow(t, root, state, bridge.AgentFlags(everything...))
	started, ap := one.openApproval()
	pending := ask[bridge.PendingResult](two, "agent/pending", nil)
	if len(pending.Approvals) != 1 || !pending.Approvals[0].Elsewhere {
		t.Fatalf("the other window has %+v", pending)
	}
	begin := time.Now()
	ask[bridge.OK](two, "agent/resolve", map[string]any{"id": ap.ID, "outcome": "allowOnce"})
	resolved := decode[bridge.ApprovalResolved](t, one.Await("agent/approvalResolved", func(json.RawMessage) bool { return true }).Params)
	if took := time.Since(begin); took > 500*time.Millisecond && !raceEnabled {
		t.Errorf("the answer took %v", took)
	}
	if resolved.Outcome != "allowOnce" || resolved.By != "elsewhere" {
		t.Errorf("resolved %+v", resolved)
	}
	if end := one.finished(started.RunID); end.Status != "done" {
		t.Errorf("the run ended with %+v", end)
	}
}
