package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

// copyBatch is how many steps a copy writes at once, so that others get a turn.
const copyBatch = 500

// Copy writes the steps of one session, up to the one that showed the event
// atSeq (0 = all of them), into another, each as change leaves it, with
// a chain of their own. It returns how many there were. The copy is no session
// before Create makes it one.
func (j *Journal) Copy(ctx context.Context, from, to string, atSeq int64, change func(*loop.Event, []report.Event)) (int, error) {
	var batch []encoded
	copied := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		now := head{}
		err := j.change(ctx, func(tx *sql.Tx) error {
			var err error
			if now, err = j.headOf(tx, to); err != nil {
				return err
			}
			insert := tx.Stmt(j.append)
			for i := range batch {
				if now, err = batch[i].insert(insert, now); err != nil {
					return j.explain(err)
				}
			}
			return nil
		}, func() { j.heads[to] = now })
		copied += len(batch)
		batch = batch[:0]
		return err
	}
	err := j.each(ctx, `SELECT id, last_seq, turn, event, shown, usage FROM steps WHERE session_id = ?1
		AND (?2 = 0 OR id <= coalesce((SELECT min(id) FROM steps WHERE session_id = ?1 AND last_seq >= ?2), id)) ORDER BY id`,
		[]any{from, atSeq}, func(rows *sql.Rows) error {
			row, err := copied1(rows, to, change)
			if err != nil {
				return err
			}
			if batch = append(batch, row); len(batch) == copyBatch {
				return flush()
			}
			return nil
		})
	if err == nil {
		err = flush()
	}
	return copied, err
}

func copied1(rows *sql.Rows, to string, change func(*loop.Event, []report.Event)) (encoded, error) {
	var id, seq, turn int64
	var event, shown []byte
	var usage sql.NullString
	if err := rows.Scan(&id, &seq, &turn, &event, &shown, &usage); err != nil {
		return encoded{}, err
	}
	var e loop.Event
	if err := json.Unmarshal(event, &e); err != nil {
		return encoded{}, fmt.Errorf("step %d is malformed: %w", id, err)
	}
	var events []report.Event
	if len(shown) > 0 {
		var err error
		if events, err = decodeShown(shown); err != nil {
			return encoded{}, fmt.Errorf("step %d: %w", id, err)
		}
	}
	change(&e, events)
	s := Step{SessionID: to, Turn: int(turn), LastSeq: seq, Event: e, Shown: events}
	row, err := s.encode()
	if usage.Valid {
		row.columns[5] = usage.String
	}
	return row, err
}

// Create makes copied steps a session that was forked from another, with runs
// that keep what those that they are copies of pinned: new id to old id.
func (j *Journal) Create(ctx context.Context, s SessionRow, runs map[string]string) error {
	return j.change(ctx, func(tx *sql.Tx) error {
		h, err := j.headOf(tx, s.ID)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO sessions (id, title, started_at, changed_at, status, run_id, parent, head, head_step) VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8)`,
			s.ID, s.Title, s.StartedAt.UnixMilli(), string(s.Status), s.RunID, s.ForkedFrom, h.link, h.step)
		if err != nil {
			return j.explain(err)
		}
		for id, was := range runs {
			if _, err := tx.ExecContext(ctx, `INSERT INTO runs (id, session_id, pin) SELECT ?, ?, pin FROM runs WHERE id = ?`, id, s.ID, was); err != nil {
				return j.explain(err)
			}
		}
		return nil
	}, func() { delete(j.heads, s.ID) })
}

// Delete takes a session away with everything that was recorded of it and of
// its sub-agents. The bytes are overwritten in the database. A session that a living process
// drives is ErrOwned.
func (j *Journal) Delete(ctx context.Context, sessionID string) error {
	family, err := j.family(ctx, sessionID)
	if err != nil {
		return err
	}
	err = j.change(ctx, func(tx *sql.Tx) error {
		var owner string
		err := tx.QueryRowContext(ctx, `SELECT owner FROM sessions WHERE id = ?`, sessionID).Scan(&owner)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return j.explain(err)
		}
		if j.ownerOf(owner) != Nobody {
			return ErrOwned
		}
		for _, id := range family {
			if err := j.deleteRows(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	}, func() {
		for _, id := range family {
			delete(j.heads, id)
			delete(j.firings, id)
		}
	})
	if err != nil {
		return err
	}
	// What was overwritten is in the log of writes until that is emptied; if
	// others read meanwhile, the next commit sees to it.
	j.writerMu.Lock()
	defer j.writerMu.Unlock()
	if j.conn != nil {
		_, _ = j.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return nil
}

// family is a session with those of its sub-agents, theirs included.
func (j *Journal) family(ctx context.Context, sessionID string) ([]string, error) {
	ids := []string{}
	err := j.each(ctx, `WITH RECURSIVE family (id) AS (SELECT ?1 UNION SELECT c.session_id FROM children c JOIN family f ON c.parent_session = f.id) SELECT id FROM family`,
		[]any{sessionID}, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
	return ids, err
}

func (j *Journal) deleteRows(ctx context.Context, tx *sql.Tx, sessionID string) error {
	const runs = `run_id IN (SELECT id FROM runs WHERE session_id = ?)`
	for _, text := range []string{
		`DELETE FROM signals WHERE session_id = ?`,
		`DELETE FROM approvals WHERE session_id = ?`,
		`DELETE FROM questions WHERE session_id = ?`,
		`DELETE FROM children WHERE session_id = ?`,
		`DELETE FROM firings WHERE session_id = ?`,
		`DELETE FROM decisions WHERE ` + runs,
		`DELETE FROM edits WHERE ` + runs,
		`DELETE FROM steps WHERE session_id = ?`,
		`DELETE FROM runs WHERE session_id = ?`,
		`DELETE FROM sessions WHERE id = ?`,
	} {
		if _, err := tx.ExecContext(ctx, text, sessionID); err != nil {
			return j.explain(err)
		}
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM pins WHERE digest NOT IN (SELECT pin FROM runs)`); err != nil {
		return j.explain(err)
	}
	return nil
}

// Stale lists sessions that nothing has happened in since a moment, Unix
// milliseconds, oldest first, at most limit.
func (j *Journal) Stale(ctx context.Context, before int64, limit int) ([]string, error) {
	var ids []string
	err := j.each(ctx, `SELECT id FROM sessions WHERE max(changed_at, started_at) < ? AND id NOT IN (SELECT session_id FROM children) ORDER BY changed_at LIMIT ?`, []any{before, limit}, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}
