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
