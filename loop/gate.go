package loop

import (
	"encoding/json"
	"fmt"
	"slices"

	"agent-ls/hooks/contract"
)

// GateRecord is what the hooks before a call came to. They are asked once for
// a call and its arguments; whoever comes by again, after an approval or in a
// process that resumes the run, reads it here.
type GateRecord struct {
	Digest string `json:"digest"` // of the tool and the arguments that left the gate
	// Refused answers the call in place of its tool; nil lets it go on.
	Refused *ToolResult `json:"refused,omitempty"`
	// Unheard says why a command of pre_tool was not heard, or wants a person
	// to be asked: no rule allows the call then.
	Unheard string `json:"unheard,omitempty"`
	// State is what the hooks gave to be kept with the call.
	State HookState `json:"state,omitempty"`
}

// The events that see calls which are answered before anything is dispatched.
// Where a stage declares one of them, the core waits for CallsChecked before
// it goes on with the rest of a batch.
const (
	OnToolUnknown    = "tool:unknown"
	OnReject         = "validation:reject"
	OnCoerce         = "validation:coerce"
	OnToolDispatched = "tool:dispatched"
)

// maxReplays bounds how many earlier results a run keeps to be replayed.
const maxReplays = 256

// gated keeps what the hooks before a call came to.
func (m *machine) gated(e Event) {
	i := m.callIndex(e.CallID)
	if i < 0 || m.Phase != Acting || m.Batch[i].Phase == CallDone || m.Batch[i].Phase == CallRunning {
		return
	}
	m.setCall(i, func(c *Call) {
		c.Gate, c.Resumed = &GateRecord{Digest: e.Digest, Refused: e.Result, State: e.Kept, Unheard: e.Reason}, false
		if len(e.Arguments) > 0 {
			c.Arguments, c.Hooked = e.Arguments, true
		}
	})
}

// checks says whether somebody wants to see what the validation of the batch
// came to.
func (m *machine) checks() bool {
	stage := m.Current()
	for _, c := range m.Batch {
		invalid := c.Result != nil
		switch {
		case invalid && (stage.Has(OnToolUnknown) || stage.Has(OnReject) || stage.Has(OnToolDispatched)):
			return true
		case !invalid && stage.Has(OnCoerce) && string(c.Arguments) != string(c.Wanted.Arguments):
			return true
		}
	}
	return false
}

// check asks the driver to show the calls of the batch to the hooks of
// validation. Invalid calls are told of only behind that.
func (m *machine) check() {
	m.Phase = Checking
	ids := make([]string, len(m.Batch))
	for i := range m.Batch {
		ids[i] = m.Batch[i].ID
		m.setCall(i, func(c *Call) { c.Untold = c.Result != nil })
	}
	m.ask(Command{Kind: CheckCalls, Calls: ids})
}

// checked goes on behind CheckCalls with what the hooks made of the answers to
// invalid calls.
func (m *machine) checked(e Event) {
	if m.Phase != Checking || e.Step != m.Step {
		return
	}
	for k := range e.Results {
		if i := m.callIndex(e.Results[k].CallID); i >= 0 && m.Batch[i].Phase == CallDone {
			result := e.Results[k]
			m.setCall(i, func(c *Call) { c.Result = &result })
		}
	}
	m.tellAnswered()
	m.vetBatch()
}

// tellAnswered tells of the calls that validation answered.
func (m *machine) tellAnswered() {
	for i, c := range m.Batch {
		if c.Phase == CallDone && c.Result != nil {
			m.setCall(i, func(c *Call) { c.Untold = false })
			m.tellCall(i)
		}
	}
}

// vetBatch goes on with the calls that are valid.
func (m *machine) vetBatch() {
	if m.Current().Has(OnToolCall) && m.open() {
		m.fire(OnToolCall, Vetting)
		return
	}
	m.Phase = Acting
	m.redispatch()
}

// nudged keeps something that the host says to the model behind the results of
// the batch, once for each id in a run.
func (m *machine) nudged(e Event) {
	if !m.Active() || e.Text == nil || m.Nudged[e.ID] {
		return
	}
	m.Nudged = with(m.Nudged, e.ID, true)
	m.Nudges = append(m.Nudges[:len(m.Nudges):len(m.Nudges)], *e.Text)
}

// nudge says what is to be said behind the results of a batch.
func (m *machine) nudge(bytes int) {
	if most := m.Course.OutputBudget; most > 0 && bytes > most {
		m.Nudges = append(m.Nudges[:len(m.Nudges):len(m.Nudges)], fmt.Sprintf(
			"the tools of this turn answered with %d bytes, more than the budget of %d: sum up what you have learnt before you go on, and ask for less at a time", bytes, most))
	}
	for _, text := range m.Nudges {
		m.addUser(Block{Kind: ReminderBlock, Text: text})
	}
	m.Nudges = nil
}

// countCall counts a call that begins.
func (m *machine) countCall(tool string) {
	m.ToolCounts = with(m.ToolCounts, tool, m.ToolCounts[tool]+1)
}

// keepReplay keeps a result for calls that have the same key.
func (m *machine) keepReplay(key string, r *ToolResult) {
	if key == "" || r.IsError || r.Outcome != CallOK || len(m.Replays) >= maxReplays {
		return
	}
	if m.Replays[key] == nil {
		m.Replays = with(m.Replays, key, r)
	}
}

// skipRest answers the calls that have not begun, since the user said
// something that the model has to hear first.
func (m *machine) skipRest() {
	var dropped []string
	for i, c := range m.Batch {
		if c.Phase != CallQueued {
			continue
		}
		dropped = append(dropped, c.ID)
		m.closeCall(i, CallCancelled, "skipped: it did not run, since the user said something while the calls before it were at work; read that first")
	}
	if len(dropped) == 0 {
		return
	}
	m.do(Command{Kind: DropCalls, Calls: dropped})
	if m.allDone() {
		m.batchDone()
	}
}

// ended ends the run for a reason that the driver found: a hook of the turn
// loop, or a guard.
func (m *machine) ended(e Event) {
	if !m.Active() || m.Phase == Stopping || m.Phase == Failing || m.Phase == Completed || m.Phase == Closing {
		return
	}
	stop := e.Stop
	if stop == "" {
		stop = StopInternal
	}
	m.fail(stop, e.Error)
}

// Streak counts how many calls in a row, the given one of the batch included,
// ask for the same tool with the same arguments in this run.
func (s *State) Streak(id string) int {
	at := s.callIndex(id)
	if at < 0 {
		return 0
	}
	want := s.Batch[at].Wanted
	n := 1
	for i := at - 1; i >= 0; i-- {
		if !sameCall(s.Batch[i].Wanted, want) {
			return n
		}
		n++
	}
	messages := s.History.Messages()
	first := true // the newest message with calls is the batch's own
	for k := len(messages) - 1; k >= 0 && k > s.TaskAt; k-- {
		if messages[k].Role != Assistant {
			continue
		}
		if first {
			first = false
			continue
		}
		blocks := messages[k].Blocks
		for i := len(blocks) - 1; i >= 0; i-- {
			if blocks[i].Kind != CallBlock || blocks[i].Call == nil {
				continue
			}
			if !sameCall(*blocks[i].Call, want) {
				return n
			}
			n++
		}
	}
	return n
}

func sameCall(a, b ToolCall) bool {
	if a.Name != b.Name {
		return false
	}
	if slices.Equal(a.Arguments, b.Arguments) {
		return true
	}
	x, errX := canonical(a.Arguments)
	y, errY := canonical(b.Arguments)
	return errX == nil && errY == nil && slices.Equal(x, y)
}

func canonical(args json.RawMessage) (json.RawMessage, error) {
	v, err := contract.ReadPlain(args)
	if err != nil {
		return nil, err
	}
	return contract.WritePlain(v)
}
