package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// appendTool has an effect that shows when it happens twice: it adds a line to
// a file.
type appendTool struct{ root string }

func (*appendTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "append", Schema: json.RawMessage(`{"type":"object","properties":{"line":{"type":"string"}},"required":["line"]}`)}
}

func (*appendTool) Prepare(context.Context, json.RawMessage) (loop.Plan, error) {
	return loop.Plan{Effect: loop.Execute, Title: "append a line"}, nil
}

func (a *appendTool) Run(_ context.Context, c loop.Invocation) loop.ToolResult {
	var args struct{ Line string }
	if err := json.Unmarshal(c.Arguments, &args); err != nil {
		return *refusal(loop.CallError, err.Error())
	}
	f, err := os.OpenFile(filepath.Join(a.root, "effects.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return *refusal(loop.CallError, err.Error())
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, args.Line); err != nil {
		return *refusal(loop.CallError, err.Error())
	}
	return loop.ToolResult{Text: "appended", Outcome: loop.CallOK}
}

func killConfig() *manifest.Config {
	return &manifest.Config{
		Agents:   []manifest.Agent{{Name: "coder", Model: "m", Stages: []manifest.Stage{{Name: "work", Tools: []string{"*"}}}}},
		Models:   map[string]manifest.Model{"m": {Name: "m"}},
		Behavior: manifest.Behavior{MaxRetries: 2, MaxConcurrentTools: 4},
	}
}

func killTurns() []turn {
	return []turn{
		{text: "Looking.", calls: []string{`look {"at":"a"}`, `look {"at":"b"}`, `append {"line":"first"}`}},
		{calls: []string{`append {"line":"second"}`, `change {"path":"a.txt","text":"changed\n"}`, `append {"line":"third"}`}},
		{calls: []string{`look {"at":"c"}`, `change {"path":"a.txt","text":"again\n"}`}},
		{text: "Done."},
	}
}
