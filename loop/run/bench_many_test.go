package run

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"agent-ls/hooks/measured"
	"agent-ls/loop"
)

// crowd is a number of runs at once in one server, with the memory that they
// take while all of them are in the middle of a turn.
type crowd struct {
	least, turns int   // turns that the slowest had had when half of the runs were over
	perRun       int64 // bytes of heap and stacks that a run takes, its transcript aside
	transcript   int64 // bytes of it, on average
}

// together plays runs at once, each of so many turns. The transcripts of all
// of them stay in the model's requests, which the runs' own histories share,
// and are taken off what they take.
func together(t testing.TB, runs, turns int) crowd {
	t.Helper()
	r := newRig(t)
	r.screen.deaf = true
	c := crowd{turns: turns}
	var mu sync.Mutex
	asked := map[string]int{}
	over, held := 0, 0
	gate := func() (chan struct{}, chan struct{}) { return make(chan struct{}), make(chan struct{}) }
	everybody, goOn := gate()
	middle, rest := gate()
	r.family(func(ctx context.Context, req loop.ModelRequest) turn {
		name := req.Messages[0].Blocks[0].Text
		mu.Lock()
		asked[name]++
		if req.Turn == turns-1 {
			if over++; over == runs/2 {
				c.least = turns
				for _, n := range asked {
					c.least = min(c.least, n)
				}
			}
		}
		if req.Turn == 0 && len(asked) == runs {
			close(everybody)
		}
		if req.Turn == turns/2 {
			c.transcript += bytesOf(req)
			if held++; held == runs {
				close(middle)
			}
		}
		mu.Unlock()
		switch req.Turn {
		case 0:
			await(ctx, goOn)
		case turns / 2:
			await(ctx, rest)
		case turns - 1:
			return turn{text: "done " + name}
		}
		return turn{calls: []string{`look {"at":"x"}`}}
	})
	before := inUse()
	started := make([]Started, runs)
	for i := range started {
		started[i] = r.start(fmt.Sprint("run ", i))
	}
	<-everybody
	close(goOn)
	<-middle
	c.transcript /= int64(runs)
	c.perRun = (inUse()-before)/int64(runs) - c.transcript
	close(rest)
	for i, s := range started {
		if end := r.wait(s.RunID); end.Output == nil || *end.Output != fmt.Sprint("done run ", i) {
			t.Errorf("run %d ended %s: %v", i, end.Status, end.Error)
		}
	}
	return c
}

func await(ctx context.Context, c <-chan struct{}) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}

func bytesOf(req loop.ModelRequest) (n int64) {
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			n += int64(len(b.Text))
			if b.Call != nil {
				n += int64(len(b.Call.Arguments))
			}
			if b.Result != nil {
				n += int64(len(b.Result.Text))
			}
		}
	}
	return n
}

// inUse is what lives on the heap, and the stacks.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what finalizers let go of, too
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// A hundred runs at once: each gets its turns, none waits for the others to
// be over, and none takes a megabyte beside what was said in it.
func TestAHundredRunsAtOnce(t *testing.T) {
	c := together(t, 100, 16)
	if c.least < c.turns/4 {
		t.Errorf("when half of the runs were over after %d turns, one had had %d only", c.turns, c.least)
	}
	if c.perRun > 1<<20 {
		t.Errorf("a run takes %d bytes beside its transcript of %d, want at most 1 MiB", c.perRun, c.transcript)
	}
}

// BenchmarkAHundredRuns is how fair a server with a hundred runs at once is,
// and what each takes. It is played once, however often it is to run.
func BenchmarkAHundredRuns(b *testing.B) {
	crowdOnce.Do(func() { crowdIs = together(b, 100, 16) })
	measured.Own(b)
	measured.Most(b, float64(crowdIs.perRun)/1024, 1024, "KiB/run-beside-transcript")
	measured.Least(b, float64(crowdIs.least)/float64(crowdIs.turns), 0.25, "slowest/half-time")
	b.ReportMetric(float64(crowdIs.transcript)/1024, "KiB/transcript")
}

var (
	crowdOnce sync.Once
	crowdIs   crowd
)
