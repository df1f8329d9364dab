package run

import (
	"os"
	"slices"

	"agent-ls/loop/manifest"
	"agent-ls/loop/policy"
	"agent-ls/loop/sandbox"
	"agent-ls/loop/tool"
)

// rules are the policy of one run: that of its agent, and of the agents that
// it works for.
func (s *Service) rules(p *pinned) (*policy.Rules, []finding) {
	cfg, agents := &p.Config, append(slices.Clone(p.Callers), p.agent().Name)
	home, _ := os.UserHomeDir() // without one, rules with ~ match nothing
	return policy.New(s.opt.Root, cfg.Policy.For(agents...), policy.Options{Home: home, StateDir: s.opt.StateDir, Own: cfg.Own, Taint: cfg.Taint})
}

func (s *Service) toolOptions(cfg *manifest.Config, floor *sandbox.Floor, tracker *tool.Tracker, rules *policy.Rules) tool.Options {
	s.permits.Limit(cfg.Concurrency.Subprocs)
	o := tool.Options{
		Root: s.opt.Root, Files: s.files(), Sandbox: floor, Behavior: cfg.Behavior,
		Editor: s.opt.Editor, Permits: s.permits, CacheDir: s.opt.CacheDir, Log: s.log, Tracker: tracker,
	}
	if rules != nil {
		o.Hide = rules.Unreadable
	}
	return o
}
