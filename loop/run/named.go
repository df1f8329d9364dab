package run

import (
	"context"
	"fmt"
	"strings"
)

// namedMost bounds how many ids an ambiguous beginning is answered with.
const namedMost = 10

// Named is the id of the session, or of the run where runs count too, that a
// person names by its beginning. A beginning of several ids is an error that
// lists them; one of none is ErrUnknownID.
func (s *Service) Named(ctx context.Context, prefix string, runs bool) (string, error) {
	what := "session"
	if runs {
		what = "session or run"
	}
	if prefix == "" {
		return "", fmt.Errorf("%s %q: %w", what, prefix, ErrUnknownID)
	}
	ids, err := s.opt.Journal.Matching(ctx, prefix, runs, namedMost+1)
	switch {
	case err != nil:
		return "", fmt.Errorf("look for %s %s: %w", what, prefix, err)
	case len(ids) == 0:
		return "", fmt.Errorf("%s %s: %w", what, prefix, ErrUnknownID)
	case len(ids) == 1 || ids[0] == prefix:
		return ids[0], nil
	}
	more := ""
	if len(ids) > namedMost {
		ids, more = ids[:namedMost], " and others"
	}
	return "", fmt.Errorf("%s %s: several ids begin like that: %s%s", what, prefix, strings.Join(ids, ", "), more)
}
