package bridge

import (
	"context"
	"errors"
	"slices"

	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

// This file serves the requests about a session as a whole: set, fork and
// deleteSession.

// SetParams are those of agent/set.
type SetParams struct {
	SessionID string    `json:"sessionId"`
	Mode      loop.Mode `json:"mode,omitempty" enum:"ask,plan,auto"`
	Model     string    `json:"model,omitempty" doc:"a name under [models]"`
}

// ForkParams are those of agent/fork.
type ForkParams struct {
	SessionID string `json:"sessionId"`
	AtSeq     int64  `json:"atSeq,omitempty" doc:"the newest event that the fork has; without it, all of them"`
}

// ForkResult is that of agent/fork.
type ForkResult struct {
	SessionID string `json:"sessionId"`
}

// DeleteSessionParams are those of agent/deleteSession.
type DeleteSessionParams struct {
	SessionID string `json:"sessionId"`
}

func (b *bridge) setSession(ctx context.Context, p SetParams) (OK, error) {
	if err := needID("sessionId", p.SessionID); err != nil {
		return OK{}, err
	}
	if p.Mode == "" && p.Model == "" {
		return OK{}, invalid("there is nothing to set: mode and model are missing")
	}
	if p.Mode != "" && !slices.Contains([]loop.Mode{loop.ModeAsk, loop.ModePlan, loop.ModeAuto}, p.Mode) {
		return OK{}, invalid("unknown mode %q; there are ask, plan and auto", p.Mode)
	}
	err := b.find(ctx, b.runs.folderOfSession(p.SessionID), func(api run.API) error {
		return api.Set(ctx, p.SessionID, p.Mode, p.Model)
	})
	if errors.Is(err, run.ErrUnknownModel) {
		return OK{}, b.answer(err, "model", p.Model)
	}
	return OK{err == nil}, b.answer(err, "session", p.SessionID)
}

func (b *bridge) forkSession(ctx context.Context, p ForkParams) (ForkResult, error) {
	if err := needID("sessionId", p.SessionID); err != nil {
		return ForkResult{}, err
	}
	if p.AtSeq < 0 {
		return ForkResult{}, invalid("atSeq is negative")
	}
	var out ForkResult
	err := b.find(ctx, b.runs.folderOfSession(p.SessionID), func(api run.API) (err error) {
		out.SessionID, err = api.Fork(ctx, p.SessionID, p.AtSeq)
		return err
	})
	return out, b.answer(err, "session", p.SessionID)
}

func (b *bridge) deleteSession(ctx context.Context, p DeleteSessionParams) (OK, error) {
	if err := needID("sessionId", p.SessionID); err != nil {
		return OK{}, err
	}
	err := b.find(ctx, b.runs.folderOfSession(p.SessionID), func(api run.API) error {
		return api.Delete(ctx, p.SessionID)
	})
	return OK{err == nil}, b.answer(err, "session", p.SessionID)
}

// watchElsewhere tells this editor how an approval ends that another window's
// server shows: this one lists it too, and has to take it down.
func (b *bridge) watchElsewhere(api run.API, a report.Approval) {
	if !a.Elsewhere || !b.approvals.watch(a.ID) {
		return
	}
	b.background(func(ctx context.Context) {
		defer b.approvals.unwatch(a.ID)
		settled, err := api.Settlement(ctx, a.ID)
		if err != nil {
			if ctx.Err() == nil {
				b.log.Warn("looking for the end of an approval elsewhere", "approval", a.ID, "err", err)
			}
			return
		}
		b.resolved(a.ID, endingFrom(settled.Outcome, settled.By))
	})
}

// watch reports whether nobody watches for the end of an approval yet, and
// notes that somebody does now.
func (a *approvals) watch(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watched[id] || a.open[id] != nil {
		return false
	}
	if a.watched == nil {
		a.watched = map[string]bool{}
	}
	a.watched[id] = true
	return true
}

func (a *approvals) unwatch(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.watched, id)
}
