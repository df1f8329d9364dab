package loop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// played is a session that a test plays by hand. It writes down what Apply
// wants, one word per command, so that a whole run reads as one text.
type played struct {
	t     *testing.T
	state State
	todo  []Command // commands that wait for an answer
	log   []string
	at    time.Time
}

func play(t *testing.T, c *Course) *played {
	t.Helper()
	p := &played{t: t, at: t0}
	p.apply(Event{Kind: Started, RunID: "run", SessionID: "ses", Mark: "host-1", Course: c, Prompt: []Block{{Kind: TextBlock, Text: "do it"}}})
	return p
}

func (p *played) apply(e Event) {
	p.t.Helper()
	if e.At.IsZero() {
		p.at = p.at.Add(time.Second)
		e.At = p.at
	}
	var commands []Command
	p.state, commands = Apply(p.state, e)
	for _, c := range commands {
		if c.Kind != BatchEnded { // it comes with the results that it is about
			p.log = append(p.log, word(c))
		}
		switch c.Kind {
		case FireHook, CallModel, Dispatch, CheckCalls, CheckOutput, Close:
			p.todo = append(p.todo, c)
		}
	}
}

func word(c Command) string {
	switch c.Kind {
	case FireHook:
		return strings.TrimSpace("fire " + c.Point + " " + c.CallID)
	case CallModel:
		return "model"
	case Dispatch:
		return "dispatch " + strings.Join(c.Calls, ",")
	case Withdraw:
		return "withdraw " + c.ApprovalID
	case StopWork:
		return "stop"
	case CheckCalls:
		return "check " + strings.Join(c.Calls, ",")
	case CheckOutput:
		return "output " + c.Text
	case DropCalls:
		return "drop " + strings.Join(c.Calls, ",")
	case Injected:
		return "said " + c.ID
	case Close:
		return "close"
	}
	switch c.What {
	case TellRunStarted:
		return "started"
	case TellStageEntered:
		return fmt.Sprintf("enter %s %d", c.Stage, c.Index)
	case TellStageLeft:
		return "leave " + c.Stage + " " + c.Outcome
	case TellMessage:
		return "message " + c.Text
	case TellUsage:
		return "usage"
	case TellCall:
		return "result " + c.CallID + " " + string(c.Result.Outcome)
	case TellRunFinished:
		return "end " + c.Text
	}
	return "?"
}

func (p *played) next(kind CommandKind) Command {
	p.t.Helper()
	for kind != Dispatch && len(p.todo) > 0 && p.todo[0].Kind == Dispatch {
		p.todo = p.todo[1:] // tests that do not care about dispatching
	}
	if len(p.todo) == 0 || p.todo[0].Kind != kind {
		p.t.Fatalf("wanted command %d, to do are %v; log:\n%s", kind, p.todo, strings.Join(p.log, "\n"))
	}
	c := p.todo[0]
	p.todo = p.todo[1:]
	return c
}

func (p *played) answer(text string, calls ...string) {
	p.t.Helper()
	a, checked := answerOf(text, calls...)
	p.apply(Event{Kind: Answered, Step: p.next(CallModel).Step, Model: "m", Answer: a, Checked: checked})
}

func answerOf(text string, calls ...string) (*ModelAnswer, []CheckedCall) {
	a := &ModelAnswer{Usage: Usage{Input: 10, Output: 1}}
	var checked []CheckedCall
	if text != "" {
		a.Blocks = append(a.Blocks, Block{Kind: TextBlock, Text: text})
	}
	for _, id := range calls {
		a.Blocks = append(a.Blocks, Block{Kind: CallBlock, Call: &ToolCall{ID: id, Name: "tool", Arguments: json.RawMessage(`{"x":1}`)}})
		k := CheckedCall{ID: id, Tool: "tool"}
		if strings.HasPrefix(id, "bad") {
			k.Invalid = "it does not fit"
		}
		checked = append(checked, k)
	}
	return a, checked
}

func (p *played) decide(e Event) {
	p.t.Helper()
	c := p.next(FireHook)
	e.Kind, e.Step, e.Point, e.CallID = HookDecided, c.Step, c.Point, c.CallID
	if e.Action == "" {
		e.Action = HookAllow
	}
	p.apply(e)
}

func (p *played) finish(id string) {
	p.t.Helper()
	p.apply(Event{Kind: Finished, CallID: id, Result: &ToolResult{CallID: id, Text: "ok", Outcome: CallOK}})
}

func (p *played) begin(id string, effect Effect) {
	p.t.Helper()
	p.apply(Event{Kind: Begun, CallID: id, Effect: effect})
}

// wants compares the log with the words wanted, one a line or several behind
// "·".
func (p *played) wants(text string) {
	p.t.Helper()
	var want []string
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '·' }) {
		if line = strings.TrimSpace(line); line != "" {
			want = append(want, line)
		}
	}
	got := make([]string, len(p.log), len(p.log)+1)
	for i, l := range p.log {
		got[i] = strings.TrimSpace(l)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		p.t.Errorf("commands differ (-want +got):\n%s", diff)
	}
	if err := WellFormed(p.state.History.Messages()); err != nil && !p.state.Active() {
		p.t.Errorf("the history is not well-formed: %v", err)
	}
}

func (p *played) ended(status RunStatus, stop Stop, why string) {
	p.t.Helper()
	if p.state.Status != status || p.state.Ending.Stop != stop || !strings.Contains(p.state.Ending.Error, why) {
		p.t.Errorf("ended %s, %s, %q; want %s, %s, %q", p.state.Status, p.state.Ending.Stop, p.state.Ending.Error, status, stop, why)
	}
}

func course(points ...string) *Course {
	return &Course{Agent: "a", Model: "m", MaxRetries: 2, Stages: []StageCourse{{Name: "one", MaxTurns: 50, Points: points}}}
}

func twoStages() *Course {
	every := []string{OnStageEnter, BeforeInference, AfterInference, OnToolCall, OnStageExit, OnCompletion, OnFailure}
	return &Course{Agent: "a", Model: "m", MaxRetries: 2, Stages: []StageCourse{
		{Name: "one", MaxTurns: 50, Next: "two", Points: every},
		{Name: "two", MaxTurns: 50, Points: every},
	}}
}

// Every point fires where the picture of stage hooks says, the entry stage's
// on_stage_enter included, and on_completion only once, for the last stage.
func TestPointsFireWhereThePictureSays(t *testing.T) {
	p := play(t, twoStages())
	p.decide(Event{})
	p.decide(Event{})
	p.answer("looking", "c1")
	p.decide(Event{})
	p.decide(Event{})
	p.next(Dispatch)
	p.begin("c1", Read)
	p.finish("c1")
	p.decide(Event{})
	p.answer("planned")
	p.decide(Event{})
	p.decide(Event{})
	p.decide(Event{})
	p.decide(Event{})
	p.answer("done")
	p.decide(Event{})
	p.decide(Event{})
	p.decide(Event{})
	p.wants(`started · enter one 0 · fire on_stage_enter · fire before_inference · model · usage · fire after_inference · message looking
		fire on_tool_call · dispatch c1 · result c1 ok
		fire before_inference · model · usage · fire after_inference · message planned · fire on_stage_exit
		leave one finished · enter two 1 · fire on_stage_enter · fire before_inference · model · usage · fire after_inference · message done
		fire on_stage_exit · leave two finished · fire on_completion · end done`)
	p.ended(RunDone, StopEnd, "")
	if got := p.state.Fired[BeforeInference]; got != 3 {
		t.Errorf("before_inference fired %d times, want 3", got)
	}
}

func TestAStageWithoutHooksAsksForNone(t *testing.T) {
	p := play(t, course())
	p.answer("", "c1", "bad")
	p.next(Dispatch)
	p.begin("c1", Execute)
	p.finish("c1")
	p.answer("done")
	p.wants(`started · enter one 0 · model · usage · result bad invalid · dispatch c1 · result c1 ok · model · usage · message done · leave one finished · end done`)
}

func TestCancelFiresNeitherTerminalHook(t *testing.T) {
	tests := map[string]struct {
		at   func(*played)
		want string
	}{
		"while the model is asked": {
			func(p *played) {}, "model · stop"},
		"while a hook is asked about a batch": {
			func(p *played) { p.answer("", "c1") },
			"model · usage · fire on_tool_call · stop · result c1 cancelled"},
		"while an approval is open": {
			func(p *played) {
				p.answer("", "c1")
				p.decide(Event{})
				p.apply(Event{Kind: Asked, CallID: "c1", ApprovalID: "a1", Digest: "d"})
			}, "model · usage · fire on_tool_call · dispatch c1 · stop · withdraw a1 · result c1 cancelled"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := play(t, course(OnToolCall, OnCompletion, OnFailure))
			tt.at(p)
			p.apply(Event{Kind: CancelWanted})
			p.apply(Event{Kind: CancelWanted}) // idempotent
			p.wants("started · enter one 0 · " + tt.want + " · leave one cancelled · end")
			p.ended(RunCancelled, StopUser, "")
		})
	}
}

func TestCancelWaitsForCallsThatRun(t *testing.T) {
	p := play(t, course(OnFailure))
	p.answer("", "c1", "c2", "c3")
	p.begin("c1", Execute)
	p.begin("c2", Read)
	p.apply(Event{Kind: CancelWanted})
	if p.state.Phase != Stopping {
		t.Fatalf("phase %v, want Stopping", p.state.Phase)
	}
	p.apply(Event{Kind: Finished, CallID: "c2", Result: &ToolResult{CallID: "c2", Outcome: CallCancelled, IsError: true}})
	p.apply(Event{Kind: StopWaiting})
	p.finish("c1") // too late
	p.wants(`started · enter one 0 · model · usage · dispatch c1,c2,c3 · stop · result c3 cancelled · result c2 cancelled · result c1 interrupted · leave one cancelled · end`)
}

func TestHookDecisions(t *testing.T) {
	text := func(s string) *string { return &s }
	tests := map[string]struct {
		points []string
		play   func(*played)
		status RunStatus
		stop   Stop
		why    string
		output string
	}{
		"cancel on_stage_enter": {[]string{OnStageEnter}, func(p *played) {
			p.decide(Event{Action: HookCancel, Reason: "not today"})
		}, RunFailed, StopHook, "on_stage_enter cancelled the run: not today", ""},
		"cancel without a reason": {[]string{BeforeInference}, func(p *played) {
			p.decide(Event{Action: HookCancel})
		}, RunFailed, StopHook, "no reason given", ""},
		"a broken gate": {[]string{OnToolCall}, func(p *played) {
			p.answer("", "c1")
			p.decide(Event{Action: HookBroken, Error: "guard.risor:3:5: it threw"})
		}, RunFailed, StopHook, "guard.risor:3:5", ""},
		"an answer that nobody knows": {[]string{OnToolCall}, func(p *played) {
			p.answer("", "c1")
			p.decide(Event{Action: "maybe"})
		}, RunFailed, StopHook, `answered "maybe"`, ""},
		"retry where there is none": {[]string{OnToolCall}, func(p *played) {
			p.answer("", "c1")
			p.decide(Event{Action: HookRetry})
		}, RunFailed, StopHook, "on_tool_call cannot retry", ""},
		"retry beyond the bound": {[]string{AfterInference}, func(p *played) {
			for range 3 {
				p.answer("no")
				p.decide(Event{Action: HookRetry, Reason: "say yes"})
			}
		}, RunFailed, StopHook, "more than 2 times in turn 1: say yes", ""},
		"retry within the bound": {[]string{AfterInference}, func(p *played) {
			p.answer("no")
			p.decide(Event{Action: HookRetry, Reason: "say yes"})
			p.answer("yes")
			p.decide(Event{})
		}, RunDone, StopEnd, "", "yes"},
		"after_inference replaces the text": {[]string{AfterInference}, func(p *played) {
			p.answer("loud")
			p.decide(Event{Action: HookModify, Text: text("quiet")})
		}, RunDone, StopEnd, "", "quiet"},
		"on_completion replaces the output": {[]string{OnCompletion}, func(p *played) {
			p.answer("  out ")
			p.decide(Event{Action: HookModify, Text: text("out")})
		}, RunDone, StopEnd, "", "out"},
		"on_completion cancels, then on_error fires": {[]string{OnCompletion, OnFailure}, func(p *played) {
			p.answer("out")
			p.decide(Event{Action: HookCancel, Reason: "not good"})
			p.decide(Event{Action: HookModify, Text: text("worded")})
		}, RunFailed, StopHook, "worded", "out"},
		"on_error cannot make it less failed": {[]string{OnStageEnter, OnFailure}, func(p *played) {
			p.decide(Event{Action: HookCancel, Reason: "first"})
			p.decide(Event{Action: HookCancel, Reason: "second"})
		}, RunFailed, StopHook, "first", ""},
		"a broken on_error": {[]string{OnStageEnter, OnFailure}, func(p *played) {
			p.decide(Event{Action: HookCancel, Reason: "first"})
			p.decide(Event{Action: HookBroken, Error: "e.risor:1:1: no"})
		}, RunFailed, StopHook, "on_error broke: e.risor:1:1", ""},
		"on_stage_exit does not fire after a failure": {[]string{OnStageExit}, func(p *played) {
			p.apply(Event{Kind: ModelFailed, Step: p.next(CallModel).Step, Error: "gone"})
		}, RunFailed, StopModel, "gone", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := play(t, course(tt.points...))
			tt.play(p)
			p.ended(tt.status, tt.stop, tt.why)
			if p.state.Output != tt.output {
				t.Errorf("output %q, want %q", p.state.Output, tt.output)
			}
			if err := WellFormed(p.state.History.Messages()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOnToolCallNarrows(t *testing.T) {
	tests := map[string]struct {
		decision Event
		want     string
	}{
		"deny all":  {Event{Action: HookDeny, Reason: "no"}, "result c1 denied · result c2 denied · model"},
		"deny one":  {Event{Action: HookDeny, Denied: []string{"c2"}}, "result c2 denied · dispatch c1"},
		"leave out": {Event{Action: HookModify, Calls: []HookedCall{{ID: "c2", Name: "tool", Arguments: json.RawMessage(`{"x":2}`)}}}, "result c1 denied · dispatch c2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := play(t, course(OnToolCall))
			p.answer("", "c1", "bad", "c2")
			p.decide(tt.decision)
			p.wants("started · enter one 0 · model · usage · result bad invalid · fire on_tool_call · " + tt.want)
		})
	}
	t.Run("the model's own call stays in the history", func(t *testing.T) {
		p := play(t, course(OnToolCall))
		p.answer("", "c1")
		p.decide(tests["leave out"].decision)
		p = play(t, course(OnToolCall))
		p.answer("", "c2")
		p.decide(tests["leave out"].decision)
		c, _ := p.state.Call("c2")
		if string(c.Arguments) != `{"x":2}` || string(c.Wanted.Arguments) != `{"x":1}` || !c.Hooked {
			t.Errorf("call %+v", c)
		}
		if got := p.state.History.Messages()[1].Blocks[0].Call.Arguments; string(got) != `{"x":1}` {
			t.Errorf("history has %s", got)
		}
	})
}

func TestApprovalWithEditedArgumentsGoesThroughTheHookAgain(t *testing.T) {
	p := play(t, course(OnToolCall))
	p.answer("", "c1", "c2")
	p.decide(Event{})
	p.apply(Event{Kind: Asked, CallID: "c1", ApprovalID: "a1", Digest: "d1"})
	p.apply(Event{Kind: Resolved, CallID: "c1", ApprovalID: "a0", Verdict: VerdictAllow}) // of another approval
	p.apply(Event{Kind: Resolved, CallID: "c1", ApprovalID: "a1", Verdict: VerdictAllow, Arguments: json.RawMessage(`{"x":9}`), Grant: "tool(x)"})
	p.next(Dispatch)
	p.decide(Event{})
	p.wants(`started · enter one 0 · model · usage · fire on_tool_call · dispatch c1,c2 · fire on_tool_call c1 · dispatch c1`)
	c, _ := p.state.Call("c1")
	if !c.Edited || c.Approved || string(c.Arguments) != `{"x":9}` || len(p.state.Grants) != 1 {
		t.Errorf("call %+v, grants %v", c, p.state.Grants)
	}
}

func TestStagesAndTransitions(t *testing.T) {
	base := func() *Course {
		return &Course{Agent: "a", Model: "m", Entry: "plan", Stages: []StageCourse{
			{Name: "plan", MaxTurns: 1, Next: "work", Transitions: []Transition{
				{To: "review", On: OnModelChoice, MaxVisits: 1}, {To: "rescue", On: OnError}, {To: "late", On: OnMaxTurns}}},
			{Name: "work", MaxTurns: 9}, {Name: "review", MaxTurns: 9, Next: "plan"}, {Name: "rescue", MaxTurns: 9}, {Name: "late", MaxTurns: 9},
		}}
	}
	t.Run("finished leads to next", func(t *testing.T) {
		p := play(t, base())
		p.answer("a")
		p.answer("b")
		p.wants("started · enter plan 0 · model · usage · message a · leave plan finished · enter work 1 · model · usage · message b · leave work finished · end b")
	})
	t.Run("max_turns", func(t *testing.T) {
		p := play(t, base())
		p.answer("", "c1")
		p.finish("c1")
		p.wants("started · enter plan 0 · model · usage · dispatch c1 · result c1 ok · leave plan max_turns · enter late 1 · model")
	})
	t.Run("max_turns that leads nowhere", func(t *testing.T) {
		c := course()
		c.Stages[0].MaxTurns = 1
		p := play(t, c)
		p.answer("", "c1")
		p.finish("c1")
		p.ended(RunFailed, StopLimit, `stage "one" reached its limit of 1 turns`)
	})
	t.Run("a failed model", func(t *testing.T) {
		p := play(t, base())
		p.apply(Event{Kind: ModelFailed, Step: p.next(CallModel).Step, Error: "down"})
		p.wants("started · enter plan 0 · model · leave plan error · enter rescue 1 · model")
	})
	t.Run("the model's choice, as often as it may", func(t *testing.T) {
		p := play(t, base())
		choose := func(id string) {
			a := &ModelAnswer{Blocks: []Block{{Kind: CallBlock, Call: &ToolCall{ID: id, Name: NextStageTool, Arguments: json.RawMessage(`{"stage":"review"}`)}}}}
			p.apply(Event{Kind: Answered, Step: p.next(CallModel).Step, Model: "m", Answer: a, Checked: []CheckedCall{{ID: id, Tool: NextStageTool}}})
			p.next(Dispatch)
			p.finish(id)
		}
		choose("c1")
		p.answer("reviewed")
		choose("c2")
		p.wants(`started · enter plan 0 · model · usage · dispatch c1 · result c1 ok · leave plan finished · enter review 1 · model · usage · message reviewed
			leave review finished · enter plan 2 · model · usage · dispatch c2 · result c2 ok · leave plan finished · enter work 3 · model`)
	})
}

func TestLimits(t *testing.T) {
	t.Run("turns", func(t *testing.T) {
		c := course(OnFailure)
		c.Limits.Turns = 1
		p := play(t, c)
		p.answer("", "c1")
		p.finish("c1")
		p.decide(Event{})
		p.ended(RunFailed, StopLimit, "limit of 1 turns")
	})
	t.Run("cost", func(t *testing.T) {
		c := course()
		c.Limits.Cost = 1
		p := play(t, c)
		a, checked := answerOf("", "c1")
		a.Usage.Cost = &Cost{Amount: 2, Currency: "USD"}
		p.apply(Event{Kind: Answered, Step: p.next(CallModel).Step, Answer: a, Checked: checked})
		p.finish("c1")
		p.ended(RunFailed, StopLimit, "1.00 USD")
	})
	t.Run("tokens", func(t *testing.T) {
		c := course()
		c.Limits.Tokens = 30
		p := play(t, c)
		p.answer("", "c1") // 11 of them
		p.finish("c1")
		a, checked := answerOf("", "c2")
		a.Usage = Usage{Input: 1, Output: 2, CacheRead: 10, CacheWrite: 6}
		p.apply(Event{Kind: Answered, Step: p.next(CallModel).Step, Answer: a, Checked: checked})
		p.finish("c2")
		p.ended(RunFailed, StopLimit, "limit of 30 tokens: it used 30")
	})
	t.Run("tokens of sub-agents", func(t *testing.T) {
		c := course()
		c.Limits.Tokens = 30
		p := play(t, c)
		p.apply(Event{Kind: Spent, ID: "child", Usage: &Usage{Input: 29}})
		if !p.state.Active() {
			t.Fatalf("ended: %+v", p.state.Ending)
		}
		p.apply(Event{Kind: Spent, ID: "child", Usage: &Usage{Input: 29, Output: 4}})
		p.ended(RunFailed, StopLimit, "limit of 30 tokens: it used 33")
	})
	t.Run("time does not count while somebody is asked", func(t *testing.T) {
		c := course()
		c.Limits.Time = time.Minute
		p := play(t, c)
		p.answer("", "c1")
		p.apply(Event{Kind: Asked, CallID: "c1", ApprovalID: "a1"})
		p.at = p.at.Add(24 * time.Hour)
		if _, counting := p.state.Remaining(p.at); counting {
			t.Error("the clock goes on while an approval is open")
		}
		p.apply(Event{Kind: Resolved, CallID: "c1", ApprovalID: "a1", Verdict: VerdictAllow})
		p.finish("c1")
		if !p.state.Active() {
			t.Fatalf("ended: %+v", p.state.Ending)
		}
		p.at = p.at.Add(time.Hour)
		p.answer("", "c2")
		p.finish("c2")
		p.ended(RunFailed, StopLimit, "1m0s")
	})
}

func TestSteering(t *testing.T) {
	text := func(s string) *string { return &s }
	p := play(t, course())
	p.answer("", "c1", "c2")
	p.begin("c1", Execute)
	p.apply(Event{Kind: Steered, ID: "s1", Text: text("look at b.go")})
	p.apply(Event{Kind: Steered, ID: "s2", Text: text("then stop"), FollowUp: true})
	p.finish("c1")
	messages := p.state.History.Messages()
	if r := messages[len(messages)-2].Blocks[1].Result; r.Outcome != CallCancelled || !strings.Contains(r.Text, "skipped") {
		t.Errorf("the call that had not begun: %+v", r)
	}
	if got := messages[len(messages)-1].Blocks[0].Text; got != "look at b.go" {
		t.Errorf("the last message is %q", got)
	}
	p.next(Dispatch)
	p.answer("done?")
	messages = p.state.History.Messages()
	if got := messages[len(messages)-1].Blocks[0].Text; got != "then stop" || !p.state.Active() {
		t.Errorf("the last message is %q, active %v", got, p.state.Active())
	}
	p.answer("stopped")
	p.ended(RunDone, StopEnd, "")
	p.wants(`started · enter one 0 · model · usage · dispatch c1,c2 · result c2 cancelled · drop c2 · result c1 ok · said s1 · model
		usage · message done? · said s2 · model · usage · message stopped · leave one finished · end stopped`)
}

func TestRegions(t *testing.T) {
	c := course(OnStageEnter)
	c.Stages[0].Regions = []RegionCourse{
		{Name: "notes", Kind: Pinned, MaxTokens: 4, Seed: "seed"},
		{Name: "scratch", Kind: Temporary},
		{Name: "tail", Kind: Sliding, MaxTokens: 2},
	}
	c.Stages[0].Next = "two"
	c.Stages = append(c.Stages, StageCourse{Name: "two", Regions: c.Stages[0].Regions})
	p := play(t, c)
	if err := p.state.CheckRegions(map[string]string{"nots": ""}); err == nil {
		t.Error("an unknown region passes")
	}
	if err := p.state.CheckRegions(map[string]string{"notes": strings.Repeat("x", 17)}); err == nil {
		t.Error("a region over its budget passes")
	}
	p.decide(Event{Action: HookModify, Regions: map[string]string{"notes": "new", "scratch": "gone soon", "tail": "0123456789", TaskRegion: "do that"}})
	if got := p.state.Regions; got["notes"] != "new" || got["tail"] != "23456789" {
		t.Errorf("regions %v", got)
	}
	if system := p.state.System(); !strings.Contains(system, "[host-1] region notes\nnew") {
		t.Errorf("system text lacks the region:\n%s", system)
	}
	if got := p.state.History.Messages()[0].Blocks[0].Text; got != "do that" {
		t.Errorf("the task in the history is %q", got)
	}
	p.answer("x")
	if got := p.state.Regions; got["notes"] != "new" || got["scratch"] != "" || got["tail"] != "23456789" {
		t.Errorf("regions in the next stage %v", got)
	}
}

func TestReplacedConversationLeavesOneReminder(t *testing.T) {
	p := play(t, course(BeforeInference))
	p.decide(Event{})
	p.answer("", "c1")
	p.next(Dispatch)
	p.finish("c1")
	if text := p.state.RegionTexts()[Conversation].(string); !strings.Contains(text, "result: ok") {
		t.Errorf("conversation %q", text)
	}
	p.decide(Event{Action: HookModify, Regions: map[string]string{Conversation: "in short"}})
	messages := p.state.History.Messages()
	if len(messages) != 1 || messages[0].Blocks[1].Kind != ReminderBlock || messages[0].Blocks[1].Text != "in short" {
		t.Errorf("history %+v", messages)
	}
}

func TestResume(t *testing.T) {
	t.Run("calls", func(t *testing.T) {
		p := play(t, course())
		p.answer("", "done", "writes", "reads", "asks", "queued")
		p.finish("done")
		p.begin("writes", Write)
		p.begin("reads", Read)
		p.apply(Event{Kind: Asked, CallID: "asks", ApprovalID: "a1", Digest: "d"})
		p.log = nil
		p.apply(Event{Kind: RunResumed})
		p.wants("result writes interrupted · dispatch reads,asks,queued")
	})
	t.Run("the last call of a batch", func(t *testing.T) {
		p := play(t, course())
		p.answer("", "writes")
		p.begin("writes", Write)
		p.log = nil
		p.apply(Event{Kind: RunResumed})
		p.wants("result writes interrupted · model")
	})
	t.Run("a hook and the model", func(t *testing.T) {
		p := play(t, course(OnStageEnter))
		p.todo, p.log = nil, nil
		p.apply(Event{Kind: RunResumed})
		p.decide(Event{})
		p.todo = nil
		p.apply(Event{Kind: RunResumed})
		p.wants("fire on_stage_enter · model · model")
		if got := p.state.Fired[OnStageEnter]; got != 1 {
			t.Errorf("fired %d times, want 1", got)
		}
	})
	t.Run("a run that is over", func(t *testing.T) {
		p := play(t, course())
		p.answer("x")
		p.log = nil
		p.apply(Event{Kind: RunResumed})
		p.wants("")
	})
}

func TestHookStateKeepsNumbers(t *testing.T) {
	in := HookState{"n": int64(3), "f": 3.0, "big": int64(1) << 60, "l": []any{nil, true, 0.5, "x"}}
	text, err := json.Marshal(Event{Kind: HookDecided, States: map[string]HookState{"h": in}})
	if err != nil {
		t.Fatal(err)
	}
	var out Event
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out.States["h"]); diff != "" {
		t.Errorf("state after a resume differs:\n%s", diff)
	}
}

func TestRepair(t *testing.T) {
	call := func(id string) Block { return Block{Kind: CallBlock, Call: &ToolCall{ID: id, Name: "t"}} }
	result := func(id string) Block { return Block{Kind: ResultBlock, Result: &ToolResult{CallID: id}} }
	text := Block{Kind: TextBlock, Text: "x"}
	user, model := func(b ...Block) Message { return Message{Role: User, Blocks: b} }, func(b ...Block) Message { return Message{Role: Assistant, Blocks: b} }
	tests := map[string][]Message{
		"right":             {user(text), model(call("a")), user(result("a"))},
		"no result":         {user(text), model(call("a"))},
		"half the results":  {user(text), model(call("a"), call("b")), user(result("b"))},
		"wrong order":       {user(text), model(call("a"), call("b")), user(result("b"), result("a"))},
		"twice":             {user(text), model(call("a")), user(result("a"), result("a"))},
		"result from ahead": {user(result("a")), model(call("a")), user(text)},
		"empty message":     {user(), model(text)},
		"call of the user":  {user(call("a"))},
		"same call twice":   {model(call("a")), user(result("a")), model(call("a")), user(result("a"))},
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			out, touched := Repair(in)
			if err := WellFormed(out); err != nil {
				t.Errorf("after the repair: %v", err)
			}
			if wrong := WellFormed(in) != nil; wrong && cmp.Equal(in, out) || !wrong && len(touched) > 0 {
				t.Errorf("touched %v", touched)
			}
		})
	}
}

// Choosing a model leaves the mode as the run was started with, and what was
// chosen for a run that is over does not reach into one that was started with
// something else.
func TestAChoiceOfAModelKeepsTheMode(t *testing.T) {
	c := &Course{Mode: ModePlan, Model: "m", Entry: "work", Stages: []StageCourse{{Name: "work", MaxTurns: 5}}}
	s, _ := Apply(State{}, Event{Kind: Set, Mode: ModeAuto})
	start := Event{Kind: Started, RunID: "r", SessionID: "s", Course: c, Prompt: []Block{{Kind: TextBlock, Text: "x"}}}
	s, _ = Apply(s, start)
	s, _ = Apply(s, Event{Kind: Set, Model: "other"})
	if got := s.NextMode(); got != ModePlan {
		t.Errorf("the next turn's mode is %s, want plan", got)
	}
	s, _ = Apply(s, Event{Kind: Set, Mode: ModeAuto})
	if got := s.NextMode(); got != ModeAuto {
		t.Errorf("the chosen mode is not the next one: %s", got)
	}
	s, _ = Apply(s, Event{Kind: CancelWanted})
	s, _ = Apply(s, Event{Kind: StopWaiting})
	if s.Active() {
		t.Fatal("the run is not over")
	}
	s, _ = Apply(s, start)
	if got := s.NextMode(); got != ModePlan {
		t.Errorf("the next run was started in plan and would go on in %s", got)
	}
}
