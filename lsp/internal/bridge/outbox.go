package bridge

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"agent-ls/loop/report"
	"agent-ls/lsp/internal/server"
)

const (
	// joinInterval is the least time between two transient events of one run
	// and type.
	joinInterval = 50 * time.Millisecond
	// maxQueued bounds the notifications that wait for a client that does not
	// read. Over it they are dropped: a client sees the gap in seq and asks
	// agent/events.
	maxQueued = 16384
	// maxJoined bounds the text of one joined event, in bytes; its head goes.
	maxJoined = 256 << 10
)

// outbox sends notifications in the order in which they were put in, from one
// goroutine, so that a run never waits for the editor to read.
type outbox struct {
	client server.Client
	log    *slog.Logger
	ctx    context.Context
	done   chan struct{} // closed when the sending goroutine has ended

	limit int // notifications that may wait

	mu      sync.Mutex
	queue   []item
	wake    chan struct{} // of capacity 1: something is in the queue
	streams map[string]*stream
	dropped int
	closed  bool
}

// item is a notification, or a mark that somebody waits for.
type item struct {
	method string
	params json.RawMessage
	mark   chan struct{}
}

// stream joins the transient events of one run.
type stream struct {
	pending []report.Event
	sent    time.Time // when the last ones went out
	timer   *time.Timer
	render  func(report.Event) Event
}

func newOutbox(ctx context.Context, client server.Client, log *slog.Logger) *outbox {
	o := &outbox{
		client: client, log: log, ctx: ctx, limit: maxQueued,
		wake: make(chan struct{}, 1), done: make(chan struct{}), streams: map[string]*stream{},
	}
	go o.send()
	return o
}

// send owns the client's notifications until the connection ends.
func (o *outbox) send() {
	defer close(o.done)
	for {
		select {
		case <-o.ctx.Done():
			return
		case <-o.wake:
		}
		for {
			o.mu.Lock()
			batch := o.queue
			o.queue = nil
			o.mu.Unlock()
			if len(batch) == 0 {
				break
			}
			for _, it := range batch {
				if it.mark != nil {
					close(it.mark)
					continue
				}
				if err := o.client.Notify(o.ctx, it.method, it.params); err != nil && o.ctx.Err() == nil {
					o.log.Warn("telling the editor", "method", it.method, "err", err)
				}
			}
		}
	}
}

// close waits for the sending goroutine; the context must have ended.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	for _, s := range o.streams {
		if s.timer != nil {
			s.timer.Stop()
		}
	}
	o.mu.Unlock()
	<-o.done
}

// notify puts a notification at the end of the queue.
func (o *outbox) notify(method string, params any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.push(method, params)
}

// push is notify for a caller that holds mu. A method that the client did not
// declare is not sent.
func (o *outbox) push(method string, params any) {
	if !declared(o.client.Capabilities(), method) {
		return
	}
	raw, err := json.Marshal(params)
	if err != nil {
		o.log.Error("encoding a notification", "method", method, "err", err)
		return
	}
	if len(o.queue) >= o.limit {
		if o.dropped++; o.dropped == 1 {
			o.log.Warn("the editor does not read: notifications are dropped", "method", method)
		}
		return
	}
	o.put(item{method: method, params: raw})
}

func (o *outbox) put(it item) {
	if o.closed {
		if it.mark != nil {
			close(it.mark)
		}
		return
	}
	o.queue = append(o.queue, it)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// flush waits until everything that was put in before has been sent, so that
// a request which follows arrives after it.
func (o *outbox) flush(ctx context.Context) {
	mark := make(chan struct{})
	o.mu.Lock()
	o.put(item{mark: mark})
	o.mu.Unlock()
	select {
	case <-mark:
	case <-ctx.Done():
	case <-o.ctx.Done():
	}
}

// event sends an event. Transient ones are joined: at most one of each type
// and run goes out per joinInterval, and whatever is joined goes out before
// the next kept event of its run, so that the order holds.
func (o *outbox) event(e report.Event, render func(report.Event) Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.streams[e.RunID]
	if e.Seq != 0 {
		if s != nil {
			if e.Type == report.Message {
				s.pending = withoutText(s.pending) // the message has the whole text
			}
			o.release(s)
			if e.Type == report.RunFinished {
				delete(o.streams, e.RunID)
			}
		}
		o.push(methodEvent, render(e))
		return
	}
	if s == nil {
		s = &stream{}
		o.streams[e.RunID] = s
	}
	s.render = render
	s.join(e)
	if s.timer != nil {
		return
	}
	wait := joinInterval - time.Since(s.sent)
	if wait <= 0 {
		o.release(s)
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(wait, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if s.timer == timer { // else it was released while this waited for the lock
			o.release(s)
		}
	})
	s.timer = timer
}

// join adds a transient event to what waits. Text is appended to the last
// event of its type, a tool's tail replaces the one before.
func (s *stream) join(e report.Event) {
	for i := len(s.pending) - 1; i >= 0; i-- {
		last := &s.pending[i]
		if last.Type != e.Type || last.CallID != e.CallID {
			if e.Type == report.ToolOutput {
				continue // other calls run beside it
			}
			break
		}
		if e.Type == report.ToolOutput {
			*last = e
		} else {
			last.Text = tail(last.Text+e.Text, maxJoined)
		}
		return
	}
	s.pending = append(s.pending, e)
}

// release sends what waits. The caller holds mu.
func (o *outbox) release(s *stream) {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if len(s.pending) == 0 {
		return
	}
	for _, e := range s.pending {
		o.push(methodEvent, s.render(e))
	}
	s.pending, s.sent = nil, time.Now()
}

func withoutText(events []report.Event) []report.Event {
	kept := events[:0]
	for _, e := range events {
		if e.Type != report.TextDelta {
			kept = append(kept, e)
		}
	}
	return kept
}

// tail is the end of a text, at most n bytes, cut at a character.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := len(s) - n
	for cut < len(s) && s[cut]&0xC0 == 0x80 {
		cut++
	}
	return s[cut:]
}
