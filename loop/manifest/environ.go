package manifest

import (
	"fmt"
	"strconv"
	"strings"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// envPrefix begins every variable that is a setting; `__` goes a level down.
const envPrefix = "AGENT_LS_"

// environment makes a layer of AGENT_LS_A__B=value. Variables without `__`
// are no settings (a hook's own, the sandbox's mark).
func (l *loader) environment() *layer {
	out := &layer{kind: environmentLayer, path: EnvironmentPath, base: l.sources.Root, doc: &document{root: &node{kind: tableKind}}}
	for _, pair := range l.sources.Environ {
		name, value, _ := strings.Cut(pair, "=")
		rest, ok := strings.CutPrefix(name, envPrefix)
		if !ok || !strings.Contains(rest, "__") {
			continue
		}
		path, r := l.envPath(strings.Split(rest, "__"))
		if r == nil || r.setting == nil || r.setting.has(Fixed) && !r.setting.has(Truth) || r.setting.has(Named) || r.setting.has(Tables) {
			l.out.add(out.finding(check.Span{}, CodeUnknownKey, check.Error, fmt.Sprintf("no setting is called %s%s", name, envNear(name))))
			continue
		}
		n, err := parseEnv(r.setting, value)
		if err != nil {
			l.out.add(out.finding(check.Span{}, CodeWrongType, check.Error, fmt.Sprintf("%s: %v", name, err)))
			continue
		}
		out.root().set(path, n)
	}
	return out
}

// envPath finds the path that a variable's parts spell. A name that the user
// chose is found among those that exist, whatever its case and punctuation.
func (l *loader) envPath(parts []string) ([]string, *row) {
	r := schema
	var path []string
	for _, part := range parts {
		name := strings.ToLower(part)
		next := r.keys[name]
		if next == nil && r.setting != nil && r.setting.has(Named) {
			next = r.star
			name = l.existing(path, part)
		}
		if next == nil || name == "" {
			return nil, nil
		}
		path, r = append(path, name), next
	}
	return path, r
}

// existing finds the key in any layer that an environment's spelling means.
func (l *loader) existing(path []string, part string) string {
	for _, one := range l.layers {
		n := one.root().at(path...)
		if n == nil {
			continue
		}
		for _, e := range n.keys {
			if envSpelling(e.name) == strings.ToUpper(part) {
				return e.name
			}
		}
	}
	return ""
}

func envSpelling(name string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name))
}

func envNear(name string) string {
	var all []string
	section, _, _ := strings.Cut(strings.TrimPrefix(name, envPrefix), "__")
	if schema.keys[strings.ToLower(section)] != nil {
		section += "__"
	} else {
		section = ""
	}
	for _, s := range settings {
		spelling := envPrefix + strings.ToUpper(strings.ReplaceAll(s.Path, ".", "__"))
		if !strings.ContainsAny(s.Path, "*[") && strings.Contains(s.Path, ".") && strings.HasPrefix(spelling, envPrefix+section) {
			all = append(all, spelling)
		}
	}
	if near := contract.Nearest(name, all); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

func parseEnv(s *Setting, value string) (*node, error) {
	if s.has(Truth) {
		if b, err := strconv.ParseBool(strings.ToLower(value)); err == nil {
			return &node{kind: boolKind, truth: b}, nil
		}
		if !s.has(Text) {
			return nil, fmt.Errorf("must be true or false, not %q", value)
		}
	}
	if s.has(Texts) {
		list := &node{kind: listKind}
		for _, item := range strings.Split(value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list.items = append(list.items, &node{kind: stringKind, text: item})
			}
		}
		return list, nil
	}
	if s.has(Whole) || s.has(Size) {
		if i, err := strconv.ParseInt(strings.ReplaceAll(value, "_", ""), 10, 64); err == nil {
			return &node{kind: intKind, num: i, frac: float64(i)}, nil
		}
		if !s.has(Size) {
			return nil, fmt.Errorf("must be an integer, not %q", value)
		}
	}
	if s.has(Number) {
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("must be a number, not %q", value)
		}
		return &node{kind: floatKind, frac: f}, nil
	}
	return &node{kind: stringKind, text: value}, nil
}
