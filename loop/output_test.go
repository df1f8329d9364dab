package loop

import (
	"encoding/json"
	"strings"
	"testing"
)

func formed(points ...string) *Course {
	c := course(points...)
	c.Output = &OutputCourse{Schema: json.RawMessage(`{"type":"object"}`)}
	return c
}

// reads answers the check of the output that waits, with a fault or with what
// it read.
func (p *played) reads(fault string) {
	p.t.Helper()
	c := p.next(CheckOutput)
	e := Event{Kind: OutputChecked, Step: c.Step, Error: fault}
	if fault == "" {
		e.Structured, e.Text = json.RawMessage(c.Text), &c.Text
	}
	p.apply(e)
}

func TestARunEndsWithItsOutput(t *testing.T) {
	p := play(t, formed(OnStageExit))
	if text := p.state.System(); !strings.Contains(text, `{"type":"object"}`) {
		t.Errorf("the model is not told what its answer has to be: %s", text)
	}
	if p.state.OutputFormat() != nil {
		t.Error("the first answer may be anything")
	}
	p.answer("", "c1")
	p.next(Dispatch)
	p.begin("c1", Read)
	p.finish("c1")
	p.answer(`{"a":1}`)
	p.reads("")
	p.decide(Event{Action: HookAllow})
	p.ended(RunDone, StopEnd, "")
	p.wants(`started · enter one 0 · model · usage · dispatch c1 · result c1 ok · model · usage · message {"a":1} · output {"a":1}
		fire on_stage_exit · leave one finished · end {"a":1}`)
	if string(p.state.Structured) != `{"a":1}` {
		t.Errorf("output %s", p.state.Structured)
	}
}

func TestAnOutputThatDoesNotFitIsAskedForAgain(t *testing.T) {
	p := play(t, formed())
	p.answer("it is one")
	p.reads("it is no JSON value")
	if f := p.state.OutputFormat(); f == nil || string(f.Schema) != `{"type":"object"}` {
		t.Errorf("the next answer may be %+v", f)
	}
	messages := p.state.History.Messages()
	if last := messages[len(messages)-1].Blocks[0]; last.Kind != ReminderBlock || !strings.Contains(last.Text, "it is no JSON value") {
		t.Errorf("the model is told %+v", last)
	}
	p.answer(`{}`)
	if p.state.OutputFormat() != nil {
		t.Error("the answer came")
	}
	p.reads("")
	p.ended(RunDone, StopEnd, "")
	if p.state.Output != "{}" || p.state.OutputAsks != 1 {
		t.Errorf("output %q after %d requests", p.state.Output, p.state.OutputAsks)
	}
}

func TestAnOutputThatNeverFitsFailsTheRun(t *testing.T) {
	p := play(t, formed(OnFailure))
	for range MaxOutputAsks + 1 {
		p.answer("no")
		p.reads("/a: got string, want number")
	}
	p.decide(Event{Action: HookAllow})
	p.ended(RunFailed, StopModel, "after 3 more requests for one: /a: got string, want number")
	if p.state.Turn != MaxOutputAsks+1 || p.state.Structured != nil {
		t.Errorf("%d turns, output %s", p.state.Turn, p.state.Structured)
	}
}

// What the user said is heard before the run ends, and the answer then is the
// last one.
func TestTheUserSpeaksWhileTheOutputIsRead(t *testing.T) {
	p := play(t, formed())
	p.answer(`{"a":1}`)
	said := "b too"
	p.apply(Event{Kind: Steered, ID: "s1", Text: &said, FollowUp: true})
	p.reads("")
	if !p.state.Active() || p.state.Structured != nil {
		t.Fatalf("ended %+v with %s", p.state.Ending, p.state.Structured)
	}
	p.answer(`{"a":1,"b":2}`)
	p.reads("")
	p.ended(RunDone, StopEnd, "")
	if string(p.state.Structured) != `{"a":1,"b":2}` {
		t.Errorf("output %s", p.state.Structured)
	}
}

// Only the stage that ends the run has to answer in the form.
func TestAStageBeforeAnswersAsItLikes(t *testing.T) {
	c := formed()
	c.Stages = append(c.Stages, StageCourse{Name: "last"})
	c.Stages[0].Next = "last"
	p := play(t, c)
	if strings.Contains(p.state.System(), "JSON schema") {
		t.Error("the first stage is told of the output")
	}
	p.answer("a plan")
	if !strings.Contains(p.state.System(), "JSON schema") {
		t.Error("the last stage is not told of the output")
	}
	p.answer("{}")
	p.reads("")
	p.ended(RunDone, StopEnd, "")
}

func TestOnCompletionGivesAnotherOutput(t *testing.T) {
	another := `{"b":2}`
	for fault, status := range map[string]RunStatus{"": RunDone, "it does not fit": RunFailed} {
		p := play(t, formed(OnCompletion))
		p.answer(`{"a":1}`)
		p.reads("")
		p.decide(Event{Action: HookModify, Text: &another})
		p.reads(fault)
		if fault == "" {
			p.ended(status, StopEnd, "")
			if string(p.state.Structured) != another || p.state.Output != another {
				t.Errorf("output %s, %q", p.state.Structured, p.state.Output)
			}
		} else {
			p.ended(status, StopHook, "on_completion replaced the output")
		}
	}
}

func TestTheOutputIsReadAgainByAnotherProcess(t *testing.T) {
	p := play(t, formed())
	p.answer(`{"a":1}`)
	first := p.next(CheckOutput)
	p.apply(Event{Kind: RunResumed})
	p.apply(Event{Kind: OutputChecked, Step: first.Step, Error: "too late"})
	p.reads("")
	p.ended(RunDone, StopEnd, "")
}

func TestACancelWhileTheOutputIsRead(t *testing.T) {
	p := play(t, formed())
	p.answer(`{"a":1}`)
	p.apply(Event{Kind: CancelWanted})
	p.ended(RunCancelled, StopUser, "")
}
