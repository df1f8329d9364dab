package hooks

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/worker/pool"
)

// Function is a plain function of a script: no event fires it and it decides
// nothing, it answers a question with a value. It runs in a worker, within the
// limits of a firing. It is safe for use by several goroutines.
type Function struct {
	hook   *hook
	pool   *pool.Pool
	limits Limits
}

// LoadFunction reads, checks and compiles the script of a declaration for one
// function of it that takes one parameter. The declaration's Event is not
// looked at. What is wrong is in the findings, as with Load; with a finding of
// severity error there is no function.
func (e *Engine) LoadFunction(ctx context.Context, d Declaration, function string, limits Limits) (*Function, []check.Finding, error) {
	l := loading{engine: e, read: e.readFile, limits: limits.filled(), seen: map[string]bool{}}
	p, err := e.pool(l.limits)
	if err != nil {
		return nil, nil, err
	}
	d.Event = ""
	h := &hook{Declaration: d, event: &contract.Event{Function: function}}
	if h.Text == nil {
		text, err := e.readFile(d.Path)
		if err != nil {
			span := check.Span{Start: d.Declared.Start.Offset, End: d.Declared.End.Offset}
			l.add(check.NewFinding(check.CodeMissingFile, d.Declared.Path, span, fmt.Sprintf("the script cannot be read: %v", err)))
			return nil, l.findings, nil
		}
		h.Text = append([]byte{}, text...)
	}
	u := l.gather(h)
	h.Siblings = map[string][]byte{}
	for _, f := range u.files[1:] {
		h.Siblings[f.Path] = bytes.Clone(f.Text)
	}
	h.sources, u.hooks = u.sources, []*hook{h}
	if err := l.compile(ctx, p, u); err != nil {
		return nil, l.sorted(), err
	}
	found := l.sorted()
	if slices.ContainsFunc(found, func(f check.Finding) bool { return f.Severity == check.Error }) {
		return nil, found, nil
	}
	return &Function{hook: h, pool: p, limits: l.limits}, found, nil
}

// Declaration is what the function was loaded from, every text filled in.
func (f *Function) Declaration() Declaration { return f.hook.Declaration }

// Call calls the function with plain data and gives what it returned, plain
// data too. at is the clock that the script sees. A failure names the place.
func (f *Function) Call(ctx context.Context, argument any, at time.Time) (any, *Failure) {
	answer, failure := f.pool.Fire(ctx, f.hook.script, &pool.Request{
		Function: f.hook.event.Function, Ctx: argument, At: at, Time: f.limits.Time, Operations: f.limits.Operations,
		CallDepth: f.limits.CallDepth, Context: f.limits.Context, Value: f.limits.Value, Printed: f.limits.Printed,
	})
	if failure != nil {
		return nil, f.hook.failure(failure)
	}
	return answer.Value, nil
}
