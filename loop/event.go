package loop

import (
	"encoding/json"
	"time"
)

// EventKind names what happened.
type EventKind string

const (
	Started       EventKind = "started"        // a prompt was admitted: RunID, Prompt, Course, …
	HookDecided   EventKind = "hook_decided"   // answers FireHook
	Answered      EventKind = "answered"       // answers CallModel: Answer, Checked, Model
	ModelFailed   EventKind = "model_failed"   // answers CallModel: Error
	Steered       EventKind = "steered"        // the user said something: ID, Text, FollowUp
	Asked         EventKind = "asked"          // an approval was opened: CallID, ApprovalID, Digest
	Resolved      EventKind = "resolved"       // it was answered: Verdict, Arguments, Hunks, Grant, …
	Begun         EventKind = "begun"          // a call was admitted and is about to run: Effect
	Finished      EventKind = "finished"       // a call has its result
	CancelWanted  EventKind = "cancel_wanted"  // the user ends the run
	TimeExpired   EventKind = "time_expired"   // the run's time is up
	StopWaiting   EventKind = "stop_waiting"   // what still runs does not end by itself
	Closed        EventKind = "closed"         // answers Close
	RunResumed    EventKind = "run_resumed"    // the process that drove the run is gone, another one goes on
	Set           EventKind = "set"            // mode or model of the session: Mode, Model; from the next turn on
	Hooked        EventKind = "hooked"         // hooks of a turn-loop event were asked: Point, States; the caller acts on what they said
	Gated         EventKind = "gated"          // the hooks before a call were asked: CallID, Digest, Arguments, Result, Kept
	CallsChecked  EventKind = "calls_checked"  // answers CheckCalls: Results
	Nudge         EventKind = "nudge"          // something to say to the model behind the batch: ID, Text
	Ended         EventKind = "ended"          // a hook of the turn loop or a guard ends the run: Stop, Error
	ToolsOffered  EventKind = "tools_offered"  // tools of MCP servers from the next request on: Offered
	SkillsFound   EventKind = "skills_found"   // the skills of the run: Skills
	SkillUsed     EventKind = "skill_used"     // one is taken up (Waits) or put down: ID
	Noted         EventKind = "noted"          // something to show that changes nothing: Note
	HostFailed    EventKind = "host_failed"    // the driver cannot go on: Error
	Counted       EventKind = "counted"        // a sub-agent wants one of the run's places: ID
	Spawned       EventKind = "spawned"        // a spawn call is driven in a run of its own: CallID, Child
	Spent         EventKind = "spent"          // what a sub-agent or a decision used altogether: ID, Usage
	DecisionMade  EventKind = "decision_made"  // a question beside the run is settled: ID, Usage, Text, Arguments, Error
	TaskStarted   EventKind = "task_started"   // a background task runs, or is the session's now: Task, ID (the run that had it)
	TaskEnded     EventKind = "task_ended"     // Task
	TaskStalled   EventKind = "task_stalled"   // it prints nothing: Task, Waits when the model is told
	OutputChecked EventKind = "output_checked" // answers CheckOutput: Structured and Text, or Error
	Questioned    EventKind = "questioned"     // a running call waits for a person, or no longer: CallID, ID, Waits
	noEventOfCore EventKind = ""
)

// HookAction is what the hooks of one firing came to.
type HookAction string

const (
	HookAllow  HookAction = "allow"
	HookModify HookAction = "modify"
	HookDeny   HookAction = "deny"
	HookCancel HookAction = "cancel"
	HookRetry  HookAction = "retry"
	HookBroken HookAction = "error"
)

// Event is one thing that happened; Kind says which fields count. The journal
// of a session is the list of its events, and State is a function of that
// list.
type Event struct {
	Kind EventKind `json:"kind"`
	At   time.Time `json:"at"`
	// Step is the number of the command that this answers. An answer to
	// another one comes too late and changes nothing.
	Step int64 `json:"step,omitempty"`

	// Started
	RunID        string  `json:"runId,omitempty"`
	SessionID    string  `json:"sessionId,omitempty"`
	ParentRunID  string  `json:"parentRunId,omitempty"`
	ParentCallID string  `json:"parentCallId,omitempty"`
	Depth        int     `json:"depth,omitempty"`
	Mark         string  `json:"mark,omitempty"` // see State.Mark
	Prompt       []Block `json:"prompt,omitempty"`
	Course       *Course `json:"course,omitempty"`

	// HookDecided
	Point   string               `json:"point,omitempty"`
	Action  HookAction           `json:"action,omitempty"`
	Reason  string               `json:"reason,omitempty"`
	Regions map[string]string    `json:"regions,omitempty"`
	Text    *string              `json:"text,omitempty"` // Steered, too
	Calls   []HookedCall         `json:"calls,omitempty"`
	Denied  []string             `json:"denied,omitempty"` // call ids; empty is all of them
	States  map[string]HookState `json:"states,omitempty"`

	// Answered
	Answer  *ModelAnswer  `json:"answer,omitempty"`
	Checked []CheckedCall `json:"checked,omitempty"`
	Model   string        `json:"model,omitempty"` // Set, too

	// Overflowed, Compacted
	Cutoff int   `json:"cutoff,omitempty"` // tool output and media of the messages before it are stubs
	Until  int   `json:"until,omitempty"`  // Text stands for the messages before it
	Before int64 `json:"before,omitempty"` // tokens of a request, about
	After  int64 `json:"after,omitempty"`

	Error string `json:"error,omitempty"` // ModelFailed, CompactFailed, HostFailed, HookDecided when broken

	// Steered
	ID       string `json:"id,omitempty"`
	FollowUp bool   `json:"followUp,omitempty"`

	// Asked, Resolved, Begun, Finished
	CallID     string          `json:"callId,omitempty"`
	ApprovalID string          `json:"approvalId,omitempty"`
	Digest     string          `json:"digest,omitempty"`
	Verdict    Verdict         `json:"verdict,omitempty"`
	By         string          `json:"by,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"` // Resolved: edited by the user
	Hunks      []int           `json:"hunks,omitempty"`
	Grant      string          `json:"grant,omitempty"`  // a rule that holds for the session
	Always     string          `json:"always,omitempty"` // a rule that holds for the workspace; the core does not look at it
	Effect     Effect          `json:"effect,omitempty"`
	Title      string          `json:"title,omitempty"`
	Result     *ToolResult     `json:"result,omitempty"`
	DurationMs int64           `json:"durationMs,omitempty"`
	Key        string          `json:"key,omitempty"`   // Finished: equal calls replay the result
	Todos      *TodoList       `json:"todos,omitempty"` // Finished: the session's tasks from now on
	Kept       HookState       `json:"kept,omitempty"`  // Gated: what hooks keep with the call
	Changes    []FileChange    `json:"changes,omitempty"`
	// Steps are what the layers of the gate said of the call; of Begun and
	// Finished where no approval was opened, of Resolved how it was answered.
	Steps []GateStep `json:"steps,omitempty"`
	// Label is the highest label of what the call read; of Started, of what the
	// prompt brings along or the parent run has read.
	Label Label `json:"label,omitempty"`
	// Saw are the digests of the files that the session now knows. The core
	// does not look at them; a driver that resumes does.
	Saw map[string]string `json:"saw,omitempty"`

	Results []ToolResult `json:"results,omitempty"` // CallsChecked
	Stop    Stop         `json:"stop,omitempty"`    // Ended

	// Structured is the output that Text is, of OutputChecked; empty when it is
	// none that fits.
	Structured json.RawMessage `json:"structured,omitempty"`

	Note *Note `json:"note,omitempty"` // Noted

	Offered []OfferedTool `json:"offered,omitempty"` // ToolsOffered
	Skills  []SkillEntry  `json:"skills,omitempty"`  // SkillsFound

	Child *Child `json:"child,omitempty"` // Spawned
	Task  *Task  `json:"task,omitempty"`  // TaskStarted, TaskEnded, TaskStalled
	Tasks []Task `json:"tasks,omitempty"` // Started, RunResumed: background tasks that ended meanwhile
	Usage *Usage `json:"usage,omitempty"` // Spent; Compacted: of the request for the summary
	Waits bool   `json:"waits,omitempty"` // Questioned, SkillUsed, TaskStalled

	Mode Mode `json:"mode,omitempty"` // Set
}

// HookedCall is a call as on_tool_call left it.
type HookedCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// CheckedCall is a call of an answer after its validation.
type CheckedCall struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"` // the tool's own name, for an alias too
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Invalid   string          `json:"invalid,omitempty"` // why it cannot run at all
	Unknown   bool            `json:"unknown,omitempty"` // since there is no such tool
	Faults    []Fault         `json:"faults,omitempty"`  // of the arguments of an invalid one
	Coerced   []Coercion      `json:"coerced,omitempty"` // what was read as another type
}

// Coercion is an argument that was read as another type than it was written
// in. Before and After are plain JSON values; both are nil for a null that was
// left out.
type Coercion struct {
	Path   string `json:"path"` // JSON Pointer
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// Fault is one thing that is wrong with the arguments of a call.
type Fault struct {
	Path    string `json:"path"` // JSON Pointer
	Message string `json:"message"`
}

// FileChange is one file that a call changed, for show.
type FileChange struct {
	Path string `json:"path"`
	Diff string `json:"diff"`
}

// Note is something to show.
type Note struct {
	Level   string `json:"level,omitempty"` // "info", "warning", "error"
	Text    string `json:"text,omitempty"`
	Attempt int    `json:"attempt,omitempty"` // of a model request that is tried again
	AfterMs int64  `json:"afterMs,omitempty"`
	Because string `json:"because,omitempty"`
}

// CommandKind names what is to be done next.
type CommandKind uint8

const (
	NoCommand   CommandKind = iota
	FireHook                // Point, CallID when it is for one call only; answered by HookDecided
	Close                   // the run is about to end: tell its hooks; answered by Closed
	CallModel               // answered by Answered or ModelFailed
	SumUp                   // Until; answered by Compacted or CompactFailed
	Dispatch                // Calls, in this order; each answered by Finished
	Withdraw                // the approval with ApprovalID is no longer wanted
	StopWork                // end requests, calls and hooks that still run
	CheckCalls              // Calls: show what validation made of them; answered by CallsChecked
	DropCalls               // Calls that have not begun were answered: let go of them
	BatchEnded              // the results of Batch went into the conversation
	Injected                // what the user said (ID, Text) went into the conversation
	CheckOutput             // Text: what output is it; answered by OutputChecked
	Tell                    // show What to whoever watches
)

// Telling is what a Tell shows.
type Telling uint8

const (
	TellNothing Telling = iota
	TellRunStarted
	TellStageEntered
	TellStageLeft
	TellMessage
	TellUsage
	TellCall // a call that ended
	TellRunFinished
)

// Command is one thing to do; Kind says which fields count.
type Command struct {
	Kind       CommandKind
	Step       int64
	Point      string
	CallID     string
	Calls      []string
	ApprovalID string

	What    Telling
	Stage   string // of a Tell: where the run was then
	Turn    int
	Index   int
	Outcome string
	Text    string
	Usage   Usage
	Until   int // SumUp
	Result  *ToolResult
	Call    *Call  // TellCall: the call that ended
	Batch   []Call // BatchEnded: the calls with their results
	ID      string // Injected
}
