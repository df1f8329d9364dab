package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"agent-ls/loop"
)

// errIdle is why a request ended that got nothing for the idle limit.
var errIdle = errors.New("nothing came for the idle limit")

// watch ends a request when no byte comes for the limit. The timer belongs to
// the request; stop releases it.
type watch struct {
	model  string
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

func newWatch(parent context.Context, model string, limit time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(parent)
	return &watch{model: model, ctx: ctx, cancel: cancel, timer: time.AfterFunc(limit, func() { cancel(errIdle) }), limit: limit}
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// middleware starts the count again with each piece of the answer. It has the
// shape that both SDKs take.
func (w *watch) middleware(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return res, err
	}
	w.timer.Reset(w.limit)
	if res.Body != nil {
		res.Body = &watchedBody{res.Body, w}
	}
	if err := w.stranger(res); err != nil {
		res.Body.Close()
		return nil, err
	}
	return res, nil
}

// stranger refuses an answer that is no stream of events: another kind of
// server is at that address, and asking it again changes nothing.
func (w *watch) stranger(res *http.Response) error {
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return &loop.ModelError{Class: loop.Terminal, Status: res.StatusCode,
			Message: fmt.Sprintf("the server of the model %q redirects to %q, which is not followed: set base_url", w.model, shorten(res.Header.Get("location")))}
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("content-type"))
	if res.StatusCode < 300 && (kind == "text/html" || kind == "application/json") {
		body, _ := io.ReadAll(io.LimitReader(res.Body, 4*maxErrorText))
		return &loop.ModelError{Class: loop.Terminal, Status: res.StatusCode,
			Message: fmt.Sprintf("the server of the model %q answered with %s in place of a stream: %s", w.model, kind, shorten(string(body)))}
	}
	return nil
}

type watchedBody struct {
	io.ReadCloser
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.timer.Reset(b.watch.limit)
	}
	return n, err
}

// ended explains an error of a stream: the caller's cancel, the idle limit, or
// whatever the provider makes of it.
func (w *watch) ended(parent context.Context, model string, err error, otherwise func(error) error) error {
	if parent.Err() != nil {
		return parent.Err()
	}
	if errors.Is(context.Cause(w.ctx), errIdle) {
		return cut(model, fmt.Sprintf("nothing came for %v", w.limit))
	}
	return otherwise(err)
}

// streamEnd is what a failure in the middle of a stream means: everything
// that is no answer of the server's with a status is a cut.
func streamEnd(model string, started bool, err error) error {
	var known *loop.ModelError
	switch {
	case errors.As(err, &known):
		return known
	case !started:
		return transportError(model, err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return cut(model, "the connection ended")
	}
	return cut(model, shorten(err.Error()))
}
