package hooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
)

// The corpus is made from the contract: an event that is added to the table is
// in it at once, with an input, and an answer for each action that there is.

// A corpusCase is one answer to one event.
type corpusCase struct {
	event  *contract.Event
	action contract.Action
	input  hooks.Firing
	answer map[string]any // as a script returns it
}

func corpus() []corpusCase {
	var list []corpusCase
	for _, e := range contract.Events() {
		for _, a := range contract.Answers() {
			input := corpusInput(e)
			list = append(list, corpusCase{e, a, input, corpusAnswer(e, a, input.Fields)})
		}
	}
	return list
}

func (c corpusCase) name() string { return c.event.Name + " " + c.action.String() }

// corpusInput is a moment at which every field of the event has something in it.
func corpusInput(e *contract.Event) hooks.Firing {
	fields := map[string]any{}
	for _, f := range e.AllFields() {
		if f.Name != "event" && f.Name != "state" {
			fields[f.Name] = sample(f.Type, f.Name)
		}
	}
	fields["stage"] = "build"
	return hooks.Firing{Event: e.Name, Stage: "build", At: moment, CallID: "c1", Fields: fields}
}

// sample is a value of that shape with something in it. Strings tell where
// they stand, so that what is mixed up shows.
func sample(t contract.Type, at string) any {
	switch t.Kind {
	case contract.Nil:
		return nil
	case contract.Bool:
		return true
	case contract.Int:
		return int64(len(at)) // so that two places differ
	case contract.Float:
		return 1.5
	case contract.List:
		return []any{sample(*t.Elem, at+".0"), sample(*t.Elem, at+".1")}
	case contract.Map:
		return map[string]any{"first": sample(*t.Elem, at+".first"), "it's {odd}": sample(*t.Elem, at+".odd")}
	case contract.Object:
		m := map[string]any{}
		for _, f := range t.Fields {
			m[f.Name] = sample(f.Type, at+"."+f.Name)
		}
		return m
	}
	if len(t.Values) > 0 {
		return t.Values[0]
	}
	return at + " \"quoted\"\n{x} é"
}

// another is a value of that shape that differs from before wherever the
// contract lets it.
func another(e *contract.Event, fields map[string]any) any {
	switch e.ValueField {
	case "tool_calls":
		before := fields["tool_calls"].([]any)
		call := maps.Clone(before[1].(map[string]any))
		call["arguments"] = map[string]any{"command": "ls"}
		return []any{call}
	case "tools", "catalog":
		return fields[e.ValueField].([]any)[:1] // it can only leave some out
	case "regions":
		return map[string]any{"first": "another"}
	}
	return sample(*e.Value, "quite another")
}

func corpusAnswer(e *contract.Event, a contract.Action, fields map[string]any) map[string]any {
	m := map[string]any{"action": a.String(), "reason": "since " + a.String()}
	switch {
	case a == contract.Modify && e.Value != nil:
		m["value"] = another(e, fields)
	case a == contract.Modify:
		m["value"] = "anything"
	case a == contract.Substitute:
		m["value"], m["is_error"] = map[string]any{"text": "in its place"}, true
	case a == contract.Deny && !e.PerCall && e.Honours(contract.Deny) && e.Name == "on_tool_call":
		m["calls"] = []any{fields["tool_calls"].([]any)[0].(map[string]any)["id"]}
	}
	if e.Function != "" {
		m["state"] = map[string]any{"seen": int64(1)}
	}
	return m
}

// literal writes plain data as a script does.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(v)
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, literal(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, strconv.Quote(k)+": "+literal(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// script is the case's answer in script form. The checker must not know that
// it is a wrong one, where it is: that is for the moment at which it fires.
func (c corpusCase) script() string {
	b, _ := json.Marshal(c.answer["action"])
	answer := maps.Clone(c.answer)
	delete(answer, "action")
	return "func named(answer, action) {\n    answer[\"action\"] = action\n    return answer\n}\n" +
		"func " + c.event.Function + "(ctx) {\n    return named(" + literal(answer) + ", " + string(b) + ")\n}\n"
}

// handler is the case's answer in Go form.
func (c corpusCase) handler(t testing.TB) *hooks.Bus {
	t.Helper()
	answer := hooks.Answer{Action: c.action, Value: c.answer["value"]}
	answer.Reason, _ = c.answer["reason"].(string)
	answer.IsError, _ = c.answer["is_error"].(bool)
	answer.State, _ = c.answer["state"].(map[string]any)
	if calls, ok := c.answer["calls"].([]any); ok {
		for _, id := range calls {
			answer.Calls = append(answer.Calls, id.(string))
		}
	}
	b := &hooks.Bus{}
	err := b.Handle(c.event.Name, "corpus", func(_ context.Context, ctx map[string]any) (hooks.Answer, error) {
		for _, f := range c.event.AllFields() {
			if err := contract.Fits(ctx[f.Name], &f.Type, f.Name); err != nil {
				return hooks.Answer{}, err
			}
		}
		return answer, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// effect is what an outcome does and records, without what tells the form.
type effect struct {
	Action  string
	Value   any
	IsError bool
	Reason  string
	Calls   []string
	State   map[string]any
	Unheard string
	Failed  hooks.FailureKind
	Records []hooks.Decision
}

func effectOf(t testing.TB, o hooks.Outcome) effect {
	t.Helper()
	e := effect{Action: o.Action.String(), Value: o.Value, IsError: o.IsError, Reason: o.Reason, Calls: o.Calls, Unheard: o.Unheard}
	for _, s := range o.States {
		e.State = s
	}
	if o.Failure != nil {
		e.Failed = o.Failure.Kind
	}
	seen := map[string]bool{}
	for _, d := range o.Decisions {
		if d.ID == "" || seen[d.ID] {
			t.Errorf("the record of %s has no id of its own: %q", d.Event, d.ID)
		}
		seen[d.ID] = true
		if d.DurationUs < 0 {
			t.Errorf("it took %d µs", d.DurationUs)
		}
		d.ID, d.HookID, d.Function, d.Hook, d.DurationUs, d.Operations, d.Record = "", "", "", hooks.Source{}, 0, 0, nil
		if d.Error != nil {
			d.Error = &hooks.Failure{Kind: d.Error.Kind}
		}
		e.Records = append(e.Records, d)
	}
	return e
}

// message is the error that an outcome, or the record of a watcher, has.
func message(o hooks.Outcome) string {
	if o.Failure != nil {
		return o.Failure.Message
	}
	for _, d := range o.Decisions {
		if d.Error != nil {
			return d.Error.Message
		}
	}
	return ""
}

// For every event and action, a script in its worker and a Go handler have the
// same effect on the same input; what the event does not honour is an error
// that names both, and never lets anything pass that a gate guards.
func TestScriptsAndHandlersHaveOneEffect(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	ctx := context.Background()
	for _, c := range corpus() {
		set, _, err := e.Load(ctx, nil, hooks.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		inGo := set.With(c.handler(t), nil).Fire(ctx, c.input)
		outcomes := map[string]hooks.Outcome{"go": inGo}
		if c.event.Function != "" {
			set, findings, err := e.Load(ctx, []hooks.Declaration{on(c.event.Name, "corpus.risor", c.script())}, hooks.Limits{})
			if err != nil || set == nil {
				t.Fatalf("%s: %v, %v", c.name(), findings, err)
			}
			inScript := set.Fire(ctx, c.input)
			outcomes["script"] = inScript
			if d := cmp.Diff(effectOf(t, inGo), effectOf(t, inScript)); d != "" {
				t.Errorf("%s (-go +script):\n%s", c.name(), d)
			}
			if at := inScript.Decisions[0].Hook; at.At == nil || at.At.Path != path("corpus.risor") || at.At.Start.Line != 6 || at.Digest == "" {
				t.Errorf("%s: the script's record says that it was decided at %+v", c.name(), at.At)
			}
		}
		for form, o := range outcomes {
			checkCorpusOutcome(t, form, c, o)
		}
	}
}

// checkCorpusOutcome holds one outcome against the contract.
func checkCorpusOutcome(t *testing.T, form string, c corpusCase, o hooks.Outcome) {
	t.Helper()
	if !c.event.Honours(c.action) {
		says := message(o)
		if !strings.Contains(says, c.event.Name) || !strings.Contains(says, strconv.Quote(c.action.String())) {
			t.Errorf("%s in %s form: the error %q names not both event and action", c.name(), form, says)
		}
		want := contract.Failed
		if c.event.Class == contract.Observe {
			want = contract.Allow
		}
		if o.Action != want || (o.Failure != nil) != (want == contract.Failed) || o.Decisions[0].Action != "error" {
			t.Errorf("%s in %s form: outcome %+v", c.name(), form, o)
		}
		return
	}
	want := effect{Action: c.action.String(), Reason: c.answer["reason"].(string)}
	if c.action == contract.Allow {
		want.Reason = ""
	}
	if c.action == contract.Modify || c.action == contract.Substitute {
		want.Value = c.answer["value"]
	}
	want.IsError = c.action == contract.Substitute
	for _, id := range asList(c.answer["calls"]) {
		want.Calls = append(want.Calls, id.(string))
	}
	want.State, _ = c.answer["state"].(map[string]any)
	got := effectOf(t, o)
	d := got.Records[0]
	got.Records = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s in %s form (-want +got):\n%s", c.name(), form, diff)
	}
	if d.Action != c.action.String() || d.Event != c.event.Name || d.Stage != "build" || d.CallID != "c1" || !d.At.Equal(moment) ||
		d.RunID != c.input.Fields["run_id"] || d.SessionID != c.input.Fields["session_id"] || d.Reason != c.answer["reason"] {
		t.Errorf("%s in %s form: record %+v", c.name(), form, d)
	}
	if (len(d.Changes) > 0) != (c.action == contract.Modify) {
		t.Errorf("%s in %s form: changes %+v", c.name(), form, d.Changes)
	}
	for _, change := range d.Changes {
		checkChange(t, c, change)
	}
}

// checkChange holds a recorded change against what was there before.
func checkChange(t *testing.T, c corpusCase, change hooks.Change) {
	t.Helper()
	var at any = c.input.Fields
	there := true
	for _, key := range strings.Split(change.Path, "/")[1:] {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		switch in := at.(type) {
		case map[string]any:
			next, has := in[key]
			at, there = next, there && has
		case []any:
			i, err := strconv.Atoi(key)
			if there = there && err == nil && i < len(in); there {
				at = in[i]
			}
		}
	}
	if !there {
		if change.Before != nil {
			t.Errorf("%s: %s was not there before, and is recorded as %s", c.name(), change.Path, change.Before)
		}
		return
	}
	was, err := contract.ReadPlain(change.Before)
	if err != nil || cmp.Diff(at, was) != "" {
		t.Errorf("%s: %s is recorded as %s before, it was %v (%v)", c.name(), change.Path, change.Before, at, err)
	}
	if string(change.After) == string(change.Before) {
		t.Errorf("%s: %s is recorded as changed and is not: %s", c.name(), change.Path, change.After)
	}
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}
