package run

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// reminders are what the host said to the model in the newest request.
func (r *rig) reminders() []string {
	var out []string
	all := r.model.requests()
	for _, m := range all[len(all)-1].Messages {
		for _, b := range m.Blocks {
			if b.Kind == loop.ReminderBlock {
				out = append(out, b.Text)
			}
		}
	}
	return out
}

func heard(e *ear, event string) (n int) {
	for _, l := range e.all() {
		if strings.HasPrefix(l, event+" ") || l == event {
			n++
		}
	}
	return n
}

func TestToolBudgets(t *testing.T) {
	tests := map[string]struct {
		on     string
		calls  int
		runs   int
		denied int
		nudges int
		events int
	}{
		"within the budget": {"block", 2, 2, 0, 0, 0},
		"over it, blocked":  {"block", 4, 2, 2, 0, 2},
		"over it, steered":  {"steer", 4, 4, 0, 1, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			e := r.listen(nil)
			r.config.Behavior.ToolBudgets = map[string]manifest.ToolBudget{"slow": {Max: 2, OnExceed: tt.on}}
			for i := range tt.calls {
				r.model.turns = append(r.model.turns, turn{calls: []string{fmt.Sprintf(`slow {"n":%d}`, i), `look {"at":"a"}`}})
			}
			r.model.turns = append(r.model.turns, turn{text: "done"})
			if end := r.wait(r.start("x").RunID); end.Status != report.Done {
				t.Fatalf("ended %s: %s", end.Status, end.Error)
			}
			denied := 0
			for _, o := range r.outputs() {
				if strings.HasPrefix(o, "denied: Blocked: slow may be called 2 times in a run") {
					denied++
				}
			}
			nudges := 0
			for _, text := range r.reminders() {
				if strings.Contains(text, "slow was called more than 2 times in this run") {
					nudges++
				}
			}
			if r.slow.runs != tt.runs || denied != tt.denied || nudges != tt.nudges || heard(e, "tool-budget:exceeded") != tt.events {
				t.Errorf("ran %d, denied %d, nudged %d, heard %d; want %+v\n%s", r.slow.runs, denied, nudges, heard(e, "tool-budget:exceeded"), tt, r.screen.text())
			}
		})
	}
}

// A call that was refused does not use up its tool's budget.
func TestARefusedCallIsNotCounted(t *testing.T) {
	r := newRig(t)
	r.config.Behavior.ToolBudgets = map[string]manifest.ToolBudget{"slow": {Max: 1, OnExceed: "block"}}
	r.verdict["slow"] = loop.VerdictAsk
	answers := []report.ApprovalOutcome{report.DenyOnce, report.AllowOnce}
	r.screen.answer = func(context.Context, report.Approval) (report.Answer, error) {
		o := answers[0]
		answers = answers[1:]
		return report.Answer{Outcome: o}, nil
	}
	r.model.turns = []turn{{calls: []string{`slow {"n":1}`, `slow {"n":2}`, `slow {"n":3}`}}, {text: "done"}}
	r.wait(r.start("x").RunID)
	got := r.outputs()
	if r.slow.runs != 1 || len(got) != 3 || !strings.HasPrefix(got[0], "denied: denied by the user") || !strings.HasPrefix(got[1], "ok:") || !strings.HasPrefix(got[2], "denied: Blocked") {
		t.Errorf("ran %d times: %q", r.slow.runs, got)
	}
}

func TestRepeatGuard(t *testing.T) {
	same, other := `slow {"n":1}`, `slow {"n":2}`
	tests := map[string]struct {
		calls  []string
		guard  manifest.RepeatGuard
		runs   int
		denied int
		end    report.Status
	}{
		"a streak is broken":   {[]string{same, same, same, same}, manifest.RepeatGuard{Enabled: true, Tools: map[string]manifest.RepeatLimit{"slow": {Block: 3, Abort: 9}}}, 2, 2, report.Done},
		"a streak goes on":     {[]string{same, same, same, same, same}, manifest.RepeatGuard{Enabled: true, Tools: map[string]manifest.RepeatLimit{"slow": {Block: 3, Abort: 5}}}, 2, 3, report.Failed},
		"it is no streak":      {[]string{same, same, other, same, same, other}, manifest.RepeatGuard{Enabled: true, Tools: map[string]manifest.RepeatLimit{"slow": {Block: 3, Abort: 5}}}, 6, 0, report.Done},
		"the tool is not one":  {[]string{same, same, same, same}, manifest.RepeatGuard{Enabled: true, RepeatLimit: manifest.RepeatLimit{Block: 2, Abort: 3}}, 4, 0, report.Done},
		"the guard is off":     {[]string{same, same, same, same}, manifest.RepeatGuard{Tools: map[string]manifest.RepeatLimit{"slow": {Block: 2, Abort: 3}}}, 4, 0, report.Done},
		"all in a single turn": {nil, manifest.RepeatGuard{Enabled: true, Tools: map[string]manifest.RepeatLimit{"slow": {Block: 3, Abort: 9}}}, 2, 2, report.Done},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			e := r.listen(nil)
			r.config.Behavior.RepeatGuard = tt.guard
			for _, c := range tt.calls {
				r.model.turns = append(r.model.turns, turn{calls: []string{c}})
			}
			if tt.calls == nil {
				r.model.turns = []turn{{calls: []string{same, same, same, same}}}
			}
			r.model.turns = append(r.model.turns, turn{text: "done"})
			end := r.wait(r.start("x").RunID)
			denied := 0
			for _, o := range r.outputs() {
				if !strings.HasPrefix(o, "ok:") {
					denied++
				}
			}
			if end.Status != tt.end || r.slow.runs != tt.runs || denied != tt.denied || heard(e, "repeat-guard:exceeded") != tt.denied {
				t.Errorf("ended %s (%s), ran %d, denied %d, heard %d; want %+v\n%s", end.Status, end.Error, r.slow.runs, denied, heard(e, "repeat-guard:exceeded"), tt, r.screen.text())
			}
			if tt.end == report.Failed && (end.StopReason != report.StopPolicy || !strings.Contains(end.Error, "slow was called 5 times in a row")) {
				t.Errorf("ended for %s: %s", end.StopReason, end.Error)
			}
		})
	}
}

func TestOutputBudget(t *testing.T) {
	for budget, want := range map[int]int{0: 0, 30: 0, 29: 1} {
		r := newRig(t)
		e := r.listen(nil)
		r.config.Behavior.ToolOutputBudget = budget
		r.model.turns = []turn{{calls: []string{`look {"at":"a"}`, `look {"at":"b"}`}}, {text: "done"}}
		r.wait(r.start("x").RunID)
		nudges := 0
		for _, text := range r.reminders() {
			if strings.Contains(text, "more than the budget of") {
				nudges++
			}
		}
		if nudges != want || heard(e, "budget:exceeded") != want {
			t.Errorf("budget %d: %d nudges, heard %d, want %d; outputs %q", budget, nudges, heard(e, "budget:exceeded"), want, r.outputs())
		}
	}
}

func TestDedupTools(t *testing.T) {
	key := func(_ context.Context, input map[string]any) (string, *hooks.Failure) {
		switch n := input["n"].(type) {
		case int64:
			if n > 100 {
				return "", &hooks.Failure{Message: "it threw", Kind: hooks.ScriptFailure}
			}
			return fmt.Sprint(n % 10), nil
		}
		return "", nil
	}
	tests := map[string]struct {
		turns [][]string
		runs  int
		want  []string
		fails string
	}{
		"equal in another turn": {[][]string{{`slow {"n":1}`}, {`slow {"n":11}`}}, 1, []string{`ok: slow {"n":1}`, `substituted: slow {"n":1}`}, ""},
		"equal beside it":       {[][]string{{`slow {"n":1,"safe":true}`, `slow {"n":11,"safe":true}`}}, 1, []string{`ok: slow {"n":1,"safe":true}`, `substituted: slow {"n":1,"safe":true}`}, ""},
		"others":                {[][]string{{`slow {"n":1}`}, {`slow {"n":2}`}}, 2, []string{`ok: slow {"n":1}`, `ok: slow {"n":2}`}, ""},
		"no key":                {[][]string{{`slow {}`}, {`slow {}`}}, 2, []string{`ok: slow {}`, `ok: slow {}`}, ""},
		"a broken script":       {[][]string{{`slow {"n":101}`}}, 0, nil, "behavior.dedup_tools: it threw"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.dedup = map[string]dedupKey{"slow": key}
			for _, calls := range tt.turns {
				r.model.turns = append(r.model.turns, turn{calls: calls})
			}
			r.model.turns = append(r.model.turns, turn{text: "done"})
			end := r.wait(r.start("x").RunID)
			if end.Error != tt.fails || r.slow.runs != tt.runs || tt.want != nil && strings.Join(r.outputs(), "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("ended %q, ran %d times: %q; want %+v", end.Error, r.slow.runs, r.outputs(), tt)
			}
		})
	}
}
