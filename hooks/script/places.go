package script

import (
	"github.com/risor-io/risor/token"

	"agent-ls/hooks/worker/wire"
)

// place is what the woven code reports at one point of a script.
type place uint8

const (
	nowhere  place = iota
	step           // before a statement or a turn of a loop: counts
	entering       // at the start of a function: one frame more, counts
	leaving        // around a returned value: one frame less
	operand        // around the last operand of something that can fail
)

// places collects the points of a script and its siblings.
type places struct {
	kinds  []place
	points []wire.Point
	names  []string
	index  map[string]int
}

const topLevel = "(top level)"

func newPlaces() *places {
	p := &places{index: map[string]int{}}
	p.add(nowhere, 0, token.Position{}, topLevel)
	return p
}

func (p *places) add(kind place, file int, pos token.Position, function string) int64 {
	name, ok := p.index[function]
	if !ok {
		name = len(p.names)
		p.index[function] = name
		p.names = append(p.names, function)
	}
	p.kinds = append(p.kinds, kind)
	p.points = append(p.points, wire.Point{File: file, Line: pos.LineNumber(), Col: pos.ColumnNumber(), Func: name})
	return int64(len(p.points) - 1)
}
