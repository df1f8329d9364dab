package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/report"
)

func TestSetCountsFromTheNextTurn(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	r.slow.gate = make(chan struct{})
	r.model.turns = []turn{{calls: []string{`slow {}`}}}
	r.spare.turns = []turn{{text: "from the spare one"}, {text: "again"}, {text: "asked"}}
	s := r.start("x")
	<-r.slow.entered
	if err := r.svc.Set(ctx, s.SessionID, loop.ModeAuto, "spare"); err != nil {
		t.Fatal(err)
	}
	close(r.slow.gate)
	if end := r.wait(s.RunID); end.Status != report.Done || *end.Output != "from the spare one" {
		t.Fatalf("end %+v", end)
	}
	if text := r.screen.text(); !strings.Contains(text, "from the next turn on: mode auto, model spare") {
		t.Errorf("nothing says so:\n%s", text)
	}
	// It holds for the session's next run, in another process too.
	r.restart()
	next := r.startIn(s.SessionID, "y")
	if end := r.wait(next.RunID); *end.Output != "again" {
		t.Errorf("the next run: %+v", end)
	}
	var modes []string
	for _, e := range r.kept(s.SessionID) {
		if e.Type == report.RunStarted {
			modes = append(modes, e.Model+" "+string(e.Mode))
		}
	}
	if !slices.Equal(modes, []string{"m ask", "spare auto"}) {
		t.Errorf("runs began with %v", modes)
	}
	// Between runs it is journaled all the same, and what is asked for wins.
	if err := r.svc.Set(ctx, s.SessionID, loop.ModePlan, ""); err != nil {
		t.Fatal(err)
	}
	third, err := r.svc.Start(ctx, StartParams{Prompt: "z", SessionID: s.SessionID, Mode: loop.ModeAsk})
	if err != nil {
		t.Fatal(err)
	}
	r.wait(third.RunID)
	if got := r.kept(s.SessionID); got[len(got)-1].Type != report.RunFinished {
		t.Errorf("the last event is %+v", got[len(got)-1])
	}
	a, err := r.svc.Audit(ctx, s.SessionID)
	if err != nil || !a.Chain.Holds || len(a.Runs) != 3 || a.Runs[2].Mode != loop.ModeAsk || len(a.Runs[1].Steps) != 1 {
		t.Errorf("audit %+v, %v", a, err)
	}
}

func TestSetRefuses(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	r.model.turns = []turn{{text: "ok"}}
	s := r.start("x")
	r.wait(s.RunID)
	if err := r.svc.Set(ctx, s.SessionID, "fast", ""); err == nil || !strings.Contains(err.Error(), "fast") {
		t.Errorf("an unknown mode: %v", err)
	}
	if err := r.svc.Set(ctx, s.SessionID, "", "spar"); !errors.Is(err, ErrUnknownModel) || !errors.Is(err, ErrUnknownID) || !strings.Contains(err.Error(), `"spare"`) {
		t.Errorf("an unknown model: %v", err)
	}
	if err := r.svc.Set(ctx, "ses_none", loop.ModeAsk, ""); !errors.Is(err, ErrUnknownID) {
		t.Errorf("an unknown session: %v", err)
	}
}

// A session that another window drives is told through the journal.
func TestSetFromAnotherWindow(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	r.slow.gate = make(chan struct{})
	r.model.turns = []turn{{calls: []string{`slow {}`}}}
	r.spare.turns = []turn{{text: "switched"}}
	s := r.start("x")
	<-r.slow.entered
	j, err := openAgain(r)
	if err != nil {
		t.Fatal(err)
	}
	other := r.service(j, newScreen())
	defer j.Close()
	defer other.Close()
	if err := other.Set(ctx, s.SessionID, "", "spare"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(r.screen.text(), "from the next turn on"); {
		if time.Now().After(deadline) {
			t.Fatalf("it is not told:\n%s", r.screen.text())
		}
		<-time.After(5 * time.Millisecond) // the service looks every 100 ms
	}
	close(r.slow.gate)
	if end := r.wait(s.RunID); *end.Output != "switched" {
		t.Errorf("end %+v", end)
	}
	if _, err := other.Fork(ctx, s.SessionID, 0); err != nil {
		t.Errorf("fork from another window: %v", err)
	}
}

func TestAudit(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	r.verdict["change"], r.verdict["slow"] = loop.VerdictAsk, loop.VerdictDeny
	r.file("a.txt", "one\n")
	r.hooks["work/"+loop.OnToolCall] = func(f hooks.Firing) hooks.Outcome {
		calls := f.Fields["tool_calls"].([]any)
		first, _ := calls[0].(map[string]any)["id"].(string)
		if len(calls) < 4 {
			return allow(f)
		}
		return hooks.Outcome{Action: contract.Deny, Reason: "not this one", Calls: []string{first}}
	}
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowSession, By: "here"})
	r.model.turns = []turn{{calls: []string{`look {"at":"x"}`, `look {"bad":1}`, `change {"path":"a.txt","text":"two\n"}`, `slow {}`, `look {"at":"y"}`}}, {text: "ok"}}
	s := r.start("do it")
	r.wait(s.RunID)
	a, err := r.svc.Audit(ctx, s.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Runs) != 1 || a.Runs[0].Prompt != "do it" || a.Runs[0].Status != loop.RunDone || !a.Chain.Holds {
		t.Fatalf("audit %+v", a)
	}
	var got []string
	for _, c := range a.Runs[0].Calls {
		line := c.Tool
		for _, step := range c.Steps {
			line += " | " + string(step.Layer) + " " + step.Outcome
			if step.Grant != "" {
				line += " " + step.Grant
			}
		}
		got = append(got, line+" → "+string(c.Outcome))
	}
	want := []string{
		"look | hook deny → denied",
		"look | schema deny → invalid",
		"change | hook deny | rule ask | approval ask | approval allow change(*) → ok",
		"slow | hook deny | rule deny → denied",
		"look | hook deny | rule allow → ok",
	}
	if !slices.Equal(got, want) {
		t.Errorf("audit\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := r.svc.Audit(ctx, "none"); !errors.Is(err, ErrUnknownID) {
		t.Errorf("an unknown id: %v", err)
	}
}

func TestForkInTheMiddleOfARun(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	r.verdict["change"] = loop.VerdictAsk
	r.file("a.txt", "one\n")
	r.model.turns = []turn{{text: "first", calls: []string{`look {"at":"x"}`}}, {calls: []string{`change {"path":"a.txt","text":"two\n"}`}}, {text: "never here"}}
	s := r.start("go")
	asked := <-r.screen.asked
	id, err := r.svc.Fork(ctx, s.SessionID, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The first session waits still, and its approval is open.
	if open, _, err := r.svc.Pending(ctx); err != nil || len(open) != 1 || open[0].ID != asked.ID {
		t.Fatalf("pending %+v, %v", open, err)
	}
	events := r.kept(id)
	last := events[len(events)-1]
	if last.Type != report.RunFinished || last.Status != report.Cancelled || last.SessionID != id || last.RunID == s.RunID {
		t.Errorf("the fork ends with %+v", last)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) || e.SessionID != id || e.RunID == s.RunID || e.ID == asked.ID {
			t.Errorf("event %d of the fork is %+v", i+1, e)
		}
	}
	r.model.mu.Lock()
	r.model.turns = []turn{{text: "on from there"}}
	r.model.mu.Unlock()
	next := r.startIn(id, "and now")
	if end := r.wait(next.RunID); *end.Output != "on from there" {
		t.Errorf("the fork's run: %+v", end)
	}
	asks := r.model.requests()
	text, _ := json.Marshal(asks[len(asks)-1].Messages)
	for _, want := range []string{"first", "seen", "and now", "did not run"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the fork's model does not see %q: %s", want, text)
		}
	}
	// Up to a point of it.
	early, err := r.svc.Fork(ctx, s.SessionID, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.kept(early); len(got) < 3 || got[2].Type != events[2].Type || got[len(got)-1].Type != report.RunFinished {
		t.Errorf("the early fork has %+v", got)
	}
	if _, err := r.svc.Fork(ctx, s.SessionID, -1); err == nil {
		t.Error("a negative seq passes")
	}
	for _, session := range []string{s.SessionID, id, early} {
		if a, err := r.svc.Audit(ctx, session); err != nil || !a.Chain.Holds {
			t.Errorf("the chain of %s: %+v, %v", session, a.Chain, err)
		}
	}
	if err := r.svc.Delete(ctx, s.SessionID); !errors.Is(err, ErrSessionBusy) {
		t.Errorf("a session under way is deleted: %v", err)
	}
	if err := r.svc.Delete(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.svc.Events(ctx, id, 0, 0); !errors.Is(err, ErrUnknownID) {
		t.Errorf("a deleted session has events: %v", err)
	}
	if err := r.svc.Resolve(ctx, asked.ID, report.Answer{Outcome: report.AllowOnce}); err != nil {
		t.Fatal(err)
	}
	r.model.mu.Lock()
	r.model.turns = []turn{{text: "still fine"}}
	r.model.mu.Unlock()
	if end := r.wait(s.RunID); end.Status != report.Done {
		t.Errorf("the first session ends %+v", end)
	}
}

func TestKeep(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	r.model.turns = []turn{{text: "old"}, {text: "new"}, {text: "newer"}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r.svc.now = func() time.Time { return now }
	old := r.start("old")
	r.wait(old.RunID)
	now = now.Add(100 * 24 * time.Hour)
	r.config.Sessions.Keep = 90 * 24 * time.Hour
	fresh := r.start("new")
	r.wait(fresh.RunID)
	r.svc.runners.Wait() // for what was begun beside the run
	list, _, err := r.svc.Sessions(ctx, 0, "", "")
	if err != nil || len(list) != 1 || list[0].SessionID != fresh.SessionID {
		t.Errorf("sessions %+v, %v", list, err)
	}
}
