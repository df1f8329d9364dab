package hooks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/worker"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Subcommand {
		worker.Main()
	}
	os.Exit(m.Run())
}

var moment = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func newEngine(t testing.TB, o hooks.Options) *hooks.Engine {
	t.Helper()
	e := hooks.NewEngine(o)
	t.Cleanup(e.Close)
	return e
}

// path is where a script of a test is said to be.
func path(name string) string {
	if runtime.GOOS == "windows" {
		return `C:\w\` + name
	}
	return "/w/" + name
}

// on declares a script for an event of every stage.
func on(event, name, text string) hooks.Declaration {
	return hooks.Declaration{ID: name + "@" + event, Event: event, Path: path(name), Text: []byte(text)}
}

func load(t testing.TB, e *hooks.Engine, l hooks.Limits, declared ...hooks.Declaration) *hooks.Set {
	t.Helper()
	set, findings, err := e.Load(context.Background(), declared, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Severity == check.Error {
			t.Errorf("%s:%d: %s [%s]", f.Path, f.Span.Start, f.Message, f.Code)
		}
	}
	if set == nil {
		t.FailNow()
	}
	return set
}

// batch is a firing of on_tool_call.
func batch() hooks.Firing {
	var calls []any
	for i, name := range []string{"read_file", "shell", "edit"} {
		calls = append(calls, map[string]any{"id": fmt.Sprintf("c%d", i), "name": name, "arguments": map[string]any{"path": "a.go", "command": "go test ./...", "n": int64(i)}})
	}
	return hooks.Firing{Event: "on_tool_call", Stage: "build", At: moment, Fields: map[string]any{
		"run_id": "r1", "session_id": "s1", "agent": "coder", "stage": "build", "turn": int64(3), "tool_calls": calls,
	}}
}

func fire(t testing.TB, s *hooks.Set, f hooks.Firing) hooks.Outcome {
	t.Helper()
	return s.Fire(context.Background(), f)
}

// first line of a hostile script → what must come of it.
var hostile = map[string]struct {
	kind hooks.FailureKind
	msg  string
	line []int
}{
	"cyclic_compare":    {hooks.LimitFailure, "refers to itself", []int{7}},
	"cyclic_value":      {hooks.Malformed, "malformed: value refers to itself", []int{5}},
	"doubling":          {hooks.LimitFailure, "memory limit of 128 MiB", []int{5}},
	"endless":           {hooks.LimitFailure, "operation budget of 100000 exceeded", []int{3, 4}},
	"huge_list":         {hooks.LimitFailure, "memory limit of 128 MiB", []int{3}},
	"recursion":         {hooks.LimitFailure, "call depth of 64 exceeded", []int{2, 3}},
	"swallowed_timeout": {hooks.LimitFailure, "operation budget of 100000 exceeded", []int{3}},
	"throws":            {hooks.ScriptFailure, `attribute "no_such_argument" not found`, []int{4}},
}

// Every script that tries to take the machine down fails by itself, with its
// place, while the engine serves the others.
func TestHostile(t *testing.T) {
	files, err := filepath.Glob("testdata/hostile/*.risor")
	if err != nil || len(files) < 10 {
		t.Fatalf("hostile scripts: %v, %v", files, err)
	}
	e := newEngine(t, hooks.Options{})
	guard := load(t, e, hooks.Limits{}, on("on_tool_call", "guard.risor", "func on_tool_call(ctx) {\n  return hook.deny(\"no\")\n}"))
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "on_tool_call."), ".risor")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d := on("on_tool_call", name+".risor", string(text))
			start := time.Now()
			want, fires := hostile[name]
			if !fires {
				set, findings, err := e.Load(context.Background(), []hooks.Declaration{d}, hooks.Limits{})
				if err != nil || set != nil || len(findings) == 0 {
					t.Fatalf("Load = %v, %d findings, %v; want it refused", set, len(findings), err)
				}
				return
			}
			// A slow machine must not turn one limit into another.
			o := fire(t, load(t, e, hooks.Limits{Time: time.Minute}, d), batch())
			if took := time.Since(start); took > 90*time.Second {
				t.Errorf("took %v", took)
			}
			if o.Action != contract.Failed || o.Failure == nil {
				t.Fatalf("outcome = %+v, want a failure", o)
			}
			f := o.Failure
			if f.Kind != want.kind || !strings.Contains(f.Message, want.msg) {
				t.Errorf("%s failure %q, want a %s failure %q", f.Kind, f.Message, want.kind, want.msg)
			}
			if f.At == nil {
				t.Fatalf("no position: %q", f.Message)
			}
			onLine := false
			for _, l := range want.line {
				onLine = onLine || f.At.Start.Line == l
			}
			if at := fmt.Sprintf("%s:%d:%d: ", d.Path, f.At.Start.Line, f.At.Start.Column); !onLine || !strings.HasPrefix(f.Message, at) {
				t.Errorf("%q is at line %d, want one of %v and %q first", f.Message, f.At.Start.Line, want.line, at)
			}
			if d := o.Decisions[len(o.Decisions)-1]; d.Action != "error" || d.Error != f || d.Hook.At != f.At {
				t.Errorf("decision = %+v", d)
			}
			if o := fire(t, guard, batch()); o.Action != contract.Deny {
				t.Errorf("the guard beside it: %+v", o.Failure)
			}
		})
	}
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	if mem.HeapInuse > 64<<20 {
		t.Errorf("the server holds %d MiB afterwards", mem.HeapInuse>>20)
	}
	if s := e.Stats(); s.WorkersLive > int64(runtime.NumCPU())+1 {
		t.Errorf("%d workers live afterwards", s.WorkersLive)
	}
}
