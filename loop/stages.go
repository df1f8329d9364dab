package loop

import "fmt"

func (m *machine) enter(name string) {
	first := m.Entered == 0
	m.Stage, m.StageTurns, m.Choice, m.Outcome, m.OutputDue = name, 0, "", "", false
	m.Visits = with(m.Visits, name, m.Visits[name]+1)
	m.tell(TellStageEntered, Command{Stage: name, Index: m.Entered})
	m.Entered++
	m.seed()
	if !first {
		// A request must end with something from the user, and the model has
		// to know that its task is another one now.
		m.addUser(Block{Kind: ReminderBlock, Text: fmt.Sprintf("stage %q begins", name)})
	}
	if first && m.Course.Has(UserPrompt) {
		m.fire(UserPrompt, Admitting)
		return
	}
	m.opened()
}

// opened goes on with a stage that was entered.
func (m *machine) opened() {
	if m.Current().Has(OnStageEnter) {
		m.fire(OnStageEnter, Entering)
		return
	}
	m.nextTurn()
}

// tell emits a Tell.
func (m *machine) tell(what Telling, c Command) {
	c.Kind, c.What, c.Turn = Tell, what, m.Turn
	if c.Stage == "" {
		c.Stage = m.Stage
	}
	m.do(c)
}

// nextTurn begins a turn, unless a limit says otherwise.
func (m *machine) nextTurn() {
	if limit := m.limit(); limit != "" {
		m.fail(StopLimit, "the run reached its limit of "+limit)
		return
	}
	if m.stageIsFull() {
		m.leave(OnMaxTurns)
		return
	}
	m.say(m.Steers)
	m.Steers = nil
	m.reportTasks()
	m.takeChoice()
	m.Turn++
	m.StageTurns++
	m.Retries = 0
	m.prepare()
}

// limit is the limit of the run that leaves it no further turn, "" when there
// is none.
func (m *machine) limit() string {
	limits := m.Course.Limits
	switch {
	case limits.Turns > 0 && m.Turn >= limits.Turns:
		return fmt.Sprintf("%d turns", limits.Turns)
	case limits.Time > 0 && m.Used >= limits.Time:
		return limits.Time.String()
	}
	return m.budget()
}

// budget is the limit of what the run may use that it reached, "" when there
// is none.
func (m *machine) budget() string {
	switch limits := m.Course.Limits; {
	case limits.Tokens > 0 && m.Usage.Tokens() >= limits.Tokens:
		return fmt.Sprintf("%d tokens: it used %d", limits.Tokens, m.Usage.Tokens())
	case limits.Cost > 0 && m.Usage.Cost != nil && m.Usage.Cost.Amount >= limits.Cost:
		return fmt.Sprintf("%.2f %s", limits.Cost, m.Usage.Cost.Currency)
	}
	return ""
}

// stageIsFull says that the stage has had all the turns that it may have.
func (m *machine) stageIsFull() bool {
	most := m.Current().MaxTurns
	return most > 0 && m.StageTurns >= most
}

func (m *machine) prepare() {
	m.trim()
	if until := m.wantsSummary(); until > 0 {
		m.sumUp(until)
		return
	}
	m.assemble()
}

// assemble lets before_inference see what is about to be sent.
func (m *machine) assemble() {
	if m.Current().Has(BeforeInference) {
		m.fire(BeforeInference, Preparing)
		return
	}
	m.infer()
}

func (m *machine) infer() {
	m.Phase = Inferring
	m.ask(Command{Kind: CallModel})
}

// finishStage is called when the model answered without calls, or chose a
// stage.
func (m *machine) finishStage() {
	if len(m.Steers) > 0 {
		m.nextTurn()
		return
	}
	if m.endsHere() {
		if len(m.FollowUps) > 0 {
			m.say(m.FollowUps)
			m.FollowUps = nil
			m.nextTurn()
			return
		}
		if m.readsOutput() {
			return
		}
	}
	m.leave(OnFinished)
}

func (m *machine) leave(outcome string) {
	m.Outcome = outcome
	if m.Current().Has(OnStageExit) {
		m.fire(OnStageExit, Exiting)
		return
	}
	m.left()
}

func (m *machine) left() {
	outcome := m.Outcome
	to, found := m.next(outcome)
	m.closeStage(outcome)
	switch {
	case found:
		m.enter(to)
	case outcome == OnMaxTurns:
		m.failLeft(StopLimit, fmt.Sprintf("stage %q reached its limit of %d turns and leads nowhere", m.Stage, m.Current().MaxTurns))
	case m.Current().Has(OnCompletion):
		m.fire(OnCompletion, Completed)
	default:
		m.finish(Ending{Status: RunDone, Stop: StopEnd})
	}
}

func (m *machine) closeStage(outcome string) {
	m.tell(TellStageLeft, Command{Stage: m.Stage, Index: m.Entered - 1, Outcome: outcome})
	m.Outcome = "left"
	m.dropTemporary()
}

// next is where the stage leads for that outcome: the first transition that
// holds, else next.
func (s *State) next(outcome string) (string, bool) {
	stage := s.Current()
	for _, t := range stage.Transitions {
		holds := t.On == outcome || t.On == OnModelChoice && outcome == OnFinished && s.Choice == t.To
		if holds && (t.MaxVisits <= 0 || s.Visits[t.To] < t.MaxVisits) && s.Course.Stage(t.To) != nil {
			return t.To, true
		}
	}
	if outcome != OnError && s.Course.Stage(stage.Next) != nil {
		return stage.Next, true
	}
	return "", false
}

// fail ends the run, or leads to the stage that is there for a failed model.
func (m *machine) fail(stop Stop, why string) {
	if stop == StopModel {
		if to, found := m.next(OnError); found {
			m.closeBatch("the model failed")
			m.closeStage(OnError)
			m.addUser(Block{Kind: ReminderBlock, Text: fmt.Sprintf("stage %q failed: %s", m.Stage, why)})
			m.enter(to)
			return
		}
	}
	m.end(Ending{Status: RunFailed, Stop: stop, Error: why})
}

// failLeft is fail for a stage that was left already.
func (m *machine) failLeft(stop Stop, why string) {
	m.end(Ending{Status: RunFailed, Stop: stop, Error: why})
}

func (m *machine) cancel() {
	if !m.Active() {
		return
	}
	if m.Phase == Closing {
		m.do(Command{Kind: StopWork}) // it is over already, but for those who watch
		m.conclude()
		return
	}
	m.end(Ending{Status: RunCancelled, Stop: StopUser})
}

// end brings the run to that ending once nothing of it runs any more.
func (m *machine) end(how Ending) {
	m.Ending = how
	m.Pending, m.Checked = nil, nil
	m.do(Command{Kind: StopWork})
	why := "the run was cancelled"
	if how.Status == RunFailed {
		why = "the run ended: " + how.Error
	}
	m.closeBatch(why)
	if m.running() {
		m.Phase = Stopping
		return
	}
	m.stopped()
}

// stopped goes on with an ending after the last call ended.
func (m *machine) stopped() {
	m.endBatch()
	if m.Ending.Status == RunFailed && m.Phase != Failing && m.Current().Has(OnFailure) {
		m.fire(OnFailure, Failing)
		return
	}
	m.finish(m.Ending)
}

func (m *machine) giveUp() {
	if m.Phase == Closing {
		m.do(Command{Kind: StopWork})
		m.conclude()
		return
	}
	if m.Phase != Stopping {
		return
	}
	for i := range m.Batch {
		if m.Batch[i].Phase == CallRunning {
			m.closeCall(i, CallInterrupted, "it did not stop in time: it may or may not have happened")
		}
	}
	m.stopped()
}

// hostFailed ends the run without asking anybody: what would be asked cannot
// be relied on any more.
func (m *machine) hostFailed(e Event) {
	if !m.Active() {
		return
	}
	m.do(Command{Kind: StopWork})
	if m.Phase == Closing {
		m.conclude()
		return
	}
	m.closeBatch("the run ended: " + e.Error)
	for i := range m.Batch {
		if m.Batch[i].Phase == CallRunning {
			m.closeCall(i, CallInterrupted, "the run ended: it may or may not have happened")
		}
	}
	m.endBatch()
	m.finish(Ending{Status: RunFailed, Stop: StopInternal, Error: e.Error})
}

func (m *machine) finish(how Ending) {
	if m.Outcome != "left" {
		outcome := OnError
		if how.Status == RunCancelled {
			outcome = "cancelled"
		}
		m.closeStage(outcome)
	}
	m.Ending = how
	if m.Course.Has(Closes) {
		m.Phase = Closing
		m.ask(Command{Kind: Close})
		return
	}
	m.conclude()
}

// conclude ends the run with the ending that it came to. Nothing follows.
func (m *machine) conclude() {
	m.Status, m.Phase = m.Ending.Status, Idle
	m.Steers, m.FollowUps, m.Pending, m.Checked, m.Batch, m.Nudges = nil, nil, nil, nil, nil, nil
	m.tell(TellRunFinished, Command{Text: m.Output})
}

// resume goes on with what the process that died was waiting for.
func (m *machine) resume(e Event) {
	if !m.Active() {
		return
	}
	m.Since = e.At
	m.taskEnded(e.Tasks...)
	for i, c := range m.Batch {
		if c.Gate != nil && c.Phase != CallDone {
			m.setCall(i, func(c *Call) { c.Resumed = true })
		}
		if c.Phase != CallRunning {
			continue
		}
		m.unconfirmed(i)
		if c.Effect == Read && m.Phase == Acting {
			m.setCall(i, func(c *Call) { c.Phase, c.Waits = CallQueued, false })
			continue
		}
		m.closeCall(i, CallInterrupted, "the program was stopped while this ran: it may or may not have happened, look before you repeat it")
	}
	switch m.Phase {
	case Admitting, Entering, Preparing, Reviewing, Vetting, Ceasing, Exiting, Completed, Failing:
		m.ask(Command{Kind: FireHook, Point: pointOf(m.Phase)})
	case Inferring:
		m.infer()
	case Reading:
		if m.Outcome == "left" {
			m.readOutput(m.Output)
		} else {
			m.readsOutput()
		}
	case Acting:
		m.redispatch()
	case Checking:
		m.check()
	case Stopping:
		m.stopped()
	case Compacting:
		m.prepare()
	case Closing:
		m.ask(Command{Kind: Close})
	}
}

func pointOf(p Phase) string {
	switch p {
	case Admitting:
		return UserPrompt
	case Ceasing:
		return StopPoint
	case Entering:
		return OnStageEnter
	case Preparing:
		return BeforeInference
	case Reviewing:
		return AfterInference
	case Vetting:
		return OnToolCall
	case Exiting:
		return OnStageExit
	case Completed:
		return OnCompletion
	case Failing:
		return OnFailure
	}
	return ""
}
