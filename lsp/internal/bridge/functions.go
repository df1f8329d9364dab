package bridge

import (
	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
	"agent-ls/lsp/internal/text"
)

// functionRange is where a hook's function is named in the script as the user
// has it now; the script's start when it is not there.
func (b *bridge) functionRange(d hooks.Declaration) Range {
	event := contract.ByName(d.Event)
	src := b.files.source(d.Path)
	if event == nil || src == nil {
		return Range{}
	}
	for _, stmt := range syntax.Parse([]byte(src.Text())).Statements {
		expr, ok := stmt.(*syntax.ExprStmt)
		if !ok {
			continue
		}
		if fn, ok := expr.X.(*syntax.Func); ok && fn.Name != nil && fn.Name.Name == event.Function {
			r := src.SpanRange(b.host.Workspace.Encoding(), text.Span(fn.Name.Span))
			return Range{Position(r.Start), Position(r.End)}
		}
	}
	return Range{}
}
