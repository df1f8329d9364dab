package run

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"agent-ls/loop"
)

// After summaries and stubs, the session itself, the same session in another
// process and a fork of it send the same request: nobody sees another past.
func TestForkAndRestartSendTheSameRequest(t *testing.T) {
	ctx := context.Background()
	for _, how := range []string{"a summary by hand", "stubs of the tail", "stubs after an overflow"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			r.model.turns = []turn{bigLook(1), bigLook(2), bigLook(3), {text: "Done."}}
			switch how {
			case "stubs of the tail":
				b := &r.config.Behavior
				b.CompactStrategy, b.CompactThreshold, b.CompactKeepTurns = "tail", 1300, 1
			case "stubs after an overflow":
				r.model.turns = []turn{bigLook(1), bigLook(2), {err: &loop.ModelError{Class: loop.ContextOverflow, Message: "too long"}}, bigLook(3), {text: "Done."}}
			}
			s := r.start("go")
			r.wait(s.RunID)
			if how == "a summary by hand" {
				r.model.turns = []turn{{text: "SHORT"}}
				if _, err := r.svc.Compact(ctx, s.SessionID); err != nil {
					t.Fatal(err)
				}
			}
			whole := len(r.model.requests()[len(r.model.requests())-1].Messages)
			fork, err := r.svc.Fork(ctx, s.SessionID, 0)
			if err != nil {
				t.Fatal(err)
			}
			other, err := r.svc.Fork(ctx, s.SessionID, 0)
			if err != nil {
				t.Fatal(err)
			}
			sent := map[string]string{}
			ask := func(name, session string) {
				r.model.turns = []turn{{text: "Yes."}}
				r.wait(r.startIn(session, "well?").RunID)
				requests := r.model.requests()
				text, err := json.Marshal(requests[len(requests)-1].Messages)
				if err != nil {
					t.Fatal(err)
				}
				sent[name] = string(text)
			}
			ask("the fork", fork)
			r.restart()
			ask("a fork, in another process", other)
			ask("the session, in another process", s.SessionID)
			for name, text := range sent {
				if text != sent["the session, in another process"] {
					t.Errorf("%s sent\n%s\nthe session sent\n%s", name, text, sent["the session, in another process"])
				}
			}
			if how == "a summary by hand" && !strings.Contains(sent["the fork"], "SHORT") || whole == 0 {
				t.Errorf("the summary is not in the request: %s", sent["the fork"])
			}
			// What people read is whole all the same.
			text, err := r.svc.Export(ctx, fork, Markdown)
			if err != nil || strings.Count(string(text), "**look**") != 3 {
				t.Errorf("the export: %v\n%s", err, text)
			}
		})
	}
}
