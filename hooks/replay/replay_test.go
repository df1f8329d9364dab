package replay_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/replay"
	"agent-ls/hooks/worker"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Subcommand {
		worker.Main()
	}
	os.Exit(m.Run())
}

var moment = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

var scriptPath = filepath.Join(os.TempDir(), "agent-ls-replay", "guard.risor")

func newEngine(t testing.TB) *hooks.Engine {
	e := hooks.NewEngine(hooks.Options{})
	t.Cleanup(e.Close)
	return e
}

// played is a script that fired live, with what was recorded of it.
func played(t testing.TB, e *hooks.Engine, text string, firings ...hooks.Firing) []*replay.Event {
	t.Helper()
	var declared []hooks.Declaration
	seen := map[string]bool{}
	for _, f := range firings {
		if !seen[f.Event] {
			seen[f.Event] = true
			declared = append(declared, hooks.Declaration{ID: "guard@" + f.Event, Event: f.Event, Path: scriptPath, Text: []byte(text)})
		}
	}
	set, findings, err := e.Load(context.Background(), declared, hooks.Limits{})
	if set == nil {
		t.Fatalf("load: %v %v", findings, err)
	}
	var events []*replay.Event
	for i, f := range firings {
		out := set.Fire(context.Background(), f)
		for _, d := range out.Decisions {
			if d.Record == nil {
				t.Fatalf("firing %d has no record", i)
			}
			// What is journaled is what is read back.
			b, err := d.Record.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := hooks.ReadRecord(b)
			if err != nil {
				t.Fatal(err)
			}
			d.Seq = int64(i + 1)
			events = append(events, &replay.Event{Was: d, Record: *r})
		}
	}
	return events
}

func load(t testing.TB, e *hooks.Engine, text string) *replay.Script {
	t.Helper()
	s, findings, err := replay.Load(context.Background(), e, scriptPath, []byte(text), "", hooks.Limits{})
	if s == nil {
		t.Fatalf("load: %v %v", findings, err)
	}
	return s
}

func sequence(events []*replay.Event) iter.Seq2[*replay.Event, error] {
	return func(yield func(*replay.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func shell(command string) hooks.Firing {
	return hooks.Firing{Event: "tool:gate", Stage: "build", At: moment, CallID: "c-" + command, Fields: map[string]any{
		"run_id": "r1", "session_id": "s1", "stage": "build", "call_id": "c-" + command, "name": "shell", "input": map[string]any{"command": command, "n": int64(3), "f": 3.0},
	}}
}

const guard = `func tool_gate(ctx) {
	if strings.contains(ctx.input.command, "rm ") { return hook.deny("no rm") }

	if strings.contains(ctx.input.command, "cat ") { return hook.substitute("empty") }
	if strings.contains(ctx.input.command, "boom") { error("it went off") }
	if strings.contains(ctx.input.command, "late") { return time.now().unix() > 0 ? {action: "allow", state: {at: time.now().unix()}} : nil }
	return true
}
func tool_transform(ctx) { return {action: "modify", value: {result: 'n is {ctx.input.n + 1}'}, state: {f: ctx.input.f}} }
`

var commands = []string{"ls", "rm -rf x", "cat y", "late"}

// result is what a tool gave.
func result(text string) hooks.Firing {
	f := shell("ls")
	f.Event, f.Fields["result"] = "tool:transform", text
	return f
}

// TestWhatIsNew plays recorded events through changed scripts.
func TestWhatIsNew(t *testing.T) {
	e := newEngine(t)
	var firings []hooks.Firing
	for _, c := range append(commands, "boom") {
		firings = append(firings, shell(c))
	}
	firings = append(firings, result("done"))
	events := played(t, e, guard, firings...)
	for _, test := range []struct {
		name, old, new string
		changed        []string
		broken         []string
	}{
		{"nothing", "", "", nil, []string{"guard.risor:5:51: it went off"}},
		{"reason", `deny("no rm")`, `deny("never")`, []string{`2 deny, with the reason "never" instead of "no rm"`}, []string{"5:51"}},
		{"action", `hook.deny("no rm")`, `true`, []string{"2 it did deny: no rm and would now allow"}, []string{"5:51"}},
		{"value", `ctx.input.n + 1`, `ctx.input.n + 2`, []string{"6 modify, with another value at /result"}, []string{"5:51"}},
		{"type of a number", `f: ctx.input.f`, `f: 3`, []string{"6 modify, with another state at /f"}, []string{"5:51"}},
		{"result", `"empty"`, `"none"`, []string{"3 substitute, with another value at /"}, []string{"5:51"}},
		{"state", `state: {at:`, `state: {then:`, []string{"4 allow, with another state at /at, /then"}, []string{"5:51"}},
		{"spelling of allow", "return true", `return {action: "allow"}`, nil, []string{"5:51"}},
		{"repaired", `error("it went off")`, `return hook.deny("mended")`, []string{"5 it failed (" + scriptPath + ":5:51: it went off) and would now deny: mended"}, nil},
		{"newly broken", `return hook.deny("no rm")`, `return ctx.input.missing`, nil, []string{"guard.risor:2:", "5:51"}},
		{"malformed", `return hook.substitute("empty")`, `return ctx.input.command`, nil, []string{"malformed", "5:51"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := load(t, e, strings.Replace(guard, test.old, test.new, 1))
			r, err := s.All(context.Background(), sequence(events), replay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var changed []string
			for _, c := range r.Changed {
				changed = append(changed, fmt.Sprintf("%d %s", c.Was.Seq, c.Because))
			}
			if diff := cmp.Diff(test.changed, changed); diff != "" {
				t.Errorf("changed: -want +got\n%s", diff)
			}
			if len(r.Broken) != len(test.broken) {
				t.Fatalf("broken: got %d, want %d: %+v", len(r.Broken), len(test.broken), r.Broken)
			}
			for i, want := range test.broken {
				if !strings.Contains(r.Broken[i].Because, want) {
					t.Errorf("broken %d: got %q, want %q in it", i, r.Broken[i].Because, want)
				}
				if r.Broken[i].Now.Error == nil || r.Broken[i].Now.Error.At == nil {
					t.Errorf("broken %d has no place", i)
				}
			}
			if r.Checked != len(events) || r.Unchanged+len(r.Changed)+len(r.Broken) != len(events) {
				t.Errorf("checked %d, unchanged %d of %d", r.Checked, r.Unchanged, len(events))
			}
		})
	}
}

// TestStateAndClockAreThoseOfThen plays firings that depend on both.
func TestStateAndClockAreThoseOfThen(t *testing.T) {
	e := newEngine(t)
	const text = `func tool_gate(ctx) {
	n := ctx.state.get("n", 0) + 1
	if n > 2 { return {action: "deny", reason: 'call {n} at {time.now().unix()}', state: {n: n}} }
	return {action: "allow", state: {n: n}}
}
`
	set, findings, err := e.Load(context.Background(), []hooks.Declaration{{ID: "h", Event: "tool:gate", Path: scriptPath, Text: []byte(text)}}, hooks.Limits{})
	if set == nil {
		t.Fatal(findings, err)
	}
	var events []*replay.Event
	states := map[string]map[string]any{}
	for i := range 5 {
		f := shell("ls")
		f.States, f.At = states, moment.Add(time.Duration(i)*time.Hour)
		out := set.Fire(context.Background(), f)
		if out.Failure != nil {
			t.Fatal(out.Failure.Message)
		}
		states = out.States
		events = append(events, &replay.Event{Was: out.Decisions[0], Record: *out.Decisions[0].Record})
	}
	if got := events[4].Was.Reason; !strings.HasPrefix(got, "call 5 at ") {
		t.Fatalf("the fifth firing says %q", got)
	}
	r, err := load(t, e, text).All(context.Background(), sequence(events), replay.Options{})
	if err != nil || r.Unchanged != 5 {
		t.Errorf("unchanged %d of 5: %v %+v", r.Unchanged, err, r)
	}
}

const asking = `func tool_gate(ctx) {
	a := hook.decide('may {ctx.input.command} run?', {type: "boolean"})
	b := hook.decide('may {ctx.input.command} run?', {type: "boolean"})
	if a.answers && !b.answers { return hook.deny(a.reason == nil ? "first yes, then no" : a.reason) }
	return true
}
`

// TestAnswersComeFromTheRecord asks nobody, equal questions in their order.
func TestAnswersComeFromTheRecord(t *testing.T) {
	e := newEngine(t)
	f := shell("ls")
	n := 0
	f.Decide = func(context.Context, string, any) map[string]any {
		n++
		return map[string]any{"ok": true, "reason": nil, "answers": n == 1, "usage": map[string]any{"input": int64(1)}}
	}
	events := played(t, e, asking, f)
	if events[0].Was.Action != "deny" || len(events[0].Record.Asked) != 2 {
		t.Fatalf("%+v", events[0])
	}
	r := load(t, e, asking).Run(context.Background(), events[0])
	if r.Kind != replay.Unchanged {
		t.Errorf("the same script: %v %s", r.Kind, r.Because)
	}
	other := load(t, e, strings.Replace(asking, `	b := hook.decide('may`, `	b := hook.decide('Really, may`, 1))
	r = other.Run(context.Background(), events[0])
	if r.Kind != replay.Broken || r.Now.Error.Kind != hooks.Unasked {
		t.Fatalf("another question: %v %+v", r.Kind, r.Now)
	}
	if want := `:3:12: hook.decide: there is no recorded answer to "Really, may ls run?", and a replay asks nobody`; !strings.HasSuffix(r.Because, want) {
		t.Errorf("got %q, want %q behind the path", r.Because, want)
	}
	if n != 2 {
		t.Errorf("%d questions were put", n)
	}
}

// TestWhatIsTooLargeIsNotKept says so instead of judging without it.
func TestWhatIsTooLargeIsNotKept(t *testing.T) {
	e := newEngine(t)
	large := shell("ls")
	large.Fields["input"].(map[string]any)["text"] = strings.Repeat("x", hooks.MaxRecordedCtx)
	events := played(t, e, guard, large)
	if events[0].Record.Ctx != nil {
		t.Fatalf("%d bytes are kept", len(events[0].Record.Ctx))
	}
	r := load(t, e, guard).Run(context.Background(), events[0])
	if r.Kind != replay.Broken || r.Now.Error.Kind != hooks.Unrecorded {
		t.Errorf("%+v", r)
	}

	const echo = `func tool_gate(ctx) { return hook.substitute(strings.repeat("x", 300000)) }`
	events = played(t, e, echo, shell("ls"))
	if events[0].Record.Answer != nil {
		t.Fatal("a large answer is kept")
	}
	if r := load(t, e, echo).Run(context.Background(), events[0]); r.Kind != replay.Broken || r.Now.Error.Kind != hooks.Unrecorded {
		t.Errorf("a large answer: %v %s", r.Kind, r.Because)
	}
	if r := load(t, e, `func tool_gate(ctx) { return true }`).Run(context.Background(), events[0]); r.Kind != replay.Changed {
		t.Errorf("another action: %v %s", r.Kind, r.Because)
	}
}

// TestABadScriptDoesNotStopTheOthers has each limit reached in the middle.
func TestABadScriptDoesNotStopTheOthers(t *testing.T) {
	e := newEngine(t)
	var firings []hooks.Firing
	for i := range 40 {
		firings = append(firings, shell(fmt.Sprintf("ls %d", i)))
	}
	events := played(t, e, guard, firings...)
	s := load(t, e, `func tool_gate(ctx) {
	if ctx.input.command == "ls 7" { for { } }
	if ctx.input.command == "ls 9" { x := byte_slice(100000000000) }
	if ctx.input.command == "ls 11" { return tool_gate(ctx) }
	return true
}
`)
	r, err := s.All(context.Background(), sequence(events), replay.Options{})
	if err != nil || r.Checked != 40 || r.Unchanged != 37 || len(r.Broken) != 3 {
		t.Fatalf("%v %+v", err, r)
	}
	for i, n := range []int{8, 10, 12} {
		b := r.Broken[i]
		if b.Was.Seq != int64(n) || b.Now.Error.Kind != hooks.LimitFailure || b.Now.Error.At == nil || b.Now.Error.At.Start.Line != i+2 {
			t.Errorf("broken %d: %d %+v", i, b.Was.Seq, b.Now.Error)
		}
	}
}

// TestAScriptWithoutASayThen plays the moments of other scripts.
func TestAScriptWithoutASayThen(t *testing.T) {
	e := newEngine(t)
	events := played(t, e, guard, shell("rm -rf x"), shell("ls"))
	for _, x := range events {
		x.New = true
	}
	r, err := load(t, e, guard).All(context.Background(), sequence(events), replay.Options{})
	if err != nil || r.Unchanged != 1 || len(r.Changed) != 1 {
		t.Fatalf("%v %+v", err, r)
	}
	if got, want := r.Changed[0].Because, "it had no say and would now deny: no rm"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCancelEndsIt(t *testing.T) {
	e := newEngine(t)
	events := played(t, e, guard, shell("ls"))
	ctx, cancel := context.WithCancel(context.Background())
	endless := func(yield func(*replay.Event, error) bool) {
		for yield(events[0], nil) {
		}
	}
	r, err := load(t, e, guard).All(ctx, endless, replay.Options{Progress: func(int) { cancel() }})
	if err == nil || r.Checked < 500 || len(r.Broken) > 0 {
		t.Errorf("%v, checked %d, broken %d", err, r.Checked, len(r.Broken))
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	e := newEngine(t)
	for _, test := range []struct{ text, function, err, finding string }{
		{"func tool_gate(ctx) { return tru }", "", "", "tru"},
		{"func helper(x) { return x }", "", "has no function that an event fires", ""},
		{guard, "tool_gat", `has no hook function "tool_gat"; did you mean "tool_gate"?`, ""},
	} {
		s, findings, err := replay.Load(context.Background(), e, scriptPath, []byte(test.text), test.function, hooks.Limits{})
		if s != nil {
			t.Errorf("%q loads", test.text)
		}
		if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("got %v, want %q in it", err, test.err)
		}
		found := false
		for _, f := range findings {
			found = found || f.Severity == check.Error && strings.Contains(f.Message, test.finding)
		}
		if test.finding != "" && !found {
			t.Errorf("got %v, want a finding with %q", findings, test.finding)
		}
	}
}

// TestAskWithAPartOfTheCtx is how fixtures ask.
func TestAskWithAPartOfTheCtx(t *testing.T) {
	e := newEngine(t)
	s := load(t, e, guard)
	a, err := s.Ask(context.Background(), "tool:gate", map[string]any{"input": map[string]any{"command": "rm x"}}, nil, moment, nil)
	if err != nil || a.Decision.Action != "deny" || a.Decision.Reason != "no rm" || string(a.Answer) != `{"action":"deny","reason":"no rm"}` {
		t.Errorf("%v %+v %s", err, a.Decision, a.Answer)
	}
	if _, err := s.Ask(context.Background(), "tool:gate", map[string]any{"inptu": 1}, nil, moment, nil); err == nil || !strings.Contains(err.Error(), `"input"`) {
		t.Errorf("a misspelt field: %v", err)
	}
}
