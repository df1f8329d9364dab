package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"agent-ls/loop"
)

// asking is one answer that is wanted of one model: however many requests that
// takes.
type asking struct {
	run   *activeRun
	step  int64
	state loop.State // moves on where a request has to be another one
	model loop.Model
	name  string

	attempt   int           // requests that failed in a way that may pass, and this one
	waited    time.Duration // between them
	shortened int           // how often the request was too long
	unthought bool          // thinking of the history was refused
	formless  bool          // an output format was refused
	options   options       // as turn:before left them
	tuned     bool          // it was asked
	request   *loop.ModelRequest

	before, now *cachePrefix // where cache_telemetry asks for it
	drift       drift
}

// errHookFailed says that a hook ended the run; that is posted already.
var errHookFailed = errors.New("a hook ended the run")

// attempts asks until there is an answer or the model failed for good: again
// while its errors may pass, within its limits; with stubs where the request
// was too long; without thinking where the provider does not take it back.
func (q *asking) attempts(ctx context.Context) (loop.ModelAnswer, error) {
	for q.attempt = 1; ; {
		answer, err := q.once(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, errHookFailed) {
			return answer, err
		}
		q.run.stream.drop()
		var modelErr *loop.ModelError
		if !errors.As(err, &modelErr) {
			return answer, q.failed(ctx, err)
		}
		switch modelErr.Class {
		case loop.Retryable:
			err = q.retry(ctx, modelErr)
		case loop.ContextOverflow:
			err = q.shorten(ctx, modelErr)
		case loop.ReasoningRefused:
			err = q.withoutThinking(ctx, modelErr)
		case loop.Terminal:
			err = q.withoutFormat(modelErr)
		}
		if err != nil {
			return answer, q.failed(ctx, err)
		}
	}
}

// once sends one request. One that is sent again is the same: its hooks were
// asked.
func (q *asking) once(ctx context.Context) (loop.ModelAnswer, error) {
	if q.request == nil {
		req, err := q.assembled(ctx)
		if err != nil {
			return loop.ModelAnswer{}, err
		}
		q.request = &req
	}
	answer, err := q.run.streamed(ctx, q, *q.request)
	answer.Origin = originOf(q.model)
	if err == nil {
		q.cacheRead(ctx, answer.Usage)
	}
	return answer, err
}

// retry waits before the next attempt, or says why there is none.
func (q *asking) retry(ctx context.Context, failed *loop.ModelError) error {
	limits := limitsOf(q.model)
	if q.attempt >= limits.Attempts {
		return fmt.Errorf("%w (%d attempts)", failed, q.attempt)
	}
	wait := backoff(q.attempt, failed.RetryAfter)
	if q.waited+wait > limits.TotalWait {
		return fmt.Errorf("%w (waiting %v more would exceed the limit of %v)", failed, wait, limits.TotalWait)
	}
	q.attempt++
	q.waited += wait
	q.retrying(ctx, wait, failed)
	q.run.note(loop.Note{Attempt: q.attempt, AfterMs: wait.Milliseconds(), Because: failed.Error()})
	return q.run.svc.sleep(ctx, wait)
}

func limitsOf(m loop.Model) loop.ModelLimits {
	limits := m.Info().Limits
	if limits.Attempts <= 0 {
		limits.Attempts = 5
	}
	if limits.TotalWait <= 0 {
		limits.TotalWait = 2 * time.Minute
	}
	return limits
}

// shorten leaves more of the history out than the request that was too long
// did. What it leaves out is in the journal, so that later turns and a resumed
// run leave out the same.
func (q *asking) shorten(ctx context.Context, failed *loop.ModelError) error {
	q.shortened++
	cutoff, parts, saves, ok := q.state.NextCutoff(q.shortened)
	if !ok || q.shortened > loop.MaxShortenings {
		messages, _, err := q.run.sent.extend(&q.state, originOf(q.model))
		if err != nil {
			return err
		}
		return fmt.Errorf("%w. Nothing more can be left out of the request: %s", failed, q.state.TooLarge(messages, q.run.gear.specs(q.run.pin, q.state.Stage)))
	}
	if !q.goOn(loop.Event{Kind: loop.Overflowed, Step: q.step, Cutoff: cutoff}) {
		return context.Canceled
	}
	q.overflowed(ctx, cutoff, parts, saves, failed)
	q.run.note(loop.Note{Level: "warning", Text: fmt.Sprintf("the request was too long for the model %q; older tool output and media, %d bytes, are left out from now on", q.name, saves)})
	return nil
}

// withoutThinking leaves thinking out of the history from here on, once.
func (q *asking) withoutThinking(ctx context.Context, failed *loop.ModelError) error {
	if q.unthought {
		return failed
	}
	q.unthought = true
	removed := q.state.Thoughts()
	if !q.goOn(loop.Event{Kind: loop.Unthought, Step: q.step, Reason: failed.Error()}) {
		return context.Canceled
	}
	q.historyRepaired(ctx, removed, failed)
	q.run.note(loop.Note{Level: "warning", Text: fmt.Sprintf("the model %q does not take back what it thought before; it is left out from now on", q.name)})
	return nil
}

// withoutFormat asks without the output format that a server may have refused,
// once: the model knows what its answer has to be, and it is checked. Any
// other failure stays one.
func (q *asking) withoutFormat(failed *loop.ModelError) error {
	if q.request == nil || q.request.Output == nil || failed.Status != http.StatusBadRequest && failed.Status != http.StatusUnprocessableEntity {
		return failed
	}
	q.formless, q.request = true, nil
	q.run.note(loop.Note{Level: "warning", Text: fmt.Sprintf("the model %q cannot be held to the output schema, and is asked in words: %v", q.name, failed)})
	return nil
}

// goOn journals an event that makes the request another one and takes the
// state behind it. False means that the run is over.
func (q *asking) goOn(e loop.Event) bool {
	state, ok := q.run.tell(posted{event: e})
	if !ok || state.Phase != loop.Inferring || state.Step != q.step {
		return false
	}
	q.state, q.request = state, nil
	return true
}

func originOf(m loop.Model) string {
	info := m.Info()
	return info.Origin()
}

// assembled is what the model is sent.
func (q *asking) assembled(ctx context.Context) (loop.ModelRequest, error) {
	messages, err := q.messages(ctx)
	if err != nil {
		return loop.ModelRequest{}, err
	}
	s := &q.state
	req := loop.ModelRequest{
		System:   s.System(),
		Messages: messages,
		Tools:    q.run.gear.specs(q.run.pin, s.Stage),
		Agent:    s.Course.Agent,
		Depth:    s.Depth,
		Turn:     s.Answers[q.name],
		Failed:   s.Failed,
	}
	if !q.tuned {
		q.tuned = true
		q.options = options{thinking: q.run.thinkingBudget(s.Turn)}
		if err := q.turnBefore(ctx, &req); err != nil {
			return req, err
		}
	}
	req.MaxTokens, req.ThinkingBudget = q.options.maxTokens, q.options.thinking
	if !q.formless {
		req.Output = s.OutputFormat()
	}
	if s.Forgot(originOf(q.model)) {
		req.ThinkingBudget = 0
	}
	if err := q.transform(ctx, &req); err != nil {
		return req, err
	}
	q.watchCache(ctx, &req)
	return req, nil
}

// thinkingBudget is how many tokens the model may think for in a turn. It
// changes once at most, since a provider's cache depends on it.
func (r *activeRun) thinkingBudget(turn int) int {
	if r.pin == nil {
		return 0
	}
	b := &r.pin.Config.Behavior
	if d := b.ThinkingDecay; d != nil && turn > d.AfterTurn && d.Floor < b.ThinkingBudget {
		return d.Floor
	}
	return b.ThinkingBudget
}

// messages is the history as it is sent. One that is not well-formed is made
// so first, in the journal too.
func (q *asking) messages(ctx context.Context) ([]loop.Message, error) {
	r := q.run
	messages, moved, err := r.sent.extend(&q.state, originOf(q.model))
	if err != nil {
		before := q.state.History.Messages()
		_, touched := loop.Repair(before)
		if !q.goOn(loop.Event{Kind: loop.Repaired, Step: q.step}) {
			return nil, context.Canceled
		}
		q.pairingRepaired(ctx, before, touched)
		r.note(loop.Note{Level: "warning", Text: "the history was repaired: " + strings.Join(touched, ", ")})
		moved = true
		if messages, _, err = r.sent.extend(&q.state, originOf(q.model)); err != nil {
			return nil, fmt.Errorf("the history cannot be repaired: %w", err)
		}
	}
	if moved && r.gear.tracker != nil {
		r.gear.tracker.Forget() // what was shown before need not be there any more
	}
	return messages, nil
}
