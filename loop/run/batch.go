package run

import (
	"context"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/tool"
)

// checkCalls shows the calls of a batch to the hooks of validation, in the
// order of the calls.
func (r *activeRun) checkCalls(ctx context.Context, c loop.Command, s loop.State) {
	e := loop.Event{Kind: loop.CallsChecked, Step: c.Step}
	for _, call := range s.Batch {
		v := &validated{run: r, ctx: ctx, call: call, state: &s}
		switch {
		case call.Result == nil:
			v.coerced()
			continue
		case call.Unknown:
			v.unknown()
		default:
			v.rejected()
		}
		if ctx.Err() != nil || v.over {
			return
		}
		v.dispatched()
		if v.result != nil {
			e.Results = append(e.Results, *v.result)
		}
	}
	r.post(posted{event: e})
}

// validated is a call that validation answered or changed.
type validated struct {
	run    *activeRun
	ctx    context.Context
	call   loop.Call
	state  *loop.State
	result *loop.ToolResult // in place of the call's own; nil leaves that
	over   bool             // the run ends
}

func (v *validated) hear(event string, fields func(map[string]any)) hooks.Outcome {
	return v.run.hear(v.ctx, v.state, event, v.call.ID, func() map[string]any {
		f := map[string]any{"call_id": v.call.ID, "name": v.call.Wanted.Name, "input": plainAny(v.call.Wanted.Arguments)}
		fields(f)
		return f
	})
}

func (v *validated) coerced() {
	if len(v.call.Coerced) == 0 {
		return
	}
	v.hear("validation:coerce", func(f map[string]any) {
		f["name"], f["input"] = v.call.Tool, loop.ArgumentMap(v.call.Arguments)
		f["original_input"], f["coercions"] = plainAny(v.call.Wanted.Arguments), coercions(v.call.Coerced)
	})
}

func (v *validated) rejected() {
	v.hear("validation:reject", func(f map[string]any) {
		faults := make([]any, len(v.call.Faults))
		for i, fault := range v.call.Faults {
			faults[i] = map[string]any{"path": fault.Path, "message": fault.Message}
		}
		f["error"], f["errors"] = v.call.Result.Text, faults
	})
}

// unknown lets hooks answer a call of a tool that does not exist.
func (v *validated) unknown() {
	own := v.call.Result
	out := v.hear("tool:unknown", func(f map[string]any) {
		offered := []any{}
		var names []string
		for _, spec := range v.run.gear.specs(v.run.pin, v.state.Stage) {
			offered, names = append(offered, spec.Name), append(names, spec.Name)
		}
		f["available"], f["result"], f["suppress_error"] = offered, own.Text, false
		if near := nearest(tool.Canonical(v.call.Wanted.Name), names); near != "" {
			f["nearest"] = near
		}
	})
	if v.ctx.Err() != nil {
		return
	}
	answer := *own
	switch {
	case out.Failure != nil || out.Action == contract.Cancel:
		v.run.endRun("tool:unknown", out)
		v.over = true
		return
	case out.Action == contract.Deny:
		answer.Text = "denied by a hook: " + bounded(out.Reason)
		if out.Reason == "" {
			answer.Text = "denied by a hook"
		}
	case out.Action == contract.Substitute:
		answer.Text, answer.IsError, answer.Outcome = valueText(out.Value), out.IsError, loop.CallSubstituted
	case out.Action == contract.Modify:
		value, _ := out.Value.(map[string]any)
		answer.Text = valueText(value["result"])
		if quiet, _ := value["suppress_error"].(bool); quiet {
			answer.IsError = false
		}
	default:
		return
	}
	answer.Text = v.state.Clean(answer.Text)
	v.result = &answer
}

func (v *validated) dispatched() {
	word := "invalid"
	if v.call.Unknown {
		word = "unknown"
	}
	result := v.call.Result
	if v.result != nil {
		result = v.result
	}
	v.hear("tool:dispatched", func(f map[string]any) {
		f["outcome"], f["layer"], f["reason"] = word, string(loop.LayerSchema), result.Text
	})
}

// batchEnded tells hooks of results that went into the conversation, before
// anything that follows from them.
func (r *activeRun) batchEnded(c loop.Command) {
	if r.gear == nil {
		return
	}
	s, size := r.state, 0
	results := make([]any, len(c.Batch))
	for i, call := range c.Batch {
		size += len(call.Result.Text)
		results[i] = map[string]any{
			"call_id": call.ID, "name": call.Tool, "outcome": string(call.Result.Outcome),
			"is_error": call.Result.IsError, "output_bytes": int64(len(call.Result.Text)),
		}
	}
	if r.gear.has(s.Stage, "tool-results:after") {
		r.ahead = append(r.ahead, func(ctx context.Context) {
			r.raise(ctx, &s, "tool-results:after", "", func() map[string]any { return map[string]any{"results": results} })
		})
	}
	if budget := s.Course.OutputBudget; budget > 0 && size > budget && r.gear.has(s.Stage, "budget:exceeded") {
		r.ahead = append(r.ahead, func(ctx context.Context) {
			r.raise(ctx, &s, "budget:exceeded", "", func() map[string]any {
				return map[string]any{"bytes": int64(size), "budget": int64(budget)}
			})
		})
	}
}

// injected tells hooks of what the user said, once it is in the conversation.
func (r *activeRun) injected(c loop.Command) {
	if r.gear == nil {
		return
	}
	s := r.state
	if !r.gear.has(s.Stage, "steer:inject") {
		return
	}
	r.ahead = append(r.ahead, func(ctx context.Context) {
		r.raise(ctx, &s, "steer:inject", "", func() map[string]any {
			return map[string]any{"id": c.ID, "text": c.Text, "content": []any{map[string]any{"type": "text", "text": c.Text}}}
		})
	})
}
