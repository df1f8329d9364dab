// Package pool keeps the script workers of a server: processes of the own
// binary that are started when the first script is to run, reused, and
// replaced when they were killed or have grown. Start at New and Pool.Fire. It
// believes nothing that a worker sends without a check.
package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"agent-ls/hooks/worker/wire"
)

// Options are what a pool needs. Zero means the default.
type Options struct {
	Workers    int    // at once, beside one warm spare; the number of CPUs
	Memory     int64  // bytes over a worker's start; 128 MiB
	Executable string // what is started as a worker; the running binary
	Log        *slog.Logger
}

// DefaultMemory is Options.Memory where nothing is said, in bytes.
const DefaultMemory = 128 << 20

// ErrClosed is the error of a pool that was closed.
var ErrClosed = errors.New("the script workers are closed")

// Stats count what a pool has done.
type Stats struct {
	Started  int64 // workers, ever
	Live     int64 // workers, now
	Killed   int64 // by a limit or a cancelled caller
	Recycled int64 // replaced since they had grown
	Firings  int64
}

// Pool hands workers to callers. It starts nothing before it is asked.
type Pool struct {
	options Options
	slots   chan struct{} // one for each worker that may be in use
	closing chan struct{}
	tasks   sync.WaitGroup // spares being started, workers being closed

	mu     sync.Mutex // guards what follows
	idle   []*process
	spare  *process
	making bool // a spare
	live   map[*process]struct{}
	closed bool

	started, killed, recycled, firings atomic.Int64
}

// New makes a pool.
func New(o Options) *Pool {
	if o.Workers <= 0 {
		o.Workers = runtime.NumCPU()
	}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{options: o, slots: make(chan struct{}, o.Workers), closing: make(chan struct{}), live: map[*process]struct{}{}}
}

// Stats counts so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	live := int64(len(p.live))
	p.mu.Unlock()
	return Stats{Started: p.started.Load(), Live: live, Killed: p.killed.Load(), Recycled: p.recycled.Load(), Firings: p.firings.Load()}
}

// Close ends every worker and waits until they are gone. Firings that are on
// their way end with a failure.
func (p *Pool) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	close(p.closing)
	for w := range p.live {
		w.kill(ending{Infrastructure, ErrClosed.Error()})
	}
	resting := p.idle
	if p.spare != nil {
		resting = append(resting, p.spare)
	}
	p.idle, p.spare = nil, nil
	p.mu.Unlock()
	for _, w := range resting {
		p.discard(w)
	}
	p.tasks.Wait()
	// Wait for those in use: their callers give the slots back.
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
}

// acquire gives a worker to use, which must be released.
func (p *Pool) acquire(ctx context.Context) (*process, error) {
	select {
	case p.slots <- struct{}{}:
	default:
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-p.closing:
			return nil, ErrClosed
		}
	}
	w, err := p.ready(ctx)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return w, nil
}

// ready takes an idle worker, else the spare, else starts one.
func (p *Pool) ready(ctx context.Context) (*process, error) {
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, ErrClosed
		}
		var w *process
		if n := len(p.idle); n > 0 {
			w = p.idle[n-1] // the one used last: its caches are warm
			p.idle = p.idle[:n-1]
		} else {
			w, p.spare = p.spare, nil
		}
		if p.spare == nil && !p.making {
			p.making = true
			p.tasks.Add(1)
			go p.makeSpare()
		}
		p.mu.Unlock()
		if w == nil {
			return p.start(ctx)
		}
		if !w.dead() {
			return w, nil
		}
		p.discard(w) // somebody killed it while it did nothing
	}
}

// start starts a worker and counts it.
func (p *Pool) start(ctx context.Context) (*process, error) {
	executable := p.options.Executable
	if executable == "" {
		var err error
		if executable, err = self(); err != nil {
			return nil, fmt.Errorf("start a script worker: %w", err)
		}
	}
	o := p.options
	o.Executable = executable
	w, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	p.started.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		w.close()
		return nil, ErrClosed
	}
	p.live[w] = struct{}{}
	return w, nil
}

// makeSpare starts the worker that takes the place of the next one that is
// lost. When it cannot, the next caller tries again for itself.
func (p *Pool) makeSpare() {
	defer p.tasks.Done()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with this start
		select {
		case <-p.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	w, err := p.start(ctx)
	p.mu.Lock()
	p.making = false
	if err == nil && !p.closed {
		p.spare, w = w, nil
	}
	p.mu.Unlock()
	switch {
	case err != nil && !errors.Is(err, ErrClosed) && ctx.Err() == nil:
		p.options.Log.Warn("no spare script worker", "error", err)
	case err == nil && w != nil:
		p.discard(w)
	}
}

// release gives a worker back.
func (p *Pool) release(w *process) {
	recycle := w.worn && !w.dead()
	p.mu.Lock()
	if !w.worn && !w.dead() && !p.closed {
		p.idle = append(p.idle, w)
		w = nil
	} else if !p.closed {
		p.tasks.Add(1)
		go func(w *process) {
			defer p.tasks.Done()
			p.discard(w)
		}(w)
		w = nil
	}
	p.mu.Unlock()
	if recycle {
		p.recycled.Add(1)
	}
	if w != nil {
		p.discard(w)
	}
	<-p.slots
}

// discard ends a worker for good.
func (p *Pool) discard(w *process) {
	w.close()
	p.mu.Lock()
	delete(p.live, w)
	p.mu.Unlock()
}

// Report is what the first idle worker said of its own confinement; it starts
// one when there is none.
func (p *Pool) Report(ctx context.Context) (wire.Report, error) {
	w, err := p.acquire(ctx)
	if err != nil {
		return wire.Report{}, err
	}
	defer p.release(w)
	return w.report, nil
}

// lateAfter is what a firing that takes too long fails with.
func lateAfter(limit time.Duration) ending {
	return ending{Limit, fmt.Sprintf("time limit of %v exceeded", limit)}
}
