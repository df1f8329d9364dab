package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/manifest"
	"agent-ls/loop/policy"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// rig is a Service with a scripted model, small tools of known effects and
// hooks that are Go functions. Everything else is the real thing.
type rig struct {
	t       testing.TB
	dir     string
	svc     *Service
	journal *journal.Journal
	model   *scripted
	spare   *scripted
	screen  *screen
	hooks   hookFuncs
	verdict map[string]loop.Verdict
	config  *manifest.Config
	slow    *slowTool
	waits   []time.Duration
	dedup   map[string]dedupKey
	more    []loop.Tool
}

type hookFunc func(hooks.Firing) hooks.Outcome

// hookFuncs are hooks by "stage/point".
type hookFuncs map[string]hookFunc

func (h hookFuncs) Has(stage, event string) bool { return h[stage+"/"+event] != nil }

func (h hookFuncs) Fire(_ context.Context, f hooks.Firing) hooks.Outcome {
	if row := contract.ByName(f.Event); row != nil {
		ctx, err := row.Context(f.Fields, nil)
		for _, field := range row.AllFields() {
			if err == nil {
				err = contract.Fits(ctx[field.Name], &field.Type, field.Name)
			}
		}
		if err != nil {
			panic(fmt.Sprintf("%s: %v in %v", f.Event, err, f.Fields))
		}
	}
	out := h[f.Stage+"/"+f.Event](f)
	if len(out.Decisions) == 0 {
		out.Decisions = []hooks.Decision{{Event: f.Event, Stage: f.Stage, HookID: f.Stage + "/" + f.Event, Action: out.Action.String(), Reason: out.Reason, CallID: f.CallID,
			Hook: hooks.Source{At: &hooks.Location{Path: "hooks/" + f.Event + ".risor", Start: hooks.Position{Line: 3, Column: 5}}}}}
	}
	return out
}

func allow(hooks.Firing) hooks.Outcome { return hooks.Outcome{Action: contract.Allow} }

func newRig(t testing.TB) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		t: t, dir: dir, model: &scripted{name: "m"}, spare: &scripted{name: "spare"}, screen: newScreen(), hooks: hookFuncs{},
		verdict: map[string]loop.Verdict{"look": loop.VerdictAllow, "change": loop.VerdictAllow, "slow": loop.VerdictAllow},
		slow:    &slowTool{entered: make(chan string, 100)},
		config: &manifest.Config{
			Agents:   []manifest.Agent{{Name: "coder", Model: "m", Stages: []manifest.Stage{{Name: "work", Tools: []string{"*"}, System: "Be brief."}}}},
			Models:   map[string]manifest.Model{"m": {Name: "m", Fallback: []string{"spare"}}, "spare": {Name: "spare"}},
			Behavior: manifest.Behavior{MaxRetries: 2, MaxConcurrentTools: 4},
			Limits:   manifest.RunLimits{Depth: 3, Agents: 8},
		},
	}
	r.open()
	t.Cleanup(func() { r.close() })
	return r
}

// open starts a process's worth of Service; after close it can be opened again.
func (r *rig) open() {
	r.t.Helper()
	j, err := journal.Open(journal.Path(filepath.Join(r.dir, "state"), filepath.Join(r.dir, "ws")))
	if err != nil {
		r.t.Fatal(err)
	}
	r.journal = j
	r.svc = r.service(j, r.screen)
}

func (r *rig) service(j *journal.Journal, f Frontend) *Service {
	root := filepath.Join(r.dir, "ws")
	if err := os.MkdirAll(root, 0o755); err != nil {
		r.t.Fatal(err)
	}
	s := New(Options{
		Root: root, StateDir: filepath.Join(r.dir, "state"), CacheDir: filepath.Join(r.dir, "cache"),
		Manifest: func(context.Context) (*manifest.Config, []check.Finding) { return r.config, nil },
		Journal:  j, Frontend: f, Files: tool.Disk(root),
		OpenModel: func(m manifest.Model) (loop.Model, error) {
			if m.Name == "spare" {
				return r.spare, nil
			}
			return r.model, nil
		},
	})
	s.sleep = func(_ context.Context, d time.Duration) error { r.waits = append(r.waits, d); return nil }
	s.equip = func(_ context.Context, p *pinned, tracker *tool.Tracker) (*gear, []finding, error) {
		g := &gear{tools: map[string]loop.Tool{}, tracker: tracker, judge: r.judge, sandbox: "none", dedup: r.dedup}
		if len(r.hooks) > 0 {
			g.set = r.hooks
		}
		for _, t := range []loop.Tool{lookTool{}, &changeTool{root}, &appendTool{root}, r.slow, &nextStage{}, &spawnTool{agents: p.spawnable()}, askTool{}} {
			g.add(t)
		}
		for _, t := range r.more {
			g.add(t)
		}
		models, findings := s.chain(&p.Config, p.Model, "agent.toml", nil)
		g.models = models
		return g, findings, nil
	}
	return s
}

func (r *rig) close() {
	r.t.Helper()
	if err := r.svc.Close(); err != nil {
		r.t.Error(err)
	}
	if err := r.journal.Close(); err != nil {
		r.t.Error(err)
	}
}

// judge allows, asks and denies by tool; grants cover a tool by its name.
func (r *rig) judge(q policy.Request) loop.Judgement {
	if q.Unheard != "" {
		step := loop.GateStep{Layer: loop.LayerHook, Source: "pre_tool", Fired: true, Outcome: loop.VerdictAsk, Because: q.Unheard}
		return loop.Judgement{Verdict: loop.VerdictAsk, MustAsk: true, Steps: []loop.GateStep{step}}
	}
	v := r.verdict[q.Tool]
	if v == "" {
		v = loop.VerdictAllow
	}
	j := loop.Judgement{Verdict: v, Session: q.Tool + "(*)", Always: "shell(echo " + q.Tool + ")"}
	for _, g := range q.Grants {
		if v == loop.VerdictAsk && (g.Rule == j.Session || g.Rule == j.Always) {
			j.Verdict = loop.VerdictAllow
		}
	}
	j.Steps = []loop.GateStep{{Layer: loop.LayerRule, Source: "rule of the test", Fired: true, Outcome: j.Verdict, Because: "the test says " + string(j.Verdict)}}
	return j
}

func (r *rig) start(prompt string) Started {
	r.t.Helper()
	return r.startIn("", prompt)
}

func (r *rig) startIn(session, prompt string) Started {
	r.t.Helper()
	s, err := r.svc.Start(context.Background(), StartParams{Prompt: prompt, SessionID: session})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) wait(id string) report.Event {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	e, err := r.svc.Wait(ctx, id)
	if err != nil {
		r.t.Fatalf("wait for %s: %v; events:\n%s", id, err, r.screen.text())
	}
	return e
}

func (r *rig) file(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, "ws", name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *rig) content(path string) string {
	r.t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "<none>"
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// A turn is one scripted answer.
type turn struct {
	text  string
	calls []string // "tool {json}"
	err   error
	hold  bool // wait until the request is cancelled
	parts []string
	stop  string
	think string
	usage loop.Usage
}

// scripted is a model that plays turns and keeps its requests.
type scripted struct {
	name   string
	mu     sync.Mutex // guards what follows
	turns  []turn
	asked  []loop.ModelRequest
	limits loop.ModelLimits
	asking chan struct{} // gets a word when a request is held
	before func(n int)   // told of each request, from 0

	provider string
	window   int
}

func (m *scripted) Info() loop.ModelInfo {
	return loop.ModelInfo{Name: m.name, Provider: m.provider, Limits: m.limits, ContextWindow: m.window}
}

func (m *scripted) requests() []loop.ModelRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

func (m *scripted) Stream(ctx context.Context, req loop.ModelRequest, onDelta func(loop.Delta)) (loop.ModelAnswer, error) {
	m.mu.Lock()
	req.Messages = slices.Clone(req.Messages) // what is sent later may be written over them
	m.asked = append(m.asked, req)
	if m.before != nil {
		m.before(len(m.asked) - 1)
	}
	if err := loop.WellFormed(req.Messages); err != nil {
		m.mu.Unlock()
		return loop.ModelAnswer{}, &loop.ModelError{Class: loop.Terminal, Message: "malformed history: " + err.Error()}
	}
	if len(m.turns) == 0 {
		m.mu.Unlock()
		return loop.ModelAnswer{}, &loop.ModelError{Class: loop.RehearsalFailure, Message: "the script ran out"}
	}
	t := m.turns[0]
	m.turns = m.turns[1:]
	m.mu.Unlock()
	for _, p := range t.parts {
		onDelta(loop.Delta{Kind: loop.TextDelta, Text: p})
	}
	if t.hold {
		if m.asking != nil {
			m.asking <- struct{}{}
		}
		<-ctx.Done()
		return loop.ModelAnswer{}, ctx.Err()
	}
	if t.err != nil {
		return loop.ModelAnswer{}, t.err
	}
	a := loop.ModelAnswer{Usage: loop.Usage{Input: 100, Output: 10}, StopReason: cmp.Or(t.stop, "end")}
	if t.usage != (loop.Usage{}) {
		a.Usage = t.usage
	}
	if t.think != "" {
		a.Blocks = append(a.Blocks, loop.Block{Kind: loop.ThinkingBlock, Text: t.think, Signature: "sig"})
	}
	if t.text != "" {
		a.Blocks = append(a.Blocks, loop.Block{Kind: loop.TextBlock, Text: t.text})
	}
	for i, c := range t.calls {
		name, args, _ := strings.Cut(c, " ")
		a.Blocks = append(a.Blocks, loop.Block{Kind: loop.CallBlock, Call: &loop.ToolCall{ProviderID: fmt.Sprint("p", i), Name: name, Arguments: json.RawMessage(args)}})
	}
	return a, nil
}

// lookTool reads.
type lookTool struct{}

func (lookTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "look", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"],"additionalProperties":false}`)}
}

func (lookTool) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	return loop.Plan{Effect: loop.Read, Title: "look", ConcurrencySafe: true}, nil
}

func (lookTool) Run(_ context.Context, c loop.Invocation) loop.ToolResult {
	return loop.ToolResult{Text: "seen " + string(c.Arguments), Outcome: loop.CallOK}
}

// changeTool writes a file.
type changeTool struct{ root string }

type changeArguments struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

func (*changeTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "change", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path","text"],"additionalProperties":false}`)}
}

func (c *changeTool) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	e, err := c.edit(args)
	return loop.Plan{Effect: loop.Write, Title: "change a file", Edits: []loop.FileEdit{e}, Paths: []loop.PathAccess{{Path: e.Path, Write: true}}}, err
}

func (c *changeTool) edit(args json.RawMessage) (loop.FileEdit, error) {
	var a changeArguments
	if err := json.Unmarshal(args, &a); err != nil {
		return loop.FileEdit{}, err
	}
	e := loop.FileEdit{Path: filepath.Join(c.root, a.Path), After: []byte(a.Text)}
	before, err := os.ReadFile(e.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		e.Created = true
	case err != nil:
		return e, err
	default:
		e.Before = nonNil(before)
	}
	return e, nil
}

func (c *changeTool) Run(_ context.Context, call loop.Invocation) loop.ToolResult {
	e, err := c.edit(call.Arguments)
	if err == nil && call.Hunks != nil {
		e.After = tool.ApplyHunks(e.Before, e.After, call.Hunks)
	}
	if err == nil {
		err = os.WriteFile(e.Path, e.After, 0o644)
	}
	if err != nil {
		return loop.ToolResult{Text: err.Error(), IsError: true, Outcome: loop.CallError}
	}
	call.Changed(e)
	return loop.ToolResult{Text: "changed", Outcome: loop.CallOK}
}

// slowTool runs until it is let go or cancelled.
type slowTool struct {
	entered chan string
	gate    chan struct{} // nil: it does not wait
	deaf    bool          // it does not listen to a cancel
	mu      sync.Mutex    // guards what follows
	runs    int
	now     int
	most    int
}

func (*slowTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "slow", Schema: json.RawMessage(`{"type":"object","properties":{"safe":{"type":"boolean"},"read":{"type":"boolean"},"n":{"type":"integer"}}}`)}
}

func (s *slowTool) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	var a struct{ Safe, Read bool }
	if err := json.Unmarshal(args, &a); err != nil {
		return loop.Plan{}, err
	}
	p := loop.Plan{Effect: loop.Execute, Title: "slow", ConcurrencySafe: a.Safe, Command: &loop.CommandPlan{Line: "sleep 1 | cat", Dir: "/"}}
	if a.Read {
		p.Effect = loop.Read
	}
	return p, nil
}

func (s *slowTool) Run(ctx context.Context, c loop.Invocation) loop.ToolResult {
	s.mu.Lock()
	s.runs++
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	s.entered <- string(c.Arguments)
	if s.gate != nil {
		if s.deaf {
			<-s.gate
		}
		select {
		case <-s.gate:
		case <-ctx.Done():
			return loop.ToolResult{Text: "half of it", IsError: true, Outcome: loop.CallCancelled}
		}
	}
	return loop.ToolResult{Text: "slow " + string(c.Arguments), Outcome: loop.CallOK}
}

// screen is a front end that writes everything down.
type screen struct {
	mu        sync.Mutex // guards what follows
	events    []report.Event
	decisions []hooks.Decision
	shown     []report.Approval
	taken     chan error // why approvals were taken down
	answer    func(context.Context, report.Approval) (report.Answer, error)
	asked     chan report.Approval
	deaf      bool // it keeps no events
}

func newScreen() *screen {
	return &screen{asked: make(chan report.Approval, 100), taken: make(chan error, 100)}
}

func (s *screen) Event(e report.Event) {
	if s.deaf {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *screen) Decision(d hooks.Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decisions = append(s.decisions, d)
}

func (s *screen) Approve(ctx context.Context, a report.Approval) (report.Answer, error) {
	s.mu.Lock()
	s.shown = append(s.shown, a)
	answer := s.answer
	s.mu.Unlock()
	s.asked <- a
	if answer != nil {
		return answer(ctx, a)
	}
	<-ctx.Done()
	s.taken <- context.Cause(ctx)
	return report.Answer{}, ctx.Err()
}

func (s *screen) all() []report.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]report.Event(nil), s.events...)
}

func (s *screen) text() string {
	var b strings.Builder
	for _, e := range s.all() {
		b.WriteString(line(e) + "\n")
	}
	return b.String()
}

// line is an event as a golden trace has it: without ids and times.
func line(e report.Event) string {
	parts := []string{fmt.Sprintf("%2d %s", e.Seq, e.Type)}
	add := func(name string, v any) {
		if s := fmt.Sprint(v); s != "" && s != "0" {
			parts = append(parts, name+"="+s)
		}
	}
	add("stage", e.Stage)
	add("turn", e.Turn)
	switch e.Type {
	case report.RunStarted:
		add("prompt", e.Prompt)
		add("agent", e.Agent)
		add("model", e.Model)
		add("mode", e.Mode)
		add("sandbox", e.Sandbox)
	case report.UsageReported:
		add("usage", e.Usage.Input+e.Usage.Output)
		add("total", e.Total.Input+e.Total.Output)
	case report.ToolFinished:
		add("outcome", e.Outcome)
		add("output", fmt.Sprintf("%q", *e.Output))
	case report.RunFinished:
		add("status", e.Status)
		add("stop", e.StopReason)
		add("output", fmt.Sprintf("%q", *e.Output))
		add("error", e.Error)
	default:
		add("text", e.Text)
		add("outcome", e.Outcome)
		add("tool", e.Tool)
		add("title", e.Title)
		add("arguments", string(e.Arguments))
		add("by", e.By)
		add("attempt", e.Attempt)
		add("because", e.Because)
		if e.Index != nil {
			parts = append(parts, fmt.Sprint("index=", *e.Index))
		}
		if e.Path != "" {
			add("path", filepath.Base(e.Path))
		}
	}
	return strings.Join(parts, " ")
}

// openAgain opens the rig's journal as another process would.
func openAgain(r *rig) (*journal.Journal, error) {
	return journal.Open(journal.Path(filepath.Join(r.dir, "state"), filepath.Join(r.dir, "ws")))
}
