package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrSettled says that an approval or a question was answered or withdrawn
// before.
var ErrSettled = errors.New("it is settled")

// askedTable is where one kind of what is put to a person is kept.
type askedTable string

const (
	approvalsTable askedTable = "approvals"
	questionsTable askedTable = "questions"
)

// askedRow is an approval or a question as it is stored.
type askedRow struct {
	body, answer []byte
	state        string // "open", "answered", "withdrawn"
	owner        Owner  // who drives its session
}

// add opens one.
func (t askedTable) add(tx *sql.Tx, id, session, run, call string, body []byte) error {
	_, err := tx.Exec(`INSERT INTO `+string(t)+` (id, session_id, run_id, call_id, body, state) VALUES (?, ?, ?, ?, ?, 'open')`, id, session, run, call, body)
	if err != nil {
		return fmt.Errorf("journal: %s: %s: %w", t, id, err)
	}
	return nil
}

// settle records the answer to an open one, with the columns that it sets. The
// first answer wins, in whatever process it is given; any other one gets
// ErrSettled.
func (j *Journal) settle(ctx context.Context, t askedTable, id string, answer any, set string, values ...any) error {
	body, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("journal: encode the answer to %s: %w", id, err)
	}
	return j.change(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE `+string(t)+` SET state = 'answered', answer = ?`+set+` WHERE id = ? AND state = 'open'`, append(append([]any{body}, values...), id)...)
		if err != nil {
			return j.explain(err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 1 {
			return err
		}
		var state string
		err = tx.QueryRowContext(ctx, `SELECT state FROM `+string(t)+` WHERE id = ?`, id).Scan(&state)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return j.explain(err)
		}
		return ErrSettled
	})
}

// asked gives the rows that a condition on a selects.
func (j *Journal) asked(ctx context.Context, t askedTable, where string, args ...any) ([]askedRow, error) {
	var found []askedRow
	var owners []string
	err := j.each(ctx, `SELECT a.body, a.state, a.answer, s.owner FROM `+string(t)+` a JOIN sessions s ON s.id = a.session_id `+where, args, func(rows *sql.Rows) error {
		var r askedRow
		var owner string
		if err := rows.Scan(&r.body, &r.state, &r.answer, &owner); err != nil {
			return err
		}
		found, owners = append(found, r), append(owners, owner)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].owner = j.ownerOf(owners[i])
	}
	return found, nil
}

// one gives the only row that was found.
func one[T any](found []T, err error) (T, error) {
	var none T
	if err != nil {
		return none, err
	}
	if len(found) == 0 {
		return none, ErrNotFound
	}
	return found[0], nil
}
