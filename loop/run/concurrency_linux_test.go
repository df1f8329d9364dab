package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// sleepers are the processes that sleep for that long, by /proc.
func sleepers(t testing.TB, seconds string) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(text), "sleep\x00"+seconds) {
			pids = append(pids, f)
		}
	}
	return pids
}

// awaitSleepers waits until so many of them are at work.
func awaitSleepers(t testing.TB, seconds string, n int) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); len(sleepers(t, seconds)) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d of %d are at work", len(sleepers(t, seconds)), n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A cancel in the middle of a batch ends everything that its calls started,
// children in the background and grandchildren that hold the pipe included.
func TestACancelLeavesNoProcess(t *testing.T) {
	best := time.Hour
	for range 5 {
		r := newRig(t)
		r.realTools()
		r.config.Policy = manifest.Policy{Default: "allow"}
		r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
		seconds := fmt.Sprintf("%d.%09d", 300, time.Now().UnixNano()%1e9)
		r.model.turns = []turn{{calls: []string{
			`read_file {"path":"none"}`,
			fmt.Sprintf(`shell {"command":"sleep %[1]s & (setsid sleep %[1]s &) ; sh -c 'sleep %[1]s & sleep %[1]s'; wait"}`, seconds),
			fmt.Sprintf(`shell {"command":"sleep %s"}`, seconds),
		}}}
		s := r.start("x")
		awaitSleepers(t, seconds, 4)
		begin := time.Now()
		if _, err := r.svc.Cancel(context.Background(), s.RunID, ""); err != nil {
			t.Fatal(err)
		}
		end := r.wait(s.RunID)
		took := time.Since(begin)
		if end.Status != report.Cancelled {
			t.Fatalf("ended %s: %s", end.Status, end.Error)
		}
		if left := sleepers(t, seconds); len(left) > 0 {
			t.Fatalf("left: %v", left)
		}
		if best = min(best, took); best <= 500*time.Millisecond {
			return
		}
	}
	t.Errorf("it took %v", best)
}
