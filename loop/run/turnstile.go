package run

import "context"

// turnstile lets calls that are safe beside each other through together, up
// to a number, and every other call alone.
type turnstile struct {
	places chan struct{} // one for each call that runs
	alone  chan struct{} // held by the call that collects all places
}

func newTurnstile(n int) *turnstile {
	if n <= 0 {
		n = 10
	}
	return &turnstile{places: make(chan struct{}, n), alone: make(chan struct{}, 1)}
}

// enter waits for a place, or for all of them. The returned function gives
// them back.
func (t *turnstile) enter(ctx context.Context, alone bool) (leave func(), err error) {
	want := 1
	if alone {
		want = cap(t.places)
	}
	// Whoever wants in queues here, so that a call that wants all places is
	// not overtaken for ever by calls that want one.
	select {
	case t.alone <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-t.alone }()
	for got := 0; got < want; got++ {
		select {
		case t.places <- struct{}{}:
		case <-ctx.Done():
			t.leave(got)
			return nil, context.Cause(ctx)
		}
	}
	return func() { t.leave(want) }, nil
}

func (t *turnstile) leave(n int) {
	for range n {
		<-t.places
	}
}
