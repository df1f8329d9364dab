package journal

import (
	"context"
	"database/sql"
	"fmt"
)

// Edits gives what a run changed, or one call of it, oldest first, without
// what was undone.
func (j *Journal) Edits(ctx context.Context, runID, callID string) ([]Edit, error) {
	var found []Edit
	err := j.each(ctx, `SELECT n, run_id, call_id, path, before, after, created, state, gone, mode FROM edits
		WHERE run_id = ?1 AND (?2 = '' OR call_id = ?2) AND state <> 'undone' ORDER BY n`, []any{runID, callID}, func(rows *sql.Rows) error {
		var e Edit
		var state string
		if err := rows.Scan(&e.N, &e.RunID, &e.CallID, &e.Path, &e.Before, &e.After, &e.Created, &state, &e.Gone, &e.Mode); err != nil {
			return err
		}
		e.Planned = state == "planned"
		found = append(found, e)
		return nil
	})
	return found, err
}

// AddEdit records a change that came after its call was over. It is no part of
// the chain.
func (j *Journal) AddEdit(ctx context.Context, e Edit) error {
	return j.change(ctx, func(tx *sql.Tx) error { return addEdit(tx, e, "done", 0) })
}

// Undone marks edits as put back.
func (j *Journal) Undone(ctx context.Context, edits []Edit) error {
	return j.change(ctx, func(tx *sql.Tx) error {
		for _, e := range edits {
			if _, err := tx.ExecContext(ctx, `UPDATE edits SET state = 'undone' WHERE n = ?`, e.N); err != nil {
				return fmt.Errorf("journal: edit of %s: %w", e.Path, err)
			}
		}
		return nil
	})
}
