package run

import (
	"context"
	"strings"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// A call that is cancelled by itself, while it runs or before, is heard behind
// what every call ends with, and the run goes on.
func TestACallThatIsCancelledByItselfIsHeard(t *testing.T) {
	r := newRig(t)
	h := r.overhear("tool:before", "tool:transform", "tool:after", "tool:cancelled", "tool-results:after")
	r.verdict["change"] = loop.VerdictAsk
	r.slow.gate = make(chan struct{})
	r.model.turns = []turn{{calls: []string{`slow {}`}}, {calls: []string{`change {"path":"f","text":"x"}`}}, {text: "done"}}
	s := r.start("go")
	cancel := func(call string) {
		t.Helper()
		if ok, err := r.svc.Cancel(t.Context(), s.RunID, call); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	<-r.slow.entered
	running := h.field("tool:before", 0, "call_id").(string)
	cancel(running)
	asked := <-r.screen.asked
	cancel(asked.CallID)
	if end := r.wait(s.RunID); end.Status != report.Done {
		t.Fatalf("end %s %s", end.Status, end.Error)
	}
	want := "tool:before tool:transform tool:after tool:cancelled tool-results:after tool:cancelled tool-results:after"
	if got := h.order(); got != want {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	for n, want := range []map[string]any{
		{"call_id": running, "name": "slow", "running": true}, {"call_id": asked.CallID, "name": "change", "running": false},
	} {
		for field, v := range want {
			if got := h.field("tool:cancelled", n, field); got != v {
				t.Errorf("tool:cancelled %d: %s = %v, want %v", n, field, got, v)
			}
		}
	}
	if got := h.field("tool:after", 0, "outcome"); got != "cancelled" {
		t.Errorf("tool:after: outcome = %v", got)
	}
}

// onlyChild is the run that a run spawned.
func (r *rig) onlyChild(runID string) string {
	r.t.Helper()
	children, err := r.journal.ChildrenOf(context.Background(), runID)
	if err != nil || len(children) != 1 {
		r.t.Fatal(children, err)
	}
	return children[0].RunID
}

// ofChild checks whose an event is said to be, each time it was heard.
func (h *listener) ofChild(t *testing.T, event, run, child string) {
	t.Helper()
	for n := range h.fields[event] {
		for field, want := range map[string]any{"run_id": run, "child_id": child, "depth": int64(1)} {
			if got := h.field(event, n, field); got != want {
				t.Errorf("%s %d: %s = %v, want %v", event, n, field, got, want)
			}
		}
	}
}

func TestTheParentHearsOfASubAgentsTrouble(t *testing.T) {
	r := newRig(t)
	h := r.overhear("child:tool:before", "child:tool:error", "child:tool:after", "child:repeat-guard:exceeded")
	r.config.Behavior.RepeatGuard = manifest.RepeatGuard{Enabled: true, Tools: map[string]manifest.RepeatLimit{"slow": {Block: 2, Abort: 9}}}
	twoAgents(r, `change {"path":"no/such/folder","text":"x"}`, `slow {"n":1}`, `slow {"n":1}`)
	s := r.start("go")
	r.wait(s.RunID)
	want := "child:tool:before child:tool:error child:tool:after child:tool:before child:tool:after child:repeat-guard:exceeded"
	if got := h.order(); got != want {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	for event := range h.fields {
		h.ofChild(t, event, s.RunID, r.onlyChild(s.RunID))
	}
	if got, _ := h.field("child:tool:error", 0, "error").(string); !strings.Contains(got, "folder") || h.field("child:tool:error", 0, "name") != "change" {
		t.Errorf("child:tool:error = %v", h.fields["child:tool:error"])
	}
	for field, want := range map[string]any{"name": "slow", "count": int64(2), "threshold": int64(2), "action": "block"} {
		if got := h.field("child:repeat-guard:exceeded", 0, field); got != want {
			t.Errorf("child:repeat-guard:exceeded: %s = %v, want %v", field, got, want)
		}
	}
}

// What a person or the host does to a sub-agent at work, its parent hears.
func TestTheParentHearsOfASubAgentAtWork(t *testing.T) {
	r := newRig(t)
	h := r.overhear("child:tool:before", "child:artifact:recorded", "child:tool:cancelled", "artifact:recorded", "tool:cancelled")
	r.slow.gate = make(chan struct{})
	twoAgents(r, `slow {}`)
	s := r.start("go")
	<-r.slow.entered
	child := r.onlyChild(s.RunID)
	call := h.field("child:tool:before", 0, "call_id").(string)
	made := map[string]any{"id": "a", "name": "report", "media_type": "text/html", "bytes": int64(4)}
	if _, err := r.svc.Raise(t.Context(), child, "artifact:recorded", made); err != nil {
		t.Error(err)
	}
	if ok, err := r.svc.Cancel(t.Context(), child, call); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if end := r.wait(s.RunID); end.Status != report.Done {
		t.Fatalf("end %s %s", end.Status, end.Error)
	}
	if got, want := h.order(), "child:tool:before child:artifact:recorded child:tool:cancelled"; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	for event := range h.fields {
		h.ofChild(t, event, s.RunID, child)
		if n := len(h.fields[event]); n != 1 {
			t.Errorf("%s was heard %d times", event, n)
		}
	}
	for field, want := range made {
		if got := h.field("child:artifact:recorded", 0, field); got != want {
			t.Errorf("child:artifact:recorded: %s = %v, want %v", field, got, want)
		}
	}
	if h.field("child:tool:cancelled", 0, "call_id") != call || h.field("child:tool:cancelled", 0, "running") != true {
		t.Errorf("child:tool:cancelled = %v", h.fields["child:tool:cancelled"])
	}
}

// Sub-agents of sub-agents: the run at the top hears of each what its own
// parent does.
func TestTheTopHearsOfEverySubAgent(t *testing.T) {
	r := newRig(t)
	h := r.overhear("spawn:queued", "spawn:before", "spawn:complete", "spawn:error",
		"child:spawn:queued", "child:spawn:before", "child:spawn:complete", "child:spawn:error")
	r.config.Agents = append(r.config.Agents, manifest.Agent{Name: "reviewer", Model: "m", Stages: []manifest.Stage{{Name: "review", Tools: []string{"*"}}}})
	spawn := func(prompt string) turn {
		return turn{calls: []string{`spawn {"agent":"reviewer","prompt":"` + prompt + `"}`}}
	}
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Messages[0].Blocks[0].Text == "fail":
			return turn{err: &loop.ModelError{Class: loop.Terminal, Message: "no credit"}}
		case req.Depth == 0 && req.Turn == 0:
			return spawn("spawn two")
		case req.Depth == 1 && req.Turn == 0:
			return spawn("work")
		case req.Depth < 2 && req.Turn == 1:
			return spawn("fail")
		}
		return turn{text: "worked"}
	})
	s := r.start("go")
	if end := r.wait(s.RunID); end.Status != report.Done {
		t.Fatalf("end %s %s", end.Status, end.Error)
	}
	want := "spawn:queued spawn:before " +
		"child:spawn:queued child:spawn:before child:spawn:complete child:spawn:queued child:spawn:before child:spawn:error " +
		"spawn:complete spawn:queued spawn:before spawn:error"
	if got := h.order(); got != want {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	child := h.field("spawn:before", 0, "child_id")
	for event, all := range h.fields {
		for n, f := range all {
			if f["child_agent"] != "reviewer" || f["run_id"] != s.RunID || f["call_id"] == "" || f["child_id"] == "" {
				t.Errorf("%s %d: ctx = %v", event, n, f)
			}
			if strings.HasPrefix(event, "child:") && (f["spawner_id"] != child || f["depth"] != int64(1) || f["child_id"] == child) {
				t.Errorf("%s %d: ctx = %v, want spawner_id %v", event, n, f, child)
			}
		}
	}
	for _, event := range []string{"spawn:error", "child:spawn:error"} {
		if got, _ := h.field(event, 0, "error").(string); !strings.Contains(got, "no credit") || h.field(event, 0, "status") != "failed" {
			t.Errorf("%s = %v", event, h.fields[event])
		}
	}
	if got := h.field("child:spawn:complete", 0, "result"); got != "worked" {
		t.Errorf("child:spawn:complete: result = %v", got)
	}
}
