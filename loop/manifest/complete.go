package manifest

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/hooks/check"
	"agent-ls/loop/tool/toolname"
)

// CompletionKind says what an item of completion is.
type CompletionKind uint8

const (
	NoCompletion CompletionKind = iota
	KeyItem
	TableItem
	ValueItem
	StageItem
	ToolItem
	EventItem
	ModelItem
	FileItem
)

// Completion is one thing that can stand at a place.
type Completion struct {
	Label  string
	Kind   CompletionKind
	Detail string
	Doc    string // Markdown
	Edit   check.Edit
}

// Complete lists what can stand at an offset. The edit of each item replaces
// the word or string that is there, on its line.
func (a *Analysis) Complete(offset int) []Completion {
	c := a.doc.cursorAt(offset)
	if c.nothing {
		return nil
	}
	if c.inValue {
		return a.values(c)
	}
	return a.keys(c)
}

// keys completes a key, or a name of a header.
func (a *Analysis) keys(c cursor) []Completion {
	r := rowAt(c.table)
	if r == nil {
		return nil
	}
	have := a.present(c)
	var out []Completion
	add := func(name string, kind CompletionKind, s *Setting, doc string) {
		if !c.inHeader && have.entry(name) != nil && name != c.text {
			return
		}
		text := keyText(name)
		if !c.inHeader && !a.followedBy(c.token.End, '=', '.') {
			text += " = "
		}
		item := Completion{Label: name, Kind: kind, Doc: doc, Edit: check.Edit{Span: c.token, NewText: text}}
		if s != nil {
			item.Detail = s.TypeText()
		}
		out = append(out, item)
	}
	for _, name := range r.names {
		s := r.keys[name].setting
		table := s.has(Fixed) || s.has(Named) || s.has(Tables)
		if c.inHeader && !table {
			continue
		}
		kind := KeyItem
		if table {
			kind = TableItem
		}
		add(name, kind, s, settingText(s))
	}
	if r.setting != nil && r.setting.has(Named) && r.star != nil {
		for _, item := range a.named(c, r) {
			add(item.Label, item.Kind, r.star.setting, item.Doc)
		}
	}
	return out
}

// present is the table that the keys go into, as far as it is there.
func (a *Analysis) present(c cursor) *node {
	for _, s := range a.doc.sections {
		if s.array && slices.Equal(s.path, c.table) && s.start <= c.token.Start && c.token.Start <= s.end {
			return s.table
		}
	}
	return a.doc.root.at(c.table...)
}

// named lists the names that make sense as keys of a table of the user's.
func (a *Analysis) named(c cursor, r *row) []Completion {
	if r.setting.Path == "hooks" {
		return events(scriptEvents())
	}
	switch r.setting.Refers {
	case ToStage:
		return a.stageNames()
	case ToTool:
		return toolNames(false)
	}
	if !c.inHeader {
		return nil
	}
	var out []Completion
	for _, name := range a.doc.root.at(c.table...).names() {
		out = append(out, Completion{Label: name, Kind: TableItem})
	}
	return out
}

func (n *node) names() []string {
	if n == nil {
		return nil
	}
	var out []string
	for _, e := range n.keys {
		out = append(out, e.name)
	}
	return out
}

func (a *Analysis) followedBy(at int, chars ...byte) bool {
	at = skipBlank(a.doc.text, at)
	return at < len(a.doc.text) && slices.Contains(chars, a.doc.text[at])
}

// values completes a value by its setting.
func (a *Analysis) values(c cursor) []Completion {
	s := a.setting(c)
	if s == nil {
		return nil
	}
	var out []Completion
	for _, v := range s.Values {
		out = append(out, Completion{Label: v, Kind: ValueItem})
	}
	if s.has(Truth) && c.quote == 0 {
		for _, v := range []string{"true", "false"} {
			out = append(out, Completion{Label: v, Kind: ValueItem, Edit: check.Edit{Span: c.token, NewText: v}})
		}
	}
	out = append(out, a.referred(c, s)...)
	if d := s.DefaultText(); d != "" && len(out) == 0 && c.quote == 0 {
		out = append(out, Completion{Label: d, Kind: ValueItem, Detail: "default", Edit: check.Edit{Span: c.token, NewText: d}})
	}
	for i := range out {
		if out[i].Edit.NewText == "" {
			out[i].Edit = check.Edit{Span: c.token, NewText: a.stringText(c, s, out[i].Label)}
		}
	}
	return out
}

// stringText writes a string as the place needs it: in the quotes that are
// there, in a list where the setting wants one.
func (a *Analysis) stringText(c cursor, s *Setting, text string) string {
	quoted := quote(text)
	if c.quote == '\'' && !strings.Contains(text, "'") {
		quoted = "'" + text + "'"
	}
	if s.has(Texts) && !s.has(Text) && !c.inList && c.quote == 0 {
		return "[" + quoted + "]"
	}
	return quoted
}

func (a *Analysis) referred(c cursor, s *Setting) []Completion {
	switch s.Refers {
	case ToStage:
		return a.stageNames()
	case ToModel:
		var out []Completion
		for _, name := range sortedKeys(a.Config.Models) {
			m := a.Config.Models[name]
			out = append(out, Completion{Label: name, Kind: ModelItem, Detail: strings.TrimSpace(m.Provider + " " + m.Model)})
		}
		return out
	case ToTool:
		return toolNames(true)
	case ToTools, ToRule:
		return toolNames(false)
	case ToCommand:
		return events(CommandEvents)
	case ToScript:
		return a.files(".risor")
	case ToPrompt:
		return a.files(".md", ".txt")
	case ToSchema:
		return a.files(".json")
	case ToScenario:
		return a.files(".yaml", ".yml", ".json")
	}
	return nil
}

func (a *Analysis) stageNames() []Completion {
	var out []Completion
	for _, name := range a.doc.root.get("stages").names() {
		out = append(out, Completion{Label: name, Kind: StageItem})
	}
	return out
}

func toolNames(star bool) []Completion {
	var out []Completion
	for _, name := range toolname.Built {
		out = append(out, Completion{Label: name, Kind: ToolItem})
	}
	if star {
		out = append(out, Completion{Label: "*", Kind: ToolItem, Detail: "every tool"})
	}
	return out
}

func events(names []string) []Completion {
	var out []Completion
	for _, name := range names {
		out = append(out, Completion{Label: name, Kind: EventItem, Doc: eventText(name)})
	}
	return out
}

const (
	completedFiles = 500 // of one answer
	completedDepth = 6
)

// files lists the files of the manifest's folder with one of the extensions,
// as settings name them.
func (a *Analysis) files(extensions ...string) []Completion {
	var out []Completion
	visited := 0
	// An error of one folder leaves that folder out.
	_ = filepath.WalkDir(a.base, func(path string, d fs.DirEntry, err error) error {
		visited++
		if visited > 20*completedFiles || len(out) >= completedFiles {
			return fs.SkipAll
		}
		if err != nil {
			return nil
		}
		rel, err := filepath.Rel(a.base, path)
		if err != nil || rel == "." {
			return nil
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") || strings.Count(rel, string(filepath.Separator)) >= completedDepth {
				return fs.SkipDir
			}
			return nil
		}
		if slices.Contains(extensions, filepath.Ext(path)) {
			out = append(out, Completion{Label: filepath.ToSlash(rel), Kind: FileItem})
		}
		return nil
	})
	return out
}
