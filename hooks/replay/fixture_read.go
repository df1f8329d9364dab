package replay

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/textfile"
)

// fixtureReader turns TOML into cases and says what is wrong with it.
type fixtureReader struct {
	path     string
	toml     *tomlText
	fixture  *Fixture
	findings []check.Finding
	// functions are those of the script beside it, nil when they are not known.
	functions []string
}

func (r *fixtureReader) add(code check.Code, at check.Span, format string, args ...any) *check.Finding {
	f := check.NewFinding(code, r.path, at, fmt.Sprintf(format, args...))
	f.Severity = check.Error
	r.findings = append(r.findings, f)
	return &r.findings[len(r.findings)-1]
}

// misspelt is a finding about a name, with the nearest right one as a fix.
func (r *fixtureReader) misspelt(code check.Code, at check.Span, name string, known []string, format string, args ...any) {
	near := contract.Nearest(name, known)
	f := r.add(code, at, "%s%s", fmt.Sprintf(format, args...), contract.DidYouMean(name, known))
	if near == "" {
		return
	}
	text := near
	if strings.ContainsFunc(near, func(c rune) bool { return c == ':' || c == '-' }) || code == check.CodeUnknownEvent || code == check.CodeUnknownAction {
		text = strconv.Quote(near)
	}
	f.Fixes = []check.Fix{{Title: "change to " + near, Edits: []check.Edit{{Span: at, NewText: text}}, Preferred: true}}
}

// script looks at the script that the fixture is beside.
func (r *fixtureReader) script(read func(string) ([]byte, bool)) {
	path, _ := IsFixture(r.path)
	if read == nil {
		read = func(path string) ([]byte, bool) {
			text, err := textfile.Read(path, textfile.Max)
			return text, err == nil
		}
	}
	text, ok := read(path)
	if !ok {
		r.add(check.CodeMissingFile, check.Span{}, "there is no script %s beside this fixture", filepath.Base(path))
		return
	}
	a := check.Analyze(path, text, check.Options{})
	r.functions = []string{}
	for _, e := range contract.Events() {
		if _, defined := a.Function(e.Function); defined && e.Function != "" {
			r.functions = append(r.functions, e.Function)
		}
	}
}

// keysOf names the keys of a table in their order in the file.
func (r *fixtureReader) keysOf(m map[string]any, path string) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return r.toml.key(under(path, a)).Start - r.toml.key(under(path, b)).Start
	})
}

func (r *fixtureReader) cases() {
	root := r.toml.root
	allowed := append([]string{"case"}, caseKeys...)
	r.known(root, "", allowed, "a fixture")
	shared, _ := root["event"].(string)
	_, alone := root["want"]
	list, isList := root["case"].([]any)
	if v, given := root["case"]; given && (!isList || !tables(list)) {
		r.add(check.CodeWrongType, r.toml.key("/case"), "case must be [[case]] entries, not %s", tomlKind(v))
		return
	}
	if !alone {
		for _, key := range r.keysOf(root, "") {
			if key != "event" && slices.Contains(caseKeys, key) {
				r.add(check.CodeUnknownKey, r.toml.key(under("", key)), "%s belongs to a case that has no want: give it one, or move it into its [[case]]", key)
			}
		}
		if len(list) == 0 && len(r.findings) == 0 {
			r.add(check.CodeWrongType, check.Span{}, "the fixture checks nothing: it has no want and no [[case]]")
		}
	}
	if len(list) > maxCases {
		r.add(check.CodeWrongType, r.toml.key("/case"), "the fixture has %d cases, more than %d", len(list), maxCases)
		return
	}
	if alone {
		r.readCase(root, "", "", strings.TrimSuffix(filepath.Base(r.path), fixtureEnding))
	}
	for i, item := range list {
		path := under("/case", strconv.Itoa(i))
		m, _ := item.(map[string]any)
		r.known(m, path, caseKeys, "a [[case]]")
		r.readCase(m, path, shared, fmt.Sprintf("case %d", i+1))
	}
	r.names()
}

// tables says whether a list is one of tables.
func tables(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool {
		_, ok := v.(map[string]any)
		return !ok
	})
}

// names sees to it that a case can be told from the others.
func (r *fixtureReader) names() {
	seen := map[string]bool{}
	for _, c := range r.fixture.Cases {
		if seen[c.Name] {
			r.add(check.CodeWrongType, c.Span, "another case is called %q, too", c.Name)
		}
		seen[c.Name] = true
	}
}

// known complains of keys that are not of those.
func (r *fixtureReader) known(m map[string]any, path string, keys []string, what string) {
	for _, key := range r.keysOf(m, path) {
		if !slices.Contains(keys, key) {
			r.misspelt(check.CodeUnknownKey, r.toml.key(under(path, key)), key, keys, "%s has no key %q", what, key)
		}
	}
}

func (r *fixtureReader) readCase(m map[string]any, path, event, name string) {
	before := len(r.findings)
	c := Case{Name: name, At: defaultMoment, Span: r.toml.key(path)}
	if path == "" {
		c.Span = r.toml.key("/want")
	}
	if s, ok := r.text(m, path, "name"); ok && strings.TrimSpace(s) != "" {
		c.Name = s
	}
	at := under(path, "event")
	if s, ok := r.text(m, path, "event"); ok {
		event = s
	} else if _, given := m["event"]; !given {
		at = path
		if event != "" && path != "" {
			at = "/event"
		}
	} else {
		return
	}
	e := r.event(event, at)
	if v, given := m["at"]; given {
		if t, ok := v.(time.Time); ok {
			c.At = t
		} else {
			r.add(check.CodeWrongType, r.toml.place(under(path, "at")), "at must be a date with time and zone, such as 2026-01-31T12:00:00Z, not %s", tomlKind(v))
		}
	}
	c.State = r.table(m, path, "state")
	c.Decide = r.answers(m, path)
	if e == nil {
		return
	}
	c.Event = e.Name
	c.Ctx = r.ctx(e, m, path)
	c.Want = r.want(e, m, path)
	if len(r.findings) == before {
		r.fixture.Cases = append(r.fixture.Cases, c)
	}
}

// event finds the event of a case and sees to it that the script handles it.
func (r *fixtureReader) event(name, path string) *contract.Event {
	at := r.toml.place(path)
	var known []string
	for _, e := range contract.Events() {
		if e.Function != "" {
			known = append(known, e.Name)
		}
	}
	e := contract.ByName(name)
	switch {
	case name == "":
		r.add(check.CodeUnknownEvent, at, "the case names no event: write event = \"on_tool_call\", for example")
		return nil
	case e == nil:
		if f := contract.ByFunction(name); f != nil {
			r.misspelt(check.CodeUnknownEvent, at, f.Name+" ", []string{f.Name}, "there is no event %q: it is the function of %s", name, f.Name)
			return nil
		}
		r.misspelt(check.CodeUnknownEvent, at, name, known, "there is no event %q", name)
		return nil
	case e.Function == "":
		r.add(check.CodeUnknownEvent, at, "no script can handle %s: it is an event for command hooks", name)
		return nil
	}
	if r.functions != nil && !slices.Contains(r.functions, e.Function) {
		script, _ := IsFixture(r.path)
		has := "it has none that an event fires"
		if len(r.functions) > 0 {
			has = "it has " + strings.Join(r.functions, ", ")
		}
		r.add(check.CodeMissingFunction, at, "%s does not define the function %s, which %s fires; %s", filepath.Base(script), e.Function, name, has)
		return nil
	}
	return e
}

func (r *fixtureReader) text(m map[string]any, path, key string) (string, bool) {
	v, given := m[key]
	if !given {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		r.add(check.CodeWrongType, r.toml.place(under(path, key)), "%s must be a string, not %s", key, tomlKind(v))
	}
	return s, ok
}

// table reads a table of plain data; nil when it is not given or wrong.
func (r *fixtureReader) table(m map[string]any, path, key string) map[string]any {
	v, given := m[key]
	if !given {
		return nil
	}
	if _, ok := v.(map[string]any); !ok {
		r.add(check.CodeWrongType, r.toml.place(under(path, key)), "%s must be a table, not %s", key, tomlKind(v))
		return nil
	}
	value, wrong, at := plain(v, under(path, key))
	if wrong != "" {
		r.add(check.CodeWrongType, r.toml.place(at), "%s %s", dotted(path, at), wrong)
		return nil
	}
	out, _ := value.(map[string]any)
	return out
}

func (r *fixtureReader) answers(m map[string]any, path string) []FixedAnswer {
	v, given := m["decide"]
	if !given {
		return nil
	}
	list, ok := v.([]any)
	if !ok || !tables(list) {
		r.add(check.CodeWrongType, r.toml.place(under(path, "decide")), "decide must be a list of tables, one for each question")
		return nil
	}
	var out []FixedAnswer
	for i, item := range list {
		at := under(under(path, "decide"), strconv.Itoa(i))
		one, _ := item.(map[string]any)
		r.known(one, at, answerKeys, "an answer of decide")
		a := FixedAnswer{Span: r.toml.key(at)}
		a.Question, a.HasQuestion = r.text(one, at, "question")
		answers, answered := one["answers"]
		refused, isRefused := r.text(one, at, "refused")
		if answered == isRefused {
			r.add(check.CodeWrongType, r.toml.key(at), "an answer of decide needs either answers, or refused with the reason why there are none")
		}
		value, wrong, where := plain(answers, under(at, "answers"))
		if answered && wrong != "" {
			r.add(check.CodeWrongType, r.toml.place(where), "%s %s", dotted(path, where), wrong)
		}
		if answered {
			a.Answers = value
		}
		a.Refused = refused
		out = append(out, a)
	}
	return out
}

// dotted names a place below a case as people write it: ctx.tool_calls[0].name.
func dotted(base, path string) string {
	var b strings.Builder
	for _, part := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, base), "/"), "/") {
		part = unescape.Replace(part)
		if _, err := strconv.Atoi(part); err == nil && b.Len() > 0 {
			b.WriteString("[" + part + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(part)
	}
	return b.String()
}

// tomlKind names a value's kind in a sentence.
func tomlKind(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case int64:
		return "an integer"
	case float64:
		return "a number with a fraction"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date"
}
