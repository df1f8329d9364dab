package hooks

import (
	"context"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks/contract"
)

// Every example of the reference page runs as it stands, on a ctx that has
// nothing in it, in a real worker.
func TestExamplesRun(t *testing.T) {
	e := NewEngine(Options{})
	t.Cleanup(e.Close)
	var declared []Declaration
	for _, row := range contract.Events() {
		if row.Function != "" {
			declared = append(declared, Declaration{ID: row.Name, Event: row.Name, Path: "/hooks/" + row.Function + ".risor", Text: []byte(row.Example)})
		}
	}
	set, findings, err := e.Load(context.Background(), declared, Limits{})
	if err != nil || set == nil {
		t.Fatalf("load: %v, %+v", err, findings)
	}
	for _, d := range declared {
		row := contract.ByName(d.Event)
		fields := map[string]any{}
		if _, ok := row.Field("regions"); ok {
			fields["regions"] = map[string]any{"task": "t", "conversation": ""}
		}
		out := set.Fire(context.Background(), Firing{Event: d.Event, At: time.Unix(0, 0), Fields: fields})
		if len(out.Decisions) != 1 {
			t.Errorf("%s: %d decisions", d.Event, len(out.Decisions))
			continue
		}
		if f := out.Decisions[0].Error; f != nil {
			t.Errorf("%s: %s", d.Event, f.Message)
		}
		if out.Failure == nil && !row.Honours(out.Action) {
			t.Errorf("%s came to %v", d.Event, out.Action)
		}
	}
}

// The example of hook.decide in the reference page does what it says.
func TestExampleOfDecideRuns(t *testing.T) {
	e := NewEngine(Options{})
	t.Cleanup(e.Close)
	text := contract.Library().Module("hook").Function("decide").Example
	set, findings, err := e.Load(context.Background(), []Declaration{{ID: "x", Event: "tool:gate", Path: "/x.risor", Text: []byte(text)}}, Limits{})
	if err != nil || set == nil {
		t.Fatalf("load: %v, %+v", err, findings)
	}
	answer := func(outside bool) map[string]any {
		return map[string]any{"ok": true, "reason": nil, "answers": map[string]any{"outside": outside}, "usage": map[string]any{}}
	}
	for _, tc := range []struct {
		name   string
		decide func(context.Context, string, any) map[string]any
		action contract.Action
		reason string
	}{
		{"yes", func(context.Context, string, any) map[string]any { return answer(true) }, contract.Deny, "outside of this folder"},
		{"no", func(context.Context, string, any) map[string]any { return answer(false) }, contract.Allow, ""},
		{"nobody", nil, contract.Deny, "nobody could say whether it is safe: nobody can be asked here"},
	} {
		asked := ""
		if decide := tc.decide; decide != nil {
			tc.decide = func(ctx context.Context, question string, schema any) map[string]any {
				asked = question
				if m, _ := schema.(map[string]any); m["type"] != "object" {
					t.Errorf("the schema is %v", schema)
				}
				return decide(ctx, question, schema)
			}
		}
		f := gateFiring()
		f.Fields["name"], f.Fields["input"], f.Decide = "shell", map[string]any{"command": "rm -rf /"}, tc.decide
		out := set.Fire(context.Background(), f)
		if out.Failure != nil || out.Action != tc.action || !strings.Contains(out.Reason, tc.reason) {
			t.Errorf("%s: %v %q, %+v", tc.name, out.Action, out.Reason, out.Failure)
		}
		if tc.decide != nil && !strings.Contains(asked, `{"command":"rm -rf /"}`) {
			t.Errorf("%s: asked %q", tc.name, asked)
		}
	}
}

// What a hook waits for an answer takes nothing of the time that the hooks of
// an event have together.
func TestWaitingStopsTheClock(t *testing.T) {
	const limit = 200 * time.Millisecond
	ctx, c, stop := withClock(context.Background(), limit)
	defer stop()
	ask := c.aside(func(context.Context, string, any) map[string]any {
		select {
		case <-ctx.Done():
			t.Error("the clock ran out while the hook waited")
		case <-time.After(2 * limit):
		}
		return nil
	})
	ask(ctx, "q", nil)
	select {
	case <-ctx.Done():
		if context.Cause(ctx) != context.DeadlineExceeded {
			t.Errorf("ended with %v", context.Cause(ctx))
		}
	case <-time.After(10 * time.Second):
		t.Error("the clock stands still for ever")
	}
}

// The functions of our own library give what they say, in a worker.
func TestLibraryInAWorker(t *testing.T) {
	e := NewEngine(Options{})
	t.Cleanup(e.Close)
	script := `func tool_transform(ctx) {
    assert(text.count_tokens("12345") == 2)
    assert(text.truncate("äöü", 2) == "ä…")
    assert(text.truncate("äöü", 3) == "äöü")
    return hook.modify({result: diff.unified("a\nb\n", "a\nc\n")})
}
`
	set, findings, err := e.Load(context.Background(), []Declaration{{ID: "x", Event: "tool:transform", Path: "/x.risor", Text: []byte(script)}}, Limits{})
	if err != nil || set == nil {
		t.Fatalf("load: %v, %+v", err, findings)
	}
	out := set.Fire(context.Background(), Firing{Event: "tool:transform", At: time.Unix(0, 0)})
	if out.Failure != nil {
		t.Fatal(out.Failure.Message)
	}
	if got := out.Value.(map[string]any)["result"]; got != "@@ -1,2 +1,2 @@\n a\n-b\n+c\n" {
		t.Errorf("the diff is %q", got)
	}
}

// A switched-off hook is not asked, and its neighbours are.
func TestASwitchedOffHook(t *testing.T) {
	e := NewEngine(Options{})
	t.Cleanup(e.Close)
	text := func(reason string) []byte {
		return []byte("func tool_gate(ctx) {\n    return hook.deny(\"" + reason + "\")\n}\n")
	}
	set, _, err := e.Load(context.Background(), []Declaration{
		{ID: "one", Event: "tool:gate", Path: "/one.risor", Text: text("one")}, {ID: "two", Event: "tool:gate", Path: "/two.risor", Text: text("two")},
	}, Limits{})
	if err != nil || set == nil {
		t.Fatal(err)
	}
	off := map[string]bool{}
	set = set.Without(func(id string) bool { return off[id] })
	for _, tc := range []struct{ off, want string }{{"", "one; two"}, {"one", "two"}, {"two", "one"}} {
		off = map[string]bool{tc.off: true}
		if out := set.Fire(context.Background(), gateFiring()); out.Reason != tc.want {
			t.Errorf("without %q: %q, want %q", tc.off, out.Reason, tc.want)
		}
	}
}
