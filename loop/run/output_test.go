package run

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

const verdict = `{"type":"object","properties":{"ok":{"type":"boolean"},"why":{"type":"string"}},"required":["ok"],"additionalProperties":false}`

// The output is read, shown, told to hooks, and kept for whoever reads the
// session later.
func TestARunWithAnOutputSchema(t *testing.T) {
	r := newRig(t)
	r.config.Agents[0].Output = []byte(verdict)
	h := r.overhear("output", "agent:done")
	r.model.turns = []turn{{text: "I look", calls: []string{`look {"at":"x"}`}}, {text: "```json\n{\"ok\": true, \"why\": \"it is\"}\n```"}}
	s := r.start("is it?")
	end := r.wait(s.RunID)
	const want = `{"ok":true,"why":"it is"}`
	if end.Status != report.Done || string(end.Structured) != want || *end.Output != want {
		t.Fatalf("ended %s %s with %s, %q", end.Status, end.Error, end.Structured, *end.Output)
	}
	if got := h.field("output", 0, "output").(map[string]any); got["ok"] != true || got["why"] != "it is" {
		t.Errorf("ctx.output = %v", got)
	}
	if got := h.field("output", 0, "text"); !strings.HasPrefix(got.(string), "```json") {
		t.Errorf("ctx.text = %v", got)
	}
	if got := h.order(); !strings.HasPrefix(got, "output agent:done") || h.field("agent:done", 0, "output") != want {
		t.Errorf("order %s, agent:done says %v", got, h.field("agent:done", 0, "output"))
	}
	for _, req := range r.model.requests() {
		if req.Output != nil || !strings.Contains(req.System, verdict) {
			t.Errorf("request with format %+v and the system text %s", req.Output, req.System)
		}
	}
	r.close()
	r.open()
	events, _, err := r.svc.Events(context.Background(), s.SessionID, 0, 0)
	if err != nil || string(events[len(events)-1].Structured) != want {
		t.Errorf("on record is %s, %v", events[len(events)-1].Structured, err)
	}
	for format, part := range map[Format]string{JSON: `"structured": {`, Markdown: "```json\n" + want} {
		if text, err := r.svc.Export(context.Background(), s.SessionID, format); err != nil || !strings.Contains(string(text), part) {
			t.Errorf("exported as %s: %v\n%s", format, err, text)
		}
	}
}

func TestAnOutputIsAskedForUntilItFits(t *testing.T) {
	tests := map[string]struct {
		turns    []turn
		says     string // to the model last
		ends     string
		requests int
	}{
		"prose first": {[]turn{{text: "yes"}, {text: `{"ok":true}`}}, "the answer is no JSON value", "", 2},
		"a fault":     {[]turn{{text: `{"ok":"yes"}`}, {text: `{"ok":true}`}}, "ok: got string, want boolean", "", 2},
		"an odd key":  {[]turn{{text: `{"ok":true,"no":1}`}, {text: `{"ok":true}`}}, "additional property 'no' not allowed", "", 2},
		"no text":     {[]turn{{calls: []string{`look {"at":"x"}`}}, {}, {text: `{"ok":true}`}}, "it has no text", "", 3},
		"a call in place of it": {[]turn{{text: "yes"}, {calls: []string{`look {"at":"x"}`}}, {text: `{"ok":true}`}},
			"", "", 3},
		"never": {[]turn{{text: "a"}, {text: "b"}, {text: "c"}, {text: "d"}}, "", "the answer is no output that can be used, after 3 more requests for one: the answer is no JSON value", 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.config.Agents[0].Output = []byte(verdict)
			h := r.overhear("output")
			r.model.turns = tt.turns
			end := r.wait(r.start("x").RunID)
			asked := r.model.requests()
			if len(asked) != tt.requests {
				t.Errorf("%d requests, want %d", len(asked), tt.requests)
			}
			last := asked[len(asked)-1]
			if !strings.Contains(lastText(last), tt.says) {
				t.Errorf("the model is told %q, want %q", lastText(last), tt.says)
			}
			if forced := last.Output != nil; forced != (name != "a call in place of it") {
				t.Errorf("the last request has the format %+v", last.Output)
			}
			if tt.ends == "" {
				if end.Status != report.Done || string(end.Structured) != `{"ok":true}` || len(h.fields["output"]) != 1 {
					t.Errorf("ended %s %s with %s, %d events", end.Status, end.Error, end.Structured, len(h.fields["output"]))
				}
				return
			}
			if end.Status != report.Failed || end.StopReason != report.StopModel || end.Error != tt.ends || end.Structured != nil || len(h.fields["output"]) != 0 {
				t.Errorf("ended %s (%s): %s", end.Status, end.StopReason, end.Error)
			}
		})
	}
}

// Real providers are held to the schema where the answer in words did not fit;
// a server that does not know how is asked in words.
func TestProvidersAreHeldToTheOutputSchema(t *testing.T) {
	for _, d := range dialects() {
		for name, refuses := range map[string]bool{"forced": false, "refused": true} {
			t.Run(d.provider+" "+name, func(t *testing.T) {
				format := `"response_format"`
				if d.provider == "anthropic" {
					format = `"tool_choice"`
				}
				r, s := wired(t, d, manifest.Model{}, func(n int) wireAnswer {
					switch {
					case n == 1:
						return streaming(d.text("yes"))
					case n == 2 && refuses:
						return refusing(http.StatusBadRequest, "", `{"error":{"type":"invalid_request_error","message":"unknown field"}}`)
					case n == 2 && d.provider == "anthropic":
						return streaming(d.call("final_output", `{"ok":true}`))
					}
					return streaming(d.text(`{"ok":true}`))
				})
				r.config.Agents[0].Output = []byte(verdict)
				end := r.wait(r.start("x").RunID)
				if end.Status != report.Done || string(end.Structured) != `{"ok":true}` {
					t.Fatalf("ended %s %s with %s", end.Status, end.Error, end.Structured)
				}
				want := []bool{false, true}
				if refuses {
					want = []bool{false, true, false}
				}
				bodies := s.requests()
				if len(bodies) != len(want) {
					t.Fatalf("%d requests, want %d", len(bodies), len(want))
				}
				for i, body := range bodies {
					if got := strings.Contains(body, format); got != want[i] {
						t.Errorf("request %d has %s: %v", i+1, format, got)
					}
				}
			})
		}
	}
}

// What the caller wants comes before the agent's own, and a sub-agent that is
// a part of the run answers as it likes.
func TestTheCallersOutputSchema(t *testing.T) {
	r := newRig(t)
	r.config.Agents[0].Output = []byte(verdict)
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 1:
			return turn{text: "three"}
		case req.Turn == 0:
			return turn{calls: []string{`spawn {"prompt":"count"}`}}
		}
		return turn{text: "3"}
	})
	s, err := r.svc.Start(context.Background(), StartParams{Prompt: "x", OutputSchema: json.RawMessage(`{"type":"integer"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if end := r.wait(s.RunID); end.Status != report.Done || string(end.Structured) != "3" {
		t.Errorf("ended %s %s with %s", end.Status, end.Error, end.Structured)
	}
	for schema, want := range map[string]string{
		`{"type":`:                                        "unexpected end of JSON",
		`{"properties":{"a":{"type":"strng"}}}`:           `/properties/a/type: unknown type strng; did you mean "string"?`,
		`{"type":"nonsense"}`:                             "no JSON schema that can be used",
		`{"$ref":"http://127.0.0.1:1/x"}`:                 "no JSON schema that can be used",
		`{"title":"` + strings.Repeat("x", 64<<10) + `"}`: "more than 65536",
	} {
		if _, err := r.svc.Start(context.Background(), StartParams{Prompt: "x", OutputSchema: json.RawMessage(schema)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: error %v, want %q", schema, err, want)
		}
	}
}
