package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/report"
)

var ctx = context.Background()

func open(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func begin(t *testing.T, j *Journal, session, run string) {
	t.Helper()
	if err := j.Begin(ctx, SessionRow{ID: session, Title: "fix " + session, StartedAt: time.Now()}, run, []byte("pin of "+run)); err != nil {
		t.Fatal(err)
	}
}

func step(session string, seq int64) Step {
	text := "out"
	return Step{SessionID: session, RunID: "r", LastSeq: seq, Turn: int(seq), Event: loop.Event{Kind: loop.Noted, At: time.Unix(seq, 0).UTC()},
		Shown: []report.Event{{SessionID: session, Seq: seq, Type: report.FileChanged, Path: "/ws/a b.go", Output: &text}}}
}

func TestOpenMakesAPrivateFile(t *testing.T) {
	// Characters that mean something in a URI are ordinary in a path.
	dir := filepath.Join(t.TempDir(), "a b%20?x#y", "workspaces")
	path := filepath.Join(dir, "journal.db")
	j := open(t, path)
	begin(t, j, "s", "r")
	if runtime.GOOS == "windows" {
		return // modes are not the user's there
	}
	for _, name := range []string{path, path + "-wal", filepath.Join(dir, "servers", j.owner+".lock")} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	for _, d := range []string{dir, filepath.Join(dir, "servers")} {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", d, info.Mode(), err)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	sqlite := func(text string) func(string) error {
		return func(path string) error {
			j, err := Open(path)
			if err != nil {
				return err
			}
			_, err = j.conn.ExecContext(ctx, text)
			return errors.Join(err, j.Close())
		}
	}
	tests := map[string]struct {
		prepare func(string) error
		want    string
	}{
		"garbage": {func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("not a database ", 100)), 0o600) }, "is damaged"},
		"newer":   {sqlite("PRAGMA user_version = 99"), "newer agent-ls (layout 99, this one knows 2)"},
		"foreign": {sqlite("PRAGMA user_version = 0"), "not a journal of agent-ls"},
		"cut": {func(p string) error {
			if err := sqlite("VACUUM")(p); err != nil {
				return err
			}
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			for i := 100; i < min(len(b), 4096); i++ {
				b[i] = 0xff
			}
			return os.WriteFile(p, b, 0o600)
		}, "is damaged"},
		"a folder": {func(p string) error { return os.Mkdir(p, 0o700) }, "open journal"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			if err := tt.prepare(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			j, err := Open(path)
			if err == nil {
				_ = j.Close()
				t.Fatal("it opens")
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q, want %q", err, tt.want)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestStepsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	begin(t, j, "s", "r")
	usage := loop.Usage{Input: 7}
	for seq := int64(1); seq <= 5; seq++ {
		s := step("s", seq)
		if seq == 3 {
			s.Usage = &usage
			s.Decisions = []hooks.Decision{{ID: "d", RunID: "r", HookID: "h", Event: "on_tool_call", Action: "deny", Hook: hooks.Source{At: &hooks.Location{Path: "/g.risor"}}}}
		}
		if seq == 5 {
			s.Status = report.Done
		}
		if err := j.Append(s); err != nil {
			t.Fatal(err)
		}
	}
	j = open(t, path)
	var kinds []loop.EventKind
	last, used, err := j.Replay(ctx, "s", func(e loop.Event) { kinds = append(kinds, e.Kind) })
	if err != nil || last != 5 || used != usage || len(kinds) != 5 {
		t.Errorf("replay: %v, %+v, %v, %v", last, used, kinds, err)
	}
	events, last, err := j.Events(ctx, "s", 2, 2)
	if err != nil || last != 5 || len(events) != 2 {
		t.Fatalf("events: %v, %v, %v", events, last, err)
	}
	if diff := cmp.Diff(step("s", 3).Shown[0], events[0]); diff != "" {
		t.Errorf("event 3 differs:\n%s", diff)
	}
	row, err := j.Session(ctx, "s")
	if err != nil || row.Status != report.Done || row.Turns != 5 || row.Usage != usage || row.RunID != "r" {
		t.Errorf("session %+v, %v", row, err)
	}
	if pin, err := j.Pin(ctx, "r"); err != nil || string(pin) != "pin of r" {
		t.Errorf("pin %q, %v", pin, err)
	}
	if _, err := j.Pin(ctx, "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a pin of nothing: %v", err)
	}
	counts, newest, err := j.HookCounts(ctx, "h")
	if err != nil || counts["deny"] != 1 || newest == nil || newest.ID != "d" {
		t.Errorf("hook counts %v, %+v, %v", counts, newest, err)
	}
}

func TestDecisionsPage(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	begin(t, j, "s", "r")
	for i := range 7 {
		s := step("s", int64(i+1))
		s.Decisions = []hooks.Decision{{ID: fmt.Sprint(i), RunID: fmt.Sprint("r", i%2), Event: "e"}}
		if err := j.Append(s); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	cursor := ""
	for {
		page, next, err := j.Decisions(ctx, DecisionFilter{RunID: "r0", Limit: 2, After: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page {
			got = append(got, d.ID)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"0", "2", "4", "6"}, got); diff != "" {
		t.Error(diff)
	}
	newest, next, err := j.Decisions(ctx, DecisionFilter{RunID: "r0", Limit: 2, Newest: true})
	if err != nil || next != "" || len(newest) != 2 || newest[0].ID != "4" || newest[1].ID != "6" {
		t.Errorf("the newest two are %v, %q, %v", newest, next, err)
	}
	if _, _, err := j.Decisions(ctx, DecisionFilter{After: "x", Limit: 1}); err == nil {
		t.Error("a cursor that is none passes")
	}
}

func TestFirstAnswerWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	a, b := open(t, path), open(t, path)
	begin(t, a, "s", "r")
	s := step("s", 1)
	s.Ask = &report.Approval{ID: "ask", SessionID: "s", RunID: "r", Edits: []report.Edit{{Path: "/ws/a"}}}
	if err := a.Append(s); err != nil {
		t.Fatal(err)
	}
	open, err := b.OpenApprovals(ctx)
	if err != nil || len(open) != 1 || open[0].Owner != Elsewhere || open[0].Edits[0].Path != "/ws/a" {
		t.Fatalf("open: %+v, %v", open, err)
	}
	_, version, err := a.Changed(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Answer(ctx, "ask", report.Answer{Outcome: report.AllowOnce, Hunks: []int{1}, By: "here"}); err != nil {
		t.Fatal(err)
	}
	if changed, _, err := a.Changed(ctx, version); err != nil || !changed {
		t.Errorf("the other process's answer is not seen: %v, %v", changed, err)
	}
	if err := a.Answer(ctx, "ask", report.Answer{Outcome: report.DenyOnce}); !errors.Is(err, ErrSettled) {
		t.Errorf("the second answer: %v", err)
	}
	if err := a.Answer(ctx, "none", report.Answer{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("an answer to nothing: %v", err)
	}
	p, err := a.Approval(ctx, "ask")
	if err != nil || p.State != "answered" || p.Answer.Outcome != report.AllowOnce || p.Answer.By != "here" || p.Owner != Here {
		t.Errorf("approval %+v, %v", p, err)
	}
}

func TestLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	a, b := open(t, path), open(t, path)
	begin(t, a, "s", "r")
	if err := b.Acquire(ctx, "s"); !errors.Is(err, ErrOwned) {
		t.Errorf("a living owner loses its session: %v", err)
	}
	if err := b.Begin(ctx, SessionRow{ID: "s"}, "r2", nil); !errors.Is(err, ErrOwned) {
		t.Errorf("a run begins in somebody else's session: %v", err)
	}
	if err := b.Release(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	if row, _ := b.Session(ctx, "s"); row.Owner != Elsewhere {
		t.Errorf("somebody else released it: %v", row.Owner)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Acquire(ctx, "s"); err != nil {
		t.Errorf("a dead owner keeps its session: %v", err)
	}
	if err := b.Acquire(ctx, "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a session that is not there: %v", err)
	}
}

func TestSignalsAreTakenOnce(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	begin(t, j, "s", "r")
	if err := j.Signal(ctx, "s", "cancel", []byte("now")); err != nil {
		t.Fatal(err)
	}
	got, err := j.TakeSignals(ctx, "s")
	if err != nil || len(got) != 1 || got[0].Kind != "cancel" || string(got[0].Body) != "now" {
		t.Errorf("signals %+v, %v", got, err)
	}
	if got, err := j.TakeSignals(ctx, "s"); err != nil || len(got) != 0 {
		t.Errorf("again: %+v, %v", got, err)
	}
}

func TestAfterClose(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(step("s", 1)); err == nil {
		t.Error("a closed journal takes steps")
	}
	if _, err := j.Session(ctx, "s"); err == nil {
		t.Error("a closed journal answers")
	}
}

const writerEnv = "AGENT_LS_TEST_WRITER"

// TestMain doubles as a process that writes steps until it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		j, err := Open(path)
		if err == nil {
			err = j.Begin(ctx, SessionRow{ID: os.Getenv(writerEnv + "_SESSION")}, os.Getenv(writerEnv+"_SESSION"), nil)
		}
		for seq := int64(1); err == nil; seq++ {
			s := step(os.Getenv(writerEnv+"_SESSION"), seq)
			if seq%2 == 0 {
				s.Decisions = []hooks.Decision{{ID: fmt.Sprint(seq), RunID: s.SessionID}}
			}
			if err = j.Append(s); err == nil {
				fmt.Println(seq) // only behind Append
			}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Two processes write at once and are killed without warning. Everything that
// they had been told is written is there, and the journal goes on.
func TestTwoProcessesKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	var wait sync.WaitGroup
	for i := range 2 {
		session := fmt.Sprint("s", i)
		wait.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), writerEnv+"="+path, writerEnv+"_SESSION="+session)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Error(err)
				return
			}
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			var told int64
			for told < int64(120+i*57) {
				if _, err := fmt.Fscanln(out, &told); err != nil {
					t.Errorf("%s stopped at %d: %v", session, told, err)
					break
				}
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			last, _, err := j.Replay(ctx, session, func(loop.Event) {})
			if err != nil || last < told {
				t.Errorf("%s was told %d, the journal has %d (%v)", session, told, last, err)
			}
			if d, _, err := j.Decisions(ctx, DecisionFilter{RunID: session, Limit: 1 << 20}); err != nil || int64(len(d)) != last/2 {
				t.Errorf("%s has %d decisions for %d steps (%v)", session, len(d), last, err)
			}
			if err := j.Acquire(ctx, session); err != nil {
				t.Errorf("take over %s: %v", session, err)
			}
		})
	}
	wait.Wait()
	if err := j.Append(step("s0", 9999)); err != nil {
		t.Error(err)
	}
}

func TestSessionsPage(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	for i := range 5 {
		row := SessionRow{ID: fmt.Sprint("s", i), Title: fmt.Sprint("Title ", i%2), StartedAt: time.Unix(int64(i), 0)}
		if err := j.Begin(ctx, row, fmt.Sprint("r", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	first, err := j.Sessions(ctx, 2, "", "title 0")
	if err != nil || len(first) != 2 || first[0].ID != "s4" || first[1].ID != "s2" {
		t.Fatalf("first page %+v, %v", first, err)
	}
	rest, err := j.Sessions(ctx, 2, first[1].ID, "title 0")
	if err != nil || len(rest) != 1 || rest[0].ID != "s0" {
		t.Errorf("second page %+v, %v", rest, err)
	}
	if row, err := j.SessionOf(ctx, "r3"); err != nil || row.ID != "s3" {
		t.Errorf("session of a run: %+v, %v", row, err)
	}
}

// The decisions of one run, or of one script, are found by an index: a
// workspace keeps those of many sessions.
func TestDecisionsAreFoundByAnIndex(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	for index, f := range map[string]DecisionFilter{"decisions_run": {RunID: "r"}, "decisions_path": {Path: "p"}} {
		where, args := f.where()
		var plan []string
		err := j.each(t.Context(), `EXPLAIN QUERY PLAN SELECT n, body FROM decisions WHERE `+where+` AND n > ? ORDER BY n LIMIT ?`, append(args, 0, 100), func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		})
		if err != nil || !strings.Contains(strings.Join(plan, "; "), index) {
			t.Errorf("%+v: %v, %v", f, plan, err)
		}
	}
}
