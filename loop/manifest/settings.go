package manifest

import (
	"runtime"

	"agent-ls/hooks/contract"
	"agent-ls/loop/tool/toolname"
)

// Shape is a form that a value may take.
type Shape uint8

const (
	NoShape  Shape = iota
	Text           // a string
	Whole          // an integer
	Number         // an integer or a number with a fraction
	Truth          // true or false
	Duration       // a string such as "90s", "2m", "90d"
	Size           // a string such as "128MiB", or a number of bytes
	Texts          // a list of strings
	Fixed          // a table whose keys are settings of their own
	Named          // a table whose keys the user chooses
	Tables         // a list of tables: [[name]]
)

func (s Shape) String() string {
	switch s {
	case Text:
		return "a string"
	case Whole:
		return "an integer"
	case Number:
		return "a number"
	case Truth:
		return "true or false"
	case Duration:
		return `a duration such as "90s"`
	case Size:
		return `a size such as "4MiB"`
	case Texts:
		return "a list of strings"
	case Fixed, Named:
		return "a table"
	case Tables:
		return "a list of tables ([[…]])"
	}
	return "nothing"
}

// Who says which layers may make a setting, and how.
type Who uint8

const (
	Anyone    Who = iota
	UserOnly      // the user's config, environment and flags; a workspace may not
	Tighten       // a workspace may only make it stricter
	AddsUp        // entries of all layers count together
	OwnModels     // a workspace may, for rehearsal models that it defines itself
)

func (w Who) String() string {
	switch w {
	case UserOnly:
		return "the user only"
	case Tighten:
		return "anyone; a workspace only stricter"
	case AddsUp:
		return "anyone; all layers add up"
	case OwnModels:
		return "the user; a workspace for its own rehearsal models"
	}
	return "anyone"
}

// Stricter says in which direction a setting gets stricter.
type Stricter uint8

const (
	NoStricter   Stricter = iota
	WhenLower             // numbers, durations, sizes; 0 means unlimited where Off is set
	WhenFalse             // a permission
	WhenTrue              // a protection
	WhenLater             // enumerations are written from loose to strict
	WhenNarrower          // folders: each must lie within one of the layer below
)

// Refers says what a string names, for completion and definition.
type Refers uint8

const (
	ToNothing  Refers = iota
	ToStage           // a stage of the same file
	ToModel           // a name under [models]
	ToTool            // a tool, an alias, "*" or mcp__*
	ToTools           // tools, separated by commas
	ToEvent           // a hook event for scripts
	ToCommand         // an event for command hooks
	ToScript          // a file: a hook script
	ToPrompt          // a file: text
	ToScenario        // a file: a rehearsal
	ToSchema          // a file: a JSON schema
	ToRule            // a policy rule
)

// Setting is one row of the table of settings. The table drives validation,
// completion, hover and the reference page.
type Setting struct {
	// Path is the place, `*` for a name that the user chooses and `[]` for an
	// element of a list of tables: "stages.*.max_turns", "hook[].event".
	Path     string
	Shapes   []Shape
	Values   []string // the strings that are allowed, if not all
	Default  any      // bool, int, float64 or string as it would be written; nil = none
	Off      bool     // 0 or absence switches it off
	Min, Max float64  // of numbers; both 0 = no bounds
	Who      Who
	Stricter Stricter
	Org      bool // an organisation's policy file may make it
	Refers   Refers
	Required bool
	// Waits says that nothing acts on the setting, and on those below it, in
	// this version. Whoever makes it is told so.
	Waits bool
	// gate says of a setting that waits whether a value of it is meant to keep
	// a run from something. Nobody is to believe that it does: no run starts.
	gate func(*node) bool
	Doc  string
}

// one makes the Shapes of a setting that has just one.
func one(s Shape) []Shape { return []Shape{s} }

// StagePoints are the hook points of a stage, in the order in which they fire.
var StagePoints = []string{
	"on_stage_enter", "before_inference", "after_inference", "on_tool_call", "on_stage_exit", "on_completion", "on_error",
}

// CommandEvents are the events that command hooks can take.
var CommandEvents = contract.CommandEvents()

// Levels are the taint levels from open to secret.
var Levels = []string{"public", "internal", "private"}

// Settings returns the table, in the order of the reference page.
func Settings() []Setting { return append([]Setting(nil), settings...) }

var settings = join(agentSettings, modelSettings, stageSettings, hookSettings, policySettings, behaviorSettings, otherSettings)

func join(tables ...[]Setting) []Setting {
	var all []Setting
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}

var agentSettings = []Setting{
	{Path: "agent", Shapes: one(Fixed), Doc: "What the agent is called, which model it asks and where it starts."},
	{Path: "agent.name", Shapes: one(Text), Doc: "The agent's name. Without it: the file's name, `default` for agent.toml."},
	{Path: "agent.model", Shapes: one(Text), Refers: ToModel, Doc: "A name under [models]. In the user config: the model of every agent that names none."},
	{Path: "agent.output", Shapes: one(Text), Refers: ToSchema, Doc: "A file with a JSON schema, in the folder of the manifest. A run of the agent ends with JSON that fits it, or fails. Without it: with any text."},
	{Path: "agent.entry", Shapes: one(Text), Refers: ToStage, Doc: "The first stage. Without it: the first one in the file."},
}

var modelSettings = []Setting{
	{Path: "models", Shapes: one(Named), Doc: "Models by name. A workspace can define rehearsal models; others belong in the user config. Two are always there: `claude` (anthropic, claude-sonnet-4-5, key in ANTHROPIC_API_KEY) and `gpt` (openai, gpt-4.1, key in OPENAI_API_KEY)."},
	{Path: "models.*", Shapes: one(Fixed), Who: OwnModels, Doc: "One model."},
	{Path: "models.*.provider", Shapes: one(Text), Values: []string{"anthropic", "openai", "rehearsal"}, Who: OwnModels,
		Doc: "Who answers: `anthropic`, `openai` (any server that speaks its chat protocol) or `rehearsal`, a written script."},
	{Path: "models.*.model", Shapes: one(Text), Who: OwnModels, Doc: "The provider's own name for the model."},
	{Path: "models.*.base_url", Shapes: one(Text), Who: UserOnly, Doc: "Where the server is, such as `http://127.0.0.1:11434/v1`."},
	{Path: "models.*.api_key_env", Shapes: one(Text), Who: UserOnly, Doc: "The name of the environment variable that holds the key."},
	{Path: "models.*.api_key_command", Shapes: []Shape{Texts, Text}, Who: UserOnly, Doc: "A command that prints the key: a list of words, or a line for the shell."},
	{Path: "models.*.headers", Shapes: one(Named), Who: UserOnly, Doc: "HTTP headers to send along. `${NAME}` in a value is taken from the environment."},
	{Path: "models.*.headers.*", Shapes: one(Text), Who: UserOnly, Doc: "The value of one header."},
	{Path: "models.*.max_tokens", Shapes: one(Whole), Default: 16384, Min: 1, Max: 10_000_000, Doc: "The most tokens of one answer."},
	{Path: "models.*.context_window", Shapes: one(Whole), Off: true, Min: 0, Max: 1e9, Doc: "Tokens that a request may have; 0 is unknown or unlimited."},
	{Path: "models.*.fallback", Shapes: one(Texts), Refers: ToModel, Doc: "Models to try in order when this one fails for good."},
	{Path: "models.*.limits", Shapes: one(Fixed), Doc: "How long to try for one answer."},
	{Path: "models.*.limits.attempts", Shapes: one(Whole), Default: 5, Min: 1, Max: 100, Doc: "How often a request is sent before it counts as failed."},
	{Path: "models.*.limits.total_wait", Shapes: one(Duration), Default: "2m", Doc: "The longest that all waiting between attempts may take together."},
	{Path: "models.*.limits.idle", Shapes: one(Duration), Default: "90s", Doc: "A stream that sends nothing for so long counts as cut. So does one that, after this and `total_wait`, has brought less than 90 bytes of its answer for each time so long."},
	{Path: "models.*.price", Shapes: one(Fixed), Who: OwnModels, Doc: "US dollars per million tokens, over the built-in table."},
	{Path: "models.*.price.input", Shapes: one(Number), Min: 0, Max: 1e6, Who: OwnModels, Doc: "US dollars per million tokens read."},
	{Path: "models.*.price.output", Shapes: one(Number), Min: 0, Max: 1e6, Who: OwnModels, Doc: "US dollars per million tokens written."},
	{Path: "models.*.price.cache_read", Shapes: one(Number), Min: 0, Max: 1e6, Who: OwnModels, Doc: "US dollars per million tokens read from the cache."},
	{Path: "models.*.price.cache_write", Shapes: one(Number), Min: 0, Max: 1e6, Who: OwnModels, Doc: "US dollars per million tokens written to the cache."},
	{Path: "models.*.script", Shapes: one(Text), Refers: ToScenario, Who: OwnModels, Doc: "rehearsal: the file with the script, in the folder of the manifest."},
}

var stageSettings = []Setting{
	{Path: "stages", Shapes: one(Named), Doc: "The stages of the agent, by name. Their order counts: the first is the entry."},
	{Path: "stages.*", Shapes: one(Fixed), Doc: "One stage: a prompt, tools, and what comes after."},
	{Path: "stages.*.prompt", Shapes: one(Text), Refers: ToPrompt, Doc: "A file with the stage's system prompt, in the folder of the manifest."},
	{Path: "stages.*.system", Shapes: one(Text), Doc: "The stage's system prompt, in place of `prompt`."},
	{Path: "stages.*.tools", Shapes: one(Texts), Refers: ToTool, Doc: "The tools that the stage may use: names, aliases (`bash`, `read`, `write`), `mcp__SERVER__TOOL` with `*`, or `*` for all. Without it: all."},
	{Path: "stages.*.max_turns", Shapes: one(Whole), Default: 50, Min: 1, Max: 100_000, Doc: "After so many turns the stage ends with outcome max_turns."},
	{Path: "stages.*.next", Shapes: one(Text), Refers: ToStage, Doc: "The stage that follows when no transition holds. Without it the run ends."},
	{Path: "stages.*.transitions", Shapes: one(Named), Refers: ToStage, Doc: "Other ways on, by the stage that they lead to; the first that holds is taken."},
	{Path: "stages.*.transitions.*", Shapes: one(Fixed), Doc: "One way on."},
	{Path: "stages.*.transitions.*.on", Shapes: one(Text), Values: []string{"finished", "max_turns", "model_choice", "error"}, Required: true, Doc: "When the transition holds."},
	{Path: "stages.*.transitions.*.hint", Shapes: one(Text), Doc: "model_choice: what tells the model when to choose this."},
	{Path: "stages.*.transitions.*.max_visits", Shapes: one(Whole), Off: true, Min: 0, Max: 100_000, Doc: "How often the transition may be taken in a run; 0 is without limit."},
	{Path: "stages.*.regions", Shapes: one(Named), Doc: "Named parts of the context that hooks can read and replace."},
	{Path: "stages.*.regions.*", Shapes: one(Fixed), Doc: "One region."},
	{Path: "stages.*.regions.*.kind", Shapes: one(Text), Values: []string{"pinned", "temporary", "sliding"}, Default: "pinned", Doc: "pinned stays for the run, temporary goes with the stage, sliding keeps its newest part."},
	{Path: "stages.*.regions.*.max_tokens", Shapes: one(Whole), Default: 2000, Min: 1, Max: 10_000_000, Doc: "The region's budget."},
	{Path: "stages.*.regions.*.seed", Shapes: one(Text), Doc: "Its first text, or `file:PATH` for a file of the workspace."},
	{Path: "stages.*.hooks", Shapes: one(Fixed), Doc: "Scripts at the seven points of this stage."},
	{Path: "stages.*.hooks.on_stage_enter", Shapes: one(Text), Refers: ToScript, Doc: "Fires when the stage opens."},
	{Path: "stages.*.hooks.before_inference", Shapes: one(Text), Refers: ToScript, Doc: "Fires before each model call."},
	{Path: "stages.*.hooks.after_inference", Shapes: one(Text), Refers: ToScript, Doc: "Fires when the response is in, before it is applied."},
	{Path: "stages.*.hooks.on_tool_call", Shapes: one(Text), Refers: ToScript, Doc: "Fires for each batch of tool calls, before policy."},
	{Path: "stages.*.hooks.on_stage_exit", Shapes: one(Text), Refers: ToScript, Doc: "Fires when the stage finished, before the next is chosen."},
	{Path: "stages.*.hooks.on_completion", Shapes: one(Text), Refers: ToScript, Doc: "Fires when the run finished in this stage."},
	{Path: "stages.*.hooks.on_error", Shapes: one(Text), Refers: ToScript, Doc: "Fires when the run failed in this stage."},
}

var hookSettings = []Setting{
	{Path: "hooks", Shapes: one(Named), Who: AddsUp, Org: true, Doc: "Scripts on events of the turn loop, for every stage: event name to one script or a list."},
	{Path: "hooks.*", Shapes: []Shape{Texts, Text}, Refers: ToScript, Who: AddsUp, Org: true, Doc: "The scripts of one event, in order."},
	{Path: "hooks.limits", Shapes: one(Fixed), Who: Tighten, Org: true, Doc: "Limits of one firing of a script."},
	{Path: "hooks.limits.operations", Shapes: one(Whole), Default: 100_000, Min: 1, Max: 1e12, Who: Tighten, Stricter: WhenLower, Org: true, Doc: "Steps that a script may take."},
	{Path: "hooks.limits.time", Shapes: one(Duration), Default: "2s", Who: Tighten, Stricter: WhenLower, Org: true, Doc: "Time that a script may take."},
	{Path: "hooks.limits.memory", Shapes: one(Size), Default: "128MiB", Who: Tighten, Stricter: WhenLower, Org: true, Doc: "Memory that a script may take, over a worker's start."},
	{Path: "hooks.limits.call_depth", Shapes: one(Whole), Default: 64, Min: 1, Max: 1000, Who: Tighten, Stricter: WhenLower, Org: true, Doc: "How deep calls may nest."},
	{Path: "hooks.limits.context", Shapes: one(Size), Default: "4MiB", Who: Tighten, Stricter: WhenLower, Org: true, Doc: "The largest ctx."},
	{Path: "hooks.limits.value", Shapes: one(Size), Default: "4MiB", Who: Tighten, Stricter: WhenLower, Org: true, Doc: "The largest answer."},
	{Path: "hooks.limits.printed", Shapes: one(Size), Default: "64KiB", Who: Tighten, Stricter: WhenLower, Org: true, Doc: "What a firing may print before it is cut."},
	{Path: "hooks.limits.source", Shapes: one(Size), Default: "1MiB", Who: Tighten, Stricter: WhenLower, Org: true, Doc: "The largest script."},
	{Path: "hooks.limits.nesting", Shapes: one(Whole), Default: 256, Min: 1, Max: 256, Who: Tighten, Stricter: WhenLower, Org: true, Doc: "How deep a script's text may nest."},
	{Path: "hooks.limits.workers", Shapes: one(Whole), Default: runtime.NumCPU(), Min: 1, Max: 256, Who: Tighten, Stricter: WhenLower, Org: true, Doc: "Worker processes; by default one per CPU, and one warm spare."},
	{Path: "hook", Shapes: one(Tables), Who: AddsUp, Org: true, Doc: "Command hooks. A workspace's wait for trust."},
	{Path: "hook[].event", Shapes: one(Text), Refers: ToCommand, Required: true, Who: AddsUp, Org: true, Doc: "The event."},
	{Path: "hook[].command", Shapes: one(Text), Required: true, Who: AddsUp, Org: true, Doc: "A line for `sh -c`, run in the workspace's root. JSON on stdin, JSON on stdout."},
	{Path: "hook[].matcher", Shapes: one(Text), Refers: ToTools, Who: AddsUp, Org: true, Doc: "pre_tool, post_tool: tool names separated by commas; `*` or nothing is every tool."},
	{Path: "hook[].env", Shapes: one(Named), Who: AddsUp, Org: true, Doc: "Variables for the command."},
	{Path: "hook[].env.*", Shapes: one(Text), Who: AddsUp, Org: true, Doc: "The value of one variable."},
	{Path: "hook[].required", Shapes: one(Truth), Default: false, Who: AddsUp, Org: true, Doc: "A failure ends the run, and the hook is never evicted."},
	{Path: "diagnostics", Shapes: one(Named), Who: AddsUp, Doc: "Commands to run after an edit, by file extension. A workspace's wait for trust."},
	{Path: "diagnostics.*", Shapes: one(Text), Who: AddsUp, Doc: "The command for files with this extension."},
}

var policySettings = []Setting{
	{Path: "policy", Shapes: one(Fixed), Who: AddsUp, Org: true, Doc: "Rules about tool calls. deny is final in every layer."},
	{Path: "policy.default", Shapes: one(Text), Values: []string{"allow", "ask", "deny"}, Default: "ask", Who: Tighten, Stricter: WhenLater, Org: true,
		Doc: "For what no rule covers. `ask`: read tools are allowed, write and execute ask."},
	{Path: "policy.allow", Shapes: one(Texts), Refers: ToRule, Who: AddsUp, Org: true, Doc: "Calls that run unasked. A workspace's counts as ask unless the user allows it too."},
	{Path: "policy.ask", Shapes: one(Texts), Refers: ToRule, Who: AddsUp, Org: true, Doc: "Calls that a person must answer."},
	{Path: "policy.deny", Shapes: one(Texts), Refers: ToRule, Who: AddsUp, Org: true, Doc: "Calls that never run."},
	{Path: "taint", Shapes: one(Fixed), Who: AddsUp, Org: true, Doc: "What secrets the agent read keep it from calling."},
	{Path: "taint.enabled", Shapes: one(Truth), Default: false, Who: Tighten, Stricter: WhenTrue, Org: true, Doc: "Whether calls are held to their clearances. Labels are kept all the same."},
	{Path: "taint.labels", Shapes: one(Named), Who: AddsUp, Org: true, Doc: "Path pattern to level: public < internal < private."},
	{Path: "taint.labels.*", Shapes: one(Text), Values: Levels, Who: AddsUp, Org: true, Doc: "The level of what is read from such paths."},
	{Path: "taint.clearance", Shapes: one(Named), Refers: ToTool, Who: AddsUp, Org: true, Doc: "Tool, or a pattern such as `mcp__files__*` or `*`, to the highest level that may be in the context when it is called. A call above it asks. Commands see no file above the clearance of `shell`."},
	{Path: "taint.clearance.*", Shapes: one(Text), Values: Levels, Who: AddsUp, Org: true, Doc: "The tool's clearance."},
}

var otherSettings = []Setting{
	{Path: "concurrency", Shapes: one(Fixed), Doc: "How much may run side by side."},
	{Path: "concurrency.subprocs", Shapes: one(Whole), Default: 8, Min: 1, Max: 256, Who: Tighten, Stricter: WhenLower, Doc: "Processes of commands, searches, command hooks and diagnostics at once, in all runs of a server."},
	{Path: "limits", Shapes: one(Fixed), Who: Tighten, Org: true, Doc: "Limits of a run."},
	{Path: "limits.turns", Shapes: one(Whole), Default: 200, Min: 1, Max: 1e9, Who: Tighten, Stricter: WhenLower, Org: true, Doc: "Model turns."},
	{Path: "limits.time", Shapes: one(Duration), Default: "2h", Who: Tighten, Stricter: WhenLower, Org: true, Doc: "Wall clock."},
	{Path: "limits.cost", Shapes: one(Number), Default: 0.0, Off: true, Min: 0, Max: 1e9, Who: Tighten, Stricter: WhenLower, Org: true, Doc: "US dollars; 0 is off."},
	{Path: "limits.tokens", Shapes: one(Whole), Default: 0, Off: true, Min: 0, Max: 1e12, Who: Tighten, Stricter: WhenLower, Org: true, Doc: "Tokens that the models of a run read and write, cached ones, sub-agents and decisions included; 0 is off."},
	{Path: "limits.depth", Shapes: one(Whole), Default: 3, Min: 0, Max: 64, Who: Tighten, Stricter: WhenLower, Org: true, Doc: "How deep sub-agents may nest; 0 is none at all."},
	{Path: "limits.agents", Shapes: one(Whole), Default: 8, Min: 0, Max: 10_000, Who: Tighten, Stricter: WhenLower, Org: true, Doc: "Sub-agents of a run, at every depth together; 0 is none at all."},
	{Path: "mcp", Shapes: one(Named), Doc: "MCP servers by name. A workspace's wait for trust."},
	{Path: "mcp.*", Shapes: one(Fixed), Doc: "One server: a command, or a URL."},
	{Path: "mcp.*.command", Shapes: one(Texts), Doc: "The program and its arguments."},
	{Path: "mcp.*.url", Shapes: one(Text), Doc: "A server reached over HTTP."},
	{Path: "mcp.*.env", Shapes: one(Named), Doc: "Variables for the program."},
	{Path: "mcp.*.env.*", Shapes: one(Text), Doc: "The value of one variable."},
	{Path: "mcp.*.headers", Shapes: one(Named), Doc: "HTTP headers to send along. `${NAME}` in a value of the user's is taken from the environment."},
	{Path: "mcp.*.headers.*", Shapes: one(Text), Doc: "The value of one header."},
	{Path: "mcp.*.tools", Shapes: one(Texts), Doc: "The server's tools to offer, by their names on it, with `*`. Without it: all."},
	{Path: "mcp.*.exclude", Shapes: one(Texts), Doc: "Tools of the server that are not offered, with `*`; stronger than `tools`."},
	{Path: "mcp.*.timeout", Shapes: one(Duration), Default: "5m", Doc: "The longest that a call may take."},
	{Path: "mcp.*.start_timeout", Shapes: one(Duration), Default: "60s", Doc: "The longest that a connection and the list of tools may take."},
	{Path: "mcp.*.network", Shapes: one(Truth), Default: false, Who: UserOnly, Doc: "Whether the program reaches the network although `sandbox.network` is false."},
	{Path: "sandbox", Shapes: one(Fixed), Who: Tighten, Org: true, Doc: "What commands can reach."},
	{Path: "sandbox.writable", Shapes: one(Texts), Who: Tighten, Stricter: WhenNarrower, Org: true, Doc: "Folders that commands may write to, from the workspace's root. Default: the root."},
	{Path: "sandbox.network", Shapes: one(Truth), Default: false, Who: Tighten, Stricter: WhenFalse, Org: true, Doc: "Whether commands reach the network."},
	{Path: "sandbox.off", Shapes: one(Truth), Default: false, Who: UserOnly, Stricter: WhenFalse, Org: true, Doc: "No sandbox at all; every command then asks."},
	{Path: "sessions", Shapes: one(Fixed), Who: UserOnly, Doc: "Past runs."},
	{Path: "sessions.keep", Shapes: one(Duration), Default: "90d", Off: true, Who: UserOnly, Doc: "How long sessions are kept after the last thing that happened in them; 0 keeps them for ever."},
}

// KnownTool says whether a name in a list of tools can stand for a tool:
// built-in, alias, "*", or an MCP tool, which is known only at run time.
func KnownTool(name string) bool { return name == "*" || toolname.Known(toolname.Canonical(name)) }
