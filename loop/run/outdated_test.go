package run

import (
	"context"
	"slices"
	"testing"

	"agent-ls/hooks"
	"agent-ls/loop/tool"
)

func TestOutdated(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	guard, lib := r.file("guard.risor", "func on_tool_call(ctx) { return nil }\n"), r.file("lib.risor", "x := 1\n")
	equip := r.svc.equip
	r.svc.equip = func(ctx context.Context, p *pinned, tracker *tool.Tracker) (*gear, []finding, error) {
		p.agent().Hooks = []hooks.Declaration{{ID: "g", Path: guard, Text: []byte(r.content(guard)), Siblings: map[string][]byte{lib: []byte(r.content(lib))}}}
		return equip(ctx, p, tracker)
	}
	r.model.asking = make(chan struct{}, 1)
	r.model.turns = []turn{{hold: true}}
	s := r.start("x")
	<-r.model.asking
	if got, err := r.svc.Outdated(ctx, s.RunID); err != nil || len(got) != 0 {
		t.Errorf("nothing changed: %v, %v", got, err)
	}
	r.file("guard.risor", "func on_tool_call(ctx) { return false }\n")
	r.file("lib.risor", "x := 2\n")
	if got, err := r.svc.Outdated(ctx, s.RunID); err != nil || !slices.Equal(got, []string{guard, lib}) {
		t.Errorf("both changed: %v, %v", got, err)
	}
	if _, err := r.svc.Cancel(ctx, s.RunID, ""); err != nil {
		t.Fatal(err)
	}
	r.wait(s.RunID)
	if got, err := r.svc.Outdated(ctx, s.RunID); err != nil || got != nil {
		t.Errorf("of a run that is over: %v, %v", got, err)
	}
}
