package loop

import (
	"fmt"
	"strings"
	"testing"
)

func runCourse(points ...string) *Course {
	c := course()
	c.Points = points
	return c
}

// What a hook adds to a prompt stands right behind it, before the model is
// asked.
func TestUserPromptAddsAReminderBehindThePrompt(t *testing.T) {
	p := play(t, runCourse(UserPrompt))
	text := "use pnpm, not npm"
	p.decide(Event{Action: HookModify, Text: &text})
	p.answer("done")
	p.wants(`started · enter one 0 · fire user_prompt · model · usage · message done · leave one finished · end done`)
	messages := p.state.History.Messages()
	if len(messages) != 3 || messages[1].Blocks[0].Kind != ReminderBlock || messages[1].Blocks[0].Text != text {
		t.Errorf("the transcript is %+v", messages)
	}
}

func TestStopKeepsTheModelGoingThreeTimes(t *testing.T) {
	p := play(t, runCourse(StopPoint))
	for i := range 5 {
		p.answer(fmt.Sprint("answer ", i))
		if i < MaxVetoes {
			p.decide(Event{Action: HookDeny, Reason: fmt.Sprint("not yet ", i)})
		}
		if !p.state.Active() {
			break
		}
	}
	p.ended(RunDone, StopEnd, "")
	if p.state.Turn != 4 || p.state.Output != "answer 3" {
		t.Errorf("%d turns, output %q", p.state.Turn, p.state.Output)
	}
	if got := strings.Count(strings.Join(p.log, "\n"), "fire stop"); got != MaxVetoes {
		t.Errorf("stop fired %d times, want %d", got, MaxVetoes)
	}
}

// A hook that says the same again has not been heard; the budget is not reset
// by the tools that run in between.
func TestTheSameReasonTwiceEndsIt(t *testing.T) {
	p := play(t, runCourse(StopPoint))
	p.answer("one")
	p.decide(Event{Action: HookDeny, Reason: "run the tests"})
	p.answer("trying", "c1")
	p.next(Dispatch)
	p.begin("c1", Read)
	p.finish("c1")
	p.answer("two")
	p.decide(Event{Action: HookDeny, Reason: "run the tests"})
	p.ended(RunDone, StopEnd, "")
	if p.state.Vetoes != 1 || p.state.Turn != 3 {
		t.Errorf("%d vetoes in %d turns", p.state.Vetoes, p.state.Turn)
	}
}

func TestBrokenStopEndsTheRun(t *testing.T) {
	p := play(t, runCourse(StopPoint))
	p.answer("one")
	p.decide(Event{Action: HookBroken, Error: "stop: it broke"})
	p.ended(RunFailed, StopHook, "it broke")
}

// The hooks that see a run end come before its end, whatever way it ends, and
// nothing that happens meanwhile gives it another.
func TestClosing(t *testing.T) {
	ends := map[string]struct {
		play   func(*played)
		status RunStatus
		stop   Stop
	}{
		"done":      {func(p *played) { p.answer("done") }, RunDone, StopEnd},
		"cancelled": {func(p *played) { p.apply(Event{Kind: CancelWanted}) }, RunCancelled, StopUser},
		"failed": {func(p *played) {
			p.apply(Event{Kind: ModelFailed, Step: p.next(CallModel).Step, Error: "down"})
		}, RunFailed, StopModel},
		"host failed": {func(p *played) { p.apply(Event{Kind: HostFailed, Error: "no disk"}) }, RunFailed, StopInternal},
	}
	meanwhile := map[string]func(*played){
		"closed":       func(p *played) { p.apply(Event{Kind: Closed, Step: p.state.Step}) },
		"cancelled":    func(p *played) { p.apply(Event{Kind: CancelWanted}) },
		"given up":     func(p *played) { p.apply(Event{Kind: StopWaiting}) },
		"time expired": func(p *played) { p.apply(Event{Kind: TimeExpired}); p.apply(Event{Kind: Closed, Step: p.state.Step}) },
		"resumed": func(p *played) {
			p.apply(Event{Kind: RunResumed})
			p.apply(Event{Kind: Closed, Step: p.state.Step})
		},
		"host failed": func(p *played) { p.apply(Event{Kind: HostFailed, Error: "later"}) },
	}
	for how, end := range ends {
		for what, during := range meanwhile {
			t.Run(how+", then "+what, func(t *testing.T) {
				p := play(t, runCourse(Closes))
				end.play(p)
				if p.state.Phase != Closing || p.log[len(p.log)-1] != "close" {
					t.Fatalf("phase %d, log %v", p.state.Phase, p.log)
				}
				during(p)
				p.ended(end.status, end.stop, "")
				if p.state.Active() || !strings.HasPrefix(p.log[len(p.log)-1], "end") {
					t.Errorf("log %v", p.log)
				}
			})
		}
	}
}

// listed is a run whose model wrote that list: a word per task, those that
// begin with x are done.
func listed(t *testing.T, c *Course, tasks ...string) *played {
	t.Helper()
	p := play(t, c)
	p.list(tasks...)
	return p
}

func (p *played) list(tasks ...string) {
	p.t.Helper()
	l := &TodoList{}
	for _, name := range tasks {
		status := TodoPending
		if strings.HasPrefix(name, "x") {
			status = TodoCompleted
		}
		l.Items = append(l.Items, Todo{Content: name, Status: status})
	}
	id := fmt.Sprint("c", p.state.Turn)
	p.answer("", id)
	p.next(Dispatch)
	p.begin(id, Read)
	p.apply(Event{Kind: Finished, CallID: id, Result: &ToolResult{CallID: id, Outcome: CallOK}, Todos: l})
}

func reminding(points ...string) *Course {
	c := runCourse(points...)
	c.TodoReminder = true
	return c
}

func TestOpenTasksKeepTheModelGoing(t *testing.T) {
	p := listed(t, reminding(), "look", "write")
	p.answer("I am done")
	said := p.state.History.Messages()
	if text := said[len(said)-1].Blocks[0].Text; !strings.Contains(text, "2 of the 2 tasks") || !strings.Contains(text, "- look (pending)\n- write (pending)\n") {
		t.Errorf("the model is told %q", text)
	}
	p.list("xlook", "write")
	p.answer("half")
	p.list("xlook", "xwrite")
	p.answer("all done")
	p.ended(RunDone, StopEnd, "")
	if p.state.Vetoes != 2 || p.state.Output != "all done" {
		t.Errorf("%d vetoes, output %q", p.state.Vetoes, p.state.Output)
	}
}

// A list that did not change has no more to say, whatever tools ran between.
func TestTheSameOpenTasksTwiceLetTheModelStop(t *testing.T) {
	p := listed(t, reminding(), "look")
	p.answer("one")
	p.answer("", "c9")
	p.next(Dispatch)
	p.begin("c9", Read)
	p.finish("c9")
	p.answer("two")
	p.ended(RunDone, StopEnd, "")
	if p.state.Vetoes != 1 {
		t.Errorf("%d vetoes", p.state.Vetoes)
	}
}

// Hooks of stop and the reminder share the three times of a prompt.
func TestStopHooksAndOpenTasksShareTheirBudget(t *testing.T) {
	p := listed(t, reminding(StopPoint), "a", "b", "c", "d")
	p.answer("one")
	p.decide(Event{Action: HookDeny, Reason: "run the tests"})
	p.answer("two")
	p.decide(Event{Action: HookAllow}) // the reminder is the second
	p.list("xa", "b", "c", "d")
	p.answer("three")
	p.decide(Event{Action: HookAllow}) // and the third
	p.list("xa", "xb", "c", "d")
	p.answer("four")
	p.ended(RunDone, StopEnd, "")
	if p.state.Vetoes != MaxVetoes || p.state.Output != "four" {
		t.Errorf("%d vetoes, output %q", p.state.Vetoes, p.state.Output)
	}
	if got := strings.Count(strings.Join(p.log, "\n"), "fire stop"); got != MaxVetoes {
		t.Errorf("stop fired %d times, want %d", got, MaxVetoes)
	}
}

func TestOpenTasksThatNobodyIsRemindedOf(t *testing.T) {
	said := "first this"
	tests := map[string]struct {
		course func(*Course)
		before func(*played)
	}{
		"it is off":                  {course: func(c *Course) { c.TodoReminder = false }},
		"the mode is plan":           {course: func(c *Course) { c.Mode = ModePlan }},
		"it is the run's last turn":  {course: func(c *Course) { c.Limits.Turns = 2 }},
		"the run used its tokens":    {course: func(c *Course) { c.Limits.Tokens = 22 }},
		"it is the stage's last one": {course: func(c *Course) { c.Stages[0].MaxTurns = 2 }},
		"a stage follows": {course: func(c *Course) {
			c.Stages = append(c.Stages, StageCourse{Name: "later"})
			c.Stages[0].Next = "later"
		}},
		"the user said something": {before: func(p *played) { p.apply(Event{Kind: Steered, Text: &said, FollowUp: true}) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := reminding()
			if tt.course != nil {
				tt.course(c)
			}
			p := listed(t, c, "look")
			if tt.before != nil {
				tt.before(p)
			}
			p.answer("done")
			if p.state.Vetoes != 0 {
				t.Errorf("%d vetoes", p.state.Vetoes)
			}
		})
	}
	t.Run("a run before wrote them", func(t *testing.T) {
		p := listed(t, reminding(), "look")
		p.answer("one")
		p.answer("two")
		p.apply(Event{Kind: Started, RunID: "next", SessionID: "ses", Mark: "host-1", Course: reminding(), Prompt: []Block{{Kind: TextBlock, Text: "what time is it?"}}})
		p.answer("late")
		p.ended(RunDone, StopEnd, "")
		if p.state.Vetoes != 0 || p.state.Todos.Open() != 1 {
			t.Errorf("%d vetoes, %d open", p.state.Vetoes, p.state.Todos.Open())
		}
	})
}

// The model hears once of a task that prints nothing, with its next turn, and
// of its end all the same.
func TestAStalledTaskIsToldToTheModel(t *testing.T) {
	p := play(t, course())
	task := Task{ID: "task_1", Title: "serve", Status: TaskRuns}
	p.apply(Event{Kind: TaskStarted, Task: &task})
	p.answer("", "c1")
	idle := task
	idle.IdleMs = 60_000
	p.apply(Event{Kind: TaskStalled, Task: &idle, Waits: true})
	p.finish("c1")
	p.answer("", "c2")
	p.finish("c2")
	code := 0
	p.apply(Event{Kind: TaskEnded, Task: &Task{ID: "task_1", Title: "serve", Status: TaskExited, ExitCode: &code}})
	p.answer("", "c3")
	p.finish("c3")
	var told []string
	for _, m := range p.state.History.Messages() {
		for _, b := range m.Blocks {
			if b.Kind == ReminderBlock {
				told = append(told, b.Text)
			}
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "task task_1 (serve) has printed nothing for 1m0s and runs still") || !strings.Contains(told[1], "ended with exit status 0") {
		t.Errorf("the model is told %q", told)
	}
	if len(p.state.Tasks) != 0 {
		t.Errorf("tasks %+v", p.state.Tasks)
	}
}
