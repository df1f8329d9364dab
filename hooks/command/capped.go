package command

import "sync"

// capped keeps the beginning of what is written to it and never blocks.
type capped struct {
	most int
	full func() // called once when more comes than is kept

	mu   sync.Mutex // guards what follows
	kept []byte
	more bool
}

// Write keeps what fits.
func (c *capped) Write(b []byte) (int, error) {
	c.mu.Lock()
	room := c.most - len(c.kept)
	c.kept = append(c.kept, b[:min(len(b), room)]...)
	first := len(b) > room && !c.more
	c.more = c.more || len(b) > room
	c.mu.Unlock()
	if first && c.full != nil {
		c.full()
	}
	return len(b), nil
}

func (c *capped) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte(nil), c.kept...)
}

func (c *capped) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.more
}
