package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

// steps are what the journal says the gate said of the calls of a session, a
// line each: event, layer, outcome, source.
func (r *rig) steps(session string) []string {
	r.t.Helper()
	var out []string
	_, _, err := r.journal.Replay(context.Background(), session, func(e loop.Event) {
		for _, s := range e.Steps {
			out = append(out, fmt.Sprintf("%s: %s %s by %s", e.Kind, s.Layer, s.Outcome, s.Source))
		}
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func TestTheJournalSaysWhichLayerDecided(t *testing.T) {
	r := newRig(t)
	r.verdict["slow"], r.verdict["change"] = loop.VerdictAsk, loop.VerdictDeny
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowSession})
	r.model.turns = []turn{{calls: []string{`look {"at":"x"}`, `change {"path":"a","text":"b"}`, `slow {"n":1}`}}, {text: "ok"}}
	s := r.start("x")
	r.wait(s.RunID)
	want := []string{
		"begun: rule allow by rule of the test",
		"finished: rule deny by rule of the test",
		"asked: rule ask by rule of the test",
		"resolved: approval allow by here",
	}
	got := r.steps(s.SessionID)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the journal says\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestARefusedCallSaysWhatItWas(t *testing.T) {
	r := newRig(t)
	r.verdict["change"] = loop.VerdictDeny
	r.model.turns = []turn{{calls: []string{`change {"path":"a.txt","text":"b"}`, `lok {}`, `look {"at":"x"}`}}, {text: "ok"}}
	s := r.start("x")
	r.wait(s.RunID)
	var got []string
	for _, e := range r.screen.events {
		if e.Type == report.ToolFinished {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.Outcome, e.Tool, e.Title, e.Arguments)))
		}
	}
	want := []string{`denied change change a file {"path":"a.txt","text":"b"}`, `invalid lok lok {}`, `ok`}
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("tool_finished events\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestWaitingForAPersonIsNotTheCallsTime(t *testing.T) {
	r := newRig(t)
	r.verdict["slow"] = loop.VerdictAsk
	const waits = time.Hour
	var waited atomic.Int64
	r.svc.clock = func() time.Time { return time.Now().Add(time.Duration(waited.Load())) }
	r.screen.answer = func(context.Context, report.Approval) (report.Answer, error) {
		waited.Store(int64(waits))
		return report.Answer{Outcome: report.AllowOnce}, nil
	}
	r.model.turns = []turn{{calls: []string{`slow {"n":1}`}}, {text: "ok"}}
	r.wait(r.start("x").RunID)
	for _, e := range r.screen.events {
		if e.Type == report.ToolFinished && *e.DurationMs >= waits.Milliseconds() {
			t.Errorf("the call took %d ms, and a person was waited for %v of it", *e.DurationMs, waits)
		}
	}
}

func TestWhyNobodyCanBeAskedReachesTheModel(t *testing.T) {
	for err, want := range map[error]string{
		ErrNoApprover: "denied: no approver, nobody could be asked",
		fmt.Errorf("this editor cannot show approvals: %w", ErrNoApprover): "denied: no approver, nobody could be asked: this editor cannot show approvals",
	} {
		r := newRig(t)
		r.verdict["slow"] = loop.VerdictAsk
		r.screen.answer = func(context.Context, report.Approval) (report.Answer, error) { return report.Answer{}, err }
		r.model.turns = []turn{{calls: []string{`slow {"n":1}`}}, {text: "ok"}}
		r.wait(r.start("x").RunID)
		if got := r.resultText(1); got != want {
			t.Errorf("%v: the model is told %q, want %q", err, got, want)
		}
	}
}

func TestCommandsOfALine(t *testing.T) {
	for line, want := range map[string]string{
		`for f in a b; do cat "$f"; done`:    "f=a f=b; cat ?",
		`for i in $(ls); do echo $i; done`:   "i=?; ls; echo ?",
		`A=1 B+=$X go test`:                  "A=1 B+=? go test",
		`> out`:                              "> out",
		`x=1; $CMD y`:                        "x=1; ? y",
		`while read -r l; do rm x; done < f`: "read -r l; rm x",
		`go vet && go vet`:                   "go vet",
	} {
		got := strings.Join(commandNames(line), "; ")
		if got != want {
			t.Errorf("commandNames(%q) = %q, want %q", line, got, want)
		}
	}
}
