package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/manifest"
)

// otherAgent is an agent that the run may spawn.
type otherAgent struct {
	Agent  manifest.Agent
	Broken string `json:",omitempty"` // why it cannot run
}

// others are the agents beside the run's own, as they are when it starts.
func others(cfg *manifest.Config, own string, findings []finding) []otherAgent {
	var out []otherAgent
	for i := range cfg.Agents {
		a := cfg.Agents[i]
		if a.Name == own {
			continue
		}
		o := otherAgent{Agent: a}
		switch blocking := errorsOf(cfg.Blocking(a.Name, findings)); {
		case len(blocking) > 0:
			o.Broken = blocking[0].Message
		case len(a.Stages) == 0:
			o.Broken = fmt.Sprintf("agent %q has no stage", a.Name)
		default:
			if found := checkStages(&a, nil); len(found) > 0 {
				o.Broken = found[0].Message
			}
		}
		out = append(out, o)
	}
	return out
}

// spawnable are the names that spawn takes, the run's own first.
func (p *pinned) spawnable() []string {
	names := []string{p.agent().Name}
	for _, o := range p.Others {
		names = append(names, o.Agent.Name)
	}
	return names
}

// forChild is what a sub-agent's run pins: everything that its parent has
// pinned, with the agent that is asked for. Without a name, or with the
// parent's own, that is the stage that spawned, by itself: the same prompt,
// tools and hooks. Another agent has its own, and the parent's guards before
// them.
func (p *pinned) forChild(sp *spawning) (*pinned, error) {
	child := &pinned{Config: p.Config, Model: sp.state.Course.Model, Mode: sp.run.modeBelow(), Others: p.Others,
		Callers: append(slices.Clone(p.Callers), p.agent().Name)}
	name := sp.args.Agent
	if name == "" || name == p.agent().Name {
		a := *p.agent()
		stage := *p.stage(sp.state.Stage)
		stage.Next, stage.Transitions, stage.Index = "", nil, 0
		a.Stages, a.Entry = []manifest.Stage{stage}, stage.Name
		a.Hooks = slices.Clone(a.Hooks)
		a.Output = nil // it is the run's, which goes on behind this
		child.Config.Agents = []manifest.Agent{a}
		return child, nil
	}
	i := slices.IndexFunc(p.Others, func(o otherAgent) bool { return o.Agent.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown agent %q%s", name, didYouMean(name, p.spawnable()))
	}
	o := p.Others[i]
	if o.Broken != "" {
		return nil, errors.New(o.Broken)
	}
	a := o.Agent
	if _, known := p.Config.Models[a.Model]; !known {
		return nil, errors.New(unknownModel(&p.Config, &a, a.Model, false).Message)
	}
	a.Hooks = append(guards(p.agent(), sp.state.Stage, a.Hooks), a.Hooks...)
	child.Model, child.Config.Agents = a.Model, []manifest.Agent{a}
	child.Others = append(slices.Clone(p.Others), otherAgent{Agent: *p.agent()})
	child.Others = slices.DeleteFunc(child.Others, func(o otherAgent) bool { return o.Agent.Name == name })
	return child, nil
}

// guards are the hooks of an agent that also hold for another one that it
// spawns: those of every stage, and the on_tool_call of the stage that spawns.
// A sub-agent is no way around them. Its events reach the parent's child:
// hooks by themselves.
func guards(parent *manifest.Agent, stage string, own []hooks.Declaration) []hooks.Declaration {
	var out []hooks.Declaration
	for _, d := range parent.Hooks {
		if d.Stage != "" && (d.Stage != stage || d.Event != loop.OnToolCall) || strings.HasPrefix(d.Event, "child:") {
			continue
		}
		same := func(o hooks.Declaration) bool { return o.Stage == "" && o.Event == d.Event && o.Path == d.Path }
		if slices.ContainsFunc(own, same) || slices.ContainsFunc(out, same) {
			continue
		}
		d.ID, d.Stage = "parent."+d.ID, ""
		out = append(out, d)
	}
	return out
}

// tellParent passes on what a parent has to know of its child: what it used,
// and whether it waits for a person, for whom the parent's clock stands too.
func (r *activeRun) tellParent(e *loop.Event, waited bool) {
	if r.parent == nil {
		return
	}
	r.spent, r.learnt = r.state.Usage, r.state.Taint
	if e.Kind == loop.Answered || e.Kind == loop.Spent {
		usage := r.state.Usage
		r.parent.run.post(posted{event: loop.Event{Kind: loop.Spent, ID: r.id, Usage: &usage}})
	}
	if waits := r.state.Active() && r.state.Waiting(); waits != waited {
		r.parent.run.post(posted{event: loop.Event{Kind: loop.Questioned, CallID: r.parent.callID, Waits: waits}})
	}
}

// endChildren ends the runs of sub-agents that a process left behind, when
// the run that spawned them is over.
func (s *Service) endChildren(ctx context.Context, runID string) {
	rows, err := s.opt.Journal.ChildrenOf(ctx, runID)
	if err != nil {
		s.log.Error("look for sub-agents", "run", runID, "error", err)
		return
	}
	for _, row := range rows {
		if over(row) || row.Owner == journal.Elsewhere {
			continue
		}
		s.mu.Lock()
		driven := s.sessions[row.ID] != nil
		s.mu.Unlock()
		if driven {
			continue // it was cancelled with the call that waits for it
		}
		if _, err := s.cancelFormer(ctx, row); err != nil && !errors.Is(err, ErrSessionBusy) {
			s.log.Error("end a sub-agent", "session", row.ID, "error", err)
		}
	}
}

// heldBy says why a session cannot be resumed by itself: it is a sub-agent's
// whose parent is not over. "" means that it can.
func (s *Service) heldBy(ctx context.Context, sessionID string) (string, error) {
	p, err := s.opt.Journal.ParentOf(ctx, sessionID)
	if err != nil || p.SessionID == "" {
		return "", err
	}
	row, err := s.opt.Journal.SessionOf(ctx, p.RunID)
	if errors.Is(err, journal.ErrNotFound) {
		return "", nil
	}
	if err != nil || row.RunID != p.RunID || over(row) {
		return "", err
	}
	return fmt.Sprintf("the session belongs to a sub-agent and goes on with the one that spawned it: resume session %s", row.ID), nil
}
