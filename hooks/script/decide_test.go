package script

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/worker/wire"
)

// asked runs the body of a function in a runtime whose host is answer; nil for
// no host.
func asked(t *testing.T, body string, answer func(wire.Ask) ([]byte, error)) outcome {
	t.Helper()
	r := New(wire.NewPage())
	if answer != nil {
		r.Answers(answer)
	}
	ready, bad := r.Load(wire.Load{ID: 1, Files: []wire.File{{Path: "h", Text: []byte("func f(c) {\n" + body + "\n}")}}})
	if bad != nil {
		t.Fatal(bad.Message)
	}
	return call(t, r, ready, wire.Fire{Operations: 1000, CallDepth: 8, Printed: 100, Value: 1 << 20}, nil)
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := wire.AppendValue(nil, v, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The host gets the question and the schema as the script wrote them, and the
// script gets what the host says, each time anew.
func TestDecide(t *testing.T) {
	var questions []string
	var schemas []any
	o := asked(t, `a := hook.decide("first?", {type: "object", required: ["yes"]})
b := hook.decide("second?", nil)
return [a.ok, a.answers.yes, a.usage.input, b.answers]`, func(a wire.Ask) ([]byte, error) {
		schema, err := wire.ReadValue(wire.NewReader(a.Schema))
		if err != nil {
			t.Error(err)
		}
		questions, schemas = append(questions, a.Question), append(schemas, schema)
		var answers any = map[string]any{"yes": true}
		if len(questions) == 2 {
			answers = "two"
		}
		return encoded(t, map[string]any{"ok": true, "reason": nil, "answers": answers, "usage": map[string]any{"input": 7}}), nil
	})
	if d := cmp.Diff([]any{true, true, int64(7), "two"}, o.value); d != "" {
		t.Errorf("(-want +got):\n%s%s", d, o.Message)
	}
	if d := cmp.Diff([]string{"first?", "second?"}, questions); d != "" {
		t.Errorf("questions (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]any{map[string]any{"type": "object", "required": []any{"yes"}}, nil}, schemas); d != "" {
		t.Errorf("schemas (-want +got):\n%s", d)
	}
}

// A question without an answer never throws, and what the script gets has the
// shape that the contract says.
func TestDecideWithoutAnAnswer(t *testing.T) {
	const question = `return hook.decide("q", nil)`
	never := func(wire.Ask) ([]byte, error) {
		t.Error("the host is asked")
		return nil, nil
	}
	for name, tc := range map[string]struct {
		body string
		host func(wire.Ask) ([]byte, error)
		why  string
	}{
		"no host":          {question, nil, "nobody can be asked here"},
		"the host cannot":  {question, func(wire.Ask) ([]byte, error) { return nil, errors.New("out of order") }, "out of order"},
		"garbled":          {question, func(wire.Ask) ([]byte, error) { return []byte{99}, nil }, "cannot be read"},
		"a long question":  {`return hook.decide(strings.repeat("x", 70000), nil)`, never, "more than 65536"},
		"a large schema":   {`return hook.decide("q", {x: strings.repeat("x", 300000)})`, never, "larger than 256 KiB"},
		"no data":          {`return hook.decide("q", {x: func() { 1 }})`, never, "not plain data"},
		"itself in itself": {"s := {}\ns[\"s\"] = s\nreturn hook.decide(\"q\", s)", never, "refers to itself"},
	} {
		o := asked(t, tc.body, tc.host)
		if o.Ending != wire.Returned {
			t.Errorf("%s: ended %d, %s", name, o.Ending, o.Message)
			continue
		}
		got := o.value.(map[string]any)
		reason, _ := got["reason"].(string)
		if got["ok"] != false || got["answers"] != nil || !strings.Contains(reason, tc.why) {
			t.Errorf("%s: %v, want a reason with %q", name, got, tc.why)
		}
		if err := contract.Fits(got, contract.Library().Module("hook").Function("decide").Shape, "answer"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the function says of arguments that are none.
func TestDecideRefusesWrongArguments(t *testing.T) {
	for body, want := range map[string]string{
		`hook.decide("q")`:      "args error: hook.decide() takes exactly 2 arguments (1 given)",
		`hook.decide(1, nil)`:   "type error: hook.decide() takes a question as a string (int given)",
		`hook.decide("q", "s")`: "type error: hook.decide() takes a schema as a map or nil (string given)",
	} {
		if o := asked(t, body, nil); o.Ending != wire.Threw || o.Message != want || len(o.stack) == 0 {
			t.Errorf("%s: %d %q at %v, want %q", body, o.Ending, o.Message, o.stack, want)
		}
	}
}
