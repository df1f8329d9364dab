package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Pool keeps the connections of a workspace. They are shared by its runs and
// stay for a while after the last one, so that the next need not wait.
type Pool struct {
	opt Options
	ctx context.Context // ends with Close
	end context.CancelFunc
	all sync.WaitGroup // the servers' goroutines

	mu      sync.Mutex // guards what follows
	servers map[string]*Server
	closed  bool
}

// NewPool makes a Pool. Nothing is started before Use.
func NewPool(o Options) *Pool {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Version == "" {
		o.Version = "unknown" // servers insist on one
	}
	if o.backoff == nil {
		o.backoff = func(n int) time.Duration { return min(time.Second<<min(n, 6), time.Minute) }
	}
	p := &Pool{opt: o, servers: map[string]*Server{}}
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

// ErrClosed is what calls get after Close.
var ErrClosed = errors.New("the MCP connections are closed")

// Lease is one run's use of a server.
type Lease struct {
	*Server
	notices chan Notice
	release func()
}

// Notices tells what happens on the connection from now on. A reader that is
// slow misses some; Server.Standing always tells how it stands.
func (l *Lease) Notices() <-chan Notice { return l.notices }

// Release gives the use back. It may be called several times.
func (l *Lease) Release() { l.release() }

// Use gives the connection of a definition and starts it if it is not there.
// It does not wait for it.
func (p *Pool) Use(d Definition) (*Lease, error) {
	key := keyOf(&d)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	s := p.servers[key]
	fresh := s == nil || s.gone()
	if fresh {
		s = newServer(p, d)
		p.servers[key] = s
	}
	l := &Lease{Server: s, notices: make(chan Notice, 256)}
	s.enter(l)
	if fresh { // with somebody to tell already
		p.all.Go(func() { s.run(p.ctx) })
	}
	l.release = sync.OnceFunc(func() { s.leave(l) })
	return l, nil
}

// Close ends all connections and the programs behind them, and waits for that.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	p.all.Wait()
}

// keyOf is what two definitions have in common that can share a connection.
func keyOf(d *Definition) string {
	text, _ := json.Marshal(d) // strings and numbers always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
