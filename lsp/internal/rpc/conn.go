package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// Method handles a request or a notification. params is borrowed until it
// returns; nil when there were none. The result of a notification is dropped.
type Method func(ctx context.Context, params json.RawMessage) (any, error)

// Handler is what a connection serves.
type Handler interface {
	// Initialize answers the first request. raw is what was sent, with the
	// client's own spelling of URIs.
	Initialize(ctx context.Context, params *protocol.InitializeParams, raw json.RawMessage) (*protocol.InitializeResult, error)
	// Lookup finds any other method.
	Lookup(method string) (Method, bool)
	// Prepare is called on the reading goroutine before a request is released,
	// so that what it puts into the context is as the client had it.
	Prepare(ctx context.Context, method string) context.Context
	// Close is called once, after the last message, whatever ended the
	// connection.
	Close() error
}

// Options are what a connection may be told.
type Options struct {
	Log *slog.Logger
	// Token must come as initializationOptions.token; "" asks for none.
	Token string
	// MaxMessage is the largest body that is read, in bytes; a larger one is
	// skipped and answered with an error. 64 MiB by default.
	MaxMessage int64
	// Drain is how long handlers may take to end; 2 s by default.
	Drain time.Duration
}

// How a connection can end other than well.
var (
	ErrNoShutdown   = errors.New("the client went without a shutdown request")
	ErrOrphaned     = errors.New("the process that started the server is gone")
	ErrUnauthorized = errors.New("the client sent no valid token")
)

// state is where the life of a connection stands.
type state int32

const (
	fresh state = iota
	initializing
	running
	shutdown
)

// Conn is a connection that is served. It is the way to call the client.
type Conn struct {
	rpc     jsonrpc2.Conn
	stream  *stream
	log     *slog.Logger
	opts    Options
	handler Handler
	serving context.Context // ends with Serve
	state   atomic.Int32
	ended   chan error // the first reason to end that is not the stream's own

	mu       sync.Mutex // guards handling
	handling map[jsonrpc2.ID]context.CancelFunc
}

// New makes a connection over a byte stream. Nothing is read before Serve.
func New(rw io.ReadWriteCloser, opts Options) *Conn {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Drain == 0 {
		opts.Drain = 2 * time.Second
	}
	s := newStream(rw, &tracer{opts.Log})
	if opts.MaxMessage > 0 {
		s.most = opts.MaxMessage
	}
	return &Conn{
		rpc:    jsonrpc2.NewConn(s, jsonrpc2.WithCodec(codec{})),
		stream: s,
		log:    opts.Log,
		opts:   opts,
		ended:  make(chan error, 1),

		handling: map[jsonrpc2.ID]context.CancelFunc{},
	}
}

// Serve handles messages until the client says exit, the input ends, the pipe
// breaks, the client's process is gone or ctx ends. It returns nil only when
// the client asked for shutdown before, or ctx ended.
func (c *Conn) Serve(ctx context.Context, handler Handler) error {
	c.handler = handler
	serving, cancel := context.WithCancel(ctx)
	defer cancel()
	c.serving = serving
	c.rpc.Go(serving, c.chain())

	var err error
	select {
	case err = <-c.ended:
	case <-c.rpc.Done():
		err = c.left()
	case <-c.stream.gone:
		err = c.left()
	case <-ctx.Done():
	}
	c.close(cancel)
	if cerr := handler.Close(); cerr != nil {
		c.log.Error("closing", "error", cerr)
	}
	return err
}

// left says what it means that the client is gone.
func (c *Conn) left() error {
	select {
	case err := <-c.ended: // an exit right before the end of input
		return err
	default:
	}
	if state(c.state.Load()) == shutdown {
		return nil
	}
	return ErrNoShutdown
}

// close ends what still runs. It waits a while for handlers, not for ever: one
// that hangs must not keep the process.
func (c *Conn) close(cancel context.CancelFunc) {
	cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.rpc.Close()
	}()
	// The reader may be in the middle of a read that only the stream can end.
	timer := time.NewTimer(c.opts.Drain)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		c.log.Warn("handlers did not end in time", "after", c.opts.Drain)
	}
	_ = c.stream.Close()
}

// end records the first reason to end.
func (c *Conn) end(err error) {
	select {
	case c.ended <- err:
	default:
	}
}

// Call sends a request to the client and waits. When ctx ends first the client
// is told so. Never call it on the reading goroutine.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	return protocol.Call(ctx, c.rpc, method, params, result)
}

// Notify sends a notification to the client.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return c.rpc.Notify(ctx, method, params)
}

// Client returns the protocol's own calls to the client.
func (c *Conn) Client() protocol.Client { return protocol.ClientDispatcher(c.rpc) }

// Initialized reports whether the client was ever let in.
func (c *Conn) Initialized() bool { return state(c.state.Load()) >= running }
