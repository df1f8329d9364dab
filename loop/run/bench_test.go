package run

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/manifest"
)

// BenchmarkTurn measures what the loop adds to a turn with an instant model
// and a tool that does nothing: everything from one request to the next,
// journal included. journal-µs/turn is what the commits of a turn take by
// themselves.
func BenchmarkTurn(b *testing.B) {
	for _, tools := range []int{1, 3} {
		b.Run(fmt.Sprintf("tools=%d", tools), func(b *testing.B) {
			r := newRig(b)
			calls := make([]string, tools)
			for i := range calls {
				calls[i] = `look {"at":"x"}`
			}
			m := &instant{turns: b.N, calls: calls, at: make([]time.Time, 0, b.N+2)}
			r.openModel(m)
			r.config.Agents[0].Stages[0].MaxTurns = b.N + 2
			b.ReportAllocs()
			b.ResetTimer()
			s := r.start("go")
			end, err := r.svc.Wait(context.Background(), s.RunID)
			b.StopTimer()
			if err != nil || *end.Output != "done" {
				b.Fatal(end, err)
			}
			m.report(b)
			b.ReportMetric(journalShare(b, r, s.SessionID)/1e3, "journal-µs/turn")
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

func (m *instant) report(b *testing.B) {
	var took []time.Duration
	for i := 1; i < len(m.at); i++ {
		took = append(took, m.at[i].Sub(m.at[i-1]))
	}
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	at := func(q float64) float64 {
		return float64(took[min(int(q*float64(len(took))), len(took)-1)].Nanoseconds()) / 1e3
	}
	b.ReportMetric(at(0.50), "p50-µs/turn")
	b.ReportMetric(at(0.99), "p99-µs/turn")
}

// journalShare writes the steps of the run once more, into a session of their
// own, and says how long that took per turn, in nanoseconds.
func journalShare(b *testing.B, r *rig, session string) float64 {
	b.Helper()
	steps := stepsOf(b, r, session)
	began := time.Now()
	for _, s := range steps {
		if err := r.journal.Append(s); err != nil {
			b.Fatal(err)
		}
	}
	return float64(time.Since(began).Nanoseconds()) / float64(b.N)
}

func stepsOf(b *testing.B, r *rig, session string) []journal.Step {
	b.Helper()
	events, _, err := r.journal.Events(context.Background(), session, 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	var steps []journal.Step
	shown := 0
	var state loop.State
	_, _, err = r.journal.Replay(context.Background(), session, func(e loop.Event) {
		s := journal.Step{SessionID: "copy", RunID: "copy", Event: e}
		var commands []loop.Command
		state, commands = loop.Apply(state, e)
		n := len(commands)
		if e.Kind == loop.Begun {
			n++
		}
		for ; n > 0 && shown < len(events); n-- {
			s.Shown = append(s.Shown, events[shown])
			shown++
		}
		steps = append(steps, s)
	})
	if err != nil {
		b.Fatal(err)
	}
	return steps
}

// openModel makes the rig's runs use another model.
func (r *rig) openModel(m loop.Model) {
	r.svc.opt.OpenModel = func(manifest.Model) (loop.Model, error) { return m, nil }
}
