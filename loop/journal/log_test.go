package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent-ls/loop"
)

// The log that SQLite writes first is emptied while a session goes on, so that
// it does not grow with it, and everything is there afterwards.
func TestTheLogDoesNotGrowWithTheSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Begin(ctx, SessionRow{ID: "s", StartedAt: time.Now()}, "r", nil); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 200<<10)
	const steps = 5 * logSize / (200 << 10)
	for i := range steps {
		e := loop.Event{Kind: loop.Finished, CallID: "c", Result: &loop.ToolResult{Text: text}}
		if err := j.Append(Step{SessionID: "s", RunID: "r", Turn: i, Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path + "-wal")
	if err != nil || info.Size() > 3*logSize {
		t.Errorf("after %d bytes the log has %v, %v", steps*len(text), info.Size(), err)
	}
	if v, err := j.Verify(ctx, "s"); err != nil || !v.OK() || v.Steps != steps {
		t.Errorf("the chain: %+v, %v", v, err)
	}
}

// Several steps that are a row each are one commit: all of them are there, in
// their order, linked to each other, or none.
func TestStepsOfACommitAreLinked(t *testing.T) {
	j, err := Open(filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Begin(ctx, SessionRow{ID: "s", StartedAt: time.Now()}, "r", nil); err != nil {
		t.Fatal(err)
	}
	seq := 0
	for _, n := range []int{1, 3, mostPlain, mostPlain + 1, 2, 1} {
		steps := make([]Step, n)
		for i := range steps {
			seq++
			steps[i] = Step{SessionID: "s", RunID: "r", Turn: seq, LastSeq: int64(seq), Event: loop.Event{Kind: loop.Noted, Step: int64(seq)}}
		}
		if err := j.Append(steps...); err != nil {
			t.Fatal(err)
		}
	}
	// As another process has it, that knows no heads.
	clear(j.heads)
	if err := j.Append(Step{SessionID: "s", RunID: "r", Status: "done", Event: loop.Event{Kind: loop.Noted, Step: int64(seq + 1)}}); err != nil {
		t.Fatal(err)
	}
	if v, err := j.Verify(ctx, "s"); err != nil || !v.OK() || v.Steps != seq+1 {
		t.Errorf("the chain: %+v, %v", v, err)
	}
	next := int64(0)
	if _, _, err := j.Replay(ctx, "s", func(e loop.Event) {
		if next++; e.Step != next {
			t.Errorf("step %d comes in place %d", e.Step, next)
		}
	}); err != nil || next != int64(seq+1) {
		t.Errorf("%d steps, %v", next, err)
	}
}
