package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// heardAll are the events about calls, in the order of the contract.
var heardAll = []string{
	"tool:unknown", "validation:reject", "validation:coerce", "tool:gate", "mcp:tool:gate", "tool:dispatched", "tool:before",
	"mcp:tool:before", "tool:error", "tool:transform", "tool:after", "tool:cancelled", "mcp:tool:error", "mcp:tool:transform",
	"mcp:tool:after", "tool-results:after", "budget:exceeded", "tool-budget:exceeded", "repeat-guard:exceeded", "steer:inject",
	loop.OnToolCall, loop.BeforeInference,
}

// ear writes down what hooks hear, one line for each firing.
type ear struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (e *ear) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.lines)
}

// listen declares a hook for every event about calls; answers gives what the
// hook of an event says, where it says something.
func (r *rig) listen(answers map[string]hookFunc) *ear {
	e := &ear{}
	for _, event := range heardAll {
		r.hooks["work/"+event] = func(f hooks.Firing) hooks.Outcome {
			e.mu.Lock()
			e.lines = append(e.lines, heardLine(f))
			e.mu.Unlock()
			if answer := answers[f.Event]; answer != nil {
				return answer(f)
			}
			return hooks.Outcome{Action: contract.Allow}
		}
	}
	return e
}

func heardLine(f hooks.Firing) string {
	parts := []string{f.Event}
	for _, name := range []string{"name", "input", "outcome", "layer", "result", "is_error", "error", "coercions", "resumed", "resume_state", "count", "text", "bytes"} {
		switch v := f.Fields[name]; v := v.(type) {
		case nil:
		case bool:
			if v {
				parts = append(parts, name)
			}
		case map[string]any:
			if len(v) > 0 {
				parts = append(parts, fmt.Sprint(name, "=", v))
			}
		default:
			if s := fmt.Sprint(v); s != "" {
				parts = append(parts, fmt.Sprint(name, "=", s))
			}
		}
	}
	return strings.Join(parts, " ")
}

// outputs are the results of a run's calls, in order.
func (r *rig) outputs() []string {
	var out []string
	for _, e := range r.screen.all() {
		if e.Type == report.ToolFinished {
			out = append(out, e.Outcome+": "+*e.Output)
		}
	}
	return out
}

func says(o hooks.Outcome) hookFunc { return func(hooks.Firing) hooks.Outcome { return o } }

// The events about calls come in the order of the contract: those of
// validation for the batch, then gate to start for each call that runs beside
// others, then end for each, then the batch.
func TestOrderOfTheEventsAboutCalls(t *testing.T) {
	r := newRig(t)
	e := r.listen(nil)
	r.model.turns = []turn{
		{calls: []string{`look {"at":"a"}`, `look {"at":2}`, `lok {}`, `look {"to":"x"}`, `slow {}`}},
		{text: "done"},
	}
	r.wait(r.start("x").RunID)
	want := []string{
		"before_inference",
		`validation:coerce name=look input=map[at:2] coercions=[map[after:2 before:2 path:/at]]`,
		`tool:unknown name=lok result=unknown tool "lok", did you mean "look"?`,
		`tool:dispatched name=lok outcome=unknown layer=schema`,
		`validation:reject name=look input=map[to:x] error=look has no parameter "to"; it takes at`,
		`tool:dispatched name=look input=map[to:x] outcome=invalid layer=schema`,
		"on_tool_call",
		"tool:gate name=look input=map[at:a]",
		"tool:dispatched name=look input=map[at:a] outcome=run layer=rule",
		"tool:before name=look input=map[at:a]",
		"tool:gate name=look input=map[at:2] coercions=[map[after:2 before:2 path:/at]]",
		"tool:dispatched name=look input=map[at:2] outcome=run layer=rule",
		"tool:before name=look input=map[at:2] coercions=[map[after:2 before:2 path:/at]]",
		`tool:transform name=look input=map[at:a] result=seen {"at":"a"}`,
		`tool:after name=look input=map[at:a] outcome=ok result=seen {"at":"a"}`,
		`tool:transform name=look input=map[at:2] result=seen {"at":"2"} coercions=[map[after:2 before:2 path:/at]]`,
		`tool:after name=look input=map[at:2] outcome=ok result=seen {"at":"2"} coercions=[map[after:2 before:2 path:/at]]`,
		"tool:gate name=slow",
		"tool:dispatched name=slow outcome=run layer=rule",
		"tool:before name=slow",
		"tool:transform name=slow result=slow {}",
		"tool:after name=slow outcome=ok result=slow {}",
		"tool-results:after",
		"before_inference",
	}
	if diff := cmp.Diff(want, e.all()); diff != "" {
		t.Errorf("the hooks heard (-want +got):\n%s", diff)
	}
}

func TestWhatAGateSays(t *testing.T) {
	broken := hooks.Outcome{Action: contract.Failed, Failure: &hooks.Failure{Message: "it threw", Kind: hooks.ScriptFailure}}
	tests := map[string]struct {
		event  string
		says   hooks.Outcome
		output string // of the call
		runs   int    // how often the tool ran
		ends   string // the run's error, "" when it is done
		heard  []string
		absent []string
	}{
		"deny": {"tool:gate", hooks.Outcome{Action: contract.Deny, Reason: "not on a Friday"},
			"denied: denied by a hook: not on a Friday", 0, "",
			[]string{"tool:dispatched name=slow outcome=denied layer=hook"}, []string{"tool:before", "tool:transform", "tool:after"}},
		"substitute": {"tool:gate", hooks.Outcome{Action: contract.Substitute, Value: map[string]any{"n": int64(1)}},
			`substituted: {"n":1}`, 0, "", []string{"tool:dispatched name=slow outcome=substituted layer=hook"}, []string{"tool:before"}},
		"substitute with an error": {"tool:gate", hooks.Outcome{Action: contract.Substitute, Value: "gone", IsError: true},
			"substituted: gone", 0, "", nil, nil},
		"modify": {"tool:gate", hooks.Outcome{Action: contract.Modify, Value: map[string]any{"n": int64(7)}},
			`ok: slow {"n":7}`, 1, "", []string{"tool:before name=slow input=map[n:7]", `tool:after name=slow input=map[n:7] outcome=ok result=slow {"n":7}`}, nil},
		"modify that does not fit": {"tool:gate", hooks.Outcome{Action: contract.Modify, Value: map[string]any{"n": "x"}},
			"invalid: changed by tool:gate: the arguments of slow do not fit: n: got string, want integer", 0, "", []string{"tool:dispatched name=slow outcome=invalid layer=hook"}, nil},
		"cancel": {"tool:gate", hooks.Outcome{Action: contract.Cancel, Reason: "enough"},
			"cancelled: it did not run: the run ended: tool:gate cancelled the run: enough", 0, "tool:gate cancelled the run: enough", nil, []string{"tool:before"}},
		"broken": {"tool:gate", broken,
			"cancelled: it did not run: the run ended: tool:gate: it threw", 0, "tool:gate: it threw", nil, []string{"tool:before"}},
		"transform": {"tool:transform", hooks.Outcome{Action: contract.Modify, Value: map[string]any{"result": "<redacted>", "is_error": true}},
			"error: <redacted>", 1, "", []string{"tool:after name=slow outcome=error result=<redacted> is_error"}, nil},
		"a broken transform": {"tool:transform", broken,
			"ok: the result is withheld, since its hooks did not see it: tool:transform: it threw", 1, "tool:transform: it threw", nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			e := r.listen(map[string]hookFunc{tt.event: says(tt.says)})
			r.model.turns = []turn{{calls: []string{`slow {}`}}, {text: "done"}}
			end := r.wait(r.start("x").RunID)
			if got := r.outputs(); len(got) != 1 || got[0] != tt.output {
				t.Errorf("the call's result: %q, want %q", got, tt.output)
			}
			if r.slow.runs != tt.runs {
				t.Errorf("the tool ran %d times, want %d", r.slow.runs, tt.runs)
			}
			if end.Error != tt.ends || (tt.ends != "") != (end.Status == report.Failed && end.StopReason == report.StopHook) {
				t.Errorf("the run ended %s, %s: %q, want %q", end.Status, end.StopReason, end.Error, tt.ends)
			}
			heard := strings.Join(e.all(), "\n") + "\n"
			for _, want := range tt.heard {
				if !strings.Contains(heard, want+"\n") {
					t.Errorf("nobody heard %q in:\n%s", want, heard)
				}
			}
			for _, no := range tt.absent {
				if strings.Contains(heard, no) {
					t.Errorf("%q was heard in:\n%s", no, heard)
				}
			}
		})
	}
}

func TestAnUnknownToolIsAnswered(t *testing.T) {
	tests := map[string]struct {
		says   hooks.Outcome
		output string
	}{
		"in other words": {hooks.Outcome{Action: contract.Modify, Value: map[string]any{"result": "write the plan as text", "suppress_error": true}}, "invalid: write the plan as text"},
		"in its place":   {hooks.Outcome{Action: contract.Substitute, Value: "planned"}, "substituted: planned"},
		"with a refusal": {hooks.Outcome{Action: contract.Deny, Reason: "no"}, "invalid: denied by a hook: no"},
		"not at all":     {hooks.Outcome{Action: contract.Allow}, `invalid: unknown tool "EnterPlanMode"; there are look, change, append, slow, next_stage, spawn, ask_user`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.listen(map[string]hookFunc{"tool:unknown": says(tt.says)})
			r.model.turns = []turn{{calls: []string{`EnterPlanMode {}`}}, {text: "done"}}
			if end := r.wait(r.start("x").RunID); end.Status != report.Done {
				t.Fatalf("ended %s: %s", end.Status, end.Error)
			}
			if got := r.outputs(); len(got) != 1 || got[0] != tt.output {
				t.Errorf("results %q, want %q", got, tt.output)
			}
		})
	}
}

// A gate is asked once for a call and its arguments; arguments that a person
// edited are others.
func TestAGateIsAskedOncePerCallAndArguments(t *testing.T) {
	for _, edited := range []bool{false, true} {
		r := newRig(t)
		e := r.listen(nil)
		delete(r.hooks, "work/"+loop.OnToolCall)
		r.verdict["slow"] = loop.VerdictAsk
		r.screen.answer = func(_ context.Context, a report.Approval) (report.Answer, error) {
			answer := report.Answer{Outcome: report.AllowOnce}
			if edited && strings.Contains(string(a.Arguments), "1") {
				answer.Arguments = []byte(`{"n":2}`)
			}
			return answer, nil
		}
		r.model.turns = []turn{{calls: []string{`slow {"n":1}`}}, {text: "done"}}
		r.wait(r.start("x").RunID)
		var gates []string
		for _, l := range e.all() {
			if strings.HasPrefix(l, "tool:gate") {
				gates = append(gates, l)
			}
		}
		want := []string{"tool:gate name=slow input=map[n:1]"}
		if edited {
			want = append(want, "tool:gate name=slow input=map[n:2]")
		}
		if diff := cmp.Diff(want, gates); diff != "" {
			t.Errorf("edited %v (-want +got):\n%s", edited, diff)
		}
	}
}

// The approval shows what the hooks before it said.
func TestAnApprovalShowsTheGate(t *testing.T) {
	r := newRig(t)
	r.hooks["work/tool:gate"] = says(hooks.Outcome{Action: contract.Modify, Value: map[string]any{"n": int64(3)}, Reason: "rather three"})
	r.verdict["slow"] = loop.VerdictAsk
	r.screen.answer = func(context.Context, report.Approval) (report.Answer, error) {
		return report.Answer{Outcome: report.AllowOnce}, nil
	}
	r.model.turns = []turn{{calls: []string{`slow {}`}}, {text: "done"}}
	r.wait(r.start("x").RunID)
	a := <-r.screen.asked
	if string(a.Arguments) != `{"n":3}` || len(a.Hooks) != 1 || a.Hooks[0].Event != "tool:gate" || a.Hooks[0].Reason != "rather three" {
		t.Errorf("the approval shows %s with %+v", a.Arguments, a.Hooks)
	}
	m := r.model.requests()[1].Messages
	if text := fmt.Sprint(m[len(m)-1].Blocks[0].Result.Notes); !strings.Contains(text, "a hook changed this call before it ran") {
		t.Errorf("the model is told %q", text)
	}
}

// A call that had passed its gate when the process died passes it again, with
// what its hooks kept; an answer in its place does not count any more, a
// refusal does.
func TestAResumedCallPassesItsGateAgain(t *testing.T) {
	tests := map[string]struct {
		second hooks.Outcome
		output string
		runs   int
	}{
		"allowed":     {hooks.Outcome{Action: contract.Allow}, `ok: slow {"n":1}`, 1},
		"substituted": {hooks.Outcome{Action: contract.Substitute, Value: "instead"}, `ok: slow {"n":1}`, 1},
		"denied":      {hooks.Outcome{Action: contract.Deny, Reason: "not any more"}, "denied: denied by a hook: not any more", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			first := hooks.Outcome{Action: contract.Allow, States: map[string]map[string]any{"work/tool:gate": {"seen": int64(7)}}}
			r.hooks["work/tool:gate"] = says(first)
			r.verdict["slow"] = loop.VerdictAsk
			r.model.turns = []turn{{calls: []string{`slow {"n":1}`}}, {text: "done"}}
			s := r.start("x")
			<-r.screen.asked
			r.restart()
			var heard []string
			r.hooks["work/tool:gate"] = func(f hooks.Firing) hooks.Outcome {
				heard = append(heard, heardLine(f))
				return tt.second
			}
			r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
			r.resume(s.SessionID)
			if end := r.wait(s.RunID); end.Status != report.Done {
				t.Fatalf("ended %s: %s", end.Status, end.Error)
			}
			if want := []string{"tool:gate name=slow input=map[n:1] resumed resume_state=map[seen:7]"}; !slices.Equal(heard, want) {
				t.Errorf("heard %q, want %q", heard, want)
			}
			if got := r.outputs(); len(got) != 1 || got[0] != tt.output || r.slow.runs != tt.runs {
				t.Errorf("results %q, %d runs; want %q, %d", got, r.slow.runs, tt.output, tt.runs)
			}
		})
	}
}

// Real scripts on real calls: a gate that counts and refuses, one that answers
// for a tool that does not exist, and one that redacts a failing command too.
func TestScriptsOfTheEventsAboutCalls(t *testing.T) {
	r := newRig(t)
	r.real(map[string]string{
		"work/tool:gate": `func tool_gate(ctx) {
    if ctx.name == "read_file" && ctx.run_tool_counts.get("read_file", 0) > 0 {
        return hook.deny("one read is enough")
    }
    return hook.allow()
}
`,
		"work/tool:unknown": `func tool_unknown(ctx) {
    return hook.modify({result: "there is no " + ctx.name + "; nearest is " + string(ctx.nearest), suppress_error: true})
}
`,
		"work/tool:transform": `func tool_transform(ctx) {
    return hook.modify({result: strings.replace_all(ctx.result, "hunter2", "<redacted>")})
}
`,
		"work/tool:error": `func tool_error(ctx) {
    return hook.modify({result: ctx.result + "\n(look at the arguments)"})
}
`,
	})
	r.config.Policy = manifest.Policy{Default: "allow"}
	r.config.Sandbox = manifest.Sandbox{Off: true}
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	r.file("a.txt", "password hunter2\n")
	r.model.turns = []turn{
		{calls: []string{`read_file {"path":"a.txt"}`, `read_fil {"path":"a.txt"}`}}, {calls: []string{`read_file {"path":"a.txt","limit":"1"}`}},
		{calls: []string{`shell {"command":"echo hunter2; exit 3"}`}}, {text: "done"},
	}
	if end := r.wait(r.start("x").RunID); end.Status != report.Done {
		t.Fatalf("ended %s: %s", end.Status, end.Error)
	}
	want := []string{
		"invalid: there is no read_fil; nearest is read_file",
		"ok:      1\tpassword <redacted>\n",
		"denied: denied by a hook: one read is enough",
		"error: <redacted>\n[exit status 3]\n(look at the arguments)",
	}
	if diff := cmp.Diff(want, r.outputs()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
