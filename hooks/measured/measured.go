// Package measured is how benchmarks say what they found: samples with their
// middle and their slow end, and a figure beside the target that it is held
// against. tools/bench.sh makes a table of it. Start at Take and Most.
package measured

import (
	"slices"
	"testing"
	"time"
)

// Sample is how long each of a number of calls took.
type Sample []time.Duration

// Take calls call n times, one after another, and measures each.
func Take(n int, call func()) Sample {
	s := make(Sample, n)
	for i := range s {
		began := time.Now()
		call()
		s[i] = time.Since(began)
	}
	return s
}

// Between gives the time from each moment to the next.
func Between(at []time.Time) Sample {
	var s Sample
	for i := 1; i < len(at); i++ {
		s = append(s, at[i].Sub(at[i-1]))
	}
	return s
}

// At is the duration that a share q, from 0 to 1, of the calls stayed within;
// 0 of an empty sample.
func (s Sample) At(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	s = slices.Sorted(slices.Values(s))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// Micros is At in microseconds.
func (s Sample) Micros(q float64) float64 { return float64(s.At(q).Nanoseconds()) / 1e3 }

// Millis is At in milliseconds.
func (s Sample) Millis(q float64) float64 { return float64(s.At(q).Nanoseconds()) / 1e6 }

// Most reports a figure that should not be above a target: the figure under
// its unit, the target under unit:most.
func Most(b *testing.B, value, target float64, unit string) {
	b.ReportMetric(value, unit)
	b.ReportMetric(target, unit+":most")
}

// Least reports a figure that should not be below a target: the figure under
// its unit, the target under unit:least.
func Least(b *testing.B, value, target float64, unit string) {
	b.ReportMetric(value, unit)
	b.ReportMetric(target, unit+":least")
}

// Own says that a benchmark counts its samples itself, so that the time per
// iteration of the testing package means nothing.
func Own(b *testing.B) { b.ReportMetric(0, "ns/op") }
