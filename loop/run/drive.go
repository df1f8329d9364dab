package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/policy"
	"agent-ls/loop/report"
)

// activeRun is a run that this process drives. Its loop goroutine owns the
// state: everything else posts events to it. An event is journaled before
// anything that follows from it is shown or done.
type activeRun struct {
	svc     *Service
	id      string
	session string
	pin     *pinned
	gear    *gear
	parent  *parentLink // nil for a run that a person began
	adopted []loop.Task // background tasks of runs before, until it is told
	decider decider

	inbox    chan posted
	root     context.Context // ends when the process lets go of the run
	stop     context.CancelCauseFunc
	done     chan struct{} // closed behind run_finished, or when the process lets go
	final    report.Event
	finalErr error
	breaking atomic.Bool  // it stops without an end, and can be taken up behind done
	spent    loop.Usage   // of a sub-agent's run; read it behind done
	learnt   loop.Label   // likewise: how secret what it saw is
	coming   atomic.Value // a loop.Mode: its own from the next turn on

	// The loop goroutine's own:
	state   loop.State
	seq     int64
	usage   loop.Usage // the session's
	status  report.Status
	endWork context.CancelCauseFunc
	work    context.Context
	expiry  *time.Timer
	patient *time.Timer // until calls that do not end are given up
	planned map[string]bool
	waiting uncommitted
	lazy    *time.Timer // until what waits is committed by itself

	announced <-chan struct{} // closed when the hooks of the newest announcement are done
	turnModel string          // of the newest answer, for turn:after
	turnUsage loop.Usage
	turnStop  string

	saved     atomic.Int64 // the newest seq that is in the journal
	turnstile *turnstile
	untracked sync.Once // says why commands' changes cannot be undone
	ledger    *ledger
	ahead     []func(context.Context) // what is shown to hooks before the next command is carried out; the loop's own
	stream    stream
	prefix    *cachePrefix   // of the newest request, with cache_telemetry; the asking goroutine's own
	sent      sent           // the asking goroutine's own
	busy      sync.WaitGroup // what the run started

	callsMu   sync.Mutex
	calls     map[string]context.CancelCauseFunc // calls on their way, by id
	trail     map[string][]hooks.Decision        // on_tool_call's, by call id
	todos     *loop.TodoList                     // what a call of this process made of the session's tasks
	saidOnce  map[string]bool                    // notes
	dropped   map[string]bool                    // calls that were answered before they began
	granted   []policy.Grant                     // for the session
	newStates map[string]map[string]any          // of event hooks, by declaration id
	skills    map[string]bool                    // taken up or put down in this process
	fired     map[string]int64                   // event hooks, by event

	passMu sync.Mutex // guards over; held while something that is not kept is shown
	over   bool       // nothing is shown any more
}

// posted is an event on its way to the loop, with what is recorded beside it.
type posted struct {
	event     loop.Event
	decisions []hooks.Decision
	planned   []journal.Edit
	done      []journal.Edit
	ask       *report.Approval
	question  *report.Question
	withdraw  []string        // approvals that this one replaces
	taken     chan loop.State // gets the state after the event, if not nil
}

func newRun(s *Service, id, session string, p *pinned, g *gear) *activeRun {
	r := &activeRun{
		svc: s, id: id, session: session, pin: p, gear: g,
		inbox: make(chan posted, 16), done: make(chan struct{}),
		calls: map[string]context.CancelCauseFunc{}, trail: map[string][]hooks.Decision{}, planned: map[string]bool{},
	}
	r.lazy = time.NewTimer(time.Hour)
	r.lazy.Stop()
	r.root, r.stop = context.WithCancelCause(context.Background())
	r.work, r.endWork = context.WithCancelCause(r.root)
	if p != nil {
		r.turnstile = newTurnstile(p.Config.Behavior.MaxConcurrentTools)
		r.ledger = newLedger(&p.Config.Behavior)
		if g != nil {
			r.ledger.keys = g.dedup
		}
	}
	return r
}

var (
	errStopped     = errors.New("the run ended")
	errBroke       = errors.New("the journal of the run cannot be written")
	errCallStopped = errors.New("the call was cancelled")
	errCallDropped = errors.New("the call was answered before it began")
)

// post hands an event to the loop without waiting. It is dropped when the run
// is over: nothing follows the end.
func (r *activeRun) post(p posted) {
	select {
	case r.inbox <- p:
	case <-r.done:
	}
}

// tell hands an event to the loop and waits until it is in the journal. It
// returns the state behind it; ok is false when the run is over.
func (r *activeRun) tell(p posted) (state loop.State, ok bool) {
	p.taken = make(chan loop.State, 1)
	r.post(p)
	select {
	case state, ok = <-p.taken:
		return state, ok
	case <-r.done:
		select {
		case state, ok = <-p.taken:
			return state, ok
		default:
			return loop.State{}, false
		}
	}
}

// drive is the loop. It ends behind run_finished, or when the service closes.
func (r *activeRun) drive(first loop.Event) {
	defer r.svc.runners.Done()
	r.step(posted{event: first})
	for r.state.Active() && r.finalErr == nil {
		select {
		case p := <-r.inbox:
			if r.root.Err() != nil {
				// The process lets go of the run. What its calls say now only
				// tells that they were stopped, which is not how they ended.
				r.finalErr = context.Cause(r.root)
				continue
			}
			r.step(p)
		case <-r.expired():
			r.expiry = nil
			r.expire()
		case <-r.outOfPatience():
			r.patient = nil
			r.step(posted{event: loop.Event{Kind: loop.StopWaiting}})
		case <-r.lazy.C:
			if err := r.commit(); err != nil {
				r.breakDown(err)
			}
		case <-r.root.Done():
			r.finalErr = context.Cause(r.root)
		}
	}
	r.finishUp()
}

func (r *activeRun) finishUp() {
	if err := r.commit(); err != nil {
		r.svc.log.Error("the journal cannot be written", "run", r.id, "error", err)
	}
	if r.finalErr == nil {
		if err := r.svc.opt.Journal.Release(context.Background(), r.session); err != nil {
			r.svc.log.Error("release the session", "session", r.session, "error", err)
		}
	}
	r.passMu.Lock()
	r.over = true
	r.passMu.Unlock()
	for _, t := range []*time.Timer{r.expiry, r.patient} {
		if t != nil {
			t.Stop()
		}
	}
	r.svc.forget(r)
	close(r.done)
	r.stop(errStopped)
	if r.finalErr == nil && r.state.Status != loop.RunDone {
		r.svc.endTasks(r.id)
	}
	if r.finalErr == nil && r.state.Spawns > 0 {
		r.svc.endChildren(context.Background(), r.id)
	}
}

// idle is closed when nothing that the run started is left.
func (r *activeRun) idle() <-chan struct{} {
	c := make(chan struct{})
	go func() {
		r.busy.Wait()
		close(c)
	}()
	return c
}

func (r *activeRun) expired() <-chan time.Time {
	if r.expiry == nil {
		return nil
	}
	return r.expiry.C
}

func (r *activeRun) outOfPatience() <-chan time.Time {
	if r.patient == nil {
		return nil
	}
	return r.patient.C
}

// expire ends the run if its time is up. The clock may have stood meanwhile.
func (r *activeRun) expire() {
	left, counting := r.state.Remaining(r.svc.now())
	if counting && left <= 0 {
		r.step(posted{event: loop.Event{Kind: loop.TimeExpired}})
		return
	}
	r.watchTime()
}

func (r *activeRun) watchTime() {
	if r.expiry != nil {
		return
	}
	if left, counting := r.state.Remaining(r.svc.now()); counting {
		r.expiry = time.NewTimer(max(left, time.Millisecond))
	}
}

// step applies one event: state, journal, show, then do.
func (r *activeRun) step(p posted) {
	if r.follow(p.event.Kind); r.finalErr != nil {
		return
	}
	before := r.state
	commands := r.apply(&p)
	var announced []announcement
	if r.announces() {
		was, e := before, p.event // kept by what is announced; those above stay on the stack
		announced = r.announcements(&was, &e)
	}
	if len(announced) == 0 && p.mayWait(commands) {
		// Nothing follows from it yet that could not be repeated, and what
		// does comes within microseconds more often than not: they share a
		// commit.
		r.lazy.Reset(commitWithin)
	} else if err := r.commit(); err != nil {
		r.breakDown(err)
		return
	}
	for _, c := range commands {
		if c.Kind == loop.StopWork {
			r.do(c)
		}
	}
	r.announce(announced)
	for _, c := range commands {
		if c.Kind != loop.StopWork {
			r.do(c)
		}
	}
	r.bePatient(before.Phase)
	if r.state.Active() {
		r.watchTime()
	}
}

// bePatient bounds how long what still runs may take to end.
func (r *activeRun) bePatient(before loop.Phase) {
	switch {
	case r.state.Phase == loop.Stopping && r.patient == nil:
		r.patient = time.NewTimer(r.patience())
	case r.state.Phase == loop.Closing && before != loop.Closing:
		if r.patient != nil {
			r.patient.Stop()
		}
		within := closeWithin
		if r.state.Ending.Status == loop.RunCancelled {
			within = r.patience() / 2
		}
		r.patient = time.NewTimer(within)
	}
}

// commitWithin is how long an event may wait for the one after it.
const commitWithin = time.Millisecond

// mayWait says that an event need not be in the journal before its commands
// are carried out: they lead to nothing but calls, which see to it themselves,
// or the call that began only reads.
func (p *posted) mayWait(commands []loop.Command) bool {
	if p.taken != nil || len(p.decisions)+len(p.done)+len(p.planned) > 0 {
		return false
	}
	switch p.event.Kind {
	case loop.Begun:
		return p.event.Effect == loop.Read
	case loop.Answered:
		for _, c := range commands {
			if c.Kind != loop.Tell && c.Kind != loop.Dispatch || c.What == loop.TellRunFinished {
				return false
			}
		}
		return true
	}
	return false
}

// uncommitted is what was applied and waits for its commit.
type uncommitted struct {
	rows  []journal.Step
	taken []chan loop.State
}

// apply applies the event and prepares what is to be written and shown.
func (r *activeRun) apply(p *posted) []loop.Command {
	p.event.At = r.svc.now()
	next, commands := loop.Apply(r.state, p.event)
	show := r.shown(&next, &p.event, commands)
	row := journal.Step{
		SessionID: r.session, RunID: r.id, Turn: next.Turn, LastSeq: r.seq + int64(len(show)),
		Event: p.event, Shown: show, Decisions: p.decisions, Planned: p.planned, Done: p.done, Ask: p.ask,
		Withdraw: p.withdraw, Question: p.question, Unask: r.unasked(commands),
	}
	if p.event.Kind == loop.Compacted && p.event.Usage != nil {
		used := r.usage
		row.Usage = &used
	}
	if p.event.Kind == loop.Answered {
		r.forgetTrail() // it was about calls that are over
		used := r.usage
		row.Usage = &used
	}
	for i := range row.Decisions {
		r.fill(&row.Decisions[i])
	}
	for _, c := range commands {
		if c.Kind == loop.Withdraw {
			row.Withdraw = append(row.Withdraw, c.ApprovalID)
		}
	}
	if len(p.planned) > 0 {
		r.planned[p.event.CallID] = true
	}
	if p.event.Kind == loop.Finished && r.planned[p.event.CallID] {
		row.Unplan = true
		delete(r.planned, p.event.CallID)
	}
	status := statusOf(&next)
	if status != r.status {
		row.Status = status
	}
	waited := r.state.Active() && r.state.Waiting()
	r.state, r.status, r.seq = next, status, row.LastSeq
	r.coming.Store(next.NextMode())
	r.tellParent(&p.event, waited)
	r.remember(row.Decisions)
	if p.event.Kind == loop.Resolved || p.event.Kind == loop.Started {
		r.keepGrants()
	}
	r.waiting.rows = append(r.waiting.rows, row)
	if p.taken != nil {
		r.waiting.taken = append(r.waiting.taken, p.taken)
	}
	return commands
}

// commit writes what was applied, shows it and tells those who wait for it.
func (r *activeRun) commit() error {
	r.lazy.Stop()
	w := r.waiting
	r.waiting = uncommitted{rows: w.rows[:0]}
	if len(w.rows) == 0 {
		return nil
	}
	if err := r.svc.opt.Journal.Append(w.rows...); err != nil {
		return err
	}
	r.saved.Store(r.seq)
	for i := range w.rows {
		r.publish(w.rows[i].Decisions, w.rows[i].Shown)
		w.rows[i] = journal.Step{}
	}
	for _, c := range w.taken {
		c <- r.state
	}
	return nil
}

func (r *activeRun) fill(d *hooks.Decision) {
	d.RunID, d.SessionID, d.Seq, d.At = r.id, r.session, r.seq, r.svc.now()
	if d.ID == "" {
		d.ID = newID("dec")
	}
}

func (r *activeRun) publish(decisions []hooks.Decision, show []report.Event) {
	if n := len(show); n > 0 && show[n-1].Type == report.RunFinished {
		r.final = show[n-1]
	}
	f := r.svc.opt.Frontend
	if f == nil {
		return
	}
	for _, d := range decisions {
		d.Record = nil // the journal has it
		f.Decision(d)
	}
	for _, e := range show {
		switch e.Type {
		case report.Message, report.UsageReported, report.RunFinished:
			r.stream.drop()
		}
		f.Event(e)
	}
}

func statusOf(s *loop.State) report.Status {
	switch {
	case s.Active() && s.Waiting():
		return report.Waiting
	case s.Active():
		return report.Running
	case s.Status == loop.RunDone:
		return report.Done
	case s.Status == loop.RunCancelled:
		return report.Cancelled
	}
	return report.Failed
}

// breakDown ends a run whose journal cannot be written. It says so to whoever
// watches; what is in the journal can be resumed once it is writable again.
func (r *activeRun) breakDown(err error) {
	r.svc.log.Error("the journal cannot be written", "run", r.id, "error", err)
	r.breaking.Store(true)
	r.endWork(errBroke)
	r.svc.breakOffChildren(r)
	r.finalErr = fmt.Errorf("the run stopped: %w", err)
	e := r.event(report.RunFinished)
	e.Status, e.StopReason, e.Error = report.Failed, report.StopInternal, r.finalErr.Error()
	r.final = e
	if f := r.svc.opt.Frontend; f != nil {
		f.Event(e)
	}
}

// do carries out one command.
func (r *activeRun) do(c loop.Command) {
	switch c.Kind {
	case loop.FireHook:
		r.start(func(ctx context.Context, s loop.State) { r.fire(ctx, c, s) })
	case loop.CallModel:
		r.start(func(ctx context.Context, s loop.State) { r.infer(ctx, c.Step, s) })
	case loop.SumUp:
		r.start(func(ctx context.Context, s loop.State) { r.sumUp(ctx, c, s) })
	case loop.Dispatch:
		r.start(func(ctx context.Context, s loop.State) { r.dispatch(ctx, c.Calls, s) })
	case loop.CheckCalls:
		r.start(func(ctx context.Context, s loop.State) { r.checkCalls(ctx, c, s) })
	case loop.CheckOutput:
		r.start(func(ctx context.Context, s loop.State) { r.checkOutput(ctx, c, s) })
	case loop.DropCalls:
		r.drop(c.Calls)
	case loop.BatchEnded:
		r.batchEnded(c)
	case loop.Injected:
		r.injected(c)
	case loop.Close:
		r.start(func(ctx context.Context, s loop.State) { r.close(ctx, c.Step, s) })
	case loop.Withdraw:
		r.svc.withdraw(c.ApprovalID)
	case loop.StopWork:
		r.endWork(errStopped)
		r.work, r.endWork = context.WithCancelCause(r.root)
	}
}

// start runs f beside the loop, on the state as it is now. A panic in it ends
// the run, not the server.
func (r *activeRun) start(f func(context.Context, loop.State)) {
	ctx, state, ahead, announced := r.work, r.state, r.ahead, r.announced
	r.ahead = nil
	r.busy.Add(1)
	go func() {
		defer r.busy.Done()
		defer r.recovered()
		behind(ctx, announced)
		for _, show := range ahead {
			show(ctx)
		}
		f(ctx, state)
	}()
}

func (r *activeRun) recovered() {
	if what := recover(); what != nil {
		r.svc.log.Error("panic in a run", "run", r.id, "panic", what, "stack", stack())
		r.post(posted{event: loop.Event{Kind: loop.HostFailed, Error: fmt.Sprintf("internal error: %v", what)}})
	}
}

func (r *activeRun) note(n loop.Note) {
	r.post(posted{event: loop.Event{Kind: loop.Noted, Note: &n}})
}
