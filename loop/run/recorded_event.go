package run

import (
	"context"
	"fmt"

	"agent-ls/hooks/replay"
	"agent-ls/loop/journal"
)

// Recorded gives what a script decided in a session at one moment, its seq, or
// with seq 0 at the newest; all sessions are looked through where session is
// "". Several functions or calls may have one moment. That there is none is
// ErrUnknownID.
func (s *Service) Recorded(ctx context.Context, path, session string, seq int64) ([]*replay.Event, error) {
	f := journal.FiringFilter{Scripts: s.recordedAs(path), Limit: ReplayMost}
	if session != "" {
		f.Sessions = []string{session}
	}
	if seq == 0 {
		f.Limit = 1
	}
	var found []*replay.Event
	for one, err := range s.opt.Journal.Firings(ctx, f) {
		if err != nil {
			return nil, err
		}
		if seq == 0 || one.Decision.Seq == seq {
			found = append(found, played(one, false))
		}
	}
	if len(found) == 0 {
		what := "nothing that it decided"
		if seq != 0 {
			what += fmt.Sprintf(" at %d", seq)
		}
		if session != "" {
			what += " in " + session
		}
		return nil, fmt.Errorf("%s of the script is on record: %w", what, ErrUnknownID)
	}
	return found, nil
}
