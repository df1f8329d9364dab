package run

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agent-ls/hooks/measured"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/manifest"
)

// BenchmarkTurn measures what the loop adds to a turn with an instant model
// and a tool that does nothing: everything from one request to the next,
// journal included; and what that consists of on average: the journal's
// commits, as many as the run made, and the core.
func BenchmarkTurn(b *testing.B) {
	for _, tools := range []int{1, 3} {
		b.Run(fmt.Sprintf("tools=%d", tools), func(b *testing.B) {
			r := newRig(b)
			calls := make([]string, tools)
			for i := range calls {
				calls[i] = `look {"at":"x"}`
			}
			turns := max(b.N, 100)
			m := &instant{turns: turns, calls: calls, at: make([]time.Time, 0, turns+2)}
			r.openModel(m)
			r.screen.deaf = true
			r.config.Agents[0].Stages[0].MaxTurns = turns + 2
			b.ReportAllocs()
			b.ResetTimer()
			s := r.start("go")
			end, err := r.svc.Wait(context.Background(), s.RunID)
			b.StopTimer()
			if err != nil || *end.Output != "done" {
				b.Fatal(end, err)
			}
			took := measured.Between(m.at)
			if tools == 1 {
				measured.Most(b, took.Micros(0.5), 150, "p50-µs/turn")
				measured.Most(b, took.Micros(0.99), 400, "p99-µs/turn")
			} else {
				b.ReportMetric(took.Micros(0.5), "p50-µs/turn")
				b.ReportMetric(took.Micros(0.99), "p99-µs/turn")
			}
			b.ReportMetric(float64(m.at[len(m.at)-1].Sub(m.at[0]).Microseconds())/float64(turns), "mean-µs/turn")
			journal, core := turnShares(b, r, s.SessionID, turns)
			b.ReportMetric(journal, "journal-µs/turn")
			b.ReportMetric(core, "core-µs/turn")
		})
	}
}

// instant answers at once and notes when it was asked.
type instant struct {
	turns int
	calls []string
	at    []time.Time
	heap  map[int]uint64 // its size at these turns
}

func (m *instant) Info() loop.ModelInfo { return loop.ModelInfo{Name: "m"} }

func (m *instant) Stream(context.Context, loop.ModelRequest, func(loop.Delta)) (loop.ModelAnswer, error) {
	m.at = append(m.at, time.Now())
	m.note()
	if len(m.at) > m.turns {
		return loop.ModelAnswer{Blocks: []loop.Block{{Kind: loop.TextBlock, Text: "done"}}}, nil
	}
	a := loop.ModelAnswer{Usage: loop.Usage{Input: 1000, Output: 50}, Blocks: []loop.Block{{Kind: loop.TextBlock, Text: "looking at it"}}}
	for _, c := range m.calls {
		a.Blocks = append(a.Blocks, loop.Block{Kind: loop.CallBlock, Call: &loop.ToolCall{Name: "look", Arguments: []byte(c[len("look "):])}})
	}
	return a, nil
}

// turnShares plays the events of the run through the core once more, and
// writes its steps into a session of their own in the commits that the run
// made, a turn each. It says how long both took per turn, in microseconds.
func turnShares(b *testing.B, r *rig, session string, turns int) (commits, core float64) {
	b.Helper()
	steps := stepsOf(b, r, session)
	began := time.Now()
	var state loop.State
	for i := range steps {
		state, _ = loop.Apply(state, steps[i].Event)
	}
	core = float64(time.Since(began).Microseconds()) / float64(turns)
	began = time.Now()
	for from := 0; from < len(steps); {
		to := from + 1
		for to < len(steps) && steps[to-1].Event.Kind != loop.Finished {
			to++
		}
		for to < len(steps) && steps[to].Event.Kind == loop.Finished {
			to++
		}
		if err := r.journal.Append(steps[from:to]...); err != nil {
			b.Fatal(err)
		}
		from = to
	}
	return float64(time.Since(began).Microseconds()) / float64(turns), core
}

func stepsOf(b *testing.B, r *rig, session string) []journal.Step {
	b.Helper()
	events, _, err := r.journal.Events(context.Background(), session, 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	var steps []journal.Step
	_, _, err = r.journal.Replay(context.Background(), session, func(e loop.Event) {
		steps = append(steps, journal.Step{SessionID: "copy", RunID: "copy", Turn: len(steps), Event: e})
	})
	if err != nil {
		b.Fatal(err)
	}
	// Which step showed which event does not change what writing them costs.
	for i, e := range events {
		s := &steps[i*len(steps)/len(events)]
		s.Shown = append(s.Shown, e)
	}
	return steps
}

// openModel makes the rig's runs use another model.
func (r *rig) openModel(m loop.Model) {
	r.svc.opt.OpenModel = func(manifest.Model) (loop.Model, error) { return m, nil }
}
