package model

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/model/rehearsal"
)

// Rehearsal plays a written script as if it were a model.
type Rehearsal struct {
	model  manifest.Model
	info   loop.ModelInfo
	script *rehearsal.Script
	play   *rehearsal.Play
}

func openRehearsal(m manifest.Model) (*Rehearsal, error) {
	script, findings := rehearsal.Parse(m.Script, m.ScriptText)
	if script == nil {
		f := findings[0]
		line := 1
		for _, c := range m.ScriptText[:f.Span.Start] {
			if c == '\n' {
				line++
			}
		}
		return nil, fmt.Errorf("the rehearsal %s:%d: %s", m.Script, line, f.Message)
	}
	r := &Rehearsal{model: m, info: info(m), script: script, play: rehearsal.NewPlay(script)}
	if m.ContextWindow == 0 {
		r.info.ContextWindow = script.ContextWindow
	}
	return r, nil
}

// Info names the model.
func (r *Rehearsal) Info() loop.ModelInfo { return r.info }

// Summary is the answer to the nth request for a summary, from 0.
func (r *Rehearsal) Summary(n int) string {
	if n < len(r.script.Summaries) {
		return r.script.Summaries[n]
	}
	return "The conversation so far, in short."
}

// Decision is the answer to the nth hook.decide, from 0; nil when the script
// has none.
func (r *Rehearsal) Decision(n int) json.RawMessage {
	if n < len(r.script.Decisions) {
		return r.script.Decisions[n]
	}
	return nil
}

// Stream plays the turn that the request calls for.
func (r *Rehearsal) Stream(ctx context.Context, req loop.ModelRequest, onDelta func(loop.Delta)) (loop.ModelAnswer, error) {
	turn, err := r.play.Next(req)
	if err != nil {
		return loop.ModelAnswer{}, r.failure("the rehearsal %s ended: %v", r.model.Script, err)
	}
	if window := r.info.ContextWindow; window > 0 && tokens(req) > int64(window) {
		return loop.ModelAnswer{}, &loop.ModelError{Class: loop.ContextOverflow, Status: http.StatusBadRequest,
			Message: fmt.Sprintf("the request has %d tokens, the context window of the model %q has %d", tokens(req), r.model.Name, window)}
	}
	if turn.Expect != nil {
		if text := rehearsal.Messages(req.Messages); !turn.Expect.MatchString(text) {
			return loop.ModelAnswer{}, r.failure("the rehearsal %s:%d expects /%s/ in the messages, which are:\n%s", r.model.Script, turn.Line, turn.Expect, tail(text, 4000))
		}
	}
	if err := wait(ctx, turn.Delay); err != nil {
		return loop.ModelAnswer{}, err
	}
	answer, err := r.perform(ctx, req, turn, onDelta)
	if ctx.Err() != nil {
		return loop.ModelAnswer{}, ctx.Err()
	}
	turn.Done(err != nil)
	return answer, err
}

// perform streams the turn's text and makes its answer, or fails as it says.
func (r *Rehearsal) perform(ctx context.Context, req loop.ModelRequest, turn rehearsal.Chosen, onDelta func(loop.Delta)) (loop.ModelAnswer, error) {
	if f := turn.Error; f != nil {
		header := http.Header{}
		if f.RetryAfter > 0 {
			header.Set("retry-after", strconv.FormatFloat(f.RetryAfter.Seconds(), 'f', -1, 64))
		}
		return loop.ModelAnswer{}, statusError(r.model.Name, f.Status, header, []byte(f.Body), time.Now)
	}
	if turn.Thinking != "" {
		onDelta(loop.Delta{Kind: loop.ThinkingDelta, Text: turn.Thinking})
	}
	for i, piece := range pieces(turn.Text, turn.Chunks) {
		if turn.Cut && i >= turn.CutAfter || ctx.Err() != nil {
			break
		}
		onDelta(loop.Delta{Kind: loop.TextDelta, Text: piece})
	}
	if turn.Cut {
		return loop.ModelAnswer{}, cut(r.model.Name, fmt.Sprintf("the rehearsal breaks off after %d pieces", turn.CutAfter))
	}
	a := loop.ModelAnswer{StopReason: "end"}
	if turn.Thinking != "" {
		a.Blocks = append(a.Blocks, loop.Block{Kind: loop.ThinkingBlock, Text: turn.Thinking})
	}
	if turn.Text != "" {
		a.Blocks = append(a.Blocks, loop.Block{Kind: loop.TextBlock, Text: turn.Text})
	}
	for i, c := range turn.Calls {
		a.StopReason = "tool_use"
		a.Blocks = append(a.Blocks, loop.Block{Kind: loop.CallBlock, Call: &loop.ToolCall{
			ProviderID: fmt.Sprintf("rehearsal_%d_%d", req.Turn+1, i+1), Name: c.Name, Arguments: append(json.RawMessage(nil), c.Arguments...),
		}})
	}
	if turn.Usage != nil {
		a.Usage = *turn.Usage
	} else {
		a.Usage = loop.Usage{Input: tokens(req), Output: answerTokens(a)}
	}
	a.Usage = cost(r.model, a.Usage)
	return a, nil
}

func (r *Rehearsal) failure(format string, args ...any) error {
	return &loop.ModelError{Class: loop.RehearsalFailure, Message: fmt.Sprintf(format, args...)}
}

// wait sleeps, but no longer than the context.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// pieces cuts a text into so many pieces of about one length, between
// characters. A text shorter than that has fewer.
func pieces(text string, n int) []string {
	if text == "" {
		return nil
	}
	total := utf8.RuneCountInString(text)
	n = min(max(n, 1), total)
	out := make([]string, 0, n)
	runes, start, at := 0, 0, 0
	for range text {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
		runes++
		if runes*n >= (len(out)+1)*total {
			out = append(out, text[start:at])
			start = at
		}
	}
	return out
}

// tokens is a guess at a request's size: four bytes are a token.
func tokens(req loop.ModelRequest) int64 {
	n := len(req.System)
	for i := range req.Messages {
		for _, b := range req.Messages[i].Blocks {
			n += len(b.Text)
			if b.Call != nil {
				n += len(b.Call.Name) + len(b.Call.Arguments)
			}
			if b.Result != nil {
				n += len(b.Result.Text)
			}
		}
	}
	return int64(n+3) / 4
}

func answerTokens(a loop.ModelAnswer) int64 {
	return tokens(loop.ModelRequest{Messages: []loop.Message{{Blocks: a.Blocks}}})
}

// tail keeps the end of a text, which is what the last request added.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return "…" + s
}
