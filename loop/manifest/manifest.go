// Package manifest owns configuration: the layers (defaults, organisation,
// user, workspace, environment, client, flags), their merge, what a workspace
// may not set, and where each value came from. Start at Load. Everything that
// is wrong is a finding with a position; a broken entry disables itself only.
package manifest

import (
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/loop/skill"
	"agent-ls/loop/trust"
)

// Config is the merged configuration, read only.
type Config struct {
	Root   string   // the workspace
	Own    []string // where agent-ls's own settings are: the user's, the organisation's
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
	MCP         []MCPServer
	Sessions    Sessions
	Skills      []skill.Skill     // of the user and of the workspace, by name
	Origins     map[string]Origin // by dotted path, for config show --origin

	// Watch lists the files and folders that this configuration was read
	// from, those that do not exist yet included; absolute, sorted.
	Watch []string

	owned      []ownership
	dedupLines []ScriptLine
}

// ScriptLines returns the settings lines that name a script, of every agent,
// each once.
func (c *Config) ScriptLines(script string) []ScriptLine {
	var out []ScriptLine
	for _, a := range c.Agents {
		for _, line := range a.Lines {
			if line.Script == script && script != "" && !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	for _, line := range c.dedupLines {
		if line.Script == script {
			out = append(out, line)
		}
	}
	return out
}

// Agent finds an agent by name; "" is the first one, the default.
func (c *Config) Agent(name string) (Agent, bool) {
	for _, a := range c.Agents {
		if a.Name == name || name == "" {
			return a, true
		}
	}
	return Agent{}, false
}

// Agent is one manifest: the default `.agent-ls/agent.toml` or
// `.agent-ls/agents/NAME.toml`.
type Agent struct {
	Name   string
	Model  string
	Entry  string // resolved: the first stage of the file by default
	Output []byte // the JSON schema of a run's output; empty is any text
	Stages []Stage
	Hooks  []hooks.Declaration // stage and event hooks in declared order, with texts
	Path   string              // the file; "" for the built-in agent
	At     check.Span
	// ModelAt is where the file names the model; the table's place where it
	// does not.
	ModelAt check.Span
	Lines   []ScriptLine // the manifest's lines that name a script of this agent
}

// ScriptLine is a line of a settings file that names a hook script.
type ScriptLine struct {
	Event    string // the contract's event, "" for dedup_tools
	Function string // what the script must define
	Stage    string
	Path     string     // of the settings file
	Span     check.Span // of the path in it, quotes included
	Script   string     // absolute; "" if the path is not usable
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
	SeedPath  string // the file that it came from, absolute; "" for a literal
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
	Origin        Origin // the layer that defined it
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
	// Agent, when not empty, limits the rule to one agent: it stands in
	// agents/NAME.toml. To ignore it is safe: the rule then binds all.
	Agent string
}

// Taint is [taint].
type Taint struct {
	Enabled   bool
	Labels    []Label
	Clearance map[string]string // as merged, for show
	// Bounds are the clearances by tool of the organisation, of the user and
	// of the workspace: the lowest counts, so that none relaxes another's.
	Bounds []map[string]string
}

// ClearanceOf is the highest level that may be in the context when a tool,
// canonical, is called: what is said of the tool by name, else of a pattern
// that matches it ("mcp__files__*", "*"), the lowest of those. A tool that
// nothing is said of is cleared for everything.
func (t Taint) ClearanceOf(tool string) string {
	level := Levels[len(Levels)-1]
	for _, bound := range t.Bounds {
		if l, ok := bound[tool]; ok {
			level = lower(level, l)
			continue
		}
		for pattern, l := range bound {
			if ok, err := doublestar.Match(pattern, tool); err == nil && ok && strings.ContainsAny(pattern, "*?[{") {
				level = lower(level, l)
			}
		}
	}
	return level
}

func lower(a, b string) string {
	if place(Levels, b) < place(Levels, a) {
		return b
	}
	return a
}

// Label marks paths.
type Label struct{ Glob, Level string }

// Behavior is [behavior].
type Behavior struct {
	RequireReadBeforeEdit bool
	TrackShellReads       bool
	WriteExisting         string // "allow", "require_read", "deny"
	MaxConcurrentTools    int
	MaxRetries            int
	ToolOutputBudget      int // bytes, 0 = off
	DedupReads            bool

	CompactStrategy         string  // "off", "tail"
	CompactThreshold        int     // bytes
	CompactKeepTurns        int     // turns
	CompactLowWaterFraction float64 // 0 = off
	CompactSkip             CompactSkip
	AutoCompact             bool
	ElideStaleReads         string // "", "notice", "stub"
	DedupTools              []DedupTool
	ToolBudgets             map[string]ToolBudget
	RepeatGuard             RepeatGuard
	ThinkingBudget          int // tokens, 0 = off
	ThinkingDecay           *ThinkingDecay
	LazyMCPTools            int // 0 = never
	CacheTelemetry          bool
	SessionBaseline         bool
}

// CompactSkip says where compaction does not act.
type CompactSkip struct {
	Providers        []string
	MinContextWindow int // tokens
}

// DedupTool is a tool with the script whose dedup_key names equal calls.
type DedupTool struct {
	Tool     string
	Path     string // absolute
	Text     []byte
	Siblings map[string][]byte // of scripts that it imports, by path, once it was loaded
	Declared hooks.Location    // the line that names it
}

// ToolBudget caps the calls of a tool in a run.
type ToolBudget struct {
	Max      int
	OnExceed string // "steer", "block"
}

// RepeatGuard breaks streaks of identical calls.
type RepeatGuard struct {
	Enabled bool
	RepeatLimit
	Tools map[string]RepeatLimit // for a tool in place of the general ones
}

// RepeatLimit is the call in a row that is refused, and the one that ends the run.
type RepeatLimit struct{ Block, Abort int }

// ThinkingDecay lowers the thinking budget after a turn.
type ThinkingDecay struct {
	AfterTurn int
	Floor     int // tokens
}

// MCPServer is one [mcp.NAME].
type MCPServer struct {
	Name    string
	Command []string
	URL     string
	Env     map[string]string
	Headers map[string]string
	// Tools and Exclude are patterns of names on the server; no Tools is all.
	Tools, Exclude        []string
	Timeout, StartTimeout time.Duration
	Network               bool // beyond what the sandbox allows; only the user can say so
	Trust
}

// Sessions is [sessions].
type Sessions struct{ Keep time.Duration }

// Trust says whether something that starts a process may run. What is not a
// workspace's needs none and is trusted.
type Trust struct {
	// ID names the entry for people and for agent/trust: "hook.0",
	// "diagnostics.go", "mcp.files".
	ID        string
	Workspace bool
	// Trusted is State.Allows() when the configuration was read. Whoever starts
	// the process looks again: files of the workspace change meanwhile.
	Trusted bool
	State   trust.State
	// Digest is that of Item; empty for what needs no trust, and for what
	// cannot be known.
	Digest string
	Item   trust.Item // of a workspace's entry
}

// Concurrency is [concurrency].
type Concurrency struct{ Subprocs int }

// RunLimits is [limits].
type RunLimits struct {
	Turns  int
	Time   time.Duration
	Cost   float64 // 0 = off
	Tokens int64   // 0 = off
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
	Trust
}

// CommandHook is one [[hook]].
type CommandHook struct {
	Event    string
	Command  string
	Matcher  string
	Env      map[string]string
	Required bool
	Declared hooks.Location
	Trust
}

// Origin says where a value came from.
type Origin struct {
	Layer string // "default", "organisation", "user", "workspace", "environment", "client", "flag"
	Path  string // the file, if there is one
	Line  int
	Value any
}
