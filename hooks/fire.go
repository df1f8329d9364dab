package hooks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"time"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/worker/pool"
	"agent-ls/hooks/worker/wire"
)

// maxFiring is how long the hooks of one event may take together, waiting for
// answers to hook.decide aside.
const maxFiring = 60 * time.Second

// Fire asks the hooks of one moment in declared order, each with what the one
// before left, and folds what they decide: the handlers of a Bus first, then
// scripts, then commands. It fails closed: when a hook of a gate or transform
// event is broken, the outcome has a Failure and the caller must not go on.
// Without hooks it allocates nothing.
func (s *Set) Fire(ctx context.Context, f Firing) Outcome {
	if !s.Has(f.Stage, f.Event) {
		return Outcome{Action: contract.Allow}
	}
	event := contract.ByName(f.Event)
	fields, err := event.Context(f.Fields, nil)
	if err != nil {
		// The host's own mistake: no hook could have judged this moment.
		failure := &Failure{Kind: Infrastructure, Message: err.Error()}
		if list := s.of(f.Stage, f.Event); len(list) > 0 {
			failure.At = list[0].start
			failure.Message = fmt.Sprintf("%s: %v", at(list[0].start), err)
		}
		return Outcome{Action: contract.Failed, Failure: failure}
	}
	ctx, clock, stop := withClock(ctx, maxFiring)
	defer stop()
	f.Decide = clock.aside(f.Decide)
	fold := newFold(event, fields)
	if out, over := s.fireHandlers(ctx, f, fold); over {
		return out
	}
	if out, over := s.fireScripts(ctx, f, fold); over {
		return out
	}
	if s.commands != nil && strength[fold.action] < strength[contract.Substitute] && s.commands.Has(f.Event) {
		if out, over := fold.rulings(s.commands.Fire(ctx, event, f, fold.ctx)); over {
			return out
		}
	}
	return fold.outcome()
}

func (s *Set) fireHandlers(ctx context.Context, f Firing, fold *fold) (out Outcome, over bool) {
	for _, h := range s.bus.of(f.Event) {
		if s.off != nil && s.off(h.id) {
			continue
		}
		d, v, failed := h.ask(ctx, f, fold.ctx, contract.Caps{Bytes: s.limits.Value})
		if out, over := s.took(fold, h.id, d, v, failed); over {
			return out, true
		}
		if fold.action == contract.Cancel {
			return fold.outcome(), true // nothing beats it, and the run ends
		}
	}
	return Outcome{}, false
}

func (s *Set) fireScripts(ctx context.Context, f Firing, fold *fold) (out Outcome, over bool) {
	for _, h := range s.of(f.Stage, f.Event) {
		if s.off != nil && s.off(h.ID) {
			continue
		}
		d, v, failed := s.ask(ctx, h, f, fold.ctx)
		if out, over := s.took(fold, h.ID, d, v, failed); over {
			return out, true
		}
		if fold.action == contract.Cancel {
			return fold.outcome(), true
		}
	}
	return Outcome{}, false
}

// took takes what one hook decided, or how it failed. over means that the
// event is broken.
func (s *Set) took(fold *fold, id string, d Decision, v contract.Verdict, failed *Failure) (out Outcome, over bool) {
	if failed == nil && v.Action == contract.Modify {
		d.Changes = fold.modify(v.Value)
	}
	fold.decisions = append(fold.decisions, d)
	switch {
	case failed == nil:
		fold.add(id, v)
	case fold.event.Class == contract.Observe:
		s.engine.log.Warn("hook failed", "event", fold.event.Name, "hook", id, "error", failed.Message)
	default:
		return fold.broken(failed), true
	}
	return Outcome{}, false
}

// newDecision begins the record of one hook's answer.
func newDecision(f Firing, fields map[string]any, id string, from Source) Decision {
	d := Decision{ID: newID(), At: f.At, Stage: f.Stage, Event: f.Event, HookID: id, CallID: f.CallID, Hook: from}
	d.RunID, _ = fields["run_id"].(string)
	d.SessionID, _ = fields["session_id"].(string)
	return d
}

// ask fires one hook. The decision is its record, whatever came of it.
func (s *Set) ask(ctx context.Context, h *hook, f Firing, fields map[string]any) (Decision, contract.Verdict, *Failure) {
	given := maps.Clone(fields)
	if state := f.States[h.ID]; state != nil {
		given["state"] = state
	}
	d := newDecision(f, fields, h.ID, Source{At: h.start, Digest: h.sources[0].digest})
	d.Function, d.Record = h.event.Function, &Record{Script: h.Path, At: f.At}
	q := s.request(h, f.At, d.Record.listening(f.Decide))
	q.Ctx = given
	// What is too large the pool refuses; it is encoded here once for both.
	if b, err := wire.AppendValue(nil, given, s.limits.Context); err == nil {
		q.Encoded = b
		if len(b) <= MaxRecordedCtx {
			d.Record.Ctx = b
		}
	}
	value, v, _ := s.put(ctx, h, &q, &d, func() (map[string]any, error) { return given, nil })
	if d.Error == nil || d.Error.Kind == Malformed {
		d.Record.answered(value)
	}
	return d, v, d.Error
}

// request is what a hook is asked with, but for the ctx.
func (s *Set) request(h *hook, at time.Time, decide func(context.Context, string, any) map[string]any) pool.Request {
	return pool.Request{
		Function: h.event.Function, At: at, Time: s.limits.Time, Operations: s.limits.Operations,
		CallDepth: s.limits.CallDepth, Context: s.limits.Context, Value: s.limits.Value, Printed: s.limits.Printed,
		Decide: decide,
	}
}

// put has a worker answer a request and judges the answer. The record says how
// it went; given is the ctx, which only an answer that says something needs.
func (s *Set) put(ctx context.Context, h *hook, q *pool.Request, d *Decision, given func() (map[string]any, error)) (value any, v contract.Verdict, before map[string]any) {
	start := time.Now()
	answer, failure := s.pool.Fire(ctx, h.script, q)
	d.DurationUs = time.Since(start).Microseconds()
	if failure != nil {
		d.Operations, d.Printed = failure.Operations, failure.Printed
		d.failed(h, h.failure(failure))
		return nil, v, nil
	}
	d.Operations, d.Printed = answer.Operations, answer.Printed
	if answer.Cut {
		d.Printed += "…\n"
	}
	if r := answer.Return; r.Line > 0 {
		d.Hook.At, d.Hook.Digest = h.sources[r.File].locate(r.Line, r.Col), h.sources[r.File].digest
	}
	if _, isMap := answer.Value.(map[string]any); isMap {
		var err error
		if before, err = given(); err != nil {
			d.failed(h, &Failure{Kind: Infrastructure, At: h.start, Message: at(h.start) + ": " + err.Error()})
			return nil, v, nil
		}
	}
	v, err := h.event.Judge(answer.Value, before, contract.Caps{Bytes: s.limits.Value})
	if err != nil {
		d.failed(h, malformedAt(d.Hook.At, err.Error()))
		return answer.Value, contract.Verdict{}, before
	}
	d.Action, d.Reason = v.Action.String(), v.Reason
	return answer.Value, v, before
}

// failed makes the record of a hook that is broken. The digest is that of the
// file where it failed, which may be one that the script imports.
func (d *Decision) failed(h *hook, f *Failure) {
	d.Action, d.Error = contract.Failed.String(), f
	if f.At != nil {
		d.Hook.At = f.At
		for _, src := range h.sources {
			if src.path == f.At.Path {
				d.Hook.Digest = src.digest
			}
		}
	}
}

func malformedAt(loc *Location, msg string) *Failure {
	return &Failure{Kind: Malformed, At: loc, Message: at(loc) + ": malformed: " + msg}
}

// failure says in the words of this package why a firing has no answer.
func (h *hook) failure(f *pool.Failure) *Failure {
	out := &Failure{At: h.start}
	if len(f.Stack) > 0 {
		p := f.Stack[0]
		out.At = h.sources[p.File].locate(p.Line, p.Col)
	}
	for _, p := range f.Stack {
		out.Stack = append(out.Stack, p.String())
	}
	switch f.Kind {
	case pool.Limit:
		out.Kind = LimitFailure
	case pool.NotData:
		return malformedAt(out.At, f.Message)
	case pool.Infrastructure:
		out.Kind = Infrastructure
	default:
		out.Kind = ScriptFailure
	}
	out.Message = at(out.At) + ": " + f.Message
	return out
}

func at(l *Location) string {
	return fmt.Sprintf("%s:%d:%d", l.Path, l.Start.Line, l.Start.Column)
}

func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return "hd_" + hex.EncodeToString(b[:])
}
