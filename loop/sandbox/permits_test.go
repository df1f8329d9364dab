package sandbox

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestPermitsBoundWhatRunsAtOnce(t *testing.T) {
	p := NewPermits(3)
	var mu sync.Mutex
	now, most := 0, 0
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			back, err := p.Take(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			mu.Lock()
			now--
			mu.Unlock()
			back()
			back() // a second time does nothing
		})
	}
	all.Wait()
	if most > 3 {
		t.Errorf("%d ran at once, want 3 at most", most)
	}
	if taken, waiting := p.Out(); taken != 0 || waiting != 0 {
		t.Errorf("Out() = %d, %d at the end, want none", taken, waiting)
	}
}

func TestPermitsComeInOrder(t *testing.T) {
	p := NewPermits(1)
	first, err := p.Take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan int, 5)
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			back, err := p.Take(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			order <- i
			back()
		})
		waitFor(t, func() bool { _, waiting := p.Out(); return waiting == i+1 })
	}
	first()
	all.Wait()
	for want := range 5 {
		if got := <-order; got != want {
			t.Errorf("place %d went to %d", want, got)
		}
	}
}

func TestPermitsAreNotLostByThoseWhoGiveUp(t *testing.T) {
	p := NewPermits(1)
	back, err := p.Take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(context.Background())
	got := make(chan error, 1)
	go func() {
		_, err := p.Take(ctx)
		got <- err
	}()
	waitFor(t, func() bool { _, waiting := p.Out(); return waiting == 1 })
	cancel(why)
	if err := <-got; !errors.Is(err, why) {
		t.Errorf("Take = %v, want the cause of the end", err)
	}
	back()
	again, err := p.Take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p.Limit(2) // more at once, from now on
	other, err := p.Take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	again()
	other()
	if _, err := p.Take(ctx); !errors.Is(err, why) {
		t.Errorf("Take with an ended context = %v, want its cause", err)
	}
}

func TestNoPermitsBoundNothing(t *testing.T) {
	var none *Permits
	for range 100 {
		if _, err := none.Take(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	var zero Permits
	for range DefaultPermits {
		if _, err := zero.Take(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := zero.Take(ctx); err == nil {
		t.Errorf("the zero value gave more than %d", DefaultPermits)
	}
}

// waitFor waits until something holds; it gives up after ten seconds.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); {
		if time.Now().After(end) {
			t.Fatal("it did not come about")
		}
		time.Sleep(time.Millisecond)
	}
}
