package run

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/hooks/command"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/sandbox"
)

// What changes while a program of the user's runs may be the user's own doing:
// it is undone, nothing of it is deleted, and the run says so.
func TestWhatIsSavedDuringDiagnosticsIsKept(t *testing.T) {
	r := newRig(t)
	r.file("AGENTS.md", "before")
	r.checks("echo saved > AGENTS.md; echo new > .envrc", nil)
	r.model.turns = []turn{{calls: []string{`write_file {"path":"a.txt","content":"x\n"}`}}, {text: "done"}}
	r.wait(r.start("x").RunID)
	keptAside(t, r)
	if out := r.outputs()[0]; !strings.Contains(out, ".envrc was put aside as .envrc.put-aside, AGENTS.md was put back, and what was there is now AGENTS.md.put-aside") {
		t.Errorf("the model reads %q", out)
	}
	said := 0
	for _, e := range r.screen.all() {
		if e.Type == report.Notice && e.Level == "warning" && strings.Contains(e.Text, "AGENTS.md.put-aside") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("said %d times; events:\n%s", said, r.screen.text())
	}
}

func TestWhatIsSavedDuringACommandHookIsKept(t *testing.T) {
	r := newRig(t)
	r.file("AGENTS.md", "before")
	floor := sandbox.Detect(manifest.Sandbox{Off: true}, sandbox.Dirs{Root: r.svc.opt.Root})
	r.svc.log = slog.New(slog.DiscardHandler)
	f := &commandFloor{floor: floor, permits: r.svc.permits, svc: r.svc}
	told := &activeRun{inbox: make(chan posted), done: make(chan struct{})}
	f.run.Store(told)
	exit := f.Run(t.Context(), command.Call{Line: "echo saved > AGENTS.md; echo new > .envrc"})
	keptAside(t, r)
	if exit.Err == nil || !strings.Contains(exit.Err.Error(), "what was there is now AGENTS.md.put-aside") {
		t.Errorf("the hook's failure: %v", exit.Err)
	}
	p := <-told.inbox
	if n := p.event.Note; n == nil || n.Level != "warning" || !strings.Contains(n.Text, ".envrc was put aside as .envrc.put-aside") {
		t.Errorf("the run is told %+v", p.event)
	}
}

func keptAside(t *testing.T, r *rig) {
	t.Helper()
	for name, want := range map[string]string{"AGENTS.md": "before", "AGENTS.md.put-aside": "saved\n", ".envrc": "<none>", ".envrc.put-aside": "new\n"} {
		if got := r.content(filepath.Join(r.svc.opt.Root, name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
