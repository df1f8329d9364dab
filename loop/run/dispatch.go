package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/policy"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// dispatch is the only way to a tool. It takes the calls in their order: those
// that are safe beside each other run together, every other one alone, behind
// all before it.
func (r *activeRun) dispatch(ctx context.Context, ids []string, s loop.State) {
	var together sync.WaitGroup
	defer together.Wait()
	for _, id := range ids {
		c, ok := s.Call(id)
		if !ok {
			continue
		}
		callCtx, cancel := context.WithCancelCause(ctx)
		r.callsMu.Lock()
		r.calls[id] = cancel
		r.callsMu.Unlock()
		d := &dispatched{run: r, call: c, state: s, started: time.Now()}
		alone := !d.safe(callCtx)
		if alone {
			together.Wait()
		}
		leave, err := r.turnstile.enter(callCtx, alone)
		if err != nil {
			d.finish(d.stopped(callCtx))
			r.letGo(id, cancel)
			continue
		}
		work := func() {
			defer r.letGo(id, cancel)
			defer leave()
			defer r.recovered()
			d.through(callCtx)
		}
		if alone || id == ids[len(ids)-1] {
			work()
			continue
		}
		together.Go(work)
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
	run     *activeRun
	call    loop.Call
	state   loop.State // when it was dispatched
	tool    loop.Tool
	args    json.RawMessage
	plan    loop.Plan
	ready   bool // the plan is made
	early   *loop.ToolResult
	started time.Time

	mu      sync.Mutex // guards what the tool tells while it runs
	edits   []loop.FileEdit
	over    bool
	shownAt time.Time
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
	d.tool = g.tools[tool.Canonical(d.call.Tool)]
	if d.tool == nil {
		return refusal(loop.CallInvalid, fmt.Sprintf("unknown tool %q%s", d.call.Tool, didYouMean(d.call.Tool, g.names)))
	}
	name := d.tool.Spec().Name
	d.args = d.call.Arguments
	if d.call.Hooked || d.call.Edited {
		args, err := tool.ValidateArguments(d.tool.Spec(), d.args)
		if err != nil {
			return refusal(loop.CallInvalid, fmt.Sprintf("the changed arguments of %s do not fit: %v", name, err))
		}
		d.args = args
	}
	if !d.run.pin.allowed(d.state.Stage, name) {
		return refusal(loop.CallDenied, fmt.Sprintf("stage %q does not offer the tool %s", d.state.Stage, name))
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

// through brings the call to its result.
func (d *dispatched) through(ctx context.Context) {
	if d.early == nil && !d.plan.ConcurrencySafe {
		// Calls before this one may have changed what it is about.
		d.early = d.prepare(ctx)
	}
	if d.early != nil {
		d.finish(d.early)
		return
	}
	admitted, result := d.admit(ctx)
	switch {
	case result != nil:
		d.finish(result)
	case admitted:
		d.perform(ctx)
	}
}

// admit asks rules and, where they say so, a person. Neither admitted nor a
// result means that the call is somebody else's by now: its arguments were
// edited, or the run ended.
func (d *dispatched) admit(ctx context.Context) (bool, *loop.ToolResult) {
	judgement := d.judge(d.run.grants())
	digest := d.digest()
	switch {
	case judgement.Verdict == loop.VerdictAllow:
		return true, nil
	case judgement.Verdict == loop.VerdictDeny:
		return false, refusal(loop.CallDenied, "denied: "+because(judgement, loop.VerdictDeny))
	case judgement.Verdict != loop.VerdictAsk:
		return false, refusal(loop.CallDenied, "denied: no rule says anything about it")
	case d.call.Approved && d.call.Digest == digest:
		return true, nil // answered before the process that asked died
	}
	return d.ask(ctx, judgement, digest)
}

func (d *dispatched) judge(grants []policy.Grant) loop.Judgement {
	return d.run.gear.judge(policy.Request{
		Tool: d.tool.Spec().Name, Arguments: d.args, Plan: d.plan, Mode: d.state.Course.Mode,
		Grants: grants, SandboxInForce: d.run.gear.inForce,
	})
}

// because joins what the layers that came to this verdict said.
func because(j loop.Judgement, v loop.Verdict) string {
	why := reasons(j, v)
	if len(why) == 0 {
		return "a rule says so"
	}
	return strings.Join(why, "; ")
}

func reasons(j loop.Judgement, v loop.Verdict) []string {
	var why []string
	for _, s := range j.Steps {
		if s.Outcome != v || !s.Fired {
			continue
		}
		switch {
		case s.Source != "" && s.Because != "" && !strings.Contains(s.Because, s.Source):
			why = append(why, s.Source+": "+s.Because)
		case s.Because != "":
			why = append(why, s.Because)
		default:
			why = append(why, s.Source)
		}
	}
	return why
}

// digest is of exactly what an approval shows: the tool, its arguments and,
// for edits, the bytes before and after.
func (d *dispatched) digest() string {
	h := sha256.New()
	put := func(b []byte) {
		fmt.Fprintf(h, "%d:", len(b))
		h.Write(b)
	}
	args := d.args
	if v, err := loop.PlainValue(args); err == nil {
		if canonical, err := loop.PlainJSON(v); err == nil {
			args = canonical
		}
	}
	put([]byte(d.tool.Spec().Name))
	put(args)
	for _, e := range d.plan.Edits {
		put([]byte(e.Path))
		fmt.Fprintf(h, "%t", e.Before == nil)
		put(e.Before)
		put(e.After)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// perform runs an admitted call. Nothing with effects begins before the
// journal knows that it begins.
func (d *dispatched) perform(ctx context.Context) {
	r := d.run
	planned := make([]journal.Edit, 0, len(d.plan.Edits))
	for _, e := range d.plan.Edits {
		planned = append(planned, d.record(e))
	}
	begun := posted{
		event:   loop.Event{Kind: loop.Begun, CallID: d.call.ID, Effect: d.plan.Effect, Title: d.plan.Title},
		planned: planned,
	}
	if d.plan.Effect == loop.Read {
		r.post(begun) // may be repeated, so it need not wait for the disk
	} else if s, ok := r.tell(begun); !ok || !running(&s, d.call.ID) {
		return
	}
	if ctx.Err() != nil {
		d.finish(d.stopped(ctx))
		return
	}
	inv := loop.Invocation{
		CallID: d.call.ID, Arguments: d.args, Hunks: d.call.Hunks,
		Output: d.output, Changed: d.changed,
	}
	if left, counting := d.state.Remaining(r.svc.now()); counting {
		inv.Deadline = time.Now().Add(left)
	}
	result := d.tool.Run(ctx, inv)
	if ctx.Err() != nil && result.Outcome != loop.CallOK {
		text := result.Text
		result = *d.stopped(ctx)
		if text != "" && text != "cancelled" {
			result.Text += " while it ran; it may have happened in part\n" + text
		}
	}
	d.finish(&result)
}

func running(s *loop.State, id string) bool {
	c, ok := s.Call(id)
	return ok && c.Phase == loop.CallRunning
}

func (d *dispatched) record(e loop.FileEdit) journal.Edit {
	return journal.Edit{RunID: d.run.id, CallID: d.call.ID, Path: e.Path, Before: e.Before, After: e.After, Created: e.Created}
}

// changed is told by the tool of each file that it changed.
func (d *dispatched) changed(e loop.FileEdit) {
	d.mu.Lock()
	late := d.over
	if !late {
		d.edits = append(d.edits, e)
	}
	d.mu.Unlock()
	if late {
		// The call was given up. The change counts for undo all the same.
		if err := d.run.svc.opt.Journal.AddEdit(context.Background(), d.record(e)); err != nil {
			d.run.svc.log.Error("record a late edit", "path", e.Path, "error", err)
		}
	}
}

// output shows the tail of what a running tool prints.
func (d *dispatched) output(tail string) {
	d.mu.Lock()
	quiet := d.over || time.Since(d.shownAt) < showEvery
	if !quiet {
		d.shownAt = time.Now()
	}
	d.mu.Unlock()
	if quiet {
		return
	}
	e := d.run.transient(report.ToolOutput, d.state)
	e.CallID, e.Output = d.call.ID, &tail
	d.run.passing(e)
}

// finish posts the result of the call.
func (d *dispatched) finish(result *loop.ToolResult) {
	d.mu.Lock()
	d.over = true
	edits := d.edits
	d.mu.Unlock()
	final := *result
	final.CallID = d.call.ID
	if final.Outcome == "" {
		final.Outcome = loop.CallOK
		if final.IsError {
			final.Outcome = loop.CallError
		}
	}
	final.Text = d.state.Clean(final.Text)
	final.Notes = append(d.notes(), final.Notes...)
	p := posted{event: loop.Event{Kind: loop.Finished, CallID: d.call.ID, Result: &final, DurationMs: time.Since(d.started).Milliseconds()}}
	for _, e := range edits {
		p.done = append(p.done, d.record(e))
		p.event.Changes = append(p.event.Changes, loop.FileChange{Path: e.Path, Diff: tool.Diff(d.run.svc.shortPath(e.Path), e.Before, e.After)})
	}
	p.event.Saw = d.saw(edits)
	d.run.post(p)
}

// saw are the digests of what the session knows of the files that the call
// was about, so that a process that resumes it knows the same.
func (d *dispatched) saw(edits []loop.FileEdit) map[string]string {
	tracker := d.run.gear.tracker
	if tracker == nil {
		return nil
	}
	var saw map[string]string
	add := func(path string) {
		if digest := tracker.Seen(path); digest != "" {
			if saw == nil {
				saw = map[string]string{}
			}
			saw[path] = digest
		}
	}
	for _, p := range d.plan.Paths {
		add(p.Path)
	}
	for _, e := range edits {
		add(e.Path)
	}
	return saw
}

// notes tell the model what ran instead of what it asked for.
func (d *dispatched) notes() []string {
	var who []string
	if d.call.Hooked {
		who = append(who, "a hook")
	}
	if d.call.Edited {
		who = append(who, "the user")
	}
	if len(who) == 0 {
		return nil
	}
	changed := pointers(d.call.Wanted.Arguments, d.call.Arguments)
	if name := tool.Canonical(d.call.Wanted.Name); name != d.call.Tool {
		changed = append(changed, fmt.Sprintf("the tool (%s became %s)", name, d.call.Tool))
	}
	if len(changed) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s changed this call before it ran: %s. What ran is %s %s", strings.Join(who, " and "), strings.Join(changed, ", "), d.call.Tool, d.call.Arguments)}
}

// pointers names the fields in which two argument objects differ.
func pointers(before, after json.RawMessage) []string {
	x, errX := loop.PlainValue(before)
	y, errY := loop.PlainValue(after)
	if errX != nil || errY != nil {
		return []string{"/"}
	}
	var out []string
	differ("", x, y, &out)
	return out
}
