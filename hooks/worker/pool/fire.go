package pool

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"agent-ls/hooks/worker/wire"
)

// Script is a script and its siblings as workers get them. Make it once and
// keep it: a worker that has seen it does not get it again.
type Script struct {
	Files []wire.File // the first one is the script
	id    uint32
}

var scripts atomic.Uint32

// NewScript names a script for the workers. The files must not change.
func NewScript(files []wire.File) *Script {
	return &Script{Files: files, id: scripts.Add(1)}
}

// places tells where the frames are, innermost first. All of it comes from a
// worker: a point that is not there is left out.
func (s *Script) places(r wire.Ready, frames []uint32) []Place {
	var out []Place
	for i := len(frames) - 1; i >= 0; i-- {
		if p, ok := s.place(r, frames[i]); ok {
			out = append(out, p)
		}
	}
	return out
}

func (s *Script) place(r wire.Ready, point uint32) (Place, bool) {
	if point == 0 || int(point) >= len(r.Points) {
		return Place{}, false
	}
	p := r.Points[point]
	if p.File >= len(s.Files) || p.Line == 0 {
		return Place{}, false
	}
	return Place{Path: s.Files[p.File].Path, File: p.File, Line: p.Line, Col: p.Col, Function: r.Names[p.Func]}, true
}

// Request is one call of a script's function.
type Request struct {
	Function   string
	Ctx        any
	Encoded    []byte    // Ctx as wire.AppendValue writes it; nil: the pool writes it
	At         time.Time // the script's clock
	Time       time.Duration
	Operations int64
	CallDepth  int
	Context    int64 // bytes of Ctx
	Value      int64 // bytes of the answer
	Printed    int64 // bytes
	// Decide answers hook.decide with a map of ok, reason, answers and usage.
	// It is called on the goroutine of Fire, must return soon after its
	// context ends, and its time is not the script's. Nil where nobody can be
	// asked.
	Decide func(ctx context.Context, question string, schema any) map[string]any
	// AskedAt is filled in by Fire: the places of the questions, where they
	// are known.
	AskedAt []Place
}

// Answer is what a function returned.
type Answer struct {
	Value      any   // plain data
	Return     Place // the return that it came from; Line is 0 where that is not known
	Operations int64
	Printed    string
	Cut        bool // more was printed than Request.Printed
}

// Load has a worker compile the script, within the time. It gives what the
// script defines.
func (p *Pool) Load(ctx context.Context, s *Script, limit time.Duration) ([]wire.Function, *Failure) {
	w, err := p.acquire(ctx)
	if err != nil {
		return nil, &Failure{Kind: Infrastructure, Message: err.Error()}
	}
	defer p.release(w)
	if f := p.load(ctx, w, s, limit); f != nil {
		return nil, f
	}
	return w.loaded[s.id].Functions, nil
}

func (p *Pool) load(ctx context.Context, w *process, s *Script, limit time.Duration) *Failure {
	if _, ok := w.loaded[s.id]; ok {
		return nil
	}
	l := wire.Load{ID: s.id, Files: s.Files}
	w.wbuf = l.Append(append(w.wbuf[:0], 0, 0, 0, 0))
	frame, err := w.exchange(ctx, w.wbuf, limit, lateAfter(limit))
	if cap(w.wbuf) > keepBuffer {
		w.wbuf = nil
	}
	if err != nil {
		return p.lost(w, s, 0, "while it was compiled", err)
	}
	r := wire.NewReader(frame)
	switch op := wire.Op(r.Byte()); op {
	case wire.OpReady:
		ready, err := wire.ReadReady(r)
		if err != nil {
			return p.garbled(w, err)
		}
		w.loaded[s.id] = ready
		if len(w.loaded) >= maxLoaded {
			w.worn = true
		}
		return nil
	case wire.OpBad:
		bad, err := wire.ReadBad(r)
		if err != nil || bad.File >= len(s.Files) {
			return p.garbled(w, err)
		}
		at := Place{Path: s.Files[bad.File].Path, File: bad.File, Line: bad.Line, Col: bad.Col}
		return &Failure{Kind: DoesNotCompile, Message: bad.Message, Stack: []Place{at}}
	default:
		return p.garbled(w, fmt.Errorf("it answers a load with %q", byte(op)))
	}
}

// Fire calls a function of the script in a worker of its own for that time.
func (p *Pool) Fire(ctx context.Context, s *Script, q *Request) (Answer, *Failure) {
	p.firings.Add(1)
	for again := false; ; again = true {
		w, err := p.acquire(ctx)
		if err != nil {
			return Answer{}, &Failure{Kind: Infrastructure, Message: err.Error()}
		}
		a, f, begun := p.fire(ctx, w, s, q)
		p.release(w)
		// A worker that somebody killed before it had begun did nothing.
		if f != nil && f.Kind == Infrastructure && !begun && !again && ctx.Err() == nil {
			continue
		}
		return a, f
	}
}

func (p *Pool) fire(ctx context.Context, w *process, s *Script, q *Request) (a Answer, f *Failure, begun bool) {
	start := time.Now()
	if f := p.load(ctx, w, s, q.Time); f != nil {
		return a, f, false
	}
	w.seq++
	m := wire.Fire{ID: s.id, Seq: w.seq, Function: q.Function, Operations: q.Operations, CallDepth: q.CallDepth,
		Printed: q.Printed, Value: q.Value, At: q.At.UnixNano()}
	b, err := m.AppendHead(append(w.wbuf[:0], 0, 0, 0, 0)), error(nil)
	switch {
	case q.Encoded == nil:
		b, err = wire.AppendValue(b, q.Ctx, q.Context)
	case int64(len(q.Encoded)) > q.Context:
		err = wire.ErrSize(q.Context)
	default:
		b = append(b, q.Encoded...)
	}
	if w.wbuf = b; cap(b) > keepBuffer {
		w.wbuf = nil
	}
	if err != nil {
		return a, &Failure{Kind: Limit, Message: "ctx is " + err.Error()}, true
	}
	// What compiling took counts as well.
	left := max(q.Time-time.Since(start), time.Millisecond)
	frame, left, err := w.timed(ctx, b, left, lateAfter(q.Time))
	if err != nil {
		begun := true
		if w.page != nil && w.killed.Load() == nil {
			<-w.done
			_, _, begun = w.page.Last(s.id, w.seq)
		}
		return a, p.lost(w, s, w.seq, "while it ran", err), begun
	}
	for asked := 0; asks(frame); asked++ {
		if frame, left, f = p.hear(ctx, w, s, frame, asked, left, q); f != nil {
			return a, f, true
		}
	}
	a, f = p.judge(w, s, frame, q)
	return a, f, true
}

// judge reads the reply to a firing.
func (p *Pool) judge(w *process, s *Script, frame []byte, q *Request) (Answer, *Failure) {
	r := wire.NewReader(frame)
	if op := wire.Op(r.Byte()); op != wire.OpReply {
		return Answer{}, p.garbled(w, fmt.Errorf("it answers a firing with %q", byte(op)))
	}
	m, err := wire.ReadReply(r)
	if err != nil {
		return Answer{}, p.garbled(w, err)
	}
	if int64(len(m.Printed)) > q.Printed {
		return Answer{}, p.garbled(w, fmt.Errorf("it sends %d bytes of printed text", len(m.Printed)))
	}
	w.worn = w.worn || m.Grown
	ready := w.loaded[s.id]
	if m.Ending == wire.Returned {
		v := wire.NewReader(m.Value)
		a := Answer{Operations: m.Ops, Printed: m.Printed, Cut: m.Cut}
		a.Value, err = wire.ReadValue(v)
		if err == nil {
			err = v.Done()
		}
		if err != nil {
			return Answer{}, p.garbled(w, err)
		}
		a.Return, _ = s.place(ready, m.Return)
		return a, nil
	}
	f := &Failure{Message: m.Message, Stack: s.places(ready, m.Frames), Operations: m.Ops, Printed: m.Printed}
	switch m.Ending {
	case wire.Limited:
		f.Kind = Limit
	case wire.NotData:
		f.Kind = NotData
	default:
		f.Kind = Threw
	}
	return Answer{}, f
}

// lost is the failure of a request whose worker is gone, or must go.
func (p *Pool) lost(w *process, s *Script, seq uint32, doing string, err error) *Failure {
	w.worn = true
	// The pipe breaks a moment before the process is gone. One that lives on
	// has closed its end, which no worker of ours does.
	select {
	case <-w.done:
	case <-time.After(time.Second):
		w.kill(ending{Infrastructure, "the script worker does not talk any more: " + err.Error()})
	}
	if k := w.killed.Load(); k != nil {
		p.killed.Add(1)
	}
	return w.death(s, seq, p.options, doing)
}

// garbled is the failure of a request to which no worker of ours says this.
func (p *Pool) garbled(w *process, err error) *Failure {
	w.worn = true
	w.kill(ending{Infrastructure, "garbled"})
	p.killed.Add(1)
	return &Failure{Kind: Infrastructure, Message: fmt.Sprintf("the script worker sends what cannot be read: %v", err)}
}
