package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

// dying is a front end at whose n-th kept event the journal is gone, as if
// the process had been killed then: nothing that would follow is written, so
// nothing with effects that must be on record first is done.
type dying struct {
	*screen
	mu   sync.Mutex // guards left
	left int        // events until then; 0 = never
	die  func()
}

func (d *dying) Event(e report.Event) {
	d.screen.Event(e)
	if e.Seq == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left--; d.left == 0 {
		d.die()
	}
}

// familyScenario has two tools, approvals and a sub-agent with an approval of
// its own. The model's answers follow from the request alone.
func familyScenario(_ context.Context, req loop.ModelRequest) turn {
	switch {
	case req.Depth == 1 && req.Turn == 0:
		return turn{text: "noting", calls: []string{`append {"line":"child"}`}}
	case req.Depth == 1:
		return turn{text: "noted"}
	}
	switch req.Turn {
	case 0:
		return turn{text: "looking", calls: []string{`look {"at":"a"}`, `append {"line":"first"}`}}
	case 1:
		return turn{calls: []string{`change {"path":"a.txt","text":"changed\n"}`}}
	case 2:
		return turn{calls: []string{spawnCall("note it")}}
	case 3:
		return turn{calls: []string{`append {"line":"last"}`}}
	}
	return turn{text: "all done"}
}

// life runs the scenario in the rig's folder, or goes on with what is there,
// until it is over or the n-th event. It says how many events it showed.
func life(t *testing.T, r *rig, n int) (events int) {
	t.Helper()
	r.open()
	front := &dying{screen: newScreen(), left: n}
	front.die = func() { _ = r.journal.Close() }
	front.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	r.screen, r.svc.opt.Frontend = front.screen, front
	r.family(familyScenario)
	list, _, err := r.svc.Sessions(context.Background(), 2, "", "")
	if err != nil || len(list) > 1 {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	run := ""
	if len(list) == 0 {
		s, err := r.svc.Start(context.Background(), StartParams{Prompt: "go"})
		if err != nil {
			t.Fatal(err)
		}
		run = s.RunID
	} else {
		res, err := r.svc.Resume(context.Background(), list[0].SessionID)
		if err != nil {
			t.Fatal(err)
		}
		run = res.RunID
	}
	if run != "" {
		end, err := r.svc.Wait(context.Background(), run)
		if n == 0 && (err != nil || end.Status != report.Done || *end.Output != "all done") {
			t.Errorf("the run ended %s: %s%v; events:\n%s", end.Status, end.Error, err, r.screen.text())
		}
	}
	_ = r.svc.Close()
	_ = r.journal.Close()
	for _, e := range front.all() {
		if e.Seq > 0 {
			events++
		}
	}
	return events
}

// TestKilledAtEveryEvent ends the process at each event of a run with two
// tools, approvals and a sub-agent, and once more in the middle of the resume.
// What goes on then is well-formed, honest about what may have happened, runs
// nothing twice and comes to the same answer.
func TestKilledAtEveryEvent(t *testing.T) {
	whole := deathRig(t)
	events := life(t, whole, 0)
	if events < 30 {
		t.Fatalf("the whole run has %d events only", events)
	}
	checkFamily(t, whole)
	for n := 1; n < events; n++ {
		t.Run(fmt.Sprint("event ", n), func(t *testing.T) {
			r := deathRig(t)
			life(t, r, n)
			if n%2 == 0 {
				life(t, r, 1+n%5)
			}
			life(t, r, 0)
			checkFamily(t, r)
		})
	}
}

func deathRig(t *testing.T) *rig {
	r := newRig(t)
	r.close()
	r.verdict["change"], r.verdict["append"] = loop.VerdictAsk, loop.VerdictAsk
	t.Cleanup(func() { r.open() }) // for the rig's own close
	return r
}

func checkFamily(t *testing.T, r *rig) {
	t.Helper()
	j, err := openAgain(r)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	list, err := j.Sessions(context.Background(), 2, "", "")
	if err != nil || len(list) != 1 {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	children, err := j.ChildrenOf(context.Background(), list[0].RunID)
	if err != nil || len(children) > 1 {
		t.Errorf("%d sub-agents were started: %v", len(children), err)
	}
	told := ""
	for _, row := range append(children, list...) {
		if row.Status != report.Done {
			t.Errorf("session %s is %s", row.ID, row.Status)
		}
		shown, _, err := j.Events(context.Background(), row.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range shown {
			if e.Seq != int64(i+1) || (e.Type == report.RunFinished) != (i == len(shown)-1) {
				t.Errorf("event %d of %s is %s with seq %d", i, row.ID, e.Type, e.Seq)
			}
		}
		var state loop.State
		if _, _, err := j.Replay(context.Background(), row.ID, func(e loop.Event) { state, _ = loop.Apply(state, e) }); err != nil {
			t.Fatal(err)
		}
		if err := loop.WellFormed(state.History.Messages()); err != nil {
			t.Errorf("session %s: %v", row.ID, err)
		}
		for _, m := range state.History.Messages() {
			for _, b := range m.Blocks {
				if b.Result != nil {
					told += b.Result.Text + "\n"
				}
			}
		}
	}
	effects, err := os.ReadFile(filepath.Join(r.dir, "ws", "effects.log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	missing := 0
	for _, line := range []string{"first", "child", "last"} {
		switch n := strings.Count(string(effects), line+"\n"); {
		case n > 1:
			t.Errorf("the effect %q happened %d times", line, n)
		case n == 0:
			missing++
		}
	}
	if unsure := strings.Count(told, "may or may not have happened"); missing > unsure {
		t.Errorf("%d effects are missing and %d results say so:\n%s", missing, unsure, told)
	}
	open, err := j.OpenApprovals(context.Background())
	if err != nil || len(open) > 0 {
		t.Errorf("approvals are open still: %+v, %v", open, err)
	}
}
