package manifest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// Analysis answers an editor's questions about one settings file. It is a
// snapshot: its answers hold for the text that it was made of.
type Analysis struct {
	Config   *Config
	Findings []check.Finding // of this file
	path     string
	doc      *document
	base     string // the folder that its scripts are relative to
	loader   *loader
}

// Target is a place that a definition leads to.
type Target struct {
	Path string
	Span check.Span // in that file; empty at 0 for a whole file
}

// Hover is what is said about a place.
type Hover struct {
	Markdown string
	Span     check.Span
}

// Symbol is an entry of the outline.
type Symbol struct {
	Name     string
	Detail   string
	Table    bool
	Span     check.Span
	NameSpan check.Span // of the name, within Span
	Children []Symbol
}

// Analyze reads a settings file as it stands in an editor. The path is one
// of those that Check takes.
func Analyze(ctx context.Context, path string, text []byte, sources Sources) *Analysis {
	l, name := editorLoader(ctx, path, text, sources)
	cfg, all := l.load()
	a := &Analysis{Config: cfg, path: path, loader: l, base: filepath.Dir(name)}
	for _, one := range l.everyLayer() {
		if one.path == name {
			a.doc, a.base = one.doc, one.base
		}
	}
	if a.doc == nil {
		a.doc = parseTOML(name, text)
	}
	a.Findings = ofFile(all, name, path)
	return a
}

// Definition says where what stands at an offset is defined, and which bytes
// were meant.
func (a *Analysis) Definition(offset int) ([]Target, check.Span) {
	c := a.doc.cursorAt(offset)
	if c.nothing || c.text == "" {
		return nil, c.token
	}
	s := a.setting(c)
	if s == nil {
		return nil, c.token
	}
	if c.inHeader || !c.inValue {
		return a.keyDefinition(c), c.token
	}
	switch s.Refers {
	case ToStage:
		return a.stageDefinition(c.text), c.token
	case ToModel:
		return a.modelDefinition(c.text), c.token
	case ToScript:
		return []Target{a.scriptTarget(c)}, c.token
	case ToPrompt, ToScenario, ToSchema:
		return []Target{{Path: absolute(a.base, c.text)}}, c.token
	}
	if file, ok := strings.CutPrefix(c.text, "file:"); ok && c.key == "seed" {
		return []Target{{Path: absolute(a.Config.Root, file)}}, c.token
	}
	return nil, c.token
}

// keyDefinition follows a key that is a name of something: a transition's stage.
func (a *Analysis) keyDefinition(c cursor) []Target {
	if n := len(c.table); n == 3 && c.table[0] == "stages" && c.table[2] == "transitions" {
		return a.stageDefinition(c.text)
	}
	return nil
}

func (a *Analysis) stageDefinition(name string) []Target {
	if e := a.doc.root.get("stages").entry(name); e != nil {
		return []Target{{Path: a.path, Span: e.key}}
	}
	return nil
}

func (a *Analysis) modelDefinition(name string) []Target {
	for _, one := range slices.Backward(a.loader.layers) {
		if e := one.root().get("models").entry(name); e != nil && e.key.End > 0 && !e.value.bad {
			path := one.path
			if one.doc == a.doc {
				path = a.path
			}
			return []Target{{Path: path, Span: e.key}}
		}
	}
	return nil
}

// scriptTarget is the script, at the function that the key asks for.
func (a *Analysis) scriptTarget(c cursor) Target {
	t := Target{Path: absolute(a.base, c.text)}
	function := c.key
	if e := contract.ByName(c.key); e != nil {
		function = e.Function
	}
	if slices.Contains(c.table, "dedup_tools") {
		function = "dedup_key"
	}
	if text, err := a.loader.text(t.Path); err == nil {
		if at := functionOffset(text, function); at >= 0 {
			t.Span = check.Span{Start: at, End: at + len(function)}
		}
	}
	return t
}

// setting is the row of what the cursor is on; for a value its key's.
func (a *Analysis) setting(c cursor) *Setting {
	name := c.text
	if c.inValue {
		name = c.key
	}
	r := rowAt(c.table).under(name)
	if r == nil {
		return nil
	}
	return r.setting
}

// Hover says what the key at an offset means, or what a name stands for.
func (a *Analysis) Hover(offset int) (Hover, bool) {
	c := a.doc.cursorAt(offset)
	if c.nothing || c.text == "" {
		return Hover{}, false
	}
	s := a.setting(c)
	if s == nil {
		return Hover{}, false
	}
	h := Hover{Span: c.token}
	if c.inValue {
		h.Markdown = a.valueHover(c, s)
	} else {
		h.Markdown = settingText(s)
		if len(c.table) == 1 && c.table[0] == "hooks" {
			h.Markdown = eventText(c.text)
		} else if e := contract.ByName(c.text); e != nil && len(c.table) == 3 {
			h.Markdown = eventText(c.text)
		}
	}
	return h, h.Markdown != ""
}

func (a *Analysis) valueHover(c cursor, s *Setting) string {
	switch s.Refers {
	case ToModel:
		if m, ok := a.Config.Models[c.text]; ok {
			text := fmt.Sprintf("model **%s**: %s", m.Name, m.Provider)
			if m.Model != "" {
				text += " `" + m.Model + "`"
			}
			return text + " (" + m.Origin.Layer + ")"
		}
	case ToStage:
		if e := a.doc.root.get("stages").entry(c.text); e != nil {
			return fmt.Sprintf("stage **%s**, line %d", c.text, lineOf(a.doc.text, e.key.Start))
		}
	case ToCommand:
		return eventText(c.text)
	case ToScript, ToPrompt, ToScenario, ToSchema:
		return "`" + absolute(a.base, c.text) + "`"
	}
	return settingText(s)
}

func eventText(name string) string {
	e := contract.ByName(name)
	if e == nil {
		return ""
	}
	text := fmt.Sprintf("**%s**: %s\n\nFires %s.", e.Name, e.Doc, strings.TrimSuffix(e.Fires, "."))
	if e.Function != "" {
		text += fmt.Sprintf(" The script's function is `%s(ctx)`.", e.Function)
	}
	return text
}

// settingText is a row of the table for people.
func settingText(s *Setting) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** (%s", s.Path, s.TypeText())
	if d := s.DefaultText(); d != "" {
		fmt.Fprintf(&b, ", default `%s`", d)
	}
	fmt.Fprintf(&b, ")\n\n%s", s.Doc)
	if s.Who != Anyone {
		fmt.Fprintf(&b, "\n\nSet by %s.", s.Who)
	}
	if !s.InForce() {
		b.WriteString("\n\nNot yet in force: this version does not act on it.")
	}
	return b.String()
}

// TypeText is the setting's type for people.
func (s *Setting) TypeText() string {
	if len(s.Values) > 0 {
		text := quotedChoice(s.Values)
		if s.has(Truth) {
			text = "true, false, " + text
		}
		return text
	}
	names := make([]string, len(s.Shapes))
	for i, shape := range s.Shapes {
		names[i] = shape.String()
	}
	return strings.Join(names, " or ")
}

// DefaultText is the default as it would be written, "" if there is none.
func (s *Setting) DefaultText() string {
	switch d := s.Default.(type) {
	case nil:
		return ""
	case string:
		return quote(d)
	case float64:
		return trimFloat(d)
	default:
		if s.Path == "hooks.limits.workers" {
			return "" // the machine's, not the table's
		}
		return fmt.Sprint(d)
	}
}

// Symbols is the file's outline.
func (a *Analysis) Symbols() []Symbol { return symbols(a.doc.root, 0) }

func symbols(n *node, depth int) []Symbol {
	var out []Symbol
	for _, e := range n.keys {
		if e.value.kind == listKind && e.value.ofArray {
			for i, item := range e.value.items {
				out = append(out, symbol(fmt.Sprintf("%s %d", e.name, i+1), item.span, item.span, item, depth))
			}
			continue
		}
		out = append(out, symbol(e.name, e.key, e.whole, e.value, depth))
	}
	return out
}

func symbol(name string, key, whole check.Span, value *node, depth int) Symbol {
	s := Symbol{Name: name, NameSpan: key, Span: hull(whole, key), Table: value.kind == tableKind}
	switch value.kind {
	case tableKind:
		if depth < maxDepth {
			s.Children = symbols(value, depth+1)
		}
		for _, child := range s.Children {
			s.Span = hull(s.Span, child.Span)
		}
		if event := value.get("event"); event != nil {
			s.Detail = event.text
		}
	case stringKind:
		s.Detail = firstLine(value.text)
	case listKind:
		s.Detail = firstLine(strings.Join(value.strings(), ", "))
	default:
		s.Detail = fmt.Sprint(value.plain())
	}
	return s
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	if r := []rune(line); len(r) > 60 {
		line = string(r[:59]) + "…"
	}
	return line
}

func hull(a, b check.Span) check.Span {
	return check.Span{Start: min(a.Start, b.Start), End: max(a.End, b.End)}
}
