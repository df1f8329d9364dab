package run

import (
	"context"
	"strings"
	"testing"
	"time"

	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// unconfined lets commands run without a floor, as on a machine that has none:
// each asks, and what it does to protected files is found afterwards.
func unconfined(t *testing.T) *rig {
	r := newRig(t)
	r.realTools()
	r.config.Policy = manifest.Policy{Default: "allow", Rules: []manifest.Rule{{Verdict: "allow", Text: "shell", Origin: manifest.Origin{Layer: "user"}}}}
	r.config.Sandbox = manifest.Sandbox{Off: true}
	r.model.turns = []turn{{calls: []string{`shell {"command":"echo evil > .envrc; echo more >> AGENTS.md; rm CLAUDE.md"}`}}, {text: "ok"}}
	r.file("AGENTS.md", "be kind\n")
	r.file("CLAUDE.md", "be brief\n")
	return r
}

func TestWhatACommandDidToProtectedFilesIsOffered(t *testing.T) {
	for outcome, want := range map[report.ApprovalOutcome][3]string{
		report.AllowOnce: {"evil\n", "be kind\nmore\n", "<none>"},
		report.DenyOnce:  {"<none>", "be kind\n", "be brief\n"},
	} {
		r := unconfined(t)
		r.screen.answer = func(_ context.Context, a report.Approval) (report.Answer, error) {
			if !strings.HasPrefix(a.Title, "keep ") {
				return report.Answer{Outcome: report.AllowOnce}, nil // the command itself
			}
			for name, now := range map[string]string{".envrc": "<none>", "AGENTS.md": "be kind\n", "CLAUDE.md": "be brief\n"} {
				if got := r.content(r.dir + "/ws/" + name); got != now {
					t.Errorf("while a person is asked %s is %q, want %q", name, got, now)
				}
			}
			return report.Answer{Outcome: outcome}, nil
		}
		s := r.start("x")
		if end := r.wait(s.RunID); end.Status != report.Done {
			t.Fatalf("the run ended %+v", end)
		}
		for i, name := range []string{".envrc", "AGENTS.md", "CLAUDE.md"} {
			if got := r.content(r.dir + "/ws/" + name); got != want[i] {
				t.Errorf("%s: %s is %q, want %q", outcome, name, got, want[i])
			}
		}
		if len(r.screen.shown) != 2 {
			t.Fatalf("%d approvals, want the command's and that of its changes", len(r.screen.shown))
		}
		a := r.screen.shown[1]
		if a.Title != "keep what the command did to .envrc, AGENTS.md, CLAUDE.md" || len(a.Edits) != 3 || !strings.Contains(a.Edits[1].Diff, "+more") || len(a.Outcomes) != 2 || a.Covers.Session+a.Covers.Always != "" {
			t.Errorf("approval %+v", a)
		}
		told := r.resultText(1)
		if outcome == report.DenyOnce && !strings.Contains(told, "it was not allowed, so it was undone: .envrc removed again, AGENTS.md put back, CLAUDE.md put back") {
			t.Errorf("the model is told %q", told)
		}
		steps := strings.Join(r.steps(s.SessionID), "\n")
		if !strings.Contains(steps, "asked: builtin ask by protected\nresolved: approval ") {
			t.Errorf("the journal says\n%s", steps)
		}
	}
}

func TestNobodyAnswersForProtectedFiles(t *testing.T) {
	r := unconfined(t)
	open := make(chan string, 1)
	r.screen.answer = func(ctx context.Context, a report.Approval) (report.Answer, error) {
		if !strings.HasPrefix(a.Title, "keep ") {
			return report.Answer{Outcome: report.AllowOnce}, nil
		}
		open <- a.ID
		<-ctx.Done()
		return report.Answer{}, ctx.Err()
	}
	s := r.start("x")
	id := wait(t, open)
	// A grant that covers the command says nothing about what it did.
	r.svc.settleCovered(context.Background())
	if open, _, err := r.svc.Pending(context.Background()); err != nil || len(open) != 1 || open[0].ID != id {
		t.Errorf("Pending = %v, %v, want the one about the changes", open, err)
	}
	// The process dies: what was not answered is not there.
	r.close()
	r.open()
	r.realTools()
	r.model.turns = []turn{{text: "I look again."}}
	resumed, err := r.svc.Resume(context.Background(), s.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	if end := r.wait(resumed.RunID); end.Status != report.Done {
		t.Errorf("the run ended %+v", end)
	}
	if open, _, err := r.svc.Pending(context.Background()); err != nil || len(open) != 0 {
		t.Errorf("Pending = %v, %v, want none", open, err)
	}
	if got := r.content(r.dir+"/ws/.envrc") + r.content(r.dir+"/ws/AGENTS.md"); got != "<none>be kind\n" {
		t.Errorf("left behind: %q", got)
	}
}

func TestACancelWithdrawsTheOffer(t *testing.T) {
	r := unconfined(t)
	open := make(chan string, 1)
	r.screen.answer = func(ctx context.Context, a report.Approval) (report.Answer, error) {
		if !strings.HasPrefix(a.Title, "keep ") {
			return report.Answer{Outcome: report.AllowOnce}, nil
		}
		open <- a.ID
		<-ctx.Done()
		return report.Answer{}, ctx.Err()
	}
	s := r.start("x")
	id := wait(t, open)
	if ok, err := r.svc.Cancel(context.Background(), s.RunID, ""); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if end := r.wait(s.RunID); end.Status != report.Cancelled {
		t.Errorf("the run ended %+v", end)
	}
	withdrawn := false
	for _, e := range r.screen.events {
		withdrawn = withdrawn || e.Type == report.ApprovalWithdrawn && e.ID == id
	}
	if !withdrawn {
		t.Errorf("the approval was not withdrawn; events:\n%s", r.screen.text())
	}
	if got := r.content(r.dir + "/ws/.envrc"); got != "<none>" {
		t.Errorf("left behind: %q", got)
	}
}

// wait gives what comes through a channel, within ten seconds.
func wait[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	var v T
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("it did not come")
	}
	return v
}

func TestWhatCannotBePutBackEndsTheRun(t *testing.T) {
	r := unconfined(t)
	big := strings.Repeat("x", 2<<20) // its bytes are not kept
	r.file("AGENTS.md", big)
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	end := r.wait(r.start("x").RunID)
	if end.Status != report.Failed || end.StopReason != report.StopPolicy || !strings.Contains(end.Error, "AGENTS.md left changed") {
		t.Errorf("the run ended %+v", end)
	}
	if len(r.screen.shown) != 1 {
		t.Errorf("%d approvals, want that of the command only", len(r.screen.shown))
	}
	if got := r.content(r.dir+"/ws/.envrc") + r.content(r.dir+"/ws/CLAUDE.md"); got != "<none>be brief\n" {
		t.Errorf("what can be put back is %q", got)
	}
}
