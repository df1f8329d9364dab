package journal

import (
	"context"
	"database/sql"
	"errors"
)

// familySchema came after the first layout. It adds tables only, so that a
// journal of either age is read by a program of either age.
const familySchema = `
CREATE TABLE IF NOT EXISTS children (
	session_id     TEXT PRIMARY KEY,
	run_id         TEXT NOT NULL,
	parent_session TEXT NOT NULL,
	parent_run     TEXT NOT NULL,
	parent_call    TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS children_parent ON children (parent_run);
CREATE TABLE IF NOT EXISTS questions (
	id         TEXT PRIMARY KEY,
	session_id TEXT NOT NULL,
	run_id     TEXT NOT NULL,
	call_id    TEXT NOT NULL,
	body       BLOB NOT NULL,
	state      TEXT NOT NULL,             -- open, answered, withdrawn
	answer     BLOB
);
CREATE INDEX IF NOT EXISTS questions_open ON questions (state, session_id);
`

// Parent is the call that a sub-agent's session was made for.
type Parent struct {
	SessionID, RunID, CallID string
}

func (j *Journal) addChild(ctx context.Context, tx *sql.Tx, s SessionRow, runID string) error {
	if s.Parent == (Parent{}) {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO children (session_id, run_id, parent_session, parent_run, parent_call) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (session_id) DO NOTHING`, s.ID, runID, s.Parent.SessionID, s.Parent.RunID, s.Parent.CallID)
	if err != nil {
		return j.explain(err)
	}
	return nil
}

// ParentOf gives the call that a session was made for, the zero Parent for one
// that a person began.
func (j *Journal) ParentOf(ctx context.Context, sessionID string) (Parent, error) {
	var p Parent
	err := j.one(ctx, `SELECT parent_session, parent_run, parent_call FROM children WHERE session_id = ?`, []any{sessionID}, &p.SessionID, &p.RunID, &p.CallID)
	if errors.Is(err, ErrNotFound) {
		return Parent{}, nil
	}
	return p, err
}

// maxAncestors bounds a walk to the first session of a family; the depth of
// sub-agents is limited to less.
const maxAncestors = 100

// RootOf gives the session of a family that a person began; of a session that
// is nobody's child, itself.
func (j *Journal) RootOf(ctx context.Context, sessionID string) (string, error) {
	for range maxAncestors {
		p, err := j.ParentOf(ctx, sessionID)
		if err != nil {
			return "", err
		}
		if p.SessionID == "" {
			break
		}
		sessionID = p.SessionID
	}
	return sessionID, nil
}

// ChildrenOf gives the sessions of the sub-agents that a run began, oldest
// first.
func (j *Journal) ChildrenOf(ctx context.Context, runID string) ([]SessionRow, error) {
	return j.sessions(ctx, `WHERE s.id IN (SELECT session_id FROM children WHERE parent_run = ?) ORDER BY s.rowid`, runID)
}
