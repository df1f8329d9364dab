package server

import (
	"context"
	"encoding/json"
	"fmt"

	"go.lsp.dev/protocol"

	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/feature"
	"agent-ls/lsp/internal/text"
)

// featureCapabilities declares the language features.
func (s *Server) featureCapabilities(c *protocol.ServerCapabilities) {
	c.HoverProvider = protocol.Boolean(true)
	c.DefinitionProvider = protocol.Boolean(true)
	c.ReferencesProvider = protocol.Boolean(true)
	c.DocumentSymbolProvider = protocol.Boolean(true)
	c.CompletionProvider = &protocol.CompletionOptions{TriggerCharacters: []string{".", `"`, "[", "{", ",", "="}}
	c.CodeActionProvider = &protocol.CodeActionOptions{
		CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix, fixAllKind},
	}
}

// at finds the document and the offset of a request; doc is nil when there is
// nothing to say about it.
func (s *Server) at(ctx context.Context, raw json.RawMessage) (snap *cache.Snapshot, doc *cache.Document, offset int, err error) {
	p, err := decode[positionParams](raw)
	if err != nil {
		return nil, nil, 0, err
	}
	snap = s.snapshot(ctx)
	doc = snap.Document(p.TextDocument.URI)
	if doc == nil || doc.Kind == cache.NoKind {
		return snap, nil, 0, nil
	}
	return snap, doc, doc.Source.PositionOffset(snap.Encoding, p.Position.text()), nil
}

func (s *Server) hover(ctx context.Context, raw json.RawMessage) (any, error) {
	snap, doc, offset, err := s.at(ctx, raw)
	if doc == nil || err != nil {
		return nil, err
	}
	h, ok := feature.Hover(ctx, snap, doc, offset)
	if !ok || h.Markdown == "" {
		return nil, nil // nothing here
	}
	r := s.converter(snap).spanRange(doc, h.Span)
	content := &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: visible(h.Markdown)}
	if !s.hoverMarkdown() {
		content.Kind = protocol.MarkupKindPlainText
	}
	return &protocol.Hover{Contents: content, Range: &r}, nil
}

// hoverMarkdown reports whether the client shows Markdown; one that says
// nothing does.
func (s *Server) hoverMarkdown() bool {
	t := s.caps.Standard.TextDocument
	if t == nil || t.Hover == nil || len(t.Hover.ContentFormat) == 0 {
		return true
	}
	for _, kind := range t.Hover.ContentFormat {
		if kind == protocol.MarkupKindMarkdown {
			return true
		}
	}
	return false
}

func (s *Server) definition(ctx context.Context, raw json.RawMessage) (any, error) {
	snap, doc, offset, err := s.at(ctx, raw)
	if doc == nil || err != nil {
		return nil, err
	}
	targets, origin := feature.Definition(ctx, snap, doc, offset)
	if !s.linkSupport() {
		return s.locations(snap, doc, targets), nil
	}
	conv := s.converter(snap)
	from := conv.spanRange(doc, origin)
	links := protocol.DefinitionLinkSlice{}
	for _, t := range targets {
		if l, ok := conv.location(doc, t.Path, t.Span); ok {
			links = append(links, protocol.DefinitionLink{
				OriginSelectionRange: &from, TargetURI: l.URI, TargetRange: l.Range, TargetSelectionRange: l.Range,
			})
		}
	}
	return links, nil
}

func (s *Server) linkSupport() bool {
	t := s.caps.Standard.TextDocument
	return t != nil && t.Definition != nil && yes(t.Definition.LinkSupport)
}

// locations converts targets; files that are gone are left out.
func (s *Server) locations(snap *cache.Snapshot, doc *cache.Document, targets []feature.Target) protocol.LocationSlice {
	conv := s.converter(snap)
	out := protocol.LocationSlice{}
	for _, t := range targets {
		if l, ok := conv.location(doc, t.Path, t.Span); ok {
			out = append(out, l)
		}
	}
	return out
}

func (s *Server) references(ctx context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		Context struct {
			IncludeDeclaration bool `json:"includeDeclaration"`
		} `json:"context"`
	}](raw)
	if err != nil {
		return nil, err
	}
	snap, doc, offset, err := s.at(ctx, raw)
	if doc == nil || err != nil {
		return nil, err
	}
	return s.locations(snap, doc, feature.References(snap, doc, offset, p.Context.IncludeDeclaration)), nil
}

func (s *Server) documentSymbol(ctx context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[documentParams](raw)
	if err != nil {
		return nil, err
	}
	snap := s.snapshot(ctx)
	doc := snap.Document(p.TextDocument.URI)
	if doc == nil {
		return nil, nil // nothing here
	}
	conv := s.converter(snap)
	symbols := feature.Symbols(ctx, snap, doc)
	if t := s.caps.Standard.TextDocument; t == nil || t.DocumentSymbol == nil || !yes(t.DocumentSymbol.HierarchicalDocumentSymbolSupport) {
		return flatSymbols(conv, doc, symbols, "", protocol.SymbolInformationSlice{}), nil
	}
	return treeSymbols(conv, doc, symbols), nil
}

func treeSymbols(conv *converter, doc *cache.Document, in []feature.Symbol) protocol.DocumentSymbolSlice {
	out := protocol.DocumentSymbolSlice{}
	for _, symbol := range in {
		one := protocol.DocumentSymbol{
			Name: symbolName(symbol), Kind: symbolKind(symbol.Kind),
			Range: conv.spanRange(doc, symbol.Span), SelectionRange: conv.spanRange(doc, symbol.NameSpan),
			Children: treeSymbols(conv, doc, symbol.Children),
		}
		if symbol.Detail != "" {
			one.Detail = ptr(visible(symbol.Detail))
		}
		out = append(out, one)
	}
	return out
}

func flatSymbols(conv *converter, doc *cache.Document, in []feature.Symbol, container string, out protocol.SymbolInformationSlice) protocol.SymbolInformationSlice {
	for _, symbol := range in {
		one := protocol.SymbolInformation{Location: protocol.Location{URI: asURI(doc.URI), Range: conv.spanRange(doc, symbol.Span)}}
		one.Name, one.Kind = symbolName(symbol), symbolKind(symbol.Kind)
		if container != "" {
			one.ContainerName = ptr(container)
		}
		out = flatSymbols(conv, doc, symbol.Children, one.Name, append(out, one))
	}
	return out
}

// symbolName is never empty: clients throw all symbols away over one.
func symbolName(s feature.Symbol) string {
	if s.Name == "" {
		return "(no name)"
	}
	return visible(s.Name)
}

func symbolKind(k feature.Kind) protocol.SymbolKind {
	switch k {
	case feature.Function:
		return protocol.SymbolKindFunction
	case feature.Event:
		return protocol.SymbolKindEvent
	case feature.Constant:
		return protocol.SymbolKindConstant
	case feature.Variable:
		return protocol.SymbolKindVariable
	case feature.Module:
		return protocol.SymbolKindModule
	case feature.Table:
		return protocol.SymbolKindObject
	}
	return protocol.SymbolKindProperty
}

// completionMost is how many items are sent; what is beyond comes when more
// was typed.
const completionMost = 500

func (s *Server) completion(ctx context.Context, raw json.RawMessage) (any, error) {
	snap, doc, offset, err := s.at(ctx, raw)
	if doc == nil || err != nil {
		return nil, err
	}
	items := feature.Completion(ctx, snap, doc, offset)
	list := &protocol.CompletionList{Items: []protocol.CompletionItem{}, IsIncomplete: len(items) > completionMost}
	conv, snippets := s.converter(snap), s.snippets()
	for i, item := range items[:min(len(items), completionMost)] {
		if !snippets {
			item.Snippet = ""
		}
		list.Items = append(list.Items, completionItem(conv, doc, item, i))
	}
	return list, nil
}

func (s *Server) snippets() bool {
	t := s.caps.Standard.TextDocument
	return t != nil && t.Completion != nil && t.Completion.CompletionItem != nil && yes(t.Completion.CompletionItem.SnippetSupport)
}

func completionItem(conv *converter, doc *cache.Document, item feature.Item, i int) protocol.CompletionItem {
	edit := &protocol.TextEdit{Range: conv.spanRange(doc, item.Edit.Span), NewText: item.Edit.NewText}
	out := protocol.CompletionItem{
		Label: visible(item.Label), Kind: completionKind(item.Kind), TextEdit: edit,
		SortText: protocol.NewOptional(fmt.Sprintf("%04d", i)),
	}
	if item.Detail != "" {
		out.Detail = protocol.NewOptional(visible(item.Detail))
	}
	if item.Doc != "" {
		out.Documentation = &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: visible(item.Doc)}
	}
	if item.Snippet != "" {
		edit.NewText, out.InsertTextFormat = item.Snippet, protocol.InsertTextFormatSnippet
	}
	// Where the word that is there begins with a quote, so must what editors
	// hold against it.
	if had := text.Span(item.Edit.Span); had.End > had.Start {
		if q := doc.Source.Text()[had.Start]; q == '"' || q == '\'' {
			out.FilterText = protocol.NewOptional(item.Edit.NewText)
		}
	}
	return out
}

func completionKind(k feature.Kind) protocol.CompletionItemKind {
	switch k {
	case feature.Keyword:
		return protocol.CompletionItemKindKeyword
	case feature.Function:
		return protocol.CompletionItemKindFunction
	case feature.Method:
		return protocol.CompletionItemKindMethod
	case feature.Variable:
		return protocol.CompletionItemKindVariable
	case feature.Constant:
		return protocol.CompletionItemKindConstant
	case feature.Field:
		return protocol.CompletionItemKindField
	case feature.Module, feature.Table:
		return protocol.CompletionItemKindModule
	case feature.Action:
		return protocol.CompletionItemKindEnumMember
	case feature.Key:
		return protocol.CompletionItemKindProperty
	case feature.Event:
		return protocol.CompletionItemKindEvent
	case feature.Stage, feature.Model:
		return protocol.CompletionItemKindReference
	case feature.Tool:
		return protocol.CompletionItemKindFunction
	case feature.File:
		return protocol.CompletionItemKindFile
	}
	return protocol.CompletionItemKindValue
}
