package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// maxSummary bounds a summary, in bytes.
const maxSummary = 64 << 10

// summaryRequest is what the model is asked for behind the older turns.
const summaryRequest = `Stop here and sum up the conversation so far, for yourself: the older part of it will be replaced by what you write, and you will go on from there.
Write down what the user wants, in their words where they matter; what was decided and why; which files were read or changed and what is in them that still counts, with paths and names; commands that were run and what came of them; what failed; and what is to be done next.
Answer with that text alone. Do not call any tool.`

// summarizer is a model that has its summaries ready: a rehearsal.
type summarizer interface{ Summary(n int) string }

// fullAt is the size of a request, in tokens, at which older turns are summed
// up: four fifths of the window, and early enough for an answer to fit. 0 is
// never.
func fullAt(b *manifest.Behavior, info loop.ModelInfo) int {
	if !b.AutoCompact || info.ContextWindow <= 0 {
		return 0
	}
	full := info.ContextWindow / 5 * 4
	if room := info.ContextWindow - info.MaxTokens; info.MaxTokens > 0 && room < full {
		full = max(room, info.ContextWindow/2)
	}
	return full
}

// sumUp has older turns summed up and posts what came of it.
func (r *activeRun) sumUp(ctx context.Context, c loop.Command, s loop.State) {
	e := r.summed(ctx, &s, c.Until, "auto")
	if ctx.Err() != nil {
		return
	}
	e.Step = c.Step
	r.post(posted{event: e})
}

// summed makes the event that puts a summary in the place of the messages
// before until, or that says why there is none. A failure is not the end of
// anything: the conversation stays as it is.
func (r *activeRun) summed(ctx context.Context, s *loop.State, until int, reason string) loop.Event {
	before := s.RequestSize()
	r.raise(ctx, s, "compact:start", "", func() map[string]any {
		return map[string]any{"reason": reason, "before": before, "messages": int64(until)}
	})
	text, usage, err := r.summary(ctx, s, until, reason)
	e := loop.Event{Kind: loop.Compacted, Until: until, Reason: reason, Before: before, Usage: usage}
	if err == nil {
		text = s.Clean(text)
		e.Text = &text
		e.After = s.SizeWith(until, text)
	} else {
		e.Kind, e.Error, e.After = loop.CompactFailed, err.Error(), before
	}
	if ctx.Err() != nil {
		return e
	}
	r.raise(ctx, s, "compact:end", "", func() map[string]any {
		f := map[string]any{"reason": reason, "ok": err == nil, "error": nil, "before": before, "after": e.After, "summary": text}
		if err != nil {
			f["error"], f["summary"] = err.Error(), ""
		}
		return f
	})
	return e
}

// summary asks the model for a summary, as often as the limits of the model
// let it.
func (r *activeRun) summary(ctx context.Context, s *loop.State, until int, reason string) (string, *loop.Usage, error) {
	m := r.gear.models.model
	if ready, ok := m.(summarizer); ok {
		return ready.Summary(s.Summaries), nil, nil
	}
	var frames sent // its own: the turn's must not move
	messages, _, err := frames.extend(s, originOf(m))
	if err != nil {
		return "", nil, err
	}
	req := loop.ModelRequest{
		System: s.System(), Tools: r.gear.specs(r.pin, s.Stage), Agent: s.Course.Agent, Depth: s.Depth, Turn: s.Answers[r.gear.models.current()],
		Messages: append(messages[:until:until], loop.Message{Role: loop.User, Blocks: []loop.Block{{Kind: loop.ReminderBlock, Text: s.Framed(summaryRequest)}}}),
	}
	limits := limitsOf(m)
	var waited time.Duration
	for attempt := 1; ; attempt++ {
		answer, err := m.Stream(ctx, req, r.summaryProgress(ctx, s, reason))
		if err == nil {
			text, err := summaryText(answer)
			return text, &answer.Usage, err
		}
		var failed *loop.ModelError
		if ctx.Err() != nil || !errors.As(err, &failed) || failed.Class != loop.Retryable || attempt >= limits.Attempts {
			return "", nil, err
		}
		wait := backoff(attempt, failed.RetryAfter)
		if waited += wait; waited > limits.TotalWait {
			return "", nil, err
		}
		if err := r.svc.sleep(ctx, wait); err != nil {
			return "", nil, err
		}
	}
}

func summaryText(a loop.ModelAnswer) (string, error) {
	var parts []string
	for _, b := range a.Blocks {
		if b.Kind == loop.TextBlock {
			parts = append(parts, b.Text)
		}
	}
	text := strings.TrimSpace(strings.Join(parts, "\n\n"))
	if text == "" {
		return "", errors.New("the model gave no summary")
	}
	if len(text) > maxSummary {
		text = text[:maxSummary]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
		text += "\n[cut]"
	}
	return text, nil
}

func (r *activeRun) summaryProgress(ctx context.Context, s *loop.State, reason string) func(loop.Delta) {
	size, last := 0, time.Time{}
	return func(d loop.Delta) {
		if d.Kind != loop.TextDelta {
			return
		}
		size += len(d.Text)
		if now := time.Now(); now.Sub(last) >= progressEvery {
			last = now
			r.raise(ctx, s, "compact:progress", "", func() map[string]any {
				return map[string]any{"reason": reason, "text_bytes": int64(size)}
			})
		}
	}
}

// compactNote says what came of a summary.
func compactNote(e *loop.Event) *loop.Note {
	if e.Kind == loop.CompactFailed {
		return &loop.Note{Level: "warning", Text: "the older turns could not be summed up: " + e.Error}
	}
	return &loop.Note{Level: "info", Text: fmt.Sprintf("the older turns were summed up: about %d tokens of context became %d", e.Before, e.After)}
}

// wireCourse is what of [behavior] decides about what is sent, for a run with
// these models.
func wireCourse(b *manifest.Behavior, models *modelChain) loop.WireCourse {
	w := loop.WireCourse{KeepTurns: b.CompactKeepTurns, StaleReads: b.ElideStaleReads}
	var info loop.ModelInfo
	if models != nil && models.model != nil {
		info = models.model.Info()
	}
	w.Full = fullAt(b, info)
	skip := slices.Contains(b.CompactSkip.Providers, info.Provider) && info.ContextWindow >= b.CompactSkip.MinContextWindow
	if b.CompactStrategy == "tail" && !skip {
		w.Tail = &loop.TailCourse{Threshold: b.CompactThreshold, LowWater: b.CompactLowWaterFraction}
	}
	return w
}
