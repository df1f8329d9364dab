package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/policy"
	"agent-ls/loop/report"
)

func (r *rig) resultText(request int) string {
	r.t.Helper()
	requests := r.model.requests()
	if request >= len(requests) {
		r.t.Fatalf("the model was asked %d times", len(requests))
	}
	m := requests[request].Messages
	return m[len(m)-1].Blocks[0].Result.Text
}

func answerWith(a report.Answer) func(context.Context, report.Approval) (report.Answer, error) {
	return func(context.Context, report.Approval) (report.Answer, error) { return a, nil }
}

func TestApprovalOfAnEdit(t *testing.T) {
	const before, after = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n", "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
	tests := map[string]struct {
		answer report.Answer
		err    error
		file   string
		result string
	}{
		"allow":           {report.Answer{Outcome: report.AllowOnce}, nil, after, "changed"},
		"deny":            {report.Answer{Outcome: report.DenyOnce, Feedback: "not this file"}, nil, before, "denied by the user: not this file\na.txt is as it was (sha256 "},
		"dismissed":       {report.Answer{Outcome: report.DenyOnce, By: "dismissed"}, nil, before, "denied: the request was dismissed"},
		"one hunk":        {report.Answer{Outcome: report.AllowOnce, Hunks: []int{2}}, nil, "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n", "changed"},
		"no hunk":         {report.Answer{Outcome: report.AllowOnce, Hunks: []int{}}, nil, before, "no hunk was accepted"},
		"an unknown hunk": {report.Answer{Outcome: report.AllowOnce, Hunks: []int{7}}, nil, before, "there is no hunk 7"},
		"not offered":     {report.Answer{Outcome: "sure"}, nil, before, `the answer "sure" was not offered`},
		"empty":           {report.Answer{}, nil, before, "was not offered"},
		"nobody":          {report.Answer{Outcome: report.AllowOnce}, ErrNoApprover, before, "denied: no approver"},
		"a lost client":   {report.Answer{Outcome: report.AllowOnce}, errors.New("connection lost"), before, "no approver, nobody could be asked: connection lost"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.verdict["change"] = loop.VerdictAsk
			path := r.file("a.txt", before)
			r.screen.answer = func(context.Context, report.Approval) (report.Answer, error) { return tt.answer, tt.err }
			args, _ := json.Marshal(changeArguments{"a.txt", after})
			r.model.turns = []turn{{calls: []string{"change " + string(args)}}, {text: "ok"}}
			r.wait(r.start("x").RunID)
			if got := r.content(path); got != tt.file {
				t.Errorf("the file is %q, want %q", got, tt.file)
			}
			if got := r.resultText(1); !strings.Contains(got, tt.result) {
				t.Errorf("the model is told %q, want %q", got, tt.result)
			}
			a := r.screen.shown[0]
			if a.Tool != "change" || len(a.Edits) != 1 || len(a.Edits[0].Hunks) != 2 || !strings.Contains(a.Edits[0].Diff, "+SEVEN") || len(a.Why) == 0 || a.Digest == "" {
				t.Errorf("approval %+v", a)
			}
			if open, _, err := r.svc.Pending(context.Background()); err != nil || len(open) != 0 {
				t.Errorf("still pending: %v, %v", open, err)
			}
		})
	}
}

func TestApprovalShowsTheHookTrail(t *testing.T) {
	r := newRig(t)
	r.verdict["slow"] = loop.VerdictAsk
	r.hooks["work/"+loop.OnToolCall] = func(f hooks.Firing) hooks.Outcome {
		return hooks.Outcome{Action: contract.Allow, Reason: "looked at it"}
	}
	r.screen.answer = answerWith(report.Answer{Outcome: report.DenyOnce})
	r.model.turns = []turn{{calls: []string{`slow {"n":1}`}}, {text: "ok"}}
	s := r.start("x")
	r.wait(s.RunID)
	a := r.screen.shown[0]
	if len(a.Hooks) != 1 || a.Hooks[0].Reason != "looked at it" || a.Hooks[0].RunID != s.RunID || a.Hooks[0].Hook.At.Start.Line != 3 {
		t.Errorf("hooks %+v", a.Hooks)
	}
	if a.Command == nil || !slices.Equal(a.Command.Commands, []string{"sleep 1", "cat"}) {
		t.Errorf("command %+v", a.Command)
	}
}

func TestEditedArgumentsGoThroughEverythingAgain(t *testing.T) {
	r := newRig(t)
	r.verdict["slow"] = loop.VerdictAsk
	var seen []string
	r.hooks["work/"+loop.OnToolCall] = func(f hooks.Firing) hooks.Outcome {
		calls := f.Fields["tool_calls"].([]any)
		n := calls[0].(map[string]any)["arguments"].(map[string]any)["n"]
		seen = append(seen, fmt.Sprintf("%d: %v", len(calls), n))
		if n == int64(13) {
			return hooks.Outcome{Action: contract.Deny, Reason: "not 13"}
		}
		return hooks.Outcome{Action: contract.Allow}
	}
	answers := []string{`{"n":2}`, `{"n":"x"}`, `{"n":13}`}
	r.screen.answer = func(_ context.Context, a report.Approval) (report.Answer, error) {
		if string(a.Arguments) == `{"n":2}` {
			return report.Answer{Outcome: report.AllowOnce}, nil // what was edited before asks again
		}
		edited := answers[0]
		answers = answers[1:]
		return report.Answer{Outcome: report.AllowOnce, Arguments: json.RawMessage(edited)}, nil
	}
	r.model.turns = []turn{{calls: []string{`slow {"n":1}`}}, {calls: []string{`slow {"n":1}`}}, {calls: []string{`slow {"n":1}`}}, {text: "ok"}}
	r.wait(r.start("x").RunID)
	if got := r.resultText(1); got != `slow {"n":2}` {
		t.Errorf("edited: %q", got)
	}
	notes := r.model.requests()[1].Messages
	if got := notes[len(notes)-1].Blocks[0].Result.Notes; len(got) != 1 || !strings.Contains(got[0], "the user changed this call before it ran: /n") {
		t.Errorf("notes %q", got)
	}
	if got := r.resultText(2); !strings.Contains(got, "denied by the user: the edited arguments count as a denial: the arguments of slow do not fit") {
		t.Errorf("edited to something that does not fit: %q", got)
	}
	if got := r.resultText(3); got != "denied by a hook: not 13" {
		t.Errorf("edited to something that a hook denies: %q", got)
	}
	// No hook sees what does not fit the schema.
	if want := []string{"1: 1", "1: 2", "1: 1", "1: 1", "1: 13"}; r.slow.runs != 1 || !slices.Equal(seen, want) {
		t.Errorf("%d runs, the hook saw %v, want %v", r.slow.runs, seen, want)
	}
}

func TestAFileThatMovesWhileTheApprovalIsOpen(t *testing.T) {
	r := newRig(t)
	r.verdict["change"] = loop.VerdictAsk
	path := r.file("a.txt", "one\n")
	r.screen.answer = func(context.Context, report.Approval) (report.Answer, error) {
		r.file("a.txt", "typed by the user\n")
		return report.Answer{Outcome: report.AllowOnce}, nil
	}
	r.model.turns = []turn{{calls: []string{`change {"path":"a.txt","text":"two\n"}`}}, {text: "ok"}}
	r.wait(r.start("x").RunID)
	if got := r.content(path); got != "typed by the user\n" {
		t.Errorf("the file is %q", got)
	}
	if got := r.resultText(1); !strings.Contains(got, "changed while the approval was open") {
		t.Errorf("result %q", got)
	}
}

func TestLastingGrants(t *testing.T) {
	for _, outcome := range []report.ApprovalOutcome{report.AllowSession, report.AllowAlways} {
		t.Run(string(outcome), func(t *testing.T) {
			r := newRig(t)
			r.verdict["slow"] = loop.VerdictAsk
			// Two safe calls ask at the same time; one lasting answer settles both.
			r.model.turns = []turn{{calls: []string{`slow {"safe":true,"n":1}`, `slow {"safe":true,"n":2}`}}, {calls: []string{`slow {"n":3}`}}, {text: "ok"}}
			s := r.start("x")
			first := <-r.screen.asked
			<-r.screen.asked
			if err := r.svc.Resolve(context.Background(), first.ID, report.Answer{Outcome: outcome}); err != nil {
				t.Fatal(err)
			}
			r.wait(s.RunID)
			if n := len(r.screen.shown); n != 2 || r.slow.runs != 3 {
				t.Errorf("%d approvals, %d runs", n, r.slow.runs)
			}
			var by []string
			for range 2 {
				var settled *Settled
				if errors.As(<-r.screen.taken, &settled) {
					by = append(by, settled.By)
				}
			}
			slices.Sort(by)
			if !slices.Equal(by, []string{"here", "policy"}) {
				t.Errorf("taken down by %v", by)
			}
			// Another session: only the rule for good still holds.
			r.screen.answer = answerWith(report.Answer{Outcome: report.DenyOnce})
			r.model.turns = []turn{{calls: []string{`slow {"n":4}`}}, {text: "ok"}}
			r.wait(r.start("y").RunID)
			want := 3
			if outcome == report.AllowAlways {
				want = 4
				grants, err := policy.LoadAlways(r.svc.opt.StateDir, r.svc.opt.Root)
				if err != nil || len(grants) != 1 || grants[0].Rule != "shell(echo slow)" {
					t.Errorf("written grants %v, %v", grants, err)
				}
			}
			if r.slow.runs != want {
				t.Errorf("%d runs, want %d", r.slow.runs, want)
			}
		})
	}
}

func TestCancelWithdrawsWithinATenthOfASecond(t *testing.T) {
	r := newRig(t)
	r.verdict["slow"] = loop.VerdictAsk
	r.model.turns = []turn{{calls: []string{`slow {}`}}}
	s := r.start("x")
	a := <-r.screen.asked
	began := time.Now()
	if ok, err := r.svc.Cancel(context.Background(), s.RunID, ""); !ok || err != nil {
		t.Fatal(ok, err)
	}
	end := r.wait(s.RunID)
	if took := time.Since(began); took > 100*time.Millisecond || end.Status != report.Cancelled {
		t.Errorf("end %s after %v", end.Status, took)
	}
	text := r.screen.text()
	if !strings.Contains(text, "approval_withdrawn") || !strings.Contains(text, "by=cancel") {
		t.Errorf("events:\n%s", text)
	}
	if err := r.svc.Resolve(context.Background(), a.ID, report.Answer{Outcome: report.AllowOnce}); !errors.Is(err, ErrAlreadyResolved) {
		t.Errorf("a late answer: %v", err)
	}
	if err := r.svc.Resolve(context.Background(), "ask_none", report.Answer{}); !errors.Is(err, ErrUnknownID) {
		t.Errorf("an unknown approval: %v", err)
	}
	if r.slow.runs != 0 {
		t.Error("the call ran")
	}
}

func TestCancelOfACallThatAsks(t *testing.T) {
	r := newRig(t)
	r.verdict["slow"] = loop.VerdictAsk
	r.model.turns = []turn{{calls: []string{`slow {}`}}, {text: "went on"}}
	s := r.start("x")
	a := <-r.screen.asked
	if ok, err := r.svc.Cancel(context.Background(), s.RunID, a.CallID); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if end := r.wait(s.RunID); end.Status != report.Done {
		t.Errorf("end %+v", end)
	}
	if got := r.resultText(1); got != "the user cancelled this call" {
		t.Errorf("result %q", got)
	}
	if open, _, _ := r.svc.Pending(context.Background()); len(open) != 0 {
		t.Errorf("still pending: %+v", open)
	}
}

// Two windows are two servers with one journal: an answer given in the other
// one reaches the run soon.
func TestAnswerFromAnotherWindow(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	r.verdict["slow"] = loop.VerdictAsk
	r.model.turns = []turn{{calls: []string{`slow {}`}}, {text: "ok"}}
	s := r.start("x")
	a := <-r.screen.asked
	j, err := openAgain(r)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	other := r.service(j, newScreen())
	defer other.Close()
	open, _, err := other.Pending(ctx)
	if err != nil || len(open) != 1 || open[0].ID != a.ID || !open[0].Elsewhere {
		t.Fatalf("pending in the other window: %+v, %v", open, err)
	}
	began := time.Now()
	if err := other.Resolve(ctx, a.ID, report.Answer{Outcome: report.AllowOnce}); err != nil {
		t.Fatal(err)
	}
	if err := r.svc.Resolve(ctx, a.ID, report.Answer{Outcome: report.DenyOnce}); !errors.Is(err, ErrAlreadyResolved) {
		t.Errorf("the second answer: %v", err)
	}
	end := r.wait(s.RunID)
	if took := time.Since(began); end.Status != report.Done || r.slow.runs != 1 || took > 500*time.Millisecond {
		t.Errorf("end %s after %v, %d runs", end.Status, took, r.slow.runs)
	}
}

func TestFirstAnswerWins(t *testing.T) {
	r := newRig(t)
	r.verdict["slow"] = loop.VerdictAsk
	r.model.turns = []turn{{calls: []string{`slow {}`}}, {text: "ok"}}
	s := r.start("x")
	a := <-r.screen.asked
	results := make(chan error, 20)
	for i := range 20 {
		go func() {
			outcome := report.AllowOnce
			if i%2 == 0 {
				outcome = report.DenyOnce
			}
			results <- r.svc.Resolve(context.Background(), a.ID, report.Answer{Outcome: outcome})
		}()
	}
	won := 0
	for range 20 {
		if err := <-results; err == nil {
			won++
		} else if !errors.Is(err, ErrAlreadyResolved) {
			t.Error(err)
		}
	}
	r.wait(s.RunID)
	if won != 1 || r.slow.runs > 1 {
		t.Errorf("%d answers won, %d runs", won, r.slow.runs)
	}
}

// The digest covers the tool, the arguments and the bytes before and after.
func TestDigestCoversWhatIsShown(t *testing.T) {
	make := func(change func(*dispatched)) string {
		d := &dispatched{tool: lookTool{}, args: json.RawMessage(`{"at":"a","n":1}`), plan: loop.Plan{Edits: []loop.FileEdit{{Path: "/p", Before: []byte("b"), After: []byte("a")}}}}
		change(d)
		return d.digest()
	}
	base := make(func(*dispatched) {})
	if same := make(func(d *dispatched) { d.args = json.RawMessage(` {"n": 1, "at": "a"} `) }); same != base {
		t.Error("the spelling of the arguments counts")
	}
	for name, change := range map[string]func(*dispatched){
		"tool":      func(d *dispatched) { d.tool = &nextStage{} },
		"arguments": func(d *dispatched) { d.args = json.RawMessage(`{"at":"b","n":1}`) },
		"judged":    func(d *dispatched) { d.plan.Paths = []loop.PathAccess{{Path: "/p"}} },
		"command":   func(d *dispatched) { d.plan.Command = &loop.CommandPlan{Line: "ls"} },
		"path":      func(d *dispatched) { d.plan.Edits[0].Path = "/q" },
		"before":    func(d *dispatched) { d.plan.Edits[0].Before = []byte("B") },
		"no before": func(d *dispatched) { d.plan.Edits[0].Before = nil },
		"after":     func(d *dispatched) { d.plan.Edits[0].After = []byte("A") },
	} {
		if make(change) == base {
			t.Errorf("%s does not count", name)
		}
	}
}
