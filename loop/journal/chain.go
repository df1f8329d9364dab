package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"

	"agent-ls/loop"
)

// Each step of a session carries a link: SHA-256 over the link of the step
// before it and over everything that was written with the step: its row, the
// hook decisions, the approval that it opened and the files that it changed. A
// row that was changed, taken out, put in or moved is found where the links no
// longer follow from each other. The newest link is kept in the session's row
// whenever its status changes, so that steps missing at the end are found too,
// once a run is over. Whoever can write the database can also write it anew
// with links that fit; only a head that was noted elsewhere finds that out.

// head is the newest step of a session.
type head struct {
	step int64
	link []byte // nil: no step has one
}

// queryer is what a link can be read through.
type queryer interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// headOf gives a session's newest link. The caller holds writerMu.
func (j *Journal) headOf(q queryer, session string) (head, error) {
	if h, known := j.heads[session]; known {
		return h, nil
	}
	var h head
	err := q.QueryRowContext(context.Background(), `SELECT id, chain FROM steps WHERE session_id = ? ORDER BY id DESC LIMIT 1`, session).Scan(&h.step, &h.link)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return head{}, j.explain(err)
	}
	return h, nil
}

// put frames a part, so that no two lists of parts hash alike.
func put(h hash.Hash, part []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(part)))
	h.Write(size[:])
	h.Write(part)
}

func putNumber(h hash.Hash, n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

func (e *encoded) link(before []byte) []byte {
	h := sha256.New()
	put(h, before)
	for _, c := range e.columns {
		switch c := c.(type) {
		case string:
			put(h, []byte(c))
		case []byte:
			put(h, c)
		case int:
			putNumber(h, int64(c))
		case int64:
			putNumber(h, c)
		default:
			put(h, nil)
		}
	}
	putNumber(h, int64(len(e.decisions)))
	for _, d := range e.decisions {
		put(h, d)
	}
	put(h, e.ask)
	putNumber(h, int64(len(e.done)))
	for i := range e.done {
		putEdit(h, &e.done[i])
	}
	return h.Sum(nil)
}

// putEdit takes what an edit is when its call is over; what an undo makes of
// it later is not part of it.
func putEdit(h hash.Hash, e *Edit) {
	put(h, []byte(e.RunID))
	put(h, []byte(e.CallID))
	put(h, []byte(e.Path))
	put(h, e.Before)
	put(h, e.After)
	flags := int64(e.Mode)
	if e.Created {
		flags |= 1 << 32
	}
	if e.Gone {
		flags |= 1 << 33
	}
	putNumber(h, flags)
}

// Verified is what a look at a session's chain came to.
type Verified struct {
	Steps  int      // with a link
	Older  int      // at the beginning, from before there were links
	Head   string   // the newest link, hexadecimal; "" without any
	Breaks []Break  // where it does not hold, at most maxBreaks
	Noted  []string // of the heads that were asked for, those that the chain has
}

// OK says that the chain holds.
func (v *Verified) OK() bool { return len(v.Breaks) == 0 }

// Break is a place where a chain does not hold.
type Break struct {
	Step int64  `json:"step"` // row of the table of steps, 0 for the end
	Seq  int64  `json:"seq"`  // of the newest event shown by then
	What string `json:"what"`
}

// maxBreaks is how many places are named; one is bad enough.
const maxBreaks = 20

// Verify walks the chain of a session. noted are heads that somebody wrote
// down: each that the chain still has comes back in Noted.
func (j *Journal) Verify(ctx context.Context, sessionID string, noted ...string) (Verified, error) {
	var v Verified
	row, err := j.headRow(ctx, sessionID)
	if err != nil {
		return v, err
	}
	beside, err := j.besideSteps(ctx, sessionID)
	if err != nil {
		return v, err
	}
	var before []byte
	headSeen := row.step == 0
	var seq int64
	err = j.each(ctx, `SELECT id, last_seq, turn, event, shown, usage, chain FROM steps WHERE session_id = ? ORDER BY id`, []any{sessionID}, func(rows *sql.Rows) error {
		var id, turn int64
		var event, shown, have []byte
		var usage sql.NullString
		if err := rows.Scan(&id, &seq, &turn, &event, &shown, &usage, &have); err != nil {
			return err
		}
		if have == nil && v.Steps == 0 {
			v.Older++
			return nil
		}
		e := encoded{columns: []any{sessionID, seq, turn, event, shown, any(nil)}}
		if usage.Valid {
			e.columns[5] = usage.String
		}
		beside.complete(&e, id)
		v.Steps++
		if have == nil {
			v.broken(Break{id, seq, "this step has no link: it was taken away, or an older version of the program wrote the step meanwhile"})
		} else if want := e.link(before); !bytes.Equal(want, have) {
			v.broken(Break{id, seq, "this step was changed, or one before it was changed, taken out, put in or moved"})
		}
		if id == row.step {
			headSeen = true
			if !bytes.Equal(have, row.link) {
				v.broken(Break{id, seq, "the link of this step is not the one that the session was left with"})
			}
		}
		before = have
		v.note(have, noted)
		return nil
	})
	if err != nil {
		return v, err
	}
	if !headSeen {
		v.broken(Break{0, seq, "the end of the session is missing"})
	}
	v.Head = hex.EncodeToString(before)
	return v, nil
}

func (v *Verified) broken(b Break) {
	if len(v.Breaks) < maxBreaks {
		v.Breaks = append(v.Breaks, b)
	}
}

// note keeps a head that was asked for, as long as nothing before it is wrong.
func (v *Verified) note(link []byte, noted []string) {
	if len(noted) == 0 || !v.OK() {
		return
	}
	text := hex.EncodeToString(link)
	for _, n := range noted {
		if n == text {
			v.Noted = append(v.Noted, n)
		}
	}
}

func (j *Journal) headRow(ctx context.Context, sessionID string) (head, error) {
	var h head
	err := j.one(ctx, `SELECT head, head_step FROM sessions WHERE id = ?`, []any{sessionID}, &h.link, &h.step)
	return h, err
}

// beside is what was written with the steps of a session, outside their rows.
type beside struct {
	decisions map[int64][][]byte
	edits     map[int64][]Edit
	asks      map[string][]byte
}

func (j *Journal) besideSteps(ctx context.Context, sessionID string) (*beside, error) {
	b := &beside{decisions: map[int64][][]byte{}, edits: map[int64][]Edit{}, asks: map[string][]byte{}}
	runs := `run_id IN (SELECT id FROM runs WHERE session_id = ?)`
	err := j.each(ctx, `SELECT step, body FROM decisions WHERE step > 0 AND `+runs+` ORDER BY n`, []any{sessionID}, func(rows *sql.Rows) error {
		var step int64
		var body []byte
		err := rows.Scan(&step, &body)
		b.decisions[step] = append(b.decisions[step], body)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = j.each(ctx, `SELECT step, run_id, call_id, path, before, after, created, gone, mode FROM edits
		WHERE step > 0 AND state <> 'planned' AND `+runs+` ORDER BY n`, []any{sessionID}, func(rows *sql.Rows) error {
		var step int64
		var e Edit
		err := rows.Scan(&step, &e.RunID, &e.CallID, &e.Path, &e.Before, &e.After, &e.Created, &e.Gone, &e.Mode)
		b.edits[step] = append(b.edits[step], e)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = j.each(ctx, `SELECT id, body FROM approvals WHERE session_id = ?`, []any{sessionID}, func(rows *sql.Rows) error {
		var id string
		var body []byte
		err := rows.Scan(&id, &body)
		b.asks[id] = body
		return err
	})
	return b, err
}

// complete adds what belongs to the step.
func (b *beside) complete(e *encoded, step int64) {
	e.decisions, e.done = b.decisions[step], b.edits[step]
	event, _ := e.columns[3].([]byte)
	if id := opened(event); id != "" {
		e.ask = b.asks[id]
	}
}

// opened is the approval that an event opened, "" if it opened none.
func opened(event []byte) string {
	if !bytes.Contains(event, []byte(`"kind":"`+string(loop.Asked)+`"`)) {
		return ""
	}
	var e struct {
		Kind       loop.EventKind `json:"kind"`
		ApprovalID string         `json:"approvalId"`
	}
	if err := json.Unmarshal(event, &e); err != nil || e.Kind != loop.Asked {
		return ""
	}
	return e.ApprovalID
}
