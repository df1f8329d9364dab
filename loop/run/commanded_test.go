package run

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// commandTool is a command whose work is a function.
type commandTool struct {
	root string
	work func(root string)
}

func (*commandTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "command", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (c *commandTool) Prepare(context.Context, json.RawMessage) (loop.Plan, error) {
	return loop.Plan{Effect: loop.Execute, Title: "make", Command: &loop.CommandPlan{Line: "make", Dir: c.root}}, nil
}

func (c *commandTool) Run(context.Context, loop.Invocation) loop.ToolResult {
	c.work(c.root)
	return loop.ToolResult{Text: "made", Outcome: loop.CallOK}
}

func TestUndoOfWhatACommandChanged(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("this test needs git")
	}
	ctx := context.Background()
	r := newRig(t)
	root := filepath.Join(r.dir, "ws")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	a, gone, mine := r.file("a.txt", "one\n"), r.file("gone.sh", "#!/bin/sh\n"), r.file("mine.txt", "1\n")
	if err := os.Chmod(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-qm", "x")
	command := &commandTool{root: root, work: func(root string) {
		r.file("a.txt", "two\n")
		r.file("mine.txt", "2\n")
		r.file("built.o", "not tracked")
		if err := os.Remove(gone); err != nil {
			t.Error(err)
		}
	}}
	equip := r.svc.equip
	r.svc.equip = func(ctx context.Context, p *pinned, tracker *tool.Tracker) (*gear, []finding, error) {
		g, found, err := equip(ctx, p, tracker)
		if g != nil {
			g.add(command)
		}
		return g, found, err
	}
	r.model.turns = []turn{{calls: []string{`command {}`}}, {calls: []string{`change {"path":"a.txt","text":"three\n"}`}}, {text: "ok"}}
	s := r.start("x")
	r.wait(s.RunID)
	var shown []string
	for _, e := range r.kept(s.SessionID) {
		if e.Type == report.FileChanged {
			shown = append(shown, filepath.Base(e.Path))
		}
	}
	if !slices.Equal(shown, []string{"a.txt", "gone.sh", "mine.txt", "a.txt"}) {
		t.Errorf("shown as changed: %v", shown)
	}
	r.file("mine.txt", "typed since\n")
	done, err := r.svc.Undo(ctx, s.RunID, "", false)
	if err != nil || len(done.Edits) != 2 || !slices.Equal(done.Conflicts, []string{mine}) {
		t.Fatalf("undo %+v, %v", done, err)
	}
	if r.content(a) != "one\n" || r.content(gone) != "#!/bin/sh\n" || r.content(mine) != "typed since\n" {
		t.Errorf("files %q, %q, %q", r.content(a), r.content(gone), r.content(mine))
	}
	if info, err := os.Stat(gone); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("what was put back has mode %v, %v", info.Mode(), err)
	}
	if text := r.content(filepath.Join(root, "built.o")); !strings.Contains(text, "not tracked") {
		t.Errorf("an untracked file: %q", text)
	}
	if audit, err := r.svc.Audit(ctx, s.SessionID); err != nil || !audit.Chain.Holds {
		t.Errorf("audit %+v, %v", audit.Chain, err)
	}
}
