package run

import (
	"context"
	"fmt"

	"agent-ls/hooks"
	"agent-ls/loop/manifest"
)

// commandStatuses lists the command hooks that the manifest declares, trusted
// or not.
func (s *Service) commandStatuses(ctx context.Context, cfg *manifest.Config) ([]HookStatus, error) {
	var list []HookStatus
	for _, c := range cfg.Commands {
		h, err := s.hookStatus(ctx, hooks.Declaration{ID: c.ID, Event: c.Event, Declared: c.Declared})
		if err != nil {
			return nil, err
		}
		h.Kind, h.Function, h.Hook = "command", "", hooks.Source{Command: c.Command}
		h.Trust, h.Digest = string(c.State), c.Digest
		switch {
		case !c.Trusted:
			h.Error = "it waits for trust"
		case s.evicted(c.ID):
			h.Error = "it failed too often in a session and is not asked there any more"
		}
		list = append(list, h)
	}
	return list, nil
}

// goStatuses lists the hooks of the program that embeds the service.
func (s *Service) goStatuses(ctx context.Context) ([]HookStatus, error) {
	var list []HookStatus
	for _, r := range s.opt.Bus.Registered() {
		h, err := s.hookStatus(ctx, hooks.Declaration{ID: r.ID, Event: r.Event})
		if err != nil {
			return nil, err
		}
		h.Kind, h.Function, h.Hook = "go", "", hooks.Source{Go: r.Name}
		list = append(list, h)
	}
	return list, nil
}

func (s *Service) evicted(id string) bool {
	for _, c := range s.allCommandSessions() {
		if c.strikes.Evicted(id) {
			return true
		}
	}
	return false
}

// SetHook switches a declared hook off or on again, from the next event on and
// for as long as this process lives. A hook that is required cannot be
// switched off, and neither can one of the organisation.
func (s *Service) SetHook(ctx context.Context, id string, enabled bool) error {
	rows, err := s.Hooks(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, h := range rows {
		known = append(known, h.ID)
		if h.ID != id {
			continue
		}
		if cfg, _ := s.opt.Manifest(ctx); cfg != nil && !enabled {
			for _, c := range cfg.Commands {
				if c.ID == id && c.Required {
					return fmt.Errorf("%s is required and cannot be switched off", id)
				}
			}
		}
		s.commandsMu.Lock()
		defer s.commandsMu.Unlock()
		if s.hooksOff == nil {
			s.hooksOff = map[string]bool{}
		}
		delete(s.hooksOff, id)
		if !enabled {
			s.hooksOff[id] = true
		}
		return nil
	}
	return unknownIDError(fmt.Sprintf("no hook is called %q%s", id, didYouMean(id, known)))
}

// hookOff says whether a hook is switched off now.
func (s *Service) hookOff(id string) bool {
	s.commandsMu.Lock()
	defer s.commandsMu.Unlock()
	return s.hooksOff[id]
}
