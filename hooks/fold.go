package hooks

import (
	"slices"
	"strings"

	"agent-ls/hooks/contract"
)

// fold is what the hooks of one firing have come to so far. Cancel beats
// deny, deny beats substitute, substitute beats retry, retry beats modify,
// and an answer that says nothing changes nothing.
type fold struct {
	event     *contract.Event
	ctx       map[string]any // what the next hook sees
	modified  any            // what modifies left, nil before the first
	changed   bool
	action    contract.Action // the strongest so far, but for modify
	value     any             // of substitute
	isError   bool
	reasons   []string // for the action
	calls     []string // denied ones of a batch
	allDenied bool
	states    map[string]map[string]any
	decisions []Decision
	unheard   string // why a command was not heard
}

func newFold(e *contract.Event, ctx map[string]any) *fold {
	return &fold{event: e, ctx: ctx, action: contract.Allow}
}

// modify lets the next hook see a value. It tells what it changed.
func (f *fold) modify(value any) []Change {
	after := f.event.Apply(f.ctx, value)
	changes := changesOf(f.event, f.ctx, after)
	f.ctx = after
	m, isMap := value.(map[string]any)
	before, wasMap := f.modified.(map[string]any)
	// A map names what it replaces: two of them hold both.
	if f.event.Merges() && isMap && wasMap {
		both := make(map[string]any, len(before)+len(m))
		for k, v := range before {
			both[k] = v
		}
		for k, v := range m {
			both[k] = v
		}
		value = both
	}
	f.modified, f.changed = value, true
	return changes
}

var strength = map[contract.Action]int{contract.Retry: 1, contract.Substitute: 2, contract.Deny: 3, contract.Cancel: 4}

// add takes one hook's answer.
func (f *fold) add(id string, v contract.Verdict) {
	if v.HasState {
		if f.states == nil {
			f.states = map[string]map[string]any{}
		}
		f.states[id] = v.State
	}
	if strength[v.Action] == 0 || strength[v.Action] < strength[f.action] {
		return
	}
	if v.Action != f.action {
		f.action, f.reasons = v.Action, nil
	}
	if v.Reason != "" && !slices.Contains(f.reasons, v.Reason) {
		f.reasons = append(f.reasons, v.Reason)
	}
	switch v.Action {
	case contract.Substitute:
		f.value, f.isError = v.Value, v.IsError
	case contract.Deny:
		if len(v.Calls) == 0 {
			f.allDenied = true
		}
		for _, id := range v.Calls {
			if !slices.Contains(f.calls, id) {
				f.calls = append(f.calls, id)
			}
		}
	}
}

func (f *fold) outcome() Outcome {
	o := Outcome{Action: f.action, Reason: strings.Join(f.reasons, "; "), Decisions: f.decisions, States: f.states, Unheard: f.unheard}
	switch f.action {
	case contract.Allow:
		if f.changed {
			o.Action, o.Value = contract.Modify, f.modified
			o.Reason = f.modifyReason()
		}
	case contract.Substitute:
		o.Value, o.IsError = f.value, f.isError
	case contract.Deny:
		f.deny(&o)
	case contract.Retry, contract.Cancel:
	}
	return o
}

// deny tells which calls do not run. Where some are denied and the others
// were changed, the outcome is the change without those that are denied: a
// caller that looks no further still runs none of them, and none unchanged.
func (f *fold) deny(o *Outcome) {
	if f.allDenied {
		return
	}
	o.Calls = f.calls
	if !f.changed {
		return
	}
	list, _ := f.modified.([]any)
	kept := make([]any, 0, len(list))
	for _, call := range list {
		if !slices.Contains(f.calls, idOf(call)) {
			kept = append(kept, call)
		}
	}
	o.Action, o.Value = contract.Modify, kept
}

// modifyReason is what the hooks that changed something said.
func (f *fold) modifyReason() string {
	var all []string
	for _, d := range f.decisions {
		if d.Action == contract.Modify.String() && d.Reason != "" && !slices.Contains(all, d.Reason) {
			all = append(all, d.Reason)
		}
	}
	return strings.Join(all, "; ")
}

// broken is the outcome when a gate or transform hook is broken.
func (f *fold) broken(failure *Failure) Outcome {
	return Outcome{Action: contract.Failed, Failure: failure, Decisions: f.decisions, States: f.states}
}
