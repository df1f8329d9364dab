package bridge

import (
	"encoding/json"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

// This file holds every shape of docs/protocol.md, as it is on the wire. The
// JSON schema in docs/ is generated from these types: a field without
// omitempty is required, `enum` lists the values, `doc` describes.

// Time is a moment, written as RFC 3339 in UTC with milliseconds.
type Time struct{ time.Time }

// timeFormat always has the three digits, so that times sort as text.
const timeFormat = "2006-01-02T15:04:05.000Z"

// MarshalJSON writes the time in UTC.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(timeFormat) + `"`), nil
}

// Position is an LSP position in the negotiated encoding.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Range is an LSP range.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// folderParam is in the params of every method that concerns one folder.
type folderParam struct {
	Folder string `json:"folder,omitempty" doc:"URI of a workspace folder, or of anything in it; without it the method's other parameters tell, else the first folder is meant"`
}

// ListParams are those of agent/list.
type ListParams struct{ folderParam }

// ListResult is that of agent/list.
type ListResult struct {
	Agents []Agent `json:"agents"`
	Models []Model `json:"models"`
}

// Agent is one manifest.
type Agent struct {
	Name   string  `json:"name"`
	URI    string  `json:"uri" doc:"the manifest"`
	Stages []Stage `json:"stages"`
	Model  string  `json:"model"`
}

// Stage is one stage of an agent.
type Stage struct {
	Name  string      `json:"name"`
	URI   string      `json:"uri"`
	Range Range       `json:"range" doc:"the stage's header in the manifest"`
	Tools []string    `json:"tools"`
	Hooks []StageHook `json:"hooks"`
}

// StageHook is one hook of a stage; those of every stage are listed in each.
type StageHook struct {
	Point    string   `json:"point" doc:"the event"`
	URI      string   `json:"uri" doc:"the script"`
	Range    Range    `json:"range" doc:"the hook's function in the script, its start if there is none"`
	Declared Location `json:"declared" doc:"the line of the manifest that names it"`
}

// Location is a range of a document.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// Model is a configured model.
type Model struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// StartParams are those of agent/start.
type StartParams struct {
	folderParam
	Prompt        string          `json:"prompt"`
	Agent         string          `json:"agent,omitempty"`
	SessionID     string          `json:"sessionId,omitempty" doc:"goes on with a session; without it a new one"`
	Context       []ContextItem   `json:"context,omitempty" doc:"what the user pointed at"`
	Model         string          `json:"model,omitempty" doc:"a name under [models], instead of the agent's"`
	Mode          loop.Mode       `json:"mode,omitempty" enum:"ask,plan,auto"`
	OutputSchema  json.RawMessage `json:"outputSchema,omitempty" doc:"a JSON schema that the run's output has to fit, instead of the agent's"`
	WorkDoneToken json.RawMessage `json:"workDoneToken,omitempty" doc:"string or integer; $/progress goes on until the run ends"`
}

// ContextItem is a document, or a part of one.
type ContextItem struct {
	URI   string `json:"uri"`
	Range *Range `json:"range,omitempty"`
}

// StartResult is that of agent/start and of the command agent.run.
type StartResult struct {
	RunID     string `json:"runId"`
	SessionID string `json:"sessionId"`
}

// SteerParams are those of agent/steer.
type SteerParams struct {
	RunID string `json:"runId"`
	Text  string `json:"text"`
	When  string `json:"when,omitempty" enum:"now,followUp" doc:"now: before the next model call; followUp: when the run would end"`
}

// SteerResult is that of agent/steer.
type SteerResult struct {
	ID string `json:"id"`
}

// CancelParams are those of agent/cancel.
type CancelParams struct {
	RunID  string `json:"runId"`
	CallID string `json:"callId,omitempty" doc:"ends this call only"`
}

// CancelResult is that of agent/cancel.
type CancelResult struct {
	Cancelled bool `json:"cancelled"`
}

// CompactParams are those of agent/compact.
type CompactParams struct {
	SessionID string `json:"sessionId"`
}

// CompactResult is that of agent/compact.
type CompactResult struct {
	Before int64 `json:"before" doc:"tokens of the next request before, estimated"`
	After  int64 `json:"after" doc:"and after; the same where there was nothing to sum up"`
}

// ResumeParams are those of agent/resume.
type ResumeParams struct {
	SessionID string `json:"sessionId"`
}

// ResumeResult is that of agent/resume. RunID is null when there is nothing to
// resume, and Reason says why.
type ResumeResult struct {
	RunID    *string  `json:"runId"`
	Reason   string   `json:"reason,omitempty"`
	Resuming []string `json:"resuming" doc:"calls that run again, or are reported to the model as interrupted"`
	Done     []string `json:"done" doc:"calls that were finished"`
}

// SessionsParams are those of agent/sessions.
type SessionsParams struct {
	folderParam
	Limit  int    `json:"limit,omitempty" doc:"50 by default, 1000 at most"`
	Cursor string `json:"cursor,omitempty"`
	Query  string `json:"query,omitempty" doc:"a text that the title, a prompt, a message or the title of a call has"`
}

// SessionsResult is that of agent/sessions, newest first.
type SessionsResult struct {
	Sessions []Session `json:"sessions"`
	Cursor   string    `json:"cursor,omitempty" doc:"absent on the last page"`
}

// Session is one session.
type Session struct {
	SessionID string        `json:"sessionId"`
	Title     string        `json:"title"`
	StartedAt Time          `json:"startedAt"`
	Status    report.Status `json:"status" enum:"running,waiting,done,failed,cancelled,interrupted"`
	Turns     int           `json:"turns"`
	Usage     loop.Usage    `json:"usage"`
}

// EventsParams are those of agent/events.
type EventsParams struct {
	SessionID string `json:"sessionId"`
	AfterSeq  int64  `json:"afterSeq,omitempty"`
	Limit     int    `json:"limit,omitempty" doc:"500 by default, 5000 at most"`
}

// EventsResult is that of agent/events, oldest first.
type EventsResult struct {
	Events  []Event `json:"events"`
	LastSeq int64   `json:"lastSeq" doc:"the newest of the session, not of this answer"`
}

// PendingParams are those of agent/pending.
type PendingParams struct{}

// PendingResult is that of agent/pending, over all folders.
type PendingResult struct {
	Approvals []Approval `json:"approvals"`
	Questions []Question `json:"questions"`
}

// ResolveParams are those of agent/resolve: an outcome for an approval, or an
// answer for a question.
type ResolveParams struct {
	ID        string                 `json:"id"`
	Outcome   report.ApprovalOutcome `json:"outcome,omitempty" enum:"allowOnce,allowSession,allowAlways,deny"`
	Feedback  string                 `json:"feedback,omitempty"`
	Arguments json.RawMessage        `json:"arguments,omitempty" doc:"an object: run with these instead"`
	Hunks     []int                  `json:"hunks,omitempty" doc:"accept these hunks only"`
	Answer    json.RawMessage        `json:"answer,omitempty"`
}

// OK is the result of methods that have nothing to tell.
type OK struct {
	OK bool `json:"ok"`
}

// DecisionsParams are those of agent/decisions.
type DecisionsParams struct {
	folderParam
	URI    string `json:"uri,omitempty" doc:"of the script"`
	RunID  string `json:"runId,omitempty"`
	Event  string `json:"event,omitempty"`
	Limit  int    `json:"limit,omitempty" doc:"100 by default, 1000 at most"`
	Cursor string `json:"cursor,omitempty"`
}

// DecisionsResult is that of agent/decisions, oldest first.
type DecisionsResult struct {
	Decisions []Decision `json:"decisions"`
	Cursor    string     `json:"cursor,omitempty" doc:"absent on the last page"`
}

// HooksParams are those of agent/hooks.
type HooksParams struct{ folderParam }

// SetHookParams are those of agent/setHook.
type SetHookParams struct {
	folderParam
	ID      string `json:"id" doc:"a hook's id, as agent/hooks lists it"`
	Enabled *bool  `json:"enabled" doc:"false switches it off from the next event on, for as long as the server lives"`
}

// HooksResult is that of agent/hooks.
type HooksResult struct {
	Hooks []Hook `json:"hooks"`
}

// Hook is one declared hook and what it did.
type Hook struct {
	ID       string     `json:"id"`
	Event    string     `json:"event"`
	Stage    string     `json:"stage,omitempty"`
	Function string     `json:"function,omitempty"`
	Hook     HookSource `json:"hook"`
	Declared *Location  `json:"declared,omitempty"`
	Kind     string     `json:"kind" enum:"stage,event,command,go"`
	Enabled  bool       `json:"enabled"`
	Trust    string     `json:"trust" enum:"notNeeded,trusted,untrusted,changed"`
	Digest   string     `json:"digest,omitempty" doc:"for agent/trust, of a workspace's command"`
	Error    string     `json:"error,omitempty" doc:"why it cannot run"`
	LastRun  *LastRun   `json:"lastRun,omitempty"`
	Counts   HookCounts `json:"counts"`
}

// LastRun is the last decision of a hook.
type LastRun struct {
	At         Time   `json:"at"`
	Action     string `json:"action" enum:"allow,modify,deny,substitute,cancel,retry,error"`
	DurationUs int64  `json:"durationUs"`
}

// HookCounts counts decisions, over the journal.
type HookCounts struct {
	Fired     int `json:"fired"`
	Modified  int `json:"modified"`
	Denied    int `json:"denied"`
	Cancelled int `json:"cancelled"`
	Failed    int `json:"failed"`
}

// ExplainParams are those of agent/explain.
type ExplainParams struct {
	folderParam
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Stage     string          `json:"stage,omitempty"`
}

// ExplainResult is that of agent/explain.
type ExplainResult struct {
	Outcome loop.Verdict `json:"outcome" enum:"allow,ask,deny"`
	Steps   []Step       `json:"steps"`
}

// Step is what one layer of the gate says about the call.
type Step struct {
	Layer   loop.Layer   `json:"layer" enum:"schema,hook,builtin,rule,taint,approval"`
	Source  string       `json:"source,omitempty"`
	Fired   bool         `json:"fired"`
	Outcome loop.Verdict `json:"outcome"`
	Because string       `json:"because"`
}

// ReplayParams are those of agent/replay.
type ReplayParams struct {
	folderParam
	URI           string          `json:"uri" doc:"the script"`
	Text          *string         `json:"text,omitempty" doc:"its text; without it that of the open document, else of the file"`
	Function      string          `json:"function,omitempty" doc:"one function of it; without it each that an event fires"`
	Sessions      json.RawMessage `json:"sessions,omitempty" doc:"a list of ids, or \"last:N\" for the newest sessions; without it all of them"`
	Limit         int             `json:"limit,omitempty" doc:"of events, the newest ones; 10000 by default, 100000 at most"`
	WorkDoneToken json.RawMessage `json:"workDoneToken,omitempty"`
}

// ReplayResult is that of agent/replay. checked is the sum of unchanged,
// changed and the errors that have a decision.
type ReplayResult struct {
	Checked   int            `json:"checked"`
	Unchanged int            `json:"unchanged"`
	Changed   []ReplayChange `json:"changed"`
	Errors    []ReplayError  `json:"errors"`
}

// ReplayChange is a recorded event that the script would decide otherwise.
type ReplayChange struct {
	Decision  Decision `json:"decision" doc:"as it was recorded"`
	Now       Decision `json:"now"`
	SessionID string   `json:"sessionId"`
	Seq       int64    `json:"seq"`
	Because   string   `json:"because" doc:"what is new, in one line"`
}

// ReplayError is an event that cannot be played, or what is wrong with the
// script as a whole.
type ReplayError struct {
	Message   string    `json:"message"`
	Kind      string    `json:"kind" enum:"script,limit,malformed,infrastructure,unasked,unrecorded,finding,notShown"`
	URI       string    `json:"uri,omitempty"`
	Range     *Range    `json:"range,omitempty"`
	SessionID string    `json:"sessionId,omitempty"`
	Seq       int64     `json:"seq,omitempty"`
	Decision  *Decision `json:"decision,omitempty" doc:"as it was recorded"`
}

// TrustParams are those of agent/trust.
type TrustParams struct {
	ID     string `json:"id" doc:"hook.0, diagnostics.go, mcp.files"`
	Digest string `json:"digest,omitempty" doc:"of the content that the person saw; needed to trust"`
	Trust  bool   `json:"trust" doc:"false takes all trust in the entry back"`
	folderParam
}

// UndoParams are those of agent/undo.
type UndoParams struct {
	RunID  string `json:"runId"`
	CallID string `json:"callId,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// UndoResult is that of agent/undo and of the command agent.undo.
type UndoResult struct {
	Edits     []UndoEdit `json:"edits"`
	Conflicts []string   `json:"conflicts" doc:"URIs of files that have changed since and stay as they are"`
}

// UndoEdit is one file put back.
type UndoEdit struct {
	URI  string `json:"uri"`
	Diff string `json:"diff" doc:"unified"`
}

// Approval asks a person about one call.
type Approval struct {
	ID          string                   `json:"id"`
	Outcomes    []report.ApprovalOutcome `json:"outcomes" enum:"allowOnce,allowSession,allowAlways,deny" doc:"the ones that will be honoured"`
	RunID       string                   `json:"runId"`
	SessionID   string                   `json:"sessionId"`
	CallID      string                   `json:"callId"`
	Stage       string                   `json:"stage"`
	Tool        string                   `json:"tool"`
	Arguments   json.RawMessage          `json:"arguments" doc:"exact: nothing in it was made visible"`
	Digest      string                   `json:"digest" doc:"of tool, arguments and the bytes that an edit starts from"`
	Title       string                   `json:"title"`
	Risk        report.Risk              `json:"risk" enum:"read,write,execute,network"`
	Why         []string                 `json:"why" doc:"the rule, taint or default that asked"`
	Command     *Command                 `json:"command,omitempty"`
	Edits       []Edit                   `json:"edits,omitempty"`
	Hooks       []Decision               `json:"hooks" doc:"what hooks decided about this call"`
	Covers      Covers                   `json:"covers"`
	ParentRunID string                   `json:"parentRunId,omitempty"`
	ExpiresAt   *Time                    `json:"expiresAt,omitempty"`
	Elsewhere   bool                     `json:"elsewhere,omitempty" doc:"the run belongs to another window's server"`
}

// Covers says exactly what a lasting grant covers.
type Covers struct {
	Session string `json:"session,omitempty"`
	Always  string `json:"always,omitempty"`
}

// Command is a shell call.
type Command struct {
	Line     string   `json:"line"`
	Cwd      string   `json:"cwd"`
	Commands []string `json:"commands" doc:"each simple command of the line; ? for what cannot be known"`
}

// Edit is the change of one file.
type Edit struct {
	URI   string `json:"uri"`
	Diff  string `json:"diff" doc:"unified, for show"`
	Hunks []Hunk `json:"hunks"`
}

// Hunk is a part of an edit that can be accepted by itself.
type Hunk struct {
	N       int    `json:"n" doc:"from 1"`
	Range   Range  `json:"range" doc:"in the text before"`
	NewText string `json:"newText" doc:"exact"`
}

// ApprovalAnswer is the result of agent/approve.
type ApprovalAnswer struct {
	Outcome   report.ApprovalOutcome `json:"outcome" enum:"allowOnce,allowSession,allowAlways,deny"`
	Feedback  string                 `json:"feedback,omitempty" doc:"told to the model"`
	Arguments json.RawMessage        `json:"arguments,omitempty" doc:"an object: run with these instead; they pass hooks and policy again"`
	Hunks     []int                  `json:"hunks,omitempty" doc:"accept these hunks only"`
}

// ApprovalResolved are the params of agent/approvalResolved.
type ApprovalResolved struct {
	ID      string                 `json:"id"`
	Outcome report.ApprovalOutcome `json:"outcome" enum:"allowOnce,allowSession,allowAlways,deny"`
	By      string                 `json:"by" enum:"here,elsewhere,cancel,timeout,policy"`
}

// Question is one that the agent asks a person.
type Question struct {
	ID          string   `json:"id"`
	RunID       string   `json:"runId"`
	CallID      string   `json:"callId"`
	ParentRunID string   `json:"parentRunId,omitempty"`
	Header      string   `json:"header"`
	Prompt      string   `json:"prompt"`
	Options     []Option `json:"options"`
	FreeText    bool     `json:"freeText" doc:"an answer in the user's own words counts"`
	Elsewhere   bool     `json:"elsewhere,omitempty" doc:"the run belongs to another window's server"`
}

// AskResult is the result of agent/ask: an answer, or none.
type AskResult struct {
	Answer    *string `json:"answer,omitempty"`
	Dismissed bool    `json:"dismissed,omitempty" doc:"there will be no answer"`
}

// Option is one offered answer.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// SaveParams are those of agent/save.
type SaveParams struct {
	URIs []string `json:"uris"`
}

// SaveResult is that of agent/save.
type SaveResult struct {
	Saved []string `json:"saved"`
}

// Decision is the record of one hook's answer.
type Decision struct {
	ID         string     `json:"id"`
	RunID      string     `json:"runId"`
	SessionID  string     `json:"sessionId"`
	Seq        int64      `json:"seq"`
	At         Time       `json:"at"`
	Stage      string     `json:"stage"`
	Event      string     `json:"event"`
	Function   string     `json:"function,omitempty"`
	HookID     string     `json:"hookId" doc:"the id that agent/hooks lists"`
	Hook       HookSource `json:"hook"`
	Action     string     `json:"action" enum:"allow,modify,deny,substitute,cancel,retry,error"`
	Reason     string     `json:"reason,omitempty"`
	Changes    []Change   `json:"changes,omitempty"`
	CallID     string     `json:"callId,omitempty"`
	DurationUs int64      `json:"durationUs"`
	Operations int64      `json:"operations,omitempty"`
	Printed    string     `json:"printed,omitempty"`
	Error      *Failure   `json:"error,omitempty"`
}

// HookSource says which hook decided: uri, range and digest of a script (the
// range is the return that made the decision), a command with its exit
// status, or a Go handler.
type HookSource struct {
	URI        string `json:"uri,omitempty"`
	Range      *Range `json:"range,omitempty"`
	Digest     string `json:"digest,omitempty" doc:"SHA-256 of the script as the run had it, hex"`
	Command    string `json:"command,omitempty"`
	ExitStatus *int   `json:"exitStatus,omitempty"`
	Go         string `json:"go,omitempty"`
}

// Change is one field that a modify changed.
type Change struct {
	Path   string          `json:"path" doc:"JSON Pointer"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// Failure is a broken hook.
type Failure struct {
	Message string   `json:"message"`
	URI     string   `json:"uri,omitempty"`
	Range   *Range   `json:"range,omitempty"`
	Stack   []string `json:"stack,omitempty" doc:"innermost first"`
	Kind    string   `json:"kind" enum:"script,limit,malformed,infrastructure,unasked,unrecorded"`
}

// plainEvent is report.Event without its methods, if it has any.
type plainEvent report.Event

// Event is one thing that happened in a run.
type Event struct {
	plainEvent
	At Time `json:"at"`
}

// ServerAgent is what the server puts into capabilities.experimental.agent.
type ServerAgent struct {
	Version int      `json:"version"`
	Methods []string `json:"methods"`
}
