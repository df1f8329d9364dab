package loop

import (
	"encoding/json"
	"strings"
	"testing"
)

// Invalid calls are shown to the hooks of validation before anybody else sees
// them, and what those say is the answer.
func TestValidationIsShownFirst(t *testing.T) {
	p := play(t, course(OnReject, OnToolCall))
	a, checked := answerOf("", "bad", "good")
	checked[0].Invalid = "it does not fit"
	p.apply(Event{Kind: Answered, Step: p.next(CallModel).Step, Model: "m", Answer: a, Checked: checked})
	c := p.next(CheckCalls)
	p.apply(Event{Kind: CallsChecked, Step: c.Step + 1}) // of something else
	p.apply(Event{Kind: CallsChecked, Step: c.Step, Results: []ToolResult{
		{CallID: "bad", Text: "worded", IsError: true, Outcome: CallInvalid}, {CallID: "good", Text: "not its business"}}})
	p.wants("started · enter one 0 · model · usage · check bad,good · result bad invalid · fire on_tool_call")
	p.decide(Event{Action: HookAllow})
	p.finish("good")
	m := p.state.History.Messages()
	if got := m[len(m)-1].Blocks; got[0].Result.Text != "worded" || got[1].Result.Text != "ok" {
		t.Errorf("results %+v, %+v", got[0].Result, got[1].Result)
	}
}

func TestValidationThatNobodyWatchesCostsNothing(t *testing.T) {
	p := play(t, course(OnCoerce))
	a, checked := answerOf("", "bad")
	checked[0].Invalid = "it does not fit"
	p.apply(Event{Kind: Answered, Step: p.next(CallModel).Step, Model: "m", Answer: a, Checked: checked})
	p.wants("started · enter one 0 · model · usage · result bad invalid · model")
}

func TestACancelTellsOfCallsThatWereBeingChecked(t *testing.T) {
	p := play(t, course(OnReject))
	a, checked := answerOf("", "bad", "good")
	checked[0].Invalid = "it does not fit"
	p.apply(Event{Kind: Answered, Step: p.next(CallModel).Step, Model: "m", Answer: a, Checked: checked})
	p.apply(Event{Kind: CancelWanted})
	p.wants("started · enter one 0 · model · usage · check bad,good · stop · result bad invalid · result good cancelled · leave one cancelled · end")
}

// What the gate left is kept with the call, through a resume too.
func TestTheGateIsKept(t *testing.T) {
	p := play(t, course())
	p.answer("", "c1", "c2")
	p.apply(Event{Kind: Gated, CallID: "c1", Digest: "d1", Arguments: json.RawMessage(`{"x":2}`), Kept: HookState{"n": int64(1)}})
	p.apply(Event{Kind: Gated, CallID: "c2", Digest: "d2", Result: &ToolResult{CallID: "c2", Text: "no"}})
	c1, _ := p.state.Call("c1")
	c2, _ := p.state.Call("c2")
	if c1.Gate.Digest != "d1" || !c1.Hooked || string(c1.Arguments) != `{"x":2}` || c2.Gate.Refused.Text != "no" || c2.Hooked {
		t.Errorf("c1 %+v, c2 %+v", c1, c2)
	}
	p.apply(Event{Kind: RunResumed})
	c1, _ = p.state.Call("c1")
	if !c1.Resumed || c1.Gate.State["n"] != int64(1) {
		t.Errorf("after a resume: %+v", c1)
	}
	p.apply(Event{Kind: Gated, CallID: "c1", Digest: "d1"})
	if c1, _ = p.state.Call("c1"); c1.Resumed {
		t.Error("asked again, it still counts as resumed")
	}
}

func TestNudges(t *testing.T) {
	c := course()
	c.OutputBudget = 100
	p := play(t, c)
	text := "commit now"
	for range 3 { // once in a run
		p.answer("", "c1", "c2")
		p.apply(Event{Kind: Nudge, ID: "budget", Text: &text})
		long := strings.Repeat("x", 60)
		p.apply(Event{Kind: Finished, CallID: "c1", Result: &ToolResult{CallID: "c1", Text: long, Outcome: CallOK}})
		p.apply(Event{Kind: Finished, CallID: "c2", Result: &ToolResult{CallID: "c2", Text: long[:40], Outcome: CallOK}})
		p.todo = p.todo[1:]
	}
	nudges, budgets := 0, 0
	for _, m := range p.state.History.Messages() {
		for _, b := range m.Blocks {
			switch {
			case b.Kind == ReminderBlock && b.Text == text:
				nudges++
			case b.Kind == ReminderBlock && strings.Contains(b.Text, "more than the budget of 100"):
				budgets++
			}
		}
	}
	if nudges != 1 || budgets != 0 {
		t.Errorf("%d nudges, %d of the output budget; 100 bytes are within it", nudges, budgets)
	}
	p.answer("", "c1")
	p.apply(Event{Kind: Finished, CallID: "c1", Result: &ToolResult{CallID: "c1", Text: strings.Repeat("x", 101), Outcome: CallOK}})
	m := p.state.History.Messages()
	if got := m[len(m)-1].Blocks[0]; got.Kind != ReminderBlock || !strings.Contains(got.Text, "101 bytes") {
		t.Errorf("behind 101 bytes: %+v", got)
	}
}

func TestAGuardEndsTheRun(t *testing.T) {
	p := play(t, course())
	p.answer("", "c1", "c2")
	p.begin("c1", Execute)
	p.apply(Event{Kind: Ended, Stop: StopPolicy, Error: "the same call 8 times"})
	p.finish("c1")
	p.ended(RunFailed, StopPolicy, "the same call 8 times")
}

func TestStreaks(t *testing.T) {
	p := play(t, course())
	call := func(id, name, args string) (Block, CheckedCall) {
		return Block{Kind: CallBlock, Call: &ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}}, CheckedCall{ID: id, Tool: name}
	}
	turn := func(calls ...[3]string) {
		var e Event
		e.Answer = &ModelAnswer{}
		for _, c := range calls {
			b, k := call(c[0], c[1], c[2])
			e.Answer.Blocks, e.Checked = append(e.Answer.Blocks, b), append(e.Checked, k)
		}
		e.Kind, e.Step = Answered, p.next(CallModel).Step
		p.apply(e)
	}
	wants := func(id string, n int) {
		t.Helper()
		if got := p.state.Streak(id); got != n {
			t.Errorf("Streak(%s) = %d, want %d", id, got, n)
		}
	}
	turn([3]string{"a", "shell", `{"command":"ls","n":1}`}, [3]string{"b", "shell", `{"n":1,"command":"ls"}`})
	wants("a", 1)
	wants("b", 2)
	p.finish("a")
	p.finish("b")
	turn([3]string{"c", "shell", `{"command":"ls","n":1}`})
	wants("c", 3)
	p.finish("c")
	turn([3]string{"d", "edit", `{"command":"ls","n":1}`}, [3]string{"e", "shell", `{"command":"ls","n":1}`})
	wants("e", 1)
	p.finish("d")
	p.finish("e")
	p.answer("done")
	p.apply(Event{Kind: Started, RunID: "run2", SessionID: "ses", Mark: "host-1", Course: course(), Prompt: []Block{{Kind: TextBlock, Text: "again"}}})
	turn([3]string{"f", "shell", `{"command":"ls","n":1}`})
	wants("f", 1)
}

func TestReplaysAreKept(t *testing.T) {
	p := play(t, course())
	p.answer("", "c1", "c2", "c3")
	p.apply(Event{Kind: Finished, CallID: "c1", Key: "k", Result: &ToolResult{CallID: "c1", Text: "first", Outcome: CallOK}})
	p.apply(Event{Kind: Finished, CallID: "c2", Key: "k", Result: &ToolResult{CallID: "c2", Text: "second", Outcome: CallOK}})
	p.apply(Event{Kind: Finished, CallID: "c3", Key: "bad", Result: &ToolResult{CallID: "c3", Text: "no", IsError: true, Outcome: CallError}})
	if len(p.state.Replays) != 1 || p.state.Replays["k"].Text != "first" {
		t.Errorf("replays %v", p.state.Replays)
	}
}
