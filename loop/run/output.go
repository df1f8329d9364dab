package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/tool"
)

// outputEvent tells of a run's structured output.
const outputEvent = "output"

// maxOutput bounds a run's structured output, in bytes.
const maxOutput = 1 << 20

// checkOutput says what output a text is. A run that was stopped meanwhile
// does not want to know any more.
func (r *activeRun) checkOutput(ctx context.Context, c loop.Command, s loop.State) {
	e := loop.Event{Kind: loop.OutputChecked, Step: c.Step}
	value, err := outputIn(c.Text, s.Course.Output.Schema)
	if err != nil {
		e.Error = err.Error()
	} else {
		e.Structured, e.Text = value, &c.Text
	}
	if ctx.Err() == nil {
		r.post(posted{event: e})
	}
}

// outputIn is the JSON value that a text is, if that fits the schema.
func outputIn(text string, schema json.RawMessage) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("it has no text")
	}
	value, err := jsonIn(strings.TrimSpace(text), maxOutput)
	if err != nil {
		return nil, err
	}
	if err := tool.CheckValue(schema, value); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

// outputFinding says what is wrong with an output schema, in words for a
// person; "" is nothing.
func outputFinding(schema json.RawMessage) string {
	if len(schema) == 0 {
		return ""
	}
	err := manifest.CheckOutputSchema(schema)
	if err == nil {
		err = tool.CheckAnswerSchema(schema)
	}
	if err != nil {
		return fmt.Sprintf("the output schema is no JSON schema that can be used: %v", err)
	}
	return ""
}

// outputAnnounced tells of the output that a run came to.
func (r *activeRun) outputAnnounced(add announcer, before *loop.State, e *loop.Event) {
	if before.Structured != nil || r.state.Structured == nil || e.Text == nil {
		return
	}
	text := *e.Text
	add(outputEvent, func(s *loop.State) map[string]any {
		value, err := contract.ReadPlain(s.Structured)
		if err != nil {
			value = nil // it was read a moment ago
		}
		return map[string]any{"output": value, "text": text}
	})
}
