package loop

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Phase is what a run waits for.
type Phase uint8

const (
	Idle       Phase = iota // no run, or it is over
	Entering                // on_stage_enter
	Preparing               // before_inference
	Inferring               // the model
	Reviewing               // after_inference
	Vetting                 // on_tool_call, for a batch
	Acting                  // calls
	Exiting                 // on_stage_exit
	Completed               // on_completion
	Failing                 // on_error
	Stopping                // calls that still run, before the end
	Checking                // the hooks of validation, for a batch
	Compacting              // a summary of older turns
	Admitting               // user_prompt
	Ceasing                 // stop
	Closing                 // the hooks that see a run end
	Reading                 // what the output is, in the answer that would end the run
)

// RunStatus is how the newest run of a session stands.
type RunStatus string

const (
	NoRun        RunStatus = ""
	RunActive    RunStatus = "active"
	RunDone      RunStatus = "done"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// Stop is why a run ended.
type Stop string

const (
	StopEnd      Stop = "end"
	StopHook     Stop = "hook"
	StopLimit    Stop = "limit"
	StopModel    Stop = "model"
	StopUser     Stop = "user"
	StopPolicy   Stop = "policy"
	StopInternal Stop = "internal"
)

// CallPhase is where a call is.
type CallPhase uint8

const (
	CallQueued  CallPhase = iota // to be dispatched, or on its way through the gate
	CallVetting                  // on_tool_call sees its edited arguments
	CallWaiting                  // an approval is open
	CallRunning                  // admitted and begun
	CallDone
)

// Call is one call of the batch in work.
type Call struct {
	ID        string
	Tool      string          // the tool that runs; a hook may have named another than the model did
	Arguments json.RawMessage // what runs
	Wanted    ToolCall        // what the model asked for
	Phase     CallPhase
	Step      int64 // CallVetting: the command that is to be answered
	// Edited is set when a person changed the arguments, Hooked when a hook did.
	Edited, Hooked bool
	ApprovalID     string
	Digest         string // of what the open or given approval shows
	Approved       bool
	Hunks          []int
	Effect         Effect // CallRunning
	Result         *ToolResult
	// Child is the run of a spawn call, QuestionID the question of an ask_user
	// call; Waits says that a person is waited for, by the call or its child.
	Child         *Child
	QuestionID    string
	Waits         bool
	Unknown       bool        // there is no such tool
	Faults        []Fault     // of the arguments, where they do not fit
	Coerced       []Coercion  // what validation read as another type
	Counted       bool        // in ToolCounts
	Gate          *GateRecord // nil: its hooks were not asked yet
	Resumed       bool        // it had passed the gate in a process that died
	Untold        bool        // CallDone: nobody was told of it yet
	Read, Changed []string    // CallDone: the files that it showed or changed
	// ConfirmID is the approval that a running call waits for: what it did is
	// undone until a person says that it may stay.
	ConfirmID string
}

// Steer is something that the user said while the run was at work.
type Steer struct{ ID, Text string }

// SessionChoice is the mode and the model that the user set for a session; what is
// empty is the agent's.
type SessionChoice struct {
	Mode  Mode
	Model string
	// ModeDue and ModelDue say that the run under way has it from its next turn
	// on; later runs have it from their start.
	ModeDue, ModelDue bool
}

// Ending is how a run that is about to end will end.
type Ending struct {
	Status RunStatus
	Stop   Stop
	Error  string
}

// HookState is what a hook returned as state: plain data only.
type HookState map[string]any

// State is where a session stands. It is a value: Apply gives a new one and
// leaves the old one as it was.
type State struct {
	SessionID, RunID          string
	ParentRunID, ParentCallID string
	Depth                     int
	// Mark is a random word that frames what the host says to the model. Text
	// from tools and users never carries it, so they cannot imitate the host.
	Mark    string
	Course  *Course
	Status  RunStatus
	Phase   Phase
	Step    int64 // the last command that wants an answer
	History History
	View    View // what requests leave out of it
	TaskAt  int  // where the prompt is in the history, -1 when a hook replaced the conversation
	Task    string
	Output  string // the newest text of the model in this run

	Stage      string
	Entered    int // how many stages the run has entered
	StageTurns int
	Turn       int // from 1; 0 before the first model call
	Retries    int // in this turn
	Visits     map[string]int
	Fired      map[string]int // by hook point, in this run
	Choice     string         // the stage that the model chose
	Outcome    string         // the stage's, while it is left
	Regions    map[string]string
	HookStates map[string]HookState // by declaration id
	// Vetoes counts how often the model was kept from stopping in this run, by
	// hooks of stop and by the reminder of open todos together; LastVeto is the
	// newest reason.
	Vetoes   int
	LastVeto string

	// Structured is the run's output as it fits the course's schema, once there
	// is one. OutputAsks counts how often the model was asked for it behind an
	// answer that does not fit; OutputDue says that its next answer is to be
	// nothing else.
	Structured json.RawMessage
	OutputAsks int
	OutputDue  bool

	Pending      *ModelAnswer // Reviewing: not applied yet
	Checked      []CheckedCall
	Batch        []Call
	Steers       []Steer
	FollowUps    []Steer
	Grants       []string      // session rules
	Skills       []SkillEntry  // what the system text lists, by name
	SkillsListed bool          // they are known
	ActiveSkills []string      // names of those in use
	Offered      []OfferedTool // what MCP servers offer in the session, as the model saw it last
	// Taint is the highest label of what is or ever was in the conversation.
	Taint Label
	// Chosen is what the user set for the session.
	Chosen SessionChoice
	// Above is the mode of the runs above a sub-agent's, "" for other runs. The
	// run has it where the user chose no stricter one for it.
	Above Mode

	Todos      *TodoList              // of the session; nil while there are none
	TodosOwn   bool                   // this run wrote them
	ToolCounts map[string]int         // calls that began in this run, by tool
	Replays    map[string]*ToolResult // of this run, by key
	Nudges     []string               // what the host says behind the batch
	Nudged     map[string]bool        // what it said in this run, by id

	// Context is the size of the newest request and its answer, in tokens, as
	// the provider counted them; ContextAt is how many messages that were.
	Context   int64
	ContextAt int
	Summaries int // of older turns, in the session
	Failed    int // requests since the last answer that failed and are on record

	Usage   Usage            // of the run, sub-agents and decisions counted in
	Spent   map[string]Usage // what each of those used, by its id
	Family  []string         // run ids of the sub-agents at any depth
	Spawns  int              // how many spawn calls of this run began one
	Answers map[string]int   // by model, in the session
	Ending  Ending
	Began   time.Time
	// CallsDone counts the calls of the run that have a result.
	CallsDone int
	// Tasks are the session's background tasks that run, and those that ended
	// and that the model was not told of yet.
	Tasks []Task
	// Decisions counts the questions put to the model beside the run, in the
	// session; DecisionsAt how many there were when the run began.
	Decisions, DecisionsAt int

	Used  time.Duration // of the run's time, up to Since
	Since time.Time     // zero while the clock stands
}

// Active says that a run is under way.
func (s *State) Active() bool { return s.Status == RunActive }

// Call gives the call of the present batch with that id.
func (s *State) Call(id string) (Call, bool) {
	if i := s.callIndex(id); i >= 0 {
		return s.Batch[i], true
	}
	return Call{}, false
}

// Current is the stage that the run is in.
func (s *State) Current() *StageCourse { return s.Course.Stage(s.Stage) }

// Waiting says that somebody is being asked.
func (s *State) Waiting() bool {
	return slices.ContainsFunc(s.Batch, func(c Call) bool { return c.Phase == CallWaiting || c.Phase == CallRunning && c.Waits })
}

// Remaining is the time that the run has left at that moment; ok is false when
// it has no limit or its clock stands.
func (s *State) Remaining(now time.Time) (left time.Duration, ok bool) {
	if s.Course == nil || s.Course.Limits.Time <= 0 || s.Since.IsZero() {
		return 0, false
	}
	return s.Course.Limits.Time - s.Used - now.Sub(s.Since), true
}

func (s *State) callIndex(id string) int {
	return slices.IndexFunc(s.Batch, func(c Call) bool { return c.ID == id })
}

// setCall changes one call in a copy of the batch, since other States may
// share it.
func (s *State) setCall(i int, change func(*Call)) {
	s.Batch = slices.Clone(s.Batch)
	change(&s.Batch[i])
}

func with[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	next := make(map[K]V, len(m)+1)
	maps.Copy(next, m)
	next[k] = v
	return next
}
