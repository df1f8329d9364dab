package run

import (
	"strings"
	"sync"
	"testing"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

// collected are pieces as they were shown.
type collected struct {
	mu     sync.Mutex // guards what follows
	pieces []piece
	at     []time.Time
	news   chan struct{}
}

func (c *collected) show(p piece) {
	c.mu.Lock()
	c.pieces, c.at = append(c.pieces, p), append(c.at, time.Now())
	c.mu.Unlock()
	c.news <- struct{}{}
}

func TestStreamJoinsPieces(t *testing.T) {
	var s stream
	c := &collected{news: make(chan struct{}, 100)}
	for _, d := range []loop.Delta{
		{Kind: loop.ThinkingDelta, Text: "hm"}, {Kind: loop.ThinkingDelta, Text: " so"}, {}, {Kind: loop.TextDelta, Text: "a"},
		{Kind: loop.TextDelta, Text: "b"}, {Kind: loop.TextDelta, Text: "c"},
	} {
		s.add(d, c.show)
	}
	for range 3 {
		<-c.news
	}
	var text []string
	for _, p := range c.pieces {
		text = append(text, string(p.text))
	}
	if got := strings.Join(text, "|"); got != "hm| so|abc" {
		t.Errorf("shown %q", got)
	}
	for i := 1; i < len(c.at); i++ {
		// The timer of one piece starts behind the showing of the one before.
		if d := c.at[i].Sub(c.at[i-1]); d < showEvery-5*time.Millisecond {
			t.Errorf("piece %d came %v behind the one before", i, d)
		}
	}
	s.add(loop.Delta{Kind: loop.TextDelta, Text: "late"}, c.show)
	s.drop()
	select {
	case <-c.news:
		t.Error("something is shown behind a drop")
	case <-time.After(2 * showEvery):
	}
}

func TestDeltasAreNotKeptAndComeBeforeTheMessage(t *testing.T) {
	r := newRig(t)
	r.model.turns = []turn{{text: "Hello world", parts: []string{"Hel", "lo ", "world"}}}
	s := r.start("x")
	r.wait(s.RunID)
	seen, message := 0, false
	for _, e := range r.screen.all() {
		switch e.Type {
		case report.TextDelta:
			seen++
			if e.Seq != 0 || message || e.Stage != "work" || e.Turn != 1 {
				t.Errorf("delta %+v, message before it: %v", e, message)
			}
		case report.Message:
			message = true
		}
	}
	if seen != 1 {
		t.Errorf("%d deltas at once, want 1", seen)
	}
	for _, e := range r.kept(s.SessionID) {
		if e.Type == report.TextDelta {
			t.Error("a delta was kept")
		}
	}
}
