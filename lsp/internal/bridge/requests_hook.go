package bridge

import (
	"context"

	"agent-ls/loop/run"
)

// setHook serves agent/setHook: a person switches a hook off, or on again.
func (b *bridge) setHook(ctx context.Context, p SetHookParams) (OK, error) {
	if err := needID("id", p.ID); err != nil {
		return OK{}, err
	}
	if p.Enabled == nil {
		return OK{}, invalid("enabled is missing")
	}
	var known *folder
	if p.Folder != "" {
		f, err := b.pick(p.Folder)
		if err != nil {
			return OK{}, err
		}
		known = f
	}
	if err := b.find(ctx, known, func(api run.API) error { return api.SetHook(ctx, p.ID, *p.Enabled) }); err != nil {
		return OK{}, b.answer(err, "hook", p.ID)
	}
	return OK{OK: true}, nil
}
