//go:build unix

package run

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
)

// The run above hears what becomes of a sub-agent's task while both are at
// work.
func TestTheParentHearsOfItsChildsTask(t *testing.T) {
	r := newRig(t)
	withShell(r)
	r.svc.stallAfter = 20 * time.Millisecond
	h := r.overhear("child:background:start", "child:background:stall", "child:background:exit")
	r.slow.gate = make(chan struct{})
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 0 && req.Turn == 0:
			return turn{calls: []string{spawnCall("serve it")}}
		case req.Depth == 1 && req.Turn == 0:
			return turn{calls: []string{`shell {"background":true,"command":"echo up; until [ -e stop ]; do sleep 0.02; done; exit 3"}`}}
		case req.Depth == 1 && req.Turn == 1:
			return turn{calls: []string{`slow {}`}}
		}
		return turn{text: "done"}
	})
	s := r.start("go")
	<-r.slow.entered
	waitFor(t, func() bool { return h.field("child:background:stall", 0, "task_id") != nil })
	r.file("stop", "")
	waitFor(t, func() bool { return h.field("child:background:exit", 0, "task_id") != nil })
	close(r.slow.gate)
	r.wait(s.RunID)
	if got, want := h.order(), "child:background:start child:background:stall child:background:exit"; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	for event := range h.fields {
		h.ofChild(t, event, s.RunID, r.onlyChild(s.RunID))
		if got := h.field(event, 0, "task_id"); got == "" || got != h.field("child:background:start", 0, "task_id") {
			t.Errorf("%s: task_id = %v", event, got)
		}
	}
	for field, want := range map[string]any{"status": "exited", "exit_code": int64(3), "output": "up\n"} {
		if got := h.field("child:background:exit", 0, field); got != want {
			t.Errorf("child:background:exit: %s = %v, want %v", field, got, want)
		}
	}
	if got := h.field("child:background:stall", 0, "idle_ms"); got != int64(20) {
		t.Errorf("child:background:stall: idle_ms = %v", got)
	}
}

// A task goes up from run to run as they end, and the top hears of each step.
func TestTheTopHearsWhoseATaskIs(t *testing.T) {
	r := newRig(t)
	withShell(r)
	h := r.overhear("child:background:reassign", "background:reassign")
	r.slow.gate = make(chan struct{})
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth < 2 && req.Turn == 0:
			return turn{calls: []string{spawnCall("serve it")}}
		case req.Depth == 2 && req.Turn == 0:
			return turn{calls: []string{serve}}
		case req.Depth < 2 && req.Turn == 1:
			return turn{calls: []string{`slow {}`}} // until it is heard
		}
		return turn{text: "done"}
	})
	s := r.start("go")
	<-r.slow.entered
	waitFor(t, func() bool { return h.field("child:background:reassign", 0, "task_id") != nil })
	child := r.onlyChild(s.RunID)
	grandchild := r.onlyChild(child)
	r.slow.gate <- struct{}{}
	<-r.slow.entered
	waitFor(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.fields["background:reassign"]) == 2
	})
	r.slow.gate <- struct{}{}
	r.wait(s.RunID)
	h.ofChild(t, "child:background:reassign", s.RunID, child)
	for field, want := range map[string]any{"from_run_id": grandchild, "to_run_id": child} {
		if got := h.field("child:background:reassign", 0, field); got != want {
			t.Errorf("child:background:reassign: %s = %v, want %v", field, got, want)
		}
	}
	// The child's own hooks hear the first one, the top's the second.
	for n, to := range []string{child, s.RunID} {
		if got := h.field("background:reassign", n, "to_run_id"); got != to || h.field("background:reassign", n, "run_id") != to {
			t.Errorf("background:reassign %d: to_run_id = %v, want %s", n, got, to)
		}
	}
}

// A sub-agent that another process takes up finds its task gone, and its
// parent hears that.
func TestTheParentHearsOfATaskThatIsGone(t *testing.T) {
	r := newRig(t)
	h := r.overhear("child:background:reconcile")
	r.verdict["change"] = loop.VerdictAsk
	play := func() {
		withShell(r)
		r.family(func(_ context.Context, req loop.ModelRequest) turn {
			switch {
			case req.Depth == 0 && req.Turn == 0:
				return turn{calls: []string{spawnCall("serve it")}}
			case req.Depth == 1 && req.Turn == 0:
				return turn{calls: []string{serve}}
			case req.Depth == 1 && req.Turn == 1:
				return turn{calls: []string{`change {"path":"f","text":"x"}`}}
			}
			return turn{text: "done"}
		})
	}
	play()
	s := r.start("go")
	<-r.screen.asked
	child := r.onlyChild(s.RunID)
	r.restart()
	play()
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	r.resume(s.SessionID)
	if end := r.wait(s.RunID); end.Status != report.Done {
		t.Fatalf("end %s %s; events:\n%s", end.Status, end.Error, r.screen.text())
	}
	h.ofChild(t, "child:background:reconcile", s.RunID, child)
	tasks, _ := h.field("child:background:reconcile", 0, "tasks").([]any)
	if len(tasks) != 1 {
		t.Fatalf("child:background:reconcile = %v", h.fields)
	}
	if task := tasks[0].(map[string]any); task["status"] != "lost" || task["exit_code"] != nil || !strings.HasPrefix(task["task_id"].(string), "task_") {
		t.Errorf("the task is %v", task)
	}
}

// The journal of a family cannot be written for a while. What stopped for it
// is taken up by the same process, which kept the sub-agent's task running.
func TestTheParentHearsItsChildTakeUpATask(t *testing.T) {
	r := newRig(t)
	withShell(r)
	h := r.overhear("child:background:adopt", "child:background:reconcile")
	r.slow.gate = make(chan struct{})
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 0 && req.Turn == 0:
			return turn{calls: []string{spawnCall("serve it")}}
		case req.Depth == 1 && req.Turn == 0:
			return turn{calls: []string{serve}}
		case req.Depth == 1 && req.Turn == 1:
			return turn{calls: []string{`slow {}`}}
		}
		return turn{text: "done"}
	})
	s := r.start("go")
	<-r.slow.entered
	child := r.onlyChild(s.RunID)
	writable := r.refuseWrites()
	active := r.svc.run(s.RunID)
	close(r.slow.gate)
	if <-active.done; active.finalErr == nil || !strings.Contains(active.finalErr.Error(), "no space left") {
		t.Fatalf("the run ended with %v, want the journal's error", active.finalErr)
	}
	writable()
	r.resume(s.SessionID)
	if end := r.wait(s.RunID); end.Status != report.Done {
		t.Fatalf("end %s %s; events:\n%s", end.Status, end.Error, r.screen.text())
	}
	waitFor(t, func() bool { return h.order() != "" })
	if got := h.order(); got != "child:background:adopt" {
		t.Errorf("heard %q", got)
	}
	h.ofChild(t, "child:background:adopt", s.RunID, child)
	if got := h.field("child:background:adopt", 0, "from_run_id"); got != child {
		t.Errorf("from_run_id = %v, want %s", got, child)
	}
}

// refuseWrites lets no event into the journal, as on a full disk, until
// writable is called.
func (r *rig) refuseWrites() (writable func()) {
	r.t.Helper()
	db, err := sql.Open("sqlite", "file:"+journal.Path(filepath.Join(r.dir, "state"), filepath.Join(r.dir, "ws"))+"?_pragma=busy_timeout(10000)")
	if err != nil {
		r.t.Fatal(err)
	}
	do := func(statement string) {
		if _, err := db.Exec(statement); err != nil {
			r.t.Fatal(err)
		}
	}
	do(`CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'no space left'); END`)
	return func() {
		do(`DROP TRIGGER full`)
		db.Close()
	}
}
