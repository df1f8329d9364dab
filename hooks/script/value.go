package script

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/risor-io/risor/object"

	"agent-ls/hooks/worker/wire"
)

// readObject reads a value as the script's own kinds, with no Go value
// between.
func readObject(r *wire.Reader, depth int, nodes *int) object.Object {
	if !wire.Enter(r, depth, nodes) {
		return object.Nil
	}
	switch t := wire.Tag(r.Byte()); t {
	case wire.Nil:
		return object.Nil
	case wire.False:
		return object.False
	case wire.True:
		return object.True
	case wire.Int:
		return object.NewInt(r.Int())
	case wire.Float:
		return object.NewFloat(math.Float64frombits(r.Uint64()))
	case wire.String:
		return object.NewString(r.Text(wire.MaxFrame))
	case wire.List:
		n := r.Count(wire.MaxNodes)
		items := make([]object.Object, 0, n)
		for i := 0; i < n && r.Err() == nil; i++ {
			items = append(items, readObject(r, depth+1, nodes))
		}
		return object.NewList(items)
	case wire.Map:
		n := r.Count(wire.MaxNodes)
		items := make(map[string]object.Object, min(n, 1024))
		for i := 0; i < n && r.Err() == nil; i++ {
			k := r.Text(wire.MaxFrame)
			items[k] = readObject(r, depth+1, nodes)
		}
		return object.NewMap(items)
	default:
		r.Fail(fmt.Errorf("no value starts with the byte %d", t))
		return object.Nil
	}
}

// gate lets plain data out of a script, and nothing else.
type gate struct {
	b     []byte
	end   int
	limit int64
	nodes int
	path  [wire.MaxDepth]object.Object // the lists and maps around
}

// appendObject adds what a script returned, at most limit bytes.
func appendObject(b []byte, o object.Object, limit int64) ([]byte, error) {
	g := gate{b: b, end: len(b) + int(limit), limit: limit}
	err := g.put(o, 0)
	return g.b, err
}

func (g *gate) put(o object.Object, depth int) error {
	if g.nodes++; g.nodes > wire.MaxNodes {
		return fmt.Errorf("value %w", wire.ErrNodes)
	}
	switch o := o.(type) {
	case nil, *object.NilType:
		g.b = append(g.b, byte(wire.Nil))
	case *object.Bool:
		t := wire.False
		if o.Value() {
			t = wire.True
		}
		g.b = append(g.b, byte(t))
	case *object.Int:
		g.b = binary.AppendVarint(append(g.b, byte(wire.Int)), o.Value())
	case *object.Byte:
		g.b = binary.AppendVarint(append(g.b, byte(wire.Int)), int64(o.Value()))
	case *object.Float:
		f := o.Value()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return errors.New("value has a number in it that is not finite")
		}
		g.b = binary.LittleEndian.AppendUint64(append(g.b, byte(wire.Float)), math.Float64bits(f))
	case *object.String:
		return g.text(append(g.b, byte(wire.String)), o.Value())
	case *object.List:
		if err := g.enter(o, depth); err != nil {
			return err
		}
		items := o.Value()
		g.b = binary.AppendUvarint(append(g.b, byte(wire.List)), uint64(len(items)))
		for _, x := range items {
			if err := g.put(x, depth+1); err != nil {
				return err
			}
		}
	case *object.Map:
		if err := g.enter(o, depth); err != nil {
			return err
		}
		m := o.Value()
		g.b = binary.AppendUvarint(append(g.b, byte(wire.Map)), uint64(len(m)))
		for k, x := range m {
			if err := g.text(g.b, k); err != nil {
				return err
			}
			if err := g.put(x, depth+1); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("value is or has in it a %s, which is not plain data", o.Type())
	}
	return g.fits(0)
}

func (g *gate) fits(more int) error {
	if len(g.b)+more > g.end {
		return fmt.Errorf("value is %w", wire.ErrSize(g.limit))
	}
	return nil
}

func (g *gate) text(b []byte, s string) error {
	g.b = b
	if err := g.fits(len(s)); err != nil {
		return err
	}
	g.b = wire.AppendText(g.b, s)
	return nil
}

func (g *gate) enter(o object.Object, depth int) error {
	for _, outer := range g.path[:depth] {
		if outer == o {
			return fmt.Errorf("value %w", wire.ErrCycle)
		}
	}
	if depth == len(g.path)-1 {
		return fmt.Errorf("value is %w", wire.ErrDeep)
	}
	g.path[depth] = o
	return nil
}
