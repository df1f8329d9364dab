package run

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/report"
)

// listener is what hooks of the turn loop saw, in the order in which they were
// asked. Each ctx was held against the contract's row.
type listener struct {
	mu     sync.Mutex // guards what follows
	events []string
	fields map[string][]map[string]any // by event
}

// overhear declares a hook that allows for each event, in every stage of the
// rig's agent.
func (r *rig) overhear(events ...string) *listener {
	h := &listener{fields: map[string][]map[string]any{}}
	for _, name := range events {
		row := contract.ByName(name)
		if row == nil {
			r.t.Fatalf("%s is no event", name)
		}
		hook := func(f hooks.Firing) hooks.Outcome {
			ctx, err := row.Context(f.Fields, nil)
			if err != nil {
				r.t.Errorf("%s: %v", name, err)
			}
			for _, field := range row.AllFields() {
				if err := contract.Fits(ctx[field.Name], &field.Type, field.Name); err != nil {
					r.t.Errorf("%s: ctx.%v", name, err)
				}
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events = append(h.events, name)
			h.fields[name] = append(h.fields[name], ctx)
			return hooks.Outcome{Action: contract.Allow}
		}
		for _, st := range r.config.Agents[0].Stages {
			r.hooks[st.Name+"/"+name] = hook
		}
	}
	return h
}

// order is the events in their order, those that follow each other joined.
func (h *listener) order() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(slices.Compact(slices.Clone(h.events)), " ")
}

// field is a field of the nth firing of an event, nil where there is none.
func (h *listener) field(event string, n int, name string) any {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n >= len(h.fields[event]) {
		return nil
	}
	return h.fields[event][n][name]
}

// driveEvents are those that the loop itself is the cause of.
var driveEvents = []string{
	sessionStart, systemBefore, agentStart, usageEvent, turnAfter, sessionTurns, sessionMeta, sessionSave, agentAbort, agentDone, sessionEnd, notification,
}

func TestEventsOfARunInTheirOrder(t *testing.T) {
	r := newRig(t)
	h := r.overhear(driveEvents...)
	r.model.turns = []turn{{text: "looking", calls: []string{`look {"at":"x"}`}}, {text: "done"}}
	end := r.wait(r.start("go").RunID)
	if end.Status != report.Done {
		t.Fatalf("end %+v", end)
	}
	want := "session:start system:before agent:start session:turns session:meta " + // the prompt
		"usage turn:after session:turns session:meta session:save " + // the first answer
		"session:turns " + // the results
		"usage turn:after session:turns session:meta session:save " + // the second answer
		"session:meta session:save agent:done session:end notification"
	if got := h.order(); got != want {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	for _, tc := range []struct {
		event string
		n     int
		field string
		want  any
	}{
		{sessionStart, 0, "resumed", false}, {systemBefore, 0, "system", "Be brief."}, {agentStart, 0, "prompt", "go"}, {agentStart, 0, "mode", "ask"},
		{usageEvent, 1, "model", "m"}, {turnAfter, 0, "turn", int64(1)}, {turnAfter, 1, "turn", int64(2)}, {turnAfter, 1, "stop_reason", "end"},
		{agentDone, 0, "status", "done"}, {agentDone, 0, "output", "done"}, {agentDone, 0, "turns", int64(2)}, {agentDone, 0, "tool_calls", int64(1)},
		{sessionEnd, 0, "status", "done"}, {notification, 0, "kind", "done"}, {notification, 1, "kind", "idle"}, {turnAfter, 1, "loop_count", int64(1)},
	} {
		if got := h.field(tc.event, tc.n, tc.field); got != tc.want {
			t.Errorf("%s %d: %s = %v, want %v", tc.event, tc.n, tc.field, got, tc.want)
		}
	}
	if len(h.fields[agentAbort]) != 0 {
		t.Error("agent:abort fired in a run that nobody stopped")
	}
	if got := h.field(turnAfter, 0, "message").(map[string]any)["content"].([]any); len(got) != 2 {
		t.Errorf("the message of the first turn: %v", got)
	}
}

func TestEventsOfARunThatIsCancelled(t *testing.T) {
	r := newRig(t)
	h := r.overhear(agentAbort, agentDone, sessionEnd, turnAfter)
	r.model.asking = make(chan struct{}, 1)
	r.model.turns = []turn{{hold: true}}
	s := r.start("go")
	<-r.model.asking
	if _, err := r.svc.Cancel(context.Background(), s.RunID, ""); err != nil {
		t.Fatal(err)
	}
	if end := r.wait(s.RunID); end.Status != report.Cancelled {
		t.Errorf("end %+v", end)
	}
	if got, want := h.order(), "turn:after agent:abort agent:done session:end"; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	if got := h.field(agentDone, 0, "status"); got != "cancelled" {
		t.Errorf("status %v", got)
	}
}

func TestEventsOfARunThatFails(t *testing.T) {
	r := newRig(t)
	h := r.overhear(turnAfter, agentDone, agentAbort)
	m := r.config.Models["m"]
	m.Fallback = nil
	r.config.Models["m"] = m
	r.model.turns = []turn{{err: &loop.ModelError{Class: loop.Terminal, Message: "no credit"}}}
	r.wait(r.start("go").RunID)
	if got, want := h.order(), "turn:after agent:done"; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	if got, _ := h.field(turnAfter, 0, "error").(string); !strings.Contains(got, "no credit") {
		t.Errorf("turn:after has the error %q", got)
	}
	if got, _ := h.field(agentDone, 0, "error").(string); !strings.Contains(got, "no credit") {
		t.Errorf("agent:done has the error %q", got)
	}
}

// A run goes on in another process: its hooks hear that it did, and what they
// returned as state is there again.
func TestEventsAndStateOfAResumedRun(t *testing.T) {
	r := newRig(t)
	r.verdict["change"] = loop.VerdictAsk
	asked := make(chan struct{})
	r.screen.answer = func(ctx context.Context, _ report.Approval) (report.Answer, error) {
		close(asked)
		<-ctx.Done()
		return report.Answer{}, context.Cause(ctx)
	}
	count := 0
	keep := func(f hooks.Firing) hooks.Outcome {
		id := "hook-of-" + f.Event
		n, _ := f.States[id]["n"].(int64)
		count = int(n)
		return hooks.Outcome{Action: contract.Allow, States: map[string]map[string]any{id: {"n": n + 1}}}
	}
	r.hooks["work/"+turnAfter] = keep
	h := r.overhear(sessionStart, agentStart)
	r.model.turns = []turn{{calls: []string{`look {"at":"x"}`}}, {calls: []string{`change {"path":"a.txt","text":"b"}`}}, {text: "done"}}
	s := r.start("go")
	<-asked
	r.close()
	r.open()
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	if _, err := r.svc.Resume(context.Background(), s.SessionID); err != nil {
		t.Fatal(err)
	}
	r.wait(s.RunID)
	if got := h.field(sessionStart, 1, "resumed"); got != true {
		t.Errorf("session:start of the resumed run: resumed = %v", got)
	}
	if count != 2 {
		t.Errorf("the third firing found n = %d, want 2", count)
	}
}

// What a hook that only watches does wrong is on record, with its place, and
// the run does not mind.
func TestAFailingObserverDoesNotFailTheRun(t *testing.T) {
	r := newRig(t)
	r.real(nil)
	path := r.file("watch.risor", "func turn_after(ctx) {\n    x := json.unmarshal(\"{\")\n    return hook.allow()\n}\n")
	r.config.Agents[0].Hooks = []hooks.Declaration{{ID: "hooks.turn:after.0", Event: turnAfter, Path: path}}
	r.model.turns = []turn{{text: "done"}}
	s := r.start("go")
	if end := r.wait(s.RunID); end.Status != report.Done {
		t.Fatalf("end %+v", end)
	}
	got, _, err := r.svc.Decisions(context.Background(), DecisionQuery{RunID: s.RunID})
	if err != nil || len(got) != 1 || got[0].Action != "error" || got[0].Error == nil || got[0].Error.At.Start.Line != 2 {
		t.Fatalf("decisions %+v, %v", got, err)
	}
	if f, ok := got[0].FailedFinding(); !ok || f.Path != path {
		t.Errorf("the finding is %+v, %t", f, ok)
	}
	if n := len(r.screen.decisions); n != 1 {
		t.Errorf("%d decisions were shown", n)
	}
}

// Slow watchers keep nobody from cancelling.
func TestASlowWatcherDoesNotKeepARunFromEnding(t *testing.T) {
	r := newRig(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	r.hooks["work/"+agentDone] = func(hooks.Firing) hooks.Outcome {
		<-release
		return hooks.Outcome{Action: contract.Allow}
	}
	r.model.asking = make(chan struct{}, 1)
	r.model.turns = []turn{{hold: true}}
	s := r.start("go")
	<-r.model.asking
	began := time.Now()
	if _, err := r.svc.Cancel(context.Background(), s.RunID, ""); err != nil {
		t.Fatal(err)
	}
	r.wait(s.RunID)
	if took := time.Since(began); took > 2*endWithin {
		t.Errorf("the end took %v", took)
	}
}

func TestHostEventsAreRaisedFromOutside(t *testing.T) {
	r := newRig(t)
	h := r.overhear(HostEvents...)
	r.slow.gate = make(chan struct{})
	r.model.turns = []turn{{calls: []string{`slow {}`}}, {text: "done"}}
	s := r.start("go")
	<-r.slow.entered
	ctx := context.Background()
	given := map[string]map[string]any{
		"replay:done":              {"runtime": "durable", "replayed": int64(3)},
		"oauth:refresh":            {"provider": "anthropic"},
		"content-ref:resolve":      {"ref": "r", "media_type": "image/png"},
		"tool-state:commit-failed": {"call_id": "c", "name": "todowrite", "error": "no space"},
		"execution:ready":          {"kind": "process", "root": "/w", "sandbox": "none"},
		"artifact:recorded":        {"id": "a", "name": "report", "media_type": "text/html", "bytes": int64(4)},
	}
	for _, event := range HostEvents {
		if _, err := r.svc.Raise(ctx, s.RunID, event, given[event]); err != nil {
			t.Errorf("%s: %v", event, err)
		}
	}
	if got := h.order(); got != strings.Join(HostEvents, " ") {
		t.Errorf("heard %s", got)
	}
	for name, want := range map[string]string{"turn:after": "is no event of the host", "oauth:refesh": `did you mean "oauth:refresh"`} {
		if _, err := r.svc.Raise(ctx, s.RunID, name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Raise(%s): %v, want %q", name, err, want)
		}
	}
	if _, err := r.svc.Raise(ctx, s.RunID, "oauth:refresh", map[string]any{"provder": "x"}); err == nil || !strings.Contains(err.Error(), `"provider"`) {
		t.Errorf("a field that there is not: %v", err)
	}
	close(r.slow.gate)
	r.wait(s.RunID)
	if _, err := r.svc.Raise(ctx, s.RunID, "oauth:refresh", map[string]any{"provider": "x"}); err == nil {
		t.Error("a run that is over raised an event")
	}
}
