package run

import (
	"context"
	"testing"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// An event that nobody listens to costs a run nothing, whatever it would have
// said.
func TestAnEventWithoutHooksAllocatesNothing(t *testing.T) {
	r := newRun(&Service{}, "r", "s", nil, &gear{})
	s := &loop.State{Stage: "work"}
	ctx := context.Background()
	text := "a text that the fields would be made of"
	e := loop.Event{Kind: loop.Answered, Answer: &loop.ModelAnswer{}}
	if n := testing.AllocsPerRun(100, func() {
		out := r.raise(ctx, s, "tool:gate", "c", func() map[string]any { return map[string]any{"text": text} })
		if out.Action != contract.Allow {
			t.Error(out)
		}
		if list := r.announcements(s, &e); list != nil {
			t.Error(list)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
