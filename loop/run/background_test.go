//go:build unix

package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/sandbox"
	"agent-ls/loop/tool"
)

// withShell gives the rig the real shell tool, without a sandbox, and the
// tools for background tasks.
func withShell(r *rig) {
	equip := r.svc.equip
	r.svc.equip = func(ctx context.Context, p *pinned, tracker *tool.Tracker) (*gear, []finding, error) {
		g, findings, err := equip(ctx, p, tracker)
		for _, t := range tool.Builtin(tool.Options{Root: filepath.Join(r.dir, "ws"), Tracker: tracker}) {
			if t.Spec().Name == "shell" {
				g.add(t)
			}
		}
		g.add(outputTool{})
		g.add(killTool{})
		return g, findings, err
	}
}

// serve runs on for ever and leaves its process id in a file.
const serve = `shell {"background":true,"command":"echo up; echo $$ > pid; exec sleep 300"}`

var taskID = regexp.MustCompile(`task_[0-9a-z]+`)

// alive says whether the process that serve left its id of runs.
func alive(t *testing.T, r *rig) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "ws", "pid"))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && syscall.Kill(pid, 0) == nil
}

func allText(req loop.ModelRequest) string {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, k := range m.Blocks {
			b.WriteString(k.Text + "\n")
			if k.Result != nil {
				b.WriteString(k.Result.Text + "\n")
			}
		}
	}
	return b.String()
}

func TestBackgroundTask(t *testing.T) {
	r := newRig(t)
	withShell(r)
	var w watchedEvents
	for _, event := range []string{"background:start", "background:exit"} {
		r.hooks["work/"+event] = w.hook(allowed)
	}
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		id := taskID.FindString(allText(req))
		switch req.Turn {
		case 0:
			return turn{calls: []string{serve}}
		case 1:
			return turn{calls: []string{fmt.Sprintf(`shell_output {"task":%q,"wait_ms":200}`, id), `shell_output {"task":"task_x"}`}}
		case 2:
			return turn{calls: []string{fmt.Sprintf(`shell_kill {"task":%q}`, id)}}
		}
		if !strings.Contains(allText(req), "<task-notification>") { // it comes with the request behind the task's end
			return turn{calls: []string{fmt.Sprintf(`shell_output {"task":%q,"wait_ms":50}`, id)}}
		}
		return turn{text: allText(req)}
	})
	end := r.wait(r.start("go").RunID)
	for _, want := range []string{"runs in the background", "up\n", "there is no background task", "was killed]", "<task-notification>"} {
		if !strings.Contains(*end.Output, want) {
			t.Errorf("output = %q, want %q in it", *end.Output, want)
		}
	}
	waitFor(t, func() bool { return !alive(t, r) })
	waitFor(t, func() bool { return len(w.of("background:exit")) == 1 })
	for _, f := range w.seen {
		if f["BROKEN"] != nil || f["call_id"] == "" || !strings.Contains(f["command"].(string), "sleep") {
			t.Errorf("ctx = %v", f)
		}
	}
	if n := len(w.of("background:start")); n != 1 {
		t.Errorf("background:start fired %d times", n)
	}
}

// TestATaskOutlivesARunThatIsDone: the next run has it, and is told once it
// ended.
func TestATaskOutlivesARunThatIsDone(t *testing.T) {
	r := newRig(t)
	withShell(r)
	var w watchedEvents
	for _, event := range []string{"background:adopt", "background:reconcile"} {
		r.hooks["work/"+event] = w.hook(allowed)
	}
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch req.Turn {
		case 0:
			return turn{calls: []string{`shell {"background":true,"command":"until [ -e stop ]; do sleep 0.02; done; echo over; exit 3"}`}}
		}
		return turn{text: lastText(req)}
	})
	first := r.start("go")
	r.wait(first.RunID)
	r.wait(r.startIn(first.SessionID, "still there?").RunID)
	waitFor(t, func() bool { return len(w.of("background:adopt")) == 1 })
	if f := w.of("background:adopt")[0]; f["BROKEN"] != nil || f["from_run_id"] != first.RunID {
		t.Errorf("ctx of background:adopt = %v", f)
	}
	r.file("stop", "")
	waitFor(t, func() bool {
		for _, k := range r.svc.tasks.owned(func(*task) bool { return true }) {
			if !k.over() {
				return false
			}
		}
		return true
	})
	end := r.wait(r.startIn(first.SessionID, "and now?").RunID)
	if !strings.Contains(*end.Output, "ended with exit status 3") || !strings.Contains(*end.Output, "shell_output gives what it printed") {
		t.Errorf("output = %q, want the task's end in it", *end.Output)
	}
	// What programs print is no word of the host's: hooks of results see it first.
	if strings.Contains(*end.Output, "\nover") {
		t.Errorf("output = %q, want nothing that the task printed in it", *end.Output)
	}
	waitFor(t, func() bool { return len(w.of("background:reconcile")) == 1 })
	if f := w.of("background:reconcile")[0]; f["BROKEN"] != nil {
		t.Errorf("ctx of background:reconcile = %v", f)
	}
	// It is told once.
	if end := r.wait(r.startIn(first.SessionID, "anything else?").RunID); strings.Contains(*end.Output, "exit status 3") {
		t.Errorf("output = %q: told twice", *end.Output)
	}
}

func TestACancelEndsTheTasksOfARun(t *testing.T) {
	r := newRig(t)
	withShell(r)
	r.slow.gate = make(chan struct{})
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		if req.Turn == 0 {
			return turn{calls: []string{serve}}
		}
		return turn{calls: []string{`slow {}`}}
	})
	s := r.start("go")
	<-r.slow.entered
	waitFor(t, func() bool { return alive(t, r) })
	if _, err := r.svc.Cancel(context.Background(), s.RunID, ""); err != nil {
		t.Fatal(err)
	}
	r.wait(s.RunID)
	waitFor(t, func() bool { return !alive(t, r) })
}

// TestTasksEndWithTheProgram, and a later one says so.
func TestTasksEndWithTheProgram(t *testing.T) {
	r := newRig(t)
	withShell(r)
	answer := func(_ context.Context, req loop.ModelRequest) turn {
		if req.Turn == 0 {
			return turn{calls: []string{serve}}
		}
		return turn{text: lastText(req)}
	}
	r.family(answer)
	s := r.start("go")
	r.wait(s.RunID)
	waitFor(t, func() bool { return alive(t, r) })
	r.close()
	if alive(t, r) {
		t.Error("the task outlives the service")
	}
	r.open()
	withShell(r)
	r.family(answer)
	if end := r.wait(r.startIn(s.SessionID, "still there?").RunID); !strings.Contains(*end.Output, "ended with the program") {
		t.Errorf("output = %q, want it said that the task is lost", *end.Output)
	}
}

func TestASubAgentsTaskGoesToItsParent(t *testing.T) {
	r := newRig(t)
	withShell(r)
	var w watchedEvents
	r.hooks["work/background:reassign"] = w.hook(allowed)
	r.hooks["work/child:background:start"] = w.hook(allowed)
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 0 && req.Turn == 0:
			return turn{calls: []string{spawnCall("serve it")}}
		case req.Depth == 1 && req.Turn == 0:
			return turn{calls: []string{serve}}
		case req.Depth == 1:
			return turn{text: "serving " + taskID.FindString(lastText(req))}
		case req.Turn == 1:
			return turn{calls: []string{fmt.Sprintf(`shell_kill {"task":%q}`, taskID.FindString(lastText(req)))}}
		}
		return turn{text: lastText(req)}
	})
	s := r.start("go")
	end := r.wait(s.RunID)
	if !strings.Contains(*end.Output, "was killed") {
		t.Errorf("output = %q, want the parent to end its sub-agent's task", *end.Output)
	}
	waitFor(t, func() bool { return len(w.of("background:reassign")) == 1 && len(w.of("child:background:start")) == 1 })
	if f := w.of("background:reassign")[0]; f["BROKEN"] != nil || f["to_run_id"] != s.RunID || f["from_run_id"] == s.RunID {
		t.Errorf("ctx of background:reassign = %v", f)
	}
}

func TestBackgroundTasksAreBounded(t *testing.T) {
	r := newRig(t)
	withShell(r)
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		if req.Turn == 0 {
			calls := make([]string, maxTasks+1)
			for i := range calls {
				calls[i] = `shell {"background":true,"command":"exec sleep 300"}`
			}
			return turn{calls: calls}
		}
		return turn{text: lastText(req)}
	})
	end := r.wait(r.start("go").RunID)
	if n := strings.Count(*end.Output, "runs in the background"); n != maxTasks || !strings.Contains(*end.Output, "which is as many as may") {
		t.Errorf("%d tasks were started, want %d and a refusal: %q", n, maxTasks, *end.Output)
	}
}

func TestAStalledTaskIsSaid(t *testing.T) {
	r := newRig(t)
	withShell(r)
	r.svc.stallAfter = 20 * time.Millisecond
	stalled := make(chan map[string]any, 10)
	r.hooks["work/background:stall"] = func(f hooks.Firing) hooks.Outcome {
		stalled <- f.Fields
		return hooks.Outcome{Action: contract.Allow}
	}
	r.slow.gate = make(chan struct{})
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch req.Turn {
		case 0:
			return turn{calls: []string{serve}}
		case 1:
			return turn{calls: []string{`slow {}`}}
		}
		return turn{text: lastText(req)}
	})
	s := r.start("go")
	f := <-stalled
	if _, err := contract.ByName("background:stall").Context(f, nil); err != nil {
		t.Errorf("ctx of background:stall: %v", err)
	}
	close(r.slow.gate)
	if told := *r.wait(s.RunID).Output; !strings.Contains(told, "has printed nothing for") || !strings.Contains(told, "runs still") {
		t.Errorf("the model is told %q", told)
	}
	if !strings.Contains(r.screen.text(), "has printed nothing for") {
		t.Errorf("nobody was told; events:\n%s", r.screen.text())
	}
	for _, e := range r.screen.all() {
		if e.Type == report.Notice && strings.Contains(e.Text, "printed nothing") && e.Level != "warning" {
			t.Errorf("level = %s", e.Level)
		}
	}
}

// TestEveryBackgroundCommandAsks: no floor keeps a command from making new
// protected files, so one that may never end asks a person whatever it is.
func TestEveryBackgroundCommandAsks(t *testing.T) {
	for _, off := range []bool{true, false} {
		asksInTheBackground(t, &gear{floor: sandbox.Detect(manifest.Sandbox{Off: off}, sandbox.Dirs{Root: t.TempDir()})})
	}
}

func asksInTheBackground(t *testing.T, g *gear) {
	t.Helper()
	r, c := &activeRun{gear: g}, &loop.CommandPlan{Line: "serve", Background: true}
	if r.unwatchedTask(c) == "" {
		t.Errorf("%s: it may change protected files unseen", g.floor.Kind())
	}
	c.Background = false
	if why := r.unwatchedTask(c); why != "" {
		t.Errorf("a plain command: %s", why)
	}
}
