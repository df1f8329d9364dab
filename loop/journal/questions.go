package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"agent-ls/loop/report"
)

// PendingQuestion is a question as the journal has it.
type PendingQuestion struct {
	report.Question
	State string // "open", "answered", "withdrawn"
	Reply *report.Reply
	Owner Owner // who drives its session
}

type storedReply struct {
	report.Reply
	By string `json:"by"`
}

func addQuestion(tx *sql.Tx, q *report.Question) error {
	body, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("journal: encode question %s: %w", q.ID, err)
	}
	_, err = tx.Exec(`INSERT INTO questions (id, session_id, run_id, call_id, body, state) VALUES (?, ?, ?, ?, ?, 'open')`,
		q.ID, q.SessionID, q.RunID, q.CallID, body)
	if err != nil {
		return fmt.Errorf("journal: question %s: %w", q.ID, err)
	}
	return nil
}

// AnswerQuestion settles an open question. The first answer wins, in whatever
// process it is given; any other one gets ErrSettled.
func (j *Journal) AnswerQuestion(ctx context.Context, id string, r report.Reply) error {
	body, err := json.Marshal(storedReply{Reply: r, By: r.By})
	if err != nil {
		return fmt.Errorf("journal: encode the answer to %s: %w", id, err)
	}
	return j.change(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE questions SET state = 'answered', answer = ? WHERE id = ? AND state = 'open'`, body, id)
		if err != nil {
			return j.explain(err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 1 {
			return err
		}
		var state string
		err = tx.QueryRowContext(ctx, `SELECT state FROM questions WHERE id = ?`, id).Scan(&state)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return j.explain(err)
		}
		return ErrSettled
	})
}

// Question gives one question, open or not.
func (j *Journal) Question(ctx context.Context, id string) (PendingQuestion, error) {
	return j.question(ctx, `WHERE q.id = ?`, id)
}

// QuestionOf gives the newest question of a call that was not withdrawn.
func (j *Journal) QuestionOf(ctx context.Context, callID string) (PendingQuestion, error) {
	return j.question(ctx, `WHERE q.call_id = ? AND q.state <> 'withdrawn' ORDER BY q.rowid DESC LIMIT 1`, callID)
}

func (j *Journal) question(ctx context.Context, where string, args ...any) (PendingQuestion, error) {
	found, err := j.questions(ctx, where, args...)
	if err != nil {
		return PendingQuestion{}, err
	}
	if len(found) == 0 {
		return PendingQuestion{}, ErrNotFound
	}
	return found[0], nil
}

// OpenQuestions gives every open question, oldest first.
func (j *Journal) OpenQuestions(ctx context.Context) ([]PendingQuestion, error) {
	return j.questions(ctx, `WHERE q.state = 'open' ORDER BY q.rowid`)
}

func (j *Journal) questions(ctx context.Context, where string, args ...any) ([]PendingQuestion, error) {
	var found []PendingQuestion
	var owners []string
	err := j.each(ctx, `SELECT q.body, q.state, q.answer, s.owner FROM questions q JOIN sessions s ON s.id = q.session_id `+where, args, func(rows *sql.Rows) error {
		var body, answer []byte
		var p PendingQuestion
		var owner string
		if err := rows.Scan(&body, &p.State, &answer, &owner); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &p.Question); err != nil {
			return fmt.Errorf("decode question: %w", err)
		}
		if len(answer) > 0 {
			var r storedReply
			if err := json.Unmarshal(answer, &r); err != nil {
				return fmt.Errorf("decode the answer to %s: %w", p.ID, err)
			}
			r.Reply.By = r.By
			p.Reply = &r.Reply
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
