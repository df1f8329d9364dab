package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/journal"
)

// The words that one process leaves for another.
const (
	signalCancel = "cancel"
	signalSteer  = "steer"
	signalSet    = "set"
)

// said is the body of a signal.
type said struct {
	RunID    string `json:"runId"`
	CallID   string `json:"callId,omitempty"`
	ID       string `json:"id,omitempty"`
	Text     string `json:"text,omitempty"`
	FollowUp bool   `json:"followUp,omitempty"`

	Mode  loop.Mode `json:"mode,omitempty"`
	Model string    `json:"model,omitempty"`
}

// Cancel ends a run, or one call of it. It returns before everything has
// stopped; Wait waits. Cancelling again is no error. False means that there
// was nothing to cancel: the run is over, or has no such call at work.
func (s *Service) Cancel(ctx context.Context, runID, callID string) (bool, error) {
	if r := s.run(runID); r != nil {
		return r.cancel(callID), nil
	}
	row, err := s.opt.Journal.SessionOf(ctx, runID)
	if errors.Is(err, journal.ErrNotFound) {
		return false, fmt.Errorf("run %s: %w", runID, ErrUnknownID)
	}
	if err != nil {
		return false, err
	}
	if row.RunID != runID || over(row) {
		return false, nil
	}
	if row.Owner == journal.Elsewhere {
		return true, s.signal(ctx, row.ID, signalCancel, said{RunID: runID, CallID: callID})
	}
	return s.cancelFormer(ctx, row)
}

// cancelFormer ends a run that a process left behind.
func (s *Service) cancelFormer(ctx context.Context, row journal.SessionRow) (bool, error) {
	release, err := s.claim(row.ID)
	if errors.Is(err, ErrSessionBusy) {
		return s.Cancel(ctx, row.RunID, "") // it was resumed meanwhile
	}
	if err != nil {
		return false, err
	}
	defer release()
	f, err := s.former(ctx, row.ID)
	if err != nil || !f.state.Active() {
		return false, err
	}
	return true, s.endFormer(ctx, &f)
}

// patience is how long what a run started may take to stop. A sub-agent's has
// less than its parent's, so that it is over first.
func (r *activeRun) patience() time.Duration {
	return max(endWithin-time.Duration(r.state.Depth)*endWithin/8, endWithin/4)
}

func (r *activeRun) cancel(callID string) bool {
	select {
	case <-r.done:
		return false
	default:
	}
	if callID == "" {
		r.post(posted{event: loop.Event{Kind: loop.CancelWanted}})
		return true
	}
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	stop := r.calls[callID]
	if stop != nil {
		stop(errCallStopped)
	}
	return stop != nil
}

// Steer says something to a run: between its calls, or (followUp) when it
// would otherwise end. The id names what was said.
func (s *Service) Steer(ctx context.Context, runID, text string, followUp bool) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("there is nothing to say in an empty text")
	}
	id := newID("say")
	if r := s.run(runID); r != nil {
		state, ok := r.tell(posted{event: loop.Event{Kind: loop.Steered, ID: id, Text: &text, FollowUp: followUp}})
		if !ok || !state.Active() {
			return "", fmt.Errorf("run %s is over: %w", runID, ErrUnknownID)
		}
		return id, nil
	}
	row, err := s.opt.Journal.SessionOf(ctx, runID)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return "", fmt.Errorf("run %s: %w", runID, ErrUnknownID)
	case err != nil:
		return "", err
	case row.RunID != runID || over(row) || row.Owner != journal.Elsewhere:
		return "", fmt.Errorf("run %s is not under way: %w", runID, ErrUnknownID)
	}
	return id, s.signal(ctx, row.ID, signalSteer, said{RunID: runID, ID: id, Text: text, FollowUp: followUp})
}

func (s *Service) signal(ctx context.Context, session, kind string, what said) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return s.opt.Journal.Signal(ctx, session, kind, body)
}

// takeSignals does what another process asked for.
func (r *activeRun) takeSignals(ctx context.Context) {
	signals, err := r.svc.opt.Journal.TakeSignals(ctx, r.session)
	if err != nil {
		r.svc.log.Error("look for signals", "session", r.session, "error", err)
		return
	}
	for _, sig := range signals {
		var what said
		if err := json.Unmarshal(sig.Body, &what); err != nil || what.RunID != r.id {
			r.svc.log.Warn("a signal that is not for the session's run", "session", r.session, "kind", sig.Kind)
			continue
		}
		switch sig.Kind {
		case signalCancel:
			r.cancel(what.CallID)
		case signalSet:
			r.post(posted{event: loop.Event{Kind: loop.Set, Mode: what.Mode, Model: what.Model}})
		case signalSteer:
			r.post(posted{event: loop.Event{Kind: loop.Steered, ID: what.ID, Text: &what.Text, FollowUp: what.FollowUp}})
		}
	}
}
