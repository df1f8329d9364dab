package manifest

import (
	"context"
	"path/filepath"

	"agent-ls/hooks/check"
)

// Check returns the findings of one settings file as it stands in an editor:
// agent.toml, agents/NAME.toml, the user's config or the organisation's
// policy. The text takes the place of the file and of an open document. A
// file elsewhere is checked as the agent.toml of sources.Root.
func Check(path string, text []byte, sources Sources) []check.Finding {
	l, name := editorLoader(context.Background(), path, text, sources)
	_, all := l.load()
	return ofFile(all, name, path)
}

// editorLoader makes a loader that sees a text in place of a file, and the
// name under which it sees it.
func editorLoader(ctx context.Context, path string, text []byte, sources Sources) (*loader, string) {
	s := sources.complete()
	name := filepath.Clean(path)
	switch root, ok := AgentFile(name); {
	case ok:
		s.Root = root
	case name == s.UserConfig, name == s.OrgPolicy:
	default:
		name = filepath.Join(s.Root, ".agent-ls", "agent.toml")
	}
	under := s.Overlay
	s.Overlay = func(p string) ([]byte, bool) {
		if p == name {
			return text, true
		}
		if under != nil {
			return under(p)
		}
		return nil, false
	}
	l := newLoader(ctx, s)
	l.extra = name
	return l, name
}

// ofFile picks one file's findings and names it as the caller did.
func ofFile(all []check.Finding, name, path string) []check.Finding {
	var own []check.Finding
	for _, f := range all {
		if f.Path != name {
			continue
		}
		f.Path = path
		for i := range f.Related {
			if f.Related[i].Path == name {
				f.Related[i].Path = path
			}
		}
		own = append(own, f)
	}
	return own
}
