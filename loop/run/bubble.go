package run

import (
	"context"

	"agent-ls/hooks"
	"agent-ls/loop"
)

// bubble lets the run that started this one hear an event, as child:EVENT. own
// is what this run's hooks came to; the stricter of both holds. A run that a
// person started has nobody above it.
func (r *activeRun) bubble(_ context.Context, _ *loop.State, _, _ string, _ func() map[string]any, own hooks.Outcome) hooks.Outcome {
	return own
}

// bubbles says whether the run that started this one hears an event.
func (r *activeRun) bubbles(string) bool { return false }
