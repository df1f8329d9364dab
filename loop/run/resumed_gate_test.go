package run

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// A call that waited for a person when the process died, and that policy
// allows by now, runs, and its approval is withdrawn; a denial counts.
func TestResumedCallThatNeedsNobodyAnyMore(t *testing.T) {
	for _, denied := range []bool{false, true} {
		r := newRig(t)
		r.verdict["slow"] = loop.VerdictAsk
		r.model.turns = []turn{{calls: []string{`slow {}`}}, {text: "ok"}}
		s := r.start("x")
		a := <-r.screen.asked
		r.restart()
		if denied {
			if err := r.journal.Answer(context.Background(), a.ID, report.Answer{Outcome: report.DenyOnce}); err != nil {
				t.Fatal(err)
			}
		}
		r.verdict["slow"] = loop.VerdictAllow
		r.resume(s.SessionID)
		end := r.wait(s.RunID)
		withdrawn := 0
		for _, e := range r.kept(s.SessionID) {
			if e.Type == report.ApprovalWithdrawn && e.ID == a.ID && e.By == "policy" {
				withdrawn++
			}
		}
		runs, want := 1, 1
		if denied {
			runs, want = 0, 0
		}
		if end.Status != report.Done || r.slow.runs != runs || withdrawn != want {
			t.Errorf("denied %v: ended %s, %d runs, withdrawn %d times", denied, end.Status, r.slow.runs, withdrawn)
		}
	}
}

// An approval shows where a link leads; it is no approval of another file.
func TestLinkThatMovesWhileTheApprovalIsOpen(t *testing.T) {
	r := newRig(t)
	r.verdict["read_file"] = loop.VerdictAsk
	r.file("plain", "nothing\n")
	r.file("secret", "hunter2\n")
	root := filepath.Join(r.dir, "ws")
	point := func(to string) {
		_ = os.Remove(filepath.Join(root, "link"))
		if err := os.Symlink(to, filepath.Join(root, "link")); err != nil {
			t.Error(err)
		}
	}
	point("plain")
	for _, b := range tool.Builtin(tool.Options{Root: root}) {
		if b.Spec().Name == "read_file" {
			r.more = append(r.more, b)
		}
	}
	r.screen.answer = func(context.Context, report.Approval) (report.Answer, error) {
		point("secret")
		return report.Answer{Outcome: report.AllowOnce}, nil
	}
	r.model.turns = []turn{{calls: []string{`read_file {"path":"link"}`}}, {text: "ok"}}
	r.wait(r.start("x").RunID)
	if got := r.resultText(1); !strings.Contains(got, "changed while the approval was open") || strings.Contains(got, "hunter2") {
		t.Errorf("result %q", got)
	}
}

// Only tool:gate is asked again when a run is taken up: that a command of
// pre_tool was not heard still keeps every rule from allowing the call.
func TestResumedCallKeepsWhatPreToolSaid(t *testing.T) {
	for _, gate := range []bool{false, true} {
		r := newRig(t)
		r.hooks["work/pre_tool"] = says(hooks.Outcome{Action: contract.Allow, Unheard: "it was not heard"})
		if gate {
			r.hooks["work/tool:gate"] = says(hooks.Outcome{Action: contract.Allow})
		}
		r.model.turns = []turn{{calls: []string{`slow {"n":1}`}}, {text: "done"}}
		s := r.start("x")
		<-r.screen.asked
		r.restart()
		var heard []string
		for _, event := range []string{"tool:gate", "pre_tool"} {
			if event == "pre_tool" || gate {
				r.hooks["work/"+event] = func(f hooks.Firing) hooks.Outcome {
					heard = append(heard, f.Event)
					return allow(f)
				}
			}
		}
		r.screen.answer = answerWith(report.Answer{Outcome: report.DenyOnce})
		r.resume(s.SessionID)
		r.wait(s.RunID)
		var want []string
		if gate {
			want = []string{"tool:gate"}
		}
		if !slices.Equal(heard, want) || r.slow.runs != 0 {
			t.Errorf("gate %v: heard %q, %d runs", gate, heard, r.slow.runs)
		}
	}
}
