package journal

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks"
	"agent-ls/hooks/worker/wire"
	"agent-ls/loop"
)

// fired is a step with one decision of a script and what it was about.
func fired(t *testing.T, j *Journal, session, script string, text string) {
	t.Helper()
	ctx, err := wire.AppendValue(nil, map[string]any{"text": text}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	r := &hooks.Record{Script: script, At: time.Unix(5, 7).UTC(), Ctx: ctx, Answer: []byte(`null`),
		Asked: []hooks.Asked{{Question: "q?", Schema: []byte(`{"type":"string"}`), Told: []byte(`{"ok":true}`)}}}
	d := hooks.Decision{ID: "hd_" + text[:min(4, len(text))], RunID: "r_" + session, SessionID: session, Event: "tool:gate", Action: "allow", Record: r}
	if err := j.Append(Step{SessionID: session, RunID: d.RunID, Event: loop.Event{Kind: loop.Hooked}, Decisions: []hooks.Decision{d}}); err != nil {
		t.Fatal(err)
	}
}

func firings(t *testing.T, j *Journal, f FiringFilter) []*Firing {
	t.Helper()
	var all []*Firing
	for one, err := range j.Firings(context.Background(), f) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

func TestFiringsComeBackAsTheyWere(t *testing.T) {
	j, err := Open(Path(t.TempDir(), "/ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for i := range 450 { // more than a page
		fired(t, j, fmt.Sprintf("s%d", i%2), "/ws/guard.risor", fmt.Sprintf("%04d ", i))
	}
	large := strings.Repeat("the same words again and again ", 2000)
	fired(t, j, "s0", "/ws/other.risor", large)
	all := firings(t, j, FiringFilter{Scripts: []string{"/ws/guard.risor"}})
	if len(all) != 450 {
		t.Fatalf("%d firings, want 450", len(all))
	}
	for i, one := range all {
		ctx, err := one.Record.ReadCtx()
		if err != nil || ctx["text"] != fmt.Sprintf("%04d ", i) {
			t.Fatalf("firing %d is about %v, %v", i, ctx, err)
		}
	}
	if diff := cmp.Diff(hooks.Record{Script: "/ws/guard.risor", At: time.Unix(5, 7).UTC(), Ctx: all[0].Record.Ctx, Answer: []byte(`null`),
		Asked: []hooks.Asked{{Question: "q?", Schema: []byte(`{"type":"string"}`), Told: []byte(`{"ok":true}`)}}}, all[0].Record); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	newest := firings(t, j, FiringFilter{Sessions: []string{"s1"}, Limit: 3})
	if len(newest) != 3 || newest[2].Decision.ID != "hd_0449" || newest[0].Decision.SessionID != "s1" {
		t.Errorf("the newest of a session: %+v", newest)
	}
	got := firings(t, j, FiringFilter{Scripts: []string{"/ws/other.risor"}})
	if len(got) != 1 {
		t.Fatalf("%d", len(got))
	}
	if ctx, err := got[0].Record.ReadCtx(); err != nil || ctx["text"] != large {
		t.Errorf("a large ctx comes back with %d bytes, %v", len(fmt.Sprint(ctx["text"])), err)
	}
	var size int
	if err := j.one(context.Background(), `SELECT size FROM firings WHERE script = '/ws/other.risor'`, nil, &size); err != nil || size > len(large)/10 {
		t.Errorf("%d bytes are stored of %d, %v", size, len(large), err)
	}
}

func TestFiringsStayWithinTheirBound(t *testing.T) {
	j, err := Open(Path(t.TempDir(), "/ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for i := range 40 {
		fired(t, j, "s", "/ws/guard.risor", fmt.Sprintf("%04d ", i))
	}
	var each int64
	if err := j.one(context.Background(), `SELECT size FROM firings LIMIT 1`, nil, &each); err != nil {
		t.Fatal(err)
	}
	if err := j.trimFirings(context.Background(), 20*each); err != nil {
		t.Fatal(err)
	}
	left := firings(t, j, FiringFilter{})
	if len(left) != 15 || left[14].Decision.ID != "hd_0039" {
		t.Errorf("%d are left, want the newest 15", len(left))
	}
	if n, err := j.Unrecorded(context.Background(), nil, []string{"tool:gate"}, nil); err != nil || n != 25 {
		t.Errorf("%d decisions without a record, %v; want 25", n, err)
	}
	// The count of a session goes on from what is left, and its own bound holds.
	if err := j.change(context.Background(), func(tx *sql.Tx) error {
		gone, err := dropFirings(tx, `session_id = ?`, "s", 3*each)
		if gone != 3*each {
			t.Errorf("%d bytes are gone, want %d", gone, 3*each)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if n, err := j.CountFirings(context.Background(), FiringFilter{Sessions: []string{"s"}}); err != nil || n != 12 {
		t.Errorf("%d are left, %v; want 12", n, err)
	}
}

// A firing that is damaged in the database is said, with its decision.
func TestADamagedFiringIsAnError(t *testing.T) {
	j, err := Open(Path(t.TempDir(), "/ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, body := range [][]byte{{}, {9}, {storedDeflated, 1, 2, 3}, {storedPlain, 77, 0}, {storedPlain, 1, 3, 200}} {
		fired(t, j, "s", "/ws/guard.risor", "x")
		if err := j.change(context.Background(), func(tx *sql.Tx) error {
			_, err := tx.Exec(`UPDATE firings SET body = ?`, body)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		failed := false
		for _, err := range j.Firings(context.Background(), FiringFilter{}) {
			failed = failed || err != nil && strings.Contains(err.Error(), "what decision 1 was about")
		}
		if !failed {
			t.Errorf("%v is read without an error", body)
		}
	}
}
