package run

import (
	"context"
	"fmt"
	"slices"

	"agent-ls/hooks"
	"agent-ls/loop/manifest"
)

// dedupKeys loads the scripts of behavior.dedup_tools and pins their texts.
func (s *Service) dedupKeys(ctx context.Context, cfg *manifest.Config) (map[string]dedupKey, []finding, error) {
	tools := slices.Clone(cfg.Behavior.DedupTools)
	if len(tools) == 0 {
		return nil, nil, nil
	}
	if s.opt.Hooks == nil {
		return nil, nil, fmt.Errorf("load behavior.dedup_tools: there is no engine for its scripts")
	}
	cfg.Behavior.DedupTools = tools
	keys := map[string]dedupKey{}
	var findings []finding
	for i := range tools {
		t := &tools[i]
		d := hooks.Declaration{ID: "behavior.dedup_tools." + t.Tool, Path: t.Path, Text: t.Text, Siblings: t.Siblings, Declared: t.Declared}
		f, found, err := s.opt.Hooks.LoadFunction(ctx, d, "dedup_key", cfg.HookLimits)
		if err != nil {
			return nil, findings, fmt.Errorf("load behavior.dedup_tools: %w", err)
		}
		findings = append(findings, errorsOf(found)...)
		if f == nil {
			continue
		}
		d = f.Declaration()
		t.Text, t.Siblings = d.Text, d.Siblings // for a resume
		keys[t.Tool] = s.keyOf(f, t.Path)
	}
	return keys, findings, nil
}

// keyOf calls a script for the key of a call.
func (s *Service) keyOf(f *hooks.Function, path string) dedupKey {
	return func(ctx context.Context, input map[string]any) (string, *hooks.Failure) {
		v, failure := f.Call(ctx, input, s.now())
		if failure != nil {
			return "", failure
		}
		switch v := v.(type) {
		case nil:
			return "", nil
		case string:
			return v, nil
		default:
			return "", &hooks.Failure{Kind: hooks.Malformed, Message: fmt.Sprintf("%s: dedup_key returned %v; it returns a string or nil", path, v)}
		}
	}
}
