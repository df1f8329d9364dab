package run

import (
	"context"
	"encoding/json"
	"fmt"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/tool"
)

// Explain says what would happen to a call in a stage of the default agent
// ("" = its first), as the files are now. Scripts run on a batch of this one
// call and their states are thrown away; nothing else runs, and nothing is
// recorded.
func (s *Service) Explain(ctx context.Context, name string, arguments json.RawMessage, stage string) (Explanation, error) {
	pin, findings := s.load(ctx, "", "", loop.ModeAsk)
	if pin == nil {
		return Explanation{}, &CannotStart{Findings: findings}
	}
	if step, broken := s.brokenStep(findings); broken {
		return Explanation{Outcome: step.Outcome, Steps: []loop.GateStep{step}}, nil
	}
	findings = nil // what does not concern this call must not keep it from being explained
	g, more, err := s.equip(ctx, pin, tool.NewTracker())
	for _, f := range more {
		if f.Code != codeCannotStart {
			findings = append(findings, f)
		}
	}
	if len(findings) > 0 {
		return Explanation{}, &CannotStart{Findings: findings}
	}
	if err != nil {
		return Explanation{}, err
	}
	if err := s.loadGrants(); err != nil {
		return Explanation{}, err
	}
	names := make([]string, len(pin.agent().Stages))
	for i, st := range pin.agent().Stages {
		names[i] = st.Name
	}
	if stage == "" {
		stage = entryOf(pin.agent())
	}
	if pin.stage(stage).Name == "" {
		return Explanation{}, unknownIDError(fmt.Sprintf("unknown stage %q%s", stage, didYouMean(stage, names)))
	}
	x := &explainer{run: newRun(s, "explain", "explain", pin, g)}
	defer x.run.stop(nil)
	x.run.decider.silent = true
	x.explain(ctx, name, arguments, stage)
	return x.out, nil
}

// brokenStep is the only step of a call of an agent that is broken: no run of
// it starts, and which of its hooks would see the call is not known. What is
// wrong with a run as a whole, such as its model, says nothing about the call.
func (s *Service) brokenStep(findings []finding) (loop.GateStep, bool) {
	for _, f := range findings {
		if f.Code == codeCannotStart {
			continue
		}
		step := loop.GateStep{Layer: loop.LayerBuiltin, Fired: true, Outcome: loop.VerdictDeny, Because: "no run starts: " + f.Message}
		if f.Path != "" {
			step.Source = s.shortPath(f.Path)
		}
		return step, true
	}
	return loop.GateStep{}, false
}

func entryOf(a *manifest.Agent) string {
	if a.Entry == "" && len(a.Stages) > 0 {
		return a.Stages[0].Name
	}
	return a.Entry
}

// explainer brings one call through the gate without letting it through.
type explainer struct {
	run *activeRun
	out Explanation
}

// say adds a step and says whether the call goes on.
func (x *explainer) say(step loop.GateStep) bool {
	x.out.Steps = append(x.out.Steps, step)
	x.out.Outcome = step.Outcome
	return step.Outcome != loop.VerdictDeny
}

func (x *explainer) explain(ctx context.Context, name string, arguments json.RawMessage, stage string) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	wanted := loop.ToolCall{ID: newID("call"), Name: name, Arguments: arguments}
	checked := x.run.gear.check(&wanted)
	if checked.Invalid != "" {
		x.say(loop.GateStep{Layer: loop.LayerSchema, Fired: true, Outcome: loop.VerdictDeny, Because: checked.Invalid})
		return
	}
	x.say(loop.GateStep{Layer: loop.LayerSchema, Fired: true, Outcome: loop.VerdictAllow, Because: "the arguments fit the tool's schema"})
	state, call, going := x.hooks(ctx, wanted, checked, stage)
	if !going {
		return
	}
	d := &dispatched{run: x.run, call: call, state: state, work: ctx}
	early := d.prepare(ctx)
	if (early == nil || early.Outcome != loop.CallInvalid) && !x.gates(ctx, d) {
		return
	}
	if early != nil {
		layer := loop.LayerBuiltin
		if early.Outcome == loop.CallInvalid {
			layer = loop.LayerSchema
		}
		x.say(loop.GateStep{Layer: layer, Fired: true, Outcome: loop.VerdictDeny, Because: early.Text})
		return
	}
	x.say(loop.GateStep{Layer: loop.LayerBuiltin, Source: "tools of " + stage, Fired: true, Outcome: loop.VerdictAllow, Because: "the stage offers the tool"})
	j := d.judge(x.run.grants())
	x.out.Steps = append(x.out.Steps, j.Steps...)
	x.out.Outcome = j.Verdict
	if j.Verdict == loop.VerdictAsk {
		x.say(loop.GateStep{Layer: loop.LayerApproval, Fired: true, Outcome: loop.VerdictAsk, Because: "a person is asked: " + d.plan.Title})
	}
}

// hooks lets the core and the scripts see a batch of this one call.
func (x *explainer) hooks(ctx context.Context, wanted loop.ToolCall, checked loop.CheckedCall, stage string) (loop.State, loop.Call, bool) {
	r := x.run
	course := r.pin.course(r.gear, "")
	course.Entry, course.Points = stage, nil
	for i := range course.Stages {
		course.Stages[i].Points = nil
		if r.gear.has(course.Stages[i].Name, loop.OnToolCall) {
			course.Stages[i].Points = []string{loop.OnToolCall}
		}
	}
	now := r.svc.now()
	s, commands := loop.Apply(loop.State{}, loop.Event{
		Kind: loop.Started, At: now, RunID: r.id, SessionID: r.session, Mark: newMark(), Course: course,
		Prompt: []loop.Block{{Kind: loop.TextBlock, Text: "explain"}},
	})
	s, commands = loop.Apply(s, loop.Event{
		Kind: loop.Answered, At: now, Step: last(commands).Step, Checked: []loop.CheckedCall{checked},
		Answer: &loop.ModelAnswer{Blocks: []loop.Block{{Kind: loop.CallBlock, Call: &wanted}}},
	})
	fire := last(commands)
	if fire.Kind != loop.FireHook {
		x.say(loop.GateStep{Layer: loop.LayerHook, Outcome: loop.VerdictAllow, Because: "no hook sees this call"})
		call, _ := s.Call(wanted.ID)
		return s, call, true
	}
	out := r.fireNow(ctx, fire, s)
	e, decisions := r.svc.decided(fire, s, out)
	e.At = now
	before, _ := s.Call(wanted.ID)
	next, _ := loop.Apply(s, e)
	call, found := next.Call(wanted.ID)
	going := found && call.Phase != loop.CallDone
	step := loop.GateStep{Layer: loop.LayerHook, Fired: true, Outcome: loop.VerdictAllow, Because: "the hooks allow it"}
	switch {
	case next.Status == loop.RunFailed || next.Ending.Error != "":
		step.Outcome, step.Because, going = loop.VerdictDeny, next.Ending.Error, false
	case !going:
		step.Outcome, step.Because = loop.VerdictDeny, refusedBecause(e)
	case call.Hooked:
		step.Because = fmt.Sprintf("a hook changed it: %v", pointers(before.Arguments, call.Arguments))
	}
	for _, d := range decisions {
		if d.Hook.At != nil {
			step.Source = fmt.Sprintf("%s:%d:%d", r.svc.shortPath(d.Hook.At.Path), d.Hook.At.Start.Line, d.Hook.At.Start.Column)
		}
	}
	return next, call, x.say(step) && going
}

func refusedBecause(e loop.Event) string {
	if e.Reason != "" {
		return e.Reason
	}
	if e.Action == loop.HookModify {
		return "a hook left this call out"
	}
	return "a hook refuses it"
}

func last(commands []loop.Command) loop.Command {
	for i := len(commands) - 1; i >= 0; i-- {
		if commands[i].Step > 0 {
			return commands[i]
		}
	}
	return loop.Command{}
}
