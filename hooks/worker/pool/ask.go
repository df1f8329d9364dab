package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent-ls/hooks/worker/wire"
)

// asks tells whether a worker's message is a question of its script.
func asks(frame []byte) bool { return len(frame) > 0 && wire.Op(frame[0]) == wire.OpAsk }

// tooManyAsks ends a firing that asks without end.
var tooManyAsks = ending{Limit, fmt.Sprintf("limit of %d questions exceeded", wire.MaxAsks)}

// hear takes a script's question, tells the script what came of it, and waits
// for the worker's next message. left is what the script may still take; the
// wait for the answer takes nothing of it.
func (p *Pool) hear(ctx context.Context, w *process, s *Script, frame []byte, asked int, left time.Duration, q *Request) ([]byte, time.Duration, *Failure) {
	if asked >= wire.MaxAsks {
		w.kill(tooManyAsks)
		return nil, 0, p.lost(w, s, w.seq, "while it ran", errors.New(tooManyAsks.msg))
	}
	r := wire.NewReader(frame)
	r.Byte()
	m, err := wire.ReadAsk(r)
	var schema any
	if err == nil {
		in := wire.NewReader(m.Schema)
		if schema, err = wire.ReadValue(in); err == nil {
			err = in.Done()
		}
	}
	if err != nil {
		return nil, 0, p.garbled(w, err)
	}
	if w.page != nil { // the worker waits: the page stands still
		if frames, _, ok := w.page.Last(s.id, w.seq); ok {
			if places := s.places(w.loaded[s.id], frames); len(places) > 0 {
				q.AskedAt = append(q.AskedAt, places[0])
			}
		}
	}
	answer := w.whileAsked(ctx, q, m.Question, schema)
	if ctx.Err() != nil {
		w.kill(ending{Infrastructure, "cancelled: " + context.Cause(ctx).Error()})
		return nil, 0, p.lost(w, s, w.seq, "while it waited in hook.decide", context.Cause(ctx))
	}
	head := append(w.wbuf[:0], 0, 0, 0, 0)
	b, err := wire.AppendTold(head, answer, q.Context)
	if err != nil {
		// A reason is short, whatever was answered.
		b, _ = wire.AppendTold(head, wire.Unanswered("the answer cannot be handed on: "+wire.Clip(err.Error())), 2*wire.MaxMessage)
	}
	if w.wbuf = b; cap(b) > keepBuffer {
		w.wbuf = nil
	}
	next, left, err := w.timed(ctx, b, left, lateAfter(q.Time))
	if err != nil {
		return nil, 0, p.lost(w, s, w.seq, "while it ran", err)
	}
	return next, left, nil
}

// whileAsked puts the question, and gives up when the worker is gone: nobody
// would hear the answer.
func (w *process) whileAsked(ctx context.Context, q *Request, question string, schema any) map[string]any {
	if q.Decide == nil {
		return wire.Unanswered("nobody can be asked here")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with this question
		select {
		case <-w.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	if answer := q.Decide(ctx, question, schema); answer != nil {
		return answer
	}
	return wire.Unanswered("there is no answer")
}
