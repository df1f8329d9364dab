package run

import (
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
)

// A journal in which a call's result names another call is repaired before the
// next request: the model is told that the result is lost, and hooks hear of
// both calls, once.
func TestADamagedPairIsRepairedAndHeard(t *testing.T) {
	ctx := t.Context()
	r := newRig(t)
	h := r.overhear("pairing:repair", "stream:start", "turn:before")
	r.model.turns = []turn{{calls: []string{`look {"at":"x"}`}}, {text: "seen"}, {text: "on"}, {text: "and on"}}
	s := r.start("go")
	r.wait(s.RunID)
	var call string
	f := forked{from: s.SessionID, to: newID("ses"), runs: map[string]string{}, asks: map[string]string{}}
	_, err := r.journal.Copy(ctx, s.SessionID, f.to, 0, func(e *loop.Event, shown []report.Event) {
		if e.Kind == loop.Finished {
			call, e.Result.CallID = e.Result.CallID, "call_elsewhere"
		}
		f.rename(e, shown)
	})
	if err != nil {
		t.Fatal(err)
	}
	row := journal.SessionRow{ID: f.to, StartedAt: r.svc.now(), Status: report.Done, RunID: f.state.RunID, ForkedFrom: s.SessionID}
	if err := r.journal.Create(ctx, row, map[string]string{f.state.RunID: s.RunID}); err != nil {
		t.Fatal(err)
	}
	next := r.startIn(f.to, "go on")
	if end := r.wait(next.RunID); *end.Output != "on" { // the scripted model refuses what is not well-formed
		t.Fatalf("end %s %q: %s", end.Status, *end.Output, end.Error)
	}
	r.wait(r.startIn(f.to, "go on").RunID)
	if got, want := h.order(), "turn:before stream:start turn:before stream:start pairing:repair turn:before stream:start turn:before stream:start"; got != want {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	var got []map[string]any
	for _, f := range h.fields["pairing:repair"] {
		got = append(got, map[string]any{"call_id": f["call_id"], "name": f["name"], "repair": f["repair"]})
		if f["run_id"] != next.RunID {
			t.Errorf("ctx = %v", f)
		}
	}
	want := map[string]map[string]any{
		call: {"call_id": call, "name": "look", "repair": "result_added"}, "call_elsewhere": {"call_id": "call_elsewhere", "name": "", "repair": "result_removed"},
	}
	if len(got) != len(want) {
		t.Errorf("heard %v", got)
	}
	for _, f := range got {
		for field, v := range want[f["call_id"].(string)] {
			if f[field] != v {
				t.Errorf("heard %v, want %v", f, want)
			}
		}
	}
}
