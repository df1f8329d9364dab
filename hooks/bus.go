package hooks

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/event"
)

// Answer is what a Go handler decides. The zero value allows.
type Answer struct {
	Action  contract.Action // NoAction is Allow
	Reason  string
	Value   any      // Modify, Substitute: plain data
	IsError bool     // Substitute
	Calls   []string // Deny on a batch: the ids; none means all of it
	// State, if not nil, is what the handler's next firing in the run finds
	// in the event's State.
	State map[string]any
}

// Bus holds the hooks of a program that embeds the agent. Its handlers are
// asked in the order of their registration, before scripts and commands, and
// are judged by the same contract: an answer that the event does not honour
// makes the handler a broken one, and so does an error or a panic. A broken
// handler of a gate or transform ends the run. It is safe for use by several
// goroutines; a handler may be called by several at once.
type Bus struct {
	mu       sync.RWMutex // guards handlers; a published list is never changed
	handlers map[string][]*handler
}

type handler struct {
	id, name string
	event    *contract.Event
	call     func(context.Context, map[string]any) (Answer, error)
}

// On registers a handler of the event that E is the ctx of. name tells people
// which handler decided. The event that a handler gets is its own copy:
// changing it changes nothing.
func On[E any, P interface {
	*E
	event.Event
}](b *Bus, name string, h func(context.Context, P) (Answer, error)) {
	b.add(P(new(E)).EventName(), name, func(ctx context.Context, fields map[string]any) (Answer, error) {
		e := P(new(E))
		if err := event.Decode(fields, e); err != nil {
			return Answer{}, fmt.Errorf("read the ctx: %w", err)
		}
		return h(ctx, e)
	})
}

// Interceptors are the names under which zidane's extensions know two events.
var interceptors = map[string]string{"tool.call": "tool:gate", "tool.result": "tool:transform"}

// Handle registers a handler by the event's name, or by the name of an
// interceptor: tool.call is tool:gate and tool.result is tool:transform. It
// gets ctx as scripts do. An unknown name is an error.
func (b *Bus) Handle(eventName, name string, h func(context.Context, map[string]any) (Answer, error)) error {
	if of, ok := interceptors[eventName]; ok {
		eventName = of
	}
	if contract.ByName(eventName) == nil {
		return fmt.Errorf("there is no event %q%s", eventName, contract.DidYouMean(eventName, eventNames()))
	}
	b.add(eventName, name, h)
	return nil
}

func (b *Bus) add(eventName, name string, call func(context.Context, map[string]any) (Answer, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handlers == nil {
		b.handlers = map[string][]*handler{}
	}
	list := slices.Clone(b.handlers[eventName])
	h := &handler{id: fmt.Sprintf("go.%s.%d", eventName, len(list)), name: name, event: contract.ByName(eventName), call: call}
	b.handlers[eventName] = append(list, h)
}

func (b *Bus) of(eventName string) []*handler {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.handlers[eventName]
}

// Registered tells of the handlers by event, in their order: id and name.
func (b *Bus) Registered() []Registration {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []Registration
	for _, e := range contract.Events() {
		for _, h := range b.handlers[e.Name] {
			out = append(out, Registration{ID: h.id, Event: e.Name, Name: h.name})
		}
	}
	return out
}

// Registration is one handler of a Bus.
type Registration struct{ ID, Event, Name string }

// ask calls one handler and judges its answer.
func (h *handler) ask(ctx context.Context, f Firing, fields map[string]any, caps contract.Caps) (Decision, contract.Verdict, *Failure) {
	given := copied(fields).(map[string]any)
	if state := f.States[h.id]; state != nil {
		given["state"] = state
	}
	d := newDecision(f, fields, h.id, Source{Go: h.name})
	start := time.Now()
	answer, err := h.guarded(ctx, given)
	d.DurationUs = time.Since(start).Microseconds()
	failed := func(kind FailureKind, err error) (Decision, contract.Verdict, *Failure) {
		d.Action, d.Error = contract.Failed.String(), &Failure{Kind: kind, Message: fmt.Sprintf("handler %s of %s: %v", h.name, h.event.Name, err)}
		return d, contract.Verdict{}, d.Error
	}
	if err != nil {
		return failed(ScriptFailure, err)
	}
	v, err := h.event.Judge(answer.plain(), given, caps)
	if err != nil {
		return failed(Malformed, err)
	}
	d.Action, d.Reason = v.Action.String(), v.Reason
	return d, v, nil
}

// guarded turns a panic into an error, so that no handler takes the host down.
// One that does not come back is left to itself when ctx ends.
func (h *handler) guarded(ctx context.Context, fields map[string]any) (Answer, error) {
	type result struct {
		answer Answer
		err    error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if what := recover(); what != nil {
				r.err = fmt.Errorf("panic: %v\n%s", what, debug.Stack())
			}
			done <- r
		}()
		r.answer, r.err = h.call(ctx, fields)
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return Answer{}, errors.New("it did not answer in time")
	}
}

// copied gives a handler data of its own.
func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = copied(e)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = copied(e)
		}
		return list
	}
	return v
}

// plain is the answer as a script would give it.
func (a Answer) plain() any {
	m := map[string]any{"action": contract.Allow.String()}
	if a.Action != contract.NoAction {
		m["action"] = a.Action.String()
	}
	if a.Reason != "" {
		m["reason"] = a.Reason
	}
	if a.Action == contract.Modify || a.Action == contract.Substitute || a.Value != nil {
		m["value"] = a.Value
	}
	if a.IsError {
		m["is_error"] = true
	}
	if len(a.Calls) > 0 {
		calls := make([]any, len(a.Calls))
		for i, c := range a.Calls {
			calls[i] = c
		}
		m["calls"] = calls
	}
	if a.State != nil {
		m["state"] = a.State
	}
	return m
}
