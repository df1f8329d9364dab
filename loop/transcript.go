// Package loop is the agent's core: a state machine without clock, input,
// output or goroutines, and the types that its neighbours share. Start at
// Apply. The driver in loop/run executes what the core asks for and feeds back
// what happened; the journal is the list of what was fed back.
package loop

import "encoding/json"

// Role says whose message it is. System text is not a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one entry of the transcript. A user message carries text or the
// results of the assistant message before it, never calls.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
	// Origin is the provider and the model that an assistant message came
	// from. Its thinking is sent back to no other.
	Origin string `json:"origin,omitempty"`
}

// BlockKind is what a block holds.
type BlockKind string

const (
	TextBlock     BlockKind = "text"
	ThinkingBlock BlockKind = "thinking"
	CallBlock     BlockKind = "tool_call"
	ResultBlock   BlockKind = "tool_result"
	ImageBlock    BlockKind = "image"
	// ServerBlock is what a tool of the provider's was asked or found, in the
	// provider's own form. Like thinking it is sent back to no other.
	ServerBlock BlockKind = "server_tool"
	// ReminderBlock is text from the host, framed so that neither a model nor
	// a tool's output can imitate it.
	ReminderBlock BlockKind = "reminder"
)

// Block is a part of a message; Kind says which fields count.
type Block struct {
	Kind      BlockKind       `json:"kind"`
	Text      string          `json:"text,omitempty"`      // text, thinking, reminder
	Signature string          `json:"signature,omitempty"` // thinking: the provider's own, opaque
	Call      *ToolCall       `json:"call,omitempty"`
	Result    *ToolResult     `json:"result,omitempty"`
	MediaType string          `json:"mediaType,omitempty"` // image
	Data      []byte          `json:"data,omitempty"`      // image
	Raw       json.RawMessage `json:"raw,omitempty"`       // server_tool
}

// ToolCall is one call that the model asks for.
type ToolCall struct {
	ID         string          `json:"id"`                   // assigned by the host, unique in the session
	ProviderID string          `json:"providerId,omitempty"` // the model's own id, for the wire only
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"` // an object; as the model wrote it
}

// CallOutcome says how a call ended.
type CallOutcome string

const (
	CallOK          CallOutcome = "ok"
	CallError       CallOutcome = "error"
	CallDenied      CallOutcome = "denied"      // a hook, a rule, the user, or nobody to ask
	CallSubstituted CallOutcome = "substituted" // a hook answered in its place
	CallInvalid     CallOutcome = "invalid"     // unknown tool or arguments that do not fit
	CallCancelled   CallOutcome = "cancelled"
	CallInterrupted CallOutcome = "interrupted" // the process died: it may or may not have happened
)

// ToolResult answers one call.
type ToolResult struct {
	CallID  string      `json:"callId"`
	Text    string      `json:"text"`
	IsError bool        `json:"isError,omitempty"`
	Outcome CallOutcome `json:"outcome"`
	Images  []Block     `json:"images,omitempty"`
	// Notes are lines from the host about the call (what hooks changed, which
	// hunks were refused); shown to the model in a frame of their own.
	Notes     []string `json:"notes,omitempty"`
	Truncated bool     `json:"truncated,omitempty"`
}

// Usage counts tokens of one or more model answers.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Cost       *Cost `json:"cost,omitempty"`
}

// Cost is an amount of money.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"` // "USD"
}
