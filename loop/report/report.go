// Package report owns what a run shows to the outside: the Event, Approval,
// Question and Usage shapes of docs/protocol.md, as the command line prints
// them and as the editor gets them. Start at Event.
package report

import (
	"encoding/json"
	"time"

	"agent-ls/hooks"
	"agent-ls/loop"
)

// EventType names a kind of event.
type EventType string

const (
	RunStarted        EventType = "run_started"
	StageEntered      EventType = "stage_entered"
	StageLeft         EventType = "stage_left"
	Message           EventType = "message"
	ToolStarted       EventType = "tool_started"
	ToolFinished      EventType = "tool_finished"
	ApprovalRequested EventType = "approval_requested"
	ApprovalWithdrawn EventType = "approval_withdrawn"
	FileChanged       EventType = "file_changed"
	TodosChanged      EventType = "todos_changed"
	UsageReported     EventType = "usage"
	Retrying          EventType = "retrying"
	Notice            EventType = "notice"
	RunFinished       EventType = "run_finished"
	AgentSpawned      EventType = "agent_spawned"
	QuestionAsked     EventType = "question_asked"
	QuestionClosed    EventType = "question_closed"
	// Transient ones bear no seq and are not kept.
	TextDelta     EventType = "text_delta"
	ThinkingDelta EventType = "thinking_delta"
	ToolOutput    EventType = "tool_output"
)

// Status is how a run or a session stands.
type Status string

const (
	Running     Status = "running"
	Waiting     Status = "waiting"
	Done        Status = "done"
	Failed      Status = "failed"
	Cancelled   Status = "cancelled"
	Interrupted Status = "interrupted"
)

// StopReason is why a run ended.
type StopReason string

const (
	StopEnd      StopReason = "end"
	StopHook     StopReason = "hook"
	StopPolicy   StopReason = "policy"
	StopLimit    StopReason = "limit"
	StopModel    StopReason = "model"
	StopUser     StopReason = "user"
	StopInternal StopReason = "internal"
)

// Event is one thing that happened in a run. Fields beside the common ones
// count for the types that the protocol page names them with.
type Event struct {
	RunID       string    `json:"runId"`
	SessionID   string    `json:"sessionId"`
	Seq         int64     `json:"seq,omitempty"` // from 1 without a gap in a session; 0 = transient
	At          time.Time `json:"at"`
	Type        EventType `json:"type"`
	Stage       string    `json:"stage"`
	Turn        int       `json:"turn"`
	Depth       int       `json:"depth"`
	ParentRunID string    `json:"parentRunId,omitempty"`

	Prompt     string          `json:"prompt,omitempty"`     // run_started
	Agent      string          `json:"agent,omitempty"`      // run_started
	Model      string          `json:"model,omitempty"`      // run_started
	Mode       loop.Mode       `json:"mode,omitempty"`       // run_started
	Sandbox    string          `json:"sandbox,omitempty"`    // run_started: what is in force
	Index      *int            `json:"index,omitempty"`      // stage_entered
	Outcome    string          `json:"outcome,omitempty"`    // stage_left, tool_finished
	Text       string          `json:"text,omitempty"`       // message, notice, deltas
	CallID     string          `json:"callId,omitempty"`     // tool_*, approval_requested, file_changed
	Tool       string          `json:"tool,omitempty"`       // tool_started, tool_finished of a call that never started
	Arguments  json.RawMessage `json:"arguments,omitempty"`  // the same
	Title      string          `json:"title,omitempty"`      // the same
	DurationMs *int64          `json:"durationMs,omitempty"` // tool_finished
	Output     *string         `json:"output,omitempty"`     // tool_finished, tool_output, run_finished
	Truncated  *bool           `json:"truncated,omitempty"`  // tool_finished
	ID         string          `json:"id,omitempty"`         // approval_*
	By         string          `json:"by,omitempty"`         // approval_withdrawn
	Path       string          `json:"-"`                    // file_changed: absolute; the front end makes it a URI
	URI        string          `json:"uri,omitempty"`        // file_changed
	Diff       string          `json:"diff,omitempty"`       // file_changed: unified
	Todos      json.RawMessage `json:"todos,omitempty"`      // todos_changed
	Usage      *loop.Usage     `json:"usage,omitempty"`      // usage
	Total      *loop.Usage     `json:"total,omitempty"`      // usage
	Attempt    int             `json:"attempt,omitempty"`    // retrying
	AfterMs    *int64          `json:"afterMs,omitempty"`    // retrying
	Because    string          `json:"because,omitempty"`    // retrying
	Level      string          `json:"level,omitempty"`      // notice: "info", "warning", "error"
	Status     Status          `json:"status,omitempty"`     // run_finished
	StopReason StopReason      `json:"stopReason,omitempty"` // run_finished
	Error      string          `json:"error,omitempty"`      // run_finished
	Structured json.RawMessage `json:"structured,omitempty"` // run_finished: the output as a value, of a run with an output schema

	ChildRunID     string `json:"childRunId,omitempty"`     // agent_spawned; agent has its name
	ChildSessionID string `json:"childSessionId,omitempty"` // agent_spawned
}

// Risk is what kind of harm a call could do.
type Risk = loop.Effect

// ApprovalOutcome is an answer to an approval.
type ApprovalOutcome string

const (
	AllowOnce    ApprovalOutcome = "allowOnce"
	AllowSession ApprovalOutcome = "allowSession"
	AllowAlways  ApprovalOutcome = "allowAlways"
	DenyOnce     ApprovalOutcome = "deny"
)

// Approval asks a person about one call.
type Approval struct {
	ID          string            `json:"id"`
	Outcomes    []ApprovalOutcome `json:"outcomes"`
	RunID       string            `json:"runId"`
	SessionID   string            `json:"sessionId"`
	CallID      string            `json:"callId"`
	Stage       string            `json:"stage"`
	Tool        string            `json:"tool"`
	Arguments   json.RawMessage   `json:"arguments"`
	Digest      string            `json:"digest"`
	Title       string            `json:"title"`
	Risk        Risk              `json:"risk"`
	Why         []string          `json:"why"`
	Command     *Command          `json:"command,omitempty"`
	Edits       []Edit            `json:"edits,omitempty"`
	Hooks       []hooks.Decision  `json:"hooks"`
	Covers      Covers            `json:"covers"`
	ParentRunID string            `json:"parentRunId,omitempty"`
	ExpiresAt   *time.Time        `json:"expiresAt,omitempty"`
	Elsewhere   bool              `json:"elsewhere,omitempty"`
}

// Covers says exactly what a lasting grant would cover.
type Covers struct {
	Session string `json:"session,omitempty"`
	Always  string `json:"always,omitempty"`
}

// Command is a shell call as it is shown.
type Command struct {
	Line     string   `json:"line"`
	Cwd      string   `json:"cwd"`
	Commands []string `json:"commands"` // each simple command, "?" for what cannot be known
}

// Edit is the change of one file as it is shown.
type Edit struct {
	Path  string `json:"-"`
	URI   string `json:"uri"`
	Diff  string `json:"diff"` // unified
	Hunks []Hunk `json:"hunks"`
}

// Hunk is a part of an edit that can be accepted by itself.
type Hunk struct {
	N       int    `json:"n"`     // from 1
	Range   Range  `json:"range"` // in the text before
	NewText string `json:"newText"`
}

// Range is a range of a text document, LSP style; Character counts UTF-16.
type Range struct {
	Start Point `json:"start"`
	End   Point `json:"end"`
}

// Point is an LSP position that also knows its byte column, for clients that
// negotiated utf-8.
type Point struct {
	Line      int `json:"line"`
	Character int `json:"character"` // UTF-16 code units
	Byte      int `json:"-"`
}

// Answer is what somebody answered to an approval.
type Answer struct {
	Outcome   ApprovalOutcome `json:"outcome"`
	Feedback  string          `json:"feedback,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // edited by the user
	Hunks     []int           `json:"hunks,omitempty"`     // nil = all of them
	By        string          `json:"-"`                   // "here", "elsewhere", "dismissed", "no approver", …
	Reply     *string         `json:"-"`                   // to a question; nil dismisses it
}

// Question is one that the agent asks a person.
type Question struct {
	ID          string   `json:"id"`
	RunID       string   `json:"runId"`
	SessionID   string   `json:"sessionId"`
	CallID      string   `json:"callId"`
	ParentRunID string   `json:"parentRunId,omitempty"`
	Header      string   `json:"header"`
	Prompt      string   `json:"prompt"`
	Options     []Option `json:"options"`
	FreeText    bool     `json:"freeText"` // an answer in the person's own words counts
	Elsewhere   bool     `json:"elsewhere,omitempty"`
}

// Reply is what somebody answered to a question.
type Reply struct {
	Text      string `json:"text"`
	Dismissed bool   `json:"dismissed,omitempty"` // no answer, and none will come
	By        string `json:"-"`                   // "here", "elsewhere", "no approver", …
}

// Option is one offered answer.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// Session is a row of agent/sessions.
type Session struct {
	SessionID string     `json:"sessionId"`
	Title     string     `json:"title"`
	StartedAt time.Time  `json:"startedAt"`
	Status    Status     `json:"status"`
	Turns     int        `json:"turns"`
	Usage     loop.Usage `json:"usage"`
}
