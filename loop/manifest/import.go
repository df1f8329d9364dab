package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/loop/tool/toolname"
)

// Imported is what the hook settings of another program come to here.
type Imported struct {
	Hooks   []ImportedHook
	Remarks []Remark // by line
}

// ImportedHook is one [[hook]] entry.
type ImportedHook struct {
	Event   string            `json:"event"`
	Command string            `json:"command"`
	Matcher string            `json:"matcher,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Line    int               `json:"line"` // where the other program's file has it
}

// Remark says what of the other program's settings is not, or not quite, what
// it was.
type Remark struct {
	Line int    `json:"line"`
	Lost bool   `json:"lost"` // it is not carried over at all
	Text string `json:"text"`
}

// ImportHooks reads hook settings of Claude Code (JSON: settings.json, or a
// plugin's hooks.json) or of hotl (TOML: config.toml). What has no counterpart
// here is in the remarks: nothing is left out in silence. An error means that
// the file cannot be read as either.
func ImportHooks(path string, text []byte) (*Imported, error) {
	i := &importer{text: text}
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		doc := parseTOML(path, text)
		for _, f := range doc.findings {
			return nil, fmt.Errorf("line %d: %s", lineOf(text, f.Span.Start), f.Message)
		}
		i.hotl(doc.root)
	} else {
		root, err := parseJSON(text)
		if err != nil {
			return nil, err
		}
		if root.kind != tableKind {
			return nil, fmt.Errorf("it is %s, not an object of settings", jsonKind(root))
		}
		i.claude(root)
	}
	slices.SortStableFunc(i.out.Remarks, func(a, b Remark) int { return a.Line - b.Line })
	return &i.out, nil
}

// TOML is the entry as agent.toml has it, under a comment that says which file
// it comes from.
func (h ImportedHook) TOML(from string) string {
	var b strings.Builder
	from = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?' // or the name of a file could write lines of its own
		}
		return r
	}, from)
	fmt.Fprintf(&b, "# from %s, line %d\n[[hook]]\nevent = %s\ncommand = %s\n", from, h.Line, tomlText(h.Event), tomlText(h.Command))
	if h.Matcher != "" {
		fmt.Fprintf(&b, "matcher = %s\n", tomlText(h.Matcher))
	}
	if len(h.Env) > 0 {
		b.WriteString("env = {")
		for n, k := range sortedKeys(h.Env) {
			if n > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " %s = %s", keyText(k), tomlText(h.Env[k]))
		}
		b.WriteString(" }\n")
	}
	return b.String()
}

// tomlText writes a string as TOML's basic strings are: as in JSON, but that
// JSON lets the delete character stand.
func tomlText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a command is to be read by people
	_ = e.Encode(s)        // a string always encodes
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// AddHooks gives the text of a settings file with entries behind its end, and
// how many of them it had already and are not added. from says where they come
// from, for a comment. The error says why the file cannot take them.
func AddHooks(path string, text []byte, hooks []ImportedHook, from string) (added []byte, already int, err error) {
	doc := parseTOML(path, text)
	for _, f := range doc.findings {
		return nil, 0, fmt.Errorf("%s:%d: %s", path, lineOf(text, f.Span.Start), f.Message)
	}
	have := map[string]bool{}
	if list := doc.root.get("hook"); list != nil {
		for _, n := range list.items {
			have[string(entryJSON(n))] = true
		}
	}
	var b strings.Builder
	for _, h := range hooks {
		entry := parseTOML(path, []byte(h.TOML(from))).root.get("hook").items[0]
		key := string(entryJSON(entry))
		if have[key] {
			already++
			continue
		}
		have[key] = true
		b.WriteString("\n" + h.TOML(from))
	}
	more := b.String()
	if bytes.Contains(text, []byte("\r\n")) {
		more = strings.ReplaceAll(more, "\n", "\r\n")
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		more = "\n" + more
	}
	added = append(bytes.Clone(text), more...)
	for _, f := range parseTOML(path, added).findings {
		return nil, 0, fmt.Errorf("%s cannot take [[hook]] entries at its end: %s", path, f.Message)
	}
	return added, already, nil
}

type importer struct {
	text []byte
	out  Imported
}

func (i *importer) lost(at check.Span, format string, args ...any) {
	i.out.Remarks = append(i.out.Remarks, Remark{lineOf(i.text, at.Start), true, fmt.Sprintf(format, args...)})
}

func (i *importer) note(at check.Span, format string, args ...any) {
	i.out.Remarks = append(i.out.Remarks, Remark{lineOf(i.text, at.Start), false, fmt.Sprintf(format, args...)})
}

// hotl reads a config.toml of hotl, whose entries are ours.
func (i *importer) hotl(root *node) {
	for _, e := range root.keys {
		switch e.name {
		case "hook":
		case "diagnostics":
			i.lost(e.key, "[diagnostics] is no hook: agent.toml has the same table, copy it there")
		default:
			i.lost(e.key, "%s is no hook", keyText(e.name))
		}
	}
	list := root.get("hook")
	if list == nil {
		return
	}
	if list.kind != listKind {
		i.lost(list.span, "hook must be a list of [[hook]] entries")
		return
	}
	for _, n := range list.items {
		i.hotlHook(n)
	}
}

func (i *importer) hotlHook(n *node) {
	if n.kind != tableKind {
		i.lost(n.span, "an entry of hook must be a table, not %s", n.kind)
		return
	}
	event, command := n.get("event"), n.get("command")
	if event == nil || event.kind != stringKind || command == nil || command.kind != stringKind || strings.TrimSpace(command.text) == "" {
		i.lost(n.span, "an entry needs an event and a command, both strings")
		return
	}
	if !slices.Contains(CommandEvents, event.text) {
		i.lost(event.span, "there is no command event %q%s", event.text, contract.DidYouMean(event.text, CommandEvents))
		return
	}
	h := ImportedHook{Event: event.text, Command: command.text, Line: lineOf(i.text, n.span.Start)}
	for _, e := range n.keys {
		switch e.name {
		case "event", "command":
		case "env":
			h.Env = i.environment(e.value)
		case "matcher":
			var ok bool
			if h.Matcher, ok = i.matcher(h.Event, e.value, ","); !ok {
				return
			}
		default:
			i.lost(e.key, "%s is no key of a [[hook]] entry", keyText(e.name))
		}
	}
	i.out.Hooks = append(i.out.Hooks, h)
}

func (i *importer) environment(n *node) map[string]string {
	if n.kind != tableKind {
		i.lost(n.span, "env must be a table of strings, not %s", n.kind)
		return nil
	}
	env := map[string]string{}
	for _, e := range n.keys {
		switch {
		case e.value.kind != stringKind:
			i.lost(e.value.span, "env.%s must be a string, not %s", keyText(e.name), e.value.kind)
		case e.name == "HOTL_HOOK_EVENT" || e.name == "AGENT_LS_HOOK_EVENT":
			i.lost(e.key, "%s is set by the host: no entry can override it", e.name)
		default:
			env[e.name] = e.value.text
		}
	}
	return env
}

// matcher turns tool names, separated as the other program does, into ours.
// False means that the entry would never match here and is not carried over.
func (i *importer) matcher(event string, n *node, separator string) (string, bool) {
	if n.kind != stringKind {
		i.lost(n.span, "matcher must be a string, not %s: the entry is not carried over, since it would match everything", n.kind)
		return "", false
	}
	if event != "pre_tool" && event != "post_tool" {
		if m := strings.TrimSpace(n.text); m != "" && m != "*" {
			i.note(n.span, "a matcher counts for pre_tool and post_tool only: this %s hook hears of every one, not of %q alone", event, n.text)
		}
		return "", true
	}
	m := matching{importer: i, at: n.span}
	for _, part := range alternatives(n.text, separator) {
		m.part(part)
	}
	return m.result(n.text)
}

func jsonKind(n *node) string {
	if n.kind == noKind {
		return "null"
	}
	if n.kind == tableKind {
		return "an object"
	}
	return n.kind.String()
}

// matching collects the tools that a matcher means.
type matching struct {
	importer *importer
	at       check.Span
	every    bool
	names    []string
}

func (m *matching) add(name string) {
	if !slices.Contains(m.names, name) {
		m.names = append(m.names, name)
	}
}

func (m *matching) part(part string) {
	part = strings.TrimSpace(part)
	switch part {
	case "":
		return
	case "*", ".*", ".+", "^.*$":
		m.every = true
		return
	}
	if plainName(part) {
		if name, ok := toolname.BySpelling(part); ok {
			m.add(name)
			return
		}
		hint := ""
		if near := toolname.NearestSpelling(part); near != "" {
			hint = fmt.Sprintf("; the nearest is %q", near)
		}
		m.importer.lost(m.at, "there is no tool %q here%s", part, hint)
		return
	}
	m.pattern(part)
}

func plainName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// result is the matcher that the parts come to; whole is what stood there.
func (m *matching) result(whole string) (string, bool) {
	if m.every || strings.TrimSpace(whole) == "" {
		return "", true
	}
	if len(m.names) == 0 {
		m.importer.lost(m.at, "nothing of the matcher %q can match here: the entry is not carried over", whole)
		return "", false
	}
	if slices.Contains(m.names, "edit") && !slices.Contains(m.names, "multi_edit") {
		m.add("multi_edit")
		m.importer.note(m.at, "multi_edit is added to the matcher: here it edits files beside edit")
	}
	return strings.Join(m.names, ","), true
}
