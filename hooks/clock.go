package hooks

import (
	"context"
	"sync"
	"time"
)

// clock ends the hooks of one firing that take too long together. It stands
// still while a hook waits in hook.decide.
type clock struct {
	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	end     time.Time
	left    time.Duration // while it stands
	waiting int
}

// withClock gives a context that ends, as one with a timeout does, when the
// clock has run for that long. The caller stops it.
func withClock(ctx context.Context, limit time.Duration) (context.Context, *clock, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{end: time.Now().Add(limit)}
	c.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return ctx, c, func() {
		c.timer.Stop()
		cancel(nil)
	}
}

// stand lets the clock stand until run is called.
func (c *clock) stand() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 {
		c.left = time.Until(c.end)
		c.timer.Stop()
	}
}

func (c *clock) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting == 0 {
		c.end = time.Now().Add(c.left)
		c.timer.Reset(c.left)
	}
}

// aside gives a Firing.Decide that takes none of the clock's time, nil for
// none.
func (c *clock) aside(decide func(context.Context, string, any) map[string]any) func(context.Context, string, any) map[string]any {
	if decide == nil {
		return nil
	}
	return func(ctx context.Context, question string, schema any) map[string]any {
		c.stand()
		defer c.run()
		return decide(ctx, question, schema)
	}
}
