package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// sentText is everything that a request says, a line for each block.
func sentText(req loop.ModelRequest) string {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, block := range m.Blocks {
			text := block.Text
			if block.Call != nil {
				text = "call " + block.Call.Name
			}
			if block.Result != nil {
				text = "result " + block.Result.Text
			}
			if len(text) > 90 {
				text = text[:90] + "…"
			}
			fmt.Fprintf(&b, "%s %s: %s\n", m.Role, block.Kind, text)
		}
	}
	return b.String()
}

func stubs(req loop.ModelRequest) int {
	return strings.Count(sentText(req), "the output of this call,")
}

// bigLook is a call whose result has about 500 bytes.
func bigLook(n int) turn {
	return turn{calls: []string{fmt.Sprintf(`look {"at":"%d%s"}`, n, strings.Repeat("x", 480))}}
}

func bigLooks(n int) []turn {
	var turns []turn
	for i := range n {
		turns = append(turns, bigLook(i))
	}
	return append(turns, turn{text: "Done."})
}

func TestTailLeavesOlderToolOutputOut(t *testing.T) {
	for name, tt := range map[string]struct {
		set  func(*manifest.Behavior)
		want string // stubs in each request
	}{
		"off":                {func(b *manifest.Behavior) { b.CompactStrategy = "off" }, "0 0 0 0 0 0 0"},
		"over the threshold": {func(b *manifest.Behavior) {}, "0 0 0 1 2 3 4"},
		"under it":           {func(b *manifest.Behavior) { b.CompactThreshold = 5000 }, "0 0 0 0 0 0 0"},
		"low water":          {func(b *manifest.Behavior) { b.CompactLowWaterFraction = 0.4 }, "0 0 0 2 2 4 4"},
		"the newest stay":    {func(b *manifest.Behavior) { b.CompactThreshold, b.CompactKeepTurns = 10, 3 }, "0 0 0 0 1 2 3"},
		"skipped":            {func(b *manifest.Behavior) { b.CompactSkip.Providers = []string{"test"} }, "0 0 0 0 0 0 0"},
		"skipped, window": {func(b *manifest.Behavior) {
			b.CompactSkip = manifest.CompactSkip{Providers: []string{"test"}, MinContextWindow: 1000}
		}, "0 0 0 0 0 0 0"},
		"too small for a skip": {func(b *manifest.Behavior) {
			b.CompactSkip = manifest.CompactSkip{Providers: []string{"test"}, MinContextWindow: 1e6}
		}, "0 0 0 1 2 3 4"},
		"others are skipped": {func(b *manifest.Behavior) { b.CompactSkip.Providers = []string{"other"} }, "0 0 0 1 2 3 4"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			b := &r.config.Behavior
			b.CompactStrategy, b.CompactThreshold, b.CompactKeepTurns = "tail", 1300, 1
			tt.set(b)
			r.model.provider, r.model.window = "test", 100_000
			r.model.turns = bigLooks(6)
			if end := r.wait(r.start("go").RunID); end.Status != report.Done {
				t.Fatal(end.Error)
			}
			var got []string
			for _, req := range r.model.requests() {
				got = append(got, fmt.Sprint(stubs(req)))
			}
			if g := strings.Join(got, " "); g != tt.want {
				t.Errorf("stubs in the requests: %s, want %s", g, tt.want)
			}
		})
	}
}

// What was left out since a request was too long stays left out: in later
// turns, in later runs, and for another process.
func TestOverflowCutoffStays(t *testing.T) {
	r := newRig(t)
	tooLong := turn{err: &loop.ModelError{Class: loop.ContextOverflow, Message: "too long"}}
	r.hooks["work/context:overflow"] = allow
	r.model.turns = []turn{bigLook(0), bigLook(1), bigLook(2), bigLook(3), tooLong, tooLong, {text: "Fits."}, {text: "Again."}, {text: "After all."}}
	s := r.start("go")
	if end := r.wait(s.RunID); *end.Output != "Fits." {
		t.Fatal(end.Error)
	}
	asked := r.model.requests()
	if a, b := stubs(asked[5]), stubs(asked[6]); stubs(asked[4]) != 0 || a != 2 || b != 3 {
		t.Errorf("stubs 0, %d, %d; want 0, 2, 3", a, b)
	}
	r.wait(r.startIn(s.SessionID, "more").RunID)
	r.close()
	r.open()
	if end := r.wait(r.startIn(s.SessionID, "and more").RunID); *end.Output != "After all." {
		t.Fatal(end.Error)
	}
	for _, req := range r.model.requests()[7:] {
		if n := stubs(req); n != 3 {
			t.Errorf("%d stubs in a later request, want 3:\n%s", n, sentText(req))
		}
	}
	if n := fired(r, "context:overflow"); n != 2 {
		t.Errorf("context:overflow fired %d times, want 2", n)
	}
}

func fired(r *rig, event string) int {
	n := 0
	for _, d := range r.decisions() {
		if d.Event == event {
			n++
		}
	}
	return n
}

func (r *rig) decisions() []hooks.Decision {
	r.screen.mu.Lock()
	defer r.screen.mu.Unlock()
	return append([]hooks.Decision(nil), r.screen.decisions...)
}

func TestAutoCompact(t *testing.T) {
	for name, tt := range map[string]struct {
		window int
		off    bool
		want   int // summaries
	}{
		"fills":         {window: 2500, want: 1},
		"does not fill": {window: 200_000},
		"not known":     {},
		"full, but off": {window: 2500, off: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.config.Behavior.AutoCompact, r.config.Behavior.CompactKeepTurns = !tt.off, 2
			r.model.window = tt.window
			var ends []map[string]any
			r.hooks["work/compact:start"] = allow
			r.hooks["work/compact:end"] = func(f hooks.Firing) hooks.Outcome {
				ends = append(ends, f.Fields)
				return hooks.Outcome{Action: contract.Allow}
			}
			big := bigLook(0)
			big.usage = loop.Usage{Input: 2100, Output: 50}
			r.model.turns = []turn{bigLook(1), bigLook(2), bigLook(3), big}
			if tt.want > 0 {
				r.model.turns = append(r.model.turns, turn{text: "The user wants it to go.", usage: loop.Usage{Input: 7, Output: 7}})
			}
			r.model.turns = append(r.model.turns, turn{text: "Done."})
			s := r.start("go on with it")
			end := r.wait(s.RunID)
			if end.Status != report.Done || *end.Output != "Done." {
				t.Fatalf("%s: %s", end.Status, end.Error)
			}
			if tt.want == 0 {
				if len(ends) > 0 {
					for _, e := range ends {
						if e["ok"] == true {
							t.Errorf("summed up: %v", e)
						}
					}
				}
				return
			}
			asked := r.model.requests()
			last := sentText(asked[len(asked)-1])
			if !strings.HasPrefix(last, "user text: go on with it\nuser reminder: [host-") || strings.Count(last, "call look") != 2 || !strings.Contains(rawText(asked[len(asked)-1]), "The user wants it to go.") {
				t.Errorf("the request behind the summary:\n%s", last)
			}
			if len(ends) != 1 || ends[0]["ok"] != true || ends[0]["reason"] != "auto" || ends[0]["after"].(int64) >= ends[0]["before"].(int64) {
				t.Errorf("compact:end = %v", ends)
			}
			if u := end; u.Error != "" || !strings.Contains(r.screen.text(), "the older turns were summed up") {
				t.Errorf("nothing is said of it:\n%s", r.screen.text())
			}
			// Another process sees the same conversation.
			r.close()
			r.open()
			r.model.turns = []turn{{text: "Still there."}}
			r.wait(r.startIn(s.SessionID, "and now?").RunID)
			asked = r.model.requests()
			if again := rawText(asked[len(asked)-1]); !strings.Contains(again, "The user wants it to go.") || strings.Count(again, "call look") != 2 {
				t.Errorf("after a restart:\n%s", again)
			}
		})
	}
}

func rawText(req loop.ModelRequest) string {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, block := range m.Blocks {
			b.WriteString(block.Text + "\n")
			if block.Call != nil {
				b.WriteString("call " + block.Call.Name + "\n")
			}
		}
	}
	return b.String()
}

// A summary that fails changes nothing, and is not tried again at once.
func TestFailedSummaryIsNoEnd(t *testing.T) {
	r := newRig(t)
	r.config.Behavior.AutoCompact, r.config.Behavior.CompactKeepTurns, r.model.window = true, 1, 2500
	big := bigLook(0)
	big.usage = loop.Usage{Input: 2100}
	r.model.turns = []turn{bigLook(1), big, {err: &loop.ModelError{Class: loop.Terminal, Message: "no summary today"}}, big, {text: "Done."}}
	if end := r.wait(r.start("go").RunID); end.Status != report.Done || !strings.Contains(r.screen.text(), "could not be summed up: no summary today") {
		t.Errorf("%s %s:\n%s", end.Status, end.Error, r.screen.text())
	}
}

func TestCompactByHand(t *testing.T) {
	r := newRig(t)
	r.model.turns = []turn{bigLook(1), bigLook(2), {text: "Done."}, {text: "SHORT"}}
	s := r.start("go")
	r.wait(s.RunID)
	done, err := r.svc.Compact(context.Background(), s.SessionID)
	if err != nil || done.After >= done.Before || done.After <= 0 {
		t.Fatalf("Compact = %+v, %v", done, err)
	}
	if again, err := r.svc.Compact(context.Background(), s.SessionID); err != nil || again.Before != again.After {
		t.Errorf("a second time = %+v, %v", again, err)
	}
	r.close()
	r.open()
	r.model.turns = []turn{{text: "Yes."}}
	r.wait(r.startIn(s.SessionID, "well?").RunID)
	asked := r.model.requests()
	if last := rawText(asked[len(asked)-1]); !strings.Contains(last, "SHORT") || strings.Contains(last, "call look") {
		t.Errorf("the next run was sent:\n%s", last)
	}
	if _, err := r.svc.Compact(context.Background(), "nope"); err == nil {
		t.Error("an unknown session was summed up")
	}
	r.kept(s.SessionID)
}

func TestStaleReads(t *testing.T) {
	for name, tt := range map[string]struct {
		option       string
		edit         string
		notice, stub bool
	}{
		"off":                       {"", "a.txt", false, false},
		"notice":                    {"notice", "a.txt", true, false},
		"stub":                      {"stub", "a.txt", false, true},
		"notice of another file":    {"notice", "b.txt", false, false},
		"stub for the other's read": {"stub", "b.txt", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.config.Behavior.ElideStaleReads = tt.option
			path := r.file("a.txt", strings.Repeat("line\n", 100))
			r.file("b.txt", "b\n")
			r.lookReads(path)
			r.model.turns = []turn{bigLook(1), {calls: []string{fmt.Sprintf(`change {"path":%q,"text":"new\n"}`, tt.edit)}}, {text: "Done."}}
			if end := r.wait(r.start("go").RunID); end.Status != report.Done {
				t.Fatal(end.Error)
			}
			asked := r.model.requests()
			last := sentText(asked[len(asked)-1])
			if got := strings.Contains(last, "edited since it was read"); got != tt.notice {
				t.Errorf("notice: %v, want %v:\n%s", got, tt.notice, last)
			}
			if got := strings.Contains(last, "what was read here is left out"); got != tt.stub {
				t.Errorf("stub: %v, want %v:\n%s", got, tt.stub, last)
			}
		})
	}
}

// readingLook is look as a tool that reads a file.
type readingLook struct {
	lookTool
	path    string
	tracker *tool.Tracker
}

func (l readingLook) Prepare(context.Context, json.RawMessage) (loop.Plan, error) {
	return loop.Plan{Effect: loop.Read, Title: "look", Paths: []loop.PathAccess{{Path: l.path}}, ConcurrencySafe: true}, nil
}

func (l readingLook) Run(ctx context.Context, c loop.Invocation) loop.ToolResult {
	l.tracker.Saw(l.path, []byte("text"))
	return l.lookTool.Run(ctx, c)
}

func (r *rig) lookReads(path string) {
	equip := r.svc.equip
	r.svc.equip = func(ctx context.Context, p *pinned, tracker *tool.Tracker) (*gear, []finding, error) {
		g, findings, err := equip(ctx, p, tracker)
		if g != nil {
			g.tools["look"] = readingLook{path: path, tracker: tracker}
		}
		return g, findings, err
	}
}

func TestThinkingDecays(t *testing.T) {
	for name, tt := range map[string]struct {
		budget int
		decay  *manifest.ThinkingDecay
		want   string
	}{
		"off":                      {0, nil, "[0 0 0 0]"},
		"steady":                   {8192, nil, "[8192 8192 8192 8192]"},
		"decays":                   {8192, &manifest.ThinkingDecay{AfterTurn: 2, Floor: 1024}, "[8192 8192 1024 1024]"},
		"never rises to the floor": {512, &manifest.ThinkingDecay{AfterTurn: 1, Floor: 1024}, "[512 512 512 512]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.config.Behavior.ThinkingBudget, r.config.Behavior.ThinkingDecay = tt.budget, tt.decay
			r.model.turns = bigLooks(3)
			r.wait(r.start("go").RunID)
			var got []int
			for _, req := range r.model.requests() {
				got = append(got, req.ThinkingBudget)
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("budgets %v, want %s", got, tt.want)
			}
		})
	}
}

// Thinking goes back to the model that thought it and to no other, and not
// where that one does not take it any more.
func TestThinkingIsSentBackToItsModelOnly(t *testing.T) {
	thought := func(req loop.ModelRequest) bool { return strings.Contains(sentText(req), "assistant thinking: hm") }
	start := func(t *testing.T) *rig {
		r := newRig(t)
		r.model.provider, r.spare.provider = "one", "two"
		r.model.turns = []turn{{think: "hm", text: "I look.", calls: []string{`look {"at":"x"}`}}}
		r.config.Behavior.ThinkingBudget = 2000
		r.hooks["work/history:repair"], r.hooks["work/model:fallback"] = allow, allow
		return r
	}
	t.Run("same model", func(t *testing.T) {
		r := start(t)
		r.model.turns = append(r.model.turns, turn{text: "Done."})
		r.wait(r.start("go").RunID)
		if req := r.model.requests()[1]; !thought(req) || req.ThinkingBudget != 2000 {
			t.Errorf("sent %d:\n%s", req.ThinkingBudget, sentText(req))
		}
	})
	t.Run("another model", func(t *testing.T) {
		r := start(t)
		r.model.turns = append(r.model.turns, turn{err: &loop.ModelError{Class: loop.Terminal, Message: "gone"}})
		r.spare.turns = []turn{{text: "Done."}}
		r.wait(r.start("go").RunID)
		if req := r.spare.requests()[0]; thought(req) || req.ThinkingBudget != 0 {
			t.Errorf("sent %d:\n%s", req.ThinkingBudget, sentText(req))
		}
		if fired(r, "model:fallback") != 1 {
			t.Error("model:fallback did not fire once")
		}
	})
	t.Run("refused", func(t *testing.T) {
		r := start(t)
		r.model.turns = append(r.model.turns, turn{err: &loop.ModelError{Class: loop.ReasoningRefused, Message: "bad signature"}}, turn{text: "Done."}, turn{text: "More."})
		s := r.start("go")
		r.wait(s.RunID)
		r.close()
		r.open()
		r.wait(r.startIn(s.SessionID, "more").RunID)
		asked := r.model.requests()
		if len(asked) != 4 || !thought(asked[1]) || thought(asked[2]) || thought(asked[3]) || asked[2].ThinkingBudget != 0 || asked[3].ThinkingBudget != 2000 {
			t.Errorf("%d requests", len(asked))
		}
		if fired(r, "history:repair") != 1 {
			t.Error("history:repair did not fire once")
		}
	})
	t.Run("refused for ever", func(t *testing.T) {
		r := start(t)
		r.config.Models["m"] = manifest.Model{Name: "m"}
		no := turn{err: &loop.ModelError{Class: loop.ReasoningRefused, Message: "bad signature"}}
		r.model.turns = append(r.model.turns, no, no, no)
		end := r.wait(r.start("go").RunID)
		if n := len(r.model.requests()); n != 3 || end.StopReason != report.StopModel {
			t.Errorf("%d requests, ended %s: %s", n, end.StopReason, end.Error)
		}
	})
}
