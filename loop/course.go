package loop

import (
	"slices"
	"time"
)

// Course is what a run follows from its start to its end: the manifest as the
// core needs it, resolved and pinned. It is part of the Started event, so that
// a resumed run follows the same one.
type Course struct {
	Agent        string        `json:"agent"`
	Model        string        `json:"model"` // a name under [models]
	Mode         Mode          `json:"mode"`
	Entry        string        `json:"entry"`
	Stages       []StageCourse `json:"stages"`
	Instructions string        `json:"instructions,omitempty"` // AGENTS.md and the like
	Limits       CourseLimits  `json:"limits"`
	MaxRetries   int           `json:"maxRetries"` // after_inference, per turn
	// OutputBudget is how many bytes of tool output a turn may have before the
	// model is told to sum up; 0 is off.
	OutputBudget int        `json:"outputBudget,omitempty"`
	Wire         WireCourse `json:"wire"`
	// Output is the form of the run's output; nil is any text.
	Output *OutputCourse `json:"output,omitempty"`
	// TodoReminder keeps the model from stopping while tasks of a list that it
	// wrote in the run are open.
	TodoReminder bool `json:"todoReminder,omitempty"`
	// Points are the events besides those of stages at which the core asks:
	// user_prompt, stop, and Closes for those that see a run end.
	Points []string `json:"points,omitempty"`
}

// CourseLimits end a run that goes on for too long. Zero is no limit.
type CourseLimits struct {
	Turns int           `json:"turns,omitempty"`
	Time  time.Duration `json:"time,omitempty"` // without the time spent waiting for people
	Cost  float64       `json:"cost,omitempty"` // USD
	// Tokens bounds all that the run's models read and wrote, from their caches
	// too, those of sub-agents and decisions counted in.
	Tokens int64 `json:"tokens,omitempty"`
	// Agents bounds the sub-agents of a run, at any depth altogether; Depth
	// how deep they may be nested. A run that nobody spawned is at depth 0.
	Agents int `json:"agents,omitempty"`
	Depth  int `json:"depth,omitempty"`
}

// StageCourse is one stage.
type StageCourse struct {
	Name        string         `json:"name"`
	System      string         `json:"system,omitempty"`
	MaxTurns    int            `json:"maxTurns"`
	Next        string         `json:"next,omitempty"`
	Transitions []Transition   `json:"transitions,omitempty"`
	Regions     []RegionCourse `json:"regions,omitempty"`
	// Points are the hook points that something is declared for. Others cost
	// nothing: no command asks for them.
	Points []string `json:"points,omitempty"`
}

// The reasons for which a transition is taken.
const (
	OnFinished    = "finished"
	OnMaxTurns    = "max_turns"
	OnModelChoice = "model_choice"
	OnError       = "error"
)

// Transition leads to another stage.
type Transition struct {
	To        string `json:"to"`
	On        string `json:"on"`
	Hint      string `json:"hint,omitempty"`
	MaxVisits int    `json:"maxVisits,omitempty"` // 0 = no limit
}

// RegionKind is how a region's text lives.
type RegionKind string

const (
	Pinned    RegionKind = "pinned"    // for the whole run
	Temporary RegionKind = "temporary" // until its stage is left
	Sliding   RegionKind = "sliding"   // for the whole run; what is over the budget falls off the front
)

// RegionCourse is one region of a stage.
type RegionCourse struct {
	Name      string     `json:"name"`
	Kind      RegionKind `json:"kind"`
	MaxTokens int        `json:"maxTokens,omitempty"` // 0 = no budget
	Seed      string     `json:"seed,omitempty"`
}

// The hook points of a stage.
const (
	OnStageEnter    = "on_stage_enter"
	BeforeInference = "before_inference"
	AfterInference  = "after_inference"
	OnToolCall      = "on_tool_call"
	OnStageExit     = "on_stage_exit"
	OnCompletion    = "on_completion"
	OnFailure       = "on_error"
)

// The points of a run as a whole. Closes stands for the events that fire when
// a run ends.
const (
	UserPrompt = "user_prompt"
	StopPoint  = "stop"
	Closes     = "closes"
)

// Has says whether something is declared for a point of the run as a whole.
func (c *Course) Has(point string) bool { return c != nil && slices.Contains(c.Points, point) }

// NextStageTool is the tool that a model chooses a stage with. It exists in
// stages that have a transition on model_choice.
const NextStageTool = "next_stage"

// Stage gives the stage with that name, nil when there is none.
func (c *Course) Stage(name string) *StageCourse {
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.Stages, func(s StageCourse) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Stages[i]
}

// Has says whether the stage declares something for the hook point.
func (s *StageCourse) Has(point string) bool {
	return s != nil && slices.Contains(s.Points, point)
}

// Choices are the transitions that the model may choose.
func (s *StageCourse) Choices() []Transition {
	var choices []Transition
	for _, t := range s.Transitions {
		if t.On == OnModelChoice {
			choices = append(choices, t)
		}
	}
	return choices
}

// Region gives the stage's region with that name, nil when there is none.
func (s *StageCourse) Region(name string) *RegionCourse {
	i := slices.IndexFunc(s.Regions, func(r RegionCourse) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Regions[i]
}
