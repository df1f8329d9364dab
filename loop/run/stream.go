package run

import (
	"sync"
	"time"

	"agent-ls/loop"
)

// showEvery is the least time between two pieces of an answer that are shown.
const showEvery = 50 * time.Millisecond

// piece is joined text of one kind.
type piece struct {
	kind loop.DeltaKind
	text []byte
}

// stream joins the pieces of an answer. They are a preview: what has not been
// shown when the answer is in is not shown, since the message that follows has
// all of it.
type stream struct {
	mu     sync.Mutex // guards what follows; held while something is shown, so that nothing is shown behind a drop
	last   time.Time
	queue  []piece
	timer  *time.Timer
	dropAt int // counts drops, so that a timer that was too late to stop does nothing
}

// add takes a piece. It is shown at once if nothing was shown for showEvery,
// else joined with its neighbours until then.
func (s *stream) add(d loop.Delta, show func(piece)) {
	if d.Text == "" || d.Kind == loop.NoDelta {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.queue); n > 0 && s.queue[n-1].kind == d.Kind {
		s.queue[n-1].text = append(s.queue[n-1].text, d.Text...)
	} else {
		s.queue = append(s.queue, piece{d.Kind, []byte(d.Text)})
	}
	s.next(show)
}

// next shows the oldest piece now, or when its time comes.
func (s *stream) next(show func(piece)) {
	if len(s.queue) == 0 || s.timer != nil {
		return
	}
	wait := showEvery - time.Since(s.last)
	if wait <= 0 {
		p := s.queue[0]
		s.queue = s.queue[1:]
		s.last = time.Now()
		show(p)
		wait = showEvery
	}
	if len(s.queue) == 0 {
		return
	}
	drops := s.dropAt
	s.timer = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.dropAt == drops {
			s.timer = nil
			s.next(show)
		}
	})
}

// drop forgets what has not been shown; nothing of it is shown afterwards.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = nil
	s.dropAt++
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}
