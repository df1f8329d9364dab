package manifest

import (
	"fmt"
	"slices"
	"strings"

	"agent-ls/hooks/check"
)

// InForce says whether this version acts on the setting.
func (s *Setting) InForce() bool {
	return !slices.ContainsFunc(settings, func(t Setting) bool {
		return t.Waits && (t.Path == s.Path || strings.HasPrefix(s.Path, t.Path+"."))
	})
}

// waits says of a setting that somebody made and nothing acts on that this is
// so. Settings that switch something off are as they say.
func (v *validator) waits(n *node, s *Setting, path []string, e *entry) {
	if !s.Waits || n.bad || s.off(n) {
		return
	}
	at := n.span
	if e != nil && e.key.End > e.key.Start {
		at = e.key
	}
	if s.gate != nil && s.gate(n) {
		v.out.add(v.layer.finding(at, CodeUnavailable, check.Error,
			fmt.Sprintf("%s is not in force in this version: a run would not be held to it, so none starts until it is taken out", pathText(path))))
		return
	}
	v.out.add(v.layer.finding(at, CodeUnavailable, check.Warning, fmt.Sprintf("%s is not in force in this version: it has no effect", pathText(path))))
}

// off says whether a value asks for nothing.
func (s *Setting) off(n *node) bool {
	switch n.kind {
	case boolKind:
		return !n.truth
	case intKind:
		return s.Off && n.num == 0
	case floatKind:
		return s.Off && n.frac == 0
	case stringKind:
		return n.text == "off"
	case listKind:
		return len(n.items) == 0
	case tableKind:
		return len(n.keys) == 0
	}
	return false
}
