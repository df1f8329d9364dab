package hooks_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
)

// A worker that somebody else kills is the machine's fault, and the run still
// learns where the script was.
func TestKilledFromOutside(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	set := load(t, e, hooks.Limits{Time: time.Minute, Memory: 1 << 30, Workers: 1},
		on("on_tool_call", "slow.risor", "func on_tool_call(ctx) {\n  for {\n    sorted(list(range 300000).map(string))\n  }\n}"))
	done := make(chan hooks.Outcome)
	go func() { done <- set.Fire(context.Background(), batch()) }()
	deadline := time.Now().Add(time.Minute)
	var o hooks.Outcome
	for {
		select {
		case o = <-done:
		case <-time.After(100 * time.Millisecond):
			if time.Now().After(deadline) {
				t.Fatal("the firing never ended")
			}
			killBusyChild(t)
			continue
		}
		break
	}
	if o.Action != contract.Failed || o.Failure.Kind != hooks.Infrastructure || !strings.Contains(o.Failure.Message, "killed from outside") {
		t.Fatalf("outcome = %+v %+v", o, o.Failure)
	}
	if o.Failure.At.Start.Line < 2 || len(o.Failure.Stack) == 0 {
		t.Errorf("at %+v, stack %v, want the last known place", o.Failure.At, o.Failure.Stack)
	}
	guard := load(t, e, hooks.Limits{Time: time.Minute, Memory: 1 << 30, Workers: 1}, on("on_tool_call", "g.risor", allow))
	if o := fire(t, guard, batch()); o.Failure != nil {
		t.Errorf("the next firing: %s", o.Failure.Message)
	}
}

// killBusyChild kills the worker of this process that has used the processor
// most, once one has used more than a start takes.
func killBusyChild(t *testing.T) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	most, victim := 30, 0 // hundredths of a second
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // gone meanwhile
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if len(f) < 13 || f[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		ticks, _ := strconv.Atoi(f[11])
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if ticks > most {
			most, victim = ticks, pid
		}
	}
	if victim != 0 {
		syscall.Kill(victim, syscall.SIGKILL)
	}
}
