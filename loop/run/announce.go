package run

import (
	"context"
	"time"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// The events that the loop itself is the cause of. Their hooks only watch, so
// the loop does not wait for them; what the loop starts next does, so that the
// order of what hooks see and decide is always the same.
const (
	sessionStart = "session:start"
	sessionEnd   = "session:end"
	sessionTurns = "session:turns"
	sessionMeta  = "session:meta"
	sessionSave  = "session:save"
	systemBefore = "system:before"
	agentStart   = "agent:start"
	agentDone    = "agent:done"
	agentAbort   = "agent:abort"
	turnAfter    = "turn:after"
	usageEvent   = "usage"
	notification = "notification"

	toolBatchResumed = "tool-batch:resumed"
)

// closing are the events that a run waits for before it ends: those that fire
// when it does, and those whose hooks may still be at work then.
var closing = []string{
	sessionStart, sessionEnd, sessionTurns, sessionMeta, sessionSave, systemBefore, agentStart, agentDone, agentAbort, turnAfter, usageEvent, notification,
	toolBatchResumed, outputEvent,
}

// announcement is one event to be fired behind those before it.
type announcement struct {
	event  string
	fields func() map[string]any
}

// announce fires events in their order, beside the loop, on the state as it
// is now.
func (r *activeRun) announce(list []announcement) {
	if len(list) == 0 {
		return
	}
	wait, done := r.announced, make(chan struct{})
	r.announced = done
	state := r.state
	r.busy.Add(1)
	go func() {
		defer r.busy.Done()
		defer close(done)
		defer r.recovered()
		behind(r.root, wait)
		for _, a := range list {
			r.raise(r.root, &state, a.event, "", a.fields)
		}
	}()
}

func behind(ctx context.Context, c <-chan struct{}) {
	if c == nil {
		return
	}
	select {
	case <-c:
	case <-ctx.Done():
	}
}

// announces says whether anybody could hear an announcement.
func (r *activeRun) announces() bool {
	return r.gear != nil && (r.gear.set != nil || r.parent != nil)
}

// announcements are the events that an applied event is the cause of. Without
// hooks for them it allocates nothing.
func (r *activeRun) announcements(before *loop.State, e *loop.Event) []announcement {
	if !r.announces() {
		return nil
	}
	var list []announcement
	add := func(event string, fields func(s *loop.State) map[string]any) {
		if r.hears(r.state.Stage, event) {
			s := r.state
			list = append(list, announcement{event, func() map[string]any { return fields(&s) }})
		}
	}
	switch e.Kind {
	case loop.Started, loop.RunResumed:
		r.startAnnounced(add, e.Kind == loop.RunResumed)
		if e.Kind == loop.RunResumed && r.state.Active() {
			batchResumed(add, before)
		}
	case loop.Answered:
		if before.Phase == loop.Inferring && e.Step == before.Step && e.Answer != nil {
			add(usageEvent, func(s *loop.State) map[string]any { return r.usageFields(s, e.Answer.Usage) })
			r.turnModel, r.turnUsage, r.turnStop = e.Model, e.Answer.Usage, e.Answer.StopReason
		}
	}
	r.tasksAnnounced(add, e)
	if e.Kind == loop.Questioned && e.ID != "" {
		if c, ok := r.state.Call(e.CallID); ok && c.QuestionID == e.ID && c.Waits {
			add(notification, func(*loop.State) map[string]any {
				return map[string]any{"kind": "blocked", "detail": "the agent asks a question"}
			})
		}
	}
	if e.Kind == loop.Asked {
		if c, ok := r.state.Call(e.CallID); ok && c.Phase == loop.CallWaiting && c.ApprovalID == e.ApprovalID {
			add(notification, func(*loop.State) map[string]any {
				return map[string]any{"kind": "blocked", "detail": "an approval is open: " + c.Tool}
			})
		}
	}
	turned := r.turnAnnounced(add, before, e)
	if e.Kind == loop.OutputChecked {
		r.outputAnnounced(add, before, e)
	}
	if r.state.History.Len() != before.History.Len() {
		from := before.History.Len()
		add(sessionTurns, func(s *loop.State) map[string]any { return turnsFields(s, from) })
	}
	if turned || e.Kind == loop.Started {
		add(sessionMeta, r.metaFields)
	}
	if turned {
		add(sessionSave, r.saveFields)
	}
	return list
}

// batchResumed tells of a batch that an ended process left, before any call of
// it runs again.
func batchResumed(add announcer, before *loop.State) {
	if len(before.Batch) == 0 {
		return
	}
	done, resuming := batchIDs(before)
	add(toolBatchResumed, func(*loop.State) map[string]any {
		return map[string]any{"done": plainTexts(done), "resuming": plainTexts(resuming)}
	})
}

// batchIDs are the calls of a batch whose results are known, and the others.
func batchIDs(s *loop.State) (done, resuming []string) {
	done, resuming = []string{}, []string{}
	for _, c := range s.Batch {
		if c.Phase == loop.CallDone {
			done = append(done, c.ID)
		} else {
			resuming = append(resuming, c.ID)
		}
	}
	return done, resuming
}

func plainTexts(list []string) []any {
	out := make([]any, len(list))
	for i, t := range list {
		out[i] = t
	}
	return out
}

type announcer = func(event string, fields func(*loop.State) map[string]any)

func (r *activeRun) startAnnounced(add announcer, resumed bool) {
	if !r.state.Active() {
		return
	}
	add(sessionStart, func(s *loop.State) map[string]any {
		turns := 0
		for _, n := range s.Answers {
			turns += n
		}
		return map[string]any{"resumed": resumed, "turns": int64(turns)}
	})
	if st := r.state.Current(); st != nil && st.System != "" && !resumed {
		add(systemBefore, func(s *loop.State) map[string]any { return map[string]any{"system": s.Current().System} })
	}
	add(agentStart, func(s *loop.State) map[string]any {
		return map[string]any{"prompt": s.Task, "model": s.Course.Model, "mode": string(s.Course.Mode), "resumed": resumed}
	})
}

// turnAnnounced tells of a turn that is over: the answer counts, or there is
// none.
func (r *activeRun) turnAnnounced(add announcer, before *loop.State, e *loop.Event) bool {
	if before.Phase != loop.Inferring && before.Phase != loop.Reviewing || before.RunID != r.state.RunID {
		return false
	}
	switch r.state.Phase {
	case loop.Inferring, loop.Reviewing, loop.Preparing:
		if r.state.Turn == before.Turn {
			return false // it goes on, or is asked again
		}
	}
	var answer *loop.Message
	if n := before.History.Len(); r.state.History.Len() > n {
		if m := r.state.History.Messages()[n]; m.Role == loop.Assistant {
			answer = &m
		}
	}
	failed := e.Error
	if failed == "" && answer == nil {
		failed = r.state.Ending.Error
	}
	model, usage, stop := r.turnModel, r.turnUsage, r.turnStop
	if before.Phase == loop.Inferring && e.Kind != loop.Answered {
		model, usage, stop = r.gear.models.current(), loop.Usage{}, ""
	}
	add(turnAfter, func(s *loop.State) map[string]any {
		f := map[string]any{"model": model, "usage": plainUsage(usage), "stop_reason": stop, "turn": int64(before.Turn)}
		if answer != nil {
			f["message"] = plainMessage(answer)
		}
		if failed != "" {
			f["error"] = failed
		}
		return f
	})
	return true
}

// close fires the events that see a run end, and tells the core.
func (r *activeRun) close(ctx context.Context, step int64, s loop.State) {
	raise := func(event string, fields func() map[string]any) {
		if ctx.Err() == nil {
			r.raise(ctx, &s, event, "", fields)
		}
	}
	raise(sessionMeta, func() map[string]any { return r.metaFields(&s) })
	raise(sessionSave, func() map[string]any { return r.saveFields(&s) })
	left, counting := s.Remaining(r.svc.now())
	switch {
	case s.Ending.Stop == loop.StopUser:
		raise(agentAbort, func() map[string]any { return map[string]any{"reason": "the user cancelled the run"} })
	case s.Ending.Stop == loop.StopLimit && counting && left <= 0:
		raise(agentAbort, func() map[string]any { return map[string]any{"reason": s.Ending.Error} })
	}
	raise(agentDone, func() map[string]any { return r.doneFields(&s) })
	raise(sessionEnd, func() map[string]any {
		return map[string]any{"status": string(s.Ending.Status), "turns": int64(s.Turn)}
	})
	if s.Depth == 0 {
		raise(notification, func() map[string]any {
			return map[string]any{"kind": "done", "detail": doneDetail(&s)}
		})
		if r.svc.alone(r) {
			raise(notification, func() map[string]any { return map[string]any{"kind": "idle", "detail": "no run is under way"} })
		}
	}
	if ctx.Err() == nil {
		r.post(posted{event: loop.Event{Kind: loop.Closed, Step: step}})
	}
}

func doneDetail(s *loop.State) string {
	if s.Ending.Error != "" {
		return string(s.Ending.Status) + ": " + s.Ending.Error
	}
	return string(s.Ending.Status)
}

func (r *activeRun) doneFields(s *loop.State) map[string]any {
	f := map[string]any{
		"status": string(s.Ending.Status), "stop_reason": string(s.Ending.Stop), "output": s.Output, "turns": int64(s.Turn),
		"tool_calls": int64(s.CallsDone), "usage": plainUsage(s.Usage), "cost": plainCost(s.Usage.Cost),
		"duration_ms": r.svc.now().Sub(s.Began).Milliseconds(),
	}
	if s.Ending.Error != "" {
		f["error"] = s.Ending.Error
	}
	return f
}

func (r *activeRun) usageFields(s *loop.State, u loop.Usage) map[string]any {
	return map[string]any{"model": r.gear.models.current(), "usage": plainUsage(u), "total": plainUsage(s.Usage), "cost": plainCost(u.Cost)}
}

func (r *activeRun) metaFields(s *loop.State) map[string]any {
	status := string(s.Ending.Status)
	if s.Phase != loop.Closing {
		status = string(statusOf(s))
	}
	return map[string]any{"meta": map[string]any{
		"title": titleOf(s.Task), "status": status, "turns": int64(s.Turn), "usage": plainUsage(s.Usage),
	}}
}

func (r *activeRun) saveFields(s *loop.State) map[string]any {
	return map[string]any{"seq": r.saved.Load()}
}

func turnsFields(s *loop.State, from int) map[string]any {
	all := s.History.Messages()
	added := []any{}
	for i := min(from, len(all)); i < len(all); i++ {
		added = append(added, plainMessage(&all[i]))
	}
	return map[string]any{"count": int64(len(all)), "added": added}
}

func plainUsage(u loop.Usage) map[string]any {
	return map[string]any{"input": u.Input, "output": u.Output, "cache_read": u.CacheRead, "cache_write": u.CacheWrite}
}

func plainCost(c *loop.Cost) any {
	if c == nil {
		return nil
	}
	return map[string]any{"amount": c.Amount, "currency": c.Currency}
}

// plainMessage is a message as hooks see it.
func plainMessage(m *loop.Message) map[string]any {
	parts := make([]any, 0, len(m.Blocks))
	for i := range m.Blocks {
		if m.Blocks[i].Kind == loop.ServerBlock {
			continue // the provider's own form
		}
		parts = append(parts, plainPart(&m.Blocks[i]))
	}
	return map[string]any{"role": string(m.Role), "content": parts}
}

func plainPart(b *loop.Block) map[string]any {
	p := map[string]any{
		"type": string(b.Kind), "text": nil, "id": nil, "name": nil, "arguments": nil, "is_error": nil, "media_type": nil, "ref": nil,
	}
	switch {
	case b.Call != nil:
		p["id"], p["name"], p["arguments"] = b.Call.ID, b.Call.Name, argumentsOf(b.Call.Arguments)
	case b.Result != nil:
		p["id"], p["text"], p["is_error"] = b.Result.CallID, b.Result.Text, b.Result.IsError
	case b.Kind == loop.ImageBlock:
		p["media_type"] = b.MediaType
	default:
		p["text"] = b.Text
	}
	return p
}

func argumentsOf(text []byte) map[string]any {
	v, err := contract.ReadPlain(text)
	if m, ok := v.(map[string]any); ok && err == nil {
		return m
	}
	return map[string]any{}
}

// closeWithin is how long the hooks that see a run end may take together; a
// cancelled run waits for them no longer than for its calls.
const closeWithin = 10 * time.Second
