package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/replay"
	"agent-ls/loop/journal"
)

// The bounds of one replay.
const (
	replayDefault  = 10_000  // events, where nothing is said
	ReplayMost     = 100_000 // events
	ReplaySessions = 1000    // sessions that are named or counted
)

// ReplayParams ask what a script, as it stands, would decide about what was
// recorded.
type ReplayParams struct {
	Path string // of the script, absolute
	Text []byte // as it stands; nil = what is in the file
	// Read reads what the script imports; nil = from the disk.
	Read func(path string) ([]byte, error)
	// Function restricts it to one function; "" = each that an event fires.
	Function string
	Sessions []string // ids; those of sub-agents come along
	Last     int      // instead of ids: the newest sessions; 0 = all
	Limit    int      // the newest events; 10,000 by default, ReplayMost at most
	// Progress is told now and then how many of all events are done.
	Progress func(done, all int)
}

// Replayed is what came of a replay.
type Replayed struct {
	replay.Report
	// Findings are errors in the script as it stands: nothing was played then.
	Findings []check.Finding
	// Unrecorded counts decisions of the script that cannot be played, since
	// what it saw is not on record.
	Unrecorded int
}

// Replay plays recorded events through a script as it stands. No tool runs, no
// model is asked, and nothing is recorded. Events are those at which this script
// decided; for a function that never decided anything, those at which other
// scripts did, held against a script that had no say. A session that is not
// known is ErrUnknownID.
func (s *Service) Replay(ctx context.Context, p ReplayParams) (*Replayed, error) {
	if s.opt.Hooks == nil {
		return nil, errors.New("there is no engine for scripts here")
	}
	var limits hooks.Limits
	if cfg, _ := s.opt.Manifest(ctx); cfg != nil {
		limits = cfg.HookLimits
	}
	if p.Limit <= 0 {
		p.Limit = replayDefault
	}
	p.Limit = min(p.Limit, ReplayMost)
	script, findings, err := replay.LoadText(ctx, s.opt.Hooks, replay.Text{Path: p.Path, Text: p.Text, Read: p.Read}, p.Function, limits)
	if script == nil {
		if found := errorsOf(findings); len(found) > 0 {
			return &Replayed{Findings: found}, nil
		}
		return nil, err
	}
	chosen, err := s.replaySessions(ctx, p)
	if err != nil {
		return nil, err
	}
	if chosen != nil && len(chosen) == 0 {
		return &Replayed{}, nil // of no sessions there is nothing
	}
	events, all, err := s.replayEvents(ctx, script.Events(), p, chosen)
	if err != nil {
		return nil, err
	}
	out := &Replayed{}
	o := replay.Options{Workers: limits.Workers}
	if p.Progress != nil {
		p.Progress(0, all)
		o.Progress = func(done int) { p.Progress(done, all) }
	}
	report, err := script.All(ctx, events, o)
	if err != nil {
		return nil, err
	}
	out.Report = *report
	out.Unrecorded, err = s.opt.Journal.Unrecorded(ctx, s.recordedAs(p.Path), script.Events(), chosen)
	return out, err
}

// replaySessions are the sessions that a replay is about, nil for all of them.
func (s *Service) replaySessions(ctx context.Context, p ReplayParams) ([]string, error) {
	ids := p.Sessions
	if len(ids) > ReplaySessions || p.Last > ReplaySessions {
		return nil, fmt.Errorf("a replay is about %d sessions at most", ReplaySessions)
	}
	if len(ids) == 0 {
		if p.Last <= 0 {
			return nil, nil
		}
		rows, err := s.opt.Journal.Sessions(ctx, p.Last, "", "")
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
	}
	all, err := s.opt.Journal.Families(ctx, ids)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", err, ErrUnknownID)
	}
	if all == nil {
		all = []string{}
	}
	return all, err
}

// recordedAs are the paths under which decisions of a script may be recorded:
// as it is called, and where links lead.
func (s *Service) recordedAs(path string) []string {
	all := []string{path}
	add := func(p string, err error) {
		if err == nil && p != all[len(all)-1] && p != path {
			all = append(all, p)
		}
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	add(filepath.Join(dir, filepath.Base(path)), err)
	add(filepath.EvalSymlinks(path))
	return all
}

// replayEvents gives what is to be played, and how much that is.
func (s *Service) replayEvents(ctx context.Context, events []string, p ReplayParams, sessions []string) (iter.Seq2[*replay.Event, error], int, error) {
	own := journal.FiringFilter{Scripts: s.recordedAs(p.Path), Sessions: sessions, Limit: p.Limit}
	others := journal.FiringFilter{Sessions: sessions}
	all := 0
	for _, event := range events {
		one := own
		one.Events = []string{event}
		n, err := s.opt.Journal.CountFirings(ctx, one)
		if err != nil {
			return nil, 0, err
		}
		if n > 0 {
			own.Events = append(own.Events, event)
		} else {
			others.Events = append(others.Events, event)
		}
		all += n
	}
	all = min(all, p.Limit)
	others.Limit = p.Limit - all
	if len(others.Events) > 0 && others.Limit > 0 {
		n, err := s.opt.Journal.CountFirings(ctx, others)
		if err != nil {
			return nil, 0, err
		}
		all += n
	}
	return func(yield func(*replay.Event, error) bool) {
		if len(own.Events) > 0 {
			for f, err := range s.opt.Journal.Firings(ctx, own) {
				if !yield(played(f, false), err) || err != nil {
					return
				}
			}
		}
		if len(others.Events) == 0 || others.Limit <= 0 {
			return
		}
		seen := moments{}
		for f, err := range s.opt.Journal.Firings(ctx, others) {
			if err == nil && seen.again(f) {
				continue
			}
			if !yield(played(f, true), err) || err != nil {
				return
			}
		}
	}, all, nil
}

func played(f *journal.Firing, isNew bool) *replay.Event {
	if f == nil {
		return nil
	}
	return &replay.Event{Was: f.Decision, Record: f.Record, New: isNew}
}

// moments tells the records of several scripts about one moment: the first one
// counts. They lie beside each other in the journal.
type moments struct {
	run, event, call string
	at               time.Time
	stage            string
}

func (m *moments) again(f *journal.Firing) bool {
	d := &f.Decision
	now := moments{d.RunID, d.Event, d.CallID, f.Record.At, d.Stage}
	same := *m == now
	*m = now
	return same
}
