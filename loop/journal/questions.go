package journal

import (
	"context"
	"database/sql"
	"encoding/json"
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
	return questionsTable.add(tx, q.ID, q.SessionID, q.RunID, q.CallID, body)
}

// AnswerQuestion settles an open question. The first answer wins, in whatever
// process it is given; any other one gets ErrSettled.
func (j *Journal) AnswerQuestion(ctx context.Context, id string, r report.Reply) error {
	return j.settle(ctx, questionsTable, id, storedReply{Reply: r, By: r.By}, "")
}

// Question gives one question, open or not.
func (j *Journal) Question(ctx context.Context, id string) (PendingQuestion, error) {
	return one(j.questions(ctx, `WHERE a.id = ?`, id))
}

// QuestionOf gives the newest question of a call that was not withdrawn.
func (j *Journal) QuestionOf(ctx context.Context, callID string) (PendingQuestion, error) {
	return one(j.questions(ctx, `WHERE a.call_id = ? AND a.state <> 'withdrawn' ORDER BY a.rowid DESC LIMIT 1`, callID))
}

// OpenQuestions gives every open question, oldest first.
func (j *Journal) OpenQuestions(ctx context.Context) ([]PendingQuestion, error) {
	return j.questions(ctx, `WHERE a.state = 'open' ORDER BY a.rowid`)
}

func (j *Journal) questions(ctx context.Context, where string, args ...any) ([]PendingQuestion, error) {
	rows, err := j.asked(ctx, questionsTable, where, args...)
	if err != nil {
		return nil, err
	}
	var found []PendingQuestion
	for _, r := range rows {
		p := PendingQuestion{State: r.state, Owner: r.owner}
		if err := json.Unmarshal(r.body, &p.Question); err != nil {
			return nil, fmt.Errorf("decode question: %w", err)
		}
		if len(r.answer) > 0 {
			var reply storedReply
			if err := json.Unmarshal(r.answer, &reply); err != nil {
				return nil, fmt.Errorf("decode the answer to %s: %w", p.ID, err)
			}
			reply.Reply.By = reply.By
			p.Reply = &reply.Reply
		}
		found = append(found, p)
	}
	return found, nil
}
