package run

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/model"
	"agent-ls/loop/report"
)

var yesOrNo = map[string]any{"type": "object", "required": []any{"yes"}, "properties": map[string]any{"yes": map[string]any{"type": "boolean"}}}

// decisionsOf gives the rig a hook on on_stage_enter that asks, and keeps answers.
func decisionsOf(r *rig, times int, question string, schema any) *[]map[string]any {
	var got []map[string]any
	r.hooks["work/on_stage_enter"] = func(f hooks.Firing) hooks.Outcome {
		for range times {
			got = append(got, f.Decide(context.Background(), question, schema))
		}
		return hooks.Outcome{Action: contract.Allow}
	}
	return &got
}

func TestDecideAsksTheModelBesideTheRun(t *testing.T) {
	r := newRig(t)
	got := decisionsOf(r, 1, "is it safe?", yesOrNo)
	m := r.family(func(_ context.Context, req loop.ModelRequest) turn {
		if strings.Contains(lastText(req), "cannot be used") {
			return turn{text: "```json\n{\"yes\": true}\n```"}
		}
		if strings.Contains(lastText(req), "is it safe?") {
			return turn{text: "I think so"}
		}
		return turn{text: "done"}
	})
	var seen []string
	var mu sync.Mutex
	for _, event := range []string{"decision:start", "decision:end"} {
		r.hooks["work/"+event] = func(f hooks.Firing) hooks.Outcome {
			mu.Lock()
			defer mu.Unlock()
			if f.Decide != nil {
				t.Error("a hook that watches decisions can ask for one")
			}
			seen = append(seen, f.Event)
			if f.Event == "decision:end" && f.Fields["ok"] != true {
				t.Errorf("ctx of decision:end = %v", f.Fields)
			}
			return hooks.Outcome{Action: contract.Allow}
		}
	}
	s := r.start("go")
	r.wait(s.RunID)
	waitFor(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == 2
	})
	if len(*got) != 1 || (*got)[0]["ok"] != true || (*got)[0]["answers"].(map[string]any)["yes"] != true {
		t.Fatalf("decide = %v, want yes", *got)
	}
	if requests := m.requests(); len(requests) != 3 || strings.Contains(requests[2].System, "program. Answer") {
		t.Errorf("%d requests, want two for the question and one of the run", len(requests))
	}
	mu.Lock()
	if strings.Join(seen, " ") != "decision:start decision:end" {
		t.Errorf("events = %v", seen)
	}
	mu.Unlock()
	list, _, err := r.svc.Sessions(context.Background(), 1, "", "")
	if err != nil || list[0].Usage.Input != 300 {
		t.Errorf("usage = %+v, %v; want that of three answers", list[0].Usage, err)
	}
}

func TestDecideNeverFails(t *testing.T) {
	tests := map[string]struct {
		question string
		schema   any
		answer   turn
		why      string
	}{
		"no JSON":          {"q", nil, turn{text: "maybe"}, "no JSON value"},
		"not the schema's": {"q", yesOrNo, turn{text: `{"yes":"no"}`}, "does not fit the schema"},
		"a broken schema":  {"q", map[string]any{"type": 3}, turn{text: `{}`}, "schema"},
		"an error":         {"q", nil, turn{err: &loop.ModelError{Class: loop.Terminal, Message: "no key"}}, "no key"},
		"an empty one":     {" ", nil, turn{text: `1`}, "empty"},
		"too long":         {strings.Repeat("x", maxQuestion+1), nil, turn{text: `1`}, "more than"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			got := decisionsOf(r, 1, tt.question, tt.schema)
			r.family(func(_ context.Context, req loop.ModelRequest) turn {
				if strings.HasPrefix(req.System, "You answer one question") {
					return tt.answer
				}
				return turn{text: "done"}
			})
			r.wait(r.start("go").RunID)
			why, _ := (*got)[0]["reason"].(string)
			if (*got)[0]["ok"] != false || !strings.Contains(why, tt.why) {
				t.Errorf("decide = %v, want a reason with %q", (*got)[0], tt.why)
			}
		})
	}
}

func TestDecideIsBounded(t *testing.T) {
	r := newRig(t)
	got := decisionsOf(r, maxDecisions+1, "q", nil)
	r.family(func(_ context.Context, req loop.ModelRequest) turn { return turn{text: "1"} })
	r.wait(r.start("go").RunID)
	if last := (*got)[maxDecisions]; last["ok"] != false || (*got)[maxDecisions-1]["ok"] != true {
		t.Errorf("question %d = %v, want it refused", maxDecisions+1, last)
	}
}

// written is a model whose decisions stand in a script.
type written struct {
	*answering
	decisions []json.RawMessage
}

func (w *written) Decision(n int) json.RawMessage {
	if n < len(w.decisions) {
		return w.decisions[n]
	}
	return nil
}

func TestDecisionsOfARehearsalTakeNoTurn(t *testing.T) {
	r := newRig(t)
	got := decisionsOf(r, 1, "q", nil)
	m := &written{&answering{name: "m", answer: func(context.Context, loop.ModelRequest) turn { return turn{text: "done"} }}, []json.RawMessage{[]byte(`"first"`), []byte(`2`)}}
	r.svc.opt.OpenModel = func(manifest.Model) (loop.Model, error) { return m, nil }
	s := r.start("go")
	r.wait(s.RunID)
	r.wait(r.startIn(s.SessionID, "again").RunID)
	r.wait(r.startIn(s.SessionID, "once more").RunID)
	if (*got)[0]["answers"] != "first" || (*got)[1]["answers"] != int64(2) || (*got)[2]["ok"] != false {
		t.Errorf("decisions = %v, want the script's in order, then none", *got)
	}
	if n := len(m.requests()); n != 3 {
		t.Errorf("%d requests, want those of the runs only", n)
	}
}

// careful is a gate that asks the model before a file is read.
const careful = `func on_tool_call(ctx) {
    for _, call := range ctx.tool_calls {
        asked := hook.decide('may this run? {json.marshal(call)}', {
            type: "object", required: ["allow", "why"],
            properties: {allow: {type: "boolean"}, why: {type: "string"}},
        })
        if !asked.ok {
            return hook.deny('nobody knows: {asked.reason}')
        }
        if !asked.answers.allow {
            return hook.deny(asked.answers.why)
        }
    }
    return hook.allow()
}
`

// A script asks the run's model and denies by its answer; without an answer
// that fits, it decides for itself.
func TestAScriptDeniesByTheModelsAnswer(t *testing.T) {
	const turns = `turns:
  - tool_calls: [{name: read_file, arguments: {path: plan.txt}}]
  - expect: "out of bounds"
    tool_calls: [{name: read_file, arguments: {path: a.txt}}]
  - expect: "harmless"
    tool_calls: [{name: read_file, arguments: {path: a.txt}}]
  - expect: "nobody knows: .*does not fit the schema"
    tool_calls: [{name: read_file, arguments: {path: a.txt}}]
  - expect: "nobody knows: the rehearsal has no decision 4"
    text: done
decisions:
  - {allow: false, why: out of bounds}
  - {allow: true, why: ""}
  - {allow: "perhaps"}
`
	r := newRig(t)
	r.real(map[string]string{"work/on_tool_call": careful})
	r.file("plan.txt", "secret")
	r.file("a.txt", "harmless")
	r.svc.opt.OpenModel = func(m manifest.Model) (loop.Model, error) {
		return model.Open(manifest.Model{Name: m.Name, Provider: "rehearsal", Script: "s.yaml", ScriptText: []byte(turns)}, model.Options{})
	}
	s := r.start("read the plan")
	if end := r.wait(s.RunID); end.Status != report.Done || *end.Output != "done" {
		t.Fatalf("end %s %+v; events:\n%s", end.Status, end.Error, r.screen.text())
	}
	list, _, err := r.svc.Decisions(context.Background(), DecisionQuery{RunID: s.RunID})
	if err != nil || len(list) != 4 || list[0].Action != "deny" || list[0].Reason != "out of bounds" || list[1].Action != "allow" {
		t.Errorf("decisions = %+v, %v", list, err)
	}
}

// To explain a call asks nobody and costs nothing: a script that would ask is
// told so, as often as it tries.
func TestExplainingAsksNobody(t *testing.T) {
	r := newRig(t)
	r.real(map[string]string{"work/on_tool_call": `func on_tool_call(ctx) {
    for range 30 {
        hook.decide("q", nil)
    }
    return hook.deny(hook.decide("q", nil).reason)
}
`})
	r.file("a.txt", "x")
	x, err := r.svc.Explain(context.Background(), "read_file", json.RawMessage(`{"path":"a.txt"}`), "")
	if err != nil {
		t.Fatal(err)
	}
	if last := x.Steps[len(x.Steps)-1]; x.Outcome != loop.VerdictDeny || !strings.Contains(last.Because, "nobody can be asked here") {
		t.Errorf("%s: %+v", x.Outcome, x.Steps)
	}
	if n := len(r.model.requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}
