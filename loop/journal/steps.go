package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/report"
)

// Step is what one event came to. Append writes all of it or
// nothing.
type Step struct {
	SessionID string
	RunID     string
	Turn      int
	LastSeq   int64 // the session's newest seq, with Shown counted
	Event     loop.Event
	Shown     []report.Event
	Usage     *loop.Usage   // the session's, when it changed
	Status    report.Status // the session's, when it changed
	Decisions []hooks.Decision
	Planned   []Edit // what a call is about to change
	Done      []Edit // what it changed
	// Unplan says that the call of the event is over: what it planned and did
	// not do, it did not do.
	Unplan   bool
	Ask      *report.Approval
	Withdraw []string // approval ids
	Question *report.Question
	Unask    []string // calls whose open questions end
}

// Edit is the change of one file by a call, with the bytes that an undo needs.
type Edit struct {
	N             int64 // set when it is read
	RunID, CallID string
	Path          string
	Before, After []byte
	Created       bool
	Gone          bool   // it removed the file; After counts for nothing
	Mode          uint32 // the file's permissions before, 0 where they do not count
	Planned       bool   // the call began, and nobody knows whether it got that far
}

// Append writes steps, in one transaction. It does not wait for the disk, only
// for the system.
func (j *Journal) Append(steps ...Step) error {
	rows := make([]encoded, len(steps))
	for i := range steps {
		var err error
		if rows[i], err = steps[i].encode(); err != nil {
			return err
		}
	}
	if plain(steps) {
		return j.appendPlain(steps, rows)
	}
	heads := map[string]head{}
	return j.change(context.Background(), func(tx *sql.Tx) error {
		insert := tx.Stmt(j.append)
		for i := range steps {
			s := &steps[i]
			was, known := heads[s.SessionID]
			if !known {
				var err error
				if was, err = j.headOf(tx, s.SessionID); err != nil {
					return err
				}
			}
			now, err := rows[i].insert(insert, was)
			if err != nil {
				return j.explain(err)
			}
			heads[s.SessionID] = now
			if err := s.appendRest(j, tx, &rows[i], now); err != nil {
				return err
			}
		}
		return nil
	}, func() {
		maps.Copy(j.heads, heads)
		j.wrote(rows)
	})
}

// appendPlain writes steps that are a row each. They go into one statement,
// which is a transaction by itself: there is nothing to begin and to commit.
func (j *Journal) appendPlain(steps []Step, rows []encoded) error {
	j.writerMu.Lock()
	defer j.writerMu.Unlock()
	if j.append == nil {
		return errClosed
	}
	session := steps[0].SessionID
	was, err := j.headOf(j.conn, session)
	if err != nil {
		return err
	}
	insert, err := j.insertOf(len(rows))
	if err != nil {
		return j.explain(err)
	}
	now := head{link: was.link}
	values := make([]any, 0, len(rows)*stepColumns)
	for i := range rows {
		now.link = rows[i].link(now.link)
		values = append(append(values, rows[i].columns...), now.link)
	}
	done, err := insert.Exec(values...)
	if err != nil {
		return j.explain(err)
	}
	if now.step, err = done.LastInsertId(); err != nil {
		return j.explain(err)
	}
	j.heads[session] = now
	j.wrote(rows)
	return nil
}

// insertOf gives the statement that writes so many rows of steps. The caller
// holds writerMu.
func (j *Journal) insertOf(rows int) (*sql.Stmt, error) {
	if rows == 1 {
		return j.append, nil
	}
	at := &j.appendMany[rows-2]
	if *at == nil {
		text := insertStep + strings.Repeat(", "+stepValues, rows-1)
		made, err := j.conn.PrepareContext(context.Background(), text)
		if err != nil {
			return nil, err
		}
		*at = made
	}
	return *at, nil
}

// encoded is a step as it is written.
type encoded struct {
	columns   []any // of its row, without the link
	decisions [][]byte
	firings   [][]byte // of each decision, nil for one of no script
	ask       []byte
	done      []Edit
}

func (s *Step) encode() (encoded, error) {
	event, err := json.Marshal(s.Event)
	if err != nil {
		return encoded{}, fmt.Errorf("journal: encode %s: %w", s.Event.Kind, err)
	}
	var shown, usage any
	if len(s.Shown) > 0 {
		if shown, err = encodeShown(s.Shown); err != nil {
			return encoded{}, err
		}
	}
	if s.Usage != nil {
		text, err := json.Marshal(s.Usage)
		if err != nil {
			return encoded{}, fmt.Errorf("journal: encode usage: %w", err)
		}
		usage = string(text)
	}
	row := encoded{columns: []any{s.SessionID, s.LastSeq, s.Turn, event, shown, usage}, done: s.Done}
	for i := range s.Decisions {
		body, err := json.Marshal(&s.Decisions[i])
		if err != nil {
			return encoded{}, fmt.Errorf("journal: encode decision %s: %w", s.Decisions[i].ID, err)
		}
		var firing []byte
		if r := s.Decisions[i].Record; r != nil {
			if firing, err = packRecord(r); err != nil {
				return encoded{}, fmt.Errorf("journal: encode the firing of %s: %w", s.Decisions[i].ID, err)
			}
		}
		row.decisions, row.firings = append(row.decisions, body), append(row.firings, firing)
	}
	if s.Ask != nil {
		if row.ask, err = encodeApproval(s.Ask); err != nil {
			return encoded{}, err
		}
	}
	return row, nil
}

// insert writes the row behind the link that was the newest and gives its own.
func (e *encoded) insert(into *sql.Stmt, was head) (head, error) {
	now := head{link: e.link(was.link)}
	done, err := into.Exec(append(e.columns, now.link)...)
	if err != nil {
		return head{}, err
	}
	now.step, err = done.LastInsertId()
	return now, err
}

// mostPlain is how many steps one statement writes at most: a turn with three
// tools.
const mostPlain = 8

// plain says that the steps are one row each, of one session.
func plain(steps []Step) bool {
	if len(steps) == 0 || len(steps) > mostPlain {
		return false
	}
	for i := range steps {
		if !steps[i].plain() || steps[i].SessionID != steps[0].SessionID {
			return false
		}
	}
	return true
}

func (s *Step) plain() bool {
	return s.Status == "" && s.Ask == nil && s.Question == nil && !s.Unplan && len(s.Unask) == 0 && len(s.Decisions)+len(s.Planned)+len(s.Done)+len(s.Withdraw) == 0
}

func (s *Step) appendRest(j *Journal, tx *sql.Tx, row *encoded, at head) error {
	if s.Status != "" {
		// The head is kept where the session's row is written anyway.
		if _, err := tx.Exec(`UPDATE sessions SET status = ?, run_id = ?, changed_at = ?, head = ?, head_step = ? WHERE id = ?`,
			string(s.Status), s.RunID, s.Event.At.UnixMilli(), at.link, at.step, s.SessionID); err != nil {
			return fmt.Errorf("journal: session: %w", err)
		}
	}
	for i := range s.Decisions {
		n, err := addDecision(tx, &s.Decisions[i], row.decisions[i], at.step)
		if err != nil {
			return err
		}
		if body := row.firings[i]; body != nil {
			if err := j.addFiring(tx, s.SessionID, &s.Decisions[i], n, body); err != nil {
				return err
			}
		}
	}
	for _, e := range s.Planned {
		if err := addEdit(tx, e, "planned", at.step); err != nil {
			return err
		}
	}
	if s.Unplan {
		if _, err := tx.Exec(`DELETE FROM edits WHERE run_id = ? AND call_id = ? AND state = 'planned'`, s.RunID, s.Event.CallID); err != nil {
			return fmt.Errorf("journal: edits: %w", err)
		}
	}
	for _, e := range s.Done {
		if err := addEdit(tx, e, "done", at.step); err != nil {
			return err
		}
	}
	if s.Ask != nil {
		if err := approvalsTable.add(tx, s.Ask.ID, s.Ask.SessionID, s.Ask.RunID, s.Ask.CallID, row.ask); err != nil {
			return err
		}
	}
	if s.Question != nil {
		if err := addQuestion(tx, s.Question); err != nil {
			return err
		}
	}
	for _, id := range s.Unask {
		if _, err := tx.Exec(`UPDATE questions SET state = 'withdrawn' WHERE call_id = ? AND state = 'open'`, id); err != nil {
			return fmt.Errorf("journal: withdraw the question of %s: %w", id, err)
		}
	}
	for _, id := range s.Withdraw {
		if _, err := tx.Exec(`UPDATE approvals SET state = 'withdrawn' WHERE id = ? AND state = 'open'`, id); err != nil {
			return fmt.Errorf("journal: withdraw %s: %w", id, err)
		}
	}
	return nil
}

func addDecision(tx *sql.Tx, d *hooks.Decision, body []byte, step int64) (int64, error) {
	path := ""
	if d.Hook.At != nil {
		path = d.Hook.At.Path
	}
	done, err := tx.Exec(`INSERT INTO decisions (run_id, hook_id, event, path, action, body, step) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		d.RunID, d.HookID, d.Event, path, d.Action, body, step)
	if err != nil {
		return 0, fmt.Errorf("journal: decision %s: %w", d.ID, err)
	}
	return done.LastInsertId()
}

func addEdit(tx *sql.Tx, e Edit, state string, step int64) error {
	_, err := tx.Exec(`INSERT INTO edits (run_id, call_id, path, before, after, created, state, step, gone, mode) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.RunID, e.CallID, e.Path, e.Before, e.After, e.Created, state, step, e.Gone, e.Mode)
	if err != nil {
		return fmt.Errorf("journal: edit of %s: %w", e.Path, err)
	}
	return nil
}

// shownEvent carries the path that an Event does not put on the wire.
type shownEvent struct {
	report.Event
	File string `json:"file,omitempty"`
}

func encodeShown(events []report.Event) ([]byte, error) {
	rows := make([]shownEvent, len(events))
	for i, e := range events {
		rows[i] = shownEvent{Event: e, File: e.Path}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("journal: encode events: %w", err)
	}
	return text, nil
}

func decodeShown(text []byte) ([]report.Event, error) {
	var rows []shownEvent
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("decode events: %w", err)
	}
	events := make([]report.Event, len(rows))
	for i, r := range rows {
		events[i] = r.Event
		events[i].Path = r.File
	}
	return events, nil
}

// Begin makes the session if it is not there and a run in it, with everything
// that the run pinned, and drives it from here on. Equal pins are kept once. A
// session that another living process drives is ErrOwned.
func (j *Journal) Begin(ctx context.Context, s SessionRow, runID string, pin []byte) error {
	if err := j.showLife(); err != nil {
		return err
	}
	if pin == nil {
		pin = []byte{} // NULL is something else
	}
	sum := sha256.Sum256(pin)
	digest := hex.EncodeToString(sum[:])
	return j.change(ctx, func(tx *sql.Tx) error {
		var owner string
		err := tx.QueryRowContext(ctx, `SELECT owner FROM sessions WHERE id = ?`, s.ID).Scan(&owner)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return j.explain(err)
		}
		if j.ownerOf(owner) == Elsewhere {
			return ErrOwned
		}
		delete(j.heads, s.ID) // somebody else may have written to it
		_, err = tx.ExecContext(ctx, `INSERT INTO sessions (id, title, started_at, changed_at, status, run_id, owner) VALUES (?1, ?2, ?3, ?3, 'running', ?4, ?5)
			ON CONFLICT (id) DO UPDATE SET run_id = excluded.run_id, owner = excluded.owner, changed_at = excluded.changed_at, status = 'running'`,
			s.ID, s.Title, s.StartedAt.UnixMilli(), runID, j.owner)
		if err != nil {
			return j.explain(err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO pins (digest, body) VALUES (?, ?) ON CONFLICT DO NOTHING`, digest, pin); err != nil {
			return j.explain(err)
		}
		// A run whose process died between this and its first event is begun
		// again under the same id.
		if _, err := tx.ExecContext(ctx, `INSERT INTO runs (id, session_id, pin) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`, runID, s.ID, digest); err != nil {
			return j.explain(err)
		}
		return j.addChild(ctx, tx, s, runID)
	})
}

// Pin gives what a run pinned at its start.
func (j *Journal) Pin(ctx context.Context, runID string) ([]byte, error) {
	var body []byte
	err := j.one(ctx, `SELECT body FROM pins JOIN runs ON runs.pin = pins.digest WHERE runs.id = ?`, []any{runID}, &body)
	return body, err
}

// ErrNotFound says that the journal has nothing by that id.
var ErrNotFound = errors.New("not in the journal")

// one reads one row.
func (j *Journal) one(ctx context.Context, query string, args []any, into ...any) error {
	db := j.reader()
	if db == nil {
		return errClosed
	}
	err := db.QueryRowContext(ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return j.explain(err)
	}
	return nil
}

func (j *Journal) reader() *sql.DB {
	j.watchMu.Lock()
	defer j.watchMu.Unlock()
	return j.read
}

// each reads every row with scan.
func (j *Journal) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	db := j.reader()
	if db == nil {
		return errClosed
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return j.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return j.explain(err)
		}
	}
	if err := rows.Err(); err != nil {
		return j.explain(err)
	}
	return nil
}

// Replay passes every core event of the session to apply, oldest first, and
// returns the session's newest seq and usage.
func (j *Journal) Replay(ctx context.Context, sessionID string, apply func(loop.Event)) (lastSeq int64, usage loop.Usage, err error) {
	err = j.each(ctx, `SELECT id, last_seq, event, usage FROM steps WHERE session_id = ? ORDER BY id`, []any{sessionID}, func(rows *sql.Rows) error {
		var id int64
		var event []byte
		var used sql.NullString
		if err := rows.Scan(&id, &lastSeq, &event, &used); err != nil {
			return err
		}
		var e loop.Event
		if err := json.Unmarshal(event, &e); err != nil {
			return fmt.Errorf("step %d is malformed: %w", id, err)
		}
		if used.Valid {
			if err := json.Unmarshal([]byte(used.String), &usage); err != nil {
				return fmt.Errorf("usage of step %d is malformed: %w", id, err)
			}
		}
		apply(e)
		return nil
	})
	return lastSeq, usage, err
}

// Events gives the shown events of a session after a seq, at most limit (0 =
// all of them), and the newest seq of the session.
func (j *Journal) Events(ctx context.Context, sessionID string, afterSeq int64, limit int) ([]report.Event, int64, error) {
	var last sql.NullInt64
	if err := j.one(ctx, `SELECT max(last_seq) FROM steps WHERE session_id = ?`, []any{sessionID}, &last); err != nil {
		return nil, 0, err
	}
	var events []report.Event
	full := errors.New("full")
	err := j.each(ctx, `SELECT shown FROM steps WHERE session_id = ? AND last_seq > ? AND shown IS NOT NULL ORDER BY id`,
		[]any{sessionID, afterSeq}, func(rows *sql.Rows) error {
			var text []byte
			if err := rows.Scan(&text); err != nil {
				return err
			}
			shown, err := decodeShown(text)
			if err != nil {
				return err
			}
			for _, e := range shown {
				if e.Seq <= afterSeq {
					continue
				}
				if limit > 0 && len(events) == limit {
					return full
				}
				events = append(events, e)
			}
			return nil
		})
	if err != nil && !errors.Is(err, full) {
		return nil, 0, err
	}
	return events, last.Int64, nil
}
