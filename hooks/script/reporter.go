package script

import (
	"errors"
	"fmt"

	"github.com/risor-io/risor/object"
	"github.com/risor-io/risor/op"

	"agent-ls/hooks/worker/wire"
)

// private is what the globals of ours have in common: no script can name
// them, so that only GetItem is ever called.
type private struct{}

func (private) Type() object.Type                                    { return "private" }
func (private) Inspect() string                                      { return "private" }
func (private) Interface() any                                       { return nil }
func (private) Equals(object.Object) object.Object                   { return object.False }
func (private) GetAttr(string) (object.Object, bool)                 { return nil, false }
func (private) SetAttr(string, object.Object) error                  { return errors.New("private") }
func (private) IsTruthy() bool                                       { return true }
func (private) Cost() int                                            { return 0 }
func (private) Iter() object.Iterator                                { return nil }
func (private) SetItem(_, _ object.Object) *object.Error             { return nil }
func (private) DelItem(object.Object) *object.Error                  { return nil }
func (private) Contains(object.Object) *object.Bool                  { return object.False }
func (private) Len() *object.Int                                     { return object.NewInt(0) }
func (private) GetSlice(object.Slice) (object.Object, *object.Error) { return object.Nil, nil }
func (private) RunOperation(op.BinaryOpType, object.Object) object.Object {
	return object.Nil
}

// stop unwinds the machine when a limit is hit. It is a panic since `try`
// would catch an error; the reporter remembers it as well.
type stop struct{ msg string }

func (s stop) Error() string { return s.msg }

// reporter is where woven code says where it is. It keeps the counts that
// limits bound and the frames that errors name, in the page that the server
// can read after this process is dead.
type reporter struct {
	private
	page      *wire.Page
	marks     []valueMark
	budget    int64
	callDepth int
	stopped   string // the limit that was hit: whatever the script does then
	returned  uint32 // the return that left the outermost function
}

// valueMark is a point around a value.
type valueMark struct {
	private
	r    *reporter
	id   uint32
	kind place
}

func (r *reporter) reset(p *program, budget int64, callDepth int) {
	r.marks = p.marks
	r.budget, r.callDepth = budget, callDepth
	r.stopped, r.returned = "", 0
}

func (r *reporter) halt(msg string) {
	if r.stopped == "" {
		r.stopped = msg
	}
	panic(stop{r.stopped})
}

func (r *reporter) count() {
	if r.stopped != "" {
		panic(stop{r.stopped})
	}
	if r.page.Ops++; r.page.Ops > r.budget {
		r.page.Ops = r.budget
		r.halt(fmt.Sprintf("operation budget of %d exceeded", r.budget))
	}
}

// GetItem is a point that the script has come to.
func (r *reporter) GetItem(key object.Object) (object.Object, *object.Error) {
	m := &r.marks[key.(*object.Int).Value()]
	p := r.page
	switch m.kind {
	case step:
		p.Frames[p.Depth] = m.id
		r.count()
		return object.Nil, nil
	case entering:
		if int(p.Depth) >= r.callDepth {
			r.halt(fmt.Sprintf("call depth of %d exceeded", r.callDepth))
		}
		p.Depth++
		p.Frames[p.Depth] = m.id
		r.count()
		return object.Nil, nil
	}
	return m, nil
}

// GetItem is a value at a point.
func (m *valueMark) GetItem(x object.Object) (object.Object, *object.Error) {
	p := m.r.page
	p.Frames[p.Depth] = m.id
	if m.kind == leaving && p.Depth > 0 {
		if p.Depth == 1 {
			m.r.returned = m.id
		}
		p.Depth--
	}
	return x, nil
}

// orderedMap makes a map of a list of keys and values.
type orderedMap struct{ private }

// GetItem makes the map.
func (orderedMap) GetItem(l object.Object) (object.Object, *object.Error) {
	items := l.(*object.List).Value()
	m := make(map[string]object.Object, len(items)/2)
	for i := 0; i+1 < len(items); i += 2 {
		k, ok := items[i].(*object.String)
		if !ok {
			return nil, object.TypeErrorf("type error: a key of a map is a string, not %s", items[i].Type())
		}
		m[k.Value()] = items[i+1]
	}
	return object.NewMap(m), nil
}

// tryShelter is given the function in whose frame try runs.
type tryShelter struct {
	private
	fn   *object.Function
	args []object.Object // of the try that is about to run
}

// GetItem takes the function.
func (s *tryShelter) GetItem(f object.Object) (object.Object, *object.Error) {
	s.fn, _ = f.(*object.Function)
	return object.Nil, nil
}
