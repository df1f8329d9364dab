package run

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

// TestAHundredRunsAtOnce: all of them get their turns, none waits for the
// others to be over.
func TestAHundredRunsAtOnce(t *testing.T) {
	const runs, turns = 100, 16
	r := newRig(t)
	var mu sync.Mutex
	asked := map[string]int{}
	over, least := 0, 0 // turns that the slowest had had when half of them were over
	all := make(chan struct{})
	r.family(func(ctx context.Context, req loop.ModelRequest) turn {
		name := req.Messages[0].Blocks[0].Text
		mu.Lock()
		asked[name]++
		if len(asked) == runs && req.Turn == 0 && asked[name] == 1 {
			close(all) // everybody is under way
		}
		if req.Turn == turns-1 {
			if over++; over == runs/2 {
				least = turns
				for _, n := range asked {
					least = min(least, n)
				}
			}
		}
		mu.Unlock()
		if req.Turn == 0 {
			select {
			case <-all:
			case <-ctx.Done():
			}
		}
		if req.Turn == turns-1 {
			return turn{text: "done " + name}
		}
		return turn{calls: []string{`look {"at":"x"}`}}
	})
	started := make([]Started, runs)
	for i := range started {
		started[i] = r.start(fmt.Sprint("run ", i))
	}
	for i, s := range started {
		end := r.wait(s.RunID)
		if end.Status != report.Done || *end.Output != fmt.Sprint("done run ", i) {
			t.Errorf("run %d ended %s: %v", i, end.Status, end.Error)
		}
	}
	if len(asked) != runs {
		t.Errorf("%d runs asked the model, want %d", len(asked), runs)
	}
	if least < turns/4 {
		t.Errorf("when half of the runs were over after %d turns, one had had %d only", turns, least)
	}
	t.Logf("when half of %d runs were over after %d turns, the slowest had had %d", runs, turns, least)
}
