// Package command owns command hooks: which of them a moment concerns, what
// their processes read and answer, and what becomes of one that fails. Start
// at Runner.Fire. Where and how a process runs is the caller's Floor.
package command

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
)

// Hook is one [[hook]] entry.
type Hook struct {
	ID      string
	Event   string
	Command string // a shell line
	// Matcher is a comma-separated list of tool names; "" and "*" are every
	// tool. It counts for pre_tool and post_tool only.
	Matcher  string
	Env      map[string]string
	Required bool
	// Trusted says, right before the command would run, whether it may; an
	// error is why not. nil is always.
	Trusted func(context.Context) error
}

// Call is one process to run. Env is on top of the floor's own.
type Call struct {
	Line           string
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Exit is how a process ended.
type Exit struct {
	Code    int
	Stopped bool  // since the context ended
	Err     error // it could not start, or did what it must not
}

// Floor is where processes run.
type Floor interface {
	// Permit waits for one of the host's permits for processes.
	Permit(context.Context) (giveBack func(), err error)
	// Run runs a shell line in the workspace root to its end; nothing of it is
	// left then. It ends soon after ctx does.
	Run(context.Context, Call) Exit
}

// The bounds of command hooks.
const (
	ProcessTime = 10 * time.Second // one process, the write to its stdin too
	OuterTime   = 15 * time.Second // one process with the wait for a permit
	MaxOutput   = 64 << 10         // bytes on stdout
	MaxResult   = 2048             // bytes of a result that post_tool sees
	MaxContext  = 10_000           // characters of injected text
	MaxStrikes  = 3                // failures in a session until a hook is evicted

	maxStderr  = 4 << 10
	maxWaiting = 256 // notifications on their way
)

// Strikes counts the failures of a session's hooks. The zero value is ready;
// it is safe for use by several goroutines.
type Strikes struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

func (s *Strikes) add(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.counts[id]++
	return s.counts[id]
}

// Evicted says whether a hook that is not required failed too often.
func (s *Strikes) Evicted(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[id] >= MaxStrikes
}

// Options are what a Runner needs.
type Options struct {
	Hooks   []Hook // in declared order
	Floor   Floor
	Strikes *Strikes
	Log     *slog.Logger
	// Off says which hooks are switched off; nil is none.
	Off func(id string) bool
	// ProcessTime and OuterTime replace the constants of the same names where
	// they are set.
	ProcessTime, OuterTime time.Duration
}

// Runner runs the command hooks of a session. It is safe for use by several
// goroutines.
type Runner struct {
	o       Options
	byEvent map[string][]*Hook

	mu      sync.Mutex // guards what follows
	waiting int        // notifications on their way
	stopped bool
	stop    context.CancelFunc
	life    context.Context
	busy    sync.WaitGroup // notifications
}

// New makes a runner. It starts nothing.
func New(o Options) *Runner {
	if o.Strikes == nil {
		o.Strikes = &Strikes{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.ProcessTime <= 0 {
		o.ProcessTime = ProcessTime
	}
	if o.OuterTime <= 0 {
		o.OuterTime = OuterTime
	}
	r := &Runner{o: o, byEvent: map[string][]*Hook{}}
	r.life, r.stop = context.WithCancel(context.Background())
	for i := range o.Hooks {
		h := &o.Hooks[i]
		r.byEvent[h.Event] = append(r.byEvent[h.Event], h)
	}
	return r
}

// Share makes the runner count failures together with others of its session.
// It is called before the first Fire.
func (r *Runner) Share(s *Strikes) { r.o.Strikes = s }

// Has says whether a command is declared for the event.
func (r *Runner) Has(event string) bool { return r != nil && len(r.byEvent[event]) > 0 }

// Fire runs the commands that match. Those of one event run at the same time,
// but post_tool, whose commands are a chain. Those of notification run on
// their own: nothing waits for them but Drain.
func (r *Runner) Fire(ctx context.Context, e *contract.Event, f hooks.Firing, fields map[string]any) []hooks.Ruling {
	list := r.matching(e, fields)
	switch e.Name {
	case "notification":
		return r.notify(list, e, f, fields)
	case "post_tool":
		return r.chain(ctx, list, e, f, fields)
	}
	rulings := make([]hooks.Ruling, len(list))
	var all sync.WaitGroup
	for i, h := range list {
		all.Go(func() { rulings[i] = r.ask(ctx, h, e, f, fields) })
	}
	all.Wait()
	return rulings
}

func (r *Runner) matching(e *contract.Event, fields map[string]any) []*Hook {
	var list []*Hook
	for _, h := range r.byEvent[e.Name] {
		if r.o.Off != nil && !h.Required && r.o.Off(h.ID) {
			continue
		}
		if _, scoped := e.Field("tool_names"); !scoped || matches(h.Matcher, fields["tool_names"]) {
			list = append(list, h)
		}
	}
	return list
}

func matches(matcher string, names any) bool {
	if m := strings.TrimSpace(matcher); m == "" || m == "*" {
		return true
	}
	list, _ := names.([]any)
	for _, want := range strings.Split(matcher, ",") {
		want = strings.TrimSpace(want)
		if want == "*" || slices.ContainsFunc(list, func(n any) bool { return n == any(want) }) {
			return true
		}
	}
	return false
}

// chain runs commands one behind another, each on what the one before left.
func (r *Runner) chain(ctx context.Context, list []*Hook, e *contract.Event, f hooks.Firing, fields map[string]any) []hooks.Ruling {
	var rulings []hooks.Ruling
	for _, h := range list {
		ruling := r.ask(ctx, h, e, f, fields)
		rulings = append(rulings, ruling)
		if ruling.Failure != nil {
			if ruling.Required {
				break
			}
			continue
		}
		if ruling.Verdict.Action == contract.Modify {
			fields = e.Apply(fields, ruling.Verdict.Value)
		}
	}
	return rulings
}

// notify starts commands that nothing waits for.
func (r *Runner) notify(list []*Hook, e *contract.Event, f hooks.Firing, fields map[string]any) []hooks.Ruling {
	var rulings []hooks.Ruling
	for _, h := range list {
		d := decision(h, f, fields)
		d.Action = contract.Allow.String()
		rulings = append(rulings, hooks.Ruling{Decision: d, Verdict: contract.Verdict{Action: contract.Allow}})
		r.mu.Lock()
		room := r.waiting < maxWaiting && !r.stopped
		if room {
			r.waiting++
			r.busy.Add(1)
		}
		r.mu.Unlock()
		if !room {
			r.o.Log.Warn("a notification is dropped: too many are on their way", "hook", h.ID)
			continue
		}
		go func() {
			defer r.busy.Done()
			ruling := r.ask(r.life, h, e, f, fields)
			if ruling.Failure != nil {
				r.o.Log.Warn("a notification failed", "hook", h.ID, "error", ruling.Failure.Message)
			}
			r.mu.Lock()
			r.waiting--
			r.mu.Unlock()
		}()
	}
	return rulings
}

// Drain waits for notifications that are on their way, as long as ctx lasts.
func (r *Runner) Drain(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		r.busy.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Close ends the notifications that are on their way and waits for them.
func (r *Runner) Close() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.stop()
	r.busy.Wait()
}
