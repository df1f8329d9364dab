package contract

import (
	"slices"
	"strings"
	"testing"
)

// everyEvent is what the pages of the three systems name, by hand: a row that
// is lost is a promise that is broken.
const everyEvent = `
on_stage_enter before_inference after_inference on_tool_call on_stage_exit on_completion on_error
system:before agent:start turn:before context:transform system:transform stream:start stream:thinking stream:text stream:end
stream:progress stream:server_tool_use stream:server_tool_result stream:error stream:retry model:fallback context:overflow
compact:start compact:progress compact:end steer:inject turn:after tool-results:after usage output agent:done agent:abort
tool:gate tool:dispatched tool:before tool:unknown tool:transform tool:after tool:error tool:cancelled
mcp:tool:gate mcp:tool:before mcp:tool:transform mcp:tool:after mcp:tool:error validation:reject validation:coerce
mcp:bootstrap:start mcp:bootstrap:end mcp:bootstrap:settled mcp:tools:list mcp:connect mcp:error mcp:warn mcp:close mcp:tools:filter
mcp:auth:required mcp:auth:url mcp:auth:success mcp:auth:error skills:resolve skills:catalog skills:activate skills:deactivate
session:start session:end session:turns session:meta session:save
background:start background:exit background:stall background:reassign background:adopt background:reconcile
execution:ready tool-state:commit-failed artifact:recorded decision:start decision:end
budget:exceeded tool-budget:exceeded repeat-guard:exceeded
cache:break cache:drift history:repair provider:input-transformations provider:diagnostic oauth:refresh pairing:repair
content-ref:resolve tracing:redact replay:done tool-batch:resumed resume:mismatch
spawn:queued spawn:before spawn:complete spawn:error
child:stream:text child:stream:thinking child:stream:end child:stream:error child:stream:retry child:stream:server_tool_use child:stream:server_tool_result
child:tool:gate child:tool:transform child:mcp:tool:gate child:mcp:tool:transform
child:tool:dispatched child:tool:before child:tool:after child:tool:error child:tool:cancelled
child:validation:reject child:repeat-guard:exceeded child:turn:after child:artifact:recorded
child:background:start child:background:exit child:background:stall child:background:reassign child:background:adopt child:background:reconcile
child:spawn:queued child:spawn:before child:spawn:complete child:spawn:error
pre_tool post_tool user_prompt notification stop session_end
`

func TestEveryEventOfThePagesIsThere(t *testing.T) {
	want := strings.Fields(everyEvent)
	for _, name := range want {
		if ByName(name) == nil {
			t.Errorf("%s is no event", name)
		}
	}
	for _, e := range Events() {
		if !slices.Contains(want, e.Name) {
			t.Errorf("%s is an event that no page names", e.Name)
		}
		if strings.HasPrefix(e.Name, "child:") {
			if _, ok := e.Field("child_id"); !ok {
				t.Errorf("%s has no child_id", e.Name)
			}
		}
	}
}

// What each event may do besides allow. An event that is not here only
// observes.
var honoured = map[string]string{
	"on_stage_enter": "modify cancel", "before_inference": "modify cancel", "after_inference": "modify cancel retry",
	"on_tool_call": "modify deny cancel", "on_stage_exit": "modify cancel", "on_completion": "modify cancel", "on_error": "modify cancel",
	"turn:before": "modify cancel", "context:transform": "modify cancel", "system:transform": "modify cancel",
	"tool:gate": "deny substitute cancel", "tool:unknown": "modify deny substitute cancel", "mcp:tool:gate": "deny substitute cancel",
	"child:tool:gate": "deny substitute cancel", "child:mcp:tool:gate": "deny substitute cancel", "pre_tool": "modify deny substitute cancel",
	"tool:transform": "modify", "tool:error": "modify", "mcp:tool:transform": "modify", "child:tool:transform": "modify", "child:mcp:tool:transform": "modify",
	"mcp:tools:filter": "modify", "skills:catalog": "modify", "content-ref:resolve": "modify", "tracing:redact": "modify",
	"post_tool": "modify", "user_prompt": "modify", "stop": "deny",
}

func TestActionsOfEvents(t *testing.T) {
	for _, e := range Events() {
		var got []string
		for _, a := range e.Actions[1:] {
			got = append(got, a.String())
		}
		if strings.Join(got, " ") != honoured[e.Name] {
			t.Errorf("%s honours %v, want %q", e.Name, got, honoured[e.Name])
		}
		if e.Class == Observe != (honoured[e.Name] == "") {
			t.Errorf("%s is of class %s and honours %q", e.Name, e.Class, honoured[e.Name])
		}
	}
}

func TestValuesCanOnlyLeaveOut(t *testing.T) {
	tool := func(name string) any { return m{"name": name, "description": "d", "input_schema": m{"type": "object"}} }
	e := ByName("mcp:tools:filter")
	ctx, err := e.Context(m{"server": "files", "tools": []any{tool("read"), tool("delete")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		want []any
		err  string
	}{
		{"fewer", []any{tool("read")}, ""},
		{"none", []any{}, ""},
		{"another", []any{tool("write")}, `"write", which is not in ctx.tools`},
		{"twice", []any{tool("read"), tool("read")}, "for the second time"},
		{"changed", []any{m{"name": "read", "description": "better", "input_schema": m{"type": "object"}}}, "is not as it is in ctx.tools"},
	} {
		_, err := e.Judge(m{"action": "modify", "value": tc.want}, ctx, Caps{})
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
	}
}

func TestOptionsThatAreLeftOutStay(t *testing.T) {
	e := ByName("turn:before")
	ctx := m{"options": m{"max_tokens": int64(4096), "thinking_budget": int64(8192)}}
	after := e.Apply(ctx, m{"thinking_budget": int64(1024)})["options"].(m)
	if after["max_tokens"] != int64(4096) || after["thinking_budget"] != int64(1024) {
		t.Errorf("options = %v", after)
	}
}
