package pool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks/worker/pool"
)

// asking is a request whose questions are answered by that.
func asking(ctx any, decide func(context.Context, string, any) map[string]any) *pool.Request {
	q := request(ctx)
	q.Decide = decide
	return q
}

func yes(context.Context, string, any) map[string]any {
	return map[string]any{"ok": true, "reason": nil, "answers": map[string]any{"yes": true}, "usage": map[string]any{"input": int64(3)}}
}

func TestAsk(t *testing.T) {
	p := open(t, pool.Options{Workers: 1})
	s := text("func f(c) {\n  a := hook.decide(\"is it?\", {type: \"object\"})\n  print(a.reason)\n  return [c, a.ok, a.answers]\n}")
	var heard string
	a, f := p.Fire(context.Background(), s, asking("ctx", func(ctx context.Context, question string, schema any) map[string]any {
		heard = fmt.Sprint(question, schema)
		return yes(ctx, question, schema)
	}))
	if f != nil || fmt.Sprint(a.Value) != "[ctx true map[yes:true]]" || heard != "is it?map[type:object]" {
		t.Errorf("answer %v, %v, heard %q", a.Value, f, heard)
	}
	for name, tc := range map[string]struct {
		decide func(context.Context, string, any) map[string]any
		why    string
	}{
		"nobody":  {nil, "nobody can be asked here"},
		"nothing": {func(context.Context, string, any) map[string]any { return nil }, "there is no answer"},
		"no data": {func(context.Context, string, any) map[string]any { return map[string]any{"ok": t} }, "no plain data"},
		"out of bound": {func(context.Context, string, any) map[string]any {
			return map[string]any{"answers": strings.Repeat("x", 2<<20)}
		}, "larger than 1 MiB"},
	} {
		a, f := p.Fire(context.Background(), s, asking("ctx", tc.decide))
		if f != nil || fmt.Sprint(a.Value) != "[ctx false <nil>]" || !strings.Contains(a.Printed, tc.why) {
			t.Errorf("%s: %v, %v, printed %q", name, a.Value, f, a.Printed)
		}
	}
	if st := p.Stats(); st.Killed != 0 {
		t.Errorf("stats %+v, want one worker for all", st)
	}
}

// The wait for an answer is not the script's time; what comes after it is.
func TestAskingTakesNoTime(t *testing.T) {
	p := open(t, pool.Options{Workers: 1})
	s := text("func f(c) {\n  a := hook.decide(\"q\", nil)\n  for c == 1 {\n    c\n  }\n  return a.ok\n}")
	if _, f := p.Fire(context.Background(), s, asking(2, yes)); f != nil { // compiles it
		t.Fatal(f)
	}
	const limit = 500 * time.Millisecond
	slow := func(ctx context.Context, question string, schema any) map[string]any {
		select {
		case <-time.After(3 * limit):
		case <-ctx.Done():
			t.Error("the wait is cut short")
		}
		return yes(ctx, question, schema)
	}
	q := asking(2, slow)
	q.Time = limit
	if a, f := p.Fire(context.Background(), s, q); f != nil || a.Value != true {
		t.Errorf("an answer after the limit: %v, %v", a.Value, f)
	}
	q = asking(1, yes)
	q.Time, q.Operations = limit, 1<<40
	if _, f := p.Fire(context.Background(), s, q); f == nil || f.Kind != pool.Limit || !strings.Contains(f.Message, "time limit of 500ms exceeded") || len(f.Stack) == 0 {
		t.Errorf("endless after an answer: %+v", f)
	}
}

// What was used before a question is not given back by asking.
func TestAskingGivesNoTimeBack(t *testing.T) {
	p := open(t, pool.Options{Workers: 1})
	s := text("func f(c) {\n  for c == 1 {\n    for i := range 20000 { i }\n    hook.decide(\"q\", nil)\n  }\n  return 1\n}")
	if _, f := p.Fire(context.Background(), s, asking(2, yes)); f != nil {
		t.Fatal(f)
	}
	asked := 0
	q := asking(1, func(ctx context.Context, question string, schema any) map[string]any {
		asked++
		return yes(ctx, question, schema)
	})
	q.Time, q.Operations = 20*time.Millisecond, 1<<40
	if _, f := p.Fire(context.Background(), s, q); f == nil || f.Kind != pool.Limit || !strings.Contains(f.Message, "time limit of 20ms exceeded") {
		t.Errorf("after %d questions: %+v", asked, f)
	}
}

func TestCancelWhileAsking(t *testing.T) {
	p := open(t, pool.Options{Workers: 1})
	s := text("func f(c) {\n  return hook.decide(\"q\", nil).ok\n}")
	ctx, stop := context.WithCancel(context.Background())
	_, f := p.Fire(ctx, s, asking(1, func(ctx context.Context, _ string, _ any) map[string]any {
		stop()
		<-ctx.Done()
		return map[string]any{"ok": true}
	}))
	if f == nil || f.Kind != pool.Infrastructure || !strings.Contains(f.Message, "cancelled: context canceled") || len(f.Stack) == 0 || f.Stack[0].Line != 2 {
		t.Errorf("failure = %+v", f)
	}
	if a, f := p.Fire(context.Background(), s, asking(1, yes)); f != nil || a.Value != true {
		t.Errorf("afterwards %v, %v", a.Value, f)
	}
}

// A worker that dies while its script waits ends the wait, and nothing is
// asked twice.
func TestKilledWhileAsking(t *testing.T) {
	p := open(t, pool.Options{Workers: 1})
	s := text("func f(c) {\n  return hook.decide(\"q\", nil).ok\n}")
	asked := 0
	_, f := p.Fire(context.Background(), s, asking(1, func(ctx context.Context, _ string, _ any) map[string]any {
		asked++
		pool.KillAll(p)
		<-ctx.Done()
		return nil
	}))
	if f == nil || f.Kind != pool.Infrastructure || asked != 1 {
		t.Errorf("asked %d times, failure = %+v", asked, f)
	}
}

func TestTooManyQuestions(t *testing.T) {
	p := open(t, pool.Options{Workers: 1})
	s := text("func f(c) {\n  n := 0\n  for i := 0; i < c; i++ {\n    if hook.decide(\"q\", nil).ok { n++ }\n  }\n  return n\n}")
	if a, f := p.Fire(context.Background(), s, asking(32, yes)); f != nil || a.Value != int64(32) {
		t.Errorf("32 questions: %v, %v", a.Value, f)
	}
	asked := 0
	_, f := p.Fire(context.Background(), s, asking(33, func(ctx context.Context, question string, schema any) map[string]any {
		asked++
		return yes(ctx, question, schema)
	}))
	if f == nil || f.Kind != pool.Limit || !strings.Contains(f.Message, "limit of 32 questions exceeded") || len(f.Stack) == 0 || f.Stack[0].Line != 4 || asked != 32 {
		t.Errorf("33 questions: asked %d, failure = %+v", asked, f)
	}
	if st := p.Stats(); st.Killed != 1 {
		t.Errorf("stats %+v, want the worker killed", st)
	}
}
