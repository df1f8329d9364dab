package hooks_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/worker"
)

// workers are the worker processes of this one, dead ones that nobody has
// waited for among them.
func workers(t testing.TB) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // gone meanwhile
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if len(f) < 2 || f[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && (len(args) == 0 || strings.Contains(string(args), worker.Subcommand)) {
			out = append(out, pid)
		}
	}
	return out
}

// Workers are shot at random moments while several goroutines decide at once.
// Each call that one was at work on is refused, each other one is decided as
// ever, and nothing is left of it.
func TestWorkersShotUnderLoad(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	e := newEngine(t, hooks.Options{})
	limits := hooks.Limits{Time: time.Minute, Operations: 1 << 30, Workers: 3}
	guard := load(t, e, limits, on("on_tool_call", "guard.risor", `func on_tool_call(ctx) {
    n := 0
    for i := 0; i < 3000; i++ { n += i }
    if ctx.turn % 2 == 0 {
        return hook.deny("no")
    }
    return hook.allow()
}`))
	fire(t, guard, batch())
	before := heap()
	var shot, lost, decided atomic.Int64
	done := make(chan struct{})
	var all, shooter sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for j := int64(0); ; j++ {
				select {
				case <-done:
					return
				default:
				}
				f := batch()
				f.Fields["turn"] = j
				o := guard.Fire(context.Background(), f)
				want := []contract.Action{contract.Deny, contract.Allow}[j%2]
				switch {
				case o.Failure == nil && o.Action == want:
					decided.Add(1)
				case o.Failure != nil && o.Action == contract.Failed && o.Failure.Kind == hooks.Infrastructure && o.Decisions[0].Action == "error":
					lost.Add(1)
				default:
					t.Errorf("goroutine %d, turn %d: %s, want %s or a failure of the machine's: %+v", i, j, o.Action, want, o.Failure)
					return
				}
			}
		})
	}
	shooter.Go(func() {
		r := rand.New(rand.NewPCG(3, 4))
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end) || shot.Load() < 20 || lost.Load() == 0; {
			<-tick.C
			if time.Now().After(end.Add(time.Minute)) {
				break
			}
			if list := workers(t); len(list) > 0 && r.IntN(3) == 0 && syscall.Kill(list[r.IntN(len(list))], syscall.SIGKILL) == nil {
				shot.Add(1)
			}
		}
		close(done)
	})
	shooter.Wait()
	all.Wait()
	t.Logf("%d shots, %d calls refused, %d decided; %+v", shot.Load(), lost.Load(), decided.Load(), e.Stats())
	if shot.Load() < 20 || lost.Load() == 0 || decided.Load() == 0 {
		t.Errorf("%d shots, %d calls refused, %d decided: that shows nothing", shot.Load(), lost.Load(), decided.Load())
	}
	for range 50 {
		f := batch()
		f.Fields["turn"] = int64(2)
		if o := fire(t, guard, f); o.Action != contract.Deny {
			t.Fatalf("afterwards: %s %+v", o.Action, o.Failure)
		}
	}
	if after := heap(); after > before+8<<20 {
		t.Errorf("the server holds %d KiB, %d KiB before", after>>10, before>>10)
	}
	e.Close()
	waitFor(t, "workers are gone", func() bool { return len(workers(t)) == 0 && e.Stats().WorkersLive == 0 })
	waitFor(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
}
