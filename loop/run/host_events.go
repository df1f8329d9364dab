package run

import (
	"context"
	"fmt"
	"slices"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// HostEvents are the events whose cause lies outside the loop: the program
// that embeds it raises them with Raise.
var HostEvents = []string{
	"replay:done", "oauth:refresh", "content-ref:resolve", "tool-state:commit-failed", "execution:ready", "artifact:recorded",
}

// Raise fires one of HostEvents in a run of this process and waits for its
// hooks. fields are those that the contract's row names, as plain data. What
// the hooks decided is recorded with the run; a Failure has to be treated as
// no answer. An event that is not the host's, or fields that it does not have,
// are an error, and so is a run that is over.
func (s *Service) Raise(ctx context.Context, runID, event string, fields map[string]any) (hooks.Outcome, error) {
	row := contract.ByName(event)
	if row == nil || !slices.Contains(HostEvents, event) {
		return hooks.Outcome{}, fmt.Errorf("%q is no event of the host%s", event, contract.DidYouMean(event, HostEvents))
	}
	if _, err := row.Context(fields, nil); err != nil {
		return hooks.Outcome{}, err
	}
	r := s.run(runID)
	if r == nil {
		return hooks.Outcome{}, fmt.Errorf("run %s: %w", runID, ErrUnknownID)
	}
	state, ok := r.tell(posted{event: loop.Event{Kind: loop.Noted}})
	if !ok || !state.Active() {
		return hooks.Outcome{}, fmt.Errorf("run %s is over: %w", runID, ErrUnknownID)
	}
	return r.raise(ctx, &state, event, "", func() map[string]any { return fields }), nil
}
