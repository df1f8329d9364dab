package replay_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/replay"
)

var fixturePath = filepath.Join(filepath.Dir(scriptPath), "guard_test.toml")

// everyFunction is a script that defines a function for each event.
var everyFunction = func() []byte {
	var b strings.Builder
	for _, e := range contract.Events() {
		if e.Function != "" {
			b.WriteString("func " + e.Function + "(ctx) {\n    return nil\n}\n")
		}
	}
	return []byte(b.String())
}()

func beside(text string) func(string) ([]byte, bool) {
	return func(string) ([]byte, bool) { return []byte(text), true }
}

// A case of an event needs to say nothing about ctx: what is left out is as a
// run could give it, for every event.
func TestShortCases(t *testing.T) {
	e := newEngine(t)
	s := load(t, e, string(everyFunction))
	for _, event := range contract.Events() {
		if event.Function == "" {
			continue
		}
		fixture, findings := replay.ReadFixture(fixturePath, []byte("event = \""+event.Name+"\"\nwant = \"allow\"\n"), beside(string(everyFunction)))
		if fixture == nil {
			t.Fatalf("%s: %v", event.Name, findings)
		}
		c := &fixture.Cases[0]
		for _, f := range event.AllFields() {
			if v, ok := c.Ctx[f.Name]; ok {
				if err := contract.Fits(v, &f.Type, f.Name); err != nil {
					t.Errorf("%s: %v", event.Name, err)
				}
			}
		}
		if r := s.Test(context.Background(), c); len(r.Mismatches) > 0 {
			t.Errorf("%s: %v", event.Name, r.Mismatches)
		}
	}
}

// The misspelt word has a fix that makes the finding go away.
func TestFixtureFixes(t *testing.T) {
	for _, c := range []struct{ text, code string }{
		{"event = \"tool:gte\"\nwant = \"allow\"\n", string(check.CodeUnknownEvent)},
		{"event = \"tool_gate\"\nwant = \"allow\"\n", string(check.CodeUnknownEvent)},
		{"event = \"tool:gate\"\nwant = \"alow\"\n", string(check.CodeUnknownAction)},
		{"event = \"tool:gate\"\nwnt = \"allow\"\nwant = \"allow\"\n", string(check.CodeUnknownKey)},
		{"event = \"tool:gate\"\nctx.nme = \"shell\"\nwant = \"allow\"\n", string(check.CodeUnknownField)},
		{"event = \"tool:before\"\nctx.effect = \"raed\"\nwant = \"allow\"\n", string(check.CodeWrongType)},
	} {
		_, findings := replay.ReadFixture(fixturePath, []byte(c.text), beside(string(everyFunction)))
		if len(findings) != 1 || string(findings[0].Code) != c.code || len(findings[0].Fixes) != 1 {
			t.Errorf("%q: %+v, want one %s with a fix", c.text, findings, c.code)
			continue
		}
		edit := findings[0].Fixes[0].Edits[0]
		fixed := c.text[:edit.Span.Start] + edit.NewText + c.text[edit.Span.End:]
		if strings.Contains(fixed, "wnt") || strings.Contains(fixed, "nme") {
			t.Errorf("%q became %q", c.text, fixed)
		}
		_, findings = replay.ReadFixture(fixturePath, []byte(fixed), beside(string(everyFunction)))
		for _, f := range findings {
			if string(f.Code) == c.code {
				t.Errorf("%q became %q: %s", c.text, fixed, f.Message)
			}
		}
	}
}

const recordedGuard = `func on_tool_call(ctx) {
    print("seen")
    names := []
    for _, call := range ctx.tool_calls {
        if call.name == "shell" && call.arguments.command == "rm" {
            return {action: "deny", reason: "no \"rm\"\n", calls: [call.id], state: {n: ctx.state.get("n", 0) + 1, f: 1.5}}
        }
        if call.name == "odd" {
            return hook.modify([{id: call.id, name: "odd", arguments: {a: nil, b: [1, nil, 2.0]}}])
        }
        if call.name == "throw" {
            return names[3]
        }
    }
    return hook.allow()
}

func tool_gate(ctx) {
    if hook.decide("may it?", {type: "boolean"}).answers {
        return {action: "substitute", value: {ok: true}, is_error: true}
    }
    return hook.deny(hook.decide("why not?", nil).reason)
}

func tool_transform(ctx) {
    return hook.modify({result: ctx.result + "\n\"\"\"\"\\\t\x7f\x1b[0m\n\"x\""})
}
`

// What was recorded becomes cases that read back as they were and pass; the
// second of a name is told from the first, and what was there stays.
func TestRecordedCasesPass(t *testing.T) {
	e := newEngine(t)
	batch := func(name string, arguments map[string]any) hooks.Firing {
		return hooks.Firing{Event: "on_tool_call", At: moment, States: map[string]map[string]any{"guard@on_tool_call": {"n": int64(4), "a.b": "c"}},
			Fields: map[string]any{"run_id": "r", "parent_run_id": "p", "tool_calls": []any{map[string]any{"id": "c1", "name": name, "arguments": arguments}}}}
	}
	told := []map[string]any{{"ok": true, "reason": nil, "answers": false, "usage": map[string]any{}}, {"ok": false, "reason": "nobody knows", "answers": nil, "usage": map[string]any{}}}
	n := 0
	gate := hooks.Firing{Event: "tool:gate", At: moment, CallID: "c", Fields: map[string]any{"name": "shell", "input": map[string]any{"command": "a\nb\nc"}},
		Decide: func(context.Context, string, any) map[string]any { n++; return told[n-1] }}
	events := played(t, e, recordedGuard,
		batch("shell", map[string]any{"command": "rm"}), batch("shell", map[string]any{"command": "ls", "x y": nil, "deep": map[string]any{"q": []any{int64(1), nil, 2.0}}}),
		batch("odd", nil), batch("throw", nil), batch("throw", nil), gate,
		hooks.Firing{Event: "tool:transform", At: moment, Fields: map[string]any{"result": "one\n  two \"\"\" \\ \x1b[31m\nthree\"", "name": "shell"}},
		hooks.Firing{Event: "tool:transform", At: moment, Fields: map[string]any{"result": "one\n\ttwo \"\"\"\" \\\" \nthree", "name": "shell"}},
	)
	for _, start := range []string{"", "# mine\r\nevent = \"tool:gate\"\r\nwant = \"deny\"\r\ndecide = [{ answers = true }]\r\nname = \"mine\""} {
		text := []byte(start)
		for _, ev := range events {
			c, err := replay.CaseOf(ev, ev.Was.Event+" "+ev.Was.Action, nil)
			if err != nil {
				t.Fatal(err)
			}
			added, _, err := replay.AppendCase(fixturePath, text, c, beside(recordedGuard))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if !strings.HasPrefix(string(added), string(text)) {
				t.Fatal("what was there did not stay")
			}
			text = added
		}
		fixture, findings := replay.ReadFixture(fixturePath, text, beside(recordedGuard))
		if fixture == nil {
			t.Fatalf("%v\n%s", findings, text)
		}
		s := load(t, e, recordedGuard)
		names := map[string]bool{}
		for i := range fixture.Cases {
			c := &fixture.Cases[i]
			names[c.Name] = true
			r := s.Test(context.Background(), c)
			if c.Name == "mine" {
				if len(r.Mismatches) == 0 {
					t.Error("the case that wants another decision passed")
				}
				continue
			}
			if len(r.Mismatches) > 0 {
				t.Errorf("%s: %v\n%s", c.Name, r.Mismatches, text)
			}
		}
		if !names["on_tool_call error"] || !names["on_tool_call error (2)"] || len(names) != len(fixture.Cases) {
			t.Errorf("names %v of %d cases", names, len(fixture.Cases))
		}
	}
}

// A mask goes over every text of a recorded case.
func TestRecordedCasesAreMasked(t *testing.T) {
	e := newEngine(t)
	events := played(t, e, recordedGuard, hooks.Firing{Event: "tool:transform", At: moment, Fields: map[string]any{"result": "SECRET", "input": map[string]any{"x": []any{"SECRET"}}}})
	c, err := replay.CaseOf(events[0], "x", func(s string) string { return strings.ReplaceAll(s, "SECRET", "***") })
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := replay.AppendCase(fixturePath, nil, c, beside(recordedGuard))
	if err != nil || strings.Contains(string(text), "SECRET") || strings.Count(string(text), "***") != 3 {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestUnrecordableCases(t *testing.T) {
	was := hooks.Decision{Event: "tool:gate", Action: "allow"}
	for name, ev := range map[string]*replay.Event{
		"no ctx":  {Was: was},
		"partial": {Was: was, Record: hooks.Record{Ctx: []byte{}, Partial: true}},
		"event":   {Was: hooks.Decision{Event: "tool:gone"}, Record: hooks.Record{Ctx: []byte{}}},
		"damaged": {Was: was, Record: hooks.Record{Ctx: []byte{0xff}}},
	} {
		if c, err := replay.CaseOf(ev, "x", nil); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	c := &replay.Case{Name: "x", Event: "tool:gate", Want: replay.Want{Action: contract.Allow, Given: map[string]bool{"action": true}}}
	for _, text := range []string{"[[case]\n", "event = \"tool:gate\"\nwant = \"retry\"\n", "case = []\n"} {
		if added, _, err := replay.AppendCase(fixturePath, []byte(text), c, beside(recordedGuard)); err == nil {
			t.Errorf("a case was added to %q: %s", text, added)
		}
	}
}

// Nesting that would exhaust the stack of a reader is a finding.
func TestDeepFixture(t *testing.T) {
	for _, text := range []string{"state = " + strings.Repeat("[", 500_000), "state = " + strings.Repeat("{a=", 300_000)} {
		fixture, findings := replay.ReadFixture(fixturePath, []byte(text), beside(recordedGuard))
		if fixture != nil || len(findings) != 1 || !strings.Contains(findings[0].Message, "nested more than") {
			t.Errorf("%v", findings)
		}
	}
	brackets := "event = \"tool:gate\"\nctx.name = \"" + strings.Repeat("[{", 500) + "\" # " + strings.Repeat("[", 500) + "\nwant = \"deny\"\n"
	if fixture, findings := replay.ReadFixture(fixturePath, []byte(brackets), beside(recordedGuard)); fixture == nil {
		t.Errorf("brackets in a string: %v", findings)
	}
}

func FuzzFixture(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "*_test.toml"))
	if err != nil || len(seeds) == 0 {
		f.Fatal(errors.Join(err, errors.New("there are no seeds")))
	}
	for _, path := range seeds {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	script := beside(recordedGuard)
	f.Fuzz(func(t *testing.T, text []byte) {
		fixture, findings := replay.ReadFixture(fixturePath, text, script)
		for _, found := range findings {
			if found.Span.Start < 0 || found.Span.End < found.Span.Start || found.Span.End > len(text) {
				t.Fatalf("a finding at %v of %d bytes: %s", found.Span, len(text), found.Message)
			}
		}
		if fixture == nil {
			return
		}
		for i := range fixture.Cases {
			c := &fixture.Cases[i]
			added, name, err := replay.AppendCase(fixturePath, text, c, script)
			if err != nil {
				continue
			}
			if again, found := replay.ReadFixture(fixturePath, added, script); again == nil || again.Cases[len(again.Cases)-1].Name != name {
				t.Fatalf("%v\n%s", found, added)
			}
		}
	})
}
