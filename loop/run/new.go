package run

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"time"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/mcp"
	"agent-ls/loop/policy"
	"agent-ls/loop/report"
	"agent-ls/loop/sandbox"
	"agent-ls/loop/tool"
	"agent-ls/loop/trust"
)

// pollEvery is how often a service with runs looks for what other processes
// wrote: answers, cancels, steering.
const pollEvery = 100 * time.Millisecond

// endWithin is how long the calls of a run may take to stop before the run
// ends without them.
const endWithin = 2 * time.Second

// Service runs agents in one workspace. Its methods may be called from many
// goroutines.
type Service struct {
	opt Options
	log *slog.Logger
	now func() time.Time
	// clock says how long a call takes; it never goes back as now may.
	clock func() time.Time
	// sleep waits between two attempts at a model; tests put a clock here.
	sleep func(context.Context, time.Duration) error
	// equip makes what a run works with; tests put their own tools here.
	equip func(context.Context, *pinned, *tool.Tracker) (*gear, []finding, error)

	// permits bound the processes of all runs here: commands, searches, hooks.
	permits *sandbox.Permits

	closing chan struct{}
	pool    *mcp.Pool      // connections to MCP servers, shared by the runs
	runners sync.WaitGroup // run loops and the poller

	mu        sync.Mutex // guards what follows
	closed    bool
	polling   bool
	runs      map[string]*activeRun // by run id; finished ones stay until the process ends, without their state
	sessions  map[string]*activeRun // the one that is under way in a session
	starting  map[string]bool       // sessions that a Start or Resume is at work on
	trackers  map[string]*tool.Tracker
	baselines map[string]*cachePrefix // by session, with session_baseline
	always    []policy.Grant
	newest    string
	kept      time.Time // when sessions past their time were looked for

	commandsMu      sync.Mutex // guards commandSessions
	commandSessions map[string]*commandSession
	hooksOff        map[string]bool // by declaration id

	// approvals that this process shows, by id
	asksMu        sync.Mutex
	asks          map[string]*openAsk
	tasks         tasks
	background    context.Context // of the background tasks
	endBackground context.CancelFunc
	stallAfter    time.Duration // tests put less here

	// questions, likewise
	questions map[string]*openQuestion
}

// hookSet is what a run needs of *hooks.Set.
type hookSet interface {
	Has(stage, event string) bool
	Fire(context.Context, hooks.Firing) hooks.Outcome
}

// New makes a Service. It starts nothing and reads nothing.
func New(o Options) *Service {
	s := &Service{
		opt: o, log: o.Log,
		now:      func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) },
		clock:    time.Now,
		sleep:    sleep,
		permits:  sandbox.NewPermits(sandbox.DefaultPermits),
		closing:  make(chan struct{}),
		runs:     map[string]*activeRun{},
		sessions: map[string]*activeRun{},
		starting: map[string]bool{},
		trackers: map[string]*tool.Tracker{},
		asks:     map[string]*openAsk{},

		questions: map[string]*openQuestion{},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.background, s.endBackground = context.WithCancel(context.Background())
	s.stallAfter = stallAfter
	s.equip = s.realGear
	s.pool = mcp.NewPool(mcp.Options{Version: o.Version, StateDir: o.StateDir, Browser: s.browse, Log: s.log})
	if s.opt.Trust == nil {
		s.opt.Trust = trust.New(o.StateDir)
	}
	return s
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errClosed is what calls get that were under way when the service closed.
var errClosed = errors.New("the agent service is closed")

// Close stops runs where they are; the next process can resume them. It waits
// for what they started, for a bounded time.
func (s *Service) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.closing)
	for _, r := range s.runs {
		r.stop(errClosed)
	}
	runs := make([]*activeRun, 0, len(s.sessions))
	for _, r := range s.sessions {
		runs = append(runs, r)
	}
	s.mu.Unlock()
	s.endBackground()
	s.runners.Wait()
	s.endSessions()
	s.pool.Close()
	deadline := time.After(endWithin)
	for _, r := range runs {
		select {
		case <-r.idle():
		case <-deadline:
			return errors.New("close: calls of a run did not end in time")
		}
	}
	errs := []error{s.opt.Trust.Close(), s.closeTasks()}
	for _, r := range runs {
		errs = append(errs, s.opt.Journal.Release(context.Background(), r.session))
	}
	return errors.Join(errs...)
}

// Newest is the newest run of this process, "" if there is none.
func (s *Service) Newest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// Wait returns the run_finished event of a run that this process drives.
func (s *Service) Wait(ctx context.Context, runID string) (report.Event, error) {
	r := s.run(runID)
	if r == nil {
		return report.Event{}, ErrUnknownID
	}
	select {
	case <-r.done:
		return r.final, r.finalErr
	case <-ctx.Done():
		return report.Event{}, context.Cause(ctx)
	}
}

func (s *Service) run(id string) *activeRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id]
}

// adopt makes a run one of this service and starts its loop.
func (s *Service) adopt(r *activeRun, first loop.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.joinSession(r)
	s.runs[r.id], s.sessions[r.session] = r, r
	if r.parent == nil {
		s.newest = r.id
	}
	if r.gear != nil {
		r.gear.servers.begin(r)
		r.tellUntrusted()
	}
	s.runners.Add(1)
	go r.drive(first)
	if !s.polling {
		s.polling = true
		s.runners.Add(1)
		go s.poll()
	}
	return nil
}

// alone says that no other run than this one is under way.
func (s *Service) alone(r *activeRun) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions) == 0 || len(s.sessions) == 1 && s.sessions[r.session] == r
}

// forget is called by a run that is over. What is kept of it is its end.
func (s *Service) forget(r *activeRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := &activeRun{svc: s, id: r.id, session: r.session, done: r.done, final: r.final, finalErr: r.finalErr, spent: r.spent, learnt: r.learnt, stop: r.stop}
	was.breaking.Store(r.breaking.Load())
	s.runs[r.id] = was
	if s.sessions[r.session] == r {
		delete(s.sessions, r.session)
	}
}

// poll looks at the journal for what other processes wrote for the runs here.
// It ends with the last run and is started again by the next one.
func (s *Service) poll() {
	defer s.runners.Done()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var version int64
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		select {
		case <-s.closing:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		if len(s.sessions) == 0 {
			s.polling = false
			s.mu.Unlock()
			return
		}
		runs := make([]*activeRun, 0, len(s.sessions))
		for _, r := range s.sessions {
			runs = append(runs, r)
		}
		s.mu.Unlock()
		changed, now, err := s.opt.Journal.Changed(ctx, version)
		if err != nil {
			s.log.Error("look for changes of the journal", "error", err)
			continue
		}
		if !changed {
			continue
		}
		version = now
		s.takeAnswers(ctx)
		s.takeReplies(ctx)
		for _, r := range runs {
			r.takeSignals(ctx)
		}
	}
}

// newID makes an id that sorts by the time it was made.
func newID(kind string) string {
	var b [15]byte
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixMicro())<<8)
	rand.Read(b[7:])
	return kind + "_" + idText.EncodeToString(b[:])
}

var idText = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
