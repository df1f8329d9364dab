// Package rehearsal owns written model scripts: reading them with places for
// every mistake, and choosing the turn that answers a request. Start at Parse
// and Play.Next. It makes no request and knows no clock.
package rehearsal

import (
	"encoding/json"
	"regexp"
	"time"

	"agent-ls/hooks/check"
	"agent-ls/loop"
)

// Script is a whole rehearsal.
type Script struct {
	Turns         []Turn
	Summaries     []string          // answers to requests for a summary, in order
	Decisions     []json.RawMessage // answers to hook.decide, in order
	ContextWindow int               // tokens; 0 = unlimited
}

// Turn is one answer, or one failure.
type Turn struct {
	Text     string
	Thinking string
	Calls    []Call
	Expect   *regexp.Regexp // what the request's messages must match; nil = anything
	Usage    *loop.Usage    // nil = counted from the texts
	Delay    time.Duration  // before the first piece
	Chunks   int            // pieces that the text comes in; at least 1
	Cut      bool           // the stream breaks after CutAfter pieces
	CutAfter int
	Error    *Failure
	When     When
	Repeat   int // how often the turn is there; at least 1
	At       check.Span
	Line     int // from 1
}

// fails says whether the turn is a failed attempt rather than an answer.
func (t *Turn) fails() bool { return t.Error != nil || t.Cut }

// Call is one tool call of a turn.
type Call struct {
	Name      string
	Arguments json.RawMessage // an object
}

// Failure is what a server answers in place of a message.
type Failure struct {
	Status     int
	RetryAfter time.Duration
	Body       string
}

// When restricts a turn to some requests. A turn that does not fit a request
// stays for a later one.
type When struct {
	Depth    *int
	Agent    string // "" = any
	Contains string // in the request's messages; "" = anything
}
