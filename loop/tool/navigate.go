package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent-ls/loop"
	"agent-ls/loop/realpath"
)

// maxShownPlaces bounds how many places one answer shows.
const maxShownPlaces = 200

// navigate is one of the tools that ask the editor's language servers about a
// place: definition, references, symbols.
type navigate struct {
	*workspace
	kind NavigationKind
}

const placeSchema = `{
"type":"object","additionalProperties":false,"required":["path","line","symbol"],"properties":{
"path":{"type":"string","minLength":1,"description":"The file, relative to the workspace or absolute."},
"line":{"type":"integer","minimum":1,"description":"The line that the symbol is in, from 1."},
"symbol":{"type":"string","minLength":1,"description":"The symbol as it is written in that line."}%s}}`

var navigationDocs = map[NavigationKind]string{
	Definition: "Shows where a symbol is defined, by the editor's language servers.",
	References: "Lists where a symbol is used, by the editor's language servers; the definition included.",
	Symbols:    "Lists the symbols of a file, or those of the whole workspace whose names match a query, by the editor's language servers.",
}

func (t *navigate) Spec() loop.ToolSpec {
	schema := fmt.Sprintf(placeSchema, "")
	if t.kind == Symbols {
		schema = `{
"type":"object","additionalProperties":false,"properties":{
"path":{"type":"string","minLength":1,"description":"The file, relative to the workspace or absolute."},
"query":{"type":"string","minLength":1,"description":"Part of a name, to search the whole workspace; without path."}}}`
	}
	return loop.ToolSpec{Name: string(t.kind), Description: navigationDocs[t.kind], Schema: json.RawMessage(schema)}
}

type placeArgs struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Symbol  string `json:"symbol"`
	Query   string `json:"query"`
	NewName string `json:"new_name"`
}

func (t *navigate) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	var a placeArgs
	if err := decode(args, &a); err != nil {
		return loop.Plan{}, err
	}
	p := loop.Plan{Effect: loop.Read, ConcurrencySafe: true}
	switch {
	case t.kind == Symbols && (a.Path == "") == (a.Query == ""):
		return p, errors.New("symbols takes a path or a query, one of them")
	case a.Query != "":
		p.Title = fmt.Sprintf("symbols like %q", a.Query)
		return p, nil
	}
	path, err := t.resolve(a.Path)
	if err != nil {
		return p, err
	}
	p.Paths = []loop.PathAccess{{Path: path}}
	p.Title = strings.TrimSpace(fmt.Sprintf("%s of %s in %s", t.kind, a.Symbol, t.show(path)))
	if t.kind == Symbols {
		p.Title = "symbols of " + t.show(path)
	}
	return p, nil
}

func (t *navigate) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	var a placeArgs
	if err := decode(call.Arguments, &a); err != nil {
		return failure(err.Error())
	}
	n := Navigation{Kind: t.kind, Query: a.Query}
	if a.Path != "" {
		var err error
		if n, err = t.place(ctx, t.kind, &call, a); err != nil {
			return t.failed(ctx, err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, editorTime)
	defer cancel()
	got, err := t.Editor.Navigate(limited, n)
	if err != nil {
		return t.unanswered(ctx, string(t.kind), err)
	}
	return t.places(ctx, t.visibleOnly(got.Places, a.Query != ""), call.Read)
}

// visibleOnly leaves out what lies in files that may not be read: names of
// symbols are content, too. A query names no path that somebody could have
// been asked for, so that nothing beside the workspace is shown for it.
func (t *navigate) visibleOnly(places []Place, query bool) []Place {
	return slices.DeleteFunc(places, func(p Place) bool {
		return t.Hide(p.Path) || query && !realpath.Within(t.Root, p.Path)
	})
}

// place finds the symbol in its line, for a call that passed the gate or, with
// none, for one that is prepared.
func (w *workspace) place(ctx context.Context, kind NavigationKind, call *loop.Invocation, a placeArgs) (Navigation, error) {
	n := Navigation{Kind: kind, Line: a.Line, NewName: a.NewName}
	path, err := w.resolve(a.Path)
	if err == nil {
		err = w.judged(call, path)
	}
	if err == nil && w.Hide(path) {
		err = fmt.Errorf("%s may not be read", w.show(path))
	}
	if err == nil {
		err = w.size(path, maxReadFile)
	}
	if err != nil {
		return n, err
	}
	n.Path = path
	text, found, err := w.read(ctx, path)
	switch {
	case err != nil:
		return n, err
	case !found:
		return n, errors.New(w.missing(path))
	case n.Kind == Symbols:
		return n, nil
	}
	lines := strings.Split(plainOf(text.Bytes).text, "\n")
	if a.Line > len(lines) {
		return n, w.withhold(path, text.Bytes, fmt.Errorf("%s has %d lines; line %d is past its end", w.show(path), len(lines), a.Line))
	}
	at := wordAt(lines[a.Line-1], a.Symbol)
	if at < 0 {
		return n, w.withhold(path, text.Bytes, fmt.Errorf("line %d of %s has no %q in it; it is: %s", a.Line, w.show(path), a.Symbol, cut(strings.TrimSpace(lines[a.Line-1]), 200)))
	}
	n.Column = utf8.RuneCountInString(lines[a.Line-1][:at]) + 1
	return n, nil
}

// wordAt is where a word starts in a line, as a whole word if it is there as
// one; -1 when it is not.
func wordAt(line, word string) int {
	first := -1
	for from := 0; ; {
		i := strings.Index(line[from:], word)
		if i < 0 {
			return first
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(line[:i])
		after, _ := utf8.DecodeRuneInString(line[i+len(word):])
		if !isWord(before) && !isWord(after) {
			return i
		}
		if first < 0 {
			first = i
		}
		from = i + len(word)
	}
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

// places lays out places with the line that is there, and tells read, if it is
// not nil, once of each file of which something is shown.
func (t *navigate) places(ctx context.Context, places []Place, read func(path string)) loop.ToolResult {
	if len(places) == 0 {
		return success("the editor's language servers know of none")
	}
	var b strings.Builder
	texts := map[string][]string{}
	told := map[string]bool{}
	shows := func(path string) {
		if read != nil && !told[path] {
			read(path)
		}
		told[path] = true
	}
	for i, p := range places {
		if i == maxShownPlaces {
			fmt.Fprintf(&b, "(%d more)\n", len(places)-i)
			break
		}
		if t.kind == Symbols {
			shows(p.Path)
			fmt.Fprintf(&b, "%s%s %s", strings.Repeat("  ", min(p.Depth, 10)), p.Kind, visible(p.Name))
			fmt.Fprintf(&b, "  %s:%d\n", t.show(p.Path), p.Line)
			continue
		}
		line := t.lineOf(ctx, texts, p)
		if line != "" {
			shows(p.Path)
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", t.show(p.Path), p.Line, p.Column, line)
	}
	return success(strings.TrimRight(b.String(), "\n"))
}

// lineOf is the text of a place's line. What may not be read, or lies outside
// the workspace, is not shown.
func (w *workspace) lineOf(ctx context.Context, texts map[string][]string, p Place) string {
	lines, known := texts[p.Path]
	if !known {
		if realpath.Within(w.Root, p.Path) && !w.Hide(p.Path) && w.size(p.Path, maxReadFile) == nil {
			if text, found, err := w.read(ctx, p.Path); err == nil && found && binary(text.Bytes) == "" {
				lines = strings.Split(plainOf(text.Bytes).text, "\n")
			}
		}
		texts[p.Path] = lines
	}
	if p.Line < 1 || p.Line > len(lines) {
		return ""
	}
	return cut(strings.TrimSpace(visible(lines[p.Line-1])), 200)
}
