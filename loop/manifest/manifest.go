// Package manifest owns configuration: the layers (defaults, organisation,
// user, workspace, environment, client, flags), their merge, what a workspace
// may not set, and where each value came from. Start at Load. Everything that
// is wrong is a finding with a position; a broken entry disables itself only.
package manifest

import (
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
)

// Config is the merged configuration, read only.
type Config struct {
	Root   string // the workspace
	Agents []Agent
	Models map[string]Model // by name; "rehearsal" style entries too

	Policy      Policy
	Taint       Taint
	Behavior    Behavior
	Concurrency Concurrency
	Limits      RunLimits
	HookLimits  hooks.Limits
	Sandbox     Sandbox
	Diagnostics []DiagnosticsCommand
	Commands    []CommandHook
	Origins     map[string]Origin // by dotted path, for config show --origin
}

// Agent is one manifest: the default `.agent-ls/agent.toml` or
// `.agent-ls/agents/NAME.toml`.
type Agent struct {
	Name   string
	Model  string
	Entry  string // resolved: the first stage of the file by default
	Stages []Stage
	Hooks  []hooks.Declaration // stage and event hooks in declared order, with texts
	Path   string              // the file
	At     check.Span
}

// Stage is one [stages.NAME].
type Stage struct {
	Name        string
	Index       int
	System      string // the prompt's text, from system or the file of prompt
	Tools       []string
	MaxTurns    int // 50
	Next        string
	Transitions []Transition
	Regions     []Region
	At          check.Span
}

// Transition leads to another stage.
type Transition struct {
	To        string
	On        string // "finished", "max_turns", "model_choice", "error"
	Hint      string
	MaxVisits int
}

// Region is a named part of the context.
type Region struct {
	Name      string
	Kind      string // "pinned", "temporary", "sliding"
	MaxTokens int
	Seed      string // text, resolved
}

// Model is one [models.NAME].
type Model struct {
	Name          string
	Provider      string
	Model         string
	BaseURL       string
	APIKeyEnv     string
	APIKeyCommand []string
	Headers       map[string]string
	MaxTokens     int
	Fallback      []string
	Attempts      int
	TotalWait     time.Duration
	Idle          time.Duration
	ContextWindow int
	Price         *Price
	Script        string // rehearsal: absolute path
	ScriptText    []byte // rehearsal: as it was read
}

// Price is per million tokens, in USD.
type Price struct{ Input, Output, CacheRead, CacheWrite float64 }

// Policy holds the rules as written, with the layer that each came from.
type Policy struct {
	Default string // "ask": read tools allow, write and execute ask
	Rules   []Rule
}

// Rule is one allow, ask or deny rule.
type Rule struct {
	Verdict string // "allow", "ask", "deny"
	Text    string // "shell(go test *)"
	Origin  Origin
}

// Taint is [taint].
type Taint struct {
	Enabled   bool
	Labels    []Label
	Clearance map[string]string
}

// Label marks paths.
type Label struct{ Glob, Level string }

// Behavior is [behavior]; this part of it acts today.
type Behavior struct {
	RequireReadBeforeEdit bool
	TrackShellReads       bool
	WriteExisting         string // "allow", "require_read", "deny"
	MaxConcurrentTools    int
	MaxRetries            int
	ToolOutputBudget      int
	DedupReads            bool
}

// Concurrency is [concurrency].
type Concurrency struct{ Subprocs int }

// RunLimits is [limits].
type RunLimits struct {
	Turns  int
	Time   time.Duration
	Cost   float64 // 0 = off
	Depth  int
	Agents int
}

// Sandbox is [sandbox].
type Sandbox struct {
	Writable []string
	Network  bool
	Off      bool // only the user can say so
}

// DiagnosticsCommand is a command by file extension.
type DiagnosticsCommand struct {
	Ext, Command string
	Workspace    bool
}

// CommandHook is one [[hook]].
type CommandHook struct {
	ID        string
	Event     string
	Command   string
	Matcher   string
	Env       map[string]string
	Required  bool
	Workspace bool
	Declared  hooks.Location
}

// Origin says where a value came from.
type Origin struct {
	Layer string // "default", "organisation", "user", "workspace", "environment", "client", "flag"
	Path  string // the file, if there is one
	Line  int
	Value any
}
