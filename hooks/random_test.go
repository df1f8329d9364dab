package hooks_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// randomLimits are low, so that what runs against one does so soon.
var randomLimits = hooks.Limits{Operations: 5_000, Time: 5 * time.Second, Memory: 48 << 20, Printed: 1 << 10, Workers: 2}

// tally counts how programs ended.
type tally struct{ refused, decided, script, limit, malformed, infrastructure atomic.Int64 }

// runRandom runs a program as a hook and says what is wrong with how it ended,
// "" when nothing is.
func runRandom(e *hooks.Engine, p program, count *tally) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	set, findings, err := e.Load(ctx, []hooks.Declaration{on("on_tool_call", "random.risor", p.text)}, randomLimits)
	if err != nil {
		return "Load: " + err.Error()
	}
	if set == nil {
		count.refused.Add(1)
		for _, f := range findings {
			if f.Severity == check.Error && f.Message != "" {
				return ""
			}
		}
		return "it is refused without an error"
	}
	began := time.Now()
	o := set.Fire(ctx, batch())
	if took := time.Since(began); took > 2*randomLimits.Time {
		return fmt.Sprintf("it took %v", took)
	}
	if len(o.Decisions) != 1 {
		return fmt.Sprintf("%d records, want 1", len(o.Decisions))
	}
	d := o.Decisions[0]
	if d.Operations > randomLimits.Operations+1 || len(d.Printed) > int(randomLimits.Printed)+8 {
		return fmt.Sprintf("%d operations, %d bytes printed", d.Operations, len(d.Printed))
	}
	if o.Failure != nil || d.Error != nil || o.Action == contract.Failed {
		return count.failure(o, d)
	}
	count.decided.Add(1)
	switch {
	case p.doomed:
		return "it cannot decide anything, and came to " + o.Action.String()
	case d.Action != o.Action.String():
		return fmt.Sprintf("the record says %s, the outcome %s", d.Action, o.Action)
	case !contract.ByName("on_tool_call").Honours(o.Action):
		return "it came to " + o.Action.String()
	}
	return ""
}

// failure says what is wrong with how a program failed.
func (c *tally) failure(o hooks.Outcome, d hooks.Decision) string {
	if o.Failure == nil || d.Error == nil || o.Action != contract.Failed || d.Action != "error" {
		return fmt.Sprintf("it failed and came to %s: %+v, recorded as %s: %+v", o.Action, o.Failure, d.Action, d.Error)
	}
	if strings.Contains(o.Failure.Message, "error in the script engine") {
		return "the engine broke: " + o.Failure.Message
	}
	switch o.Failure.Kind {
	case hooks.ScriptFailure:
		c.script.Add(1)
	case hooks.LimitFailure:
		c.limit.Add(1)
	case hooks.Malformed:
		c.malformed.Add(1)
	case hooks.Infrastructure:
		c.infrastructure.Add(1)
		return "no script can be the machine's fault: " + o.Failure.Message
	default:
		return fmt.Sprintf("a failure of the kind %q", o.Failure.Kind)
	}
	if o.Failure.At == nil || o.Failure.At.Start.Line < 1 || !strings.HasPrefix(o.Failure.Message, o.Failure.At.Path) {
		return fmt.Sprintf("the failure %q is at %+v", o.Failure.Message, o.Failure.At)
	}
	return ""
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// randomPrograms is how many programs TestRandomPrograms plays. tools/gotest.sh
// has it play ten thousand without the race detector.
var randomPrograms = flag.Uint64("random", 1_000, "how many random programs to play")

// Many random programs: each ends in a decision or in a failure that
// says what and where, no failure is an allow, and the server is as it was.
func TestRandomPrograms(t *testing.T) {
	programs := *randomPrograms
	e := newEngine(t, hooks.Options{})
	count := &tally{}
	runRandom(e, randomProgram(0), count) // the workers are there
	before, goroutines := heap(), runtime.NumGoroutine()
	var next atomic.Uint64
	var wrong atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				seed := next.Add(1)
				if seed > programs || wrong.Load() > 5 {
					return
				}
				p := randomProgram(seed)
				if bad := runRandom(e, p, count); bad != "" {
					wrong.Add(1)
					t.Errorf("program %d: %s\n%s", seed, bad, p.text)
				}
			}
		})
	}
	all.Wait()
	t.Logf("refused %d, decided %d; failed: script %d, limit %d, malformed %d; %+v", count.refused.Load(), count.decided.Load(),
		count.script.Load(), count.limit.Load(), count.malformed.Load(), e.Stats())
	for what, n := range map[string]int64{"refused": count.refused.Load(), "decided": count.decided.Load(), "threw": count.script.Load(), "hit a limit": count.limit.Load(), "were malformed": count.malformed.Load()} {
		if n < int64(programs/200) && wrong.Load() == 0 {
			t.Errorf("%d programs %s: the generator does not try that", n, what)
		}
	}
	if after := heap(); after > before+24<<20 {
		t.Errorf("the server holds %d KiB, %d KiB before", after>>10, before>>10)
	}
	if s := e.Stats(); s.WorkersLive > int64(randomLimits.Workers)+1 {
		t.Errorf("%d workers live", s.WorkersLive)
	}
	waitFor(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+8 })
	guard := load(t, e, randomLimits, on("on_tool_call", "g.risor", "func on_tool_call(ctx) { return hook.deny(\"no\") }"))
	if o := fire(t, guard, batch()); o.Action != contract.Deny {
		t.Errorf("a guard afterwards: %+v", o.Failure)
	}
}

// waitFor waits for what other goroutines bring about.
func waitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Errorf("%s: not within 20 s", what)
			return
		}
	}
}

func FuzzRandomPrograms(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	e := newEngine(f, hooks.Options{})
	f.Fuzz(func(t *testing.T, seed uint64) {
		p := randomProgram(seed)
		if bad := runRandom(e, p, &tally{}); bad != "" {
			t.Errorf("%s\n%s", bad, p.text)
		}
	})
}
