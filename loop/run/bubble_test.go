package run

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// watched notes which of the events were heard, with whose they were.
type watchedEvents struct {
	mu   sync.Mutex
	seen []map[string]any
}

func (w *watchedEvents) hook(out hooks.Outcome) hookFunc {
	return func(f hooks.Firing) hooks.Outcome {
		w.mu.Lock()
		defer w.mu.Unlock()
		fields := map[string]any{"EVENT": f.Event}
		for k, v := range f.Fields {
			fields[k] = v
		}
		w.seen = append(w.seen, fields)
		// What a hook is given fits the event's row, as the engine checks.
		if row := contract.ByName(f.Event); row == nil {
			fields["BROKEN"] = "no such event"
		} else if _, err := row.Context(f.Fields, nil); err != nil {
			fields["BROKEN"] = err.Error()
		}
		return out
	}
}

func (w *watchedEvents) of(event string) []map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []map[string]any
	for _, f := range w.seen {
		if f["EVENT"] == event {
			out = append(out, f)
		}
	}
	return out
}

var allowed = hooks.Outcome{Action: contract.Allow}

// twoAgents is a rig whose parent spawns "reviewer", which has no hooks.
func twoAgents(r *rig, calls ...string) *answering {
	r.config.Agents = append(r.config.Agents,
		manifest.Agent{Name: "reviewer", Model: "m", Stages: []manifest.Stage{{Name: "review", Tools: []string{"*"}}}})
	return r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 0 && req.Turn == 0:
			return turn{calls: []string{`spawn {"agent":"reviewer","prompt":"look"}`}}
		case req.Depth == 1 && req.Turn == 0:
			return turn{text: "calling", calls: calls}
		}
		return turn{text: lastText(req)}
	})
}

func TestSpawnEventsOfTheParent(t *testing.T) {
	r := newRig(t)
	var w watchedEvents
	for _, event := range []string{"spawn:queued", "spawn:before", "spawn:complete", "spawn:error"} {
		r.hooks["work/"+event] = w.hook(allowed)
	}
	twoAgents(r, `look {"at":"x"}`)
	s := r.start("go")
	r.wait(s.RunID)
	var got []string
	for _, f := range w.seen {
		got = append(got, f["EVENT"].(string))
		if f["BROKEN"] != nil || f["child_agent"] != "reviewer" || f["run_id"] != s.RunID || f["child_id"] == "" {
			t.Errorf("ctx = %v", f)
		}
	}
	if want := []string{"spawn:queued", "spawn:before", "spawn:complete"}; !slices.Equal(got, want) {
		t.Errorf("events = %v, want %v", got, want)
	}
	if last := w.of("spawn:complete"); len(last) != 1 || last[0]["turns"] != int64(2) || !strings.Contains(last[0]["result"].(string), "seen") {
		t.Errorf("spawn:complete = %v", last)
	}
}

func TestTheParentHearsItsChildsEvents(t *testing.T) {
	r := newRig(t)
	var w watchedEvents
	for _, event := range []string{"child:tool:dispatched", "child:tool:before", "child:tool:after", "child:validation:reject", "child:spawn:complete", "child:spawn:error", "child:turn:after"} {
		r.hooks["work/"+event] = w.hook(allowed)
	}
	twoAgents(r, `look {"at":"x"}`, `look {}`, `spawn {"prompt":"deeper"}`)
	s := r.start("go")
	r.wait(s.RunID)
	children, err := r.journal.ChildrenOf(context.Background(), s.RunID)
	if err != nil || len(children) != 1 {
		t.Fatal(children, err)
	}
	for _, event := range []string{"child:tool:dispatched", "child:tool:before", "child:tool:after", "child:validation:reject", "child:turn:after"} {
		found := w.of(event)
		if len(found) == 0 {
			t.Errorf("%s was not heard", event)
		}
		for _, f := range found {
			if f["BROKEN"] != nil || f["run_id"] != s.RunID || f["child_id"] == s.RunID || f["depth"] == int64(0) {
				t.Errorf("ctx of %s = %v", event, f)
			}
		}
	}
	for _, f := range w.of("child:spawn:complete") {
		if f["BROKEN"] != nil || f["spawner_id"] != children[0].RunID || f["depth"] != int64(1) {
			t.Errorf("ctx of child:spawn:complete = %v, want spawner %s", f, children[0].RunID)
		}
	}
	if n := len(w.of("child:spawn:complete")); n != 1 {
		t.Errorf("child:spawn:complete was heard %d times", n)
	}
}

func TestTheParentGatesItsChildsCalls(t *testing.T) {
	tests := map[string]struct {
		event string
		out   hooks.Outcome
		want  string
	}{
		"denied":      {"child:tool:gate", hooks.Outcome{Action: contract.Deny, Reason: "not below me"}, "not below me"},
		"substituted": {"child:tool:gate", hooks.Outcome{Action: contract.Substitute, Value: "mine instead"}, "mine instead"},
		"rewritten": {"child:tool:transform", hooks.Outcome{Action: contract.Modify,
			Value: map[string]any{"result": "redacted", "is_error": false}}, "redacted"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			var w watchedEvents
			r.hooks["work/"+tt.event] = w.hook(tt.out)
			twoAgents(r, `look {"at":"x"}`)
			end := r.wait(r.start("go").RunID)
			if !strings.Contains(*end.Output, tt.want) || strings.Contains(*end.Output, "seen") {
				t.Errorf("output = %q, want %q and nothing of the tool's", *end.Output, tt.want)
			}
			for _, f := range w.seen {
				if f["BROKEN"] != nil {
					t.Errorf("ctx = %v", f)
				}
			}
		})
	}
}

// TestAParentsBrokenGateIsAClosedGate: neither the call runs nor does anybody
// go on.
func TestAParentsBrokenGateIsAClosedGate(t *testing.T) {
	r := newRig(t)
	r.hooks["work/child:tool:gate"] = func(hooks.Firing) hooks.Outcome {
		return hooks.Outcome{Action: contract.Failed, Failure: &hooks.Failure{Message: "it threw", Kind: hooks.ScriptFailure}}
	}
	twoAgents(r, `change {"path":"f","text":"x"}`)
	end := r.wait(r.start("go").RunID)
	if end.Status != report.Failed || !strings.Contains(end.Error, "it threw") {
		t.Errorf("the run ended %s: %s; want it failed by the hook", end.Status, end.Error)
	}
	if got := r.content(r.dir + "/ws/f"); got != "<none>" {
		t.Errorf("the call ran: f = %q", got)
	}
}

func TestStricterOutcomeHolds(t *testing.T) {
	deny := hooks.Outcome{Action: contract.Deny, Reason: "own"}
	substitute := hooks.Outcome{Action: contract.Substitute, Value: "x"}
	first, second := hooks.Outcome{Action: contract.Modify, Value: 1}, hooks.Outcome{Action: contract.Modify, Value: 2}
	for _, tt := range []struct{ a, b, want hooks.Outcome }{
		{allowed, deny, deny}, {deny, allowed, deny}, {deny, substitute, deny}, {substitute, deny, deny}, {first, second, second},
		{deny, hooks.Outcome{Action: contract.Deny, Reason: "other"}, deny},
	} {
		if got := stricter(tt.a, tt.b); got.Action != tt.want.Action || got.Reason != tt.want.Reason || got.Value != tt.want.Value {
			t.Errorf("stricter(%v, %v) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
