package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// CaseOf makes a case of a recorded event, which wants the decision that was
// made then. mask, if not nil, is what every text goes through.
func CaseOf(e *Event, name string, mask func(string) string) (*Case, error) {
	if e.Record.Ctx == nil {
		return nil, fmt.Errorf("what the script saw is not on record: it was too large, or is too old")
	}
	if e.Record.Partial {
		return nil, fmt.Errorf("not every question of hook.decide is on record: they were too large")
	}
	event := contract.ByName(e.Was.Event)
	if event == nil {
		return nil, fmt.Errorf("there is no event %q any more", e.Was.Event)
	}
	if mask == nil {
		mask = func(s string) string { return s }
	}
	ctx, err := e.Record.ReadCtx()
	if err != nil {
		return nil, err
	}
	c := &Case{Name: name, Event: event.Name, At: e.Was.At.UTC().Truncate(time.Millisecond)}
	given := masked(ctx, mask).(map[string]any)
	if state, _ := given["state"].(map[string]any); len(state) > 0 {
		c.State = state
	}
	delete(given, "state")
	delete(given, "event")
	c.Ctx = given
	for _, a := range e.Record.Asked {
		answer := FixedAnswer{Question: mask(a.Question), HasQuestion: true}
		told, err := contract.ReadPlain(a.Told)
		m, ok := told.(map[string]any)
		if err != nil || !ok {
			return nil, fmt.Errorf("the answer to %s cannot be read", quoted(a.Question))
		}
		if answered, _ := m["ok"].(bool); answered {
			answer.Answers = masked(m["answers"], mask)
		} else {
			reason, _ := m["reason"].(string)
			answer.Refused = mask(reason)
		}
		c.Decide = append(c.Decide, answer)
	}
	c.Want, err = wantOf(e, event, ctx, mask)
	return c, err
}

// wantOf is the decision of then, as a case wants it.
func wantOf(e *Event, event *contract.Event, ctx map[string]any, mask func(string) string) (Want, error) {
	w := Want{Given: map[string]bool{"action": true}}
	var err error
	if w.Action, err = contract.ParseAction(e.Was.Action); err != nil {
		return w, err
	}
	if f := e.Was.Error; f != nil {
		w.Action, w.Given["error"] = contract.Failed, true
		w.Error = mask(f.Message)
		if f.At != nil { // where it failed moves with every edit
			w.Error = mask(strings.TrimPrefix(f.Message, fmt.Sprintf("%s:%d:%d: ", f.At.Path, f.At.Start.Line, f.At.Start.Column)))
		}
		return w, nil
	}
	w.Reason = mask(e.Was.Reason)
	w.Given["reason"] = w.Reason != ""
	if e.Record.Answer == nil {
		return w, nil
	}
	answer, err := contract.ReadPlain(e.Record.Answer)
	if err != nil {
		return w, fmt.Errorf("read what the script returned: %w", err)
	}
	v, err := event.Judge(answer, ctx, contract.Caps{})
	if err != nil {
		return w, fmt.Errorf("the contract does not take what the script returned any more: %w", err)
	}
	if v.HasValue {
		w.Given["value"], w.Value = true, masked(v.Value, mask)
	}
	if v.IsError {
		w.Given["is_error"], w.IsError = true, true
	}
	if len(v.Calls) > 0 {
		w.Given["calls"], w.Calls = true, v.Calls
	}
	if v.HasState {
		w.Given["state"], w.State = true, map[string]any{}
		if state, ok := masked(v.State, mask).(map[string]any); ok {
			w.State = state
		}
	}
	return w, nil
}

// masked gives plain data whose texts have gone through mask.
func masked(v any, mask func(string) string) any {
	switch v := v.(type) {
	case string:
		return mask(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = masked(e, mask)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = masked(e, mask)
		}
		return out
	}
	return v
}

// AppendCase gives the text of a fixture with one case more at its end, and
// what the case is called there. What was there before stays as it is. The
// error says why the case cannot be added or written down.
func AppendCase(path string, text []byte, c *Case, script func(string) ([]byte, bool)) (added []byte, name string, err error) {
	was := &Fixture{}
	if len(bytes.TrimSpace(text)) == 0 {
		of, _ := IsFixture(path)
		text = fmt.Appendf(nil, "# Cases of %s. Run them with: agent-ls hooks test\n", filepath.Base(of))
	} else {
		var findings []check.Finding
		if was, findings = ReadFixture(path, text, script); was == nil {
			return nil, "", fmt.Errorf("%s has errors, the first of them: %s", path, findings[0].Message)
		}
	}
	one := *c
	one.Name = freeName(c.Name, was.Cases)
	crlf := bytes.Contains(text, []byte("\r\n"))
	more := "\n" + one.toml(!crlf)
	if text[len(text)-1] != '\n' {
		more = "\n" + more
	}
	if crlf {
		more = strings.ReplaceAll(more, "\n", "\r\n")
	}
	added = append(bytes.Clone(text), more...)
	now, findings := ReadFixture(path, added, script)
	if now == nil {
		return nil, "", fmt.Errorf("the case cannot be written as a fixture: %s", findings[0].Message)
	}
	if read := now.Cases[len(now.Cases)-1]; !same(&read, &one) {
		return nil, "", fmt.Errorf("the case cannot be written as a fixture so that it reads back as it was")
	}
	return added, one.Name, nil
}

func freeName(name string, cases []Case) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(cases, func(c Case) bool { return c.Name == name })
	}
	free := name
	for n := 2; taken(free); n++ {
		free = fmt.Sprintf("%s (%d)", name, n)
	}
	return free
}

// same says whether two cases ask the same. The places in them do not count.
func same(a, b *Case) bool {
	plainly := func(c *Case) any {
		d := *c
		d.Span, d.Want.spans = check.Span{}, nil
		d.Want.Given = maps.Clone(d.Want.Given)
		delete(d.Want.Given, "value_json")
		maps.DeleteFunc(d.Want.Given, func(_ string, given bool) bool { return !given })
		d.Want.Value = alike(d.Want.Value)
		d.Decide = nil
		for _, a := range c.Decide {
			a.Span = check.Span{}
			d.Decide = append(d.Decide, a)
		}
		return d
	}
	return a.At.Equal(b.At) && reflect.DeepEqual(normal(plainly(a)), normal(plainly(b)))
}

func normal(v any) any {
	if c, ok := v.(Case); ok {
		c.At = time.Time{}
		return c
	}
	return v
}

// toml is the case as a fixture has it. Fields that reading fills in are left
// out. lines says whether texts may be written over several lines: not in a
// file whose lines end otherwise.
func (c *Case) toml(lines bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[[case]]\nname = %s\nevent = %s\n", tomlString(c.Name), tomlString(c.Event))
	if !c.At.Equal(defaultMoment) {
		fmt.Fprintf(&b, "at = %s\n", c.At.UTC().Format("2006-01-02T15:04:05.999Z07:00"))
	}
	if len(c.State) > 0 {
		fmt.Fprintf(&b, "state = %s\n", tomlValue(c.State))
	}
	c.tomlCtx(&b, lines)
	for _, a := range c.Decide {
		b.WriteString("\n[[case.decide]]\n")
		if a.HasQuestion {
			fmt.Fprintf(&b, "question = %s\n", tomlString(a.Question))
		}
		if a.Answers != nil {
			fmt.Fprintf(&b, "answers = %s\n", tomlValue(a.Answers))
		} else {
			fmt.Fprintf(&b, "refused = %s\n", tomlString(a.Refused))
		}
	}
	c.Want.toml(&b)
	return b.String()
}

func (c *Case) tomlCtx(b *strings.Builder, lines bool) {
	var fields, texts strings.Builder
	reader := &fixtureReader{toml: &tomlText{keys: map[string]check.Span{}, values: map[string]check.Span{}}}
	for _, f := range fieldsOf(contract.ByName(c.Event)) {
		v := c.Ctx[f.Name]
		if reflect.DeepEqual(v, blank(f)) {
			continue
		}
		if v != nil && sayable(v) && reflect.DeepEqual(reader.filled(withoutNil(v), f.Type, "", "", 0), v) {
			if s, ok := v.(string); ok && lines && strings.Count(s, "\n") > 1 && !strings.HasSuffix(s, `"`) {
				fmt.Fprintf(&fields, "%s = %s\n", f.Name, tomlLines(s))
				continue
			}
			fmt.Fprintf(&fields, "%s = %s\n", f.Name, tomlValue(withoutNil(v)))
			continue
		}
		text, err := contract.WritePlain(v)
		if err != nil {
			text = []byte("null") // what comes from a worker is plain data
		}
		fmt.Fprintf(&texts, "%s = %s\n", f.Name, tomlString(string(text)))
	}
	if fields.Len() > 0 {
		b.WriteString("\n[case.ctx]\n" + fields.String())
	}
	if texts.Len() > 0 {
		b.WriteString("\n[case.ctx_json] # with nil in it, which TOML cannot say\n" + texts.String())
	}
}

func (w *Want) toml(b *strings.Builder) {
	b.WriteString("\n[case.want]\n")
	fmt.Fprintf(b, "action = %s\n", tomlString(w.Action.String()))
	if w.Given["reason"] {
		fmt.Fprintf(b, "reason = %s\n", tomlString(w.Reason))
	}
	if w.Given["value"] {
		if w.Value != nil && sayable(w.Value) {
			fmt.Fprintf(b, "value = %s\n", tomlValue(withoutNil(w.Value)))
		} else if text, err := contract.WritePlain(w.Value); err == nil {
			fmt.Fprintf(b, "value_json = %s\n", tomlString(string(text)))
		}
	}
	if w.Given["is_error"] {
		fmt.Fprintf(b, "is_error = %v\n", w.IsError)
	}
	if w.Given["calls"] {
		fmt.Fprintf(b, "calls = %s\n", tomlValue(anyList(w.Calls)))
	}
	if w.Given["state"] {
		fmt.Fprintf(b, "state = %s\n", tomlValue(w.State))
	}
	if w.Given["error"] {
		fmt.Fprintf(b, "error = %s\n", tomlString(w.Error))
	}
	if w.Given["printed"] {
		fmt.Fprintf(b, "printed = %s\n", tomlString(w.Printed))
	}
}

func anyList(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

// sayable says whether no list in plain data has nil in it.
func sayable(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return e == nil || !sayable(e) })
	case map[string]any:
		for _, e := range v {
			if !sayable(e) {
				return false
			}
		}
	}
	return true
}

// withoutNil leaves out members of maps that are nil.
func withoutNil(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutNil(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if e != nil {
				out[k] = withoutNil(e)
			}
		}
		return out
	}
	return v
}

// tomlValue writes plain data without nil on one line.
func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return tomlString(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = tomlValue(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, tomlKey(k)+" = "+tomlValue(v[k]))
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return tomlString(fmt.Sprint(v))
}

func tomlKey(name string) string {
	bare := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if bare {
		return name
	}
	return tomlString(name)
}

// tomlString writes a basic string: as JSON has it, but that JSON lets the
// delete character stand.
func tomlString(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// tomlLines writes a text of several lines, which does not end in a quote, as
// one reads it.
func tomlLines(s string) string {
	var b strings.Builder
	b.WriteString("\"\"\"\n")
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		quoted := tomlString(line)
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `"""`, `""\"`))
	}
	return b.String() + `"""`
}
