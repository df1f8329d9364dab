package loop

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// FuzzInterleavings plays any interleaving of events, those that do not belong
// included, and checks what must hold whatever happens: each request carries a
// well-formed history, a run ends once and nothing follows its end, stages are
// left once for each time they are entered, each call gets one result, and
// Apply leaves the state that it was given as it was.
func FuzzInterleavings(f *testing.F) {
	for seed := range 40 {
		b := make([]byte, 200)
		x := uint32(seed*2654435761 + 1)
		for i := range b {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			b[i] = byte(x >> 8)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		if len(choices) > 600 {
			choices = choices[:600]
		}
		i := &interleaving{t: t, choices: choices, at: t0, results: map[string]int{}}
		i.run()
	})
}

type interleaving struct {
	t       *testing.T
	choices []byte
	at      time.Time
	state   State
	pending []Command
	calls   int
	runs    int
	ended   bool
	entered int
	left    int
	results map[string]int
}

func (f *interleaving) pick(n int) int {
	if len(f.choices) == 0 {
		return 0
	}
	c := int(f.choices[0])
	f.choices = f.choices[1:]
	return c % n
}

func (f *interleaving) run() {
	for len(f.choices) > 0 {
		if !f.state.Active() && f.pick(3) > 0 {
			f.start()
			continue
		}
		f.apply(f.event())
	}
	// Whatever it came to, the user can end it.
	f.apply(Event{Kind: CancelWanted})
	f.apply(Event{Kind: StopWaiting}) // for the calls that still run
	f.apply(Event{Kind: StopWaiting}) // for the hooks that see it end
	if f.state.Active() {
		f.t.Fatalf("still active in phase %d after a cancel", f.state.Phase)
	}
	if err := WellFormed(f.state.History.Messages()); err != nil {
		f.t.Fatalf("at the end: %v", err)
	}
}

func (f *interleaving) start() {
	every := []string{OnStageEnter, BeforeInference, AfterInference, OnToolCall, OnStageExit, OnCompletion, OnFailure, OnReject}
	var points []string
	for _, p := range every {
		if f.pick(2) == 0 {
			points = append(points, p)
		}
	}
	c := &Course{Agent: "a", Model: "m", MaxRetries: 1, Limits: CourseLimits{Turns: 1 + f.pick(9), Time: time.Hour}, Stages: []StageCourse{
		{Name: "one", MaxTurns: 1 + f.pick(3), Next: "two", Points: points, Regions: []RegionCourse{{Name: "r", Kind: Pinned}},
			Transitions: []Transition{{To: "two", On: OnError, MaxVisits: 2}}},
		{Name: "two", MaxTurns: 2, Points: points, Transitions: []Transition{{To: "one", On: OnModelChoice, MaxVisits: 2}}},
	}}
	if f.pick(2) == 0 {
		c.Wire = WireCourse{Tail: &TailCourse{Threshold: 300, LowWater: float64(f.pick(2)) / 2}, StaleReads: []string{"", "notice", "stub"}[f.pick(3)], KeepTurns: f.pick(3), Full: []int{0, 10, 30}[f.pick(3)]}
	}
	for _, p := range []string{UserPrompt, StopPoint, Closes} {
		if f.pick(3) == 0 {
			c.Points = append(c.Points, p)
		}
	}
	f.runs++
	f.ended, f.entered, f.left = false, 0, 0
	f.apply(Event{Kind: Started, RunID: fmt.Sprint("r", f.runs), SessionID: "s", Mark: "m", Course: c, Prompt: []Block{{Kind: TextBlock, Text: "go"}}})
}

func (f *interleaving) apply(e Event) {
	f.at = f.at.Add(time.Second)
	e.At = f.at
	before := f.state
	frozen := freeze(before)
	next, commands := Apply(before, e)
	// Another event on the same state, as a second process might see it.
	Apply(before, Event{Kind: CancelWanted, At: f.at})
	if again, _ := Apply(before, e); !reflect.DeepEqual(freeze(again), freeze(next)) {
		f.t.Fatalf("Apply of %s twice gives two states", e.Kind)
	}
	if freeze(before) != frozen {
		f.t.Fatalf("Apply of %s changed the state that it was given", e.Kind)
	}
	f.state = next
	if n, v := next.History.Len(), next.View; v.Cutoff > n || v.Tail > n || v.Plain > n {
		f.t.Fatalf("the view %+v is longer than the history of %d", v, n)
	}
	for _, c := range commands {
		f.check(e, c)
	}
}

// freeze is everything of a state as text.
func freeze(s State) string {
	text, err := json.Marshal(struct {
		State    State
		Messages []Message
	}{s, s.History.Messages()})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (f *interleaving) check(e Event, c Command) {
	if f.ended {
		f.t.Fatalf("command %+v behind the end of the run (event %s)", c, e.Kind)
	}
	switch c.Kind {
	case CallModel:
		if err := WellFormed(f.state.History.Messages()); err != nil {
			f.t.Fatalf("a request after %s: %v", e.Kind, err)
		}
		f.pending = append(f.pending, c)
	case SumUp:
		if !f.state.parts(c.Until) {
			f.t.Fatalf("a summary until %d of %d messages parts a call from its result", c.Until, f.state.History.Len())
		}
		f.pending = append(f.pending, c)
	case FireHook, Dispatch, CheckCalls, Close:
		if !f.state.Current().Has(c.Point) && !f.state.Course.Has(c.Point) && c.Kind == FireHook {
			f.t.Fatalf("%s is fired, nothing is declared for it", c.Point)
		}
		f.pending = append(f.pending, c)
	case Tell:
		switch c.What {
		case TellStageEntered:
			f.entered++
		case TellStageLeft:
			f.left++
		case TellCall:
			if f.results[c.CallID]++; f.results[c.CallID] > 1 {
				f.t.Fatalf("call %s has two results", c.CallID)
			}
		case TellRunFinished:
			f.ended = true
			if f.entered != f.left {
				f.t.Fatalf("%d stages entered, %d left", f.entered, f.left)
			}
			if err := WellFormed(f.state.History.Messages()); err != nil {
				f.t.Fatalf("at the end of a run: %v", err)
			}
		}
	}
}

// event is an answer to something pending, or anything else.
func (f *interleaving) event() Event {
	if len(f.pending) > 0 && f.pick(3) > 0 {
		k := f.pick(len(f.pending))
		c := f.pending[k]
		if f.pick(4) > 0 { // else it will be answered twice
			f.pending = append(f.pending[:k:k], f.pending[k+1:]...)
		}
		switch c.Kind {
		case FireHook:
			return f.decision(c)
		case CallModel:
			return f.modelAnswer(c)
		case CheckCalls:
			return Event{Kind: CallsChecked, Step: c.Step, Results: []ToolResult{{CallID: c.Calls[0], Outcome: CallInvalid}}}
		case SumUp:
			text := "summary"
			return Event{Kind: []EventKind{Compacted, Compacted, CompactFailed}[f.pick(3)], Step: c.Step, Until: c.Until, Text: &text, Usage: &Usage{Input: 1}, After: 5}
		case Close:
			return Event{Kind: Closed, Step: c.Step}
		case Dispatch:
			return f.callEvent(c.Calls[f.pick(len(c.Calls))])
		}
	}
	text := "steer"
	other := []Event{
		{Kind: Overflowed, Step: f.state.Step, Cutoff: f.pick(20)}, {Kind: Unthought, Step: f.state.Step}, {Kind: Repaired, Step: f.state.Step},
		{Kind: Compacted, Step: int64(f.pick(30)), Until: f.pick(9), Text: &text}, {Kind: Compacted, Until: f.pick(9), Text: &text},
		{Kind: CancelWanted}, {Kind: TimeExpired}, {Kind: StopWaiting}, {Kind: RunResumed}, {Kind: HostFailed, Error: "x"},
		{Kind: Steered, ID: "s", Text: &text, FollowUp: f.pick(2) == 0}, {Kind: Noted}, {Kind: "unheard of"}, {Kind: Started},
		{Kind: Answered, Step: int64(f.pick(30)), Answer: &ModelAnswer{}}, {Kind: Finished, CallID: "c1", Result: &ToolResult{CallID: "c1"}},
		{Kind: HookDecided, Point: OnToolCall, Action: HookAllow, Step: int64(f.pick(30))},
		{Kind: CallsChecked, Step: int64(f.pick(30))}, {Kind: Nudge, ID: "n", Text: &text}, {Kind: Ended, Stop: StopPolicy, Error: "enough"},
	}
	if len(f.state.Batch) > 0 && f.pick(3) > 0 {
		return f.callEvent(f.state.Batch[f.pick(len(f.state.Batch))].ID)
	}
	if f.pick(4) > 0 {
		return Event{Kind: Noted}
	}
	return other[f.pick(len(other))]
}

func (f *interleaving) decision(c Command) Event {
	text := "worded"
	actions := []HookAction{HookAllow, HookAllow, HookAllow, HookModify, HookDeny, HookCancel, HookRetry, HookBroken, "?"}
	e := Event{Kind: HookDecided, Step: c.Step, Point: c.Point, CallID: c.CallID, Action: actions[f.pick(len(actions))], Reason: "r"}
	if e.Action == HookModify {
		switch c.Point {
		case OnToolCall:
			for _, call := range f.state.Batch {
				if f.pick(2) == 0 {
					e.Calls = append(e.Calls, HookedCall{ID: call.ID, Name: "tool", Arguments: json.RawMessage(`{"y":1}`)})
				}
			}
		case AfterInference, OnCompletion, OnFailure, UserPrompt:
			e.Text = &text
		default:
			e.Regions = map[string]string{"r": "x", Conversation: "short", TaskRegion: "t"}
		}
	}
	return e
}

func (f *interleaving) modelAnswer(c Command) Event {
	if f.pick(8) == 0 {
		return Event{Kind: ModelFailed, Step: c.Step, Error: "down"}
	}
	var ids []string
	for range f.pick(4) {
		f.calls++
		ids = append(ids, fmt.Sprint("c", f.calls))
	}
	a, checked := answerOf([]string{"", "text"}[f.pick(2)], ids...)
	if f.pick(4) == 0 && len(checked) > 0 {
		checked[0].Invalid = "no"
	}
	if f.pick(6) == 0 && len(ids) > 0 {
		checked[0].Tool, checked[0].Arguments = NextStageTool, json.RawMessage(`{"stage":"one"}`)
	}
	return Event{Kind: Answered, Step: c.Step, Model: "m", Answer: a, Checked: checked}
}

func (f *interleaving) callEvent(id string) Event {
	c, _ := f.state.Call(id)
	switch f.pick(7) {
	case 3:
		return Event{Kind: Gated, CallID: id, Digest: "d", Arguments: json.RawMessage(`{"g":1}`)}
	case 0:
		return Event{Kind: Asked, CallID: id, ApprovalID: "a" + id, Digest: "d"}
	case 1:
		e := Event{Kind: Resolved, CallID: id, ApprovalID: c.ApprovalID, Verdict: []Verdict{VerdictAllow, VerdictDeny}[f.pick(2)]}
		if f.pick(2) == 0 {
			e.Arguments = json.RawMessage(`{"z":1}`)
		}
		return e
	case 2:
		return Event{Kind: Begun, CallID: id, Effect: []Effect{Read, Write}[f.pick(2)]}
	}
	e := Event{Kind: Finished, CallID: id, Result: &ToolResult{CallID: id, Outcome: CallOK, Text: strings.Repeat("x", 300*f.pick(2))}}
	if f.pick(2) == 0 {
		e.Saw = map[string]string{"/a": "1"}
	}
	if f.pick(3) == 0 {
		e.Changes = []FileChange{{Path: "/a"}}
	}
	return e
}
