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
