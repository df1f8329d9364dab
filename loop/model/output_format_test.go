package model

import (
	"encoding/json"
	"testing"

	"agent-ls/loop"
)

const verdictSchema = `{"type":"object","properties":{"ok":{"type":"boolean"},"why":{"type":"string"}},"required":["ok","why"],"additionalProperties":false}`

// The last answer is forced by the provider's own means: a response format, or
// a tool that has to be called. Either way it comes back as text.
func TestAnOutputIsForced(t *testing.T) {
	forced := func(value string) []reply {
		text, _ := json.Marshal(value)
		return []reply{
			sse(claude("tool_use", claudeBlock(0, `{"type":"tool_use","id":"toolu_1","name":"final_output","input":{}}`, `{"type":"input_json_delta","partial_json":`+string(text)+`}`)...)...),
			sse(chunk(`{"content":`+string(text)+`}`, "null"), chunk(`{}`, `"stop"`), usageChunk, doneChunk),
		}
	}
	for i, p := range providers() {
		for name, tt := range map[string]struct{ schema, sent, want, golden string }{
			"object": {verdictSchema, `{"ok":true,"why":"it is"}`, `{"ok":true,"why":"it is"}`, "_output.json"},
			"list":   {`{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`, `{"output":[1,2]}`, `[1,2]`, "_output_list.json"},
			"other":  {`{"enum":["a","b"]}`, `no JSON`, `no JSON`, ""},
		} {
			t.Run(p.name+" "+name, func(t *testing.T) {
				s := newWireServer(t, forced(tt.sent)[i])
				req := conversation
				req.ThinkingBudget = 4096
				req.Messages = req.Messages[:1]
				req.Output = &loop.OutputFormat{Name: "final_output", Schema: json.RawMessage(tt.schema)}
				answer, deltas, err := ask(p.open(t, s), req)
				if err != nil {
					t.Fatal(err)
				}
				if len(answer.Blocks) != 1 || answer.Blocks[0].Kind != loop.TextBlock || answer.Blocks[0].Text != tt.want || answer.StopReason != "end" {
					t.Errorf("answer = %+v, want the text %s", answer, tt.want)
				}
				if len(deltas) != 1 || deltas[0].Kind != loop.TextDelta {
					t.Errorf("deltas = %+v", deltas)
				}
				if tt.golden != "" {
					golden(t, p.name+tt.golden, s.requests[0].body)
				}
			})
		}
	}
}

// A call of another tool is one, whatever was asked for.
func TestAnotherCallInPlaceOfTheOutput(t *testing.T) {
	for _, p := range providers() {
		answer, _, err := ask(p.open(t, newWireServer(t, p.calls)), loop.ModelRequest{Output: &loop.OutputFormat{Name: "final_output", Schema: json.RawMessage(verdictSchema)}})
		if err != nil || len(answer.Blocks) != 4 || answer.StopReason != "tool_use" {
			t.Errorf("%s: answer %+v, %v", p.name, answer, err)
		}
	}
}

func TestStrictSchemas(t *testing.T) {
	for schema, want := range map[string]bool{
		verdictSchema:       true,
		`{"type":"string"}`: true,
		`{"type":"object","properties":{},"required":[],"additionalProperties":false}`: true,
		`{"type":"object","properties":{"a":{}},"required":["a"]}`:                     false,
		`{"type":"object","properties":{"a":{}},"additionalProperties":false}`:         false,
		`{"type":"object"}`: false,
		`{"type":"array","items":{"type":"object","properties":{"a":{"type":["object","null"]}},"required":["a"],"additionalProperties":false}}`: false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"number"}]}},"required":["a"],"additionalProperties":false}`:       true,
		`{"allOf":[{"type":"string"}]}`:                false,
		`{"$defs":{"x":{"type":"object"}}}`:            false,
		`{"type":"array","items":{"oneOf":[]}}`:        false,
		`{"type":"array","items":true}`:                false,
		`{"type":"object","properties":[1]}`:           false,
		`{"type":"array","items":{"type":"integer"}}`:  true,
		`{"enum":["oneOf","not"],"description":"not"}`: true,
	} {
		var v any
		if err := json.Unmarshal([]byte(schema), &v); err != nil {
			t.Fatal(err)
		}
		if got := strict(v); got != want {
			t.Errorf("strict(%s) = %v, want %v", schema, got, want)
		}
	}
}
