package bridge

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/loop/report"
	"agent-ls/lsp/internal/text"
)

func TestTimesAreUTCWithMilliseconds(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	b, err := json.Marshal(Event{plainEvent: plainEvent{Type: report.Notice, At: at}, At: Time{at}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `"at":"2026-03-01T11:00:00.000Z"`) || strings.Count(string(b), `"at"`) != 1 {
		t.Errorf("%s", b)
	}
}

// A decision's place is in the client's unit, whichever it negotiated.
func TestPositionsInTheNegotiatedEncoding(t *testing.T) {
	// "é😀x": x is byte 6, UTF-16 unit 3, rune 2.
	at := &hooks.Location{Path: "/w/h.risor",
		Start: hooks.Position{Line: 2, Column: 3, Byte: 6, UTF16: 3},
		End:   hooks.Position{Line: 2, Column: 4, Byte: 7, UTF16: 4}}
	for enc, want := range map[text.Encoding]Range{
		text.UTF8:  {Position{1, 6}, Position{1, 7}},
		text.UTF16: {Position{1, 3}, Position{1, 4}},
		text.UTF32: {Position{1, 2}, Position{1, 3}},
	} {
		f := newFakeHost(t)
		f.encoding = enc
		b, _, _ := newTestBridge(t, f)
		got := b.wire.decision(hooks.Decision{Hook: hooks.Source{At: at, Digest: "d"}, Error: &hooks.Failure{At: at, Kind: hooks.ScriptFailure}})
		if *got.Hook.Range != want || got.Hook.URI != "file:///w/h.risor" || got.Hook.Digest != "d" {
			t.Errorf("%v: hook %+v %+v", enc, got.Hook, got.Hook.Range)
		}
		if got.Error.URI != "file:///w/h.risor" || *got.Error.Range != want {
			t.Errorf("%v: error %+v", enc, got.Error)
		}
	}
}

func TestHunksInTheNegotiatedEncoding(t *testing.T) {
	for enc, want := range map[text.Encoding]uint32{text.UTF8: 7, text.UTF16: 4, text.UTF32: 3} {
		f := newFakeHost(t)
		f.encoding = enc
		f.open("/w/a.txt", "é😀xy\n")
		b, _, _ := newTestBridge(t, f)
		got := b.wire.edit(report.Edit{Path: "/w/a.txt", Hunks: []report.Hunk{{N: 1, NewText: "\u202ez",
			Range: report.Range{Start: report.Point{}, End: report.Point{Character: 4}}}}})
		if got.Hunks[0].Range.End.Character != want {
			t.Errorf("%v: %+v, want %d", enc, got.Hunks[0], want)
		}
		if got.Hunks[0].NewText != "\u202ez" {
			t.Errorf("the text of a hunk was changed: %q", got.Hunks[0].NewText)
		}
	}
}

// What people are shown plays no tricks; what comes back as an answer is exact.
func TestShownTextIsVisibleAndArgumentsAreExact(t *testing.T) {
	f := newFakeHost(t)
	b, _, _ := newTestBridge(t, f)
	ap := approvalOf("a1", report.AllowOnce)
	ap.Title, ap.Why = "rm \x1b[2K ls", []string{"\u202erule"}
	ap.Arguments = json.RawMessage(`{"command":"rm \u001b[2K"}`)
	got := b.wire.approval(ap)
	if got.Title != `rm \u{001b}[2K ls` || got.Why[0] != `\u{202e}rule` || string(got.Arguments) != string(ap.Arguments) {
		t.Errorf("%q %q %s", got.Title, got.Why, got.Arguments)
	}
	out := "done\r\n\x07"
	e := b.wire.event(report.Event{Type: report.ToolFinished, Output: &out, Text: "\u2066a"})
	if *e.Output != "done\r\n"+`\u{0007}` || e.Text != `\u{2066}a` {
		t.Errorf("%q %q", *e.Output, e.Text)
	}
	if out != "done\r\n\x07" {
		t.Error("the event's own output was changed")
	}
}

func TestDiffOfLineEndsShowsThem(t *testing.T) {
	for _, test := range []struct{ diff, want string }{
		{"--- a\n+++ a\n@@ -1 +1 @@\n-a\r\n+b\r\n", "--- a\n+++ a\n@@ -1 +1 @@\n-a\r\n+b\r\n"},
		{"--- a\n+++ a\n@@ -1 +1 @@\n-a\r\n+a\n", "--- a\n+++ a\n@@ -1 +1 @@\n-a\\u{000d}\n+a\n"},
		{"--- a\n+++ a\n@@ -1 +1 @@\n-a\r\n+\x1bb\r\n", "--- a\n+++ a\n@@ -1 +1 @@\n-a\r\n+\\u{001b}b\r\n"},
	} {
		if got := showDiff(test.diff); got != test.want {
			t.Errorf("%q = %q, want %q", test.diff, got, test.want)
		}
	}
}
