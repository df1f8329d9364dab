package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agent-ls/loop/report"
)

// arrival is an event as the editor got it, with the time since the start.
type arrival struct {
	kind, text string
	at         time.Duration
}

// collect runs fn in a bubble with a fake clock and returns what the editor got.
func collect(t *testing.T, fn func(send func(report.Event))) []arrival {
	var out []arrival
	synctest.Test(t, func(t *testing.T) {
		f := newFakeHost(t)
		f.caps.Agent.Events = true
		ctx, cancel := context.WithCancel(t.Context())
		o := newOutbox(ctx, f, slog.New(slog.DiscardHandler))
		start := time.Now()
		fn(func(e report.Event) {
			e.RunID = "r1"
			o.event(e, func(e report.Event) Event {
				return Event{plainEvent: plainEvent(e), At: Time{time.Now()}}
			})
		})
		time.Sleep(time.Second)
		synctest.Wait()
		for _, raw := range f.got(methodEvent) {
			e := decodeJSON[struct {
				Type, Text, Output string
				At                 time.Time
			}](t, raw)
			out = append(out, arrival{e.Type, e.Text + e.Output, e.At.Sub(start)})
		}
		cancel()
		o.close()
	})
	return out
}

func TestTransientEventsAreJoined(t *testing.T) {
	var want strings.Builder
	got := collect(t, func(send func(report.Event)) {
		for i := range 30 { // a piece each 10 ms
			fmt.Fprint(&want, i)
			send(report.Event{Type: report.TextDelta, Text: fmt.Sprint(i)})
			time.Sleep(10 * time.Millisecond)
		}
	})
	var text strings.Builder
	for i, a := range got {
		text.WriteString(a.text)
		if i > 0 && a.at-got[i-1].at < joinInterval {
			t.Errorf("events at %v and %v", got[i-1].at, a.at)
		}
	}
	if text.String() != want.String() || len(got) > 8 || got[0].at != 0 {
		t.Errorf("got %v", got)
	}
}

func TestKeptEventsKeepTheirPlace(t *testing.T) {
	got := collect(t, func(send func(report.Event)) {
		send(report.Event{Type: report.ThinkingDelta, Text: "hm"})
		send(report.Event{Type: report.ThinkingDelta, Text: ", yes"})
		send(report.Event{Type: report.TextDelta, Text: "I lo"})
		send(report.Event{Type: report.Message, Seq: 1, Text: "I look"})
		send(report.Event{Type: report.ToolOutput, CallID: "a", Output: new("1")})
		send(report.Event{Type: report.ToolOutput, CallID: "b", Output: new("2")})
		send(report.Event{Type: report.ToolOutput, CallID: "a", Output: new("3")})
		send(report.Event{Type: report.ToolFinished, Seq: 2})
	})
	var have []string
	for _, a := range got {
		have = append(have, a.kind+":"+a.text)
	}
	want := "thinking_delta:hm thinking_delta:, yes message:I look tool_output:3 tool_output:2 tool_finished:"
	if s := strings.Join(have, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// An editor that does not read never holds up a run, and what it misses it can
// ask for.
func TestEditorThatDoesNotReadHoldsNothingUp(t *testing.T) {
	f := newFakeHost(t)
	f.caps.Agent.Events = true
	f.mu.Lock() // Notify waits for it
	ctx, cancel := context.WithCancel(t.Context())
	o := newOutbox(ctx, f, slog.New(slog.DiscardHandler))
	o.limit = 100
	for i := range 3 * o.limit {
		o.event(report.Event{RunID: "r1", Type: report.Notice, Seq: int64(i + 1)}, func(e report.Event) Event { return Event{plainEvent: plainEvent(e)} })
	}
	o.mu.Lock()
	if len(o.queue) > o.limit || o.dropped == 0 {
		t.Errorf("%d wait, %d were dropped", len(o.queue), o.dropped)
	}
	o.mu.Unlock()
	cancel()
	f.mu.Unlock()
	o.close()
}
