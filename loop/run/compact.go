package run

import (
	"context"
	"errors"
	"fmt"

	"agent-ls/loop"
)

// Compacted is what a summary of older turns made of a session: the size of
// its next request before and after, in tokens, as far as it can be estimated.
// Both are the same where there was nothing to sum up.
type Compacted struct{ Before, After int64 }

// Compact has the older turns of a session summed up by the model that its
// newest run asked. The summary is in the journal: every later run of the
// session, resumed or not, goes on from it. A session with a run under way is
// ErrSessionBusy; one whose run was interrupted has to be resumed first.
func (s *Service) Compact(ctx context.Context, sessionID string) (Compacted, error) {
	release, err := s.claim(sessionID)
	if err != nil {
		return Compacted{}, err
	}
	defer release()
	f, err := s.former(ctx, sessionID)
	if err != nil {
		return Compacted{}, err
	}
	done, err := s.compact(ctx, f)
	if released := s.opt.Journal.Release(context.WithoutCancel(ctx), sessionID); err == nil {
		err = released
	}
	return done, err
}

func (s *Service) compact(ctx context.Context, f former) (Compacted, error) {
	if f.state.RunID == "" {
		return Compacted{}, fmt.Errorf("session %s has no run: %w", f.row.ID, ErrUnknownID)
	}
	if f.state.Active() {
		return Compacted{}, fmt.Errorf("%w: it was interrupted; resume it first", ErrSessionBusy)
	}
	body, err := s.opt.Journal.Pin(ctx, f.state.RunID)
	if err != nil {
		return Compacted{}, fmt.Errorf("read what run %s pinned: %w", f.state.RunID, err)
	}
	pin, err := decodePin(body)
	if err != nil {
		return Compacted{}, err
	}
	session := f.state.SessionID
	g, findings, err := s.equip(ctx, pin, s.trackerFor(ctx, session, f.saw))
	if len(findings) > 0 {
		return Compacted{}, &CannotStart{Findings: findings}
	}
	if err != nil {
		return Compacted{}, err
	}
	until := f.state.SummaryUntil(pin.Config.Behavior.CompactKeepTurns, 0)
	if until == 0 {
		until = f.state.SummaryUntil(1, 0)
	}
	before := f.state.RequestSize()
	if until == 0 {
		return Compacted{before, before}, nil
	}
	r := newRun(s, f.state.RunID, session, pin, g)
	defer r.stop(errStopped)
	r.state, r.seq, r.usage, r.status = f.state, f.seq, f.usage, f.row.Status
	return r.compactIdle(ctx, until)
}

// compactIdle sums up in a session that nobody drives. What its hooks post
// meanwhile is journaled here.
func (r *activeRun) compactIdle(ctx context.Context, until int) (Compacted, error) {
	result := make(chan loop.Event, 1)
	s := r.state
	go func() { result <- r.summed(ctx, &s, until, "manual") }()
	var e loop.Event
	for waiting := true; waiting; {
		select {
		case p := <-r.inbox:
			r.apply(&p)
		case e = <-result:
			waiting = false
		}
	}
	for len(r.inbox) > 0 {
		p := <-r.inbox
		r.apply(&p)
	}
	if ctx.Err() != nil {
		return Compacted{}, errors.Join(ctx.Err(), r.commit())
	}
	if e.Kind == loop.CompactFailed {
		return Compacted{}, errors.Join(fmt.Errorf("the older turns could not be summed up: %s", e.Error), r.commit())
	}
	p := posted{event: e}
	r.apply(&p)
	if err := r.commit(); err != nil {
		return Compacted{}, err
	}
	return Compacted{e.Before, e.After}, nil
}
