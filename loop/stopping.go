package loop

// MaxVetoes is how often in a run the model may be kept from stopping, by
// hooks of stop and the reminder of open todos together.
const MaxVetoes = 3

// ceases is called when the model answered without calls.
func (m *machine) ceases() {
	if m.Course.Has(StopPoint) && m.Vetoes < MaxVetoes && len(m.Steers) == 0 {
		m.fire(StopPoint, Ceasing)
		return
	}
	m.rest()
}

// rest is called when no hook keeps the model from stopping. Open tasks of its
// own list do, unless they did already as they are.
func (m *machine) rest() {
	if m.owesTasks() && m.veto(m.Todos.reminder()) {
		return
	}
	m.finishStage()
}

// owesTasks says whether the model is to be reminded of its open tasks: it
// wrote them in this run, may work on them, and nothing else goes on with them
// - no later stage, and nothing that the user said. A reminder never spends
// the last turn, so that it cannot turn a run that is done into a failed one.
func (m *machine) owesTasks() bool {
	if !m.Course.TodoReminder || !m.TodosOwn || m.Todos.Open() == 0 || m.Course.Mode == ModePlan {
		return false
	}
	if len(m.Steers)+len(m.FollowUps) > 0 || m.limit() != "" || m.stageIsFull() {
		return false
	}
	return m.endsHere()
}

// veto keeps the model from stopping, with the reason as a reminder. False
// means that it may stop all the same: it was kept from it often enough, or
// the same reason did not help the last time.
func (m *machine) veto(reason string) bool {
	if reason == "" {
		reason = "you are not done yet"
	}
	if m.Vetoes >= MaxVetoes || reason == m.LastVeto {
		return false
	}
	m.Vetoes++
	m.LastVeto = reason
	m.addUser(Block{Kind: ReminderBlock, Text: reason})
	m.nextTurn()
	return true
}

// hooked takes what hooks of an event besides the points came to. Acting on it
// is the driver's; the core counts, and keeps what must survive the process.
func (m *machine) hooked(e Event) {
	if e.Point == "" || !m.Active() {
		return
	}
	m.Fired = with(m.Fired, e.Point, m.Fired[e.Point]+1)
	m.keepStates(e.States)
}
