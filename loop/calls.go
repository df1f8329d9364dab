package loop

import (
	"encoding/json"
	"slices"
	"strings"
)

func (m *machine) answered(e Event) {
	if m.Phase != Inferring || e.Step != m.Step || e.Answer == nil {
		return
	}
	m.Usage = m.Usage.Plus(e.Answer.Usage)
	m.Answers = with(m.Answers, e.Model, m.Answers[e.Model]+1)
	m.Failed = 0
	u := e.Answer.Usage
	m.Context, m.ContextAt = u.Input+u.CacheRead+u.CacheWrite+u.Output, m.History.Len()+1
	m.tell(TellUsage, Command{Usage: e.Answer.Usage})
	m.Pending, m.Checked = e.Answer, e.Checked
	if m.Current().Has(AfterInference) {
		m.fire(AfterInference, Reviewing)
		return
	}
	m.applyAnswer()
}

// applyAnswer makes the pending answer part of the conversation.
func (m *machine) applyAnswer() {
	answer, checked := m.Pending, m.Checked
	m.Pending, m.Checked = nil, nil
	if len(answer.Blocks) > 0 {
		m.History = m.History.with(Message{Role: Assistant, Origin: answer.Origin, Blocks: answer.Blocks})
	}
	if text := blockText(answer.Blocks); text != "" {
		m.Output = text
		m.tell(TellMessage, Command{Text: text})
	}
	m.Batch = nil
	for _, b := range answer.Blocks {
		if b.Kind == CallBlock && b.Call != nil {
			m.Batch = append(m.Batch, newCall(*b.Call, checked))
		}
	}
	due := m.OutputDue
	m.OutputDue = false
	if len(m.Batch) == 0 {
		if due { // the model was done before; its answer is only given its form
			m.finishStage()
		} else {
			m.ceases()
		}
		return
	}
	if m.checks() {
		m.check()
		return
	}
	m.tellAnswered()
	m.vetBatch()
}

func newCall(wanted ToolCall, checked []CheckedCall) Call {
	c := Call{ID: wanted.ID, Tool: wanted.Name, Arguments: wanted.Arguments, Wanted: wanted}
	i := slices.IndexFunc(checked, func(k CheckedCall) bool { return k.ID == wanted.ID })
	if i < 0 {
		c.Phase = CallDone
		c.Result = &ToolResult{CallID: c.ID, IsError: true, Outcome: CallInvalid, Text: "the call was not checked"}
		return c
	}
	k := checked[i]
	c.Unknown, c.Faults, c.Coerced = k.Unknown, k.Faults, k.Coerced
	if k.Tool != "" {
		c.Tool = k.Tool
	}
	if len(k.Arguments) > 0 {
		c.Arguments = k.Arguments
	}
	if k.Invalid != "" {
		c.Phase = CallDone
		c.Result = &ToolResult{CallID: c.ID, IsError: true, Outcome: CallInvalid, Text: k.Invalid}
	}
	return c
}

// redispatch hands out every call that is on its way, in order.
func (m *machine) redispatch() {
	var ids []string
	for i := range m.Batch {
		switch c := m.Batch[i]; c.Phase {
		case CallQueued, CallWaiting:
			ids = append(ids, c.ID)
		case CallVetting:
			m.vet(i)
		}
	}
	if len(ids) > 0 {
		m.do(Command{Kind: Dispatch, Calls: ids})
	}
	if m.allDone() {
		m.batchDone()
	}
}

// vet lets on_tool_call see one call with the arguments that a person gave it.
func (m *machine) vet(i int) {
	m.Step++
	step := m.Step
	m.setCall(i, func(c *Call) { c.Phase, c.Step = CallVetting, step })
	m.do(Command{Kind: FireHook, Point: OnToolCall, CallID: m.Batch[i].ID, Step: step})
}

// call takes what happened to one call.
func (m *machine) call(e Event) {
	i := m.callIndex(e.CallID)
	if i < 0 || m.Batch[i].Phase == CallDone || m.Phase != Acting && m.Phase != Stopping {
		return
	}
	switch e.Kind {
	case Asked:
		if m.Phase == Acting && m.Batch[i].Phase == CallRunning && m.Batch[i].ConfirmID == "" {
			m.setCall(i, func(c *Call) { c.ConfirmID, c.Waits = e.ApprovalID, true })
		}
		if m.Phase == Acting && m.Batch[i].Phase != CallRunning {
			m.setCall(i, func(c *Call) {
				c.Phase, c.ApprovalID, c.Digest, c.Approved = CallWaiting, e.ApprovalID, e.Digest, false
			})
		}
	case Resolved:
		if c := m.Batch[i]; c.Phase == CallRunning && c.ConfirmID != "" && c.ConfirmID == e.ApprovalID {
			m.setCall(i, func(c *Call) { c.ConfirmID, c.Waits = "", false })
		}
		if m.Phase == Acting && m.Batch[i].Phase == CallWaiting && m.Batch[i].ApprovalID == e.ApprovalID {
			m.resolved(i, e)
		}
	case Begun:
		m.begun(i, e)
	case Finished:
		if e.Result == nil {
			return
		}
		if c := m.Batch[i]; c.Phase == CallWaiting {
			m.do(Command{Kind: Withdraw, ApprovalID: c.ApprovalID, CallID: c.ID})
		}
		m.unconfirmed(i)
		m.taint(e.Label)
		m.setCall(i, func(c *Call) {
			c.Phase, c.Result = CallDone, e.Result
			c.Read, c.Changed = touched(e)
		})
		m.keepReplay(e.Key, e.Result)
		if e.Todos != nil {
			m.Todos, m.TodosOwn = e.Todos, true
		}
		m.tellCall(i)
		switch {
		case m.Phase == Stopping && !m.running():
			m.stopped()
		case m.Phase == Acting && m.allDone():
			m.batchDone()
		}
	}
}

// begun lets a call run. One that waits begins only when the event names the
// approval that it waits for: a process that resumed the run found that nobody
// needs to be asked any more.
func (m *machine) begun(i int, e Event) {
	c := m.Batch[i]
	unasked := c.Phase == CallWaiting && c.ApprovalID != "" && c.ApprovalID == e.ApprovalID
	if m.Phase != Acting || c.Phase != CallQueued && !unasked {
		return
	}
	if unasked {
		m.do(Command{Kind: Withdraw, ApprovalID: c.ApprovalID, CallID: c.ID})
	}
	if !c.Counted {
		m.countCall(c.Tool)
	}
	m.setCall(i, func(c *Call) {
		c.Phase, c.Effect, c.Counted, c.ApprovalID = CallRunning, e.Effect, true, ""
	})
}

func (m *machine) resolved(i int, e Event) {
	if e.Grant != "" {
		m.Grants = append(m.Grants[:len(m.Grants):len(m.Grants)], e.Grant)
	}
	edited := e.Verdict == VerdictAllow && len(e.Arguments) > 0
	m.setCall(i, func(c *Call) {
		c.Phase, c.ApprovalID = CallQueued, ""
		c.Approved, c.Hunks = e.Verdict == VerdictAllow && !edited, e.Hunks
		if edited {
			c.Arguments, c.Edited, c.Digest, c.Hunks = e.Arguments, true, "", nil
		}
	})
	switch {
	case edited && m.Current().Has(OnToolCall):
		m.vet(i)
	case edited:
		m.do(Command{Kind: Dispatch, Calls: []string{m.Batch[i].ID}})
	}
}

// batchDone answers all calls of the batch and goes on.
func (m *machine) batchDone() {
	if i := slices.IndexFunc(m.Batch, func(c Call) bool {
		return c.Tool == NextStageTool && c.Result.Outcome == CallOK
	}); i >= 0 {
		m.Choice = chosen(m.Batch[i].Arguments)
	}
	m.endBatch()
	if m.Choice != "" {
		m.finishStage()
		return
	}
	m.nextTurn()
}

func chosen(args json.RawMessage) string {
	var want struct {
		Stage string `json:"stage"`
	}
	if json.Unmarshal(args, &want) != nil {
		return ""
	}
	return want.Stage
}

// endBatch puts the results of the batch into the conversation, one for each
// call, in the order of the calls.
func (m *machine) endBatch() {
	if len(m.Batch) == 0 {
		return
	}
	blocks, size := make([]Block, len(m.Batch)), 0
	for i, c := range m.Batch {
		blocks[i] = Block{Kind: ResultBlock, Result: c.Result}
		size += len(c.Result.Text)
	}
	for i := range m.Batch {
		if notice := m.staleReads(&m.Batch[i]); notice != "" {
			blocks = append(blocks, Block{Kind: ReminderBlock, Text: notice})
		}
	}
	m.History = m.History.with(Message{Role: User, Blocks: blocks})
	m.do(Command{Kind: BatchEnded, Batch: m.Batch})
	m.Batch = nil
	m.nudge(size)
}

// unconfirmed takes down the approval that a running call has open.
func (m *machine) unconfirmed(i int) {
	if c := m.Batch[i]; c.Phase == CallRunning && c.ConfirmID != "" {
		m.do(Command{Kind: Withdraw, ApprovalID: c.ConfirmID, CallID: c.ID})
		m.setCall(i, func(c *Call) { c.ConfirmID, c.Waits = "", false })
	}
}

// closeBatch gives a result to every call that has not begun.
func (m *machine) closeBatch(why string) {
	for i, c := range m.Batch {
		if c.Untold {
			m.setCall(i, func(c *Call) { c.Untold = false })
			m.tellCall(i)
		}
		m.unconfirmed(i)
		if c.Phase == CallDone || c.Phase == CallRunning {
			continue
		}
		if c.Phase == CallWaiting {
			m.do(Command{Kind: Withdraw, ApprovalID: c.ApprovalID, CallID: c.ID})
		}
		m.closeCall(i, CallCancelled, "it did not run: "+why)
	}
}

func (m *machine) closeCall(i int, outcome CallOutcome, why string) {
	m.setCall(i, func(c *Call) {
		c.Phase = CallDone
		c.Result = &ToolResult{CallID: c.ID, IsError: true, Outcome: outcome, Text: why}
	})
	m.tellCall(i)
}

func (m *machine) tellCall(i int) {
	m.CallsDone++
	call := m.Batch[i]
	m.tell(TellCall, Command{CallID: call.ID, Result: call.Result, Call: &call})
}

func (m *machine) open() bool {
	return slices.ContainsFunc(m.Batch, func(c Call) bool { return c.Phase != CallDone })
}

func (m *machine) allDone() bool { return len(m.Batch) > 0 && !m.open() }

func (m *machine) running() bool {
	return slices.ContainsFunc(m.Batch, func(c Call) bool { return c.Phase == CallRunning })
}

// Tokens counts what was read, from a cache too, and written.
func (u Usage) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Plus adds two usages. Amounts of different currencies are not added: the
// one that has an amount already keeps it.
func (u Usage) Plus(v Usage) Usage {
	u.Input += v.Input
	u.Output += v.Output
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
	switch {
	case v.Cost == nil:
	case u.Cost == nil:
		u.Cost = &Cost{Amount: v.Cost.Amount, Currency: v.Cost.Currency}
	case u.Cost.Currency == v.Cost.Currency:
		u.Cost = &Cost{Amount: u.Cost.Amount + v.Cost.Amount, Currency: u.Cost.Currency}
	}
	return u
}

// blockText joins the text blocks.
func blockText(blocks []Block) string {
	var parts []string
	for _, b := range blocks {
		if b.Kind == TextBlock && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}
