package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
)

// A broken gate is never an open gate, and says where it is broken.
func TestFailsClosed(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	body := func(lines string) string { return "func on_tool_call(ctx) {\n" + lines + "\n}" }
	for _, tc := range []struct {
		name, text string
		limits     hooks.Limits
		kind       hooks.FailureKind
		msg        string
		line       int
	}{
		{"throw", body("  x := ctx.tool_calls[0].arguments\n  return x.missing"), hooks.Limits{}, hooks.ScriptFailure, `attribute "missing" not found`, 3},
		{"division by zero", body("  x := ctx.turn - 3\n  y := 1 / x\n  return y == 1"), hooks.Limits{}, hooks.ScriptFailure, "division by zero", 3},
		{"an answer that is none", body("  return ctx.tool_calls[0].arguments.path"), hooks.Limits{}, hooks.Malformed, "malformed: ", 2},
		{"an action that is none", body("  a := ctx.tool_calls[0].arguments.path\n  return {action: a}"), hooks.Limits{}, hooks.Malformed, "unknown action", 3},
		{"a call that was not asked for", body("  calls := ctx.tool_calls\n  calls[0].id = \"other\"\n  return hook.modify(calls)"), hooks.Limits{}, hooks.Malformed, "malformed: ", 4},
		{"not plain data", body("  x := {a: ctx}\n  x.a[\"f\"] = func() { 1 }\n  return {action: \"allow\", state: x}"), hooks.Limits{}, hooks.Malformed, "not plain data", 4},
		{"operations", body("  for i := 0; i < 1000; i++ {\n    ctx\n  }"), hooks.Limits{Operations: 100}, hooks.LimitFailure, "operation budget of 100 exceeded", 0},
		{"time", body("  return len(sorted(list(range 6000000).map(string))) < 0"), hooks.Limits{Time: 500 * time.Millisecond, Memory: 4 << 30}, hooks.LimitFailure, "time limit of 500ms exceeded", 2},
		{"memory", body("  x := list(range 1000000000)\n  return len(x) == 0"), hooks.Limits{Memory: 32 << 20, Time: time.Minute}, hooks.LimitFailure, "memory limit of 32 MiB", 2},
		{"call depth", body("  return on_tool_call(ctx)"), hooks.Limits{CallDepth: 5}, hooks.LimitFailure, "call depth of 5 exceeded", 0},
		{"value", body("  return {action: \"allow\", reason: strings.repeat(\"x\", 3000)}"), hooks.Limits{Value: 2048}, hooks.Malformed, "larger than 2 KiB", 2},
		{"context", body("  return nil"), hooks.Limits{Context: 100}, hooks.LimitFailure, "ctx is larger than 100 bytes", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			later := on("on_tool_call", "later.risor", body("  return nil"))
			if tc.limits.Time == 0 {
				tc.limits.Time = time.Minute
			}
			o := fire(t, load(t, e, tc.limits, on("on_tool_call", "h.risor", tc.text), later), batch())
			if o.Action != contract.Failed || o.Failure == nil || len(o.Decisions) != 1 {
				t.Fatalf("outcome = %+v, want a failure and no further hook", o)
			}
			f := o.Failure
			if f.Kind != tc.kind || !strings.Contains(f.Message, tc.msg) {
				t.Errorf("%s failure %q, want %s with %q", f.Kind, f.Message, tc.kind, tc.msg)
			}
			if f.At == nil || !strings.HasPrefix(f.Message, fmt.Sprintf("%s:%d:%d: ", path("h.risor"), f.At.Start.Line, f.At.Start.Column)) {
				t.Errorf("%q does not begin with its place %+v", f.Message, f.At)
			} else if tc.line > 0 && f.At.Start.Line != tc.line {
				t.Errorf("%q is at line %d, want %d", f.Message, f.At.Start.Line, tc.line)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	set := load(t, e, hooks.Limits{Time: time.Minute, Memory: 1 << 30, Operations: 1 << 40}, on("on_tool_call", "slow.risor", "func on_tool_call(ctx) {\n  for ctx.turn == 3 { ctx }\n}"))
	ctx, stop := context.WithCancelCause(context.Background())
	time.AfterFunc(50*time.Millisecond, func() { stop(errors.New("the user has had enough")) })
	start := time.Now()
	o := set.Fire(ctx, batch())
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if o.Failure == nil || o.Failure.Kind != hooks.Infrastructure || !strings.Contains(o.Failure.Message, "had enough") {
		t.Fatalf("outcome = %+v", o.Failure)
	}
	if o := set.Fire(ctx, batch()); o.Failure == nil {
		t.Error("a firing that is cancelled from the start has an answer")
	}
}

// Nothing costs nothing.
func TestNoHooksNoWork(t *testing.T) {
	e := newEngine(t, hooks.Options{ReadFile: func(p string) ([]byte, error) { t.Errorf("%s is read", p); return nil, os.ErrNotExist }})
	set, findings, err := e.Load(context.Background(), nil, hooks.Limits{})
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	f := batch()
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		if set.Has("build", "on_tool_call") {
			t.Error("there is a hook")
		}
		if o := set.Fire(ctx, f); o.Action != contract.Allow {
			t.Error(o)
		}
	}); n != 0 {
		t.Errorf("%v allocations without hooks, want 0", n)
	}
	if s := e.Stats(); s != (hooks.Stats{}) {
		t.Errorf("stats = %+v, want none", s)
	}
}

// A stage without hooks starts no worker, and costs nothing beside one that
// has them.
func TestOtherStagesCostNothing(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	d := on("on_tool_call", "g.risor", denyAll)
	d.Stage = "plan"
	set := load(t, e, hooks.Limits{}, d)
	if !set.Has("plan", "on_tool_call") || set.Has("build", "on_tool_call") || set.Has("plan", "on_error") {
		t.Error("Has is wrong about where the hook is")
	}
	before := e.Stats()
	f := batch()
	if n := testing.AllocsPerRun(100, func() {
		set.Has("plan", "on_tool_call")
		set.Has("build", "on_tool_call")
		set.Fire(context.Background(), f)
	}); n != 0 {
		t.Errorf("%v allocations in a stage without hooks, want 0", n)
	}
	if after := e.Stats(); after.Firings != before.Firings {
		t.Errorf("%d firings in a stage without hooks", after.Firings-before.Firings)
	}
	f.Stage = "plan"
	if o := fire(t, set, f); o.Action != contract.Deny {
		t.Errorf("outcome in its stage = %+v", o)
	}
}

// Hooks of every stage and of one stage fire together, in declared order.
func TestDeclaredOrder(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	note := func(id, stage string) hooks.Declaration {
		d := on("on_tool_call", id+".risor", "func on_tool_call(ctx) { return nil }")
		d.ID, d.Stage = id, stage
		return d
	}
	set := load(t, e, hooks.Limits{}, note("1", ""), note("2", "build"), note("3", "plan"), note("4", ""))
	for stage, want := range map[string]string{"build": "124", "plan": "134", "other": "14"} {
		f := batch()
		f.Stage = stage
		got := ""
		for _, d := range fire(t, set, f).Decisions {
			got += d.HookID
		}
		if got != want {
			t.Errorf("in %s fired %s, want %s", stage, got, want)
		}
	}
}

func TestConcurrentFirings(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	text := "seen := 0\nfunc on_tool_call(ctx) {\n  seen++\n  return {action: \"deny\", reason: sprintf(\"%d %d\", ctx.turn, seen)}\n}"
	set := load(t, e, hooks.Limits{Time: time.Minute}, on("on_tool_call", "a.risor", text))
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for j := range 30 {
				f := batch()
				n := int64(i*100 + j)
				f.Fields["turn"] = n
				if o := set.Fire(context.Background(), f); o.Reason != fmt.Sprintf("%d 1", n) {
					t.Errorf("turn %d: %q %+v", n, o.Reason, o.Failure)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestClosed(t *testing.T) {
	e := hooks.NewEngine(hooks.Options{})
	set := load(t, e, hooks.Limits{}, on("on_tool_call", "a.risor", allow))
	if o := fire(t, set, batch()); o.Failure != nil {
		t.Fatal(o.Failure.Message)
	}
	e.Close()
	if s := e.Stats(); s.WorkersLive != 0 || s.WorkersStarted == 0 {
		t.Errorf("stats after closing = %+v", s)
	}
	if o := fire(t, set, batch()); o.Action != contract.Failed || o.Failure.Kind != hooks.Infrastructure {
		t.Errorf("outcome after closing = %+v", o)
	}
	if _, _, err := e.Load(context.Background(), []hooks.Declaration{on("on_tool_call", "a.risor", allow)}, hooks.Limits{}); err == nil {
		t.Error("a closed engine loads")
	}
	e.Close()
}

// A host that fires an event with fields that it does not have is told so.
func TestUnknownField(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	set := load(t, e, hooks.Limits{}, on("on_tool_call", "a.risor", allow))
	f := batch()
	f.Fields["tool_call"] = 1
	if o := fire(t, set, f); o.Action != contract.Failed || !strings.Contains(o.Failure.Message, "tool_call") {
		t.Errorf("outcome = %+v", o)
	}
}
