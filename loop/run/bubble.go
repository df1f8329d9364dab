package run

import (
	"context"
	"maps"
	"slices"
	"strings"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// childEvent is the name under which the runs above one hear its event.
func childEvent(event string) string { return "child:" + event }

// bubble lets the runs above this one hear an event, as child:EVENT: the one
// that spawned it, then the one that spawned that. own is what this run's
// hooks came to; the strictest of all holds, and each sees what those before
// it left. A run that a person started has nobody above it.
func (r *activeRun) bubble(ctx context.Context, s *loop.State, event, callID string, fields func() map[string]any, own hooks.Outcome) hooks.Outcome {
	if r.parent == nil || own.Failure != nil || own.Action == contract.Cancel {
		return own
	}
	name, out := childEvent(event), own
	var said map[string]any
	for p := r.parent; p != nil; p = p.run.parent {
		if !p.run.gear.has(p.state.Stage, name) {
			continue
		}
		if said == nil {
			// Called here and not passed on, so that fields stays on the stack
			// of whoever raises an event that nobody hears.
			said = map[string]any{}
			if fields != nil {
				maps.Copy(said, fields())
			}
		}
		f := maps.Clone(said)
		amend(f, out)
		if strings.HasPrefix(event, "spawn:") {
			f["spawner_id"] = r.id
		} else {
			f["child_id"] = r.id
		}
		f["depth"] = int64(s.Depth)
		heard := p.run.raise(ctx, &p.state, name, callID, func() map[string]any { return f })
		if heard.Failure != nil {
			// The hook is of the run above: that one cannot go on either.
			p.run.post(posted{event: loop.Event{Kind: loop.HostFailed, Error: p.run.svc.failureText(name, heard.Failure)}})
			return heard
		}
		out = stricter(out, heard)
		if out.Action == contract.Cancel {
			return out
		}
	}
	return out
}

// bubbles says whether a run above this one hears an event.
func (r *activeRun) bubbles(event string) bool {
	if r.parent == nil {
		return false
	}
	name := childEvent(event)
	for p := r.parent; p != nil; p = p.run.parent {
		if p.run.gear.has(p.state.Stage, name) {
			return true
		}
	}
	return false
}

// hears says whether a hook, of this run or of one above it, hears an event.
func (r *activeRun) hears(stage, event string) bool {
	return r.gear.has(stage, event) || r.bubbles(event)
}

// amend puts what hooks left into the fields that the next one sees.
func amend(f map[string]any, left hooks.Outcome) {
	value, ok := left.Value.(map[string]any)
	if left.Action != contract.Modify || !ok {
		return
	}
	for key, v := range value {
		if _, known := f[key]; known {
			f[key] = v
		}
	}
}

// stricter folds what the hooks of two runs came to: cancel over deny over
// substitute over a change over nothing. Of two changes the later one holds,
// which was made to the earlier one; else the first one is kept.
func stricter(a, b hooks.Outcome) hooks.Outcome {
	rank := func(o hooks.Outcome) int {
		switch o.Action {
		case contract.Failed:
			return 5
		case contract.Cancel:
			return 4
		case contract.Deny:
			return 3
		case contract.Substitute:
			return 2
		case contract.Modify:
			return 1
		}
		return 0
	}
	if ra, rb := rank(a), rank(b); rb > ra || rb == ra && b.Action == contract.Modify {
		b.States = a.States // b's are the other run's, and kept there
		return b
	}
	return a
}

// observedAbove are the events that raise itself passes on to the runs above:
// their hooks only watch, so nobody acts on what they say. The events of calls
// are passed on by those who act on them.
func observedAbove(event string) bool {
	switch event {
	case "turn:after", "artifact:recorded",
		"stream:text", "stream:thinking", "stream:end", "stream:error", "stream:retry", "stream:server_tool_use", "stream:server_tool_result":
		return true
	}
	return strings.HasPrefix(event, "spawn:") || strings.HasPrefix(event, "background:")
}

// listened adds to a sub-agent's course the moments at which the core waits
// for hooks, where a run above it has some for them.
func (r *activeRun) listened(c *loop.Course) {
	for i := range c.Stages {
		st := &c.Stages[i]
		for _, point := range checkPoints {
			if !st.Has(point) && r.bubbles(point) {
				st.Points = append(st.Points, point)
			}
		}
	}
	if !c.Has(loop.Closes) && slices.ContainsFunc(closing, r.bubbles) {
		c.Points = append(c.Points, loop.Closes)
	}
}
