package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/tool"
)

// The bounds of questions that hooks put to the model beside the run.
const (
	maxDecisions = 32        // of one run
	maxQuestion  = 16 << 10  // bytes
	maxSchema    = 64 << 10  // bytes
	maxDecided   = 256 << 10 // bytes of an answer
	decideWithin = time.Minute
	decideTries  = 3 // failed requests and answers that do not fit
)

// decider answers hook.decide for one run.
type decider struct {
	// silent is set before anything fires where nothing drives the run: nobody
	// would record what was asked, and an explanation must not cost anything.
	silent bool

	mu    sync.Mutex // guards what follows
	asked int        // in this run, by this process
	first int        // index of the first one in the session
	known bool
	model loop.Model // a second one: the run's own is busy, or about to be
}

// askedBeside is what a question came to.
type askedBeside struct {
	id      string
	answers any
	reason  string // why there is no answer, "" if there is one
	usage   loop.Usage
}

// plain is what a script gets. It never throws: a question without an answer
// has ok false and says why.
func (d askedBeside) plain() map[string]any {
	out := map[string]any{"ok": d.reason == "", "reason": nil, "answers": d.answers, "usage": usageFields(d.usage)}
	if d.reason != "" {
		out["reason"], out["answers"] = d.reason, nil
	}
	return out
}

// decide puts a question to the run's model beside the run, and waits for the
// answer. The conversation does not see it. It is what hooks.Firing.Decide is
// set to: it never fails, the result says what went wrong.
func (r *activeRun) decide(ctx context.Context, s *loop.State, question string, schema any) map[string]any {
	begun := time.Now()
	d := askedBeside{id: newID("dcn")}
	text, err := contract.WritePlain(schema)
	if err != nil {
		text = nil
		d.reason = "the schema is no plain data: " + err.Error()
	}
	settled := make(chan struct{})
	defer close(settled)
	result := &d
	r.watchDecision(s, question, schema, result, begun, settled)
	if d.reason != "" {
		return d.plain()
	}
	n, why := r.decider.place(s)
	if why == "" {
		why = sizes(question, text)
	}
	if why != "" {
		d.reason = why
		return d.plain()
	}
	answer, err := r.askBeside(ctx, &d, n, question, text)
	if err != nil {
		d.reason = err.Error()
	} else if d.answers, err = contract.ReadPlain(answer); err != nil {
		d.reason = err.Error()
	}
	usage := d.usage
	r.post(posted{event: loop.Event{Kind: loop.DecisionMade, ID: d.id, Usage: &usage, Text: &question, Arguments: answer, Error: d.reason}})
	return d.plain()
}

// watchDecision tells the hooks that watch, beside the one that asks: it holds
// a worker that they may need.
func (r *activeRun) watchDecision(s *loop.State, question string, schema any, d *askedBeside, begun time.Time, settled <-chan struct{}) {
	if !r.gear.has(s.Stage, "decision:start") && !r.gear.has(s.Stage, "decision:end") {
		return
	}
	state, id := *s, d.id
	r.busy.Add(1)
	go func() {
		defer r.busy.Done()
		defer r.recovered()
		r.raise(r.root, &state, "decision:start", "", func() map[string]any {
			return map[string]any{"decision_id": id, "question": question, "schema": schema}
		})
		<-settled
		r.raise(r.root, &state, "decision:end", "", func() map[string]any {
			f := d.plain()
			f["decision_id"], f["question"], f["duration_ms"] = id, question, time.Since(begun).Milliseconds()
			return f
		})
	}()
}

// place takes one of the run's decisions and gives its index in the session.
func (d *decider) place(s *loop.State) (int, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.known {
		// What a process that died asked is on record.
		d.known, d.first, d.asked = true, s.DecisionsAt, s.Decisions-s.DecisionsAt
	}
	if d.asked >= maxDecisions {
		return 0, fmt.Sprintf("the run has asked its %d questions", maxDecisions)
	}
	d.asked++
	return d.first + d.asked - 1, ""
}

func sizes(question string, schema []byte) string {
	switch {
	case strings.TrimSpace(question) == "":
		return "the question is empty"
	case len(question) > maxQuestion:
		return fmt.Sprintf("the question has %d bytes, more than %d", len(question), maxQuestion)
	case len(schema) > maxSchema:
		return fmt.Sprintf("the schema has %d bytes, more than %d", len(schema), maxSchema)
	}
	return ""
}

// opened gives the model that is asked: the run's, a second time.
func (d *decider) opened(c *modelChain) (loop.Model, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.model == nil {
		m, err := c.open(c.names[0])
		if err != nil {
			return nil, err
		}
		d.model = m
	}
	return d.model, nil
}

// scriptedDecisions is a model whose decisions are written down. They take no
// turn of its script.
type scriptedDecisions interface {
	Decision(n int) json.RawMessage
}

// askBeside asks until an answer fits, a bounded number of times.
func (r *activeRun) askBeside(ctx context.Context, d *askedBeside, n int, question string, schema json.RawMessage) (json.RawMessage, error) {
	if r.gear.models == nil {
		return nil, errors.New("the run has no model")
	}
	model, err := r.decider.opened(r.gear.models)
	if err != nil {
		return nil, err
	}
	if written, ok := model.(scriptedDecisions); ok {
		answer := written.Decision(n)
		if answer == nil {
			return nil, fmt.Errorf("the rehearsal has no decision %d under decisions", n+1)
		}
		return answer, tool.CheckValue(schema, answer)
	}
	ctx, done := context.WithTimeout(ctx, decideWithin)
	defer done()
	req := loop.ModelRequest{System: decideSystem, Messages: []loop.Message{userSays(decideQuestion(question, schema))}}
	for try := 1; ; try++ {
		a, err := model.Stream(ctx, req, func(loop.Delta) {})
		d.usage = d.usage.Plus(a.Usage)
		if err == nil {
			text := answerText(a)
			var answer json.RawMessage
			if answer, err = jsonIn(text, maxDecided); err == nil {
				err = tool.CheckValue(schema, answer)
			}
			if err == nil {
				return answer, nil
			}
			if text != "" {
				req.Messages = append(req.Messages, loop.Message{Role: loop.Assistant, Blocks: []loop.Block{{Kind: loop.TextBlock, Text: text}}},
					userSays("That cannot be used: "+err.Error()+". Answer with the JSON value alone."))
			}
		} else if err := r.mayAskAgain(ctx, err, try); err != nil {
			return nil, err
		}
		if try >= decideTries {
			return nil, fmt.Errorf("no answer in %d attempts: %w", try, err)
		}
	}
}

// mayAskAgain waits before another attempt where there is any use in one.
func (r *activeRun) mayAskAgain(ctx context.Context, err error, try int) error {
	var modelErr *loop.ModelError
	if !errors.As(err, &modelErr) || modelErr.Class != loop.Retryable || try >= decideTries {
		return err
	}
	return r.svc.sleep(ctx, min(backoff(try, modelErr.RetryAfter), decideWithin/4))
}

const decideSystem = "You answer one question for a program. Answer with one JSON value and nothing else: no prose, no code fence."

func decideQuestion(question string, schema json.RawMessage) string {
	if len(schema) == 0 || string(schema) == "null" {
		return question
	}
	return question + "\n\nThe answer is a JSON value that fits this JSON schema:\n" + string(schema)
}

func userSays(text string) loop.Message {
	return loop.Message{Role: loop.User, Blocks: []loop.Block{{Kind: loop.TextBlock, Text: text}}}
}

func answerText(a loop.ModelAnswer) string {
	var b strings.Builder
	for _, block := range a.Blocks {
		if block.Kind == loop.TextBlock {
			b.WriteString(block.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// jsonIn is the JSON value that an answer is, in a code fence too.
func jsonIn(text string, most int) (json.RawMessage, error) {
	if len(text) > most {
		return nil, fmt.Errorf("the answer has %d bytes, more than %d", len(text), most)
	}
	if inner, fenced := strings.CutPrefix(text, "```"); fenced {
		_, inner, _ = strings.Cut(inner, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "```"))
	}
	if !json.Valid([]byte(text)) {
		return nil, errors.New("the answer is no JSON value")
	}
	return json.RawMessage(text), nil
}

// decideFor is what the hooks of a firing get to put questions with. The hooks
// that watch decisions get none: each question would lead to another one.
func (r *activeRun) decideFor(s *loop.State, event string) func(context.Context, string, any) map[string]any {
	if r.decider.silent || strings.HasPrefix(event, "decision:") {
		return nil
	}
	return func(ctx context.Context, question string, schema any) map[string]any {
		return r.decide(ctx, s, question, schema)
	}
}
