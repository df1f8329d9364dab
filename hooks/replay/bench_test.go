package replay_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/replay"
)

// BenchmarkReplay plays recorded calls over the workers, beside the same events
// one after the other, in one run.
func BenchmarkReplay(b *testing.B) {
	e := newEngine(b)
	var firings []hooks.Firing
	for i := range 64 {
		firings = append(firings, shell(fmt.Sprintf("go test ./pkg%d && git status --short", i)))
	}
	events := played(b, e, guard, firings...)
	s := load(b, e, guard)
	repeated := func(n int) func(yield func(*replay.Event, error) bool) {
		return func(yield func(*replay.Event, error) bool) {
			for i := range n {
				if !yield(events[i%len(events)], nil) {
					return
				}
			}
		}
	}
	all := func(n int) {
		r, err := s.All(context.Background(), repeated(n), replay.Options{})
		if err != nil || r.Unchanged != n {
			b.Fatalf("%v %+v", err, r)
		}
	}
	all(500)
	n := 0
	start := time.Now()
	for b.Loop() {
		all(1000)
		n += 1000
	}
	b.ReportMetric(float64(n)/time.Since(start).Seconds(), "events/s")
	const sequential = 4000
	start = time.Now()
	for e := range repeated(sequential) {
		if r := s.Run(context.Background(), e); r.Kind != replay.Unchanged {
			b.Fatal(r.Because)
		}
	}
	b.ReportMetric(sequential/time.Since(start).Seconds(), "sequential-events/s")
}
