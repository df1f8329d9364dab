package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

// SessionRow is a session as the journal has it.
type SessionRow struct {
	ID        string
	Title     string
	StartedAt time.Time
	Status    report.Status
	RunID     string // the newest run
	Turns     int
	Usage     loop.Usage
	Owner     Owner // who drives it
	// Parent is the call that the session was made for, zero for one that a
	// person began. Begin records it.
	Parent     Parent
	ForkedFrom string // the session that it was forked from, "" for none
}

// Owner says where a session is driven.
type Owner uint8

const (
	Nobody    Owner = iota // the process that drove it is gone, or the run is over
	Here                   // this process
	Elsewhere              // another process that lives
)

// ErrOwned says that another process that lives drives the session.
var ErrOwned = errors.New("the session is driven by another process")

// Session gives one session.
func (j *Journal) Session(ctx context.Context, id string) (SessionRow, error) {
	rows, err := j.sessions(ctx, `WHERE s.id = ?`, id)
	if err != nil {
		return SessionRow{}, err
	}
	if len(rows) == 0 {
		return SessionRow{}, ErrNotFound
	}
	return rows[0], nil
}

// SessionOf gives the session that a run belongs to.
func (j *Journal) SessionOf(ctx context.Context, runID string) (SessionRow, error) {
	rows, err := j.sessions(ctx, `WHERE s.id = (SELECT session_id FROM runs WHERE id = ?)`, runID)
	if err != nil {
		return SessionRow{}, err
	}
	if len(rows) == 0 {
		return SessionRow{}, ErrNotFound
	}
	return rows[0], nil
}

// Matching lists the ids of sessions, and of runs where those count too, that
// begin with prefix, sorted, at most limit. An id that is the prefix itself
// comes first.
func (j *Journal) Matching(ctx context.Context, prefix string, runs bool, limit int) ([]string, error) {
	var ids []string
	err := j.each(ctx, `SELECT id FROM sessions WHERE substr(id, 1, length(?1)) = ?1
		UNION ALL SELECT id FROM runs WHERE ?2 AND substr(id, 1, length(?1)) = ?1
		ORDER BY 1 LIMIT ?3`, []any{prefix, runs, limit}, func(rows *sql.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// Sessions lists sessions whose title or text contains query, newest first,
// those of sub-agents left out, at most limit, behind the one that cursor names ("" = from the newest). Text is
// what was prompted, what the model said, and what calls were about. Case
// counts only outside ASCII.
func (j *Journal) Sessions(ctx context.Context, limit int, cursor, query string) ([]SessionRow, error) {
	return j.sessions(ctx, `WHERE (?1 = '' OR instr(lower(s.title), lower(?1)) > 0 OR EXISTS (
			SELECT 1 FROM steps t, json_each(CAST(t.shown AS TEXT)) v WHERE t.session_id = s.id AND t.shown IS NOT NULL AND instr(lower(
				coalesce(v.value ->> '$.prompt', '') || char(10) || coalesce(v.value ->> '$.text', '') || char(10) ||
				coalesce(v.value ->> '$.title', '') || char(10) || coalesce(v.value ->> '$.error', '')), lower(?1)) > 0))
		AND s.id NOT IN (SELECT session_id FROM children)
		AND (?2 = '' OR (s.started_at, s.id) < (SELECT started_at, id FROM sessions WHERE id = ?2))
		ORDER BY s.started_at DESC, s.id DESC LIMIT ?3`, query, cursor, limit)
}

func (j *Journal) sessions(ctx context.Context, where string, args ...any) ([]SessionRow, error) {
	var found []SessionRow
	var owners []string
	err := j.each(ctx, `SELECT s.id, s.title, s.started_at, s.status, s.run_id, s.owner, s.parent,
		(SELECT usage FROM steps WHERE session_id = s.id AND usage IS NOT NULL ORDER BY id DESC LIMIT 1),
		(SELECT turn FROM steps WHERE session_id = s.id ORDER BY id DESC LIMIT 1)
		FROM sessions s `+where, args, func(rows *sql.Rows) error {
		var r SessionRow
		var started int64
		var owner string
		var usage sql.NullString
		var turns sql.NullInt64
		if err := rows.Scan(&r.ID, &r.Title, &started, &r.Status, &r.RunID, &owner, &r.ForkedFrom, &usage, &turns); err != nil {
			return err
		}
		r.StartedAt, r.Turns = time.UnixMilli(started).UTC(), int(turns.Int64)
		if usage.Valid {
			if err := json.Unmarshal([]byte(usage.String), &r.Usage); err != nil {
				return fmt.Errorf("usage of session %s: %w", r.ID, err)
			}
		}
		found, owners = append(found, r), append(owners, owner)
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

// Acquire makes this process the one that drives the session, or says
// ErrOwned. A session that is not in the journal yet is ErrNotFound.
func (j *Journal) Acquire(ctx context.Context, sessionID string) error {
	if err := j.showLife(); err != nil {
		return err
	}
	return j.change(ctx, func(tx *sql.Tx) error {
		var owner string
		err := tx.QueryRowContext(ctx, `SELECT owner FROM sessions WHERE id = ?`, sessionID).Scan(&owner)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return j.explain(err)
		}
		if j.ownerOf(owner) == Elsewhere {
			return ErrOwned
		}
		delete(j.heads, sessionID) // somebody else may have written to it
		_, err = tx.ExecContext(ctx, `UPDATE sessions SET owner = ? WHERE id = ?`, j.owner, sessionID)
		return err
	})
}

// Release lets others drive the session.
func (j *Journal) Release(ctx context.Context, sessionID string) error {
	return j.change(ctx, func(tx *sql.Tx) error {
		delete(j.heads, sessionID)
		_, err := tx.ExecContext(ctx, `UPDATE sessions SET owner = '' WHERE id = ? AND owner = ?`, sessionID, j.owner)
		return err
	})
}

// Signal leaves word for the process that drives the session.
func (j *Journal) Signal(ctx context.Context, sessionID, kind string, body []byte) error {
	return j.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO signals (session_id, kind, body) VALUES (?, ?, ?)`, sessionID, kind, body)
		return err
	})
}

// Signal is word from another process.
type Signal struct {
	Kind string
	Body []byte
}

// TakeSignals gives the words left for a session, once.
func (j *Journal) TakeSignals(ctx context.Context, sessionID string) ([]Signal, error) {
	var n int
	if err := j.one(ctx, `SELECT count(*) FROM signals WHERE session_id = ?`, []any{sessionID}, &n); err != nil || n == 0 {
		return nil, err
	}
	var taken []Signal
	err := j.change(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `DELETE FROM signals WHERE session_id = ? RETURNING kind, body`, sessionID)
		if err != nil {
			return j.explain(err)
		}
		defer rows.Close()
		for rows.Next() {
			var s Signal
			if err := rows.Scan(&s.Kind, &s.Body); err != nil {
				return j.explain(err)
			}
			taken = append(taken, s)
		}
		return rows.Err()
	})
	return taken, err
}
