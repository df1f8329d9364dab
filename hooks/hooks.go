// Package hooks fires hooks and records what they decided. It owns the
// Engine, which keeps the script workers, and the Set, which is what one run
// has pinned. Start at Engine.Load and Set.Fire. It knows nothing of the
// agent: what an event means is in hooks/contract, what to do with a decision
// is the caller's.
package hooks

import (
	"context"
	"encoding/json"
	"time"

	"agent-ls/hooks/contract"
)

// Position is a place in a source text, in every unit that a reader may need.
type Position struct {
	Offset int `json:"offset"` // bytes from the start of the text
	Line   int `json:"line"`   // from 1
	Column int `json:"column"` // from 1, in runes: what people are shown
	Byte   int `json:"byte"`   // bytes from the start of the line
	UTF16  int `json:"utf16"`  // UTF-16 code units from the start of the line
}

// Location is a span of a file.
type Location struct {
	Path  string   `json:"path"`
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Declaration is one hook as the manifest declares it, with the script's text
// as it was when the run started.
type Declaration struct {
	ID       string   // stable within a workspace: "stages.plan.hooks.on_tool_call"
	Event    string   // the contract's event name
	Stage    string   // "" for every stage
	Path     string   // absolute
	Text     []byte   // nil: Load reads it
	Declared Location // the manifest line that names it
	// Siblings are the texts of the scripts beside it that it imports, by
	// path; nil: Load reads them. Set.Declarations fills them in, so that a
	// resumed run has what it had at its start.
	Siblings map[string][]byte
}

// Limits bound one firing. Zero means the default of the hook contract.
type Limits struct {
	Operations int64         // 100_000
	Time       time.Duration // 2 s
	Memory     int64         // bytes over a worker's start; 128 MiB
	CallDepth  int           // 64
	Context    int64         // bytes of ctx; 4 MiB
	Value      int64         // bytes of an answer; 4 MiB
	Printed    int64         // bytes; 64 KiB
	Source     int64         // bytes of a script; 1 MiB
	Nesting    int           // 256
	Workers    int           // number of CPUs
}

// Firing is one moment at which the hooks of an event are asked.
type Firing struct {
	Event  string
	Stage  string
	At     time.Time      // the clock that scripts see
	CallID string         // per-call events
	Fields map[string]any // ctx, but for "event" and "state"
	// States is what each hook (by declaration id) returned as state the last
	// time that it fired in this run.
	States map[string]map[string]any
	// Decide answers hook.decide(question, schema): a map with ok, reason,
	// answers and usage. It never fails: ok is false and reason says why. It
	// returns soon after its context ends. Nil where nobody can be asked. The
	// time that it takes is not the script's.
	Decide func(ctx context.Context, question string, schema any) map[string]any
}

// Outcome is what the hooks of one firing came to, folded in declared order.
type Outcome struct {
	Action  contract.Action // Allow when nothing was decided
	Value   any             // Modify, Substitute: what the last one left
	IsError bool            // Substitute
	Reason  string
	// Calls are the ids of a batch that are denied, for Reason. With Deny,
	// none means all of it. With Modify, others were changed: Value is the
	// batch without those that are denied.
	Calls     []string
	Decisions []Decision
	States    map[string]map[string]any // changed ones only
	// Failure is set when a gate or transform hook is broken: Action is
	// Failed and the caller must end the run.
	Failure *Failure
	// Unheard says why a hook that cannot close the gate by itself was not
	// heard: a command of pre_tool failed, timed out or was evicted. No rule
	// may allow the call then; somebody has to be asked.
	Unheard string
}

// Decision is the record of one hook's answer.
type Decision struct {
	ID         string    `json:"id"`
	RunID      string    `json:"runId"`
	SessionID  string    `json:"sessionId"`
	Seq        int64     `json:"seq"`
	At         time.Time `json:"at"`
	Stage      string    `json:"stage"`
	Event      string    `json:"event"`
	Function   string    `json:"function,omitempty"`
	HookID     string    `json:"hookId"`
	Hook       Source    `json:"hook"`
	Action     string    `json:"action"`
	Reason     string    `json:"reason,omitempty"`
	Changes    []Change  `json:"changes,omitempty"`
	CallID     string    `json:"callId,omitempty"`
	DurationUs int64     `json:"durationUs"`
	Operations int64     `json:"operations,omitempty"`
	Printed    string    `json:"printed,omitempty"`
	Error      *Failure  `json:"error,omitempty"`
	// Record is what a replay needs beside it, where a script decided. It is
	// journaled beside the decision and shown to nobody.
	Record *Record `json:"-"`
}

// Source says which hook decided: the return that made the decision, a
// command with its exit status, or a Go handler's name.
type Source struct {
	At         *Location `json:"at,omitempty"`
	Digest     string    `json:"digest,omitempty"` // SHA-256 of the file that At is in, hex
	Command    string    `json:"command,omitempty"`
	ExitStatus int       `json:"exitStatus,omitempty"`
	Go         string    `json:"go,omitempty"`
}

// Change is one field that a modify changed.
type Change struct {
	Path   string          `json:"path"` // JSON Pointer
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// FailureKind tells a hook's own fault from the machine's.
type FailureKind string

const (
	ScriptFailure  FailureKind = "script"         // it threw
	LimitFailure   FailureKind = "limit"          // operations, time, memory, depth, size
	Malformed      FailureKind = "malformed"      // its answer is no decision of this event
	Infrastructure FailureKind = "infrastructure" // the worker was killed or could not start
	// Of a replay alone:
	Unasked    FailureKind = "unasked"    // it asks what nobody answered then
	Unrecorded FailureKind = "unrecorded" // what it would be held against is not kept
)

// Failure is a broken hook. Its Error names file:line:column.
type Failure struct {
	Message string      `json:"message"`
	At      *Location   `json:"at,omitempty"`
	Stack   []string    `json:"stack,omitempty"` // innermost first: "file:line:column in function"
	Kind    FailureKind `json:"kind"`
}
