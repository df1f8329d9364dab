package script

import (
	"agent-ls/hooks/syntax"
	"agent-ls/hooks/worker/wire"
)

// accept looks at a text before the engine's parser may: what is nested too
// deep would take the process with it.
func accept(f wire.File) *wire.Bad {
	tree := syntax.Parse(f.Text)
	if len(tree.Errors) == 0 {
		return nil
	}
	e := tree.Errors[0]
	at := tree.Lines.Position(e.Start)
	return &wire.Bad{Message: e.Message, Line: at.Line, Col: at.Column}
}
