package feature

import (
	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/text"
)

func scriptHover(*cache.Snapshot, *cache.Document, int) (Hovered, bool) { return Hovered{}, false }
func scriptCompletion(*cache.Snapshot, *cache.Document, int) []Item     { return nil }
func scriptSymbols(*cache.Snapshot, *cache.Document) []Symbol           { return nil }
func scriptDefinition(*cache.Snapshot, *cache.Document, int) ([]Target, text.Span) {
	return nil, text.Span{}
}
func scriptReferences(*cache.Snapshot, *cache.Document, int, bool) []Target { return nil }
