package script

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/risor-io/risor/object"

	"agent-ls/hooks/worker/wire"
)

// Fire calls a function of a loaded script and appends the reply. Each firing
// has a clean machine: nothing is left over from the one before. grown says, at
// the end, whether the process should be replaced.
func (r *Runtime) Fire(f wire.Fire, out []byte, grown func() bool) []byte {
	r.page.Begin(f.ID, f.Seq)
	r.at = time.Unix(0, f.At).UTC()
	r.printed.Reset()
	r.printLimit, r.cut = f.Printed, false
	r.shelter.fn = nil

	var m wire.Reply
	value, err := r.run(f)
	m.Ops = r.page.Ops
	m.Return = r.reporter.returned
	m.Printed, m.Cut = r.printed.String(), r.cut
	switch {
	case r.reporter.stopped != "":
		m.Ending, m.Message = wire.Limited, r.reporter.stopped
	case err != nil:
		m.Ending, m.Message = threw(err)
	default:
		m.Ending = wire.Returned
	}
	if m.Ending != wire.Returned {
		m.Frames = r.frames()
		m.Grown = grown()
		return m.AppendHead(out)
	}
	// The value is written behind a head that is almost always right.
	start := len(out)
	m.Grown = grown()
	out, err = appendObject(m.AppendHead(out), value, f.Value)
	if err != nil {
		m.Ending, m.Message = wire.NotData, err.Error()
		m.Frames = []uint32{m.Return}
		out = m.AppendHead(out[:start])
	}
	return out
}

// Rest does, while nobody waits, what the next firing would have to do first.
func (r *Runtime) Rest() { r.arena.clear() }

// frames are the points of the functions that are open, outermost first.
func (r *Runtime) frames() []uint32 {
	n := min(int(r.page.Depth)+1, wire.MaxFrames)
	return append([]uint32(nil), r.page.Frames[:n]...)
}

func (r *Runtime) run(f wire.Fire) (object.Object, error) {
	p, ok := r.programs[f.ID]
	if !ok {
		return nil, fmt.Errorf("script %d is not loaded", f.ID)
	}
	in := wire.NewReader(f.Ctx)
	nodes := 0
	arg := readObject(in, 0, &nodes)
	if err := in.Done(); err != nil {
		return nil, fmt.Errorf("ctx: %w", err)
	}
	r.reporter.reset(p, f.Operations, f.CallDepth)
	machine := r.arena.take(p, &importer{siblings: p.siblings})
	// Never a context that can end: a late end would halt the next run.
	ctx := context.Background()
	if err := machine.Run(ctx); err != nil {
		return nil, err
	}
	found, err := machine.Get(f.Function)
	if err != nil {
		return nil, fmt.Errorf("function %s is not defined", f.Function)
	}
	fn, ok := found.(*object.Function)
	if !ok {
		return nil, fmt.Errorf("%s is a %s, not a function", f.Function, found.Type())
	}
	return machine.Call(ctx, fn, []object.Object{arg})
}

// threw tells a limit of the engine's own from what a script threw.
func threw(err error) (wire.Ending, string) {
	msg := err.Error()
	panicked, ok := strings.CutPrefix(msg, "panic: ")
	if !ok {
		return wire.Threw, msg
	}
	if strings.Contains(panicked, "index out of range [1024]") {
		return wire.Limited, "too much nested or too many values at once for the script engine"
	}
	return wire.Threw, plainPanic(panicked)
}

// plainPanic says in a script's terms what the engine ran into.
func plainPanic(msg string) string {
	for _, known := range []struct{ in, out string }{
		{"integer divide by zero", "division by zero"},
		{"negative shift amount", "shift by a negative number"},
		{"makeslice", "size out of range"},
		{"cap out of range", "size out of range"},
		{"strings: negative Repeat count", "negative count"},
		{"strings: Repeat output length overflow", "size out of range"},
		{"bytes.Buffer: too large", "size out of range"},
	} {
		if strings.Contains(msg, known.in) {
			return known.out
		}
	}
	return "error in the script engine: " + msg
}
