package run

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agent-ls/hooks/measured"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// BenchmarkCancel is the time from a cancel to the end of a run whose shell
// command has children in the background and one that left its group, with
// none of them left.
func BenchmarkCancel(b *testing.B) {
	var took measured.Sample
	for range min(b.N, 20) {
		r := newRig(b)
		r.realTools()
		r.config.Policy = manifest.Policy{Default: "allow"}
		r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
		seconds := fmt.Sprintf("%d.%09d", 300, time.Now().UnixNano()%1e9)
		r.model.turns = []turn{{calls: []string{fmt.Sprintf(`shell {"command":"sleep %[1]s & (setsid sleep %[1]s &) ; sh -c 'sleep %[1]s & sleep %[1]s'; wait"}`, seconds)}}}
		s := r.start("x")
		awaitSleepers(b, seconds, 4)
		began := time.Now()
		if _, err := r.svc.Cancel(context.Background(), s.RunID, ""); err != nil {
			b.Fatal(err)
		}
		end := r.wait(s.RunID)
		took = append(took, time.Since(began))
		if left := sleepers(b, seconds); end.Status != report.Cancelled || len(left) > 0 {
			b.Fatalf("ended %s; left: %v", end.Status, left)
		}
	}
	measured.Own(b)
	measured.Most(b, took.Millis(0.5), 500, "p50-ms")
	measured.Most(b, took.Millis(1), 2000, "worst-ms")
}
