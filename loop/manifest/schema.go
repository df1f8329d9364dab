package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/lazyexp"
)

// row is a place in the table of settings: the table as a tree.
type row struct {
	setting *Setting
	names   []string // of the fixed keys, in order
	keys    map[string]*row
	star    *row // any name
}

var schema = buildSchema(settings)

func buildSchema(all []Setting) *row {
	root := &row{setting: &Setting{Shapes: one(Fixed)}, keys: map[string]*row{}}
	for i := range all {
		at := root
		for _, name := range splitPattern(all[i].Path) {
			at = at.child(name)
		}
		at.setting = &all[i]
	}
	return root
}

// splitPattern splits "hook[].event" into hook, [], event.
func splitPattern(path string) []string {
	return strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".")
}

func (r *row) child(name string) *row {
	if name == "*" || name == "[]" {
		if r.star == nil {
			r.star = &row{keys: map[string]*row{}}
		}
		return r.star
	}
	if r.keys[name] == nil {
		r.keys[name] = &row{keys: map[string]*row{}}
		r.names = append(r.names, name)
	}
	return r.keys[name]
}

// under returns the row of a key in this table, nil if there is none.
func (r *row) under(name string) *row {
	if r == nil {
		return nil
	}
	if c := r.keys[name]; c != nil {
		return c
	}
	if r.setting != nil && r.setting.has(Named) {
		return r.star
	}
	return nil
}

// rowAt follows names from the root; elements of [[tables]] take no name.
func rowAt(path []string) *row {
	r := schema
	for _, name := range path {
		r = r.under(name)
		if r != nil && r.setting != nil && r.setting.has(Tables) {
			r = r.star
		}
	}
	return r
}

// validator holds one layer against the table and disables what is wrong.
type validator struct {
	layer *layer
	out   *findings
}

func (v *validator) table(n *node, r *row, path []string) {
	for _, e := range n.keys {
		where := append(slices.Clip(path), e.name)
		child := r.under(e.name)
		if child == nil || child.setting == nil {
			v.unknown(e, r, where)
			continue
		}
		if !v.allowed(e, child.setting, where) {
			e.value.bad = true
			continue
		}
		v.value(e.value, child, where, e)
	}
	for _, name := range r.names {
		if s := r.keys[name].setting; s != nil && s.Required && n.entry(name) == nil {
			v.out.add(v.layer.finding(n.span, CodeWrongType, check.Error, fmt.Sprintf("%s needs a %s", pathText(path), name)))
			n.bad = true
		}
	}
}

// value checks one value and what is in it.
func (v *validator) value(n *node, r *row, path []string, e *entry) {
	if n.bad {
		return
	}
	s := r.setting
	fault := fits(s, n)
	if fault != "" {
		n.bad = true
		v.out.add(v.layer.finding(placeOf(n, e), CodeWrongType, check.Error, pathText(path)+" "+fault))
		return
	}
	v.contents(n, r, path, e)
	v.waits(n, s, path, e)
}

// contents checks what is in a value whose shape fits.
func (v *validator) contents(n *node, r *row, path []string, e *entry) {
	s := r.setting
	switch n.kind {
	case tableKind:
		v.table(n, r, path)
	case listKind:
		if s.has(Tables) {
			for _, item := range n.items {
				v.table(item, r.star, path)
			}
			return
		}
		for _, item := range n.items {
			if item.kind != stringKind && !item.bad {
				item.bad = true
				v.out.add(v.layer.finding(placeOf(item, e), CodeWrongType, check.Error,
					fmt.Sprintf("%s is a list of strings, not of %s", pathText(path), strings.TrimPrefix(strings.TrimPrefix(item.kind.String(), "a "), "an "))))
			}
		}
		v.secrets(n, path, e)
	case stringKind:
		v.choice(n, s, path, e)
		v.secrets(n, path, e)
	}
}

// choice checks a string against the allowed ones, and its form.
func (v *validator) choice(n *node, s *Setting, path []string, e *entry) {
	var fault string
	switch {
	case s.has(Duration):
		if _, err := parseDuration(n.text); err != nil {
			fault = pathText(path) + ": " + err.Error()
		}
	case s.has(Size):
		if _, err := parseSize(n.text); err != nil {
			fault = pathText(path) + ": " + err.Error()
		}
	case len(s.Values) > 0 && !slices.Contains(s.Values, n.text):
		fault = fmt.Sprintf("%s must be %s, not %q", pathText(path), quotedChoice(s.Values), n.text)
		if near := contract.Nearest(n.text, s.Values); near != "" {
			n.bad = true
			f := v.layer.finding(placeOf(n, e), CodeWrongType, check.Error, fault+fmt.Sprintf("; did you mean %q?", near))
			v.out.add(withFix(f, n.span, strconv.Quote(near), near))
			return
		}
	}
	if fault != "" {
		n.bad = true
		v.out.add(v.layer.finding(placeOf(n, e), CodeWrongType, check.Error, fault))
	}
}

// fits says what is wrong with a value's outer shape, "" if nothing is.
func fits(s *Setting, n *node) string {
	for _, shape := range s.Shapes {
		switch {
		case shape == Text && n.kind == stringKind,
			shape == Duration && n.kind == stringKind,
			shape == Size && n.kind == stringKind,
			shape == Truth && n.kind == boolKind,
			shape == Texts && n.kind == listKind && !n.ofArray,
			(shape == Fixed || shape == Named) && n.kind == tableKind:
			return ""
		case shape == Tables && n.kind == listKind:
			if slices.ContainsFunc(n.items, func(i *node) bool { return i.kind != tableKind }) {
				return "must be a list of tables"
			}
			return ""
		case (shape == Whole || shape == Number || shape == Size) && n.kind == intKind:
			return inBounds(s, float64(n.num), shape == Size)
		case shape == Number && n.kind == floatKind:
			return inBounds(s, n.frac, false)
		}
	}
	names := make([]string, len(s.Shapes))
	for i, shape := range s.Shapes {
		names[i] = shape.String()
	}
	return fmt.Sprintf("must be %s, not %s", strings.Join(names, " or "), n.kind)
}

func inBounds(s *Setting, f float64, size bool) string {
	if size && f <= 0 {
		return "must be more than 0 bytes"
	}
	if f != f {
		return "must be a number"
	}
	if (s.Min != 0 || s.Max != 0) && (f < s.Min || f > s.Max) {
		return fmt.Sprintf("must be between %s and %s", trimFloat(s.Min), trimFloat(s.Max))
	}
	return ""
}

func trimFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func quotedChoice(values []string) string {
	quoted := make([]string, len(values))
	for i, s := range values {
		quoted[i] = strconv.Quote(s)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

// literalKeys are names under which people write a key where only its
// variable's name belongs.
var literalKeys = []string{"api_key", "apikey", "key", "token", "secret", "password", "auth_token", "access_token"}

func (v *validator) unknown(e *entry, r *row, path []string) {
	e.value.bad = true
	if e.value.kind == stringKind && slices.Contains(literalKeys, strings.ToLower(e.name)) && len(path) > 1 {
		v.out.add(v.layer.finding(placeOf(e.value, e), CodeSecret, check.Error,
			fmt.Sprintf("%s: a key does not belong in a file: put it into an environment variable and name that in api_key_env", pathText(path))))
		return
	}
	if v.layer.kind == clientLayer && len(path) == 1 && slices.Contains(clientOwn, e.name) {
		return
	}
	message := fmt.Sprintf("unknown key %s", keyText(e.name))
	if len(path) > 1 {
		message = fmt.Sprintf("unknown key %s in %s", keyText(e.name), pathText(path[:len(path)-1]))
	}
	near := contract.Nearest(e.name, r.names)
	severity := check.Error
	if v.layer.kind == clientLayer && !slices.Contains(gates, path[0]) {
		// An editor hands over its settings whole, those of other programs and
		// other versions too: they are named, and runs go on.
		severity = check.Warning
	}
	f := v.layer.finding(e.key, CodeUnknownKey, severity, message+contract.DidYouMean(e.name, r.names))
	if near != "" && r.under(near) != nil {
		f = withFix(f, e.key, near, near)
	}
	v.out.add(f)
}

// gates are tables in which a misspelt key could be a gate that somebody
// believes to be shut.
var gates = []string{"policy", "taint", "sandbox", "limits", "hooks", "hook"}

// clientOwn are keys of an editor's section that are the extension's own.
var clientOwn = []string{"token", "server", "trace", "path", "serverPath", "log"}

// allowed says whether the layer may make the setting at all.
func (v *validator) allowed(e *entry, s *Setting, path []string) bool {
	why, severity := "", check.Warning
	switch {
	case v.layer.kind == orgLayer && !s.Org:
		why = "an organisation's policy file sets policy, taint, sandbox, limits and hooks only"
	case v.layer.restricted() && s.Who == UserOnly:
		why = "only the user can set it, in their own config"
	case v.layer.agentFile && len(path) == 1 && !slices.Contains([]string{"agent", "models", "stages", "hooks", "policy"}, e.name),
		v.layer.agentFile && pathText(path) == "hooks.limits", v.layer.agentFile && pathText(path) == "policy.default":
		why = "it is for the whole workspace and belongs in .agent-ls/agent.toml"
		if s.Who == Tighten || s.Who == AddsUp {
			severity = check.Error // a gate that somebody believes to be shut
		}
	}
	if why == "" {
		return true
	}
	v.out.add(v.layer.finding(e.key, CodeNotAllowedHere, severity, fmt.Sprintf("%s has no effect here: %s", pathText(path), why)))
	return false
}

var keyLike = lazyexp.New(`(?:^|[\s=:"'])(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|Bearer\s+[A-Za-z0-9._~+/-]{16,}=*)`)

var secretNames = lazyexp.New(`(?i)^(authorization|proxy-authorization|x-api-key|api-key|x-auth-token|cookie)$|(?i)(_|^)(api_?key|token|secret|password)$`)

// secrets looks for literal keys in strings; what it finds is not printed.
func (v *validator) secrets(n *node, path []string, e *entry) {
	if v.layer.kind == environmentLayer || v.layer.kind == flagLayer {
		return
	}
	named := len(path) > 1 && (path[len(path)-2] == "headers" || path[len(path)-2] == "env") && secretNames.MatchString(path[len(path)-1])
	for _, s := range n.stringNodes() {
		if !keyLike.MatchString(s.text) && !(named && s.text != "" && !strings.Contains(s.text, "$")) {
			continue
		}
		s.bad = true
		v.out.add(v.layer.finding(placeOf(s, e), CodeSecret, check.Error,
			fmt.Sprintf("%s holds what looks like a key: put it into an environment variable", pathText(path))))
	}
}

// placeOf is a value's span, or its key's where the value has none.
func placeOf(n *node, e *entry) check.Span {
	if n.span.End > n.span.Start || e == nil {
		return n.span
	}
	return e.key
}

func withFix(f check.Finding, span check.Span, text, shown string) check.Finding {
	if span.End > span.Start {
		f.Fixes = append(f.Fixes, check.Fix{
			Title: fmt.Sprintf("change to %s", shown), Edits: []check.Edit{{Span: span, NewText: text}}, Preferred: true,
		})
	}
	return f
}
