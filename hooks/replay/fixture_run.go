package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// CaseResult is what a case came to. It passed when there are no Mismatches.
type CaseResult struct {
	Case       *Case
	Decision   hooks.Decision
	Mismatches []Mismatch
}

// Mismatch is one thing that a case wants and did not get.
type Mismatch struct {
	Span check.Span // in the fixture
	What string     // the key of want, or what else it is about
	Want string
	Got  string
}

// String is the mismatch in one line.
func (m Mismatch) String() string {
	if m.Want == "" {
		return m.What + ": " + m.Got
	}
	return fmt.Sprintf("%s: got %s, want %s", m.What, m.Got, m.Want)
}

// Test asks the script about a case of its fixture, in a worker and within the
// limits of a firing, as a run would.
func (s *Script) Test(ctx context.Context, c *Case) CaseResult {
	out := CaseResult{Case: c}
	fixed := &fixedAnswers{left: c.Decide}
	full, err := contract.ByName(c.Event).Context(c.Ctx, c.State)
	if err != nil || !slices.Contains(s.events, c.Event) {
		out.Mismatches = append(out.Mismatches, Mismatch{Span: c.Span, What: "event", Got: fmt.Sprintf("the script cannot be asked about %s", c.Event)})
		return out
	}
	a := s.script.Ask(ctx, hooks.Moment{Event: c.Event, At: c.At, Ctx: full, Decide: fixed.decide})
	out.Decision = a.Decision
	out.Mismatches = append(fixed.wrong, c.compare(&a)...)
	for _, unused := range fixed.left {
		out.Mismatches = append(out.Mismatches, Mismatch{Span: unused.Span, What: "decide", Got: "this answer was not asked for"})
	}
	for i := range out.Mismatches {
		if out.Mismatches[i].Span == (check.Span{}) {
			out.Mismatches[i].Span = c.Span
		}
	}
	return out
}

// compare holds an answer against what the case wants.
func (c *Case) compare(a *hooks.Answered) []Mismatch {
	w, v := &c.Want, &a.Verdict
	var out []Mismatch
	differ := func(key, got, want string) {
		out = append(out, Mismatch{Span: w.spans[key], What: key, Want: want, Got: got})
	}
	failure := a.Decision.Error
	if w.Action != contract.NoAction && a.Decision.Action != w.Action.String() {
		got := told(a.Decision.Action, v.Reason)
		if failure != nil {
			got = "error: " + failure.Message
		}
		key := "action"
		if !w.Given[key] {
			key = "error"
		}
		differ(key, got, w.Action.String())
		return out // what else is not as it should be follows from this
	}
	if failure != nil {
		if w.Action != contract.Failed {
			return append(out, Mismatch{Span: c.Span, What: "the script failed", Got: failure.Message})
		}
		if w.Given["error"] && !strings.Contains(failure.Message, w.Error) {
			differ("error", shown(failure.Message), "something with "+shown(w.Error)+" in it")
		}
	}
	if w.Given["reason"] && v.Reason != w.Reason {
		differ("reason", shown(v.Reason), shown(w.Reason))
	}
	if w.Given["value"] {
		if !v.HasValue {
			differ("value", "no value", shown(w.Value))
		} else if at := differing(v.Value, w.Value); len(at) > 0 {
			differ("value", shown(v.Value)+atPointers(at), shown(w.Value))
		}
	}
	if w.Given["is_error"] && v.IsError != w.IsError {
		differ("is_error", shown(v.IsError), shown(w.IsError))
	}
	if w.Given["calls"] && !slices.Equal(v.Calls, w.Calls) {
		differ("calls", calls(v.Calls), calls(w.Calls))
	}
	if w.Given["state"] {
		if !v.HasState {
			differ("state", "no state", shown(w.State))
		} else if at := differing(v.State, w.State); len(at) > 0 {
			differ("state", shown(v.State)+atPointers(at), shown(w.State))
		}
	}
	if w.Given["printed"] && !strings.Contains(a.Decision.Printed, w.Printed) {
		differ("printed", shown(a.Decision.Printed), "something with "+shown(w.Printed)+" in it")
	}
	return out
}

// differing names what is not the same in two values. A member that is nil and
// one that is left out are the same, since TOML has no nil; so are 3 and 3.0.
func differing(got, want any) []string {
	return hooks.Differing(alike(want), alike(got))
}

func alike(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if e != nil {
				out[k] = alike(e)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = alike(e)
		}
		return out
	case float64:
		if i := int64(v); float64(i) == v {
			return i
		}
	}
	return v
}

func atPointers(at []string) string {
	if len(at) == 0 || at[0] == "" {
		return ""
	}
	return " (another at " + pointers(at) + ")"
}

// maxValue bounds a value in a mismatch, in bytes.
const maxValue = 2000

func shown(v any) string {
	text, err := contract.WritePlain(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > maxValue {
		return strings.ToValidUTF8(string(text[:maxValue]), "") + "…"
	}
	return string(text)
}

// fixedAnswers answers hook.decide from a case. It is used by one firing.
type fixedAnswers struct {
	left  []FixedAnswer
	wrong []Mismatch
}

func (f *fixedAnswers) decide(_ context.Context, question string, _ any) map[string]any {
	no := func(reason string) map[string]any {
		return map[string]any{"ok": false, "reason": reason, "answers": nil, "usage": noUsage()}
	}
	if len(f.left) == 0 {
		f.wrong = append(f.wrong, Mismatch{What: "decide", Got: "the case has no answer for the question " + quoted(question)})
		return no("the case has no answer for it")
	}
	a := f.left[0]
	f.left = f.left[1:]
	if a.HasQuestion && a.Question != question {
		f.wrong = append(f.wrong, Mismatch{Span: a.Span, What: "decide", Got: shown(question), Want: shown(a.Question)})
	}
	if a.Refused != "" || a.Answers == nil {
		return no(a.Refused)
	}
	return map[string]any{"ok": true, "reason": nil, "answers": a.Answers, "usage": noUsage()}
}

func noUsage() map[string]any {
	return map[string]any{"input": int64(0), "output": int64(0), "cache_read": int64(0), "cache_write": int64(0)}
}
