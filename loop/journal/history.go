package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"agent-ls/hooks"
	"agent-ls/loop"
)

// Past is one step of a session as it was written, with the hook decisions
// that were written with it.
type Past struct {
	Step      int64
	Seq       int64 // of the newest event shown by then
	Turn      int
	Event     loop.Event
	Decisions []hooks.Decision
}

// History passes every step of a session to each, oldest first.
func (j *Journal) History(ctx context.Context, sessionID string, each func(Past) error) error {
	beside := map[int64][]hooks.Decision{}
	err := j.each(ctx, `SELECT step, body FROM decisions WHERE run_id IN (SELECT id FROM runs WHERE session_id = ?) ORDER BY n`, []any{sessionID}, func(rows *sql.Rows) error {
		var step int64
		var body []byte
		var d hooks.Decision
		if err := rows.Scan(&step, &body); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &d); err != nil {
			return fmt.Errorf("decode a decision of step %d: %w", step, err)
		}
		beside[step] = append(beside[step], d)
		return nil
	})
	if err != nil {
		return err
	}
	return j.each(ctx, `SELECT id, last_seq, turn, event FROM steps WHERE session_id = ? ORDER BY id`, []any{sessionID}, func(rows *sql.Rows) error {
		var p Past
		var event []byte
		if err := rows.Scan(&p.Step, &p.Seq, &p.Turn, &event); err != nil {
			return err
		}
		if err := json.Unmarshal(event, &p.Event); err != nil {
			return fmt.Errorf("step %d is malformed: %w", p.Step, err)
		}
		p.Decisions = beside[p.Step]
		return each(p)
	})
}
