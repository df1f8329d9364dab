// Package run drives the agent: it executes what the core in package loop
// asks for and feeds back what happened. Start at Service, which is the whole
// interface that the command line and the editor bridge use.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
	"agent-ls/loop/trust"
)

// Frontend shows runs to somebody. Its methods are called from several
// goroutines; Event and Decision in order and must not block for long.
type Frontend interface {
	Event(report.Event)
	Decision(hooks.Decision)
	// Approve puts an approval to a person and waits for the answer. The
	// context ends when it was answered elsewhere or withdrawn. An error means
	// that nobody can be asked here; ErrNoApprover says so plainly. An answer
	// through Service.Resolve counts as well: the first one wins.
	Approve(context.Context, report.Approval) (report.Answer, error)
}

// Options are what a Service needs. Nothing is started by New.
type Options struct {
	Root     string // the workspace, absolute, symlinks resolved
	StateDir string // the user's state folder of agent-ls
	CacheDir string
	// Manifest loads the layers afresh; a run pins what it gets.
	Manifest func(context.Context) (*manifest.Config, []check.Finding)
	Journal  *journal.Journal
	Hooks    *hooks.Engine
	// Bus has the hooks of the program that embeds the service; nil is none.
	Bus *hooks.Bus
	// OpenModel makes a model from its configuration.
	OpenModel func(manifest.Model) (loop.Model, error)
	Files     loop.Files
	Frontend  Frontend
	Editor    tool.Editor  // what the editor's language servers know; nil: no editor
	Trust     *trust.Store // nil = that of StateDir
	Version   string       // of agent-ls, told to MCP servers
	Log       *slog.Logger
}

// StartParams ask for a run.
type StartParams struct {
	Prompt    string
	Agent     string // "" = the default agent
	SessionID string // "" = a new session
	Model     string // overrides the agent's
	Mode      loop.Mode
	Context   []ContextFile // what the user pointed at
	// OutputSchema is a JSON schema that the run's output has to fit, in place
	// of the agent's own; empty leaves that.
	OutputSchema json.RawMessage
}

// ContextFile is a file, or lines of one, that goes along with the prompt.
type ContextFile struct {
	Path               string
	StartLine, EndLine int // from 1, inclusive; 0 = the whole file
}

// Started names a run that is on its way.
type Started struct {
	RunID     string `json:"runId"`
	SessionID string `json:"sessionId"`
}

// Resumed says what a resume will do. RunID is "" when there is nothing to
// resume, with the reason.
type Resumed struct {
	RunID    string
	Reason   string
	Resuming []string // call ids that run again or are reported interrupted
	Done     []string
}

// CannotStart is a manifest or a hook that cannot run.
type CannotStart struct{ Findings []check.Finding }

func (e *CannotStart) Error() string {
	if len(e.Findings) == 0 {
		return "the run cannot start"
	}
	return fmt.Sprintf("the run cannot start: %s", e.Findings[0].Message)
}

// The other ways in which a call can fail.
var (
	ErrSessionBusy     = errors.New("the session is busy with another run")
	ErrUnknownID       = errors.New("no such id")
	ErrAlreadyResolved = errors.New("already resolved")
	ErrNoApprover      = errors.New("no approver")
	ErrNotAsShown      = errors.New("its content is not the one that was shown")
)

// DecisionQuery selects recorded decisions.
type DecisionQuery struct {
	Path   string // of the script
	RunID  string
	Event  string
	Limit  int // 100 by default
	Cursor string
	// Newest asks for the newest ones up to the limit, still oldest first.
	// There is no cursor then.
	Newest bool
}

// HookStatus is a row of agent/hooks.
type HookStatus struct {
	ID       string
	Event    string
	Stage    string
	Function string
	Hook     hooks.Source
	Kind     string // "stage", "event", "command", "go"
	Enabled  bool
	Trust    string // "notNeeded", "trusted", "untrusted", "changed"
	Digest   string // what agent/trust wants, of a workspace's command
	Error    string
	LastRun  *hooks.Decision
	Counts   HookCounts
	Declared hooks.Location
}

// HookCounts counts what a hook did, over the journal.
type HookCounts struct {
	Fired     int `json:"fired"`
	Modified  int `json:"modified"`
	Denied    int `json:"denied"`
	Cancelled int `json:"cancelled"`
	Failed    int `json:"failed"`
}

// Explanation is what would happen to a call.
type Explanation struct {
	Outcome loop.Verdict    `json:"outcome"`
	Steps   []loop.GateStep `json:"steps"`
}

// Undone is what an undo did, or would do.
type Undone struct {
	Edits     []report.Edit
	Conflicts []string // paths that changed since and stay
}

// API is the list of Service's methods, here so that both front ends can be
// read against one page.
type API interface {
	Start(context.Context, StartParams) (Started, error)
	Steer(ctx context.Context, runID, text string, followUp bool) (id string, err error)
	Cancel(ctx context.Context, runID, callID string) (bool, error)
	Resume(ctx context.Context, sessionID string) (Resumed, error)
	Set(ctx context.Context, sessionID string, mode loop.Mode, model string) error
	Fork(ctx context.Context, sessionID string, atSeq int64) (string, error)
	Delete(ctx context.Context, sessionID string) error
	Compact(ctx context.Context, sessionID string) (Compacted, error)
	Sessions(ctx context.Context, limit int, cursor, query string) ([]report.Session, string, error)
	Events(ctx context.Context, sessionID string, afterSeq int64, limit int) ([]report.Event, int64, error)
	Pending(context.Context) ([]report.Approval, []report.Question, error)
	// Settlement waits for the end of an approval, wherever it comes from.
	Settlement(ctx context.Context, id string) (Settled, error)
	Resolve(ctx context.Context, id string, answer report.Answer) error
	Decisions(context.Context, DecisionQuery) ([]hooks.Decision, string, error)
	Hooks(context.Context) ([]HookStatus, error)
	SetHook(ctx context.Context, id string, enabled bool) error
	Explain(ctx context.Context, tool string, arguments json.RawMessage, stage string) (Explanation, error)
	// Replay plays recorded events through a script as it stands. A session
	// that is not known is ErrUnknownID.
	Replay(context.Context, ReplayParams) (*Replayed, error)
	Undo(ctx context.Context, runID, callID string, dryRun bool) (Undone, error)
	// Trust records that a person trusts an entry of the workspace that starts
	// a process, in the content with this digest, or takes all trust in it
	// back. ErrUnknownID: no entry is called that. ErrNotAsShown: its digest is
	// another by now. trust.ErrSandboxed: one of the agent's own commands asks.
	Trust(ctx context.Context, id, digest string, trusted bool) error
	// Outdated lists the scripts whose text is no longer the one that a run of
	// this process keeps from its start.
	Outdated(ctx context.Context, runID string) ([]string, error)
	// Wait returns the run_finished event of a run that this process drives.
	Wait(ctx context.Context, runID string) (report.Event, error)
	// Newest is the newest run of this process, "" if there is none.
	Newest() string
	// Close cancels nothing: runs stop where they are and can be resumed.
	Close() error
}

var _ API = (*Service)(nil)
