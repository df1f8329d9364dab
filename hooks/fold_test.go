package hooks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
)

const (
	rename = `func on_tool_call(ctx) {
    calls := ctx.tool_calls
    calls[1].arguments["command"] = "ls"
    return {action: "modify", value: calls, reason: "only ls"}
}`
	dropFirst = `func on_tool_call(ctx) {
    keep := []
    for i, c := range ctx.tool_calls {
        if i > 0 {
            keep.append(c)
        }
    }
    return {action: "modify", value: keep}
}`
	denySecond = `func on_tool_call(ctx) {
    return {action: "deny", reason: "no shell", calls: ["c1"]}
}`
	denyAll = `func on_tool_call(ctx) {
    return hook.deny("none at all")
}`
	cancel = `func on_tool_call(ctx) {
    return hook.cancel("enough")
}`
	allow   = `func on_tool_call(ctx) { return nil }`
	refuses = `func on_tool_call(ctx) { return false }`
)

func ids(v any) string {
	list, _ := v.([]any)
	var out []string
	for _, c := range list {
		m, _ := c.(map[string]any)
		id, _ := m["id"].(string)
		args, _ := m["arguments"].(map[string]any)
		command, _ := args["command"].(string)
		out = append(out, id+"="+command)
	}
	return strings.Join(out, " ")
}

// Hooks on one event in declared order, and what they come to together.
func TestComposition(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	const usual = "go test ./..."
	for _, tc := range []struct {
		name    string
		scripts []string
		action  contract.Action
		reason  string
		value   string
		calls   []string
		asked   int
	}{
		{"allow", []string{allow, allow}, contract.Allow, "", "", nil, 2},
		{"modify", []string{rename, allow}, contract.Modify, "only ls", "c0=" + usual + " c1=ls c2=" + usual, nil, 2},
		{"each sees what was left", []string{dropFirst, dropFirst}, contract.Modify, "", "c2=" + usual, nil, 2},
		{"an empty answer never clobbers", []string{rename, dropFirst, allow}, contract.Modify, "only ls", "c1=ls c2=" + usual, nil, 3},
		{"deny some", []string{denySecond, allow}, contract.Deny, "no shell", "", []string{"c1"}, 2},
		{"deny all beats some", []string{denySecond, denyAll, denySecond}, contract.Deny, "no shell; none at all", "", nil, 3},
		{"deny some of a changed batch", []string{dropFirst, denySecond}, contract.Modify, "no shell", "c2=" + usual, []string{"c1"}, 2},
		{"deny beats modify", []string{rename, denyAll}, contract.Deny, "none at all", "", nil, 2},
		{"cancel beats all and ends", []string{denyAll, cancel, allow}, contract.Cancel, "enough", "", nil, 2},
		{"false on a stage point cancels", []string{refuses, allow}, contract.Cancel, "", "", nil, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var declared []hooks.Declaration
			for i, s := range tc.scripts {
				declared = append(declared, on("on_tool_call", string(rune('a'+i))+".risor", s))
			}
			o := fire(t, load(t, e, hooks.Limits{}, declared...), batch())
			if o.Failure != nil {
				t.Fatal(o.Failure.Message)
			}
			if o.Action != tc.action || o.Reason != tc.reason || ids(o.Value) != tc.value || len(o.Decisions) != tc.asked {
				t.Errorf("%v %q %q after %d, want %v %q %q after %d", o.Action, o.Reason, ids(o.Value), len(o.Decisions), tc.action, tc.reason, tc.value, tc.asked)
			}
			if d := cmp.Diff(tc.calls, o.Calls); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
		})
	}
}

// Two hooks that replace different regions both hold.
func TestRegionsMerge(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	one := "func on_stage_enter(ctx) { return hook.modify({notes: \"n\", task: \"first\"}) }"
	two := "func on_stage_enter(ctx) { return hook.modify({task: ctx.regions.task + \" and second\"}) }"
	set := load(t, e, hooks.Limits{}, on("on_stage_enter", "a.risor", one), on("on_stage_enter", "b.risor", two))
	o := fire(t, set, hooks.Firing{Event: "on_stage_enter", Stage: "x", At: moment, Fields: map[string]any{"regions": map[string]any{"task": "t", "notes": "", "other": "o"}}})
	if d := cmp.Diff(map[string]any{"notes": "n", "task": "first and second"}, o.Value); d != "" {
		t.Errorf("value (-want +got):\n%s", d)
	}
	want := []hooks.Change{{Path: "/regions/notes", Before: json.RawMessage(`""`), After: json.RawMessage(`"n"`)}, {Path: "/regions/task", Before: json.RawMessage(`"t"`), After: json.RawMessage(`"first"`)}}
	if d := cmp.Diff(want, o.Decisions[0].Changes); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
}

func TestRetry(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	set := load(t, e, hooks.Limits{}, on("after_inference", "a.risor", "func after_inference(ctx) {\n  if ctx.response == \"\" { return hook.retry(\"say something\") }\n  return hook.modify(ctx.response + \"!\")\n}"))
	f := hooks.Firing{Event: "after_inference", Stage: "x", At: moment, Fields: map[string]any{"response": ""}}
	if o := fire(t, set, f); o.Action != contract.Retry || o.Reason != "say something" {
		t.Errorf("%v %q", o.Action, o.Reason)
	}
	f.Fields["response"] = "hm"
	if o := fire(t, set, f); o.Action != contract.Modify || o.Value != "hm!" {
		t.Errorf("%v %v", o.Action, o.Value)
	}
}

// A decision says which return made it, what it changed, what it cost.
func TestProvenance(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	text := "// é😀\nfunc on_tool_call(ctx) {\n    print(\"looking\", ctx.turn)\n    calls := ctx.tool_calls\n    calls[1].arguments[\"a/b~c\"] = 1\n    calls[2].arguments.delete(\"n\")\n    if true {\n        /* 😀 */ return {action: \"modify\", value: calls[1:], reason: \"why\"}\n    }\n}"
	text = strings.Replace(text, "calls[2].arguments.delete(\"n\")", "delete(calls[2].arguments, \"n\")", 1)
	set := load(t, e, hooks.Limits{}, on("on_tool_call", "a.risor", text))
	f := batch()
	f.CallID = "x"
	o := fire(t, set, f)
	if o.Failure != nil {
		t.Fatal(o.Failure.Message)
	}
	d := o.Decisions[0]
	start := strings.Index(text, "return")
	at := d.Hook.At
	if at.Path != path("a.risor") || at.Start.Line != 8 || at.Start.Column != 17 || at.Start.UTF16 != 17 || at.Start.Byte != 19 || at.Start.Offset != start || at.End.Offset != start+len("return") {
		t.Errorf("at = %+v, want the return at %d", at, start)
	}
	want := []hooks.Change{
		{Path: "/tool_calls/0", Before: json.RawMessage(`{"arguments":{"command":"go test ./...","n":0,"path":"a.go"},"id":"c0","name":"read_file"}`)},
		{Path: "/tool_calls/1/arguments/a~1b~0c", After: json.RawMessage(`1`)},
		{Path: "/tool_calls/2/arguments/n", Before: json.RawMessage(`2`)},
	}
	if diff := cmp.Diff(want, d.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if d.ID == "" || d.RunID != "r1" || d.SessionID != "s1" || d.Stage != "build" || d.Event != "on_tool_call" || d.Function != "on_tool_call" ||
		d.HookID != "a.risor@on_tool_call" || d.Action != "modify" || d.Reason != "why" || d.CallID != "x" || !d.At.Equal(moment) ||
		d.DurationUs <= 0 || d.Operations <= 0 || d.Printed != "looking 3\n" || d.Hook.Digest != hooks.Digest([]byte(text)) {
		t.Errorf("decision = %+v", d)
	}
}

// What a hook returns as state is what the same hook gets the next time.
func TestState(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	count := `func on_tool_call(ctx) {
    n := getattr(ctx, "state", {}).get("n", 0) + 1
    return {action: "allow", state: {n: n}}
}`
	set := load(t, e, hooks.Limits{}, on("on_tool_call", "a.risor", count), on("on_tool_call", "b.risor", count))
	f := batch()
	f.States = map[string]map[string]any{"a.risor@on_tool_call": {"n": int64(41)}}
	o := fire(t, set, f)
	want := map[string]map[string]any{"a.risor@on_tool_call": {"n": int64(42)}, "b.risor@on_tool_call": {"n": int64(1)}}
	if d := cmp.Diff(want, o.States); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
}
