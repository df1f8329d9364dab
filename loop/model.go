package loop

import (
	"context"
	"encoding/json"
	"time"
)

// Model is one configured model. Implementations are in loop/model.
type Model interface {
	// Info names the model; it makes no request.
	Info() ModelInfo
	// Stream asks once and passes pieces to onDelta while they arrive, from
	// the calling goroutine. It does not retry: the driver does, by the class
	// of the error. An error is a *ModelError or the context's.
	Stream(ctx context.Context, req ModelRequest, onDelta func(Delta)) (ModelAnswer, error)
}

// ModelInfo describes a configured model.
type ModelInfo struct {
	Name          string // the name under [models]
	Provider      string // "anthropic", "openai", "rehearsal"
	Model         string // the provider's own name
	ContextWindow int    // tokens; 0 = unlimited or unknown
	MaxTokens     int
	Fallback      []string
	Limits        ModelLimits
}

// Origin names the provider and its model: thinking belongs to both together.
func (i *ModelInfo) Origin() string { return i.Provider + "/" + i.Model }

// ModelLimits bound the attempts at one answer. Zero means the default.
type ModelLimits struct {
	Attempts  int           // 5
	TotalWait time.Duration // 2 min
	Idle      time.Duration // 90 s between bytes
}

// ModelRequest is everything that one request carries.
type ModelRequest struct {
	System   string // stable part first
	Messages []Message
	Tools    []ToolSpec
	// Identity lets a rehearsal script choose a turn; providers ignore it.
	Agent string
	Depth int
	// Turn counts the answers that the session already has from this model,
	// so that a rehearsal resumes where it was after a restart.
	Turn int
	// Failed counts the requests since the last answer that failed for good
	// and are on record, so that a rehearsal goes on behind the failures that
	// it played. Attempts that are retried do not count; 0 is always right
	// within one run.
	Failed         int
	ThinkingBudget int // tokens, 0 = off
	MaxTokens      int // of the answer; 0, or more than the model may give, is the model's own limit
	// Output, when not nil, is what the answer has to be; no tool is called
	// then. An answer in another form is possible still.
	Output *OutputFormat
}

// ToolSpec is a tool as the model sees it.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of an object
}

// OfferedTool is a tool that came up while the session was at work, such as
// one of an MCP server. What the model was offered is kept: a resumed session
// offers the same until something else is known.
type OfferedTool struct {
	ToolSpec
	Server string `json:"server,omitempty"` // the MCP server's name in the manifest
	Tool   string `json:"tool,omitempty"`   // the tool's name on the server
}

// SkillEntry is a skill that the model can take up.
type SkillEntry struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Path        string `json:"path"`
	// AllowedTools are the only tools while it is in use; nil is all.
	AllowedTools []string `json:"allowedTools"`
}

// DeltaKind is what a piece of a stream holds.
type DeltaKind uint8

const (
	NoDelta DeltaKind = iota
	TextDelta
	ThinkingDelta
	ServerToolUse    // the provider runs a tool of its own: ID, Name, Data
	ServerToolResult // it has run: ID, Name, Data, IsError
)

// Delta is a piece of an answer; provisional until the answer is applied.
type Delta struct {
	Kind DeltaKind
	Text string

	ID, Name string
	Data     string // JSON: what the tool was asked, or its result; "" if that is not known
	IsError  bool
}

// ModelAnswer is one whole answer. Calls bear the provider's ids in
// ProviderID and no ID yet: the host assigns those.
type ModelAnswer struct {
	Blocks     []Block // text, thinking, tool_call in the order received
	Usage      Usage
	StopReason string // "end", "tool_use", "max_tokens", "refusal"
	// Origin is ModelInfo.Origin of the model that answered; the driver sets it.
	Origin string `json:",omitempty"`
	// Remarks are what the provider says about the answer beside it. Dropped
	// counts the parts of earlier reasoning that it left out of the request by
	// itself, DroppedDetails is what it tells of them, in JSON.
	Remarks        []Remark        `json:",omitempty"`
	Dropped        int             `json:",omitempty"`
	DroppedDetails json.RawMessage `json:",omitempty"`
}

// Remark is a provider's own word about an answer, such as why it refused.
type Remark struct {
	Code    string          // the provider's name for it, "" if it has none
	Message string          // in words
	Details json.RawMessage `json:",omitempty"` // what else it tells, in JSON
}

// ErrorClass says what may be done about a model's error.
type ErrorClass uint8

const (
	NoClass          ErrorClass = iota
	Retryable                   // 408, 429, 500, 502, 503, 529, a cut or idle stream: back off and ask again
	ContextOverflow             // the request is too long
	Terminal                    // anything else: the next in fallback
	ReasoningRefused            // the provider does not take thinking of the history back: ask without it
	RehearsalFailure            // the script ran out or an expectation failed: never retried, never a fallback
)

// ModelError is a failed request.
type ModelError struct {
	Class      ErrorClass
	Status     int           // HTTP, 0 if none
	RetryAfter time.Duration // what the server asked for, 0 if nothing
	Message    string
}

func (e *ModelError) Error() string { return e.Message }
