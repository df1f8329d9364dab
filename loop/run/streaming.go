package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// progressEvery is the least time between two stream:progress events.
const progressEvery = 250 * time.Millisecond

// streamed sends a request and shows what arrives, to whoever watches and to
// the hooks of the stream. With no hooks on it that costs nothing per piece.
func (r *activeRun) streamed(ctx context.Context, q *asking, req loop.ModelRequest) (loop.ModelAnswer, error) {
	w := streamWatch{run: r, state: &q.state, began: time.Now()}
	if r.gear.set != nil || r.parent != nil {
		has := func(event string) bool { return r.hears(q.state.Stage, event) }
		w.texts, w.thoughts, w.end, w.progress = has("stream:text"), has("stream:thinking"), has("stream:end"), has("stream:progress")
		w.serverTools = has("stream:server_tool_use") || has("stream:server_tool_result")
	}
	r.hear(ctx, &q.state, "stream:start", "", func() map[string]any {
		return map[string]any{"model": q.name, "attempt": int64(q.attempt)}
	})
	answer, err := q.model.Stream(ctx, req, func(d loop.Delta) {
		if d.Kind == loop.TextDelta || d.Kind == loop.ThinkingDelta {
			r.delta(q.state, d)
		}
		w.piece(ctx, d)
	})
	if err == nil && w.text.Len() > 0 {
		r.hear(ctx, &q.state, "stream:end", "", func() map[string]any {
			return map[string]any{"text": w.text.String()}
		})
	}
	if err == nil {
		r.remarked(ctx, q, &answer)
	}
	return answer, err
}

// remarked tells of what the provider says beside its answer.
func (r *activeRun) remarked(ctx context.Context, q *asking, answer *loop.ModelAnswer) {
	if answer.Dropped > 0 {
		r.hear(ctx, &q.state, "provider:input-transformations", "", func() map[string]any {
			return map[string]any{"model": q.name, "dropped": int64(answer.Dropped), "details": plainOrNil(string(answer.DroppedDetails))}
		})
		r.note(loop.Note{Level: "info", Text: fmt.Sprintf("the provider of the model %q left %d parts of earlier reasoning out of the request", q.name, answer.Dropped)})
	}
	for _, said := range answer.Remarks {
		r.hear(ctx, &q.state, "provider:diagnostic", "", func() map[string]any {
			return map[string]any{"model": q.name, "code": said.Code, "message": said.Message, "details": plainOrNil(string(said.Details))}
		})
		r.note(loop.Note{Level: "info", Text: fmt.Sprintf("the provider of the model %q says: %s", q.name, said.Message)})
	}
}

// streamWatch tells hooks what arrives of an answer.
type streamWatch struct {
	run   *activeRun
	state *loop.State
	began time.Time
	last  time.Time

	texts, thoughts, end, progress, serverTools bool // what hooks want to see

	text, thinking strings.Builder
	chunks         int64
}

func (w *streamWatch) piece(ctx context.Context, d loop.Delta) {
	if !w.texts && !w.thoughts && !w.end && !w.progress && !w.serverTools {
		return
	}
	w.chunks++
	switch d.Kind {
	case loop.TextDelta:
		w.text.WriteString(d.Text)
		if w.texts {
			w.run.hear(ctx, w.state, "stream:text", "", func() map[string]any {
				return map[string]any{"delta": d.Text, "text": w.text.String()}
			})
		}
	case loop.ThinkingDelta:
		w.thinking.WriteString(d.Text)
		if w.thoughts {
			w.run.hear(ctx, w.state, "stream:thinking", "", func() map[string]any {
				return map[string]any{"delta": d.Text, "thinking": w.thinking.String()}
			})
		}
	case loop.ServerToolUse:
		w.run.hear(ctx, w.state, "stream:server_tool_use", "", func() map[string]any {
			return map[string]any{"id": d.ID, "name": d.Name, "input": plainOrNil(d.Data)}
		})
	case loop.ServerToolResult:
		w.run.hear(ctx, w.state, "stream:server_tool_result", "", func() map[string]any {
			return map[string]any{"id": d.ID, "name": d.Name, "result": plainOrNil(d.Data), "is_error": d.IsError}
		})
	}
	if now := time.Now(); w.progress && now.Sub(w.last) >= progressEvery {
		w.last = now
		w.run.hear(ctx, w.state, "stream:progress", "", func() map[string]any {
			return map[string]any{
				"elapsed_ms": now.Sub(w.began).Milliseconds(), "text_bytes": int64(w.text.Len()),
				"thinking_bytes": int64(w.thinking.Len()), "chunks": w.chunks,
			}
		})
	}
}

func plainOrNil(text string) any {
	v, err := contract.ReadPlain([]byte(text))
	if err != nil {
		return nil
	}
	return v
}

// statusField is the provider's status of a failed request, nil if none came.
func statusField(err error) any {
	var e *loop.ModelError
	if errors.As(err, &e) && e.Status > 0 {
		return int64(e.Status)
	}
	return nil
}

// failed tells hooks that a model failed for good, and gives the error on.
func (q *asking) failed(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		q.run.hear(ctx, &q.state, "stream:error", "", func() map[string]any {
			return map[string]any{"model": q.name, "error": err.Error(), "http_status": statusField(err), "attempts": int64(q.attempt + q.shortened)}
		})
	}
	return err
}

// retrying tells hooks that a request is about to be made again.
func (q *asking) retrying(ctx context.Context, wait time.Duration, failed *loop.ModelError) {
	q.run.hear(ctx, &q.state, "stream:retry", "", func() map[string]any {
		return map[string]any{
			"model": q.name, "error": failed.Error(), "http_status": statusField(failed),
			"attempt": int64(q.attempt - 1), "after_ms": wait.Milliseconds(),
		}
	})
}

func (q *asking) overflowed(ctx context.Context, cutoff, parts, saves int, failed *loop.ModelError) {
	q.run.hear(ctx, &q.state, "context:overflow", "", func() map[string]any {
		return map[string]any{
			"model": q.name, "error": failed.Error(), "attempt": int64(q.shortened),
			"cutoff": int64(cutoff), "stubbed": int64(parts), "bytes": int64(saves),
		}
	})
}

func (q *asking) historyRepaired(ctx context.Context, removed int, failed *loop.ModelError) {
	q.run.hear(ctx, &q.state, "history:repair", "", func() map[string]any {
		return map[string]any{"model": q.name, "removed": int64(removed), "reason": failed.Error()}
	})
}

// pairingRepaired tells hooks of each call that the repair of a history was
// about.
func (q *asking) pairingRepaired(ctx context.Context, before []loop.Message, touched []string) {
	for _, id := range touched {
		q.run.hear(ctx, &q.state, "pairing:repair", id, func() map[string]any {
			name, repair := "", "result_removed"
			for _, m := range before {
				for _, b := range m.Blocks {
					if b.Kind == loop.CallBlock && b.Call != nil && b.Call.ID == id {
						name, repair = b.Call.Name, "result_added"
					}
				}
			}
			return map[string]any{"call_id": id, "name": name, "repair": repair}
		})
	}
}

// fellBack tells hooks that the run goes on with another model.
func (r *activeRun) fellBack(ctx context.Context, s *loop.State, from, to string, err error) {
	r.hear(ctx, s, "model:fallback", "", func() map[string]any {
		return map[string]any{"from": from, "to": to, "error": err.Error(), "http_status": statusField(err)}
	})
}
