package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// fire asks the hooks of a point and posts what they came to.
func (r *activeRun) fire(ctx context.Context, c loop.Command, s loop.State) {
	out := r.fireNow(ctx, c, s)
	if ctx.Err() != nil {
		return // the run ended meanwhile; the hook was stopped, not broken
	}
	e, decisions := r.svc.decided(c, s, out)
	r.post(posted{event: e, decisions: decisions})
}

func (r *activeRun) fireNow(ctx context.Context, c loop.Command, s loop.State) hooks.Outcome {
	fields := s.HookFields(c.Point, c.CallID)
	if c.Point == loop.BeforeInference {
		_ = r.useModel(&s) // what is wrong with it, the request says
		r.gear.servers.refresh()
		names := []any{}
		for _, spec := range r.gear.specs(r.pin, s.Stage) {
			names = append(names, spec.Name)
		}
		fields["model"], fields["tools"] = r.gear.models.current(), names
	}
	return r.gear.set.Fire(ctx, hooks.Firing{
		Event: c.Point, Stage: s.Stage, At: r.svc.now(), CallID: c.CallID, Fields: fields, States: hookStates(s.HookStates),
		Decide: r.decideFor(&s, c.Point),
	})
}

// decided turns the outcome of a firing into the core's event. A value that
// does not fit where the session stands makes the hook a broken one.
func (svc *Service) decided(c loop.Command, s loop.State, out hooks.Outcome) (loop.Event, []hooks.Decision) {
	e := loop.Event{Kind: loop.HookDecided, Step: c.Step, Point: c.Point, CallID: c.CallID, Reason: bounded(out.Reason), States: coreStates(out.States)}
	decisions := out.Decisions
	if out.Failure != nil {
		e.Action, e.Error = loop.HookBroken, svc.failureText(c.Point, out.Failure)
		return e, decisions
	}
	switch out.Action {
	case contract.Allow:
		e.Action = loop.HookAllow
	case contract.Deny:
		e.Action, e.Denied = loop.HookDeny, out.Calls
	case contract.Cancel:
		e.Action = loop.HookCancel
	case contract.Retry:
		e.Action = loop.HookRetry
	case contract.Modify:
		e.Action, e.Denied = loop.HookModify, out.Calls
		if err := takeValue(&e, s, out.Value); err != nil {
			return svc.malformed(e, decisions, err)
		}
	default:
		return svc.malformed(e, decisions, fmt.Errorf("the action %v is not one that this point knows", out.Action))
	}
	return e, decisions
}

// maxReason bounds what a hook's reason may put before the model, in
// characters; the limit of the hook contract for injected text.
const maxReason = 10_000

func bounded(reason string) string {
	if utf8.RuneCountInString(reason) <= maxReason {
		return reason
	}
	return string([]rune(reason)[:maxReason]) + " … (cut)"
}

func (s *Service) malformed(e loop.Event, decisions []hooks.Decision, err error) (loop.Event, []hooks.Decision) {
	f := &hooks.Failure{Message: err.Error(), Kind: hooks.Malformed}
	decisions = append([]hooks.Decision(nil), decisions...)
	for i := len(decisions) - 1; i >= 0; i-- {
		if d := &decisions[i]; d.Action == "modify" || i == 0 {
			f.At = d.Hook.At
			d.Action, d.Error = "error", f
			break
		}
	}
	e.Action, e.Error, e.Regions, e.Calls, e.Text = loop.HookBroken, s.failureText(e.Point, f), nil, nil, nil
	return e, decisions
}

// failureText names the place in front of what went wrong, as people name it.
func (s *Service) failureText(point string, f *hooks.Failure) string {
	if f.At == nil {
		return fmt.Sprintf("%s: %s", point, f.Message)
	}
	at := fmt.Sprintf("%s:%d:%d", s.shortPath(f.At.Path), f.At.Start.Line, f.At.Start.Column)
	message := strings.ReplaceAll(f.Message, f.At.Path, s.shortPath(f.At.Path))
	if strings.Contains(message, at) {
		return fmt.Sprintf("%s: %s", point, message)
	}
	return fmt.Sprintf("%s: %s: %s", at, point, message)
}

func takeValue(e *loop.Event, s loop.State, value any) error {
	switch e.Point {
	case loop.OnStageEnter, loop.BeforeInference, loop.OnStageExit:
		return takeRegions(e, s, value)
	case loop.OnToolCall:
		return takeCalls(e, value)
	}
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("the value is %T, not text", value)
	}
	if e.Point == loop.UserPrompt {
		text = bounded(text)
	}
	e.Text = &text
	return nil
}

func takeRegions(e *loop.Event, s loop.State, value any) error {
	m, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("the value is %T, not a map of regions", value)
	}
	e.Regions = make(map[string]string, len(m))
	for name, v := range m {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("region %q is %T, not text", name, v)
		}
		e.Regions[name] = text
	}
	return s.CheckRegions(e.Regions)
}

func takeCalls(e *loop.Event, value any) error {
	list, ok := value.([]any)
	if !ok {
		return fmt.Errorf("the value is %T, not a list of calls", value)
	}
	for i, v := range list {
		m, _ := v.(map[string]any)
		id, _ := m["id"].(string)
		name, _ := m["name"].(string)
		args, isMap := m["arguments"].(map[string]any)
		if id == "" || name == "" || !isMap {
			return fmt.Errorf("call %d of the value is not {id, name, arguments}", i)
		}
		text, err := contract.WritePlain(args)
		if err != nil {
			return fmt.Errorf("the arguments of call %d: %w", i, err)
		}
		e.Calls = append(e.Calls, loop.HookedCall{ID: id, Name: name, Arguments: text})
	}
	return nil
}

// remember keeps which on_tool_call decisions concern which call, for the
// approvals that show them.
func (r *activeRun) remember(decisions []hooks.Decision) {
	for _, d := range decisions {
		switch d.Event {
		case loop.OnToolCall, "tool:gate", "mcp:tool:gate", "pre_tool", "child:tool:gate", "child:mcp:tool:gate":
		default:
			continue // it is not about what an approval shows
		}
		d.Record = nil // the journal has it
		r.callsMu.Lock()
		if d.CallID != "" {
			r.trail[d.CallID] = append(r.trail[d.CallID], d)
		} else {
			for _, c := range r.state.Batch {
				r.trail[c.ID] = append(r.trail[c.ID], d)
			}
		}
		r.callsMu.Unlock()
	}
}

func (r *activeRun) forgetTrail() {
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	clear(r.trail)
}

func (r *activeRun) trailOf(callID string) []hooks.Decision {
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	return append([]hooks.Decision{}, r.trail[callID]...)
}

// sameJSON says whether two texts are the same JSON value.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true // as a rule, and nothing is decoded
	}
	x, errX := contract.ReadPlain(a)
	y, errY := contract.ReadPlain(b)
	if errX != nil || errY != nil {
		return string(a) == string(b)
	}
	p, errP := contract.WritePlain(x)
	q, errQ := contract.WritePlain(y)
	return errP == nil && errQ == nil && string(p) == string(q)
}
