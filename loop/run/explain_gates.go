package run

import (
	"context"
	"fmt"
	"maps"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// gates lets the scripts and handlers before a call see it, as a run would,
// and says what each event came to. Command hooks are processes: they do not
// run here, and their step says so. What the hooks return as state is thrown
// away. It returns whether the call goes on.
func (x *explainer) gates(ctx context.Context, d *dispatched) bool {
	x.leftOut(&d.call)
	for _, event := range d.gates() {
		if event == "pre_tool" {
			x.say(loop.GateStep{Layer: loop.LayerHook, Source: event, Outcome: loop.VerdictAllow, Because: "command hooks see this call in a run; they do not run here"})
			continue
		}
		if !x.run.gear.has(d.state.Stage, event) {
			continue
		}
		fields := d.state.HookFields(event, d.call.ID)
		maps.Copy(fields, d.gateFields(event))
		out := x.run.gear.set.Fire(ctx, hooks.Firing{Event: event, Stage: d.state.Stage, At: x.run.svc.now(), CallID: d.call.ID, Fields: fields})
		step := loop.GateStep{Layer: loop.LayerHook, Source: event, Fired: true, Outcome: loop.VerdictAllow, Because: "the hooks allow it"}
		for _, one := range out.Decisions {
			if one.Hook.At != nil {
				step.Source = fmt.Sprintf("%s:%d:%d", x.run.svc.shortPath(one.Hook.At.Path), one.Hook.At.Start.Line, one.Hook.At.Start.Column)
			}
		}
		switch {
		case out.Failure != nil:
			step.Outcome, step.Because = loop.VerdictDeny, x.run.svc.failureText(event, out.Failure)
		case out.Action == contract.Deny:
			step.Outcome, step.Because = loop.VerdictDeny, orElse(out.Reason, "a hook refuses it")
		case out.Action == contract.Cancel:
			step.Outcome, step.Because = loop.VerdictDeny, "a hook ends the run: "+orElse(out.Reason, "no reason given")
		case out.Action == contract.Substitute:
			step.Outcome, step.Because = loop.VerdictDeny, "a hook answers in its place; the call does not run"
		}
		if !x.say(step) {
			return false
		}
	}
	return true
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
