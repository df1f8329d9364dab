package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// errSlow is why a request ended whose answer came drop by drop.
var errSlow = errors.New("the answer came too slowly")

// errIdle is why a request ended that got nothing for the idle limit.
var errIdle = errors.New("nothing came for the idle limit")

// watch ends a request when no byte comes for the limit, and when so little of
// the answer comes that it would go on for ever: a server may keep a
// connection alive and say nothing. The timers belong to the request; stop
// releases them.
type watch struct {
	model  string
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration

	slow    *time.Timer
	began   time.Time
	grace   time.Duration
	brought atomic.Int64 // bytes of the answer itself
}

// dripShare is how many bytes of its answer a stream has to bring in the idle
// limit, once the grace is over: one a second with the usual limit. The
// slowest model on a small machine is several times as fast.
const dripShare = 90

func newWatch(parent context.Context, m manifest.Model) *watch {
	ctx, cancel := context.WithCancelCause(parent)
	limit := idleLimit(m)
	w := &watch{
		model: m.Name, ctx: ctx, cancel: cancel, limit: limit,
		began: time.Now(), grace: limit + orElse(m.TotalWait, defaultTotalWait),
	}
	w.timer = time.AfterFunc(limit, func() { cancel(errIdle) })
	w.slow = time.AfterFunc(w.grace, w.judgeSpeed)
	return w
}

// came counts bytes of the answer: text, thinking, arguments. What keeps a
// connection alive does not count.
func (w *watch) came(n int) { w.brought.Add(int64(n)) }

// judgeSpeed ends the request if it brought too little for the time that it
// took, and looks again when that may be so the next time.
func (w *watch) judgeSpeed() {
	left := w.grace + w.limit/dripShare*time.Duration(w.brought.Load()) - time.Since(w.began)
	if left <= 0 {
		w.cancel(errSlow)
		return
	}
	w.slow.Reset(max(left, time.Millisecond))
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
	w.slow.Stop()
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
// server is at that address, and asking it again changes nothing, unless the
// answer is broken.
func (w *watch) stranger(res *http.Response) error {
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return &loop.ModelError{Class: loop.Terminal, Status: res.StatusCode,
			Message: fmt.Sprintf("the server of the model %q redirects to %q, which is not followed: set base_url", w.model, shorten(res.Header.Get("location")))}
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("content-type"))
	if res.StatusCode < 300 && (kind == "text/html" || kind == "application/json") {
		body, _ := io.ReadAll(io.LimitReader(res.Body, 4*maxErrorText))
		class := loop.Terminal
		if kind == "application/json" && len(body) < 4*maxErrorText && !json.Valid(body) {
			class = loop.Retryable // not even what it claims to be: something broke on the way
		}
		return &loop.ModelError{Class: class, Status: res.StatusCode,
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
	if errors.Is(context.Cause(w.ctx), errSlow) {
		return cut(model, fmt.Sprintf("only %d bytes of it came in %v, which limits.idle and limits.total_wait do not allow", w.brought.Load(), time.Since(w.began).Round(time.Millisecond)))
	}
	return otherwise(err)
}

// streamEnd is what a failure in the middle of a stream means: everything
// that is no answer of the server's with a status is a cut.
func streamEnd(model string, started bool, err error) error {
	var known *loop.ModelError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &syntax):
		return cut(model, "an event of it is malformed: "+shorten(err.Error()))
	case !started:
		return transportError(model, err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return cut(model, "the connection ended")
	}
	return cut(model, shorten(err.Error()))
}
