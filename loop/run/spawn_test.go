package run

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/policy"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// answering is a model whose answers are a function of the request.
type answering struct {
	name   string
	mu     sync.Mutex // guards what follows
	asked  []loop.ModelRequest
	answer func(ctx context.Context, req loop.ModelRequest) turn
}

func (m *answering) Info() loop.ModelInfo { return loop.ModelInfo{Name: m.name} }

func (m *answering) Stream(ctx context.Context, req loop.ModelRequest, _ func(loop.Delta)) (loop.ModelAnswer, error) {
	m.mu.Lock()
	m.asked = append(m.asked, req)
	m.mu.Unlock()
	if err := loop.WellFormed(req.Messages); err != nil {
		return loop.ModelAnswer{}, &loop.ModelError{Class: loop.Terminal, Message: "malformed history: " + err.Error()}
	}
	one := &scripted{name: m.name, turns: []turn{m.answer(ctx, req)}}
	if err := ctx.Err(); err != nil {
		return loop.ModelAnswer{}, err
	}
	return one.Stream(ctx, req, func(loop.Delta) {})
}

func (m *answering) requests() []loop.ModelRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// family gives the rig a model that plays one list of turns at each depth; at
// the same depth the prompt chooses, by its first word.
func (r *rig) family(answer func(ctx context.Context, req loop.ModelRequest) turn) *answering {
	m := &answering{name: "m", answer: answer}
	r.svc.opt.OpenModel = func(manifest.Model) (loop.Model, error) { return m, nil }
	return m
}

func lastText(req loop.ModelRequest) string {
	var parts []string
	for _, b := range req.Messages[len(req.Messages)-1].Blocks {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
		if b.Result != nil {
			parts = append(parts, b.Result.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func (r *rig) eventsOf(runID string) []report.Event {
	return slices.DeleteFunc(r.screen.all(), func(e report.Event) bool { return e.RunID != runID })
}

func spawnCall(prompt string) string { return fmt.Sprintf("spawn {\"prompt\":%q}", prompt) }

func TestSpawnHasItsOwnContextAndReportsBack(t *testing.T) {
	r := newRig(t)
	m := r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 1 && req.Turn == 0:
			return turn{text: "looking", calls: []string{`look {"at":"x"}`}}
		case req.Depth == 1:
			return turn{text: "it is at x"}
		case req.Turn == 0:
			return turn{text: "I ask", calls: []string{spawnCall("find it")}}
		}
		return turn{text: "told: " + lastText(req)}
	})
	s := r.start("where is it")
	end := r.wait(s.RunID)
	if *end.Output != "told: it is at x" {
		t.Errorf("output = %q, want the sub-agent's answer in it\n%s", *end.Output, r.screen.text())
	}
	var child report.Event
	for _, e := range r.eventsOf(s.RunID) {
		if e.Type == report.AgentSpawned {
			child = e
		}
	}
	events := r.eventsOf(child.ChildRunID)
	if len(events) == 0 {
		t.Fatalf("no events of the sub-agent; events:\n%s", r.screen.text())
	}
	for _, e := range events {
		if e.Depth != 1 || e.ParentRunID != s.RunID || e.SessionID != child.ChildSessionID {
			t.Errorf("%s has depth %d, parent %q, session %q; want 1, %q, %q", e.Type, e.Depth, e.ParentRunID, e.SessionID, s.RunID, child.ChildSessionID)
		}
	}
	for _, req := range m.requests() {
		if req.Depth == 1 && strings.Contains(fmt.Sprint(req.Messages), "where is it") {
			t.Error("the sub-agent sees its parent's conversation")
		}
	}
	list, _, err := r.svc.Sessions(context.Background(), 10, "", "")
	if err != nil || len(list) != 1 {
		t.Fatalf("Sessions() = %v, %v; want the parent's only", list, err)
	}
	// Two answers of the parent and two of the child, 110 tokens each.
	if u := list[0].Usage; u.Input+u.Output != 440 {
		t.Errorf("usage of the session = %d, want 440 with the sub-agent's", u.Input+u.Output)
	}
	if r.svc.Newest() != s.RunID {
		t.Error("the newest run is the sub-agent's")
	}
}

func TestSpawnsRunAtTheSameTime(t *testing.T) {
	r := newRig(t)
	all := make(chan struct{})
	var at sync.WaitGroup
	at.Add(3)
	go func() { at.Wait(); close(all) }()
	r.family(func(ctx context.Context, req loop.ModelRequest) turn {
		if req.Depth == 1 {
			at.Done()
			select {
			case <-all:
			case <-ctx.Done():
			}
			return turn{text: "done " + lastText(req)}
		}
		if req.Turn == 0 {
			return turn{calls: []string{spawnCall("a"), spawnCall("b"), spawnCall("c")}}
		}
		return turn{text: lastText(req)}
	})
	end := r.wait(r.start("three").RunID)
	if got, want := *end.Output, "done a\ndone b\ndone c"; strings.TrimSpace(strings.ReplaceAll(got, "\n\n", "\n")) != want {
		t.Errorf("output = %q, want the results in order: %q", got, want)
	}
}

func TestSpawnLimits(t *testing.T) {
	t.Run("number, at all depths together", func(t *testing.T) {
		r := newRig(t)
		r.config.Limits.Agents = 2
		r.family(func(_ context.Context, req loop.ModelRequest) turn {
			switch {
			case req.Turn > 0:
				return turn{text: lastText(req)}
			case req.Depth == 0:
				return turn{calls: []string{spawnCall("first")}}
			case req.Depth == 1:
				return turn{calls: []string{spawnCall("second"), spawnCall("third")}}
			}
			return turn{text: "ran"}
		})
		end := r.wait(r.start("go").RunID)
		if n := strings.Count(*end.Output, "ran"); n != 1 || !strings.Contains(*end.Output, "limits.agents") {
			t.Errorf("output = %q, want one grandchild that ran and one refused by limits.agents", *end.Output)
		}
	})
	t.Run("depth", func(t *testing.T) {
		r := newRig(t)
		deepest := 0
		var mu sync.Mutex
		r.family(func(_ context.Context, req loop.ModelRequest) turn {
			mu.Lock()
			deepest = max(deepest, req.Depth)
			mu.Unlock()
			if req.Turn == 0 {
				return turn{calls: []string{spawnCall("deeper")}}
			}
			return turn{text: lastText(req)}
		})
		end := r.wait(r.start("go").RunID)
		if deepest != 3 || !strings.Contains(*end.Output, "limits.depth") {
			t.Errorf("deepest = %d, output = %q; want 3 and a refusal that names limits.depth", deepest, *end.Output)
		}
	})
}

func TestCancelEndsSubAgentsFirst(t *testing.T) {
	r := newRig(t)
	deep := make(chan struct{}, 1)
	r.family(func(ctx context.Context, req loop.ModelRequest) turn {
		if req.Depth < 2 {
			return turn{calls: []string{spawnCall("deeper")}}
		}
		deep <- struct{}{}
		<-ctx.Done()
		return turn{}
	})
	s := r.start("go")
	<-deep
	begun := time.Now()
	if _, err := r.svc.Cancel(context.Background(), s.RunID, ""); err != nil {
		t.Fatal(err)
	}
	end := r.wait(s.RunID)
	if took := time.Since(begun); took > endWithin {
		t.Errorf("the cancel took %v", took)
	}
	if end.Status != report.Cancelled {
		t.Errorf("status = %s", end.Status)
	}
	var ended []int
	for _, e := range r.screen.all() {
		if e.Type == report.RunFinished {
			ended = append(ended, e.Depth)
			if e.Status != report.Cancelled {
				t.Errorf("run at depth %d ended %s", e.Depth, e.Status)
			}
		}
	}
	if !slices.Equal(ended, []int{2, 1, 0}) {
		t.Errorf("runs ended in the order of depths %v, want [2 1 0]", ended)
	}
}

func TestApprovalOfASubAgentNamesItsParent(t *testing.T) {
	r := newRig(t)
	r.verdict["change"] = loop.VerdictAsk
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 0 && req.Turn == 0:
			return turn{calls: []string{spawnCall("change it")}}
		case req.Depth == 1 && req.Turn == 0:
			return turn{calls: []string{`change {"path":"f","text":"new"}`}}
		}
		return turn{text: lastText(req)}
	})
	s := r.start("go")
	a := <-r.screen.asked
	if a.ParentRunID != s.RunID || a.RunID == s.RunID {
		t.Errorf("approval of run %q has parent %q, want %q", a.RunID, a.ParentRunID, s.RunID)
	}
	// While somebody is asked, the parent waits as well.
	waitFor(t, func() bool {
		list, _, _ := r.svc.Sessions(context.Background(), 1, "", "")
		return len(list) == 1 && list[0].Status == report.Waiting
	})
	if err := r.svc.Resolve(context.Background(), a.ID, report.Answer{Outcome: report.AllowOnce}); err != nil {
		t.Fatal(err)
	}
	r.wait(s.RunID)
	if got := r.content(r.dir + "/ws/f"); got != "new" {
		t.Errorf("f = %q", got)
	}
}

func TestNobodyToAskInASubAgentIsADenialAtOnce(t *testing.T) {
	r := newRig(t)
	r.verdict["change"] = loop.VerdictAsk
	r.svc.opt.Frontend = nil
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 0 && req.Turn == 0:
			return turn{calls: []string{spawnCall("change it")}}
		case req.Depth == 1 && req.Turn == 0:
			return turn{calls: []string{`change {"path":"f","text":"new"}`}}
		}
		return turn{text: lastText(req)}
	})
	end := r.wait(r.start("go").RunID)
	if !strings.Contains(*end.Output, "no approver") {
		t.Errorf("output = %q, want a denial labelled no approver", *end.Output)
	}
}

// TestSubAgentsPassTheSameHooks: the parent's guard sees the child's calls,
// with whose they are in ctx, also when the child is another agent.
func TestSubAgentsPassTheSameHooks(t *testing.T) {
	r := newRig(t)
	var seen []map[string]any
	var mu sync.Mutex
	r.hooks["work/on_tool_call"] = func(f hooks.Firing) hooks.Outcome {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, f.Fields)
		if f.Fields["depth"] == int64(1) {
			return hooks.Outcome{Action: contract.Deny, Reason: "not there"}
		}
		return hooks.Outcome{Action: contract.Allow}
	}
	r.family(func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 0 && req.Turn == 0:
			return turn{calls: []string{spawnCall("look")}}
		case req.Depth == 1 && req.Turn == 0:
			return turn{calls: []string{`look {"at":"x"}`}}
		}
		return turn{text: lastText(req)}
	})
	s := r.start("go")
	end := r.wait(s.RunID)
	if !strings.Contains(*end.Output, "not there") {
		t.Errorf("output = %q, want the guard's reason", *end.Output)
	}
	last := seen[len(seen)-1]
	if last["parent_run_id"] != s.RunID || last["parent_call_id"] == nil || last["run_id"] == s.RunID {
		t.Errorf("ctx = %v, want the identity of the sub-agent", last)
	}
}

func TestGuardsReachOtherAgents(t *testing.T) {
	at := func(stage, event, path string) hooks.Declaration {
		return hooks.Declaration{ID: stage + event, Stage: stage, Event: event, Path: path}
	}
	parent := &manifest.Agent{Hooks: []hooks.Declaration{
		at("", "tool:gate", "gate"), at("plan", loop.OnToolCall, "plan"), at("work", loop.OnToolCall, "work"),
		at("work", loop.OnStageEnter, "seed"), at("", "tool:gate", "both"), at("", "child:tool:gate", "child"),
	}}
	own := []hooks.Declaration{at("", "tool:gate", "both"), at("review", loop.OnToolCall, "mine")}
	var got []string
	for _, d := range guards(parent, "work", own) {
		got = append(got, d.Event+" "+d.Path+" "+d.Stage)
	}
	if want := []string{"tool:gate gate ", "on_tool_call work "}; !slices.Equal(got, want) {
		t.Errorf("guards = %q, want %q", got, want)
	}
}

func TestSpawnOfAnotherAgent(t *testing.T) {
	r := newRig(t)
	r.config.Agents = append(r.config.Agents,
		manifest.Agent{Name: "reviewer", Model: "m", Stages: []manifest.Stage{{Name: "review", Tools: []string{"look"}, System: "Review."}}},
		manifest.Agent{Name: "empty", Model: "m"})
	m := r.family(func(_ context.Context, req loop.ModelRequest) turn {
		if req.Depth == 0 && req.Turn == 0 {
			return turn{calls: []string{
				`spawn {"agent":"reviewer","prompt":"a"}`, `spawn {"agent":"revewer","prompt":"b"}`, `spawn {"agent":"empty","prompt":"c"}`,
			}}
		}
		return turn{text: "answer: " + lastText(req)}
	})
	end := r.wait(r.start("go").RunID)
	for _, want := range []string{"answer: a", `did you mean "reviewer"`, "has no stage"} {
		if !strings.Contains(*end.Output, want) {
			t.Errorf("output = %q, want %q in it", *end.Output, want)
		}
	}
	for _, req := range m.requests() {
		if req.Depth == 1 && (req.Agent != "reviewer" || len(req.Tools) != 1 || !strings.Contains(req.System, "Review.")) {
			t.Errorf("the sub-agent is %q with %d tools", req.Agent, len(req.Tools))
		}
	}
}

// TestSpawnWithoutANameHasTheToolsOfItsStage: a restricted stage does not get
// at another stage's tools by way of a sub-agent.
func TestSpawnWithoutANameHasTheToolsOfItsStage(t *testing.T) {
	r := newRig(t)
	r.config.Agents[0].Stages = []manifest.Stage{
		{Name: "plan", Tools: []string{"look", "spawn"}, Next: "work"}, {Name: "work", Tools: []string{"*"}},
	}
	m := r.family(func(_ context.Context, req loop.ModelRequest) turn {
		if req.Depth == 0 && req.Turn == 0 {
			return turn{calls: []string{`spawn {"agent":"coder","prompt":"a"}`}}
		}
		return turn{text: "ok"}
	})
	r.wait(r.start("go").RunID)
	for _, req := range m.requests() {
		if req.Depth != 1 {
			continue
		}
		for _, spec := range req.Tools {
			if spec.Name != "look" && spec.Name != "spawn" {
				t.Errorf("the sub-agent is offered %s", spec.Name)
			}
		}
	}
	if n := len(m.requests()); n != 4 { // plan twice, its child once, work once
		t.Errorf("%d requests, want 4: the sub-agent goes no further than its stage", n)
	}
}

func TestCostOfSubAgentsEndsTheParent(t *testing.T) {
	var s loop.State
	s, _ = loop.Apply(s, loop.Event{Kind: loop.Started, RunID: "r", Course: &loop.Course{Stages: []loop.StageCourse{{Name: "a"}}, Limits: loop.CourseLimits{Cost: 1}}})
	spent := func(id string, amount float64) {
		s, _ = loop.Apply(s, loop.Event{Kind: loop.Spent, ID: id, Usage: &loop.Usage{Input: 1, Cost: &loop.Cost{Amount: amount, Currency: "USD"}}})
	}
	spent("a", 0.5)
	spent("a", 0.6) // altogether, not more
	spent("b", 0.3)
	if !s.Active() || s.Usage.Cost.Amount < 0.89 || s.Usage.Cost.Amount > 0.91 {
		t.Fatalf("cost = %v, active = %v; want 0.9 and a run that goes on", s.Usage.Cost, s.Active())
	}
	spent("b", 0.5)
	if s.Active() || s.Ending.Stop != loop.StopLimit {
		t.Errorf("the run is %s (%s), want ended by its limit", s.Status, s.Ending.Stop)
	}
}

// TestKilledWhileASubAgentWorks: another process takes parent and child up
// together; the child's call with effects does not run again.
func TestKilledWhileASubAgentWorks(t *testing.T) {
	r := newRig(t)
	r.slow.gate = make(chan struct{})
	answer := func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 0 && req.Turn == 0:
			return turn{calls: []string{spawnCall("be slow")}}
		case req.Depth == 1 && req.Turn == 0:
			return turn{calls: []string{`slow {}`}}
		}
		return turn{text: lastText(req)}
	}
	r.family(answer)
	s := r.start("go")
	<-r.slow.entered
	r.close() // as a crash: nothing of the run is finished
	r.open()
	r.family(answer)
	res, err := r.svc.Resume(context.Background(), s.SessionID)
	if err != nil || res.RunID != s.RunID {
		t.Fatalf("Resume() = %+v, %v", res, err)
	}
	end := r.wait(s.RunID)
	if !strings.Contains(*end.Output, "may or may not have happened") {
		t.Errorf("output = %q, want it to say what is not known", *end.Output)
	}
	if r.slow.runs != 1 {
		t.Errorf("slow ran %d times", r.slow.runs)
	}
	children, err := r.journal.ChildrenOf(context.Background(), s.RunID)
	if err != nil || len(children) != 1 || children[0].Status != report.Done {
		t.Errorf("children = %+v, %v; want one that is done", children, err)
	}
}

func TestASubAgentsSessionIsNotResumedByItself(t *testing.T) {
	r := newRig(t)
	r.slow.gate = make(chan struct{})
	answer := func(_ context.Context, req loop.ModelRequest) turn {
		switch {
		case req.Depth == 0 && req.Turn == 0:
			return turn{calls: []string{spawnCall("be slow")}}
		case req.Depth == 1 && req.Turn == 0:
			return turn{calls: []string{`slow {}`}}
		}
		return turn{text: lastText(req)}
	}
	r.family(answer)
	s := r.start("go")
	<-r.slow.entered
	r.close()
	r.open()
	r.family(answer)
	children, err := r.journal.ChildrenOf(context.Background(), s.RunID)
	if err != nil || len(children) != 1 {
		t.Fatal(children, err)
	}
	res, err := r.svc.Resume(context.Background(), children[0].ID)
	if err != nil || res.RunID != "" || !strings.Contains(res.Reason, s.SessionID) {
		t.Errorf("Resume(child) = %+v, %v; want a reason that names the parent's session", res, err)
	}
	// A cancel of the run that is left behind ends its sub-agent too.
	if _, err := r.svc.Cancel(context.Background(), s.RunID, ""); err != nil {
		t.Fatal(err)
	}
	if children, _ = r.journal.ChildrenOf(context.Background(), s.RunID); children[0].Status != report.Cancelled {
		t.Errorf("the sub-agent is %s after its parent was cancelled", children[0].Status)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			t.Fatal("it did not come to that")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestASubAgentFollowsTheModeOfTheRunAbove, while it works and when another
// process takes it up.
func TestASubAgentFollowsTheModeOfTheRunAbove(t *testing.T) {
	for _, killed := range []bool{false, true} {
		ctx := context.Background()
		r := newRig(t)
		r.slow.gate = make(chan struct{})
		var mu sync.Mutex
		modes := map[int]loop.Mode{}
		equip := func() {
			before := r.svc.equip
			r.svc.equip = func(ctx context.Context, p *pinned, tracker *tool.Tracker) (*gear, []finding, error) {
				g, found, err := before(ctx, p, tracker)
				judge := g.judge
				g.judge = func(q policy.Request) loop.Judgement {
					if q.Tool == "look" {
						mu.Lock()
						modes[len(modes)] = q.Mode
						mu.Unlock()
					}
					return judge(q)
				}
				return g, found, err
			}
		}
		equip()
		answer := func(_ context.Context, req loop.ModelRequest) turn {
			switch {
			case req.Depth == 0 && req.Turn == 0:
				return turn{calls: []string{spawnCall("be slow")}}
			case req.Depth == 1 && req.Turn == 0:
				return turn{calls: []string{`slow {}`}}
			case req.Depth == 1 && req.Turn == 1:
				return turn{calls: []string{`look {"at":"x"}`}}
			}
			return turn{text: lastText(req)}
		}
		r.family(answer)
		s, err := r.svc.Start(ctx, StartParams{Prompt: "go", Mode: loop.ModeAuto})
		if err != nil {
			t.Fatal(err)
		}
		<-r.slow.entered
		if killed {
			r.close()
			r.open()
			equip()
			r.family(answer)
		}
		if err := r.svc.Set(ctx, s.SessionID, loop.ModePlan, ""); err != nil {
			t.Fatal(err)
		}
		children, err := r.journal.ChildrenOf(ctx, s.RunID)
		if err != nil || len(children) != 1 {
			t.Fatal(children, err)
		}
		if killed {
			r.resume(s.SessionID)
		} else {
			if err := r.svc.Set(ctx, children[0].ID, loop.ModeAuto, ""); err == nil || !strings.Contains(err.Error(), "mode plan") {
				t.Errorf("a looser mode for the sub-agent: %v", err)
			}
			close(r.slow.gate)
		}
		r.wait(s.RunID)
		if modes[0] != loop.ModePlan || len(modes) != 1 {
			t.Errorf("killed %v: the sub-agent's calls were judged in %v, want plan", killed, modes)
		}
	}
}

// The rules of an agent's own file bind it and the agents that work for it,
// and nobody else.
func TestRulesOfAnAgentBindWhatItSpawns(t *testing.T) {
	s := newRig(t).svc
	config := manifest.Config{Policy: manifest.Policy{Default: "ask", Rules: []manifest.Rule{
		{Verdict: "allow", Text: "read_file(*)"},
		{Verdict: "deny", Text: "read_file(a.txt)", Agent: "strict"},
		{Verdict: "deny", Text: "read_file(b.txt)", Agent: "other"},
	}}}
	strict, easy := manifest.Agent{Name: "strict", Model: "m"}, manifest.Agent{Name: "easy", Model: "m"}
	for name, tt := range map[string]struct {
		pin  pinned
		want []loop.Verdict // of a.txt and b.txt
	}{
		"itself":             {pinned{Config: manifest.Config{Agents: []manifest.Agent{strict}}}, []loop.Verdict{loop.VerdictDeny, loop.VerdictAllow}},
		"another":            {pinned{Config: manifest.Config{Agents: []manifest.Agent{easy}}}, []loop.Verdict{loop.VerdictAllow, loop.VerdictAllow}},
		"another, for it":    {pinned{Config: manifest.Config{Agents: []manifest.Agent{easy}}, Callers: []string{"strict"}}, []loop.Verdict{loop.VerdictDeny, loop.VerdictAllow}},
		"further below both": {pinned{Config: manifest.Config{Agents: []manifest.Agent{easy}}, Callers: []string{"other", "strict"}}, []loop.Verdict{loop.VerdictDeny, loop.VerdictDeny}},
	} {
		tt.pin.Config.Policy = config.Policy
		rules, found := s.rules(&tt.pin)
		if len(found) > 0 {
			t.Fatal(found[0].Message)
		}
		for i, file := range []string{"a.txt", "b.txt"} {
			path := filepath.Join(s.opt.Root, file)
			j := rules.Judge(policy.Request{Tool: "read_file", Plan: loop.Plan{Effect: loop.Read, Paths: []loop.PathAccess{{Path: path}}}})
			if j.Verdict != tt.want[i] {
				t.Errorf("%s reads %s: %s, want %s", name, file, j.Verdict, tt.want[i])
			}
		}
	}
}
