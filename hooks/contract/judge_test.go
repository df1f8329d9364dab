package contract

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type m = map[string]any

func batchCtx() map[string]any {
	return m{
		"tool_calls": []any{
			m{"id": "c1", "name": "shell", "arguments": m{"command": "ls"}},
			m{"id": "c2", "name": "read_file", "arguments": m{"path": "a"}},
		},
		"regions": m{"task": "t", "notes": "n", "conversation": "c"},
	}
}

func nest(levels int) any {
	var v any = "x"
	for range levels {
		v = []any{v}
	}
	return v
}

func TestJudge(t *testing.T) {
	call := m{"id": "c2", "name": "read_file", "arguments": m{"path": "b"}}
	cyclic := m{}
	cyclic["self"] = cyclic
	for _, tc := range []struct {
		name, event string
		answer      any
		want        Verdict
		err         string // a part of the error
	}{
		{"nil allows", "on_tool_call", nil, Verdict{Action: Allow}, ""},
		{"true allows", "on_error", true, Verdict{Action: Allow}, ""},
		{"the map form allows", "on_stage_enter", m{"action": "allow"}, Verdict{Action: Allow}, ""},
		{"false cancels on a stage point", "on_completion", false, Verdict{Action: Cancel}, ""},
		{"false cancels on the batch too", "on_tool_call", false, Verdict{Action: Cancel}, ""},
		{"deny the batch", "on_tool_call", m{"action": "deny", "reason": "no"}, Verdict{Action: Deny, Reason: "no"}, ""},
		{"deny by id, an id twice", "on_tool_call", m{"action": "deny", "calls": []any{"c1", "c1"}}, Verdict{Action: Deny, Calls: []string{"c1"}}, ""},
		{"modify the batch", "on_tool_call", m{"action": "modify", "value": []any{call}, "state": m{"n": int64(1)}},
			Verdict{Action: Modify, Value: []any{call}, HasValue: true, State: m{"n": int64(1)}, HasState: true}, ""},
		{"an empty batch refuses every call", "on_tool_call", m{"action": "modify", "value": []any{}}, Verdict{Action: Modify, Value: []any{}, HasValue: true}, ""},
		{"modify regions", "before_inference", m{"action": "modify", "value": m{"notes": "x"}}, Verdict{Action: Modify, Value: m{"notes": "x"}, HasValue: true}, ""},
		{"modify text", "on_completion", m{"action": "modify", "value": ""}, Verdict{Action: Modify, Value: "", HasValue: true}, ""},
		{"retry where it can", "after_inference", m{"action": "retry", "reason": "again"}, Verdict{Action: Retry, Reason: "again"}, ""},

		{"retry elsewhere", "on_tool_call", m{"action": "retry"}, Verdict{}, `on_tool_call: action "retry" is not honoured: this event cannot retry, only after_inference can; it honours allow, modify, deny and cancel`},
		{"substitute elsewhere", "on_tool_call", m{"action": "substitute", "value": "x"}, Verdict{}, `on_tool_call: action "substitute" is not honoured; this event honours allow, modify, deny and cancel`},
		{"deny elsewhere", "on_error", m{"action": "deny"}, Verdict{}, `on_error: action "deny" is not honoured`},
		{"misspelt action", "on_error", m{"action": "cancle"}, Verdict{}, `unknown action "cancle"; did you mean "cancel"?`},
		{"error is no answer", "on_error", m{"action": "error"}, Verdict{}, `unknown action "error"`},
		{"action of another case", "on_error", m{"action": "Allow"}, Verdict{}, `did you mean "allow"?`},
		{"no action", "on_error", m{"acton": "allow"}, Verdict{}, `a map without an action; is "acton" meant to be "action"?`},
		{"empty map", "on_error", m{}, Verdict{}, "without an action"},
		{"action no string", "on_error", m{"action": int64(1)}, Verdict{}, "action must be a string, not the int 1"},
		{"bare string", "on_error", "allow", Verdict{}, `returned the string "allow", which is no decision; return {action: ...}, true, false or nil; did you mean {action: "allow"}?`},
		{"bare number", "on_error", int64(0), Verdict{}, "returned the int 0"},
		{"bare list", "on_tool_call", []any{call}, Verdict{}, "returned a list, which is no decision"},
		{"unknown key", "on_error", m{"action": "cancel", "reson": "x"}, Verdict{}, `action "cancel" takes no "reson"; did you mean "reason"?`},
		{"value where none belongs", "on_error", m{"action": "cancel", "value": "x"}, Verdict{}, `action "cancel" takes no "value"`},
		{"is_error where none belongs", "on_error", m{"action": "modify", "value": "x", "is_error": true}, Verdict{}, `takes no "is_error"`},
		{"reason no string", "on_error", m{"action": "cancel", "reason": nil}, Verdict{}, "reason must be a string, not nil"},
		{"state no map", "on_error", m{"action": "allow", "state": []any{}}, Verdict{}, "state must be a map, not a list"},
		{"modify without value", "on_error", m{"action": "modify"}, Verdict{}, `action "modify" needs a value: text that replaces the error shown`},
		{"value of another shape", "on_error", m{"action": "modify", "value": nil}, Verdict{}, "value must be a string, not nil"},
		{"region no text", "on_stage_exit", m{"action": "modify", "value": m{"notes": int64(3)}}, Verdict{}, `value["notes"] must be a string, not the int 3`},
		{"unknown region", "on_stage_exit", m{"action": "modify", "value": m{"note": "x"}}, Verdict{}, `value names the region "note", which this stage does not have; did you mean "notes"?`},
		{"call without id", "on_tool_call", m{"action": "modify", "value": []any{m{"name": "x", "arguments": m{}}}}, Verdict{}, `value[0] has no field "id"`},
		{"call of another batch", "on_tool_call", m{"action": "modify", "value": []any{m{"id": "c9", "name": "x", "arguments": m{}}}}, Verdict{}, `value[0].id is "c9", which is no call of this batch: a hook cannot add calls; its calls are "c1" and "c2"`},
		{"a call twice", "on_tool_call", m{"action": "modify", "value": []any{call, call}}, Verdict{}, `value[1].id is "c2" for the second time`},
		{"call with another field", "on_tool_call", m{"action": "modify", "value": []any{m{"id": "c1", "name": "x", "arguments": m{}, "approved": true}}}, Verdict{}, `value[0] has a field "approved"`},
		{"calls of another batch", "on_tool_call", m{"action": "deny", "calls": []any{"c3"}}, Verdict{}, `calls[0] is "c3", which is no call of this batch`},
		{"calls empty", "on_tool_call", m{"action": "deny", "calls": []any{}}, Verdict{}, "calls is empty"},
		{"calls no list", "on_tool_call", m{"action": "deny", "calls": "c1"}, Verdict{}, "calls must be a list of call ids"},
		{"contains itself", "on_tool_call", m{"action": "allow", "state": cyclic}, Verdict{}, "contains itself"},
		{"too deep", "on_tool_call", m{"action": "allow", "state": m{"a": nest(80)}}, Verdict{}, "nested deeper than 64 levels"},
		{"too large", "on_error", m{"action": "modify", "value": strings.Repeat("x", 5<<20)}, Verdict{}, "larger than 4194304 bytes"},
		{"not a number", "on_tool_call", m{"action": "allow", "state": m{"a": math.NaN()}}, Verdict{}, "NaN"},
		{"not plain data", "on_tool_call", m{"action": "allow", "state": m{"a": 1}}, Verdict{}, "Go type int, which is not plain data"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ByName(tc.event).Judge(tc.answer, batchCtx(), Caps{})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want %q in it", err, tc.err)
				}
				if got.Action != NoAction {
					t.Errorf("a malformed answer gave action %s, want none", got.Action)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Every event: what is honoured passes, what is not is named with the event.
func TestJudgeHonoursTheTable(t *testing.T) {
	for _, e := range Events() {
		for _, a := range Answers() {
			answer := m{"action": a.String()}
			if a == Modify || a == Substitute {
				answer["value"] = zero(*cmpOr(e.Value, &Type{Kind: String}))
			}
			_, err := e.Judge(answer, batchCtx(), Caps{})
			if e.Honours(a) != (err == nil) {
				t.Errorf("%s %s: error %v, honoured %v", e.Name, a, err, e.Honours(a))
			}
			if err != nil && (!strings.Contains(err.Error(), e.Name) || !strings.Contains(err.Error(), a.String())) {
				t.Errorf("error %q names not both %s and %s", err, e.Name, a)
			}
		}
	}
}

func cmpOr(a, b *Type) *Type {
	if a != nil {
		return a
	}
	return b
}

func FuzzJudge(f *testing.F) {
	for _, s := range []string{"allow", "modify", "cancle", ""} {
		f.Add(s, "value", int64(3), true)
	}
	f.Fuzz(func(t *testing.T, action, key string, n int64, flag bool) {
		for _, e := range Events() {
			for _, answer := range []any{action, n, flag, m{"action": action, key: n}, m{"action": action, "value": []any{m{key: action}}, "calls": []any{n}}} {
				v, err := e.Judge(answer, batchCtx(), Caps{})
				if err != nil && v.Action != NoAction {
					t.Fatalf("%s: malformed %v gave %s", e.Name, answer, v.Action)
				}
				if err == nil && !e.Honours(v.Action) {
					t.Fatalf("%s: %v gave %s, which it does not honour", e.Name, answer, v.Action)
				}
			}
		}
	})
}
