package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/worker/pool"
)

// Script is a script by itself: each function of it that an event fires can be
// asked about one moment, within the limits of a firing, without a run. It is
// safe for use by several goroutines.
type Script struct {
	set *Set
}

// LoadScript reads, checks and compiles a script for all events whose functions
// it defines, in the order of their names. text nil is read from the path. read
// reads files instead of the engine if it is not nil. What is wrong is in the findings, as with Load; with a finding of severity error
// there is no script. A script that no event fires gives one without events.
func (e *Engine) LoadScript(ctx context.Context, path string, text []byte, read func(string) ([]byte, error), limits Limits) (*Script, []check.Finding, error) {
	if read == nil {
		read = e.readFile
	}
	if text == nil {
		found, err := read(path)
		if err != nil {
			return nil, nil, fmt.Errorf("read the script: %w", err)
		}
		text = append([]byte{}, found...)
	}
	script := check.Analyze(path, text, check.Options{})
	var declared []Declaration
	for _, event := range contract.Events() {
		if event.Function == "" {
			continue
		}
		if _, defined := script.Function(event.Function); defined {
			declared = append(declared, Declaration{ID: event.Name, Event: event.Name, Path: path, Text: text})
		}
	}
	if len(declared) == 0 {
		found := script.Findings
		if slices.ContainsFunc(found, func(f check.Finding) bool { return f.Severity == check.Error }) {
			return nil, found, nil
		}
	}
	slices.SortFunc(declared, func(a, b Declaration) int { return cmp.Compare(a.Event, b.Event) })
	set, findings, err := e.load(ctx, declared, limits, read)
	if set == nil {
		return nil, findings, err
	}
	return &Script{set}, findings, nil
}

// Events are the names of the events whose functions the script defines.
func (s *Script) Events() []string {
	var names []string
	for _, h := range s.set.hooks {
		names = append(names, h.Event)
	}
	return names
}

// Function gives where the function of an event is, nil if there is none.
func (s *Script) Function(event string) *Location {
	if list := s.set.of("", event); len(list) > 0 {
		return list[0].start
	}
	return nil
}

// Moment is what a function of a Script is asked about.
type Moment struct {
	Event string // one of the script's
	At    time.Time
	// Ctx is all that the function gets, state included; Encoded is the same
	// as a Record has it, and is what is sent if it is not nil.
	Ctx     map[string]any
	Encoded []byte
	// Decide answers hook.decide, as in a Firing.
	Decide func(ctx context.Context, question string, schema any) map[string]any
}

// Answered is what came of a Moment.
type Answered struct {
	// Decision is its record, without ID and what names a run. Error says that
	// the script is broken, and where.
	Decision Decision
	Verdict  contract.Verdict
	// Answer is what the function returned, as canonical JSON; nil when it
	// failed.
	Answer json.RawMessage
	// AskedAt are the places of the calls of hook.decide, where they are known.
	AskedAt []*Location
}

// nothing is how the answer nil is written.
var nothing = json.RawMessage("null")

// Ask asks the function of an event, which must be one of Events.
func (s *Script) Ask(ctx context.Context, m Moment) Answered {
	list := s.set.of("", m.Event)
	if len(list) == 0 {
		f := &Failure{Kind: ScriptFailure, Message: "the script has no function for " + m.Event}
		return Answered{Decision: Decision{At: m.At, Event: m.Event, Action: contract.Failed.String(), Error: f}}
	}
	h := list[0]
	q := s.set.request(h, m.At, m.Decide)
	q.Ctx, q.Encoded = m.Ctx, m.Encoded
	d := Decision{At: m.At, Event: m.Event, Function: h.event.Function, Hook: Source{At: h.start, Digest: h.sources[0].digest}}
	given := func() (map[string]any, error) {
		if m.Encoded == nil {
			return m.Ctx, nil
		}
		return (&Record{Ctx: m.Encoded}).ReadCtx()
	}
	value, v, before := s.set.put(ctx, h, &q, &d, given)
	a := Answered{Decision: d, Verdict: v, AskedAt: h.locate(q.AskedAt)}
	switch text, err := contract.WritePlain(value); {
	case d.Error != nil && d.Error.Kind != Malformed:
	case value == nil && d.Error == nil:
		a.Answer = nothing
	case err == nil:
		a.Answer = text
	}
	if v.Action == contract.Modify {
		a.Decision.Changes = changesOf(h.event, before, h.event.Apply(before, v.Value))
	}
	return a
}

// locate finds places of the script's files.
func (h *hook) locate(places []pool.Place) []*Location {
	var out []*Location
	for _, p := range places {
		out = append(out, h.sources[p.File].locate(p.Line, p.Col))
	}
	return out
}
