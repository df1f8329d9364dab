package run

import (
	"context"
	"fmt"

	"agent-ls/loop/manifest"
	"agent-ls/loop/trust"
)

// Trust implements API. What is trusted is the content as it is on disk now,
// and only if that is what the person was shown.
func (s *Service) Trust(ctx context.Context, id, digest string, trusted bool) error {
	cfg, _ := s.opt.Manifest(ctx)
	if cfg == nil {
		return fmt.Errorf("%q: %w", id, ErrUnknownID)
	}
	var known []string
	for _, t := range cfg.Starters() {
		if t.ID != id || !t.Workspace {
			if t.Workspace {
				known = append(known, t.ID)
			}
			continue
		}
		if !trusted {
			_, err := s.opt.Trust.Forget(ctx, s.opt.Root, t.Item.Kind, t.Item.Name)
			return err
		}
		now, err := t.Item.Digest(s.opt.Root)
		if err != nil {
			return fmt.Errorf("%s cannot be trusted: %w", id, err)
		}
		if now != digest {
			return fmt.Errorf("%s: %w", id, ErrNotAsShown)
		}
		return s.opt.Trust.Trust(ctx, trust.Entry{Root: s.opt.Root, Kind: t.Item.Kind, Name: t.Item.Name, Digest: now, At: s.now()})
	}
	return unknownIDError(fmt.Sprintf("no entry of the workspace that starts a process is called %q%s", id, didYouMean(id, known)))
}

// trusted says how an entry that starts a process stands now, with the files
// of the workspace as they are at this moment. Whoever starts one asks this
// right before; only a state that Allows may start it.
func (s *Service) trusted(ctx context.Context, t manifest.Trust) (trust.State, error) {
	if !t.Workspace {
		return trust.NotNeeded, nil
	}
	digest, err := t.Item.Digest(s.opt.Root)
	if err != nil {
		return trust.Untrusted, err
	}
	return s.opt.Trust.State(ctx, s.opt.Root, t.Item.Kind, t.Item.Name, digest)
}
