package manifest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"

	"agent-ls/hooks/check"
	"agent-ls/hooks/lazyexp"
	"agent-ls/loop/realpath"
	"agent-ls/loop/tool/toolname"
)

// everyLayer are all layers, the organisation's first.
func (l *loader) everyLayer() []*layer {
	if l.org == nil {
		return l.layers
	}
	return append([]*layer{l.org}, l.layers...)
}

var ruleForm = lazyexp.New(`(?s)^\s*([A-Za-z0-9_*-]+)\s*(?:\((.*)\))?\s*$`)

// policy adds up the rules of all layers.
func (l *loader) policy() {
	users := map[string]bool{}
	if l.user != nil {
		for _, n := range l.user.root().get("policy").get("allow").stringNodes() {
			users[n.text] = true
		}
	}
	for _, one := range l.everyLayer() {
		p := one.root().get("policy")
		for _, verdict := range []string{"deny", "ask", "allow"} {
			for _, n := range p.get(verdict).stringNodes() {
				m := ruleForm.FindStringSubmatch(n.text)
				if m == nil {
					l.out.add(one.finding(n.span, CodeWrongType, check.Error, fmt.Sprintf("%q is no rule: write tool or tool(pattern)", n.text)))
					continue
				}
				if !KnownTool(m[1]) {
					at := n.span
					if i := strings.Index(n.text, m[1]); at.End > at.Start && plainString(one, n) {
						at = check.Span{Start: n.span.Start + 1 + i, End: n.span.Start + 1 + i + len(m[1])}
					}
					l.unknownTool(one, m[1], at, "policy."+verdict, false)
					continue
				}
				if verdict == "allow" && one.restricted() && !users[n.text] {
					l.out.add(one.finding(n.span, CodeNotAllowedHere, check.Warning,
						fmt.Sprintf("counts as ask: a workspace cannot allow %s, only the user's own config can", n.text)))
				}
				rule := Rule{Verdict: verdict, Text: n.text, Origin: one.origin(n, n.text)}
				if one.agentFile {
					rule.Agent = agentName(one)
				}
				l.cfg.Policy.Rules = append(l.cfg.Policy.Rules, rule)
			}
		}
	}
}

// For leaves out the rules of agents that are not named.
func (p Policy) For(agents ...string) Policy {
	out := Policy{Default: p.Default}
	for _, r := range p.Rules {
		if r.Agent == "" || slices.Contains(agents, r.Agent) {
			out.Rules = append(out.Rules, r)
		}
	}
	return out
}

// plainString says whether a string's bytes stand in the file as they are.
func plainString(one *layer, n *node) bool {
	text := one.doc.text
	return n.span.End <= len(text) && n.span.End-n.span.Start == len(n.text)+2 && string(text[n.span.Start+1:n.span.End-1]) == n.text
}

func (l *loader) unknownTool(one *layer, name string, at check.Span, where string, quoted bool) {
	near, hint := toolname.Nearest(name), ""
	if near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	f := one.finding(at, CodeUnknownTool, check.Error, fmt.Sprintf("%s: no tool is called %q%s", where, name, hint))
	if near != "" {
		text := near
		if quoted {
			text = quote(near)
		}
		f = withFix(f, at, text, near)
	}
	l.out.add(f)
}

// taint adds up labels and takes the lowest clearance: a workspace, and
// everything below the organisation, can only make both stricter.
func (l *loader) taint() {
	t := &l.cfg.Taint
	t.Clearance = map[string]string{}
	bounds := map[layerKind]map[string]string{}
	level := map[string]string{}
	var globs []string
	for _, one := range l.everyLayer() {
		n := one.root().get("taint")
		if labels := n.get("labels"); labels != nil {
			for _, e := range labels.keys {
				if e.value.bad {
					continue
				}
				have, known := level[e.name]
				if known && place(Levels, e.value.text) < place(Levels, have) && (one.restricted() || l.orgSays("labels", e.name)) {
					l.looser(one, e.value, pathText([]string{"taint", "labels", e.name}), have)
					continue
				}
				if !known {
					globs = append(globs, e.name)
				}
				level[e.name] = e.value.text
				l.cfg.Origins[pathText([]string{"taint", "labels", e.name})] = one.origin(e.value, e.value.text)
			}
		}
		for _, e := range l.toolKeys(one, n.get("clearance"), "taint.clearance") {
			tool := toolname.Canonical(e.name)
			bound(bounds, one, tool, e.value.text)
			have, known := t.Clearance[tool]
			if known && place(Levels, e.value.text) > place(Levels, have) && (one.restricted() || l.orgSays("clearance", tool)) {
				l.looser(one, e.value, pathText([]string{"taint", "clearance", e.name}), have)
				continue
			}
			t.Clearance[tool] = e.value.text
			l.cfg.Origins[pathText([]string{"taint", "clearance", tool})] = one.origin(e.value, e.value.text)
		}
	}
	for _, g := range globs {
		t.Labels = append(t.Labels, Label{Glob: g, Level: level[g]})
	}
	for _, kind := range []layerKind{orgLayer, userLayer, workspaceLayer} {
		if b := bounds[kind]; b != nil {
			t.Bounds = append(t.Bounds, b)
		}
	}
}

// bound keeps a clearance among those of the organisation, of the user or of
// what comes with the code. The user's later word replaces an earlier one.
func bound(bounds map[layerKind]map[string]string, one *layer, tool, level string) {
	kind := userLayer
	switch {
	case one.kind == orgLayer:
		kind = orgLayer
	case one.restricted():
		kind = workspaceLayer
	}
	if bounds[kind] == nil {
		bounds[kind] = map[string]string{}
	}
	if have, known := bounds[kind][tool]; known && kind == workspaceLayer {
		level = lower(have, level)
	}
	bounds[kind][tool] = level
}

func (l *loader) orgSays(table, name string) bool {
	if l.org == nil {
		return false
	}
	n := l.org.root().get("taint").get(table)
	if n == nil {
		return false
	}
	return slices.ContainsFunc(n.keys, func(e *entry) bool { return e.name == name || toolname.Canonical(e.name) == name })
}

// sandbox narrows the writable folders.
func (l *loader) sandbox(v *viper.Viper) {
	s := &l.cfg.Sandbox
	s.Network, s.Off = v.GetBool("sandbox.network"), v.GetBool("sandbox.off")
	s.Writable = []string{"."}
	const path = "sandbox.writable"
	l.cfg.Origins[path] = Origin{Layer: defaultLayer.String(), Value: s.Writable}
	for _, one := range l.layers {
		n := one.root().get("sandbox").get("writable")
		if n == nil {
			continue
		}
		kept := []string{}
		for _, f := range n.stringNodes() {
			if one.restricted() && !l.within(f.text, s.Writable) {
				l.looser(one, f, path, s.Writable)
				continue
			}
			kept = append(kept, f.text)
		}
		s.Writable = kept
		l.cfg.Origins[path] = one.origin(n, kept)
	}
	if l.org == nil {
		return
	}
	if n := l.org.root().get("sandbox").get("writable"); n != nil {
		folders := n.strings()
		kept := slices.DeleteFunc(slices.Clone(s.Writable), func(f string) bool { return !l.within(f, folders) })
		if len(kept) != len(s.Writable) {
			for _, one := range l.layers {
				for _, f := range one.root().get("sandbox").get("writable").stringNodes() {
					if !l.within(f.text, folders) {
						l.looser(one, f, path, folders)
					}
				}
			}
			// What is left may be nothing; the organisation's own are narrower
			// than what they replace only if they lie within it.
			for _, f := range folders {
				if l.within(f, s.Writable) && !slices.Contains(kept, f) {
					kept = append(kept, f)
				}
			}
			s.Writable = kept
			l.cfg.Origins[path] = l.org.origin(n, kept)
		}
	}
}

// within says whether a folder lies in one of others, from the root.
func (l *loader) within(folder string, others []string) bool {
	abs := func(f string) string {
		if !filepath.IsAbs(f) {
			f = filepath.Join(l.sources.Root, f)
		}
		return realpath.Resolve(filepath.Clean(f))
	}
	inner := abs(folder)
	for _, other := range others {
		if realpath.Within(abs(other), inner) {
			return true
		}
	}
	return false
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}
