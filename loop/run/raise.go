package run

import (
	"context"
	"maps"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// raise fires an event of the turn loop and waits for what its hooks say. It
// returns Allow at once, without calling fields, where nothing is declared for
// the event. fields gives what the event has in ctx besides what every event
// has. What the hooks decided is recorded; acting on the outcome is the
// caller's, who must treat a Failure of a gate or transform as the end of the
// run.
//
// It may be called from any goroutine of the run but the loop's own, which
// must not wait.
func (r *activeRun) raise(ctx context.Context, s *loop.State, event, callID string, fields func() map[string]any) hooks.Outcome {
	if r.parent != nil && observedAbove(event) {
		defer r.bubble(ctx, s, event, callID, fields, hooks.Outcome{Action: contract.Allow})
	}
	if !r.gear.has(s.Stage, event) {
		return hooks.Outcome{Action: contract.Allow}
	}
	all := s.HookFields(event, callID)
	all["loop_count"] = r.firedBefore(s, event)
	if fields != nil {
		maps.Copy(all, fields())
	}
	out := r.gear.set.Fire(ctx, hooks.Firing{
		Event: event, Stage: s.Stage, At: r.svc.now(), CallID: callID, Fields: all, States: r.eventStates(s),
		Decide: r.decideFor(s, event),
	})
	if ctx.Err() != nil {
		return out // the run ended meanwhile; the hook was stopped, not broken
	}
	r.keepEventStates(out.States)
	r.post(posted{event: loop.Event{Kind: loop.Hooked, Point: event, States: coreStates(out.States)}, decisions: out.Decisions})
	return out
}

// firedBefore counts how often an event of the turn loop fired in this run.
// The state that the caller looks at may be older than the last firing.
func (r *activeRun) firedBefore(s *loop.State, event string) int64 {
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	n, known := r.fired[event]
	if !known {
		n = int64(s.Fired[event])
	}
	if r.fired == nil {
		r.fired = map[string]int64{}
	}
	r.fired[event] = n + 1
	return n
}

// eventStates are the states of the run's hooks, with those that hooks of
// this process returned since s.
func (r *activeRun) eventStates(s *loop.State) map[string]map[string]any {
	all := hookStates(s.HookStates)
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	maps.Copy(all, r.newStates)
	return all
}

func (r *activeRun) keepEventStates(states map[string]map[string]any) {
	if len(states) == 0 {
		return
	}
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	if r.newStates == nil {
		r.newStates = map[string]map[string]any{}
	}
	maps.Copy(r.newStates, states)
}
