package run

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"agent-ls/hooks/measured"
	"agent-ls/loop"
	"agent-ls/loop/report"
)

// longSession is how many turns a session of the benchmark has.
const longSession = 10_000

// BenchmarkLongSession plays a session of 10,000 turns, with everything on
// that looks at the history, and says what a turn takes at the beginning and
// at the end, and how much memory a turn leaves behind: its messages, and
// nothing that grows faster than they do. It is played once, however often
// the benchmark is to run.
func BenchmarkLongSession(b *testing.B) {
	s := playLongSession(b)
	measured.Own(b)
	b.ReportMetric(s.early, "early-p50-µs/turn")
	b.ReportMetric(s.late, "late-p50-µs/turn")
	measured.Most(b, s.late/s.early, 1.1, "late/early")
	measured.Most(b, s.kept, 4, "kept-KiB/turn")
}

type longPlayed struct{ early, late, kept float64 }

var (
	longOnce sync.Once
	longIs   longPlayed
)

func playLongSession(b *testing.B) longPlayed {
	longOnce.Do(func() {
		r := newRig(b)
		behavior := &r.config.Behavior
		behavior.CompactStrategy, behavior.CompactThreshold, behavior.CompactKeepTurns = "tail", 10_000, 4
		behavior.CompactLowWaterFraction, behavior.AutoCompact = 0.5, true
		m := &instant{turns: longSession, calls: []string{`look {"at":"x"}`}, at: make([]time.Time, 0, longSession+2)}
		m.heap = map[int]uint64{longSession / 10: 0, longSession: 0}
		r.openModel(m)
		r.screen.deaf = true
		r.config.Agents[0].Stages[0].MaxTurns = longSession + 2
		s := r.start("go")
		end, err := r.svc.Wait(context.Background(), s.RunID)
		if err != nil || end.Status != report.Done {
			b.Fatal(end, err)
		}
		longIs.early = measured.Between(m.at[100 : longSession/10]).Micros(0.5)
		longIs.late = measured.Between(m.at[longSession-longSession/10:]).Micros(0.5)
		grown := float64(int64(m.heap[longSession]) - int64(m.heap[longSession/10]))
		longIs.kept = grown / (longSession * 9 / 10) / 1024
	})
	return longIs
}

// note takes the size of the heap at the turns that are asked for.
func (m *instant) note() {
	if _, wanted := m.heap[len(m.at)]; wanted {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		m.heap[len(m.at)] = stats.HeapAlloc
	}
}

// What is sent in a turn does not cost more the longer the session is, but
// for what was added since. A step that walks through the whole history in
// each turn would make this test several times as slow at its end.
func TestTurnsOfALongSessionCostTheSame(t *testing.T) {
	course := &loop.Course{Agent: "a", Model: "m", Entry: "one", Stages: []loop.StageCourse{{Name: "one"}},
		Wire: loop.WireCourse{Tail: &loop.TailCourse{Threshold: 4000, LowWater: 0.5}, KeepTurns: 4, Full: 1 << 30}}
	s, _ := loop.Apply(loop.State{}, loop.Event{Kind: loop.Started, RunID: "r", SessionID: "s", Mark: "host-1", Course: course,
		Prompt: []loop.Block{{Kind: loop.TextBlock, Text: "go"}}})
	var frames sent
	text := make([]byte, 500)
	for i := range text {
		text[i] = 'x'
	}
	turn := func() {
		messages, _, err := frames.extend(&s, "p/m")
		if err != nil || len(messages) != s.History.Len() {
			t.Fatal(len(messages), err)
		}
		s, _ = loop.Apply(s, loop.Event{Kind: loop.Answered, Step: s.Step, Model: "m", Checked: []loop.CheckedCall{{ID: "c", Tool: "look"}},
			Answer: &loop.ModelAnswer{Blocks: []loop.Block{{Kind: loop.CallBlock, Call: &loop.ToolCall{ID: "c", Name: "look", Arguments: []byte("{}")}}}}})
		s, _ = loop.Apply(s, loop.Event{Kind: loop.Begun, CallID: "c", Effect: loop.Read})
		s, _ = loop.Apply(s, loop.Event{Kind: loop.Finished, CallID: "c", Result: &loop.ToolResult{CallID: "c", Text: string(text), Outcome: loop.CallOK}})
	}
	cost := func(turns int) float64 {
		return testing.AllocsPerRun(1, func() {
			for range turns {
				turn()
			}
		}) / float64(turns)
	}
	early := cost(500)
	for range 8000 {
		turn()
	}
	if late := cost(500); late > 1.5*early {
		t.Errorf("a turn makes %.0f allocations early and %.0f late", early, late)
	}
	if s.View.Tail < 15_000 {
		t.Errorf("the tail is at %d of %d messages", s.View.Tail, s.History.Len())
	}
}
