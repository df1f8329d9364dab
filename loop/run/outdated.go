package run

import (
	"bytes"
	"context"
	"slices"
)

// Outdated lists the scripts whose text, as the user sees it, is no longer the
// one that a run of this process keeps from its start: what is changed counts
// from the next run. A run that is over, or driven elsewhere, has none.
func (s *Service) Outdated(ctx context.Context, runID string) ([]string, error) {
	r := s.run(runID)
	if r == nil || r.pin == nil {
		return nil, nil
	}
	select {
	case <-r.done:
		return nil, nil
	default:
	}
	pinned := map[string][]byte{}
	for _, d := range r.pin.agent().Hooks {
		if d.Path != "" && d.Text != nil {
			pinned[d.Path] = d.Text
		}
		for path, text := range d.Siblings {
			pinned[path] = text
		}
	}
	var outdated []string
	for path, text := range pinned {
		now, err := s.files().Read(ctx, path)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil || !bytes.Equal(now.Bytes, text) {
			outdated = append(outdated, path)
		}
	}
	slices.Sort(outdated)
	return outdated, nil
}
