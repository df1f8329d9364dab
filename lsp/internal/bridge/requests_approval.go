package bridge

import (
	"context"

	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

// This file serves agent/pending and agent/resolve: approvals beside the
// request that shows them.

func (b *bridge) pendingRequest(ctx context.Context, _ PendingParams) (PendingResult, error) {
	return b.pending(ctx)
}

// pending is what is open in all folders.
func (b *bridge) pending(ctx context.Context) (PendingResult, error) {
	out := PendingResult{Approvals: []Approval{}, Questions: []Question{}}
	err := b.eachPending(ctx, func(api run.API, approvals []report.Approval, questions []report.Question) {
		for _, a := range approvals {
			b.watchElsewhere(api, a)
			out.Approvals = append(out.Approvals, b.wire.approval(a))
		}
		for _, q := range questions {
			out.Questions = append(out.Questions, question(q))
		}
	})
	return out, err
}

func (b *bridge) openApprovals(ctx context.Context) ([]openApproval, error) {
	var out []openApproval
	err := b.eachPending(ctx, func(api run.API, approvals []report.Approval, _ []report.Question) {
		for _, a := range approvals {
			out = append(out, openApproval{a, api})
		}
	})
	return out, err
}

func (b *bridge) eachPending(ctx context.Context, fn func(run.API, []report.Approval, []report.Question)) error {
	folders, err := b.allFolders()
	if err != nil {
		return err
	}
	for _, f := range folders {
		api, err := f.service(ctx)
		if err != nil {
			return err
		}
		approvals, questions, err := api.Pending(ctx)
		if err != nil {
			return b.answer(err, "approval", "")
		}
		fn(api, approvals, questions)
	}
	return nil
}

// resolve answers an approval out of band: from a tree view, a second window,
// after a restart.
func (b *bridge) resolve(ctx context.Context, p ResolveParams) (OK, error) {
	if err := needID("id", p.ID); err != nil {
		return OK{}, err
	}
	if p.Outcome == "" && isNull(p.Answer) {
		return OK{}, invalid("an approval's outcome or a question's answer is missing")
	}
	open, err := b.openApprovals(ctx)
	if err != nil {
		return OK{}, err
	}
	for _, o := range open {
		if o.approval.ID != p.ID {
			continue
		}
		answer := validOutcome(ApprovalAnswer{p.Outcome, p.Feedback, p.Arguments, p.Hunks}, o.approval)
		err := b.settleOutOfBand(ctx, p.ID, b.approvals.shown(p.ID), o.api, answer)
		return OK{OK: err == nil}, b.answer(err, "approval", p.ID)
	}
	if found, err := b.resolveQuestion(ctx, p); found || err != nil {
		return OK{OK: err == nil}, err
	}
	// Not open: the services tell an old id from one that never was. The
	// answer that they are given is the one that allows nothing.
	err = b.find(ctx, nil, func(api run.API) error {
		return api.Resolve(ctx, p.ID, report.Answer{Outcome: report.DenyOnce, By: byHere})
	})
	return OK{OK: err == nil}, b.answer(err, "approval", p.ID)
}

// settleOutOfBand gives an answer to the service. s is the approval as this
// connection shows it, nil if it does not; its turn keeps the editor's own
// answer from being taken at the same moment.
func (b *bridge) settleOutOfBand(ctx context.Context, id string, s *showing, api run.API, answer report.Answer) error {
	if s != nil {
		select {
		case <-s.turn:
			defer func() { s.turn <- struct{}{} }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// The editor's answer may have been taken while this one waited.
	if outcome, _ := b.approvals.settled(id); outcome != "" {
		return run.ErrAlreadyResolved
	}
	if err := api.Resolve(ctx, id, answer); err != nil {
		return err
	}
	b.resolved(id, ending{answer.Outcome, byHere})
	return nil
}
