package run

import (
	"strings"
	"testing"

	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// searched is an answer of Claude's that thinks, searches the web by a tool of
// the provider's, and says a text.
func searched(d dialect, text string) []string {
	whole := d.text(text) // begin, the block's three, end
	block := func(index, start string, deltas ...string) []string {
		events := []string{named("content_block_start", `{"type":"content_block_start","index":`+index+`,"content_block":`+start+`}`)}
		for _, delta := range deltas {
			events = append(events, named("content_block_delta", `{"type":"content_block_delta","index":`+index+`,"delta":`+delta+`}`))
		}
		return append(events, named("content_block_stop", `{"type":"content_block_stop","index":`+index+`}`))
	}
	events := whole[:1:1]
	events = append(events, block("0", `{"type":"thinking","thinking":"","signature":""}`,
		`{"type":"thinking_delta","thinking":"Let me "}`, `{"type":"thinking_delta","thinking":"search."}`, `{"type":"signature_delta","signature":"c2ln"}`)...)
	events = append(events, block("1", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`,
		`{"type":"input_json_delta","partial_json":"{\"query\":\"go"}`, `{"type":"input_json_delta","partial_json":" spec\"}"}`)...)
	events = append(events, block("2", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://go.dev/ref/spec","title":"The spec","encrypted_content":"eA=="}]}`)...)
	for _, e := range whole[1:] {
		events = append(events, strings.Replace(e, `"index":0`, `"index":3`, 1))
	}
	return events
}

// checkSearched holds what was heard of searched against it.
func checkSearched(t *testing.T, h *listener, prefix, text string) {
	t.Helper()
	for _, tt := range []struct {
		event string
		n     int
		field string
		want  any
	}{
		{"stream:thinking", 0, "delta", "Let me "}, {"stream:thinking", 1, "delta", "search."}, {"stream:thinking", 1, "thinking", "Let me search."},
		{"stream:server_tool_use", 0, "id", "srvtoolu_1"}, {"stream:server_tool_use", 0, "name", "web_search"},
		{"stream:server_tool_result", 0, "id", "srvtoolu_1"}, {"stream:server_tool_result", 0, "name", "web_search"}, {"stream:server_tool_result", 0, "is_error", false},
		{"stream:text", 0, "delta", text}, {"stream:text", 0, "text", text}, {"stream:end", 0, "text", text},
	} {
		if got := h.field(prefix+tt.event, tt.n, tt.field); got != tt.want {
			t.Errorf("%s %d: %s = %v, want %v", prefix+tt.event, tt.n, tt.field, got, tt.want)
		}
	}
	if got, _ := h.field(prefix+"stream:server_tool_use", 0, "input").(map[string]any); got["query"] != "go spec" {
		t.Errorf("the search was for %v", got)
	}
	if got, _ := h.field(prefix+"stream:server_tool_result", 0, "result").([]any); len(got) != 1 || got[0].(map[string]any)["title"] != "The spec" {
		t.Errorf("the search found %v", got)
	}
	for event, want := range map[string]int{"stream:thinking": 2, "stream:server_tool_use": 1, "stream:server_tool_result": 1, "stream:text": 1, "stream:end": 1} {
		if got := len(h.fields[prefix+event]); got != want {
			t.Errorf("%s was heard %d times, want %d", prefix+event, got, want)
		}
	}
}

func TestEventsOfThinkingAndOfTheProvidersTools(t *testing.T) {
	t.Parallel()
	claude := dialects()[0]
	r, _ := wired(t, claude, manifest.Model{}, func(int) wireAnswer { return streaming(searched(claude, "Found it.")) })
	h := r.overhear("stream:start", "stream:thinking", "stream:server_tool_use", "stream:server_tool_result", "stream:text", "stream:end", "turn:after")
	if end := r.wait(r.start("go").RunID); end.Status != report.Done || *end.Output != "Found it." {
		t.Fatalf("end %s %q: %s", end.Status, *end.Output, end.Error)
	}
	want := "stream:start stream:thinking stream:server_tool_use stream:server_tool_result stream:text stream:end turn:after"
	if got := h.order(); got != want {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	checkSearched(t, h, "", "Found it.")
}

// The run above hears each piece of its sub-agent's answers once, what is
// tried again, and what fails for good.
func TestTheParentHearsItsChildsStream(t *testing.T) {
	t.Parallel()
	claude := dialects()[0]
	r, _ := wired(t, claude, manifest.Model{}, func(n int) wireAnswer {
		switch n {
		case 1, 4: // the parent
			return streaming(claude.call("spawn", `{"prompt":"search"}`))
		case 2: // its first sub-agent, until 3
			return refusing(500, "", "oops")
		case 3:
			return streaming(searched(claude, "Found it."))
		case 5: // its second one
			return refusing(400, "", `{"type":"error","error":{"type":"invalid_request_error","message":"not like that"}}`)
		}
		return streaming(claude.text("One of two."))
	})
	h := r.overhear("child:stream:thinking", "child:stream:server_tool_use", "child:stream:server_tool_result", "child:stream:text", "child:stream:end",
		"child:stream:retry", "child:stream:error", "child:turn:after")
	s := r.start("go")
	if end := r.wait(s.RunID); end.Status != report.Done || *end.Output != "One of two." {
		t.Fatalf("end %s %q: %s", end.Status, *end.Output, end.Error)
	}
	want := "child:stream:retry child:stream:thinking child:stream:server_tool_use child:stream:server_tool_result child:stream:text child:stream:end child:turn:after " +
		"child:stream:error child:turn:after"
	if got := h.order(); got != want {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	checkSearched(t, h, "child:", "Found it.")
	first := h.field("child:stream:retry", 0, "child_id")
	for event, all := range h.fields {
		for n, f := range all {
			if f["run_id"] != s.RunID || f["depth"] != int64(1) || f["child_id"] == s.RunID || (f["child_id"] == first) == (event == "child:stream:error" || n == 1 && event == "child:turn:after") {
				t.Errorf("%s %d: ctx = %v", event, n, f)
			}
		}
	}
	for _, tt := range []struct {
		event, field string
		want         any
	}{
		{"child:stream:retry", "http_status", int64(500)}, {"child:stream:retry", "attempt", int64(1)}, {"child:stream:retry", "model", "m"},
		{"child:stream:error", "http_status", int64(400)}, {"child:stream:error", "attempts", int64(1)}, {"child:stream:error", "model", "m"},
	} {
		if got := h.field(tt.event, 0, tt.field); got != tt.want || len(h.fields[tt.event]) != 1 {
			t.Errorf("%s, heard %d times: %s = %v, want %v", tt.event, len(h.fields[tt.event]), tt.field, got, tt.want)
		}
	}
	if got, _ := h.field("child:stream:error", 0, "error").(string); !strings.Contains(got, "not like that") {
		t.Errorf("child:stream:error has the error %q", got)
	}
}

// A summary tells how far it is while it streams.
func TestASummaryTellsHowFarItIs(t *testing.T) {
	r := newRig(t)
	r.config.Behavior.AutoCompact, r.config.Behavior.CompactKeepTurns = true, 2
	r.model.window = 2500
	h := r.overhear("compact:start", "compact:progress", "compact:end")
	big := bigLook(0)
	big.usage.Input, big.usage.Output = 2100, 50
	r.model.turns = []turn{bigLook(1), bigLook(2), bigLook(3), big, {text: "The user wants it to go.", parts: []string{"The user ", "wants it to go."}}, {text: "Done."}}
	if end := r.wait(r.start("go on with it").RunID); end.Status != report.Done || *end.Output != "Done." {
		t.Fatalf("%s: %s", end.Status, end.Error)
	}
	if got, want := h.order(), "compact:start compact:progress compact:end"; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	for _, tt := range []struct {
		event, field string
		want         any
	}{
		{"compact:start", "reason", "auto"}, {"compact:progress", "reason", "auto"}, {"compact:progress", "text_bytes", int64(len("The user "))},
		{"compact:end", "ok", true}, {"compact:end", "error", nil}, {"compact:end", "summary", "The user wants it to go."},
	} {
		if got := h.field(tt.event, 0, tt.field); got != tt.want {
			t.Errorf("%s: %s = %v, want %v", tt.event, tt.field, got, tt.want)
		}
	}
}
