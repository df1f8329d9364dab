package hooks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/event"
)

// goSet is a set with Go handlers only.
func goSet(t *testing.T, b *Bus) *Set {
	t.Helper()
	e := NewEngine(Options{})
	t.Cleanup(e.Close)
	set, findings, err := e.Load(context.Background(), nil, Limits{})
	if err != nil || len(findings) > 0 {
		t.Fatalf("load: %v, %v", findings, err)
	}
	return set.With(b, nil)
}

func gateFiring() Firing {
	return Firing{Event: "tool:gate", Stage: "work", At: time.Unix(0, 0), CallID: "c1", Fields: map[string]any{
		"run_id": "r", "call_id": "c1", "name": "shell", "input": map[string]any{"command": "rm -rf /"},
		"run_tool_counts": map[string]any{"shell": int64(2)},
	}}
}

func TestHandlersGetTheTypedEvent(t *testing.T) {
	b := &Bus{}
	On(b, "guard", func(_ context.Context, e *event.ToolGate) (Answer, error) {
		if e.RunID != "r" || e.Name != "shell" || e.RunToolCounts["shell"] != 2 || e.Coercions != nil || e.Resumed {
			t.Errorf("the event is %+v", e)
		}
		return Answer{Action: contract.Deny, Reason: "no " + e.Input["command"].(string)}, nil
	})
	set := goSet(t, b)
	if !set.Has("work", "tool:gate") || set.Has("work", "tool:after") {
		t.Error("Has does not know the handlers")
	}
	out := set.Fire(context.Background(), gateFiring())
	if out.Action != contract.Deny || out.Reason != "no rm -rf /" || len(out.Decisions) != 1 || out.Decisions[0].Hook.Go != "guard" {
		t.Errorf("outcome %+v", out)
	}
}

// Handlers are asked in the order of their registration, each with what the
// one before left; deny beats substitute.
func TestHandlersInTheirOrder(t *testing.T) {
	b := &Bus{}
	add := func(text string) {
		On(b, text, func(_ context.Context, e *event.ToolTransform) (Answer, error) {
			return Answer{Action: contract.Modify, Value: map[string]any{"result": e.Result + text}}, nil
		})
	}
	add("b")
	add("c")
	set := goSet(t, b)
	out := set.Fire(context.Background(), Firing{Event: "tool:transform", Fields: map[string]any{"result": "a", "input": map[string]any{}}})
	if got := out.Value.(map[string]any)["result"]; got != "abc" {
		t.Errorf("result %v", got)
	}
	if len(out.Decisions) != 2 || out.Decisions[1].Changes[0].Path != "/result" {
		t.Errorf("decisions %+v", out.Decisions)
	}
	g := &Bus{}
	for _, a := range []Answer{{Action: contract.Substitute, Value: "x"}, {Action: contract.Deny, Reason: "no"}} {
		On(g, "h", func(context.Context, *event.ToolGate) (Answer, error) { return a, nil })
	}
	if out := goSet(t, g).Fire(context.Background(), gateFiring()); out.Action != contract.Deny || out.Reason != "no" {
		t.Errorf("outcome %+v", out)
	}
}

func TestBrokenHandlersFailClosed(t *testing.T) {
	for name, tc := range map[string]struct {
		h    func(context.Context, *event.ToolGate) (Answer, error)
		want string
		kind FailureKind
	}{
		"error": {func(context.Context, *event.ToolGate) (Answer, error) { return Answer{}, errors.New("down") }, "handler guard of tool:gate: down", ScriptFailure},
		"panic": {func(context.Context, *event.ToolGate) (Answer, error) { panic("oops") }, "panic: oops", ScriptFailure},
		"retry": {func(context.Context, *event.ToolGate) (Answer, error) { return Answer{Action: contract.Retry}, nil }, "cannot retry", Malformed},
		"modify": {func(context.Context, *event.ToolGate) (Answer, error) {
			return Answer{Action: contract.Modify, Value: "x"}, nil
		}, "not honoured", Malformed},
		"not plain": {func(context.Context, *event.ToolGate) (Answer, error) {
			return Answer{Action: contract.Substitute, Value: struct{}{}}, nil
		}, "not plain data", Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Bus{}
			On(b, "guard", tc.h)
			out := goSet(t, b).Fire(context.Background(), gateFiring())
			if out.Failure == nil || !strings.Contains(out.Failure.Message, tc.want) || out.Failure.Kind != tc.kind || out.Action != contract.Failed {
				t.Errorf("outcome %+v, failure %+v", out, out.Failure)
			}
		})
	}
}

func TestAHandlerThatDoesNotComeBack(t *testing.T) {
	b := &Bus{}
	release := make(chan struct{})
	defer close(release)
	On(b, "slow", func(context.Context, *event.ToolGate) (Answer, error) { <-release; return Answer{}, nil })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if out := goSet(t, b).Fire(ctx, gateFiring()); out.Failure == nil {
		t.Errorf("outcome %+v", out)
	}
}

// zidane's extension interceptors are handlers of two events; what a handler
// does to its ctx changes nothing.
func TestInterceptors(t *testing.T) {
	b := &Bus{}
	if err := b.Handle("tool.call", "first", func(_ context.Context, ctx map[string]any) (Answer, error) {
		ctx["input"].(map[string]any)["command"] = "ls"
		return Answer{State: map[string]any{"n": int64(1)}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	var seen any
	if err := b.Handle("tool.call", "second", func(_ context.Context, ctx map[string]any) (Answer, error) {
		seen = ctx["input"].(map[string]any)["command"]
		return Answer{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	out := goSet(t, b).Fire(context.Background(), gateFiring())
	if out.Action != contract.Allow || seen != "rm -rf /" || out.States["go.tool:gate.0"]["n"] != int64(1) {
		t.Errorf("outcome %+v, the second saw %v", out, seen)
	}
	if err := b.Handle("tool:gte", "x", nil); err == nil || !strings.Contains(err.Error(), `"tool:gate"`) {
		t.Errorf("an event that there is not: %v", err)
	}
	if got := b.Registered(); len(got) != 2 || got[0].Name != "first" {
		t.Errorf("registered %+v", got)
	}
}

// Every event has a type of its own that takes what the contract gives.
func TestEveryEventDecodes(t *testing.T) {
	for _, row := range contract.Events() {
		b := &Bus{}
		called := false
		if err := b.Handle(row.Name, "h", func(context.Context, map[string]any) (Answer, error) {
			called = true
			return Answer{}, nil
		}); err != nil {
			t.Error(err)
		}
		out := goSet(t, b).Fire(context.Background(), Firing{Event: row.Name})
		if out.Failure != nil || !called {
			t.Errorf("%s: %+v", row.Name, out.Failure)
		}
	}
}

func TestNothingCostsNothing(t *testing.T) {
	set := goSet(t, &Bus{})
	ctx := context.Background()
	f := Firing{Event: "tool:gate", Stage: "work"}
	if n := testing.AllocsPerRun(100, func() { set.Fire(ctx, f) }); n != 0 {
		t.Errorf("an event without hooks allocates %v times", n)
	}
}
