package journal

import (
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"agent-ls/hooks"
	"agent-ls/hooks/worker/wire"
)

// firingsSchema came after the second layout. It adds a table only, so that a
// journal of either age is read by a program of either age. A firing is what a
// replay of a script's decision needs beside the decision.
const firingsSchema = `
CREATE TABLE IF NOT EXISTS firings (
	n          INTEGER PRIMARY KEY,       -- the decision's
	session_id TEXT NOT NULL,
	script     TEXT NOT NULL,             -- path, as the hook was declared
	event      TEXT NOT NULL,
	size       INTEGER NOT NULL,          -- of body, bytes
	body       BLOB NOT NULL              -- hooks.Record, see packRecord
);
CREATE INDEX IF NOT EXISTS firings_script ON firings (script, event, n);
CREATE INDEX IF NOT EXISTS firings_session ON firings (session_id, n, size);
`

// The bounds of what is kept of firings, in bytes as they are stored. At a
// bound the oldest ones go, down to three quarters of it; the decisions stay.
const (
	maxSessionFirings = 64 << 20
	maxFirings        = 512 << 20
)

// A record is stored as a byte that says how, then the record.
const (
	storedPlain    = 0
	storedDeflated = 1
	// deflateFrom is the size from which on deflating is worth its time: a ctx
	// with the text of a conversation shrinks to a third or less.
	deflateFrom = 4 << 10
)

var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // the level is a valid one
	return w
}}

func packRecord(r *hooks.Record) ([]byte, error) {
	b, err := r.AppendBinary([]byte{storedPlain})
	if err != nil || len(b) < deflateFrom {
		return b, err
	}
	var out bytes.Buffer
	out.WriteByte(storedDeflated)
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&out)
	if _, err := w.Write(b[1:]); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if out.Len() >= len(b) {
		return b, nil
	}
	return out.Bytes(), nil
}

func unpackRecord(b []byte) (*hooks.Record, error) {
	if len(b) == 0 {
		return nil, errors.New("it is empty")
	}
	switch b[0] {
	case storedPlain:
		return hooks.ReadRecord(b[1:])
	case storedDeflated:
		in := flate.NewReader(bytes.NewReader(b[1:]))
		text, err := io.ReadAll(io.LimitReader(in, wire.MaxFrame))
		if err != nil {
			return nil, fmt.Errorf("inflate it: %w", err)
		}
		return hooks.ReadRecord(text)
	}
	return nil, fmt.Errorf("it is stored in a way (%d) that this program does not know", b[0])
}

// addFiring writes what a replay needs of a decision.
func (j *Journal) addFiring(tx *sql.Tx, sessionID string, d *hooks.Decision, n int64, body []byte) error {
	if _, err := tx.Exec(`INSERT INTO firings (n, session_id, script, event, size, body) VALUES (?, ?, ?, ?, ?, ?)`,
		n, sessionID, d.Record.Script, d.Event, len(body), body); err != nil {
		return fmt.Errorf("journal: firing of %s: %w", d.ID, err)
	}
	size, known := j.firings[sessionID]
	if known {
		size += int64(len(body))
	} else if err := tx.QueryRow(`SELECT coalesce(sum(size), 0) FROM firings WHERE session_id = ?`, sessionID).Scan(&size); err != nil {
		return j.explain(err)
	}
	if size > maxSessionFirings {
		gone, err := dropFirings(tx, `session_id = ?`, sessionID, size-maxSessionFirings/4*3)
		if err != nil {
			return j.explain(err)
		}
		size -= gone
	}
	if len(j.firings) > maxCounted {
		clear(j.firings) // each is counted again when it is needed
	}
	j.firings[sessionID] = size
	return nil
}

// maxCounted is how many sessions' firings are kept count of.
const maxCounted = 1024

// trimAtOnce bounds what one transaction of a trim takes away, in bytes, so
// that others get a turn.
const trimAtOnce = 8 << 20

// TrimFirings keeps what all sessions together left of firings within bounds:
// the oldest ones go. It takes a while, and is for the background.
func (j *Journal) TrimFirings(ctx context.Context) error { return j.trimFirings(ctx, maxFirings) }

func (j *Journal) trimFirings(ctx context.Context, limit int64) error {
	for over := true; over && ctx.Err() == nil; {
		err := j.change(ctx, func(tx *sql.Tx) error {
			var all int64
			if err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(size), 0) FROM firings`).Scan(&all); err != nil {
				return j.explain(err)
			}
			if over = all > limit; !over {
				return nil
			}
			clear(j.firings)
			if _, err := dropFirings(tx, `? = ''`, "", min(all-limit/4*3, trimAtOnce)); err != nil {
				return j.explain(err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// dropFirings takes the oldest firings away until that many bytes are gone.
func dropFirings(tx *sql.Tx, where, arg string, bytes int64) (gone int64, err error) {
	rows, err := tx.Query(`SELECT n, size FROM firings WHERE `+where+` ORDER BY n`, arg)
	if err != nil {
		return 0, err
	}
	last := int64(-1)
	for gone < bytes && rows.Next() {
		var size int64
		if err := rows.Scan(&last, &size); err != nil {
			return 0, errors.Join(err, rows.Close())
		}
		gone += size
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || last < 0 {
		return 0, err
	}
	_, err = tx.Exec(`DELETE FROM firings WHERE `+where+` AND n <= ?`, arg, last)
	return gone, err
}

// FiringFilter selects recorded firings; empty fields select all.
type FiringFilter struct {
	Scripts  []string // the paths of the script that fired
	Events   []string
	Sessions []string
	Limit    int // the newest ones
}

// Firing is a recorded firing of a script's function.
type Firing struct {
	Decision hooks.Decision
	Record   hooks.Record
}

// firingsPage is how many firings are read at once.
const firingsPage = 200

// Firings gives recorded firings, oldest first, a page at a time: it holds no
// transaction while the caller looks at one. A firing that cannot be read is an
// error with the ones behind it still to come.
func (j *Journal) Firings(ctx context.Context, f FiringFilter) iter.Seq2[*Firing, error] {
	return func(yield func(*Firing, error) bool) {
		ids, err := j.firingIDs(ctx, f)
		if err != nil {
			yield(nil, err)
			return
		}
		for page := range slices.Chunk(ids, firingsPage) {
			found, err := j.firingsOf(ctx, page)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, one := range found {
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}

// CountFirings counts what Firings would give.
func (j *Journal) CountFirings(ctx context.Context, f FiringFilter) (int, error) {
	ids, err := j.firingIDs(ctx, f)
	return len(ids), err
}

// firingIDs are the numbers of the newest firings, oldest first.
func (j *Journal) firingIDs(ctx context.Context, f FiringFilter) ([]int64, error) {
	where, args := amongst(map[string][]string{"script": f.Scripts, "event": f.Events, "session_id": f.Sessions})
	limit := f.Limit
	if limit <= 0 {
		limit = -1
	}
	var ids []int64
	err := j.each(ctx, `SELECT n FROM firings WHERE `+where+` ORDER BY n DESC LIMIT ?`, append(args, limit), func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		ids = append(ids, n)
		return err
	})
	slices.Reverse(ids)
	return ids, err
}

// amongst is a condition that each column has one of its values; a column
// without values may have any.
func amongst(columns map[string][]string) (where string, args []any) {
	where = "1"
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		values := columns[column]
		if len(values) == 0 {
			continue
		}
		where += " AND " + column + " IN (?" + strings.Repeat(", ?", len(values)-1) + ")"
		for _, v := range values {
			args = append(args, v)
		}
	}
	return where, args
}

// Unrecorded counts the decisions of a script at events, in sessions or in all,
// of which nothing is on record that a replay could play.
func (j *Journal) Unrecorded(ctx context.Context, paths, events, sessions []string) (int, error) {
	where, args := amongst(map[string][]string{"path": paths, "event": events})
	if len(sessions) > 0 {
		in, more := amongst(map[string][]string{"session_id": sessions})
		where, args = where+" AND run_id IN (SELECT id FROM runs WHERE "+in+")", append(args, more...)
	}
	n := 0
	err := j.one(ctx, `SELECT count(*) FROM decisions d WHERE `+where+` AND NOT EXISTS (SELECT 1 FROM firings f WHERE f.n = d.n)`, args, &n)
	return n, err
}

func (j *Journal) firingsOf(ctx context.Context, ids []int64) ([]*Firing, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	var found []*Firing
	err := j.each(ctx, `SELECT d.n, d.body, f.body FROM firings f JOIN decisions d ON d.n = f.n
		WHERE f.n IN (?`+strings.Repeat(", ?", len(ids)-1)+`) ORDER BY f.n`, args, func(rows *sql.Rows) error {
		var n int64
		var decision, record []byte
		if err := rows.Scan(&n, &decision, &record); err != nil {
			return err
		}
		one := &Firing{}
		if err := json.Unmarshal(decision, &one.Decision); err != nil {
			return fmt.Errorf("decode decision %d: %w", n, err)
		}
		r, err := unpackRecord(record)
		if err != nil {
			return fmt.Errorf("what decision %d was about: %w", n, err)
		}
		one.Record = *r
		found = append(found, one)
		return nil
	})
	return found, err
}

// Families gives sessions with those of their sub-agents. One that is not known
// is ErrNotFound, with its id.
func (j *Journal) Families(ctx context.Context, sessionIDs []string) ([]string, error) {
	var all []string
	for _, id := range sessionIDs {
		if _, err := j.Session(ctx, id); err != nil {
			return nil, fmt.Errorf("session %s: %w", id, err)
		}
		family, err := j.family(ctx, id)
		if err != nil {
			return nil, err
		}
		all = append(all, family...)
	}
	return all, nil
}
