package run

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
)

//go:embed spawn.md
var spawnDoc string

// spawnToolName is what models call the tool.
const spawnToolName = "spawn"

// inRun is a tool that acts on the run that calls it, not on the workspace.
type inRun interface {
	loop.Tool
	runIn(ctx context.Context, d *dispatched, call loop.Invocation) loop.ToolResult
}

// act carries out an admitted call.
func (d *dispatched) act(ctx context.Context, call loop.Invocation) loop.ToolResult {
	if t, ok := d.tool.(inRun); ok {
		return t.runIn(ctx, d, call)
	}
	return d.tool.Run(ctx, call)
}

// spawnTool gives a task to a sub-agent: a run of its own, in a session of its
// own, driven by the same service through the same core and dispatcher.
type spawnTool struct{ agents []string } // the names that may be given

type spawnArguments struct {
	Agent  string `json:"agent"`
	Prompt string `json:"prompt"`
}

// maxTask bounds the prompt of a sub-agent, in bytes.
const maxTask = 256 << 10

func (t *spawnTool) Spec() loop.ToolSpec {
	doc := strings.TrimSpace(spawnDoc)
	if len(t.agents) > 0 {
		doc += "\nAgents: " + strings.Join(t.agents, ", ") + "."
	}
	return loop.ToolSpec{Name: spawnToolName, Description: doc, Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["prompt"],"properties":{
"agent":{"type":"string","description":"Which agent; without it a copy of yourself, with the tools that you have now."},
"prompt":{"type":"string","minLength":1,"description":"The whole task."}}}`)}
}

// Prepare is what the call would do by itself: nothing that a rule is about.
// What the sub-agent wants to do passes the gate call by call.
func (t *spawnTool) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	var a spawnArguments
	if err := json.Unmarshal(args, &a); err != nil {
		return loop.Plan{}, fmt.Errorf("read the arguments: %w", err)
	}
	if strings.TrimSpace(a.Prompt) == "" {
		return loop.Plan{}, errors.New("the prompt is empty")
	}
	if len(a.Prompt) > maxTask {
		return loop.Plan{}, fmt.Errorf("the prompt has %d bytes, more than %d; put the rest into a file", len(a.Prompt), maxTask)
	}
	if a.Agent != "" && !slices.Contains(t.agents, a.Agent) {
		return loop.Plan{}, fmt.Errorf("unknown agent %q%s", a.Agent, didYouMean(a.Agent, t.agents))
	}
	who := "sub-agent"
	if a.Agent != "" {
		who = "agent " + a.Agent
	}
	return loop.Plan{Effect: loop.Read, Title: who + ": " + titleOf(a.Prompt), ConcurrencySafe: true}, nil
}

// Run is never called: the tool needs a run to act on.
func (t *spawnTool) Run(context.Context, loop.Invocation) loop.ToolResult {
	return *refusal(loop.CallError, "there is no run to spawn from")
}

// parentLink is what a sub-agent's run knows of the run that spawned it.
type parentLink struct {
	run    *activeRun
	callID string
	state  loop.State // the parent's, when the call was dispatched
}

// top is the run of the family that nobody spawned.
func (r *activeRun) top() *activeRun {
	for r.parent != nil {
		r = r.parent.run
	}
	return r
}

func (t *spawnTool) runIn(ctx context.Context, d *dispatched, call loop.Invocation) loop.ToolResult {
	var a spawnArguments
	if err := json.Unmarshal(call.Arguments, &a); err != nil {
		return *refusal(loop.CallError, err.Error())
	}
	sp := &spawning{dispatched: d, args: a, began: time.Now()}
	child, early := sp.child(ctx)
	if early == nil {
		early = sp.await(ctx, child)
	}
	if letGo(ctx) {
		return *early // the child is taken up with its parent
	}
	sp.over(ctx, early)
	return *early
}

// lastWord bounds the hooks that observe the end of a call that was cancelled:
// the run waits for it.
const lastWord = endWithin / 8

// spawning is one spawn call at work.
type spawning struct {
	*dispatched
	args  spawnArguments
	ref   loop.Child
	began time.Time
	usage loop.Usage
	turns int
}

// child begins the call's run, or takes up the one that it began before the
// process died. A result means that there is none to wait for.
func (sp *spawning) child(ctx context.Context) (*activeRun, *loop.ToolResult) {
	if known := sp.call.Child; known != nil {
		sp.ref = *known
		return sp.again(ctx)
	}
	sp.ref = loop.Child{RunID: newID("run"), SessionID: newID("ses"), Agent: sp.agentName()}
	sp.raise(ctx, "spawn:queued", nil)
	if early := sp.place(); early != nil {
		return nil, early
	}
	ref := sp.ref
	s, ok := sp.run.tell(posted{event: loop.Event{Kind: loop.Spawned, CallID: sp.call.ID, Child: &ref}})
	if c, found := s.Call(sp.call.ID); !ok || !found || c.Child == nil || *c.Child != ref {
		return nil, sp.stopped(ctx)
	}
	return sp.begin(ctx)
}

func (sp *spawning) agentName() string {
	if sp.args.Agent != "" {
		return sp.args.Agent
	}
	return sp.run.pin.agent().Name
}

// place takes one of the places that [limits] leaves for sub-agents.
func (sp *spawning) place() *loop.ToolResult {
	limits := sp.run.pin.Config.Limits
	if sp.state.Depth >= limits.Depth {
		return refusal(loop.CallDenied, fmt.Sprintf("no sub-agent was started: they may be nested %d deep (limits.depth); do the task yourself", limits.Depth))
	}
	s, ok := sp.run.top().tell(posted{event: loop.Event{Kind: loop.Counted, ID: sp.ref.RunID}})
	if !ok || !s.Active() {
		return refusal(loop.CallCancelled, "the run was stopped")
	}
	if !slices.Contains(s.Family, sp.ref.RunID) {
		return refusal(loop.CallDenied, fmt.Sprintf("no sub-agent was started: the run has had the %d that it may have (limits.agents); do the task yourself", limits.Agents))
	}
	return nil
}

// begin starts the child's run.
func (sp *spawning) begin(ctx context.Context) (*activeRun, *loop.ToolResult) {
	sp.raise(ctx, "spawn:before", nil)
	child, err := sp.run.svc.launchChild(ctx, sp)
	if err != nil {
		if ctx.Err() != nil {
			return nil, sp.stopped(ctx)
		}
		return nil, refusal(loop.CallError, "the sub-agent could not be started: "+err.Error())
	}
	return child, nil
}

// launchChild journals the beginning of a sub-agent's run and lets it go.
func (s *Service) launchChild(ctx context.Context, sp *spawning) (*activeRun, error) {
	pin, err := sp.run.pin.forChild(sp)
	if err != nil {
		return nil, err
	}
	g, findings, err := s.equip(ctx, pin, s.trackerFor(ctx, sp.ref.SessionID, nil))
	if len(findings) > 0 {
		return nil, &CannotStart{Findings: findings}
	}
	if err != nil {
		return nil, err
	}
	body, err := pin.encode()
	if err != nil {
		return nil, err
	}
	r := newRun(s, sp.ref.RunID, sp.ref.SessionID, pin, g)
	r.parent = &parentLink{run: sp.run, callID: sp.call.ID, state: sp.state}
	row := journal.SessionRow{
		ID: r.session, Title: titleOf(sp.args.Prompt), StartedAt: s.now(),
		Parent: journal.Parent{SessionID: sp.run.session, RunID: sp.run.id, CallID: sp.call.ID},
	}
	if err := s.opt.Journal.Begin(ctx, row, r.id, body); err != nil {
		return nil, err
	}
	r.status = report.Running
	course := pin.course(g, sp.state.Course.Instructions)
	sp.narrow(course)
	r.listened(course)
	mark := newMark()
	return r, s.adopt(r, loop.Event{
		Kind: loop.Started, RunID: r.id, SessionID: r.session, Mark: mark, Depth: sp.state.Depth + 1,
		ParentRunID: sp.run.id, ParentCallID: sp.call.ID, Course: course,
		// What the prompt says comes from the parent's conversation.
		Label:  sp.state.Taint.With(g.labelOf(pin)),
		Prompt: []loop.Block{{Kind: loop.TextBlock, Text: strings.ReplaceAll(sp.args.Prompt, mark, "…")}},
	})
}

// narrow leaves the child no more time, money and tokens than its parent has.
func (sp *spawning) narrow(c *loop.Course) {
	if left, counting := sp.state.Remaining(sp.run.svc.now()); counting {
		c.Limits.Time = max(left, time.Millisecond)
	}
	if limit := sp.state.Course.Limits.Cost; limit > 0 && sp.state.Usage.Cost != nil {
		c.Limits.Cost = max(limit-sp.state.Usage.Cost.Amount, 1e-9)
	}
	if limit := sp.state.Course.Limits.Tokens; limit > 0 {
		c.Limits.Tokens = max(limit-sp.state.Usage.Tokens(), 1)
	}
}

// again finds the run that the call began before, mostly in a process that is
// gone: it goes on, or is over by now. It never runs a second time.
func (sp *spawning) again(ctx context.Context) (*activeRun, *loop.ToolResult) {
	s := sp.run.svc
	if r := s.run(sp.ref.RunID); r != nil && !r.brokeOff(ctx) {
		return r, nil
	}
	row, err := s.opt.Journal.Session(ctx, sp.ref.SessionID)
	if errors.Is(err, journal.ErrNotFound) {
		return sp.begin(ctx) // it was named and not begun
	}
	if err != nil {
		return nil, refusal(loop.CallInterrupted, "what became of the sub-agent is not known: "+err.Error())
	}
	if over(row) {
		return nil, sp.recorded(ctx)
	}
	release, err := s.claim(sp.ref.SessionID)
	if err != nil {
		return nil, refusal(loop.CallInterrupted, "the sub-agent may or may not have finished: "+err.Error())
	}
	defer release()
	f, err := s.former(ctx, sp.ref.SessionID)
	if err != nil {
		return nil, refusal(loop.CallInterrupted, "the sub-agent may or may not have finished: "+err.Error())
	}
	switch {
	case f.state.RunID == "":
		return sp.begin(ctx)
	case !f.state.Active():
		return nil, sp.recorded(ctx)
	}
	if _, err := s.takeUp(ctx, f, &parentLink{run: sp.run, callID: sp.call.ID, state: sp.state}); err != nil {
		err = joined(err, s.opt.Journal.Release(ctx, sp.ref.SessionID))
		return nil, refusal(loop.CallInterrupted, "the sub-agent could not go on, what it did so far is done: "+err.Error())
	}
	return s.run(sp.ref.RunID), nil
}

// letGo says that what ended ctx leaves its run without an end: the process
// closes, or the journal cannot be written. The run can be taken up later.
func letGo(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errClosed) || errors.Is(cause, errBroke)
}

// breakOffChildren stops the sub-agents of a run that breaks off, where they
// are: they are taken up with it.
func (s *Service) breakOffChildren(of *activeRun) {
	s.mu.Lock()
	var children []*activeRun
	for _, r := range s.sessions {
		if r.parent != nil && r.parent.run == of {
			children = append(children, r)
		}
	}
	s.mu.Unlock()
	for _, r := range children {
		r.breakOff(errBroke)
		s.breakOffChildren(r)
	}
}

// breakOff stops a run without an end.
func (r *activeRun) breakOff(cause error) {
	r.breaking.Store(true)
	r.stop(cause)
}

// brokeOff says that the run stopped without an end, or is about to, so that
// it can be taken up: it waits until nothing drives it any more.
func (r *activeRun) brokeOff(ctx context.Context) bool {
	if !r.breaking.Load() {
		return false
	}
	select {
	case <-r.done:
	case <-ctx.Done():
	}
	return true
}

// recorded is the result of a child that was over when the process died.
func (sp *spawning) recorded(ctx context.Context) *loop.ToolResult {
	var state loop.State
	_, _, err := sp.run.svc.opt.Journal.Replay(ctx, sp.ref.SessionID, func(e loop.Event) { state, _ = loop.Apply(state, e) })
	if err != nil {
		return refusal(loop.CallInterrupted, "what the sub-agent answered is lost: "+err.Error())
	}
	sp.usage, sp.turns = state.Usage, state.Turn
	sp.learn(state.Taint)
	sp.count()
	return sp.result(statusOf(&state), string(state.Ending.Stop), state.Ending.Error, state.Output)
}

// learn notes how secret what the child answers may be.
func (sp *spawning) learn(l loop.Label) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.dispatched.label = sp.dispatched.label.With(l)
}

// count tells the parent what the child used, in case the process died before
// it was told.
func (sp *spawning) count() {
	usage := sp.usage
	sp.run.post(posted{event: loop.Event{Kind: loop.Spent, ID: sp.ref.RunID, Usage: &usage}})
}

// await waits for the child's end. A cancel of the call, or of the run, ends
// the child first.
func (sp *spawning) await(ctx context.Context, child *activeRun) *loop.ToolResult {
	select {
	case <-child.done:
	case <-ctx.Done():
		if letGo(ctx) {
			child.breakOff(context.Cause(ctx))
			return refusal(loop.CallInterrupted, "the run stopped: "+context.Cause(ctx).Error())
		}
		child.cancel("")
		select {
		case <-child.done:
		case <-time.After(endWithin):
			return refusal(loop.CallCancelled, "the sub-agent was cancelled and did not stop in time: it may have done more than it said")
		}
	}
	if child.finalErr != nil {
		return refusal(loop.CallInterrupted, "the sub-agent stopped: "+child.finalErr.Error())
	}
	output := ""
	if child.final.Output != nil {
		output = *child.final.Output
	}
	sp.usage, sp.turns = child.spent, child.final.Turn
	sp.learn(child.learnt)
	if child.final.Status == report.Done {
		sp.run.svc.reassign(sp.ref.SessionID, sp.run)
	}
	return sp.result(child.final.Status, string(child.final.StopReason), child.final.Error, output)
}

// maxChildOutput bounds what a parent is told of its child's answer, in bytes.
const maxChildOutput = 64 << 10

func (sp *spawning) result(status report.Status, stop, why, output string) *loop.ToolResult {
	text, cut := bothEnds(output, maxChildOutput)
	r := &loop.ToolResult{Text: text, Truncated: cut, Outcome: loop.CallOK}
	switch status {
	case report.Done:
		if text == "" {
			r.Text = "(the sub-agent finished without an answer)"
		}
		return r
	case report.Cancelled:
		r.IsError, r.Outcome, r.Text = true, loop.CallCancelled, "the sub-agent was cancelled"
	default:
		r.IsError, r.Outcome, r.Text = true, loop.CallError, fmt.Sprintf("the sub-agent failed (%s): %s", stop, why)
	}
	if text != "" {
		r.Text += "\nthe last that it said:\n" + text
	}
	return r
}

// bothEnds keeps the beginning and the end of a text over the limit.
func bothEnds(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	head, tail := text[:most/2], text[len(text)-most/2:]
	for len(head) > 0 && !utf8.ValidString(head[max(len(head)-utf8.UTFMax, 0):]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, len(text)-len(head)-len(tail), tail), true
}

// over says how the call ended to the hooks that observe it.
func (sp *spawning) over(ctx context.Context, r *loop.ToolResult) {
	if ctx.Err() != nil {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer done()
	}
	more := map[string]any{"duration_ms": time.Since(sp.began).Milliseconds(), "usage": usageFields(sp.usage)}
	if r.Outcome != loop.CallOK {
		more["error"], more["status"] = r.Text, "failed"
		if r.Outcome == loop.CallCancelled {
			more["status"] = "cancelled"
		}
		sp.raise(ctx, "spawn:error", more)
		return
	}
	more["result"], more["turns"] = r.Text, int64(sp.turns)
	sp.raise(ctx, "spawn:complete", more)
}

func (sp *spawning) raise(ctx context.Context, event string, more map[string]any) {
	sp.run.raise(ctx, &sp.state, event, sp.call.ID, func() map[string]any {
		f := map[string]any{"call_id": sp.call.ID, "child_id": sp.ref.RunID, "child_agent": sp.ref.Agent, "prompt": sp.args.Prompt}
		for k, v := range more {
			f[k] = v
		}
		return f
	})
}

func usageFields(u loop.Usage) map[string]any {
	return map[string]any{"input": u.Input, "output": u.Output, "cache_read": u.CacheRead, "cache_write": u.CacheWrite}
}
