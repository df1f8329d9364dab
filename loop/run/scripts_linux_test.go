package run

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent-ls/hooks"
)

// Workers are found through /proc, so this is for Linux.
func TestAHookWhoseWorkerIsKilledFailsClosed(t *testing.T) {
	const script = "func on_tool_call(ctx) {\n    for {\n        sorted(list(range 300000).map(string))\n    }\n}\n"
	limits := hooks.Limits{Operations: 1 << 40, Time: time.Minute, Memory: 1 << 30, Workers: 1}
	failsClosed(t, script, "killed from outside", limits, func() { killBusiest(t) })
}

// killBusiest kills the child of this process that has used the processor
// most, once one has used more than starting takes.
func killBusiest(t *testing.T) {
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
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if ticks, _ := strconv.Atoi(f[11]); ticks > most {
			most, victim = ticks, pid
		}
	}
	if victim != 0 {
		if err := syscall.Kill(victim, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Error(err)
		}
	}
}
