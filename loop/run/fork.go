package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
)

// Fork makes a session of its own of what happened in another one, up to the
// event with a seq and what was journaled with it (0 = all of it); the other one stays as it is, and may be under
// way. A run that was not over there is cancelled in the fork, whose next
// prompt goes on from that point. Nothing is run again, and there is nothing
// in the fork to undo: the files belong to the first session.
func (s *Service) Fork(ctx context.Context, sessionID string, atSeq int64) (string, error) {
	if atSeq < 0 {
		return "", errors.New("a fork at a negative seq")
	}
	row, err := s.opt.Journal.Session(ctx, sessionID)
	if errors.Is(err, journal.ErrNotFound) {
		return "", fmt.Errorf("session %s: %w", sessionID, ErrUnknownID)
	}
	if err != nil {
		return "", err
	}
	f := forked{from: sessionID, to: newID("ses"), runs: map[string]string{}, asks: map[string]string{}}
	n, err := s.opt.Journal.Copy(ctx, sessionID, f.to, atSeq, f.rename)
	if err != nil {
		return "", fmt.Errorf("fork session %s: %w", sessionID, err)
	}
	if n == 0 || f.state.RunID == "" {
		return "", fmt.Errorf("session %s has nothing up to event %d that a fork could go on from", sessionID, atSeq)
	}
	olds := make(map[string]string, len(f.runs))
	for was, id := range f.runs {
		olds[id] = was
	}
	err = s.opt.Journal.Create(ctx, journal.SessionRow{
		ID: f.to, Title: row.Title, StartedAt: s.now(), Status: statusOf(&f.state), RunID: f.state.RunID, ForkedFrom: sessionID,
	}, olds)
	if err != nil {
		return "", fmt.Errorf("fork session %s: %w", sessionID, err)
	}
	if !f.state.Active() {
		return f.to, nil
	}
	release, err := s.claim(f.to)
	if err != nil {
		return "", err
	}
	defer release()
	before, err := s.former(ctx, f.to)
	if err != nil {
		return "", err
	}
	return f.to, s.endFormer(ctx, &before)
}

// forked gives what is copied ids of its own, and keeps where the copy stands.
type forked struct {
	from, to string
	runs     map[string]string // new ids by old ones
	asks     map[string]string
	state    loop.State
}

func (f *forked) rename(e *loop.Event, shown []report.Event) {
	if e.SessionID != "" {
		e.SessionID = f.to
	}
	if e.RunID != "" {
		e.RunID = fresh(f.runs, e.RunID, "run")
	}
	if e.ApprovalID != "" {
		e.ApprovalID = fresh(f.asks, e.ApprovalID, "ask")
	}
	if e.Kind == loop.Questioned && e.ID != "" {
		e.ID = fresh(f.asks, e.ID, "ask")
	}
	for i := range shown {
		v := &shown[i]
		v.SessionID, v.RunID = f.to, fresh(f.runs, v.RunID, "run")
		if (v.Type == report.ApprovalRequested || v.Type == report.ApprovalWithdrawn) && v.ID != "" {
			v.ID = fresh(f.asks, v.ID, "ask")
		}
	}
	f.state, _ = loop.Apply(f.state, *e)
}

func fresh(ids map[string]string, old, kind string) string {
	id := ids[old]
	if id == "" {
		id = newID(kind)
		ids[old] = id
	}
	return id
}

// Delete takes a session away with everything that was recorded of it: events,
// decisions, approvals, bytes for undo. Files stay as they are. A session that
// is under way, here or elsewhere, is ErrSessionBusy; one that was cut off can
// go.
func (s *Service) Delete(ctx context.Context, sessionID string) error {
	release, err := s.claim(sessionID)
	if err != nil {
		return err
	}
	defer release()
	switch err := s.opt.Journal.Delete(ctx, sessionID); {
	case errors.Is(err, journal.ErrNotFound):
		return fmt.Errorf("session %s: %w", sessionID, ErrUnknownID)
	case errors.Is(err, journal.ErrOwned):
		return ErrSessionBusy
	case err != nil:
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.trackers, sessionID)
	return nil
}

const (
	// keepEvery is how often a process looks for sessions that are past their
	// time.
	keepEvery = 24 * time.Hour
	// keepMost bounds how many one look deletes.
	keepMost = 200
	// keepWithin is how long a look may hold up the end of its process.
	keepWithin = 500 * time.Millisecond
)

// keep deletes the sessions that nothing has happened in for longer than they
// are to be kept; 0 keeps them all. What is recorded for replays is kept within
// its bound either way. It looks once a day at most, beside the
// run that is its occasion.
func (s *Service) keep(d time.Duration) {
	s.mu.Lock()
	early := s.closed || s.now().Sub(s.kept) < keepEvery
	if !early {
		s.kept = s.now()
		s.runners.Add(1)
	}
	s.mu.Unlock()
	if early {
		return
	}
	before := s.now().Add(-d)
	go func() {
		defer s.runners.Done()
		if d > 0 {
			s.deleteStale(before)
		}
		s.trimFirings()
	}()
}

func (s *Service) deleteStale(before time.Time) {
	ctx := context.Background()
	ids, err := s.opt.Journal.Stale(ctx, before.UnixMilli(), keepMost)
	if err != nil {
		s.log.Error("look for sessions past their time", "error", err)
		return
	}
	began := s.now()
	for _, id := range ids {
		select {
		case <-s.closing: // a run that is all that its process does ends soon
			if s.now().Sub(began) > keepWithin {
				return
			}
		default:
		}
		switch err := s.opt.Journal.Delete(ctx, id); {
		case err == nil:
			s.log.Info("a session past its time is deleted", "session", id)
		case errors.Is(err, journal.ErrOwned), errors.Is(err, journal.ErrNotFound):
		default:
			s.log.Error("delete a session past its time", "session", id, "error", err)
		}
	}
}

// trimFirings takes the oldest of what is recorded for replays away where it is
// more than the journal keeps. It stops soon when the service closes: the next
// process goes on.
func (s *Service) trimFirings() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // ends with this trim
		select {
		case <-s.closing:
			stop()
		case <-ctx.Done():
		}
	}()
	if err := s.opt.Journal.TrimFirings(ctx); err != nil && ctx.Err() == nil {
		s.log.Error("trim what is recorded for replays", "error", err)
	}
}
