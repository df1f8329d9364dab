package run

import (
	"context"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/event"
)

// A hook that nothing can fire is no open gate: the run does not start.
func TestHandlersWithoutAnEngineStartNoRun(t *testing.T) {
	r := newRig(t)
	r.realTools()
	r.svc.opt.Hooks = nil
	r.svc.opt.Bus = &hooks.Bus{}
	hooks.On(r.svc.opt.Bus, "guard", func(context.Context, *event.ToolGate) (hooks.Answer, error) { return hooks.Answer{}, nil })
	_, err := r.svc.Start(context.Background(), StartParams{Prompt: "x"})
	if err == nil || !strings.Contains(err.Error(), "1 are declared and there is no engine for them") {
		t.Errorf("Start: %v", err)
	}
	if len(r.model.requests()) != 0 {
		t.Error("the model was asked")
	}
}
