package loop

import (
	"cmp"
	"fmt"
	"time"
)

// Apply says where a session stands after an event and what is to be done
// next. It reads no clock and does nothing itself. Any event may come at any
// moment: one that does not belong where the session stands changes nothing.
func Apply(s State, e Event) (State, []Command) {
	m := machine{State: s}
	m.tick(e)
	switch e.Kind {
	case Started:
		m.start(e)
	case HookDecided:
		m.hookDecided(e)
	case SkillsFound:
		m.Skills, m.SkillsListed = e.Skills, true
	case SkillUsed:
		m.useSkill(e.ID, e.Waits)
	case ToolsOffered:
		m.Offered = e.Offered
	case Hooked:
		m.hooked(e)
	case Closed:
		if m.Phase == Closing && e.Step == m.Step {
			m.conclude()
		}
	case Answered:
		m.answered(e)
	case ModelFailed:
		if m.Phase == Inferring && e.Step == m.Step {
			m.fail(StopModel, e.Error)
		}
	case Overflowed:
		m.overflowed(e)
	case Unthought:
		m.unthought(e)
	case Repaired:
		m.repaired(e)
	case Compacted, CompactFailed:
		m.compacted(e)
	case Steered:
		m.steered(e)
	case Set:
		m.set(e)
	case Asked, Resolved, Begun, Finished:
		m.call(e)
	case Gated:
		m.gated(e)
	case CallsChecked:
		m.checked(e)
	case Nudge:
		m.nudged(e)
	case Ended:
		m.ended(e)
	case CancelWanted:
		m.cancel()
	case TimeExpired:
		if m.Active() && m.Phase != Stopping && m.Phase != Failing && m.Phase != Completed && m.Phase != Closing {
			m.fail(StopLimit, fmt.Sprintf("the run reached its limit of %v", m.Course.Limits.Time))
		}
	case StopWaiting:
		m.giveUp()
	case RunResumed:
		m.resume(e)
	case HostFailed:
		m.hostFailed(e)
	case Counted:
		m.counted(e)
	case Spawned:
		m.spawned(e)
	case Spent:
		m.spent(e)
	case DecisionMade:
		m.Decisions++
		m.spent(e)
	case TaskStarted:
		m.tasked(e)
	case TaskEnded:
		if e.Task != nil {
			m.taskEnded(*e.Task)
		}
	case TaskStalled:
		m.taskStalled(e)
	case Questioned:
		m.questioned(e)
	case OutputChecked:
		m.outputChecked(e)
	}
	m.pauseClock(e.At)
	return m.State, m.commands
}

// machine is one application: the state to be and the commands so far.
type machine struct {
	State
	commands []Command
}

func (m *machine) do(c Command) { m.commands = append(m.commands, c) }

// ask emits a command that wants an answer and numbers it.
func (m *machine) ask(c Command) {
	m.Step++
	c.Step = m.Step
	m.do(c)
}

func (m *machine) fire(point string, phase Phase) {
	m.Phase = phase
	m.ask(Command{Kind: FireHook, Point: point})
}

func (m *machine) start(e Event) {
	if m.Active() || e.Course.Stage(e.Course.entry()) == nil {
		return
	}
	old := m.State
	m.State = State{
		SessionID: e.SessionID, RunID: e.RunID, ParentRunID: e.ParentRunID, ParentCallID: e.ParentCallID,
		Depth: e.Depth, Mark: e.Mark, Course: e.Course, Status: RunActive, Step: old.Step,
		Todos: old.Todos, History: old.History, View: old.View, Context: old.Context, ContextAt: old.ContextAt, Summaries: old.Summaries,
		Answers: old.Answers, Grants: old.Grants, Taint: old.Taint.With(e.Label),
		Tasks:     old.Tasks,
		Decisions: old.Decisions, DecisionsAt: old.Decisions,
		Since: e.At, Began: e.At,
	}
	m.Chosen, m.Offered = SessionChoice{Mode: old.Chosen.Mode, Model: old.Chosen.Model}, old.Offered
	if e.ParentRunID != "" {
		m.Above = e.Course.Mode
	}
	m.TaskAt = m.History.Len()
	m.History = m.History.with(Message{Role: User, Blocks: e.Prompt})
	m.Task = blockText(e.Prompt)
	m.taskEnded(e.Tasks...)
	m.do(Command{Kind: Tell, What: TellRunStarted})
	m.enter(e.Course.entry())
}

func (c *Course) entry() string {
	if c == nil {
		return ""
	}
	if c.Entry == "" && len(c.Stages) > 0 {
		return c.Stages[0].Name
	}
	return c.Entry
}

func (m *machine) steered(e Event) {
	if !m.Active() || e.Text == nil {
		return
	}
	said := Steer{ID: e.ID, Text: *e.Text}
	if e.FollowUp {
		m.FollowUps = append(m.FollowUps[:len(m.FollowUps):len(m.FollowUps)], said)
	} else {
		m.Steers = append(m.Steers[:len(m.Steers):len(m.Steers)], said)
		if m.Phase == Acting {
			m.skipRest()
		}
	}
}

// set keeps the mode and the model that the user chose for the session. A run
// under way has them from its next turn on. With ParentRunID it is the mode of
// the runs above that changed.
func (m *machine) set(e Event) {
	if e.ParentRunID != "" {
		if m.Active() && m.Above != "" {
			m.Above, m.Chosen.ModeDue = e.Mode, true
		}
		return
	}
	if e.Mode != "" {
		m.Chosen.Mode, m.Chosen.ModeDue = e.Mode, m.Active()
	}
	if e.Model != "" {
		m.Chosen.Model, m.Chosen.ModelDue = e.Model, m.Active()
	}
}

// takeChoice lets what was chosen hold, at the start of a turn.
func (m *machine) takeChoice() {
	if !m.Chosen.ModeDue && !m.Chosen.ModelDue {
		return
	}
	course := *m.Course
	course.Mode = m.NextMode()
	if m.Chosen.ModelDue {
		course.Model = m.Chosen.Model
	}
	m.Chosen.ModeDue, m.Chosen.ModelDue = false, false
	m.Course = &course
}

// NextMode is the mode that a run has from its next turn on; of a sub-agent's
// it is never looser than Above.
func (s *State) NextMode() Mode {
	switch {
	case s.Course == nil:
		return ""
	case !s.Chosen.ModeDue:
		return s.Course.Mode
	case s.Above == "":
		return cmp.Or(s.Chosen.Mode, s.Course.Mode)
	}
	return cmp.Or(s.Chosen.Mode, s.Above).Stricter(s.Above)
}

// say puts what the user said meanwhile into the conversation.
func (m *machine) say(said []Steer) {
	for _, s := range said {
		m.addUser(Block{Kind: TextBlock, Text: s.Text})
		m.do(Command{Kind: Injected, ID: s.ID, Text: s.Text})
	}
}

func (m *machine) addUser(b Block) {
	m.History = m.History.with(Message{Role: User, Blocks: []Block{b}})
}

// tick counts the run's time up to the event. While somebody is asked, the
// clock stands: no answer yet is no answer, for as long as it takes.
func (m *machine) tick(e Event) {
	if !m.Active() || m.Since.IsZero() || e.Kind == RunResumed {
		return
	}
	if d := e.At.Sub(m.Since); d > 0 {
		m.Used += d
	}
	m.Since = e.At
}

func (m *machine) pauseClock(now time.Time) {
	switch {
	case !m.Active() || m.Waiting():
		m.Since = time.Time{}
	case m.Since.IsZero():
		m.Since = now
	}
}
