package run

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
)

func TestHooksSeeABatchTakenUpBeforeItsCallsRun(t *testing.T) {
	r := newRig(t)
	r.verdict["change"] = loop.VerdictAsk
	r.file("a.txt", "one\n")
	var order []string
	var done, resuming []any
	r.hooks["work/tool-batch:resumed"] = func(f hooks.Firing) hooks.Outcome {
		order = append(order, "resumed")
		done, resuming = f.Fields["done"].([]any), f.Fields["resuming"].([]any)
		return allow(f)
	}
	r.model.turns = []turn{{calls: []string{`look {"at":"x"}`, `change {"path":"a.txt","text":"two\n"}`, `look {"at":"y"}`}}, {text: "ok"}}
	s := r.start("x")
	<-r.screen.asked
	r.restart()
	r.screen.answer = func(ctx context.Context, a report.Approval) (report.Answer, error) {
		order = append(order, "asked")
		return report.Answer{Outcome: report.AllowOnce}, nil
	}
	res := r.resume(s.SessionID)
	r.wait(s.RunID)
	if !slices.Equal(order, []string{"resumed", "asked"}) {
		t.Errorf("the order was %v", order)
	}
	texts := func(list []any) (out []string) {
		for _, v := range list {
			out = append(out, v.(string))
		}
		return out
	}
	if len(res.Done) != 1 || !slices.Equal(texts(done), res.Done) || !slices.Equal(texts(resuming), res.Resuming) {
		t.Errorf("the hook saw %v and %v, the answer says %+v", done, resuming, res)
	}
	if end := r.kept(s.SessionID); end[len(end)-1].Status != report.Done {
		t.Errorf("the end is %+v", end[len(end)-1])
	}
}

func TestARunWhoseStepsDoNotFitIsClosed(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	r.verdict["change"] = loop.VerdictAsk
	r.file("a.txt", "one\n")
	var seen map[string]any
	r.hooks["work/resume:mismatch"] = func(f hooks.Firing) hooks.Outcome { seen = f.Fields; return allow(f) }
	r.model.turns = []turn{{calls: []string{`change {"path":"a.txt","text":"two\n"}`}}, {text: "and on"}}
	s := r.start("x")
	asked := <-r.screen.asked
	r.restart()
	// A step of a later turn, of which nothing else is left.
	if err := r.journal.Acquire(ctx, s.SessionID); err != nil {
		t.Fatal(err)
	}
	_, last, err := r.journal.Events(ctx, s.SessionID, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.journal.Append(journal.Step{SessionID: s.SessionID, RunID: s.RunID, Turn: 7, LastSeq: last, Event: loop.Event{Kind: loop.Noted, At: r.svc.now()}}); err != nil {
		t.Fatal(err)
	}
	if err := r.journal.Release(ctx, s.SessionID); err != nil {
		t.Fatal(err)
	}
	res := r.resume(s.SessionID)
	if res.RunID != "" || !strings.Contains(res.Reason, "turn 7") {
		t.Errorf("resumed %+v", res)
	}
	if seen == nil || seen["resume_turn"] != int64(1) || seen["stored_turns"] != int64(7) || !strings.Contains(seen["reason"].(string), "steps are missing") {
		t.Errorf("the hook saw %v", seen)
	}
	events := r.kept(s.SessionID)
	if end := events[len(events)-1]; end.Type != report.RunFinished || end.Status != report.Cancelled {
		t.Errorf("the end is %+v", end)
	}
	if p, err := r.journal.Approval(ctx, asked.ID); err != nil || p.State != "withdrawn" {
		t.Errorf("the approval is %+v, %v", p, err)
	}
	if found, _, err := r.svc.Decisions(ctx, DecisionQuery{RunID: s.RunID, Event: "resume:mismatch"}); err != nil || len(found) != 1 {
		t.Errorf("decisions %+v, %v", found, err)
	}
	next := r.startIn(s.SessionID, "again")
	if end := r.wait(next.RunID); *end.Output != "and on" {
		t.Errorf("the next run: %+v", end)
	}
}
