package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/report"
)

// napTool takes a tenth of a second and may run beside others.
type napTool struct{}

const nap = 100 * time.Millisecond

func (napTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "nap", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (napTool) Prepare(context.Context, json.RawMessage) (loop.Plan, error) {
	return loop.Plan{Effect: loop.Read, Title: "nap", ConcurrencySafe: true}, nil
}

func (napTool) Run(ctx context.Context, _ loop.Invocation) loop.ToolResult {
	t := time.NewTimer(nap)
	defer t.Stop()
	select {
	case <-t.C:
		return loop.ToolResult{Text: "rested", Outcome: loop.CallOK}
	case <-ctx.Done():
		return loop.ToolResult{Text: "woken", IsError: true, Outcome: loop.CallCancelled}
	}
}

// batchTook is how long the calls of the newest run took together.
func (r *rig) batchTook() time.Duration {
	var first, last time.Time
	for _, e := range r.screen.all() {
		switch {
		case e.Type == report.ToolStarted && first.IsZero():
			first = e.At
		case e.Type == report.ToolFinished:
			last = e.At
		case e.Type == report.RunStarted:
			first = time.Time{}
		}
	}
	return last.Sub(first)
}

// Ten calls that may run beside each other take about as long as one. What is
// measured is a ratio, and the best of some tries, since the machine has other
// things to do.
func TestTenSafeCallsTakeAsLongAsOne(t *testing.T) {
	best := 1e9
	for range 5 {
		r := newRig(t)
		r.more = []loop.Tool{napTool{}}
		r.config.Behavior.MaxConcurrentTools = 10
		r.model.turns = []turn{{calls: []string{`nap {}`}}, {text: "done"}}
		r.wait(r.start("x").RunID)
		one := r.batchTook()
		ten := turn{}
		for range 10 {
			ten.calls = append(ten.calls, `nap {}`)
		}
		r.model.turns = []turn{ten, {text: "done"}}
		r.wait(r.start("x").RunID)
		ratio := float64(r.batchTook()) / float64(one)
		if best = min(best, ratio); best <= 1.3 {
			return
		}
	}
	t.Errorf("ten took %.2f times as long as one", best)
}

// The results of a batch are in the order of its calls, whatever ends first,
// and a call that is not safe waits for all before it and keeps all behind it
// waiting.
func TestAMixKeepsTheBarrier(t *testing.T) {
	r := newRig(t)
	r.config.Behavior.MaxConcurrentTools = 10
	r.more = []loop.Tool{napTool{}}
	e := r.listen(nil)
	r.model.turns = []turn{
		{calls: []string{`nap {}`, `look {"at":"a"}`, `slow {"n":1}`, `look {"at":"b"}`, `nap {}`, `slow {"n":2}`, `slow {"n":3}`}},
		{text: "done"},
	}
	r.wait(r.start("x").RunID)
	var order []string
	for _, l := range e.all() {
		for _, event := range []string{"tool:before ", "tool:after "} {
			if rest, ok := strings.CutPrefix(l, event); ok {
				name, input, _ := strings.Cut(rest, " ")
				input, _, _ = strings.Cut(input, " outcome")
				order = append(order, strings.TrimSpace(event[5:7]+" "+strings.TrimPrefix(name, "name=")+" "+strings.TrimPrefix(input, "input=map")))
			}
		}
	}
	want := `be nap
be look [at:a]
af nap outcome=ok result=rested
af look [at:a]
be slow [n:1]
af slow [n:1]
be look [at:b]
be nap
af look [at:b]
af nap outcome=ok result=rested
be slow [n:2]
af slow [n:2]
be slow [n:3]
af slow [n:3]`
	if got := strings.Join(order, "\n"); got != want {
		t.Errorf("the calls ran in this order:\n%s\nwant:\n%s", got, want)
	}
	last := r.model.requests()[1].Messages
	var results []string
	for _, b := range last[len(last)-1].Blocks {
		results = append(results, b.Result.Text)
	}
	if got := fmt.Sprint(results); got != `[rested seen {"at":"a"} slow {"n":1} seen {"at":"b"} rested slow {"n":2} slow {"n":3}]` {
		t.Errorf("the results: %s", got)
	}
}

// A gate that turns a call into one that is not safe lets it wait its turn.
func TestACallThatAHookMadeUnsafeRunsAlone(t *testing.T) {
	r := newRig(t)
	r.more = []loop.Tool{napTool{}}
	r.hooks["work/tool:gate"] = func(f hooks.Firing) hooks.Outcome {
		if f.Fields["name"] == "slow" {
			return hooks.Outcome{Action: contract.Modify, Value: map[string]any{"n": int64(1), "safe": false}}
		}
		return allow(f)
	}
	r.model.turns = []turn{{calls: []string{`nap {}`, `slow {"n":1,"safe":true}`, `nap {}`}}, {text: "done"}}
	r.wait(r.start("x").RunID)
	var order []string
	for _, ev := range r.screen.all() {
		if ev.Type == report.ToolStarted || ev.Type == report.ToolFinished {
			order = append(order, string(ev.Type)+" "+ev.Tool)
		}
	}
	want := "tool_started nap, tool_finished , tool_started slow, tool_finished , tool_started nap, tool_finished "
	if got := strings.Join(order, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What the user says while calls are at work comes to the model behind the
// call that ran; the rest of the batch is skipped and says so.
func TestSteeringSkipsTheRestOfABatch(t *testing.T) {
	r := newRig(t)
	e := r.listen(nil)
	r.slow.gate = make(chan struct{})
	r.model.turns = []turn{{calls: []string{`slow {"n":1}`, `slow {"n":2}`, `look {"at":"a"}`}}, {text: "turning"}, {text: "done"}}
	s := r.start("x")
	<-r.slow.entered
	id, err := r.svc.Steer(context.Background(), s.RunID, "look left", false)
	if err != nil {
		t.Fatal(err)
	}
	later, err := r.svc.Steer(context.Background(), s.RunID, "and then right", true)
	if err != nil {
		t.Fatal(err)
	}
	close(r.slow.gate)
	r.wait(s.RunID)
	got := r.outputs()
	skipped := "cancelled: skipped: it did not run, since the user said something while the calls before it were at work; read that first"
	if len(got) != 3 || got[0] != skipped || got[1] != skipped || got[2] != `ok: slow {"n":1}` || r.slow.runs != 1 {
		t.Errorf("the tool ran %d times, the results in the order in which they were shown: %q", r.slow.runs, got)
	}
	m := r.model.requests()[1].Messages
	if text := m[len(m)-1].Blocks[0].Text; text != "look left" {
		t.Errorf("the last the model read is %q", text)
	}
	if heard(e, "steer:inject") != 2 || heard(e, "tool:gate") != 1 {
		t.Errorf("the hooks heard %q", e.all())
	}
	all := strings.Join(e.all(), "\n")
	if !strings.Contains(all, "tool-results:after\nsteer:inject text=look left\nbefore_inference") || !strings.Contains(all, "steer:inject text=and then right\nbefore_inference") {
		t.Errorf("the hooks heard:\n%s", all)
	}
	if id == later || id == "" {
		t.Errorf("the ids are %q and %q", id, later)
	}
}
