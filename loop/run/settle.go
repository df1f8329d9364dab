package run

import (
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// settle lets hooks see, and change, what a tool answered. It fails closed: a
// result that a broken hook should have seen first is withheld.
func (d *dispatched) settle(result *loop.ToolResult, edits []loop.FileEdit, took time.Duration) {
	made := int64(len(result.Text))
	if d.work.Err() != nil {
		// The run is over, and its hooks are not asked any more.
		for _, event := range transforms {
			if d.heard(event) {
				*result = loop.ToolResult{CallID: result.CallID, Text: "the run was stopped; what the call printed was not seen by its hooks and is left out", IsError: result.IsError, Outcome: result.Outcome}
				return
			}
		}
		return
	}
	failed := result.Outcome == loop.CallError
	if isMCP(d.call.Tool) {
		d.settleMCP(result, made, took, failed)
	}
	if failed {
		d.transform("tool:error", result, func() map[string]any {
			f := d.callFields()
			f["error"], f["result"] = result.Text, result.Text
			return f
		})
	}
	d.transform("tool:transform", result, func() map[string]any {
		f := d.callFields()
		f["result"], f["is_error"], f["output_bytes"] = result.Text, result.IsError, made
		f["duration_ms"], f["coercions"] = took.Milliseconds(), coercions(d.call.Coerced)
		return f
	})
	if result.Outcome == loop.CallOK {
		d.transform("post_tool", result, func() map[string]any {
			f := d.commandFields()
			f["result"] = result.Text
			return f
		})
	}
	if d.work.Err() == nil && result.Outcome == loop.CallOK && len(edits) > 0 {
		d.diagnose(result, edits)
	}
	d.hear("tool:after", func() map[string]any {
		f := d.callFields()
		f["original_input"] = plainAny(d.call.Wanted.Arguments)
		f["result"], f["is_error"], f["outcome"], f["output_bytes"] = result.Text, result.IsError, string(result.Outcome), int64(len(result.Text))
		f["duration_ms"], f["coercions"] = took.Milliseconds(), coercions(d.call.Coerced)
		return f
	})
}

// transforms are the events whose hooks may have to see a result first.
var transforms = []string{"mcp:tool:transform", "tool:error", "tool:transform", "post_tool"}

func (d *dispatched) settleMCP(result *loop.ToolResult, made int64, took time.Duration, failed bool) {
	if failed {
		d.hear("mcp:tool:error", func() map[string]any {
			f := d.mcpFields()
			f["error"], f["duration_ms"] = result.Text, took.Milliseconds()
			return f
		})
	}
	d.transform("mcp:tool:transform", result, func() map[string]any {
		f := d.mcpFields()
		f["result"], f["is_error"], f["output_bytes"], f["duration_ms"] = result.Text, result.IsError, made, took.Milliseconds()
		return f
	})
	if failed {
		return
	}
	d.hear("mcp:tool:after", func() map[string]any {
		f := d.mcpFields()
		f["result"], f["is_error"], f["output_bytes"], f["duration_ms"] = result.Text, result.IsError, int64(len(result.Text)), took.Milliseconds()
		return f
	})
}

// transform lets the hooks of one event change a result.
func (d *dispatched) transform(event string, result *loop.ToolResult, fields func() map[string]any) {
	out := d.hear(event, fields)
	if d.work.Err() != nil && d.heard(event) {
		out.Failure = &hooks.Failure{Kind: hooks.Infrastructure, Message: "the run was stopped before the hook had answered"}
	}
	switch {
	case out.Failure != nil || out.Action == contract.Cancel:
		why := ""
		if d.work.Err() == nil {
			why = ": " + d.run.endRun(event, out)
		}
		*result = loop.ToolResult{CallID: result.CallID, Text: "the result is withheld, since its hooks did not see it" + why, IsError: true, Outcome: result.Outcome}
	case out.Action == contract.Modify:
		value, isMap := out.Value.(map[string]any)
		if !isMap { // of post_tool, which replaces nothing but the text
			value = map[string]any{"result": out.Value}
		}
		if text, given := value["result"]; given {
			result.Text = valueText(text)
			result.Images = nil // they were part of what is replaced
		}
		if isError, given := value["is_error"].(bool); given {
			result.IsError = isError
			switch {
			case isError && result.Outcome == loop.CallOK:
				result.Outcome = loop.CallError
			case !isError && result.Outcome == loop.CallError:
				result.Outcome = loop.CallOK
			}
		}
	}
}

// cancelledAlone tells of a call that the user cancelled while the run goes on.
func (d *dispatched) cancelledAlone(running bool) {
	d.hear("tool:cancelled", func() map[string]any {
		f := d.callFields()
		f["running"] = running
		return f
	})
}
