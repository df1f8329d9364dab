package journal

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks/measured"
	"agent-ls/loop"
	"agent-ls/loop/report"
)

// BenchmarkAppend is what a commit of so many steps costs, and BenchmarkLink
// the part of it that the chain is.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprint("steps=", n), func(b *testing.B) {
			j, err := Open(filepath.Join(b.TempDir(), "journal.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			if err := j.Begin(ctx, SessionRow{ID: "s", StartedAt: time.Now()}, "r", nil); err != nil {
				b.Fatal(err)
			}
			seq := int64(0)
			steps := make([]Step, n)
			took := measured.Take(max(b.N, 100), func() {
				for i := range steps {
					seq++
					steps[i] = benchStep(seq)
				}
				if err := j.Append(steps...); err != nil {
					b.Fatal(err)
				}
			})
			measured.Own(b)
			b.ReportMetric(took.Micros(0.5), "p50-µs/commit")
			b.ReportMetric(took.Micros(0.99), "p99-µs/commit")
			b.ReportMetric(took.Micros(0.999), "p99.9-µs/commit")
		})
	}
}

func BenchmarkLink(b *testing.B) {
	s := benchStep(1)
	row, err := s.encode()
	if err != nil {
		b.Fatal(err)
	}
	before := make([]byte, 32)
	b.ReportAllocs()
	for b.Loop() {
		before = row.link(before)
	}
}

func benchStep(seq int64) Step {
	text := strings.Repeat("a line of output\n", 35)
	return Step{SessionID: "s", RunID: "r", LastSeq: seq, Turn: int(seq), Event: loop.Event{Kind: loop.Finished, CallID: "c", Result: &loop.ToolResult{Text: text}},
		Shown: []report.Event{{SessionID: "s", Seq: seq, Type: report.ToolFinished, Output: &text}}}
}
