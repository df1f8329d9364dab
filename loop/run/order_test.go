package run

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/event"
	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// delays are what hooks and tools take, from nothing to a millisecond: for
// each run and each place others, and for one seed the same again.
type delays struct {
	seed uint64
	run  atomic.Uint64
}

// take is the thing under test, not a wait for something.
func (d *delays) take(ctx context.Context, where ...string) {
	h := fnv.New64a()
	fmt.Fprint(h, where)
	random := rand.New(rand.NewPCG(d.seed+d.run.Load(), h.Sum64()))
	t := time.NewTimer(time.Duration(random.Int64N(int64(time.Millisecond))))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// lateTool reads, and takes its time.
type lateTool struct {
	lookTool
	delays *delays
}

func (t lateTool) Spec() loop.ToolSpec {
	spec := t.lookTool.Spec()
	spec.Name = "late"
	return spec
}

func (t lateTool) Run(ctx context.Context, c loop.Invocation) loop.ToolResult {
	t.delays.take(ctx, "late", string(c.Arguments))
	return t.lookTool.Run(ctx, c)
}

// orderBus has several handlers of each kind. What each one does depends on
// what the one before it left, so that another order is another result.
func orderBus(d *delays) *hooks.Bus {
	b := &hooks.Bus{}
	for _, name := range []string{"first", "second"} {
		hooks.On(b, name, func(ctx context.Context, e *event.AfterInference) (hooks.Answer, error) {
			d.take(ctx, name, e.Response)
			return hooks.Answer{Action: contract.Modify, Value: e.Response + " " + name}, nil
		})
		hooks.On(b, name, func(ctx context.Context, e *event.OnToolCall) (hooks.Answer, error) {
			d.take(ctx, name, "batch")
			var calls []any
			for i, c := range e.ToolCalls {
				c.Arguments["at"] = fmt.Sprint(c.Arguments["at"], " ", name, i)
				calls = append(calls, map[string]any{"id": c.ID, "name": c.Name, "arguments": c.Arguments})
			}
			return hooks.Answer{Action: contract.Modify, Value: calls, Reason: name + " notes its place"}, nil
		})
		hooks.On(b, name, func(ctx context.Context, e *event.ToolGate) (hooks.Answer, error) {
			d.take(ctx, name, "gate", fmt.Sprint(e.Input["at"]))
			if strings.HasPrefix(fmt.Sprint(e.Input["at"]), "forbidden") {
				return hooks.Answer{Action: contract.Deny, Reason: name + " forbids it"}, nil
			}
			return hooks.Answer{}, nil
		})
		hooks.On(b, name, func(ctx context.Context, e *event.ToolTransform) (hooks.Answer, error) {
			d.take(ctx, name, "transform", e.Result)
			return hooks.Answer{Action: contract.Modify, Value: map[string]any{"result": e.Result + " " + name}}, nil
		})
	}
	return b
}

// orderTurns are a batch whose calls may run beside each other, with one among
// them that is refused.
func orderTurns() []turn {
	looks := turn{text: "I look."}
	for _, at := range []string{"a", "b", "forbidden", "c"} {
		looks.calls = append(looks.calls, fmt.Sprintf(`late {"at":%q}`, at))
	}
	return []turn{looks, {text: "Seen."}}
}

// Hooks decide in declared order and results stand in the order of their
// calls, however long each hook and each tool takes: the decisions, what they
// changed, and what the model was told are the same in every run.
func TestDelaysChangeNoOrder(t *testing.T) {
	runs, lanes := 1000, 8
	if raceEnabled {
		runs = 100
	}
	seed := uint64(time.Now().UnixNano())
	want, err := newOrderRig(t, seed).trace(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"I look. first second", "first forbids it; second forbids it", `seen {\"at\":\"a first0 second0\"} first second`} {
		if !strings.Contains(want.text, says) {
			t.Fatalf("the trace lacks %q:\n%s", says, want.text)
		}
	}
	var next atomic.Uint64 // run 0 is the one above
	var group sync.WaitGroup
	for range lanes {
		r := newOrderRig(t, seed)
		group.Go(func() {
			for n := next.Add(1); n < uint64(runs) && !t.Failed(); n = next.Add(1) {
				got, err := r.trace(t.Context(), n)
				switch {
				case err != nil:
					t.Errorf("seed %d: run %d: %v", seed, n, err)
				case got != want:
					t.Errorf("seed %d: run %d deviates from run 0 first %s", seed, n, firstDifference(got.text+got.transcript, want.text+want.transcript))
				}
			}
		})
	}
	group.Wait()
}

// orderRig plays the same run again and again, each time with other delays.
type orderRig struct {
	*rig
	delays *delays
}

func newOrderRig(t *testing.T, seed uint64) orderRig {
	t.Helper()
	r := orderRig{newRig(t), &delays{seed: seed}}
	engine := hooks.NewEngine(hooks.Options{})
	t.Cleanup(engine.Close)
	set, _, err := engine.Load(t.Context(), nil, hooks.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	set = set.With(orderBus(r.delays), nil)
	r.screen.deaf = true
	r.more = []loop.Tool{lateTool{delays: r.delays}}
	equip := r.svc.equip
	r.svc.equip = func(ctx context.Context, p *pinned, tracker *tool.Tracker) (*gear, []finding, error) {
		g, findings, err := equip(ctx, p, tracker)
		g.set = set
		return g, findings, err
	}
	return r
}

// hostMark is what the host's own words stand in, another for each session.
var hostMark = regexp.MustCompile("host-[0-9a-f]{12}")

// orderTrace is what has to be the same in each run, ids by their order.
type orderTrace struct {
	text       string // the decisions, and what the model was sent last
	transcript string // the messages on record and their hash
}

// firstDifference is where two traces part.
func firstDifference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	from := max(0, i-200)
	return fmt.Sprintf("behind …%s:\nit has\n\t%.300s\nwant\n\t%.300s", got[from:i], got[i:], want[i:])
}

func (r orderRig) trace(ctx context.Context, n uint64) (orderTrace, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	r.delays.run.Store(n)
	r.model.turns = orderTurns()
	s, err := r.svc.Start(ctx, StartParams{Prompt: "look around"})
	if err != nil {
		return orderTrace{}, err
	}
	end, err := r.svc.Wait(ctx, s.RunID)
	if err != nil {
		return orderTrace{}, err
	}
	if end.Status != report.Done {
		return orderTrace{}, fmt.Errorf("it ended %s: %s", end.Status, end.Error)
	}
	var state loop.State
	if _, _, err := r.journal.Replay(ctx, s.SessionID, func(e loop.Event) { state, _ = loop.Apply(state, e) }); err != nil {
		return orderTrace{}, err
	}
	messages := state.History.Messages()
	transcript, err := json.Marshal(messages)
	if err != nil {
		return orderTrace{}, err
	}
	names := []string{s.RunID, "RUN", s.SessionID, "SESSION"}
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Call != nil {
				names = append(names, b.Call.ID, fmt.Sprint("CALL", len(names)/2-1))
			}
		}
	}
	decisions, _, err := r.svc.Decisions(ctx, DecisionQuery{RunID: s.RunID, Limit: 1000})
	if err != nil {
		return orderTrace{}, err
	}
	var text strings.Builder
	for _, d := range decisions {
		changes, err := json.Marshal(d.Changes)
		if err != nil {
			return orderTrace{}, err
		}
		fmt.Fprintf(&text, "%s %s %s %s %s %q %s\n", d.Event, d.HookID, d.Hook.Go, d.CallID, d.Action, d.Reason, changes)
	}
	asked := r.model.requests()
	seen, err := json.Marshal(asked[len(asked)-1].Messages)
	if err != nil {
		return orderTrace{}, err
	}
	text.Write(seen)
	replacer := strings.NewReplacer(names...)
	plain := func(text string) string { return hostMark.ReplaceAllString(replacer.Replace(text), "host-MARK") }
	said := plain(string(transcript))
	return orderTrace{plain(text.String()), fmt.Sprintf("\n%s\n%x", said, sha256.Sum256([]byte(said)))}, nil
}
