package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Standing is how a server stands.
type Standing uint8

const (
	Starting Standing = iota
	Ready
	Broken // it could not be reached, or was lost, and is tried again later
	Over   // it was given up, or nobody uses it any more
)

// Server is one server and the connection to it.
type Server struct {
	pool *Pool
	def  Definition

	mu       sync.Mutex // guards what follows
	standing Standing
	err      error // why Broken or Over
	tools    []Tool
	session  *sdk.ClientSession
	lost     chan struct{} // closed when session is
	changed  chan struct{} // closed and replaced when standing, err or tools change
	leases   map[*Lease]bool
	idle     *time.Timer // ends a server that nobody uses
	stop     context.CancelFunc
	progress map[string]func(string)
	serial   int                // of progress tokens
	listing  bool               // its tools are being listed again
	outdated *sdk.ClientSession // on which they changed since; nil if not
}

func newServer(p *Pool, d Definition) *Server {
	if d.StartTimeout <= 0 {
		d.StartTimeout = defaultStart
	}
	if d.CallTimeout <= 0 {
		d.CallTimeout = defaultCall
	}
	return &Server{pool: p, def: d, changed: make(chan struct{}), leases: map[*Lease]bool{}, progress: map[string]func(string){}}
}

// Name is the server's name in the manifest.
func (s *Server) Name() string { return s.def.Name }

// Transport is "stdio" or "http".
func (s *Server) Transport() string { return s.def.Transport() }

// Standing says how the server stands, with the error of Broken and Over.
func (s *Server) Standing() (Standing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standing, s.err
}

// Tools are the tools as the server listed them last, in its order. What
// cannot be used is left out already.
func (s *Server) Tools() []Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}

// Await waits until the server is not Starting any more.
func (s *Server) Await(ctx context.Context) (Standing, error) {
	for {
		s.mu.Lock()
		standing, err, changed := s.standing, s.err, s.changed
		s.mu.Unlock()
		if standing != Starting {
			return standing, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Starting, context.Cause(ctx)
		}
	}
}

func (s *Server) gone() bool {
	standing, _ := s.Standing()
	return standing == Over
}

func (s *Server) enter(l *Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases[l] = true
	switch s.standing { // what was told before
	case Ready:
		l.notices <- Notice{Kind: Connected}
		l.notices <- Notice{Kind: Listed}
	case Broken:
		l.notices <- Notice{Kind: Failed, Text: s.err.Error()}
	}
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
}

func (s *Server) leave(l *Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, l)
	if len(s.leases) > 0 || s.stop == nil {
		return
	}
	s.idle = time.AfterFunc(linger, s.stop)
}

// tell notifies the runs that use the server. One that does not read misses it.
func (s *Server) tell(n Notice) {
	s.pool.opt.Log.Debug("mcp", "server", s.def.Name, "kind", n.Kind, "text", n.Text)
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.leases {
		select {
		case l.notices <- n:
		default:
		}
	}
}

func (s *Server) set(standing Standing, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standing, s.err = standing, err
	close(s.changed)
	s.changed = make(chan struct{})
}

// run connects, and connects again when the connection is lost, until the
// server is given up or ctx ends.
func (s *Server) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.stop = cancel
	s.mu.Unlock()
	failures, before := 0, false
	for ctx.Err() == nil {
		began := time.Now()
		err := s.once(ctx, before, func() { before = true })
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > time.Minute {
			failures = 0 // it worked for a while
		}
		failures++
		if errors.Is(err, ErrRefused) || errors.Is(err, errLogin) || failures >= maxAttempts {
			s.set(Over, err)
			s.tell(Notice{Kind: Failed, Text: err.Error()})
			return
		}
		s.set(Broken, err)
		s.tell(Notice{Kind: Failed, Text: err.Error()})
		select {
		case <-time.After(s.pool.opt.backoff(failures - 1)):
		case <-ctx.Done():
		}
	}
	s.set(Over, ErrClosed)
	s.tell(Notice{Kind: Closed, Text: "nobody uses it any more"})
}

// once makes one connection and stays until it is lost.
func (s *Server) once(ctx context.Context, before bool, connected func()) error {
	start, cancel := context.WithTimeout(ctx, s.def.StartTimeout)
	defer cancel()
	t, err := s.transport(start)
	if err != nil {
		return err
	}
	defer t.close()
	// The SDK does not always notice that the other side is gone.
	stop := t.onEnd(cancel)
	defer stop()
	client := sdk.NewClient(&sdk.Implementation{Name: "agent-ls", Version: s.pool.opt.Version}, s.clientOptions(ctx))
	if s.def.Root != "" && s.def.URL == "" {
		//lint:ignore SA1019 the servers that people run today ask for roots, and the protocol keeps them for a year
		client.AddRoots(&sdk.Root{URI: fileURI(s.def.Root), Name: "workspace"})
	}
	session, err := client.Connect(start, t, nil)
	if err != nil {
		return s.explain(start, t, "connect", err)
	}
	// Closing waits for the other side; that is not waited for.
	defer func() { go session.Close() }()
	connected()
	s.tell(Notice{Kind: Connected, Reconnect: before})
	s.mu.Lock()
	s.session, s.lost = session, make(chan struct{})
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.session = nil
		close(s.lost) // calls under way have no result to come
		s.mu.Unlock()
	}()
	if err := s.list(start, session); err != nil {
		return s.explain(start, t, "list its tools", err)
	}
	lost, gone := make(chan error, 1), t.gone()
	go func() { lost <- session.Wait() }()
	select {
	case err = <-lost:
	case <-gone:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err == nil {
		err = errors.New("the server closed the connection")
	}
	err = s.explain(ctx, t, "stay connected", err)
	s.tell(Notice{Kind: Closed, Text: err.Error()})
	return err
}

// explain says what failed, with what the program itself had to say.
func (s *Server) explain(ctx context.Context, t *transport, doing string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", s.def.StartTimeout)
	}
	if login := t.loginError(); login != nil {
		err = login
	}
	if why := t.ended(); why != "" {
		return fmt.Errorf("%s: %w; %s", doing, err, why)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func (s *Server) clientOptions(ctx context.Context) *sdk.ClientOptions {
	o := &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
		Logger:       s.pool.opt.Log.With("server", s.def.Name),
		ToolListChangedHandler: func(_ context.Context, r *sdk.ToolListChangedRequest) {
			s.toolsChanged(ctx, r.Session)
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.progressed(r.Params) },
	}
	if s.def.URL == "" {
		//lint:ignore SA1019 as above: without it the client sends no roots
		o.Capabilities.RootsV2 = &sdk.RootCapabilities{}
	}
	return o
}

// toolsChanged has the tools listed again, by one goroutine however often they
// change. It is called on the goroutine that reads, and does not wait.
func (s *Server) toolsChanged(ctx context.Context, session *sdk.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outdated = session
	if !s.listing {
		s.listing = true
		go s.listAgain(ctx)
	}
}

// listAgain lists until nothing changed while it did.
func (s *Server) listAgain(ctx context.Context) {
	for {
		s.mu.Lock()
		session := s.outdated
		s.outdated = nil
		if session == nil {
			s.listing = false
			s.mu.Unlock()
			return
		}
		current := s.session == session
		s.mu.Unlock()
		if current {
			s.listOnce(ctx, session)
		}
	}
}

func (s *Server) listOnce(ctx context.Context, session *sdk.ClientSession) {
	ctx, cancel := context.WithTimeout(ctx, s.def.StartTimeout)
	defer cancel()
	if err := s.list(ctx, session); err != nil && ctx.Err() == nil {
		s.tell(Notice{Kind: Warned, Text: "its tools changed and could not be listed again: " + err.Error()})
	}
}
