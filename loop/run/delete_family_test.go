package run

import (
	"context"
	"errors"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/journal"
)

// A deleted session takes those of its sub-agents with it, and theirs; a
// sub-agent's is in no list of its own.
func TestDeletingASessionDeletesItsFamily(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		if req.Depth < 2 && req.Turn == 0 {
			return turn{calls: []string{spawnCall("go on")}}
		}
		return turn{text: "done"}
	})
	s := r.start("go")
	r.wait(s.RunID)
	child := r.onlyChild(s.RunID)
	family := append(r.children(child), r.children(s.RunID)...)
	if list, _, err := r.svc.Sessions(ctx, 10, "", ""); err != nil || len(list) != 1 || len(family) != 2 {
		t.Fatalf("listed %+v, %v; %d sub-agents", list, err, len(family))
	}
	if err := r.svc.Delete(ctx, s.SessionID); err != nil {
		t.Fatal(err)
	}
	for _, id := range append(family, s.SessionID) {
		if _, err := r.journal.Session(ctx, id); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("session %s: %v, want it gone", id, err)
		}
	}
}

func (r *rig) children(run string) (sessions []string) {
	r.t.Helper()
	rows, err := r.journal.ChildrenOf(context.Background(), run)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, row := range rows {
		sessions = append(sessions, row.ID)
	}
	return sessions
}
