package worker

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"agent-ls/hooks/worker/wire"
)

// The Go collector is told to work hard from this part of the limit on, in
// percent; without that a heap full of garbage would count as live.
const softPercent = 75

// A process whose memory grew by this part of its limit is replaced: a heap
// that was large once is fragmented, and what the next firing may use would
// depend on the one before.
const recyclePart = 4

// bound limits the memory that the process may take beyond what it has now.
// Two mechanisms work in here, the third is that the server replaces a worker
// for which the returned function says so.
func bound(limit int64, report *wire.Report) (grown func() bool) {
	start, all := mapped(), limit*memoryScale
	debug.SetMemoryLimit(start + all*softPercent/100)
	report.Memory = hardLimit(all)
	if report.Memory != "" {
		go watch(start + all)
	}
	total := []metrics.Sample{{Name: totalMetric}}
	metrics.Read(total)
	first := total[0].Value.Uint64()
	return func() bool {
		metrics.Read(total)
		return total[0].Value.Uint64()-first > uint64(limit/recyclePart)
	}
}

const (
	totalMetric    = "/memory/classes/total:bytes"
	releasedMetric = "/memory/classes/heap/released:bytes"
)

// mapped is how much memory the runtime has from the system, in bytes.
func mapped() int64 {
	s := []metrics.Sample{{Name: totalMetric}, {Name: releasedMetric}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// watch ends the process when it has too much, where the kernel does not. It
// is late by a few milliseconds. It runs as long as the process.
func watch(limit int64) {
	for range time.Tick(5 * time.Millisecond) {
		if mapped() > limit {
			os.Stderr.WriteString("script worker: out of memory\n")
			os.Exit(exitGarbled)
		}
	}
}
