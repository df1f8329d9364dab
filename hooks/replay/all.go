package replay

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"sync"
)

// Report is what a replay of many events came to. Unchanged, Changed and Broken
// together are all that were checked.
type Report struct {
	Checked   int
	Unchanged int
	Changed   []Result // in the order of the events
	Broken    []Result // likewise
	// More is how many changed or broken events are counted and not kept:
	// those behind the first MaxKept.
	More int
}

// MaxKept is how many results of each kind a Report keeps.
const MaxKept = 10_000

// Options are how many events are played at once and who is told how far it is.
type Options struct {
	Workers int // firings at once; the number of CPUs
	// Progress is called now and then with how many events are done, by one
	// goroutine at a time. It must return soon.
	Progress func(done int)
}

// progressEvery is how many events lie between two calls of Progress.
const progressEvery = 500

// All plays events over the engine's workers, several at once, and reports them
// in their order, whatever was done first. An error of the sequence or the end
// of the context ends it; what was done until then is in the report.
func (s *Script) All(ctx context.Context, events iter.Seq2[*Event, error], o Options) (*Report, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.NumCPU()
	}
	// Somebody waits for a pipe while somebody else judges an answer: one
	// more than there are workers keeps those busy.
	players := o.Workers + 1
	p := playing{script: s, in: make(chan numbered, 4*players), progress: o.Progress}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for range players {
		all.Go(func() { p.play(ctx) })
	}
	err := p.feed(ctx, events)
	close(p.in)
	all.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return p.report(), err
}

// numbered is an event with its place in the sequence.
type numbered struct {
	n     int
	event *Event
}

// outcome is a result with its event's place.
type outcome struct {
	n      int
	result Result
}

type playing struct {
	script   *Script
	in       chan numbered
	progress func(int)

	mu        sync.Mutex // guards what follows
	done      int
	unchanged int
	changed   []outcome
	broken    []outcome
}

func (p *playing) feed(ctx context.Context, events iter.Seq2[*Event, error]) error {
	n := 0
	for e, err := range events {
		if err != nil {
			return err
		}
		select {
		case p.in <- numbered{n, e}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		n++
	}
	return nil
}

// play takes events until there are no more. After the end of the context it
// only empties the queue.
func (p *playing) play(ctx context.Context) {
	for e := range p.in {
		if ctx.Err() != nil {
			continue
		}
		r := p.script.Run(ctx, e.event)
		if ctx.Err() != nil {
			continue // it was stopped, not broken
		}
		p.took(outcome{e.n, r})
	}
}

func (p *playing) took(o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	switch o.result.Kind {
	case Unchanged:
		p.unchanged++
	case Changed:
		p.changed = append(p.changed, o)
	default:
		p.broken = append(p.broken, o)
	}
	if p.progress != nil && p.done%progressEvery == 0 {
		p.progress(p.done)
	}
}

func (p *playing) report() *Report {
	r := &Report{Checked: p.done, Unchanged: p.unchanged}
	r.Changed = p.ordered(p.changed, r)
	r.Broken = p.ordered(p.broken, r)
	return r
}

func (p *playing) ordered(all []outcome, into *Report) []Result {
	slices.SortFunc(all, func(a, b outcome) int { return a.n - b.n })
	if len(all) > MaxKept {
		into.More += len(all) - MaxKept
		all = all[:MaxKept]
	}
	out := make([]Result, len(all))
	for i, o := range all {
		out[i] = o.result
	}
	return out
}
