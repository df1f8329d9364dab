package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// nextStage is the tool that a model chooses the next stage with. What it
// chooses takes effect in the core when its batch is done.
type nextStage struct{}

type nextStageArguments struct {
	Stage  string `json:"stage"`
	Reason string `json:"reason"`
}

// Spec is the tool without a stage's own choices.
func (*nextStage) Spec() loop.ToolSpec { return nextStageSpec(&manifest.Stage{}) }

func nextStageSpec(st *manifest.Stage) loop.ToolSpec {
	var text strings.Builder
	text.WriteString("Ends this stage and goes on with the one that you name.")
	property := map[string]any{"type": "string"}
	if names := choicesOf(st, &text); len(names) > 0 {
		property["enum"] = names
	}
	schema, err := contract.WritePlain(map[string]any{
		"type":                 "object",
		"properties":           map[string]any{"stage": property, "reason": map[string]any{"type": "string"}},
		"required":             []any{"stage"},
		"additionalProperties": false,
	})
	if err != nil {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return loop.ToolSpec{Name: loop.NextStageTool, Description: text.String(), Schema: schema}
}

func choicesOf(st *manifest.Stage, text *strings.Builder) []any {
	var names []any
	for _, t := range st.Transitions {
		if t.On != loop.OnModelChoice {
			continue
		}
		names = append(names, t.To)
		if t.Hint != "" {
			fmt.Fprintf(text, "\n%s: %s", t.To, t.Hint)
		}
	}
	return names
}

// Prepare is what a call would do in a stage without choices.
func (n *nextStage) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	return n.prepareFor(&manifest.Stage{}, args)
}

func (*nextStage) prepareFor(st *manifest.Stage, args json.RawMessage) (loop.Plan, error) {
	var a nextStageArguments
	if err := json.Unmarshal(args, &a); err != nil {
		return loop.Plan{}, fmt.Errorf("read the arguments: %w", err)
	}
	var names []string
	for _, name := range choicesOf(st, &strings.Builder{}) {
		if name == a.Stage {
			return loop.Plan{Effect: loop.Read, Title: "go on with stage " + a.Stage, ConcurrencySafe: true}, nil
		}
		names = append(names, name.(string))
	}
	return loop.Plan{}, fmt.Errorf("stage %q cannot be chosen here%s", a.Stage, didYouMean(a.Stage, names))
}

// Run says that the choice was taken.
func (*nextStage) Run(_ context.Context, call loop.Invocation) loop.ToolResult {
	var a nextStageArguments
	if err := json.Unmarshal(call.Arguments, &a); err != nil {
		return *refusal(loop.CallError, err.Error())
	}
	return loop.ToolResult{Text: fmt.Sprintf("stage %q is next", a.Stage), Outcome: loop.CallOK}
}
