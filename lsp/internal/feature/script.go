package feature

import (
	"path/filepath"

	"agent-ls/hooks/check"
	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/text"
)

func scriptHover(snap *cache.Snapshot, doc *cache.Document, offset int) (Hovered, bool) {
	markdown, span, ok := snap.Script(doc).Hover(offset)
	return Hovered{markdown, text.Span(span)}, ok
}

func scriptCompletion(snap *cache.Snapshot, doc *cache.Document, offset int) []Item {
	var items []Item
	for _, c := range snap.Script(doc).Complete(offset) {
		items = append(items, Item{
			Label: c.Label, Kind: scriptKind(c.Kind), Detail: c.Detail, Doc: c.Doc, Snippet: c.Snippet,
			Edit: text.Edit{Span: text.Span(c.Span), NewText: c.Insert},
		})
	}
	return items
}

func scriptKind(k check.CompletionKind) Kind {
	switch k {
	case check.FieldCompletion:
		return Field
	case check.MethodCompletion:
		return Method
	case check.FunctionCompletion:
		return Function
	case check.ModuleCompletion:
		return Module
	case check.VariableCompletion:
		return Variable
	case check.ConstantCompletion:
		return Constant
	case check.KeywordCompletion:
		return Keyword
	case check.ActionCompletion:
		return Action
	case check.KeyCompletion:
		return Key
	case check.HookCompletion:
		return Event
	}
	return Value
}

func scriptSymbols(snap *cache.Snapshot, doc *cache.Document) []Symbol {
	return convertSymbols(snap.Script(doc).Symbols())
}

func convertSymbols(in []check.Symbol) []Symbol {
	var out []Symbol
	for _, s := range in {
		kind := Variable
		switch s.Kind {
		case check.HookSymbol:
			kind = Event
		case check.FunctionSymbol:
			kind = Function
		case check.ConstantSymbol:
			kind = Constant
		case check.ModuleSymbol:
			kind = Module
		}
		out = append(out, Symbol{
			Name: s.Name, Detail: s.Detail, Kind: kind, Span: text.Span(s.Span), NameSpan: text.Span(s.Selection),
			Children: convertSymbols(s.Children),
		})
	}
	return out
}

// scriptDefinition follows a name to its definition in the script, an import
// to the file beside it, and a hook function's own name to the lines of the
// manifest that name it.
func scriptDefinition(snap *cache.Snapshot, doc *cache.Document, offset int) ([]Target, text.Span) {
	script := snap.Script(doc)
	at, ok := script.Definition(offset)
	if !ok {
		return nil, text.Span{}
	}
	origin := text.Span{Start: offset, End: offset}
	for _, span := range script.References(offset) {
		if span.Start <= offset && offset <= span.End {
			origin = text.Span(span)
		}
	}
	symbol := symbolAt(script, at)
	switch symbol.Kind {
	case check.ModuleSymbol:
		if path := siblingPath(doc, symbol.Detail); path != "" && snap.File(path) != nil {
			return []Target{{Path: path}}, origin
		}
	case check.HookSymbol, check.FunctionSymbol:
		if origin == text.Span(at) {
			if lines := manifestLines(snap, doc, symbol.Name); len(lines) > 0 {
				return lines, origin
			}
		}
	}
	return []Target{{doc.Path, text.Span(at)}}, origin
}

// symbolAt is the top-level symbol whose name stands there.
func symbolAt(script *check.Analysis, name check.Span) check.Symbol {
	for _, s := range script.Symbols() {
		if s.Selection == name {
			return s
		}
	}
	return check.Symbol{}
}

// siblingPath is the file that an import means.
func siblingPath(doc *cache.Document, module string) string {
	if doc.Path == "" || module == "" || module != filepath.Base(module) {
		return ""
	}
	return filepath.Join(filepath.Dir(doc.Path), module+".risor")
}

// manifestLines are the places that make a function of this script fire.
func manifestLines(snap *cache.Snapshot, doc *cache.Document, function string) []Target {
	var out []Target
	for _, use := range snap.Uses(doc) {
		if use.Function == function {
			out = append(out, Target{use.Path, use.Span})
		}
	}
	return out
}

func scriptReferences(snap *cache.Snapshot, doc *cache.Document, offset int, declaration bool) []Target {
	script := snap.Script(doc)
	at, defined := script.Definition(offset)
	var out []Target
	for _, span := range script.References(offset) {
		if declaration || !defined || span != at {
			out = append(out, Target{doc.Path, text.Span(span)})
		}
	}
	if defined {
		if s := symbolAt(script, at); s.Kind == check.HookSymbol || s.Kind == check.FunctionSymbol {
			out = append(out, manifestLines(snap, doc, s.Name)...)
		}
	}
	return out
}
