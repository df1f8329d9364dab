package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"agent-ls/hooks"
)

// DecisionFilter selects decisions; empty fields select all.
type DecisionFilter struct {
	Path, RunID, Event string
	After              string // a cursor
	Limit              int
	Newest             bool // the newest ones, still oldest first; After does not count
}

// Decisions gives recorded decisions, oldest first, and the cursor to go on
// with ("" when there are no more).
func (j *Journal) Decisions(ctx context.Context, f DecisionFilter) ([]hooks.Decision, string, error) {
	if f.Newest {
		found, err := j.newestDecisions(ctx, f)
		return found, "", err
	}
	after := int64(0)
	if f.After != "" {
		n, err := strconv.ParseInt(f.After, 10, 64)
		if err != nil {
			return nil, "", fmt.Errorf("%q is no cursor of decisions", f.After)
		}
		after = n
	}
	var found []hooks.Decision
	var last int64
	more := false
	where, args := f.where()
	err := j.each(ctx, `SELECT n, body FROM decisions WHERE `+where+` AND n > ? ORDER BY n LIMIT ?`, append(args, after, f.Limit+1), func(rows *sql.Rows) error {
		if len(found) == f.Limit {
			more = true
			return nil
		}
		d, err := scanDecision(rows, &last)
		found = append(found, d)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if !more {
		return found, "", nil
	}
	return found, strconv.FormatInt(last, 10), nil
}

// where has a condition only for what is given: SQLite takes no index for one
// that may not hold.
func (f DecisionFilter) where() (string, []any) {
	given := map[string][]string{}
	for column, value := range map[string]string{"path": f.Path, "run_id": f.RunID, "event": f.Event} {
		if value != "" {
			given[column] = []string{value}
		}
	}
	return amongst(given)
}

func (j *Journal) newestDecisions(ctx context.Context, f DecisionFilter) ([]hooks.Decision, error) {
	var found []hooks.Decision
	where, args := f.where()
	err := j.each(ctx, `SELECT n, body FROM decisions WHERE `+where+` ORDER BY n DESC LIMIT ?`, append(args, f.Limit), func(rows *sql.Rows) error {
		var n int64
		d, err := scanDecision(rows, &n)
		found = append(found, d)
		return err
	})
	slices.Reverse(found)
	return found, err
}

func scanDecision(rows *sql.Rows, n *int64) (hooks.Decision, error) {
	var body []byte
	var d hooks.Decision
	if err := rows.Scan(n, &body); err != nil {
		return d, err
	}
	if err := json.Unmarshal(body, &d); err != nil {
		return d, fmt.Errorf("decode decision %d: %w", *n, err)
	}
	return d, nil
}

// HookCounts counts the decisions of one hook by action, and gives the newest.
func (j *Journal) HookCounts(ctx context.Context, hookID string) (map[string]int, *hooks.Decision, error) {
	counts := map[string]int{}
	err := j.each(ctx, `SELECT action, count(*) FROM decisions WHERE hook_id = ? GROUP BY action`, []any{hookID}, func(rows *sql.Rows) error {
		var action string
		var n int
		if err := rows.Scan(&action, &n); err != nil {
			return err
		}
		counts[action] = n
		return nil
	})
	if err != nil || len(counts) == 0 {
		return counts, nil, err
	}
	var newest *hooks.Decision
	err = j.each(ctx, `SELECT n, body FROM decisions WHERE hook_id = ? ORDER BY n DESC LIMIT 1`, []any{hookID}, func(rows *sql.Rows) error {
		var n int64
		d, err := scanDecision(rows, &n)
		newest = &d
		return err
	})
	return counts, newest, err
}
