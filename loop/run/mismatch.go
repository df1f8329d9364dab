package run

import (
	"context"
	"fmt"
)

const resumeMismatch = "resume:mismatch"

// mismatch says why a run cannot be taken up, "" if it can: what its steps come
// to is another turn than the one that they were recorded with. Then a step is
// missing, or was written by a program that read the others differently, and
// nobody knows which calls it would run again.
func (f *former) mismatch() string {
	if f.row.Turns == f.state.Turn {
		return ""
	}
	return fmt.Sprintf("its steps come to turn %d, but the last of them was recorded in turn %d: steps are missing, or another version of this program wrote them", f.state.Turn, f.row.Turns)
}

// refuse ends a run that cannot be taken up, so that the session is whole
// again: its calls get results, and it gets the end that every run has.
func (s *Service) refuse(ctx context.Context, r *activeRun, f former, why string) (Resumed, error) {
	turn := f.state.Turn
	r.decider.silent = true
	r.raise(ctx, &f.state, resumeMismatch, "", func() map[string]any {
		return map[string]any{"resume_turn": int64(turn), "stored_turns": int64(f.row.Turns), "reason": why}
	})
	// Nothing drives this run, so what its hooks decided is taken in here.
	for waiting := true; waiting; {
		select {
		case p := <-r.inbox:
			r.apply(&p)
			if err := r.commit(); err != nil {
				return Resumed{}, err
			}
		default:
			waiting = false
		}
	}
	f.state, f.seq, f.usage = r.state, r.seq, r.usage
	r.stop(errStopped)
	if err := s.endFormer(ctx, &f); err != nil {
		return Resumed{}, err
	}
	return Resumed{Reason: "the run was closed, it cannot be taken up: " + why}, nil
}
