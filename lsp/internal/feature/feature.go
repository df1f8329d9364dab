// Package feature answers an editor's questions about one place of a document:
// pure functions over a snapshot, bytes in and bytes out. Start at Hover. What
// a script or a manifest means is known by hooks/check and loop/manifest; here
// is what connects the two.
package feature

import (
	"context"

	"agent-ls/hooks/check"
	"agent-ls/loop/manifest"
	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/text"
)

// Target is a place in a file that a question leads to.
type Target struct {
	Path string
	Span text.Span
}

// Kind is what an item or a symbol is.
type Kind uint8

const (
	NoKind Kind = iota
	Keyword
	Function
	Method
	Variable
	Constant
	Field
	Module
	Action // what a hook decides
	Key    // of a manifest
	Table
	Value
	Stage
	Tool
	Event
	Model
	File
)

// manifestAnalysis reads a settings file as the snapshot has it.
func manifestAnalysis(ctx context.Context, snap *cache.Snapshot, doc *cache.Document) *manifest.Analysis {
	return manifest.Analyze(ctx, doc.Path, []byte(doc.Source.Text()), snap.Sources(doc))
}

// Hovered is what is said about a place, in Markdown.
type Hovered struct {
	Markdown string
	Span     text.Span
}

// Hover says what stands at an offset; ok is false when there is nothing to
// say.
func Hover(ctx context.Context, snap *cache.Snapshot, doc *cache.Document, offset int) (h Hovered, ok bool) {
	switch doc.Kind {
	case cache.Script:
		return scriptHover(snap, doc, offset)
	case cache.Manifest:
		found, ok := manifestAnalysis(ctx, snap, doc).Hover(offset)
		return Hovered{found.Markdown, text.Span(found.Span)}, ok
	}
	return Hovered{}, false
}

// Item is one thing that can be written at a place.
type Item struct {
	Label  string
	Kind   Kind
	Detail string
	Doc    string // Markdown
	// Edit replaces what is there; it never leaves the line that the offset
	// is on.
	Edit text.Edit
	// Snippet is the edit's text with the places of a snippet, `$1`, for
	// editors that know them; "" when there are none.
	Snippet string
}

// Completion lists what can stand at an offset, the best first.
func Completion(ctx context.Context, snap *cache.Snapshot, doc *cache.Document, offset int) []Item {
	var items []Item
	switch doc.Kind {
	case cache.Script:
		items = scriptCompletion(snap, doc, offset)
	case cache.Manifest:
		for _, c := range manifestAnalysis(ctx, snap, doc).Complete(offset) {
			items = append(items, Item{
				Label: c.Label, Kind: manifestKind(c.Kind), Detail: c.Detail, Doc: c.Doc,
				Edit: text.Edit{Span: text.Span(c.Edit.Span), NewText: c.Edit.NewText},
			})
		}
	}
	line := doc.Source.LineSpan(doc.Source.LineOf(offset))
	kept := items[:0]
	for _, item := range items {
		// Editors drop items whose edit lies elsewhere, some without a word.
		if s := item.Edit.Span; s.Start >= line.Start && s.End <= line.End && s.Start <= offset && offset <= s.End {
			kept = append(kept, item)
		}
	}
	return kept
}

func manifestKind(k manifest.CompletionKind) Kind {
	switch k {
	case manifest.KeyItem:
		return Key
	case manifest.TableItem:
		return Table
	case manifest.StageItem:
		return Stage
	case manifest.ToolItem:
		return Tool
	case manifest.EventItem:
		return Event
	case manifest.ModelItem:
		return Model
	case manifest.FileItem:
		return File
	}
	return Value
}

// Symbol is an entry of a document's outline.
type Symbol struct {
	Name     string
	Detail   string
	Kind     Kind
	Span     text.Span
	NameSpan text.Span // within Span
	Children []Symbol
}

// Symbols is a document's outline.
func Symbols(ctx context.Context, snap *cache.Snapshot, doc *cache.Document) []Symbol {
	switch doc.Kind {
	case cache.Script:
		return scriptSymbols(snap, doc)
	case cache.Manifest:
		return manifestSymbols(manifestAnalysis(ctx, snap, doc).Symbols())
	}
	return nil
}

func manifestSymbols(in []manifest.Symbol) []Symbol {
	var out []Symbol
	for _, s := range in {
		kind := Key
		if s.Table {
			kind = Table
		}
		out = append(out, Symbol{
			Name: s.Name, Detail: s.Detail, Kind: kind, Span: text.Span(s.Span), NameSpan: text.Span(s.NameSpan),
			Children: manifestSymbols(s.Children),
		})
	}
	return out
}

// Definition says where what stands at an offset comes from. origin is what
// was meant. From a manifest's line it leads to the function in the script,
// from the function back to the lines that name it.
func Definition(ctx context.Context, snap *cache.Snapshot, doc *cache.Document, offset int) (targets []Target, origin text.Span) {
	switch doc.Kind {
	case cache.Script:
		return scriptDefinition(snap, doc, offset)
	case cache.Manifest:
		found, span := manifestAnalysis(ctx, snap, doc).Definition(offset)
		for _, t := range found {
			targets = append(targets, Target{t.Path, text.Span(t.Span)})
		}
		return targets, text.Span(span)
	}
	return nil, text.Span{}
}

// References lists where what stands at an offset is used, the manifest's
// lines included.
func References(snap *cache.Snapshot, doc *cache.Document, offset int, declaration bool) []Target {
	if doc.Kind != cache.Script {
		return nil
	}
	return scriptReferences(snap, doc, offset, declaration)
}

// Fix is a fix of a finding.
type Fix struct {
	Finding check.Finding
	check.Fix
}

// Fixes are those of the findings that touch a span.
func Fixes(snap *cache.Snapshot, doc *cache.Document, span text.Span) []Fix {
	var out []Fix
	for _, f := range snap.Findings(doc) {
		if f.Span.Start > span.End || f.Span.End < span.Start {
			continue
		}
		for _, fix := range f.Fixes {
			out = append(out, Fix{f, fix})
		}
	}
	return out
}

// Asks are the findings that touch a span and go away when a person trusts
// something.
func Asks(snap *cache.Snapshot, doc *cache.Document, span text.Span) []check.Finding {
	var out []check.Finding
	for _, f := range snap.Findings(doc) {
		if f.Trust != nil && f.Span.Start <= span.End && f.Span.End >= span.Start {
			out = append(out, f)
		}
	}
	return out
}

// FixAll gathers the preferred fixes of a document that do not overlap.
func FixAll(snap *cache.Snapshot, doc *cache.Document) []check.Edit {
	var out []check.Edit
	for _, f := range snap.Findings(doc) {
		for _, fix := range f.Fixes {
			if fix.Preferred && !overlaps(out, fix.Edits) {
				out = append(out, fix.Edits...)
				break
			}
		}
	}
	return out
}

func overlaps(made, more []check.Edit) bool {
	for _, a := range made {
		for _, b := range more {
			if a.Span.Start < b.Span.End && b.Span.Start < a.Span.End || a.Span == b.Span {
				return true
			}
		}
	}
	return false
}
