package rpc

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// layer is a step of the chain. ctx belongs to us and may be kept; the
// library's own context is recycled with the request, and whoever derives from
// it brings the process down. release lets the next message be read.
type layer func(ctx context.Context, req *jsonrpc2.Request, release func()) (any, error)

// chain builds the four layers.
func (c *Conn) chain() jsonrpc2.Handler { return c.guard(c.cancellable(c.release(c.dispatch))) }

// cancellable gives each request a context that `$/cancelRequest` ends. The id
// is parsed here: the library ends the connection over one of more than 32
// bits.
func (c *Conn) cancellable(next layer) layer {
	return func(ctx context.Context, req *jsonrpc2.Request, release func()) (any, error) {
		if req.Method() == protocol.MethodCancelRequest && !req.IsCall() {
			return nil, c.cancelRequest(req.Params())
		}
		if !req.IsCall() {
			return next(ctx, req, release)
		}
		id := req.ID()
		ctx, cancel := context.WithCancel(ctx)
		c.mu.Lock()
		c.handling[id] = cancel
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			delete(c.handling, id)
			c.mu.Unlock()
			cancel()
		}()
		return next(ctx, req, release)
	}
}

func (c *Conn) cancelRequest(raw []byte) error {
	var params struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		return err
	}
	id := messageID(params.ID)
	if !id.IsValid() {
		return errors.New("a cancel names no request")
	}
	c.mu.Lock()
	cancel := c.handling[id]
	c.mu.Unlock()
	if cancel != nil { // it may have been answered meanwhile
		cancel()
	}
	return nil
}

// guard is the outermost layer. An error that it returns goes to the client as
// an answer; for a notification it returns none, since the connection would
// end over it.
func (c *Conn) guard(next layer) jsonrpc2.Handler {
	return func(theirs context.Context, req *jsonrpc2.Request) (result any, err error) {
		ctx := jsonrpc2.DetachContext(theirs)
		// Both are borrowed and may be gone when the handler has returned.
		method, call, start := strings.Clone(req.Method()), req.IsCall(), time.Now()
		defer func() {
			if r := recover(); r != nil {
				c.log.Error("a handler panicked", "method", method, "panic", r, "stack", string(debug.Stack()))
				result, err = nil, jsonrpc2.Errorf(jsonrpc2.InternalError, "%s failed inside the server: %v", method, r)
			}
			c.log.Debug("handled", "method", method, "call", call, "us", time.Since(start).Microseconds(), "error", err)
			if err == nil {
				return
			}
			result = nil
			if !call {
				c.log.Warn("a notification failed", "method", method, "error", err)
				err = nil
				return
			}
			err = wireError(err)
		}()
		if err := c.admit(method, call); err != nil {
			return nil, err
		}
		if method == protocol.MethodExit && !call {
			c.exit()
			return nil, nil
		}
		return next(ctx, req, func() { jsonrpc2.Async(theirs) })
	}
}

// admit enforces the life cycle.
func (c *Conn) admit(method string, call bool) error {
	now := state(c.state.Load())
	switch {
	case method == protocol.MethodExit:
		if call {
			return jsonrpc2.NewError(jsonrpc2.InvalidRequest, "exit is a notification")
		}
		return nil
	case method == protocol.MethodInitialize:
		if !call {
			return errors.New("initialize is a request")
		}
		if !c.state.CompareAndSwap(int32(fresh), int32(initializing)) {
			return jsonrpc2.NewError(jsonrpc2.InvalidRequest, "initialize was sent before")
		}
		return nil
	case now == fresh || now == initializing:
		return jsonrpc2.NewError(jsonrpc2.ServerNotInitialized, "the first request is initialize")
	case now == shutdown && call:
		return jsonrpc2.NewError(jsonrpc2.InvalidRequest, "the server is shutting down")
	}
	return nil
}

// exit ends the connection. It only signals: closing inside a handler would
// wait for that handler.
func (c *Conn) exit() {
	if state(c.state.Load()) == shutdown {
		c.end(nil)
		return
	}
	c.end(ErrNoShutdown)
}

// wireError gives every error a code.
func wireError(err error) error {
	var wire *jsonrpc2.Error
	switch {
	case errors.Is(err, context.Canceled):
		return protocol.ErrRequestCancelled
	case errors.As(err, &wire) && wire.Code == jsonrpc2.ParseError:
		// The library's word for parameters that do not decode; the message
		// itself was fine.
		return jsonrpc2.NewError(jsonrpc2.InvalidParams, err.Error())
	case errors.As(err, &wire):
		return &jsonrpc2.Error{Code: wire.Code, Message: err.Error(), Data: wire.Data}
	}
	return jsonrpc2.NewError(jsonrpc2.InternalError, err.Error())
}

// release lets requests run beside each other. Those whose order matters stay
// on the reading goroutine: initialize, since nothing may be handled before
// it, and every notification.
func (c *Conn) release(next layer) layer {
	return func(ctx context.Context, req *jsonrpc2.Request, release func()) (any, error) {
		if !req.IsCall() || req.Method() == protocol.MethodInitialize {
			return next(ctx, req, nil)
		}
		if req.Method() == protocol.MethodShutdown {
			c.state.Store(int32(shutdown)) // before any later message is read
		}
		prepared := c.handler.Prepare(ctx, req.Method())
		release()
		if !abandonable(req.Method()) {
			return next(prepared, req, nil)
		}
		return c.abandon(prepared, req, next)
	}
}

// abandonable reports whether a cancelled request of this method may be
// answered before its work has ended: true for those that only read.
func abandonable(method string) bool {
	return strings.HasPrefix(method, "textDocument/") || strings.HasPrefix(method, "completionItem/") ||
		strings.HasPrefix(method, "codeAction/") || method == protocol.MethodWorkspaceDiagnostic ||
		method == protocol.MethodWorkspaceSymbol
}

// abandon answers as soon as the request is cancelled, however far its work
// is. The work's own result is dropped.
func (c *Conn) abandon(ctx context.Context, req *jsonrpc2.Request, next layer) (any, error) {
	type answer struct {
		result any
		err    error
	}
	done := make(chan answer, 1)
	owned := req.Clone()
	go func() {
		var a answer
		defer func() {
			if r := recover(); r != nil {
				c.log.Error("a handler panicked", "method", owned.Method(), "panic", r, "stack", string(debug.Stack()))
				a = answer{nil, jsonrpc2.Errorf(jsonrpc2.InternalError, "%s failed inside the server: %v", owned.Method(), r)}
			}
			done <- a
		}()
		a.result, a.err = next(ctx, owned, nil)
	}()
	select {
	case a := <-done:
		return a.result, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dispatch is the innermost layer: the handler's own table. The library's
// would rewrite every URI on the way in, and lose how the client spells them.
func (c *Conn) dispatch(ctx context.Context, req *jsonrpc2.Request, _ func()) (any, error) {
	if req.Method() == protocol.MethodInitialize {
		return c.initialize(ctx, req)
	}
	handle, ok := c.handler.Lookup(req.Method())
	if !ok {
		if !req.IsCall() {
			c.log.Debug("ignored a notification", "method", strings.Clone(req.Method()))
			return nil, nil
		}
		return nil, jsonrpc2.Errorf(jsonrpc2.MethodNotFound, "the server has no method %q", req.Method())
	}
	params := json.RawMessage(req.Params())
	if bytes.Equal(params, []byte("null")) {
		params = nil
	}
	return handle(ctx, params)
}

// initialize checks the token, decodes leniently and watches the client's
// process.
func (c *Conn) initialize(ctx context.Context, req *jsonrpc2.Request) (result any, err error) {
	defer func() {
		if err != nil {
			c.state.Store(int32(fresh)) // a client may try again
			return
		}
		c.state.Store(int32(running))
	}()
	params, dropped, err := decodeInitialize(req.Params())
	if err != nil {
		return nil, jsonrpc2.NewError(jsonrpc2.InvalidParams, fmt.Sprintf("initialize: %v", err))
	}
	if len(dropped) > 0 {
		c.log.Warn("the client declared what does not decode; it is left out", "paths", dropped)
	}
	if err := c.authorize(params); err != nil {
		c.stream.afterWrite(func() { c.end(err) })
		return nil, jsonrpc2.NewError(jsonrpc2.InvalidRequest, err.Error())
	}
	answer, err := c.handler.Initialize(ctx, params, json.RawMessage(req.Params()))
	if err != nil {
		return nil, err
	}
	if params.ProcessID != nil && *params.ProcessID > 0 {
		pid := int(*params.ProcessID)
		go watchProcess(c.serving, pid, func() {
			c.log.Info("the client's process is gone", "pid", pid)
			c.end(ErrOrphaned)
		})
	}
	return answer, nil
}

func (c *Conn) authorize(params *protocol.InitializeParams) error {
	if c.opts.Token == "" {
		return nil
	}
	var options struct {
		Token string `json:"token"`
	}
	if len(params.InitializationOptions) > 0 {
		_ = json.Unmarshal(params.InitializationOptions, &options) // another shape bears no token
	}
	if subtle.ConstantTimeCompare([]byte(options.Token), []byte(c.opts.Token)) != 1 {
		return ErrUnauthorized
	}
	return nil
}
