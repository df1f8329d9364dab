package journal

import (
	"context"
	"encoding/json"
	"fmt"

	"agent-ls/loop/report"
)

// Pending is an approval as the journal has it.
type Pending struct {
	report.Approval
	State  string // "open", "answered", "withdrawn"
	Answer *report.Answer
	Owner  Owner // who drives its session
}

// storedApproval carries the paths that the shapes do not put on the wire.
type storedApproval struct {
	report.Approval
	Paths []string `json:"paths,omitempty"`
}

type storedAnswer struct {
	report.Answer
	By string `json:"by"`
}

func encodeApproval(a *report.Approval) ([]byte, error) {
	stored := storedApproval{Approval: *a}
	for _, e := range a.Edits {
		stored.Paths = append(stored.Paths, e.Path)
	}
	body, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("journal: encode approval %s: %w", a.ID, err)
	}
	return body, nil
}

// Answer settles an open approval. The first answer wins, in whatever process
// it is given; any other one gets ErrSettled.
func (j *Journal) Answer(ctx context.Context, id string, a report.Answer) error {
	return j.settle(ctx, approvalsTable, id, storedAnswer{Answer: a, By: a.By}, `, by = ?`, a.By)
}

// Approval gives one approval, open or not.
func (j *Journal) Approval(ctx context.Context, id string) (Pending, error) {
	return one(j.approvals(ctx, `WHERE a.id = ?`, id))
}

// OpenApprovals gives every open approval, oldest first.
func (j *Journal) OpenApprovals(ctx context.Context) ([]Pending, error) {
	return j.approvals(ctx, `WHERE a.state = 'open' ORDER BY a.rowid`)
}

func (j *Journal) approvals(ctx context.Context, where string, args ...any) ([]Pending, error) {
	rows, err := j.asked(ctx, approvalsTable, where, args...)
	if err != nil {
		return nil, err
	}
	var found []Pending
	for _, r := range rows {
		p := Pending{State: r.state, Owner: r.owner}
		var stored storedApproval
		if err := json.Unmarshal(r.body, &stored); err != nil {
			return nil, fmt.Errorf("decode approval: %w", err)
		}
		p.Approval = stored.Approval
		for i := range p.Edits {
			if i < len(stored.Paths) {
				p.Edits[i].Path = stored.Paths[i]
			}
		}
		if len(r.answer) > 0 {
			var a storedAnswer
			if err := json.Unmarshal(r.answer, &a); err != nil {
				return nil, fmt.Errorf("decode the answer to %s: %w", p.ID, err)
			}
			a.Answer.By = a.By
			p.Answer = &a.Answer
		}
		found = append(found, p)
	}
	return found, nil
}
