package loop

import "testing"

func TestLabels(t *testing.T) {
	for _, tt := range []struct {
		a, b  Label
		above bool
		with  Label
	}{
		{NoLabel, Public, false, Public},
		{Public, NoLabel, false, Public},
		{NoLabel, NoLabel, false, NoLabel},
		{Internal, NoLabel, true, Internal},
		{Internal, Public, true, Internal},
		{Public, Internal, false, Internal},
		{Private, Internal, true, Private},
		{"secret", Private, true, "secret"}, // unknown: never more open than what is known
	} {
		if got := tt.a.Above(tt.b); got != tt.above {
			t.Errorf("%q.Above(%q) = %t", tt.a, tt.b, got)
		}
		if got := tt.a.With(tt.b); got != tt.with {
			t.Errorf("%q.With(%q) = %q, want %q", tt.a, tt.b, got, tt.with)
		}
	}
}

func TestTheContextKeepsTheHighestLabel(t *testing.T) {
	s := State{Taint: Internal, Status: RunActive, Phase: Acting, Course: &Course{Stages: []StageCourse{{Name: "work"}}}, Stage: "work",
		Batch: []Call{{ID: "a", Phase: CallRunning}, {ID: "b", Phase: CallRunning}}}
	s, _ = Apply(s, Event{Kind: Finished, CallID: "a", Result: &ToolResult{CallID: "a", Outcome: CallOK}, Label: Private})
	if s.Taint != Private {
		t.Errorf("after what is private: %q", s.Taint)
	}
	s, _ = Apply(s, Event{Kind: Finished, CallID: "b", Result: &ToolResult{CallID: "b", Outcome: CallOK}, Label: Public})
	if s.Taint != Private {
		t.Errorf("after what is public: %q", s.Taint)
	}
	s.Status = RunDone
	next, _ := Apply(s, Event{Kind: Started, Course: s.Course, Prompt: []Block{{Kind: TextBlock, Text: "again"}}})
	if next.Taint != Private {
		t.Errorf("in the session's next run: %q", next.Taint)
	}
	fresh, _ := Apply(State{}, Event{Kind: Started, Course: s.Course, Prompt: []Block{{Kind: TextBlock, Text: "sub"}}, Label: Internal})
	if fresh.Taint != Internal {
		t.Errorf("a sub-agent of a tainted run: %q", fresh.Taint)
	}
}
