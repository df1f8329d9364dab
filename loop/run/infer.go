package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/model"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// modelChain is a run's model and what stands behind it. Only the goroutine
// that asks a model changes it, and there is one at a time.
type modelChain struct {
	names []string
	open  func(name string) (loop.Model, error)
	at    int
	model loop.Model // names[at], once opened
}

// chain opens the run's model. Its fallbacks are opened when they are needed.
func (s *Service) chain(cfg *manifest.Config, name, agentPath string, said map[string]bool) (*modelChain, []finding) {
	m, known := cfg.Models[name]
	if !known {
		return nil, nil // said already
	}
	c := &modelChain{names: []string{name}, open: func(n string) (loop.Model, error) {
		m, known := cfg.Models[n]
		if !known {
			return nil, fmt.Errorf("unknown model %q", n)
		}
		return s.opt.OpenModel(m)
	}}
	for _, f := range m.Fallback {
		if !slices.Contains(c.names, f) {
			c.names = append(c.names, f)
		}
	}
	if found := unpriced(cfg, c.names, agentPath); len(found) > 0 {
		return nil, found
	}
	first, err := c.open(name)
	if err != nil && m.Script != "" && said[m.Script] {
		return nil, nil // the script's own findings say it
	}
	if err != nil {
		return nil, []finding{cannot(agentPath, fmt.Sprintf("model %q cannot be used: %v", name, err))}
	}
	c.model = first
	return c, nil
}

// unpriced finds models of the chain whose cost nobody knows, where the cost
// of the run is limited: the limit would never be reached.
func unpriced(cfg *manifest.Config, names []string, agentPath string) []finding {
	var found []finding
	for _, n := range names {
		m, known := cfg.Models[n]
		if cfg.Limits.Cost <= 0 || !known || model.Priced(m) {
			continue
		}
		found = append(found, cannot(agentPath, fmt.Sprintf(
			"limits.cost is %v, and what model %q costs is not known, so the limit would never hold: set its `price`, in [models.%s] of the user's config, or take limits.cost out", cfg.Limits.Cost, n, n)))
	}
	return found
}

func (c *modelChain) current() string { return c.names[c.at] }

// next goes on to the next model that can be opened.
func (c *modelChain) next() (loop.Model, error) {
	var errs []error
	for c.at+1 < len(c.names) {
		c.at++
		opened, err := c.open(c.current())
		if err == nil {
			c.model = opened
			return opened, nil
		}
		errs = append(errs, fmt.Errorf("model %q cannot be used: %w", c.current(), err))
	}
	return nil, errors.Join(errs...)
}

// infer asks for one answer: retries what may be retried, goes on to the next
// model when one fails for good, and posts the answer or the failure.
func (r *activeRun) infer(ctx context.Context, step int64, s loop.State) {
	r.gear.servers.refresh()
	if !r.listSkills(ctx, &s) {
		return
	}
	if err := r.useModel(&s); err != nil {
		r.post(posted{event: loop.Event{Kind: loop.ModelFailed, Step: step, Error: err.Error()}})
		return
	}
	chain := r.gear.models
	for {
		q := asking{run: r, step: step, state: s, model: chain.model, name: chain.current()}
		answer, err := q.attempts(ctx)
		s = q.state
		if ctx.Err() != nil || errors.Is(err, errHookFailed) {
			return
		}
		if err == nil {
			r.noteCut(chain.current(), answer)
			r.post(posted{event: r.answeredBy(step, chain.current(), answer)})
			return
		}
		failed := chain.current()
		var modelErr *loop.ModelError
		if errors.As(err, &modelErr) && modelErr.Class == loop.RehearsalFailure || chain.at+1 >= len(chain.names) {
			r.post(posted{event: loop.Event{Kind: loop.ModelFailed, Step: step, Error: fmt.Sprintf("model %q: %v", failed, err)}})
			return
		}
		if _, nextErr := chain.next(); nextErr != nil {
			r.post(posted{event: loop.Event{Kind: loop.ModelFailed, Step: step, Error: fmt.Sprintf("model %q: %v; %v", failed, err, nextErr)}})
			return
		}
		r.fellBack(ctx, &s, failed, chain.current(), err)
		r.note(loop.Note{Level: "warning", Text: fmt.Sprintf("model %q failed: %v; going on with %q", failed, err, chain.current())})
	}
}

// noteCut says when an answer is not what the model meant to say.
func (r *activeRun) noteCut(model string, a loop.ModelAnswer) {
	switch a.StopReason {
	case "max_tokens":
		r.note(loop.Note{Level: "warning", Text: fmt.Sprintf("the answer of model %q was cut at its limit of tokens (max_tokens)", model)})
	case "refusal":
		r.note(loop.Note{Level: "warning", Text: fmt.Sprintf("model %q refused to answer", model)})
	}
}

// backoff is how long to wait before the attempt after this one: what the
// server asked for, else 0.5 s doubled each time up to 30 s, a fifth of it by
// chance so that many clients do not come back at once.
func backoff(attempt int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	d := min(500*time.Millisecond<<(min(attempt, 8)-1), 30*time.Second)
	return d - d/10 + time.Duration(rand.Int64N(int64(d/5)+1))
}

// delta shows a piece of an answer.
func (r *activeRun) delta(s loop.State, d loop.Delta) {
	if r.svc.opt.Frontend == nil {
		return
	}
	r.stream.add(d, func(p piece) {
		t := report.TextDelta
		if p.kind == loop.ThinkingDelta {
			t = report.ThinkingDelta
		}
		e := r.transient(t, s)
		e.Text = string(p.text)
		r.passing(e)
	})
}

// passing shows an event that is not kept, unless the run is over.
func (r *activeRun) passing(e report.Event) {
	r.passMu.Lock()
	defer r.passMu.Unlock()
	if f := r.svc.opt.Frontend; f != nil && !r.over {
		f.Event(e)
	}
}

// transient makes an event that is not kept. It is called beside the loop, so
// it looks at the state that its caller was started with.
func (r *activeRun) transient(t report.EventType, s loop.State) report.Event {
	return report.Event{
		RunID: r.id, SessionID: r.session, At: r.svc.now(), Type: t,
		Stage: s.Stage, Turn: s.Turn, Depth: s.Depth, ParentRunID: s.ParentRunID,
	}
}

// answeredBy gives the answer's calls their ids and checks their arguments.
func (r *activeRun) answeredBy(step int64, model string, a loop.ModelAnswer) loop.Event {
	e := loop.Event{Kind: loop.Answered, Step: step, Model: model}
	blocks := a.Blocks
	a.Blocks = make([]loop.Block, 0, len(blocks))
	for _, b := range blocks {
		if b.Kind == loop.TextBlock && b.Text == "" || b.Kind == loop.CallBlock && b.Call == nil {
			continue
		}
		if b.Kind == loop.CallBlock {
			call := *b.Call
			call.ID = newID("call")
			if len(call.Arguments) == 0 {
				call.Arguments = []byte("{}")
			}
			e.Checked = append(e.Checked, r.gear.check(&call))
			b.Call = &call
		}
		a.Blocks = append(a.Blocks, b)
	}
	e.Answer = &a
	return e
}

// check validates the arguments of a call as the model wrote them. Arguments
// that are no JSON object are kept as text, so that the history stays valid.
func (g *gear) check(c *loop.ToolCall) loop.CheckedCall {
	checked := loop.CheckedCall{ID: c.ID, Tool: tool.Canonical(c.Name)}
	t := g.find(checked.Tool)
	if t == nil {
		checked.Invalid, checked.Unknown = fmt.Sprintf("unknown tool %q%s", c.Name, didYouMean(checked.Tool, g.names)), true
	}
	v, err := contract.ReadPlain(c.Arguments)
	if _, isMap := v.(map[string]any); !isMap {
		if err == nil {
			err = fmt.Errorf("they are no JSON object")
		}
		if checked.Invalid == "" {
			checked.Invalid = fmt.Sprintf("the arguments of %s do not fit: %v", c.Name, err)
			checked.Faults = []loop.Fault{{Message: err.Error()}}
		}
		c.Arguments, _ = contract.WritePlain(map[string]any{"malformed": string(c.Arguments)})
		return checked
	}
	if t == nil {
		return checked
	}
	fit, err := tool.CheckArguments(t.Spec(), c.Arguments)
	if err != nil {
		checked.Invalid = err.Error()
		var misfit *tool.Misfit
		if errors.As(err, &misfit) {
			checked.Faults = misfit.Faults
		}
		return checked
	}
	if !sameJSON(fit.Arguments, c.Arguments) {
		checked.Arguments, checked.Coerced = fit.Arguments, fit.Coercions
	}
	return checked
}
