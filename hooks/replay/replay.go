// Package replay owns recorded events through scripts: what a script, as it
// stands now, would decide about what happened then, and what of that is new.
// Start at Load and Script.Run; Script.All plays many events at once. Nothing
// but the script runs, and no model is asked: the answers to hook.decide come
// from the record. It knows neither journal nor manifest.
package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// Event is one recorded moment.
type Event struct {
	// Was is what was decided then. For a moment at which this script had no
	// say, New is set and Was only tells when and where it was.
	Was hooks.Decision
	New bool
	// Record is what the script saw, returned and was told then; of a moment
	// that is New, what another script saw.
	Record hooks.Record
}

// Kind is what a replayed event came to.
type Kind int

const (
	NoKind    Kind = iota
	Unchanged      // the script decides as it did
	Changed        // it decides otherwise
	Broken         // it fails, or the event cannot be played
)

func (k Kind) String() string {
	return [...]string{"none", "unchanged", "changed", "broken"}[k]
}

// Result is what one event came to.
type Result struct {
	Kind Kind
	Was  hooks.Decision
	// Now is what the script decides; its Error says why it is Broken.
	Now     hooks.Decision
	Verdict contract.Verdict
	// Because says in one line what is new, or what failed.
	Because string
}

// Script is a script that is ready to be played. It is safe for use by several
// goroutines.
type Script struct {
	script *hooks.Script
	events []string
}

// Text is a script as it stands.
type Text struct {
	Path string
	Text []byte // nil: what is at the path
	// Read reads what it imports, and itself where Text is nil; nil: as the
	// engine does.
	Read func(path string) ([]byte, error)
}

// Load is LoadText for a script whose siblings the engine reads.
func Load(ctx context.Context, engine *hooks.Engine, path string, text []byte, function string, limits hooks.Limits) (*Script, []check.Finding, error) {
	return LoadText(ctx, engine, Text{Path: path, Text: text}, function, limits)
}

// LoadText makes a script ready. function restricts it to one of its functions,
// "" is all of them that an event fires. What is wrong with it is in the
// findings; with one of severity error there is no script. An error means that
// it could not be looked at, or that there is nothing to play.
func LoadText(ctx context.Context, engine *hooks.Engine, t Text, function string, limits hooks.Limits) (*Script, []check.Finding, error) {
	path := t.Path
	script, findings, err := engine.LoadScript(ctx, path, t.Text, t.Read, limits)
	if script == nil {
		return nil, findings, err
	}
	s := &Script{script: script, events: script.Events()}
	var functions []string
	for _, name := range s.events {
		functions = append(functions, contract.ByName(name).Function)
	}
	if function != "" {
		e := contract.ByFunction(function)
		if e == nil || !slices.Contains(s.events, e.Name) {
			return nil, findings, fmt.Errorf("%s has no hook function %q%s", path, function, contract.DidYouMean(function, functions))
		}
		s.events = []string{e.Name}
	}
	if len(s.events) == 0 {
		return nil, findings, fmt.Errorf("%s has no function that an event fires", path)
	}
	return s, findings, nil
}

// Events are the names of the events that the script is played for.
func (s *Script) Events() []string { return slices.Clone(s.events) }

// Ask asks the function of an event about a ctx, at a moment, with answers to
// hook.decide that are known beforehand. A question without one is an error of
// the decision. The ctx needs only the fields that matter; what is left out is
// as contract.Event.Context makes it, and a field that the event does not have
// is an error. Fixtures are asked this way.
func (s *Script) Ask(ctx context.Context, event string, fields, state map[string]any, at time.Time, asked []hooks.Asked) (hooks.Answered, error) {
	e := contract.ByName(event)
	if e == nil || !slices.Contains(s.events, event) {
		return hooks.Answered{}, fmt.Errorf("the script has no function for %s", event)
	}
	given, err := e.Context(fields, state)
	if err != nil {
		return hooks.Answered{}, err
	}
	return s.put(ctx, hooks.Moment{Event: event, At: at, Ctx: given}, asked), nil
}

// put asks, and makes a question without a recorded answer the script's error.
func (s *Script) put(ctx context.Context, m hooks.Moment, asked []hooks.Asked) hooks.Answered {
	told := recorded{left: asked}
	m.Decide = told.decide
	a := s.script.Ask(ctx, m)
	if told.unknown == "" {
		return a
	}
	at := a.Decision.Hook.At
	if told.at < len(a.AskedAt) {
		at = a.AskedAt[told.at]
	}
	if at == nil {
		at = s.script.Function(m.Event)
	}
	f := &hooks.Failure{Kind: hooks.Unasked, At: at,
		Message: fmt.Sprintf("%s:%d:%d: hook.decide: there is no recorded answer to %q, and a replay asks nobody", at.Path, at.Start.Line, at.Start.Column, clipped(told.unknown))}
	a.Decision.Action, a.Decision.Error, a.Decision.Hook.At, a.Decision.Changes = contract.Failed.String(), f, at, nil
	a.Verdict, a.Answer = contract.Verdict{}, nil
	return a
}

// Run plays one event.
func (s *Script) Run(ctx context.Context, e *Event) Result {
	r := Result{Was: e.Was}
	if e.Record.Ctx == nil {
		return r.broken(&hooks.Failure{Kind: hooks.Unrecorded, At: e.Was.Hook.At, Message: "what the script saw is not on record: it was too large, or is too old"})
	}
	a := s.put(ctx, hooks.Moment{Event: e.Was.Event, At: e.Record.At, Encoded: e.Record.Ctx}, e.Record.Asked)
	r.Now, r.Verdict = a.Decision, a.Verdict
	r.Now.RunID, r.Now.SessionID, r.Now.Seq = e.Was.RunID, e.Was.SessionID, e.Was.Seq
	r.Now.Stage, r.Now.HookID, r.Now.CallID = e.Was.Stage, e.Was.HookID, e.Was.CallID
	if f := r.Now.Error; f != nil {
		return r.broken(f)
	}
	was := e.Record.Answer
	if e.New {
		was = allowed
	}
	if was != nil && string(was) == string(a.Answer) {
		if e.Was.Error != nil && !e.New { // the host could not use the same answer then
			return r.broken(e.Was.Error)
		}
		r.Kind = Unchanged
		return r
	}
	return s.compare(r, e, was)
}

// allowed is the answer of a script that says nothing.
var allowed = json.RawMessage("null")

func (r Result) broken(f *hooks.Failure) Result {
	r.Kind, r.Because = Broken, f.Message
	r.Now.Action, r.Now.Error = contract.Failed.String(), f
	if r.Now.Event == "" {
		r.Now = r.Was
		r.Now.ID, r.Now.Action, r.Now.Error = "", contract.Failed.String(), f
	}
	return r
}

// compare says what is new about a decision whose answer is not, letter for
// letter, the one of then.
func (s *Script) compare(r Result, e *Event, was json.RawMessage) Result {
	r.Kind = Changed
	if e.Was.Error != nil && !e.New {
		r.Because = fmt.Sprintf("it failed (%s) and would now %s", oneLine(e.Was.Error.Message), told(r.Now.Action, r.Now.Reason))
		return r
	}
	before, ok := s.judged(e, was)
	if !ok {
		// The answer itself is not kept; its action and reason are.
		before = contract.Verdict{Reason: e.Was.Reason}
	}
	action := e.Was.Action
	if e.New {
		action = contract.Allow.String()
	}
	if action != r.Now.Action {
		verb := "it did " + told(action, before.Reason)
		if e.New {
			verb = "it had no say"
		}
		r.Because = fmt.Sprintf("%s and would now %s", verb, told(r.Now.Action, r.Now.Reason))
		return r
	}
	if !ok {
		if before.Reason == r.Now.Reason {
			return r.broken(&hooks.Failure{Kind: hooks.Unrecorded, At: r.Now.Hook.At, Message: fmt.Sprintf("it would %s as it did, but what it returned then is not on record: it was too large", told(action, ""))})
		}
		r.Because = fmt.Sprintf("another reason: %s instead of %s", quoted(r.Now.Reason), quoted(before.Reason))
		return r
	}
	if why := differences(before, r.Verdict); len(why) > 0 {
		r.Because = told(action, "") + ", with " + strings.Join(why, "; ")
		return r
	}
	r.Kind = Unchanged // nil, true and {action: "allow"} are one decision
	return r
}

// judged reads an answer of then as the contract reads it now.
func (s *Script) judged(e *Event, answer json.RawMessage) (contract.Verdict, bool) {
	if answer == nil {
		return contract.Verdict{}, false
	}
	value, err := contract.ReadPlain(answer)
	if err != nil {
		return contract.Verdict{}, false
	}
	var given map[string]any
	if _, isMap := value.(map[string]any); isMap {
		if given, err = e.Record.ReadCtx(); err != nil {
			return contract.Verdict{}, false
		}
	}
	v, err := contract.ByName(e.Was.Event).Judge(value, given, contract.Caps{})
	return v, err == nil
}
