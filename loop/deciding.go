package loop

import (
	"fmt"
	"maps"
	"slices"
)

// keepStates keeps what hooks returned as state for their next firing.
func (m *machine) keepStates(given map[string]HookState) {
	if len(given) == 0 {
		return
	}
	states := maps.Clone(m.HookStates)
	if states == nil {
		states = map[string]HookState{}
	}
	maps.Copy(states, given)
	m.HookStates = states
}

// hookDecided takes what the hooks of a point came to.
func (m *machine) hookDecided(e Event) {
	single := e.CallID != ""
	if single {
		i := m.callIndex(e.CallID)
		if m.Phase != Acting || i < 0 || m.Batch[i].Phase != CallVetting || m.Batch[i].Step != e.Step {
			return
		}
	} else if e.Step != m.Step || e.Point != pointOf(m.Phase) || e.Point == "" {
		return
	}
	m.Fired = with(m.Fired, e.Point, m.Fired[e.Point]+1)
	m.keepStates(e.States)
	if m.Phase == Failing {
		m.worded(e)
		return
	}
	switch e.Action {
	case HookAllow:
		m.goOn(e)
	case HookModify:
		m.goOn(e)
	case HookDeny:
		switch e.Point {
		case OnToolCall:
			m.goOn(e)
			return
		case StopPoint:
			if !m.veto(e.Reason) {
				m.finishStage() // it was kept from it once with that already
			}
			return
		}
		m.fail(StopHook, fmt.Sprintf("%s cannot deny", e.Point))
	case HookRetry:
		if e.Point == AfterInference {
			m.again(e.Reason)
			return
		}
		m.fail(StopHook, fmt.Sprintf("%s cannot retry", e.Point))
	case HookCancel:
		why := e.Reason
		if why == "" {
			why = "no reason given"
		}
		m.fail(StopHook, fmt.Sprintf("%s cancelled the run: %s", e.Point, why))
	default:
		// A broken gate is a closed gate, and so is an answer that is not known.
		why := e.Error
		if why == "" {
			why = fmt.Sprintf("%s answered %q", e.Point, e.Action)
		}
		m.fail(StopHook, why)
	}
}

// goOn continues behind a point whose hooks allowed, changed or denied.
func (m *machine) goOn(e Event) {
	switch e.Point {
	case UserPrompt:
		if e.Action == HookModify && e.Text != nil && *e.Text != "" {
			m.addUser(Block{Kind: ReminderBlock, Text: *e.Text})
		}
		m.opened()
	case StopPoint:
		m.rest()
	case OnStageEnter:
		m.replaceRegions(e.Regions)
		m.nextTurn()
	case BeforeInference:
		m.replaceRegions(e.Regions)
		m.infer()
	case AfterInference:
		if e.Action == HookModify && e.Text != nil {
			m.Pending = withText(m.Pending, *e.Text)
		}
		m.applyAnswer()
	case OnToolCall:
		m.vetted(e)
	case OnStageExit:
		m.replaceRegions(e.Regions)
		m.left()
	case OnCompletion:
		if e.Action == HookModify && e.Text != nil {
			m.Output = *e.Text
			if m.Course.Output != nil {
				m.readOutput(m.Output)
				return
			}
		}
		m.finish(Ending{Status: RunDone, Stop: StopEnd})
	}
}

// worded ends a failed run with the error as on_error left it. Nothing that it
// answers makes the run less failed.
func (m *machine) worded(e Event) {
	how := m.Ending
	switch {
	case e.Action == HookModify && e.Text != nil:
		how.Error = *e.Text
	case e.Action == HookBroken:
		how.Error += "; and on_error broke: " + e.Error
	}
	m.finish(how)
}

// again asks the model once more, with the hook's reason as a reminder. The
// answer that the hook did not like is forgotten.
func (m *machine) again(reason string) {
	m.Pending, m.Checked = nil, nil
	if m.Retries >= m.Course.MaxRetries {
		why := fmt.Sprintf("after_inference asked to try again more than %d times in turn %d", m.Course.MaxRetries, m.Turn)
		if reason != "" {
			why += ": " + reason
		}
		m.fail(StopHook, why)
		return
	}
	m.Retries++
	text := "the last answer was refused, answer again"
	if reason != "" {
		text += ": " + reason
	}
	m.addUser(Block{Kind: ReminderBlock, Text: text})
	m.prepare()
}

// withText gives the answer with its text replaced; calls and thinking stay.
func withText(a *ModelAnswer, text string) *ModelAnswer {
	changed := *a
	changed.Blocks = nil
	placed := text == ""
	for _, b := range a.Blocks {
		switch {
		case b.Kind != TextBlock:
			if b.Kind == CallBlock && !placed {
				changed.Blocks, placed = append(changed.Blocks, Block{Kind: TextBlock, Text: text}), true
			}
			changed.Blocks = append(changed.Blocks, b)
		case !placed:
			changed.Blocks, placed = append(changed.Blocks, Block{Kind: TextBlock, Text: text}), true
		}
	}
	if !placed {
		changed.Blocks = append(changed.Blocks, Block{Kind: TextBlock, Text: text})
	}
	return &changed
}

// vetted applies on_tool_call's decision to the batch, or to the one call that
// it was asked about.
func (m *machine) vetted(e Event) {
	for i, c := range m.Batch {
		if c.Phase == CallDone || e.CallID != "" && c.ID != e.CallID {
			continue
		}
		switch e.Action {
		case HookDeny:
			if len(e.Denied) == 0 || slices.Contains(e.Denied, c.ID) {
				m.refuse(i, e.Reason)
				continue
			}
		case HookModify:
			k := slices.IndexFunc(e.Calls, func(h HookedCall) bool { return h.ID == c.ID })
			if k < 0 {
				why := "a hook left this call out"
				if slices.Contains(e.Denied, c.ID) { // by one hook, while another changed the rest
					why = e.Reason
				}
				m.refuse(i, why)
				continue
			}
			left := e.Calls[k]
			if left.Name != c.Tool || string(left.Arguments) != string(c.Arguments) {
				m.setCall(i, func(c *Call) { c.Tool, c.Arguments, c.Hooked = left.Name, left.Arguments, true })
			}
		}
		if e.CallID != "" {
			m.setCall(i, func(c *Call) { c.Phase = CallQueued })
			m.do(Command{Kind: Dispatch, Calls: []string{c.ID}})
		}
	}
	if e.CallID == "" {
		m.Phase = Acting
		m.redispatch()
		return
	}
	if m.allDone() {
		m.batchDone()
	}
}

func (m *machine) refuse(i int, reason string) {
	if reason == "" {
		reason = "a hook refused it"
	}
	m.closeCall(i, CallDenied, "denied by a hook: "+reason)
}
