package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/manifest"
)

// ErrUnknownModel is an ErrUnknownID about a model's name.
var ErrUnknownModel = errors.New("unknown model")

// unknownModelError is ErrUnknownModel and ErrUnknownID in its own words.
type unknownModelError string

func (e unknownModelError) Error() string { return string(e) }

func (e unknownModelError) Is(target error) bool {
	return target == ErrUnknownModel || target == ErrUnknownID //nolint:errorlint // this is what errors.Is asks
}

// unknownIDError is ErrUnknownID in its own words.
type unknownIDError string

func (e unknownIDError) Error() string { return string(e) }

func (e unknownIDError) Is(target error) bool {
	return target == ErrUnknownID //nolint:errorlint // this is what errors.Is asks
}

// Set chooses the mode or the model of a session, or both; what is empty stays
// as it is. A run under way has them from its next turn on, later runs of the
// session from their start, unless they are started with others. Rules hold
// whatever the mode: what they deny stays denied and what may only be asked
// is asked. A model must be one that the run, or else the manifest, knows and
// that can be opened.
func (s *Service) Set(ctx context.Context, sessionID string, mode loop.Mode, model string) error {
	switch mode {
	case "", loop.ModeAsk, loop.ModePlan, loop.ModeAuto:
	default:
		return fmt.Errorf("unknown mode %q; the modes are ask, plan and auto", mode)
	}
	row, err := s.opt.Journal.Session(ctx, sessionID)
	if errors.Is(err, journal.ErrNotFound) {
		return fmt.Errorf("session %s: %w", sessionID, ErrUnknownID)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	r := s.sessions[sessionID]
	s.mu.Unlock()
	if err := s.knownModel(ctx, r, model); err != nil {
		return err
	}
	if r != nil {
		if r.parent != nil && mode != "" {
			if above := r.parent.run.modeBelow(); above.Stricter(mode) != mode {
				return fmt.Errorf("session %s is a sub-agent's and the run above it is in mode %s: it can have no looser one", sessionID, above)
			}
		}
		if _, ok := r.tell(posted{event: loop.Event{Kind: loop.Set, Mode: mode, Model: model}}); ok {
			return nil
		}
	} else if row.Owner == journal.Elsewhere {
		return s.signal(ctx, sessionID, signalSet, said{RunID: row.RunID, Mode: mode, Model: model})
	}
	return s.setIdle(ctx, sessionID, loop.Event{Kind: loop.Set, Mode: mode, Model: model})
}

// modeBelow is the loosest mode that sub-agents of the run may have: its own
// from its next turn on, and no looser one than the runs above it have.
func (r *activeRun) modeBelow() loop.Mode {
	mode, _ := r.coming.Load().(loop.Mode)
	if mode == "" {
		mode = loop.ModeAsk
	}
	if r.parent == nil {
		return mode
	}
	return mode.Stricter(r.parent.run.modeBelow())
}

// follow notes that the runs above a sub-agent's have another mode by now. The
// loop asks before each event, so no turn begins with one that they left.
func (r *activeRun) follow(next loop.EventKind) {
	if r.parent == nil || next == loop.Started || next == loop.Set || !r.state.Active() {
		return
	}
	if above := r.parent.run.modeBelow(); above != r.state.Above {
		r.step(posted{event: loop.Event{Kind: loop.Set, ParentRunID: r.parent.run.id, Mode: above}})
	}
}

// setIdle journals a choice for a session that nobody drives.
func (s *Service) setIdle(ctx context.Context, sessionID string, e loop.Event) error {
	release, err := s.claim(sessionID)
	if err != nil {
		return err
	}
	defer release()
	f, err := s.former(ctx, sessionID)
	if err != nil {
		return err
	}
	e.At = s.now()
	err = s.opt.Journal.Append(journal.Step{
		SessionID: sessionID, RunID: f.state.RunID, Turn: f.state.Turn, LastSeq: f.seq, Event: e,
	})
	return joined(err, s.opt.Journal.Release(ctx, sessionID))
}

// knownModel says what keeps a model from being used.
func (s *Service) knownModel(ctx context.Context, r *activeRun, model string) error {
	if model == "" {
		return nil
	}
	var cfg *manifest.Config
	var found []finding
	if r != nil && r.pin != nil {
		cfg = &r.pin.Config
	} else if cfg, found = s.opt.Manifest(ctx); cfg == nil {
		return &CannotStart{Findings: append(found, cannot("", "there is no manifest to run"))}
	}
	if _, known := cfg.Models[model]; !known {
		names := make([]string, 0, len(cfg.Models))
		for n := range cfg.Models {
			names = append(names, n)
		}
		slices.Sort(names)
		return unknownModelError(fmt.Sprintf("unknown model %q%s", model, didYouMean(model, names)))
	}
	if _, found := s.chain(cfg, model, "", nil); len(found) > 0 {
		return &CannotStart{Findings: found}
	}
	return nil
}

// useModel makes the run ask the model that its course names, which the user
// may have set since the last turn.
func (r *activeRun) useModel(s *loop.State) error {
	if have := r.gear.models; have == nil || s.Course.Model == "" || have.names[0] == s.Course.Model {
		return nil
	}
	chain, found := r.svc.chain(&r.pin.Config, s.Course.Model, r.pin.agent().Path, nil)
	if len(found) > 0 {
		return errors.New(found[0].Message)
	}
	if chain == nil {
		return fmt.Errorf("unknown model %q", s.Course.Model)
	}
	r.gear.models = chain
	return nil
}

// choiceText says what a choice changes.
func choiceText(e *loop.Event) string {
	var parts []string
	if e.ParentRunID != "" {
		return "from the next turn on no looser mode than that of the run above: " + string(e.Mode)
	}
	if e.Mode != "" {
		parts = append(parts, "mode "+string(e.Mode))
	}
	if e.Model != "" {
		parts = append(parts, "model "+e.Model)
	}
	return "from the next turn on: " + strings.Join(parts, ", ")
}
