package bridge

import (
	"context"
	"time"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

// fakeAPI is a service that tests script; what a test does not set says that
// it knows no such thing.
type fakeAPI struct {
	run.API
	front run.Frontend
	root  string

	start    func(run.StartParams) (run.Started, error)
	cancel   func(runID, callID string) (bool, error)
	steer    func(runID, text string, followUp bool) (string, error)
	resume   func(string) (run.Resumed, error)
	events   func(string, int64, int) ([]report.Event, int64, error)
	pending  func() []report.Approval
	asked    []report.Question
	resolve  func(string, report.Answer) error
	decided  func(run.DecisionQuery) ([]hooks.Decision, string, error)
	rows     []run.HookStatus
	settled  chan run.Settled
	outdated func(runID string) []string
	set      func(session string, mode loop.Mode, model string) error
	fork     func(session string, at int64) (string, error)
	delete   func(session string) error
	undo     func(runID, callID string, dry bool) (run.Undone, error)
	trust    func(id, digest string, trusted bool) error
	closed   bool
	onClose  func()
}

func (a *fakeAPI) Start(_ context.Context, p run.StartParams) (run.Started, error) {
	if a.start == nil {
		return run.Started{RunID: "r1", SessionID: "s1"}, nil
	}
	return a.start(p)
}
func (a *fakeAPI) Cancel(_ context.Context, runID, callID string) (bool, error) {
	if a.cancel == nil {
		return false, run.ErrUnknownID
	}
	return a.cancel(runID, callID)
}
func (a *fakeAPI) Steer(_ context.Context, runID, text string, followUp bool) (string, error) {
	if a.steer == nil {
		return "", run.ErrUnknownID
	}
	return a.steer(runID, text, followUp)
}
func (a *fakeAPI) Resume(_ context.Context, id string) (run.Resumed, error) {
	if a.resume == nil {
		return run.Resumed{}, run.ErrUnknownID
	}
	return a.resume(id)
}
func (a *fakeAPI) Events(_ context.Context, id string, after int64, limit int) ([]report.Event, int64, error) {
	if a.events == nil {
		return nil, 0, run.ErrUnknownID
	}
	return a.events(id, after, limit)
}
func (a *fakeAPI) Pending(context.Context) ([]report.Approval, []report.Question, error) {
	if a.pending == nil {
		return nil, a.asked, nil
	}
	return a.pending(), a.asked, nil
}
func (a *fakeAPI) Resolve(_ context.Context, id string, answer report.Answer) error {
	if a.resolve == nil {
		return run.ErrUnknownID
	}
	return a.resolve(id, answer)
}
func (a *fakeAPI) Decisions(_ context.Context, q run.DecisionQuery) ([]hooks.Decision, string, error) {
	if a.decided == nil {
		return nil, "", nil
	}
	return a.decided(q)
}
func (a *fakeAPI) Hooks(context.Context) ([]run.HookStatus, error) { return a.rows, nil }
func (a *fakeAPI) SetHook(_ context.Context, id string, enabled bool) error {
	for i := range a.rows {
		if a.rows[i].ID == id {
			a.rows[i].Enabled = enabled
			return nil
		}
	}
	return run.ErrUnknownID
}
func (a *fakeAPI) Trust(_ context.Context, id, digest string, trusted bool) error {
	if a.trust == nil {
		return run.ErrUnknownID
	}
	return a.trust(id, digest, trusted)
}
func (a *fakeAPI) Undo(_ context.Context, runID, callID string, dry bool) (run.Undone, error) {
	if a.undo == nil {
		return run.Undone{}, run.ErrUnknownID
	}
	return a.undo(runID, callID, dry)
}
func (a *fakeAPI) Compact(context.Context, string) (run.Compacted, error) {
	return run.Compacted{}, run.ErrUnknownID
}
func (a *fakeAPI) Sessions(context.Context, int, string, string) ([]report.Session, string, error) {
	return []report.Session{{SessionID: "s1", Title: "a", StartedAt: time.Unix(0, 0), Status: report.Done}}, "", nil
}
func (a *fakeAPI) Settlement(ctx context.Context, _ string) (run.Settled, error) {
	select {
	case s := <-a.settled:
		return s, nil
	case <-ctx.Done():
		return run.Settled{}, ctx.Err()
	}
}
func (a *fakeAPI) Set(_ context.Context, id string, mode loop.Mode, model string) error {
	if a.set == nil {
		return run.ErrUnknownID
	}
	return a.set(id, mode, model)
}
func (a *fakeAPI) Fork(_ context.Context, id string, at int64) (string, error) {
	if a.fork == nil {
		return "", run.ErrUnknownID
	}
	return a.fork(id, at)
}
func (a *fakeAPI) Delete(_ context.Context, id string) error {
	if a.delete == nil {
		return run.ErrUnknownID
	}
	return a.delete(id)
}
func (a *fakeAPI) Outdated(_ context.Context, id string) ([]string, error) {
	if a.outdated == nil {
		return nil, nil
	}
	return a.outdated(id), nil
}
func (a *fakeAPI) Newest() string { return "" }
func (a *fakeAPI) Close() error {
	if a.closed = true; a.onClose != nil {
		a.onClose()
	}
	return nil
}
