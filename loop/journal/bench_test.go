package journal

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

// BenchmarkAppend is what a commit of one step costs, and BenchmarkLink the
// part of it that the chain is.
func BenchmarkAppend(b *testing.B) {
	j, err := Open(filepath.Join(b.TempDir(), "journal.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	if err := j.Begin(ctx, SessionRow{ID: "s", StartedAt: time.Now()}, "r", nil); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if err := j.Append(benchStep(int64(i + 1))); err != nil {
			b.Fatal(err)
		}
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
