package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/policy"
	"agent-ls/loop/tool"
)

// dispatch is the only way to a tool. It takes the calls in their order: those
// that are safe beside each other run together, every other one alone, behind
// all before it. For whoever watches, calls that run together all begin in
// their order and then end in their order, so that the same answers give the
// same events.
func (r *activeRun) dispatch(ctx context.Context, ids []string, s loop.State) {
	w := &wave{}
	w.open()
	defer w.together.Wait()
	defer func() { w.close() }()
	before := closedChannel // closed when the call before has its result
	for i, id := range ids {
		c, ok := s.Call(id)
		callCtx, cancel := context.WithCancelCause(ctx)
		if !ok || !r.register(id, cancel) {
			cancel(nil)
			continue
		}
		d := &dispatched{run: r, call: c, state: s, work: ctx, started: r.svc.clock(), before: before, after: make(chan struct{})}
		before = d.after
		alone := !d.safe(callCtx)
		if alone {
			w.barrier()
		}
		d.gated = w.gated
		if d.admitted(callCtx, alone); d.unsafe {
			// What its hooks made of it cannot run beside others, or an equal call is
			// at work: it goes on when those before it are through.
			d.leave()
			w.barrier()
			d.gated, alone = w.gated, true
			d.admitted(callCtx, true)
		}
		work := func() {
			defer r.letGo(id, cancel)
			defer d.leave()
			defer r.recovered()
			d.through(callCtx)
		}
		if alone || i == len(ids)-1 {
			w.close()
			work()
			w.open()
			continue
		}
		w.together.Go(work)
	}
}

// wave is a number of calls that run together.
type wave struct {
	together sync.WaitGroup
	gated    chan struct{} // closed when all of them have begun
	close    func()
}

func (w *wave) open() {
	gated := make(chan struct{})
	w.gated, w.close = gated, sync.OnceFunc(func() { close(gated) })
}

// barrier waits until every call of the wave is through, and opens the next.
func (w *wave) barrier() {
	w.close()
	w.together.Wait()
	w.open()
}

// admitted waits for a place and goes through the part of the gate that waits
// for nobody.
func (d *dispatched) admitted(ctx context.Context, alone bool) {
	d.leave, d.unsafe = func() {}, false
	leave, err := d.run.turnstile.enter(ctx, alone)
	if err != nil {
		d.early = d.stopped(ctx)
		return
	}
	d.leave = sync.OnceFunc(leave)
	d.begun = d.gate(ctx, alone)
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// register makes a call one that can be cancelled. False means that the core
// has answered it already.
func (r *activeRun) register(id string, cancel context.CancelCauseFunc) bool {
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	if r.dropped[id] {
		return false
	}
	r.calls[id] = cancel
	return true
}

// drop lets go of calls that the core answered before they began.
func (r *activeRun) drop(ids []string) {
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	if r.dropped == nil {
		r.dropped = map[string]bool{}
	}
	for _, id := range ids {
		r.dropped[id] = true
		if stop := r.calls[id]; stop != nil {
			stop(errCallDropped)
		}
	}
}

func (r *activeRun) letGo(id string, cancel context.CancelCauseFunc) {
	cancel(nil)
	r.callsMu.Lock()
	delete(r.calls, id)
	r.callsMu.Unlock()
}

// dispatched is one call on its way through the gate.
type dispatched struct {
	run       *activeRun
	call      loop.Call
	state     loop.State      // when it was dispatched
	work      context.Context // of the batch; the call's own ends when it is cancelled
	tool      loop.Tool
	args      json.RawMessage
	plan      loop.Plan
	judgement loop.Judgement
	early     *loop.ToolResult
	layer     loop.Layer // that came to early
	key       string     // equal calls replay each other's results; "" when they do not
	started   time.Time
	before    <-chan struct{} // closed when the call before this one is over
	after     chan struct{}   // closed when this one is
	gated     <-chan struct{} // closed when all that run beside it have begun
	leave     func()          // gives its place back
	unheard   string          // why no rule may allow it: see loop.GateRecord
	begun     bool
	asked     time.Duration   // how long a person was waited for
	steps     []loop.GateStep // what the gate said, until it is in the journal
	unsafe    bool            // it has to be admitted again, alone
	vetted    bool            // the hooks of its gate were asked, in this process
	shown     bool            // tool:dispatched was raised

	mu      sync.Mutex // guards what the tool tells while it runs
	edits   []loop.FileEdit
	label   loop.Label // of what it read so far
	over    bool
	shownAt time.Time
	todos   *loop.TodoList // that the tool wants kept

	byCommand []journal.Edit // what its command changed in files that git tracks; under mu
}

// todoList is the session's tasks, ahead of the state that a call was
// dispatched with.
func (r *activeRun) todoList(s *loop.State) *loop.TodoList {
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	if r.todos == nil {
		return s.Todos
	}
	return r.todos
}

func (d *dispatched) keepTodos(list *loop.TodoList) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return
	}
	d.todos = list
	d.run.callsMu.Lock()
	defer d.run.callsMu.Unlock()
	d.run.todos = list
}

// safe prepares the call and says whether it may run beside others. What is
// wrong with it comes out when its turn comes.
func (d *dispatched) safe(ctx context.Context) bool {
	d.early = d.prepare(ctx)
	return d.early != nil || d.plan.ConcurrencySafe
}

// prepare is the gate up to the plan: schema, the tools of the stage, and what
// the call would do. A result means that the call is over.
func (d *dispatched) prepare(ctx context.Context) *loop.ToolResult {
	g := d.run.gear
	d.tool, d.layer = g.find(tool.Canonical(d.call.Tool)), loop.LayerSchema
	if d.tool == nil {
		return refusal(loop.CallInvalid, fmt.Sprintf("unknown tool %q%s", d.call.Tool, didYouMean(d.call.Tool, g.names)))
	}
	name := d.tool.Spec().Name
	d.args = d.call.Arguments
	if d.call.Hooked || d.call.Edited {
		args, err := tool.ValidateArguments(d.tool.Spec(), d.args)
		if err != nil {
			return refusal(loop.CallInvalid, "changed on their way: "+err.Error())
		}
		d.args = args
	}
	d.layer = loop.LayerBuiltin
	if !d.run.pin.allowed(d.state.Stage, name) {
		return refusal(loop.CallDenied, fmt.Sprintf("stage %q does not offer the tool %s", d.state.Stage, name))
	}
	if why := d.skillForbids(name); why != "" {
		return refusal(loop.CallDenied, why)
	}
	plan, err := d.planned(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return d.stopped(ctx)
		}
		return refusal(loop.CallError, err.Error())
	}
	d.plan = plan
	return nil
}

func (d *dispatched) planned(ctx context.Context) (loop.Plan, error) {
	if n, ok := d.tool.(*nextStage); ok {
		return n.prepareFor(d.run.pin.stage(d.state.Stage), d.args)
	}
	return d.tool.Prepare(ctx, d.args)
}

func refusal(outcome loop.CallOutcome, text string) *loop.ToolResult {
	return &loop.ToolResult{Text: text, IsError: true, Outcome: outcome}
}

// stopped is the result of a call that was ended from outside.
func (d *dispatched) stopped(ctx context.Context) *loop.ToolResult {
	if errors.Is(context.Cause(ctx), errCallStopped) {
		return refusal(loop.CallCancelled, "the user cancelled this call")
	}
	return refusal(loop.CallCancelled, "the run was stopped")
}

// said gives what the gate said of the call since it was last journaled.
func (d *dispatched) said() []loop.GateStep {
	steps := d.steps
	d.steps = nil
	return steps
}

// gate is the part of the gate that waits for nobody: the hooks before the
// call, the built-in policies, the rules. It says whether the call has begun.
func (d *dispatched) gate(ctx context.Context, alone bool) (begun bool) {
	if d.early != nil && d.early.Outcome == loop.CallInvalid {
		d.refused()
		return false
	}
	if !d.vetted {
		d.vetted = true
		changed, refused := d.pass(ctx)
		switch {
		case refused != nil:
			d.early, d.layer = refused, loop.LayerHook
			d.refused()
			return false
		case changed:
			d.early = d.prepare(ctx)
		}
	}
	if alone && (d.early == nil || d.plan.Effect == "") {
		// Calls before this one may have changed what it is about.
		d.early = d.prepare(ctx)
	}
	if d.early == nil {
		if !d.plan.ConcurrencySafe && !alone {
			d.unsafe = true
			return false
		}
		if d.early = d.builtin(ctx, alone); d.unsafe {
			return false
		}
	}
	if d.early != nil {
		d.refused()
		return false
	}
	return d.byRules()
}

// refused records that the gate answered the call, before policy saw it.
func (d *dispatched) refused() {
	d.steps = append(d.steps, loop.GateStep{Layer: d.layer, Fired: true, Outcome: loop.VerdictDeny, Because: firstLine(d.early.Text)})
	d.dispatchedAs(d.early.Outcome)
}

// byRules is what policy says of the call.
func (d *dispatched) byRules() (begun bool) {
	d.judgement = d.judge(d.run.grants())
	d.steps = append(d.steps, d.judgement.Steps...)
	switch d.judgement.Verdict {
	case loop.VerdictAllow:
		if !d.hasAnswer() {
			return d.begin()
		}
		d.judgement.Verdict = loop.VerdictAsk // what the person said counts, a denial above all
		return false
	case loop.VerdictAsk:
		if d.call.Approved && d.call.Digest == d.digest() {
			return d.begin() // answered before the process that asked died
		}
		return false
	case loop.VerdictDeny:
		d.early = refusal(loop.CallDenied, "denied: "+because(d.judgement, loop.VerdictDeny))
	default:
		d.early = refusal(loop.CallDenied, "denied: no rule says anything about it")
	}
	d.layer = deciding(d.judgement, loop.VerdictDeny)
	d.dispatchedAs(d.early.Outcome)
	return false
}

// hasAnswer says whether a person has answered for exactly this call already,
// in an approval that the process which died did not act on.
func (d *dispatched) hasAnswer() bool {
	if d.call.Phase != loop.CallWaiting || d.call.ApprovalID == "" {
		return false
	}
	old, err := d.run.svc.opt.Journal.Approval(d.work, d.call.ApprovalID)
	if err != nil {
		return !errors.Is(err, journal.ErrNotFound) // asked anew: nobody knows what was said
	}
	return old.Answer != nil && old.Digest == d.digest()
}

// through brings the call to its result, asking a person where the gate said
// so. A call that is neither begun nor asked about is somebody else's by now:
// its arguments were edited, or the run ended.
func (d *dispatched) through(ctx context.Context) {
	defer close(d.after)
	if !d.begun && d.early == nil && d.judgement.Verdict == loop.VerdictAsk {
		var admitted bool
		if admitted, d.early = d.ask(ctx, d.judgement, d.digest()); admitted {
			d.begun = d.begin()
		}
		if d.early != nil {
			d.layer = loop.LayerApproval
			d.dispatchedAs(d.early.Outcome)
		}
	}
	switch {
	case d.begun:
		d.perform(ctx)
	case d.early != nil:
		d.run.ledger.giveBack(d.call)
		d.finish(ctx, d.early, false)
	default:
		d.run.ledger.giveBack(d.call)
	}
}

func (d *dispatched) judge(grants []policy.Grant) loop.Judgement {
	q := d.question()
	return q.judge(grants)
}

// begin journals that the call is about to run; nothing with effects runs
// before that. False means that it must not run any more.
func (d *dispatched) begin() bool {
	planned := make([]journal.Edit, 0, len(d.plan.Edits))
	for _, e := range d.plan.Edits {
		planned = append(planned, d.record(e))
	}
	p := posted{
		event:   loop.Event{Kind: loop.Begun, CallID: d.call.ID, ApprovalID: d.call.ApprovalID, Effect: d.plan.Effect, Title: d.plan.Title, Steps: d.said()},
		planned: planned,
	}
	if d.plan.Effect == loop.Read {
		d.run.post(p) // may be repeated, so it need not wait for the journal
	} else if s, ok := d.run.tell(p); !ok || !running(&s, d.call.ID) {
		return false
	}
	d.dispatchedAs("")
	d.starting()
	return true
}

// perform runs a call that has begun.
func (d *dispatched) perform(ctx context.Context) {
	r := d.run
	if ctx.Err() != nil {
		d.finish(ctx, d.stopped(ctx), true)
		return
	}
	inv := loop.Invocation{
		CallID: d.call.ID, Arguments: d.args, Judged: d.plan, Hunks: d.call.Hunks,
		Output: d.output, Changed: d.changed, Read: d.read,
		Todos: r.todoList(&d.state), KeepTodos: d.keepTodos,
		Confirm: d.confirm, Alarm: d.alarm, Keep: d.keep,
	}
	d.reads()
	if left, counting := d.state.Remaining(r.svc.now()); counting {
		inv.Deadline = time.Now().Add(left)
	}
	before := d.lookTracked()
	result := d.act(ctx, inv)
	d.takeTracked(ctx, before)
	if ctx.Err() != nil && result.Outcome != loop.CallOK {
		text := result.Text
		result = *d.stopped(ctx)
		if text != "" && text != "cancelled" {
			result.Text += " while it ran; it may have happened in part\n" + text
		}
	}
	d.finish(ctx, &result, true)
}

func running(s *loop.State, id string) bool {
	c, ok := s.Call(id)
	return ok && c.Phase == loop.CallRunning
}
