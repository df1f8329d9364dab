package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/tool"
)

// The hooks of one call. The order is: tool:gate, mcp:tool:gate, pre_tool,
// built-in policies, rules, taint, approval, tool:dispatched, tool:before,
// run, tool:error, tool:transform, post_tool, post-edit diagnostics,
// tool:after. This file has the part before the run, settle.go the one after.

// hear raises an event about a call, on this run and, from a sub-agent, on the
// run that started it.
func (r *activeRun) hear(ctx context.Context, s *loop.State, event, callID string, fields func() map[string]any) hooks.Outcome {
	out := r.raise(ctx, s, event, callID, fields)
	if observedAbove(event) {
		return out // raise has passed it on
	}
	return r.bubble(ctx, s, event, callID, fields, out)
}

// hear raises an event about this call.
func (d *dispatched) hear(event string, fields func() map[string]any) hooks.Outcome {
	return d.run.hear(d.work, &d.state, event, d.call.ID, fields)
}

// heard says whether a hook, here or of the run that started this one, hears
// an event.
func (d *dispatched) heard(event string) bool {
	return d.run.gear.has(d.state.Stage, event) || d.run.bubbles(event)
}

// endRun ends the run since hooks of an event are broken or cancelled it.
func (r *activeRun) endRun(event string, out hooks.Outcome) string {
	why := "no reason given"
	switch {
	case out.Failure != nil:
		why = r.svc.failureText(event, out.Failure)
	case out.Reason != "":
		why = fmt.Sprintf("%s cancelled the run: %s", event, bounded(out.Reason))
	default:
		why = fmt.Sprintf("%s cancelled the run: %s", event, why)
	}
	r.post(posted{event: loop.Event{Kind: loop.Ended, Stop: loop.StopHook, Error: why}})
	return why
}

// callDigest names a call by what runs.
func callDigest(name string, args json.RawMessage) string {
	if v, err := contract.ReadPlain(args); err == nil {
		if canonical, err := contract.WritePlain(v); err == nil {
			args = canonical
		}
	}
	sum := sha256.Sum256(append([]byte(name+"\x00"), args...))
	return hex.EncodeToString(sum[:])
}

// gates are the events that may refuse this call, in their order.
func (d *dispatched) gates() []string {
	var all []string
	for _, event := range []string{"tool:gate", "mcp:tool:gate", "pre_tool"} {
		if (event != "mcp:tool:gate" || isMCP(d.call.Tool)) && d.heard(event) {
			all = append(all, event)
		}
	}
	return all
}

func isMCP(name string) bool { return strings.HasPrefix(name, "mcp__") }

// pass asks the hooks before the call, once for its arguments. It returns
// whether they changed the call, or the result that they answer it with. In a
// process that resumes the run only tool:gate is asked again; what the others
// said is kept, unless tool:gate makes it another call.
func (d *dispatched) pass(ctx context.Context) (changed bool, refused *loop.ToolResult) {
	digest := callDigest(d.call.Tool, d.call.Arguments)
	old := d.call.Gate
	if old != nil && old.Digest != digest {
		old = nil // it was about other arguments
	}
	kept := loop.HookState{}
	if old != nil {
		d.unheard = old.Unheard
		if !d.call.Resumed || old.Refused != nil || !d.heard("tool:gate") {
			return false, old.Refused
		}
		maps.Copy(kept, old.State)
	}
	gates := d.gates()
	if len(gates) == 0 {
		return false, nil
	}
	unheard := d.unheard
	for _, event := range gates {
		if old != nil && !changed && event != "tool:gate" {
			continue
		}
		out := d.hear(event, func() map[string]any { return d.gateFields(event) })
		if ctx.Err() != nil {
			return false, d.stopped(ctx)
		}
		for _, state := range out.States {
			maps.Copy(kept, state)
		}
		if unheard == "" {
			unheard = out.Unheard
		}
		c, stop := d.took(event, out)
		changed = changed || c
		if refused = stop; refused != nil {
			break
		}
	}
	d.unheard = unheard
	return changed, d.passed(changed, refused, kept)
}

// passed journals what the gate came to. Whoever is asked later sees the
// decisions of its hooks.
func (d *dispatched) passed(changed bool, refused *loop.ToolResult, kept loop.HookState) *loop.ToolResult {
	e := loop.Event{Kind: loop.Gated, CallID: d.call.ID, Reason: d.unheard, Digest: callDigest(d.call.Tool, d.call.Arguments), Result: refused, Kept: kept}
	if changed {
		e.Arguments = d.call.Arguments
	}
	if s, ok := d.run.tell(posted{event: e}); !ok || !s.Active() {
		return refusal(loop.CallCancelled, "the run was stopped")
	}
	return refused
}

// took acts on what the hooks of one event said.
func (d *dispatched) took(event string, out hooks.Outcome) (changed bool, refused *loop.ToolResult) {
	if out.Failure != nil {
		return false, refusal(loop.CallDenied, "it did not run: "+d.run.endRun(event, out))
	}
	switch out.Action {
	case contract.Allow:
		return false, nil
	case contract.Cancel:
		return false, refusal(loop.CallDenied, "it did not run: "+d.run.endRun(event, out))
	case contract.Deny:
		reason := bounded(out.Reason)
		if reason == "" {
			reason = "a hook refused it"
		}
		return false, refusal(loop.CallDenied, "denied by a hook: "+reason)
	case contract.Substitute:
		if d.call.Resumed && event == "tool:gate" {
			return false, nil // it had passed; what it may have done cannot be replaced any more
		}
		return false, &loop.ToolResult{Text: valueText(out.Value), IsError: out.IsError, Outcome: loop.CallSubstituted}
	case contract.Modify:
		return d.rewritten(event, out.Value)
	}
	out.Failure = &hooks.Failure{Kind: hooks.Malformed, Message: fmt.Sprintf("the action %v is not one that this event knows", out.Action)}
	return false, refusal(loop.CallDenied, "it did not run: "+d.run.endRun(event, out))
}

// rewritten gives the call other arguments, which have to fit like its own.
func (d *dispatched) rewritten(event string, value any) (bool, *loop.ToolResult) {
	m, isMap := value.(map[string]any)
	text, err := contract.WritePlain(value)
	if err == nil && !isMap {
		err = fmt.Errorf("the value is %T, not arguments", value)
	}
	if err == nil {
		text, err = tool.ValidateArguments(d.tool.Spec(), text)
	}
	if err != nil {
		return false, refusal(loop.CallInvalid, fmt.Sprintf("changed by %s: %v", event, err))
	}
	if len(m) > 0 && sameJSON(text, d.call.Arguments) {
		return false, nil
	}
	d.call.Arguments, d.call.Hooked = text, true
	return true, nil
}

// valueText is a hook's value as the text of a result.
func valueText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := contract.WritePlain(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// callFields are what every event about a call has.
func (d *dispatched) callFields() map[string]any {
	return map[string]any{"call_id": d.call.ID, "name": d.call.Tool, "input": loop.ArgumentMap(d.call.Arguments)}
}

// mcpFields are what every event about a call of an MCP tool has.
func (d *dispatched) mcpFields() map[string]any {
	f := d.callFields()
	server, name, _ := strings.Cut(strings.TrimPrefix(d.call.Tool, "mcp__"), "__")
	if t, ok := d.run.gear.find(d.call.Tool).(*serverTool); ok {
		server, name = t.offered.Server, t.offered.Tool // as they are called where they come from
	}
	f["server"], f["tool"] = server, name
	return f
}

func (d *dispatched) gateFields(event string) map[string]any {
	if event == "mcp:tool:gate" {
		f := d.mcpFields()
		f["coercions"] = coercions(d.call.Coerced)
		return f
	}
	if event == "pre_tool" {
		return d.commandFields()
	}
	f := d.callFields()
	f["coercions"], f["run_tool_counts"] = coercions(d.call.Coerced), d.run.ledger.countFields()
	f["resumed"] = d.call.Resumed
	if d.call.Resumed && d.call.Gate != nil && len(d.call.Gate.State) > 0 {
		f["resume_state"] = map[string]any(d.call.Gate.State)
	}
	return f
}

func plainAny(args json.RawMessage) any {
	v, err := contract.ReadPlain(args)
	if err != nil {
		return string(args)
	}
	return v
}

// coercions are nil where there are none, so that a hook can ask for that.
func coercions(all []loop.Coercion) any {
	if len(all) == 0 {
		return nil
	}
	out := make([]any, len(all))
	for i, c := range all {
		out[i] = map[string]any{"path": c.Path, "before": plainOf(c.Before), "after": plainOf(c.After)}
	}
	return out
}

// plainOf reads any JSON value as plain data.
func plainOf(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return plainAny(text)
}

// deciding is the layer that came to a verdict.
func deciding(j loop.Judgement, v loop.Verdict) loop.Layer {
	for _, s := range j.Steps {
		if s.Fired && s.Outcome == v {
			return s.Layer
		}
	}
	return loop.LayerRule
}

// dispatchedAs says what became of a call at the gate, once. No outcome means
// that it runs.
func (d *dispatched) dispatchedAs(outcome loop.CallOutcome) {
	if d.shown || d.work.Err() != nil {
		return
	}
	d.shown = true
	if !d.heard("tool:dispatched") {
		return
	}
	word, layer := "run", d.layer
	var reason any
	switch outcome {
	case "":
		layer = deciding(d.judgement, loop.VerdictAllow)
		if d.judgement.Verdict == loop.VerdictAsk {
			layer = loop.LayerApproval
		}
	case loop.CallSubstituted, loop.CallInvalid, loop.CallCancelled:
		word = string(outcome)
	default:
		word = "denied"
	}
	if outcome != "" && d.early != nil {
		reason = d.early.Text
	}
	d.hear("tool:dispatched", func() map[string]any {
		f := d.callFields()
		f["outcome"], f["layer"], f["reason"] = word, string(layer), reason
		return f
	})
}

// starting is the moment before the tool is at work.
func (d *dispatched) starting() {
	d.hear("tool:before", func() map[string]any {
		f := d.callFields()
		f["coercions"], f["title"], f["effect"] = coercions(d.call.Coerced), d.plan.Title, string(d.plan.Effect)
		return f
	})
	if isMCP(d.call.Tool) {
		d.hear("mcp:tool:before", d.mcpFields)
	}
}
