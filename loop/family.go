package loop

import (
	"slices"
)

// Child names the run that a spawn call is driven in.
type Child struct {
	RunID     string `json:"runId"`
	SessionID string `json:"sessionId"`
	Agent     string `json:"agent"`
}

// counted gives a sub-agent, at whatever depth, one of the places that the run
// has for them. Nothing happens when they are all taken.
func (m *machine) counted(e Event) {
	if !m.Active() || e.ID == "" || slices.Contains(m.Family, e.ID) {
		return
	}
	if len(m.Family) >= m.Course.Limits.Agents {
		return
	}
	m.Family = append(m.Family[:len(m.Family):len(m.Family)], e.ID)
}

// spawned notes which run a spawn call is driven in. It is on record before
// that run begins, so that the call finds it again and never starts a second.
func (m *machine) spawned(e Event) {
	i := m.callIndex(e.CallID)
	if e.Child == nil || i < 0 || m.Batch[i].Phase != CallRunning || m.Batch[i].Child != nil {
		return
	}
	m.setCall(i, func(c *Call) { c.Child = e.Child })
	m.Spawns++
}

// spent counts what others used for this run: sub-agents, and questions beside
// the run. An event says what its source has used altogether, so that one that
// is told twice counts once.
func (m *machine) spent(e Event) {
	if !m.Active() || e.Usage == nil || e.ID == "" {
		return
	}
	more := e.Usage.minus(m.Spent[e.ID])
	m.Spent = with(m.Spent, e.ID, *e.Usage)
	if more == (Usage{}) {
		return
	}
	m.Usage = m.Usage.Plus(more)
	m.tell(TellUsage, Command{Usage: more})
	ending := m.Phase == Stopping || m.Phase == Failing || m.Phase == Completed
	if limit := m.budget(); limit != "" && !ending {
		m.fail(StopLimit, "the run reached its limit of "+limit)
	}
}

// minus is what u has more than v; never less than nothing.
func (u Usage) minus(v Usage) Usage {
	u.Input = max(u.Input-v.Input, 0)
	u.Output = max(u.Output-v.Output, 0)
	u.CacheRead = max(u.CacheRead-v.CacheRead, 0)
	u.CacheWrite = max(u.CacheWrite-v.CacheWrite, 0)
	switch {
	case u.Cost == nil || v.Cost == nil || u.Cost.Currency != v.Cost.Currency:
	case u.Cost.Amount <= v.Cost.Amount:
		u.Cost = nil
	default:
		u.Cost = &Cost{Amount: u.Cost.Amount - v.Cost.Amount, Currency: u.Cost.Currency}
	}
	return u
}

// questioned notes that a call waits for a person's answer to a question, or,
// without an id, that its sub-agent waits for a person (Waits) or no longer.
func (m *machine) questioned(e Event) {
	i := m.callIndex(e.CallID)
	if i < 0 || m.Batch[i].Phase != CallRunning {
		return
	}
	m.setCall(i, func(c *Call) {
		if e.ID != "" {
			c.QuestionID = e.ID
		}
		c.Waits = e.Waits
	})
}
