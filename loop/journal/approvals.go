package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"agent-ls/loop/report"
)

// ErrSettled says that an approval was answered or withdrawn before.
var ErrSettled = errors.New("the approval is settled")

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

func addApproval(tx *sql.Tx, a *report.Approval, body []byte) error {
	_, err := tx.Exec(`INSERT INTO approvals (id, session_id, run_id, call_id, body, state) VALUES (?, ?, ?, ?, ?, 'open')`,
		a.ID, a.SessionID, a.RunID, a.CallID, body)
	if err != nil {
		return fmt.Errorf("journal: approval %s: %w", a.ID, err)
	}
	return nil
}

// Answer settles an open approval. The first answer wins, in whatever process
// it is given; any other one gets ErrSettled.
func (j *Journal) Answer(ctx context.Context, id string, a report.Answer) error {
	body, err := json.Marshal(storedAnswer{Answer: a, By: a.By})
	if err != nil {
		return fmt.Errorf("journal: encode the answer to %s: %w", id, err)
	}
	return j.change(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE approvals SET state = 'answered', answer = ?, by = ? WHERE id = ? AND state = 'open'`, body, a.By, id)
		if err != nil {
			return j.explain(err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 1 {
			return err
		}
		var state string
		err = tx.QueryRowContext(ctx, `SELECT state FROM approvals WHERE id = ?`, id).Scan(&state)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return j.explain(err)
		}
		return ErrSettled
	})
}

// Approval gives one approval, open or not.
func (j *Journal) Approval(ctx context.Context, id string) (Pending, error) {
	found, err := j.approvals(ctx, `WHERE a.id = ?`, id)
	if err != nil {
		return Pending{}, err
	}
	if len(found) == 0 {
		return Pending{}, ErrNotFound
	}
	return found[0], nil
}

// OpenApprovals gives every open approval, oldest first.
func (j *Journal) OpenApprovals(ctx context.Context) ([]Pending, error) {
	return j.approvals(ctx, `WHERE a.state = 'open' ORDER BY a.rowid`)
}

func (j *Journal) approvals(ctx context.Context, where string, args ...any) ([]Pending, error) {
	var found []Pending
	var owners []string
	err := j.each(ctx, `SELECT a.body, a.state, a.answer, s.owner FROM approvals a JOIN sessions s ON s.id = a.session_id `+where, args, func(rows *sql.Rows) error {
		var body, answer []byte
		var p Pending
		var owner string
		if err := rows.Scan(&body, &p.State, &answer, &owner); err != nil {
			return err
		}
		var stored storedApproval
		if err := json.Unmarshal(body, &stored); err != nil {
			return fmt.Errorf("decode approval: %w", err)
		}
		p.Approval = stored.Approval
		for i := range p.Edits {
			if i < len(stored.Paths) {
				p.Edits[i].Path = stored.Paths[i]
			}
		}
		if len(answer) > 0 {
			var a storedAnswer
			if err := json.Unmarshal(answer, &a); err != nil {
				return fmt.Errorf("decode the answer to %s: %w", p.ID, err)
			}
			a.Answer.By = a.By
			p.Answer = &a.Answer
		}
		found, owners = append(found, p), append(owners, owner)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Owner = j.ownerOf(owners[i])
	}
	return found, nil
}
