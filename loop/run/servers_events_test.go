package run

import (
	"context"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// A call of a server's tool has events of its own, each right behind or before
// the one that every call has.
func TestEventsOfTheCallsOfAServersTools(t *testing.T) {
	r := newRig(t)
	h := r.overhear("tool:gate", "mcp:tool:gate", "tool:dispatched", "tool:before", "mcp:tool:before",
		"mcp:tool:error", "mcp:tool:transform", "mcp:tool:after", "tool:error", "tool:transform", "tool:after")
	r.withServer(nil)
	r.model.turns = []turn{
		{calls: []string{`find_tools {}`}},
		{calls: []string{`mcp__files__echo {"text":"hello"}`}},
		{calls: []string{`mcp__files__echo {"text":"fail"}`}},
		{text: "Done."},
	}
	if end := r.wait(r.start("use the server").RunID); end.Status != report.Done {
		t.Fatalf("end %s %s; events:\n%s", end.Status, end.Error, r.screen.text())
	}
	want := "tool:gate tool:dispatched tool:before tool:transform tool:after " + // find_tools is ours
		"tool:gate mcp:tool:gate tool:dispatched tool:before mcp:tool:before mcp:tool:transform mcp:tool:after tool:transform tool:after " +
		"tool:gate mcp:tool:gate tool:dispatched tool:before mcp:tool:before mcp:tool:error mcp:tool:transform tool:error tool:transform tool:after"
	if got := h.order(); got != want {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	for event := range h.fields {
		if !strings.HasPrefix(event, "mcp:") {
			continue
		}
		for field, want := range map[string]string{"server": "files", "tool": "echo", "name": "mcp__files__echo"} {
			if got := h.field(event, 0, field); got != want {
				t.Errorf("%s: %s = %v, want %s", event, field, got, want)
			}
		}
		if id := h.field(event, 0, "call_id"); id == "" || id == h.field("tool:gate", 0, "call_id") {
			t.Errorf("%s: call_id = %v", event, id)
		}
	}
	for _, tt := range []struct {
		event string
		n     int
		field string
		want  any
	}{
		{"mcp:tool:transform", 0, "result", "echo of hello"}, {"mcp:tool:transform", 0, "is_error", false}, {"mcp:tool:transform", 0, "output_bytes", int64(13)},
		{"mcp:tool:after", 0, "result", "echo of hello"}, {"mcp:tool:after", 0, "is_error", false}, {"mcp:tool:after", 0, "output_bytes", int64(13)},
		{"mcp:tool:error", 0, "error", "no such file"}, {"mcp:tool:transform", 1, "is_error", true}, {"tool:after", 2, "outcome", "error"},
	} {
		if got := h.field(tt.event, tt.n, tt.field); got != tt.want {
			t.Errorf("%s %d: %s = %v, want %v", tt.event, tt.n, tt.field, got, tt.want)
		}
	}
	if got, _ := h.field("mcp:tool:before", 1, "input").(map[string]any); got["text"] != "fail" {
		t.Errorf("the input of the second call: %v", got)
	}
}

// What hooks say of a server's tool holds, those of the run above a sub-agent
// too.
func TestHooksOfTheCallsOfAServersTools(t *testing.T) {
	tests := map[string]struct {
		event string
		out   hooks.Outcome
		want  string
	}{
		"denied":      {"mcp:tool:gate", hooks.Outcome{Action: contract.Deny, Reason: "not on this server"}, "not on this server"},
		"substituted": {"mcp:tool:gate", hooks.Outcome{Action: contract.Substitute, Value: "mine instead"}, "mine instead"},
		"rewritten":   {"mcp:tool:transform", hooks.Outcome{Action: contract.Modify, Value: map[string]any{"result": "redacted"}}, "redacted"},
	}
	for name, tt := range tests {
		for _, above := range []string{"", "child:"} {
			t.Run(above+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.withServer(nil)
				var w watchedEvents
				r.hooks["work/"+above+tt.event] = w.hook(tt.out)
				r.config.Agents = append(r.config.Agents, manifest.Agent{Name: "reviewer", Model: "m", Stages: []manifest.Stage{{Name: "review", Tools: []string{"*"}}}})
				r.family(func(_ context.Context, req loop.ModelRequest) turn {
					switch {
					case above != "" && req.Depth == 0 && req.Turn == 0:
						return turn{calls: []string{`spawn {"agent":"reviewer","prompt":"look"}`}}
					case above != "" && req.Depth == 0 || req.Turn > 1:
						return turn{text: lastText(req)}
					case req.Turn == 0:
						return turn{calls: []string{`find_tools {}`}}
					}
					return turn{calls: []string{`mcp__files__echo {"text":"a secret"}`}}
				})
				s := r.start("go")
				end := r.wait(s.RunID)
				if end.Status != report.Done || !strings.Contains(*end.Output, tt.want) || strings.Contains(*end.Output, "secret") {
					t.Errorf("end %s %q (%s), want %q and nothing of the tool's", end.Status, *end.Output, end.Error, tt.want)
				}
				heard := w.of(above + tt.event)
				if len(heard) != 1 {
					t.Fatalf("heard %d times", len(heard))
				}
				f := heard[0]
				if f["BROKEN"] != nil || f["server"] != "files" || f["tool"] != "echo" || f["run_id"] != s.RunID {
					t.Errorf("ctx = %v", f)
				}
				if above != "" && (f["depth"] != int64(1) || f["child_id"] == s.RunID || f["child_id"] == "") {
					t.Errorf("ctx = %v, want whose call it is", f)
				}
			})
		}
	}
}

// A server that prints what is no message is odd; one that dies under a call
// closes the connection, which fails then, while the run goes on.
func TestEventsOfAConnectionThatBreaks(t *testing.T) {
	r := newRig(t)
	h := r.overhear("mcp:connect", "mcp:warn", "mcp:close", "mcp:error")
	r.withServer(func(s *manifest.MCPServer) { s.Env["MCP_NOISE"] = "Starting up" })
	r.slow.gate = make(chan struct{})
	r.model.turns = []turn{
		{calls: []string{`find_tools {}`}},
		{calls: []string{`mcp__files__echo {"text":"die"}`}},
		{calls: []string{`slow {}`}},
		{text: "Done."},
	}
	s := r.start("use the server")
	<-r.slow.entered
	waitFor(t, func() bool { return h.field("mcp:error", 0, "server") != nil })
	close(r.slow.gate)
	if end := r.wait(s.RunID); end.Status != report.Done {
		t.Fatalf("end %s %s", end.Status, end.Error)
	}
	if got, want := h.order(), "mcp:warn mcp:connect mcp:close mcp:error"; !strings.HasPrefix(got, want) { // it may be back by now
		t.Errorf("heard %s, want %s", got, want)
	}
	for _, tt := range []struct{ event, field, says string }{
		{"mcp:warn", "message", "no message: Starting up"}, {"mcp:connect", "transport", "stdio"},
		{"mcp:close", "reason", "exit status 7"}, {"mcp:error", "error", "exit status 7"}, {"mcp:error", "server", "files"},
	} {
		if got, _ := h.field(tt.event, 0, tt.field).(string); !strings.Contains(got, tt.says) {
			t.Errorf("%s: %s = %q, want %q in it", tt.event, tt.field, got, tt.says)
		}
	}
	if got := r.outputs()[1]; !strings.HasPrefix(got, "error: the MCP server files:") {
		t.Errorf("the call came to %q", got)
	}
}
