package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/report"
)

// audited is a session in which everything happens that a chain covers.
func audited(t *testing.T, j *Journal) {
	t.Helper()
	begin(t, j, "s", "r")
	begin(t, j, "other", "r2")
	for seq := int64(1); seq <= 6; seq++ {
		s := step("s", seq)
		switch seq {
		case 2:
			s.Decisions = []hooks.Decision{{ID: "d", RunID: "r", HookID: "h", Event: "on_tool_call", Action: "deny"}, {ID: "d2", RunID: "r"}}
		case 3:
			s.Event = loop.Event{Kind: loop.Asked, At: s.Event.At, ApprovalID: "ask"}
			s.Ask = &report.Approval{ID: "ask", SessionID: "s", RunID: "r", Tool: "shell"}
		case 4:
			s.Planned = []Edit{{RunID: "r", CallID: "c", Path: "/ws/a", Before: []byte("1")}}
		case 5:
			s.Event.CallID, s.Unplan = "c", true
			s.Done = []Edit{{RunID: "r", CallID: "c", Path: "/ws/a", Before: []byte("1"), After: []byte("2")}}
			s.Usage = &loop.Usage{Input: 3}
		case 6:
			s.Status = report.Done
		}
		if err := j.Append(s); err != nil {
			t.Fatal(err)
		}
		if err := j.Append(step("other", seq)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestChainHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	audited(t, j)
	v, err := j.Verify(ctx, "s")
	if err != nil || !v.OK() || v.Steps != 6 || v.Older != 0 || len(v.Head) != 64 {
		t.Fatalf("verified %+v, %v", v, err)
	}
	// What may change without being written anew does not touch it.
	edits, err := j.Edits(ctx, "r", "")
	if err != nil || len(edits) != 1 {
		t.Fatal(edits, err)
	}
	if err := errors.Join(j.Undone(ctx, edits), j.Answer(ctx, "ask", report.Answer{Outcome: report.AllowOnce}), j.Release(ctx, "s")); err != nil {
		t.Fatal(err)
	}
	if again, err := j.Verify(ctx, "s"); err != nil || !again.OK() || again.Head != v.Head {
		t.Errorf("after an undo and an answer: %+v, %v", again, err)
	}
	// Another process goes on with it, and a head that was noted stays in it.
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, path)
	if err := j.Acquire(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(step("s", 7), step("s", 8)); err != nil {
		t.Fatal(err)
	}
	later, err := j.Verify(ctx, "s", v.Head, strings.Repeat("0", 64))
	if err != nil || !later.OK() || later.Steps != 8 || later.Head == v.Head || len(later.Noted) != 1 || later.Noted[0] != v.Head {
		t.Errorf("gone on with: %+v, %v", later, err)
	}
	if _, err := j.Verify(ctx, "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a session that is not there: %v", err)
	}
}

func TestTampering(t *testing.T) {
	row := func(n int) string {
		return fmt.Sprintf("(SELECT id FROM steps WHERE session_id = 's' ORDER BY id LIMIT 1 OFFSET %d)", n-1)
	}
	tests := map[string]struct{ sql, want string }{
		"an event rewritten":      {`UPDATE steps SET event = replace(event, '1970', '1971') WHERE id = ` + row(2), "was changed"},
		"a row taken out":         {`DELETE FROM steps WHERE id = ` + row(2), "taken out"},
		"the first taken out":     {`DELETE FROM steps WHERE id = ` + row(1), "taken out"},
		"the last taken out":      {`DELETE FROM steps WHERE id = ` + row(6), "the end of the session is missing"},
		"the end taken out":       {`DELETE FROM steps WHERE session_id = 's' AND id > ` + row(3), "the end of the session is missing"},
		"two rows swapped":        {`UPDATE steps SET id = 1000 WHERE id = 3; UPDATE steps SET id = 3 WHERE id = 5; UPDATE steps SET id = 5 WHERE id = 1000`, "moved"},
		"a row put in":            {`INSERT INTO steps (id, session_id, last_seq, turn, event, chain) SELECT 1000, session_id, 7, 7, event, chain FROM steps WHERE id = ` + row(6), "put in"},
		"a link taken away":       {`UPDATE steps SET chain = NULL WHERE id = ` + row(4), "has no link"},
		"all links taken away":    {`UPDATE steps SET chain = NULL WHERE session_id = 's'`, "the end of the session is missing"},
		"a decision rewritten":    {`UPDATE decisions SET body = replace(body, 'deny', 'allow')`, "was changed"},
		"a decision taken out":    {`DELETE FROM decisions WHERE n = 2`, "was changed"},
		"an approval rewritten":   {`UPDATE approvals SET body = replace(body, 'shell', 'read_file')`, "was changed"},
		"an edit rewritten":       {`UPDATE edits SET after = x'33'`, "was changed"},
		"usage rewritten":         {`UPDATE steps SET usage = replace(usage, '3', '4') WHERE usage IS NOT NULL AND session_id = 's'`, "was changed"},
		"the shown one rewritten": {`UPDATE steps SET shown = replace(shown, 'out', 'in') WHERE id = ` + row(1), "was changed"},
		"the head rewritten":      {`UPDATE sessions SET head = x'00' WHERE id = 's'`, "left with"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			j := open(t, filepath.Join(t.TempDir(), "journal.db"))
			audited(t, j)
			if _, err := j.conn.ExecContext(ctx, tt.sql); err != nil {
				t.Fatal(err)
			}
			v, err := j.Verify(ctx, "s")
			if err != nil || v.OK() {
				t.Fatalf("nothing was found: %+v, %v", v, err)
			}
			if !strings.Contains(v.Breaks[0].What, tt.want) {
				t.Errorf("found %+v, want %q", v.Breaks, tt.want)
			}
			if v, err := j.Verify(ctx, "other"); err != nil || !v.OK() {
				t.Errorf("the other session: %+v, %v", v, err)
			}
		})
	}
}

// The layout of the first released version is brought up to this one, with
// what was in it.
func TestUpgradeFromLayout1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	begin(t, j, "s", "r")
	if err := j.Append(step("s", 1)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`ALTER TABLE steps DROP COLUMN chain`, `ALTER TABLE decisions DROP COLUMN step`,
		`ALTER TABLE edits DROP COLUMN step`, `ALTER TABLE edits DROP COLUMN gone`, `ALTER TABLE edits DROP COLUMN mode`,
		`ALTER TABLE sessions DROP COLUMN changed_at`, `ALTER TABLE sessions DROP COLUMN parent`,
		`ALTER TABLE sessions DROP COLUMN head`, `ALTER TABLE sessions DROP COLUMN head_step`, `PRAGMA user_version = 1`,
	} {
		if _, err := j.conn.ExecContext(ctx, text); err != nil {
			t.Fatal(text, err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, path)
	if err := j.Acquire(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	last := step("s", 2)
	last.Status, last.Event.At = report.Done, time.Unix(9, 0)
	if err := j.Append(last); err != nil {
		t.Fatal(err)
	}
	v, err := j.Verify(ctx, "s")
	if err != nil || !v.OK() || v.Older != 1 || v.Steps != 1 {
		t.Errorf("verified %+v, %v", v, err)
	}
	if seq, _, err := j.Replay(ctx, "s", func(loop.Event) {}); err != nil || seq != 2 {
		t.Errorf("replay: %d, %v", seq, err)
	}
}
