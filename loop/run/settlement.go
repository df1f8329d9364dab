package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent-ls/loop/journal"
)

// Settlement waits until an approval is answered or withdrawn, in whatever
// process, and says how.
func (s *Service) Settlement(ctx context.Context, id string) (Settled, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var version int64
	for first := true; ; first = false {
		changed, now, err := s.opt.Journal.Changed(ctx, version)
		if err != nil {
			return Settled{}, err
		}
		if version = now; changed || first {
			p, err := s.opt.Journal.Approval(ctx, id)
			switch {
			case errors.Is(err, journal.ErrNotFound):
				return Settled{}, fmt.Errorf("approval %s: %w", id, ErrUnknownID)
			case err != nil:
				return Settled{}, err
			case p.Answer != nil:
				return Settled{Outcome: p.Answer.Outcome, By: "elsewhere"}, nil
			case p.State != "open":
				return Settled{By: "cancel"}, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Settled{}, context.Cause(ctx)
		case <-s.closing:
			return Settled{}, errClosed
		}
	}
}
