package run

import (
	"context"
	"errors"
	"slices"
	"testing"

	"agent-ls/loop/journal"
)

func TestUndo(t *testing.T) {
	ctx := context.Background()
	edited := func(t *testing.T) (*rig, Started, string, string) {
		r := newRig(t)
		a, n := r.file("a.txt", "one\n"), r.dir+"/ws/new.txt"
		r.model.turns = []turn{{calls: []string{
			`change {"path":"a.txt","text":"two\n"}`, `change {"path":"new.txt","text":"x"}`, `change {"path":"a.txt","text":"three\n"}`,
		}}, {text: "ok"}}
		s := r.start("x")
		r.wait(s.RunID)
		return r, s, a, n
	}
	t.Run("the run", func(t *testing.T) {
		r, s, a, n := edited(t)
		dry, err := r.svc.Undo(ctx, s.RunID, "", true)
		if err != nil || len(dry.Edits) != 2 || r.content(a) != "three\n" {
			t.Fatalf("dry run: %+v, %v, %q", dry, err, r.content(a))
		}
		done, err := r.svc.Undo(ctx, s.RunID, "", false)
		if err != nil || len(done.Edits) != 2 || len(done.Conflicts) != 0 {
			t.Fatalf("undo: %+v, %v", done, err)
		}
		if r.content(a) != "one\n" || r.content(n) != "<none>" {
			t.Errorf("files %q, %q", r.content(a), r.content(n))
		}
		again, err := r.svc.Undo(ctx, s.RunID, "", false)
		if err != nil || len(again.Edits)+len(again.Conflicts) != 0 {
			t.Errorf("undo again: %+v, %v", again, err)
		}
	})
	t.Run("a file changed since stays", func(t *testing.T) {
		r, s, a, n := edited(t)
		r.file("a.txt", "mine\n")
		done, err := r.svc.Undo(ctx, s.RunID, "", false)
		if err != nil || !slices.Equal(done.Conflicts, []string{a}) || len(done.Edits) != 1 {
			t.Fatalf("undo: %+v, %v", done, err)
		}
		if r.content(a) != "mine\n" || r.content(n) != "<none>" {
			t.Errorf("files %q, %q", r.content(a), r.content(n))
		}
	})
	t.Run("one call", func(t *testing.T) {
		r, s, a, _ := edited(t)
		edits, err := r.journal.Edits(ctx, s.RunID, "")
		if err != nil || len(edits) != 3 {
			t.Fatal(edits, err)
		}
		done, err := r.svc.Undo(ctx, s.RunID, edits[0].CallID, false)
		if err != nil || !slices.Equal(done.Conflicts, []string{a}) {
			t.Errorf("undo of a call that a later one built on: %+v, %v", done, err)
		}
		done, err = r.svc.Undo(ctx, s.RunID, edits[2].CallID, false)
		if err != nil || len(done.Edits) != 1 || r.content(a) != "two\n" {
			t.Errorf("undo of the last call: %+v, %v, %q", done, err, r.content(a))
		}
	})
	t.Run("unknown", func(t *testing.T) {
		r, s, _, _ := edited(t)
		for _, ids := range [][2]string{{"run_none", ""}, {s.RunID, "call_none"}} {
			if _, err := r.svc.Undo(ctx, ids[0], ids[1], false); !errors.Is(err, ErrUnknownID) {
				t.Errorf("undo of %v: %v", ids, err)
			}
		}
	})
	t.Run("a call that the process died in", func(t *testing.T) {
		r, s, a, _ := edited(t)
		if _, err := r.svc.Undo(ctx, s.RunID, "", false); err != nil {
			t.Fatal(err)
		}
		// Planned and not done: the file is as it was, and stays.
		planned := journal.Step{SessionID: s.SessionID, RunID: s.RunID, LastSeq: 99, Planned: []journal.Edit{
			{RunID: s.RunID, CallID: "c", Path: a, Before: []byte("one\n"), After: []byte("four\n")}}}
		if err := r.journal.Append(planned); err != nil {
			t.Fatal(err)
		}
		if done, err := r.svc.Undo(ctx, s.RunID, "", true); err != nil || len(done.Edits)+len(done.Conflicts) != 0 {
			t.Errorf("planned only: %+v, %v", done, err)
		}
		// Planned and done, but the process died before it could say so.
		r.file("a.txt", "four\n")
		if done, err := r.svc.Undo(ctx, s.RunID, "", false); err != nil || len(done.Edits) != 1 || r.content(a) != "one\n" {
			t.Errorf("done in silence: %+v, %v, %q", done, err, r.content(a))
		}
	})
}
