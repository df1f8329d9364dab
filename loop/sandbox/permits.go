package sandbox

import (
	"context"
	"slices"
	"sync"
)

// DefaultPermits is how many processes run at once where nothing else is said.
const DefaultPermits = 8

// Permits bound how many processes of commands, searches, command hooks and
// diagnostics run at once, whichever run they are for. Whoever waits longest
// gets the next one. The zero value gives DefaultPermits; a nil *Permits gives
// as many as are asked for. Background tasks hold none: give the permit back
// when a command goes into the background.
type Permits struct {
	mu      sync.Mutex // guards what follows
	most    int        // 0 = DefaultPermits
	taken   int
	waiting []*waiter // the longest first
}

// waiter is somebody in the queue. The channel is closed when it got a permit.
type waiter struct{ got chan struct{} }

// NewPermits makes permits for so many processes at once; DefaultPermits if it
// is not positive.
func NewPermits(most int) *Permits {
	p := &Permits{}
	p.Limit(most)
	return p
}

// Limit changes how many there are, DefaultPermits if most is not positive.
// Those that are out stay out: the new number counts as they come back.
func (p *Permits) Limit(most int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = max(most, 0)
	p.hand()
}

// Take waits for a permit. It fails only when ctx ends first, with its cause.
// The returned function gives the permit back; to call it again does nothing.
// Take none while holding one: nobody is behind the queue to give way.
func (p *Permits) Take(ctx context.Context) (giveBack func(), err error) {
	if p == nil {
		return func() {}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	w := &waiter{got: make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, w)
	p.hand()
	p.mu.Unlock()
	select {
	case <-w.got:
		return sync.OnceFunc(p.back), nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	i := slices.Index(p.waiting, w)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 { // it came in the same moment
		p.back()
	}
	return nil, context.Cause(ctx)
}

// Out says how many are taken and how many wait for one.
func (p *Permits) Out() (taken, waiting int) {
	if p == nil {
		return 0, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken, len(p.waiting)
}

func (p *Permits) back() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.hand()
}

// hand gives what is free to those who wait. The lock is held.
func (p *Permits) hand() {
	most := p.most
	if most <= 0 {
		most = DefaultPermits
	}
	for p.taken < most && len(p.waiting) > 0 {
		p.taken++
		close(p.waiting[0].got)
		p.waiting[0] = nil
		p.waiting = p.waiting[1:]
	}
}
