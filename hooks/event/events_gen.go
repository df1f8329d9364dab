// Code generated from hooks/contract by "go run ./hooks/contract/gen". DO NOT EDIT.

package event

// Common is what every event has.
type Common struct {
	// the event's name, such as "on_tool_call"
	Event string `hook:"event"`
	// the run that fired it
	RunID string `hook:"run_id"`
	// the session that the run belongs to
	SessionID string `hook:"session_id"`
	// the agent's name in the manifest
	Agent string `hook:"agent"`
	// the stage's name in the manifest
	Stage string `hook:"stage"`
	// which stage of the run this is, from 0
	StageIndex int64 `hook:"stage_index"`
	// the turn in the run, from 1; 0 before the first model call
	Turn int64 `hook:"turn"`
	// 0 in the run that the user started, 1 in its sub-agents, and so on
	Depth int64 `hook:"depth"`
	// the run that started this sub-agent, nil in the user's own run
	ParentRunID *string `hook:"parent_run_id"`
	// the tool call that started this sub-agent, nil in the user's own run
	ParentCallID *string `hook:"parent_call_id"`
	// how often this event has fired in this run before
	LoopCount int64 `hook:"loop_count"`
	// what this hook returned as state the last time that it fired in this run; empty at first
	State map[string]any `hook:"state"`
}

// OnStageEnter is the ctx of on_stage_enter. Prepares a stage: seeds or replaces its regions before anything is sent.
type OnStageEnter struct {
	Common
	// region name to its text, at most 256 KiB each; conversation and task are built in
	Regions map[string]string `hook:"regions"`
}

// EventName is "on_stage_enter".
func (*OnStageEnter) EventName() string { return "on_stage_enter" }

// BeforeInference is the ctx of before_inference. Sees what is about to be sent to the model and may trim it or stop the run.
type BeforeInference struct {
	Common
	// region name to its text, at most 256 KiB each; conversation and task are built in
	Regions map[string]string `hook:"regions"`
	// the size of what will be sent
	Messages struct {
		// how many messages will be sent
		Count int64 `hook:"count"`
		// how many bytes of text they have together
		Bytes int64 `hook:"bytes"`
	} `hook:"messages"`
	// the model's name in the manifest
	Model string `hook:"model"`
	// the names of the tools that the model is offered
	Tools []string `hook:"tools"`
}

// EventName is "before_inference".
func (*BeforeInference) EventName() string { return "before_inference" }

// AfterInference is the ctx of after_inference. Reads the model's answer before it counts: may replace its text or ask again.
type AfterInference struct {
	Common
	// the text of the answer, empty when it has only calls
	Response string `hook:"response"`
	// the tokens of this answer
	Usage struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"usage"`
	// the names of the tools that it wants to call; the calls themselves are for on_tool_call
	ToolCalls []string `hook:"tool_calls"`
}

// EventName is "after_inference".
func (*AfterInference) EventName() string { return "after_inference" }

// OnToolCall is the ctx of on_tool_call. Narrows what the model may do: denies calls, leaves some out or changes their arguments.
type OnToolCall struct {
	Common
	// the calls of this batch, never empty
	ToolCalls []struct {
		// the call's id, assigned by the host
		ID string `hook:"id"`
		// the tool's name
		Name string `hook:"name"`
		// the tool's arguments, which fit its schema
		Arguments map[string]any `hook:"arguments"`
	} `hook:"tool_calls"`
}

// EventName is "on_tool_call".
func (*OnToolCall) EventName() string { return "on_tool_call" }

// OnStageExit is the ctx of on_stage_exit. Tidies up after a stage, before the next one is chosen.
type OnStageExit struct {
	Common
	// region name to its text, at most 256 KiB each; conversation and task are built in
	Regions map[string]string `hook:"regions"`
	// finished, or max_turns when the limit ended it
	Outcome string `hook:"outcome"`
}

// EventName is "on_stage_exit".
func (*OnStageExit) EventName() string { return "on_stage_exit" }

// OnCompletion is the ctx of on_completion. Has the last word on a run that finished: may replace its output or fail it.
type OnCompletion struct {
	Common
	// how the run ended: done or failed
	Status string `hook:"status"`
	// the final text
	Output string `hook:"output"`
}

// EventName is "on_completion".
func (*OnCompletion) EventName() string { return "on_completion" }

// OnError is the ctx of on_error. Words the error of a run that failed; the run stays failed.
type OnError struct {
	Common
	// how the run ended: done or failed
	Status string `hook:"status"`
	// what the run had answered so far, empty when nothing
	Output string `hook:"output"`
	// what went wrong, as it will be shown
	Error string `hook:"error"`
}

// EventName is "on_error".
func (*OnError) EventName() string { return "on_error" }

// SystemBefore is the ctx of system:before. Sees the system prompt that a run was given at its start.
type SystemBefore struct {
	Common
	// the run's system prompt
	System string `hook:"system"`
}

// EventName is "system:before".
func (*SystemBefore) EventName() string { return "system:before" }

// AgentStart is the ctx of agent:start. Marks the start of a run.
type AgentStart struct {
	Common
	// what the user asked for
	Prompt string `hook:"prompt"`
	// the model's name in the manifest
	Model string `hook:"model"`
	// how the run treats what needs an approval
	Mode string `hook:"mode"`
	// whether the run goes on after its process ended
	Resumed bool `hook:"resumed"`
}

// EventName is "agent:start".
func (*AgentStart) EventName() string { return "agent:start" }

// TurnBefore is the ctx of turn:before. Tunes the options of one model request. For messages, use context:transform.
type TurnBefore struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// the options of the request
	Options struct {
		// the most tokens that the answer may have, 0 for the model's own limit
		MaxTokens *int64 `hook:"max_tokens"`
		// tokens for reasoning, 0 for none
		ThinkingBudget *int64 `hook:"thinking_budget"`
	} `hook:"options"`
	// the size of what will be sent
	Messages struct {
		// how many messages
		Count int64 `hook:"count"`
		// how many bytes of text they have together
		Bytes int64 `hook:"bytes"`
	} `hook:"messages"`
	// the names of the tools that the model is offered
	Tools []string `hook:"tools"`
}

// EventName is "turn:before".
func (*TurnBefore) EventName() string { return "turn:before" }

// ContextTransform is the ctx of context:transform. Rewrites the messages of one request; the transcript stays as it is.
type ContextTransform struct {
	Common
	// what will be sent, oldest first
	Messages []struct {
		// who says it; results of tools are the user's
		Role string `hook:"role"`
		// its parts in order
		Content []struct {
			// what the part is; a reminder is text of the host
			Type string `hook:"type"`
			// the text of a text, thinking, reminder or tool_result part
			Text *string `hook:"text"`
			// the call's id, of a tool_call or tool_result
			ID *string `hook:"id"`
			// the tool's name, of a tool_call
			Name *string `hook:"name"`
			// the tool's arguments, of a tool_call
			Arguments map[string]any `hook:"arguments"`
			// whether a tool_result is an error
			IsError *bool `hook:"is_error"`
			// of an image, such as image/png
			MediaType *string `hook:"media_type"`
			// names the part in the transcript: a part that keeps it keeps what is not shown here, such as an image's bytes
			Ref *string `hook:"ref"`
		} `hook:"content"`
	} `hook:"messages"`
}

// EventName is "context:transform".
func (*ContextTransform) EventName() string { return "context:transform" }

// SystemTransform is the ctx of system:transform. Rewrites the system prompt of one request.
type SystemTransform struct {
	Common
	// the system prompt that will be sent
	System string `hook:"system"`
}

// EventName is "system:transform".
func (*SystemTransform) EventName() string { return "system:transform" }

// StreamStart is the ctx of stream:start. Marks the start of a request to the model.
type StreamStart struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// which attempt at this answer it is, from 1
	Attempt int64 `hook:"attempt"`
}

// EventName is "stream:start".
func (*StreamStart) EventName() string { return "stream:start" }

// StreamThinking is the ctx of stream:thinking. Sees a piece of the model's reasoning.
type StreamThinking struct {
	Common
	// the piece
	Delta string `hook:"delta"`
	// all reasoning of this answer so far
	Thinking string `hook:"thinking"`
}

// EventName is "stream:thinking".
func (*StreamThinking) EventName() string { return "stream:thinking" }

// StreamText is the ctx of stream:text. Sees a piece of the model's text, which is provisional until the answer counts.
type StreamText struct {
	Common
	// the piece
	Delta string `hook:"delta"`
	// all text of this answer so far
	Text string `hook:"text"`
}

// EventName is "stream:text".
func (*StreamText) EventName() string { return "stream:text" }

// StreamEnd is the ctx of stream:end. Sees the whole text that was streamed.
type StreamEnd struct {
	Common
	// the text of the answer
	Text string `hook:"text"`
}

// EventName is "stream:end".
func (*StreamEnd) EventName() string { return "stream:end" }

// StreamProgress is the ctx of stream:progress. Tells how far an answer is.
type StreamProgress struct {
	Common
	// since the request was sent, in milliseconds
	ElapsedMS int64 `hook:"elapsed_ms"`
	// bytes of text so far
	TextBytes int64 `hook:"text_bytes"`
	// bytes of reasoning so far
	ThinkingBytes int64 `hook:"thinking_bytes"`
	// pieces so far
	Chunks int64 `hook:"chunks"`
}

// EventName is "stream:progress".
func (*StreamProgress) EventName() string { return "stream:progress" }

// StreamServerToolUse is the ctx of stream:server_tool_use. Sees a tool that the provider runs itself, such as a web search.
type StreamServerToolUse struct {
	Common
	// the provider's id of the use
	ID string `hook:"id"`
	// the tool's name
	Name string `hook:"name"`
	// what it was asked, nil where it is not known
	Input any `hook:"input"`
}

// EventName is "stream:server_tool_use".
func (*StreamServerToolUse) EventName() string { return "stream:server_tool_use" }

// StreamServerToolResult is the ctx of stream:server_tool_result. Sees what a tool of the provider's came to.
type StreamServerToolResult struct {
	Common
	// the provider's id of the use
	ID string `hook:"id"`
	// the tool's name
	Name string `hook:"name"`
	// its result as the provider tells it
	Result any `hook:"result"`
	// whether it failed
	IsError bool `hook:"is_error"`
}

// EventName is "stream:server_tool_result".
func (*StreamServerToolResult) EventName() string { return "stream:server_tool_result" }

// StreamError is the ctx of stream:error. Sees a request that failed for good.
type StreamError struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// what went wrong
	Error string `hook:"error"`
	// the provider's HTTP status, nil where none came
	HTTPStatus *int64 `hook:"http_status"`
	// how many requests were made
	Attempts int64 `hook:"attempts"`
}

// EventName is "stream:error".
func (*StreamError) EventName() string { return "stream:error" }

// StreamRetry is the ctx of stream:retry. Sees a request that will be made again.
type StreamRetry struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// what went wrong
	Error string `hook:"error"`
	// the provider's HTTP status, nil where none came
	HTTPStatus *int64 `hook:"http_status"`
	// the attempt that failed, from 1
	Attempt int64 `hook:"attempt"`
	// how long is waited, in milliseconds
	AfterMS int64 `hook:"after_ms"`
}

// EventName is "stream:retry".
func (*StreamRetry) EventName() string { return "stream:retry" }

// ModelFallback is the ctx of model:fallback. Sees the run move on to another model.
type ModelFallback struct {
	Common
	// the model that failed
	From string `hook:"from"`
	// the model that takes over
	To string `hook:"to"`
	// what went wrong
	Error string `hook:"error"`
	// the provider's HTTP status, nil where none came
	HTTPStatus *int64 `hook:"http_status"`
}

// EventName is "model:fallback".
func (*ModelFallback) EventName() string { return "model:fallback" }

// ContextOverflow is the ctx of context:overflow. Sees a request that was too long and is made shorter.
type ContextOverflow struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// what went wrong
	Error string `hook:"error"`
	// which time in this turn, from 1; each moves the cutoff on
	Attempt int64 `hook:"attempt"`
	// the message before which output is stubbed; later turns keep to it
	Cutoff int64 `hook:"cutoff"`
	// how many parts are stubs now
	Stubbed int64 `hook:"stubbed"`
	// bytes that the stubs save
	Bytes int64 `hook:"bytes"`
}

// EventName is "context:overflow".
func (*ContextOverflow) EventName() string { return "context:overflow" }

// CompactStart is the ctx of compact:start. Marks the start of a summary of older turns.
type CompactStart struct {
	Common
	// auto when the context filled up, manual when it was asked for
	Reason string `hook:"reason"`
	// tokens in the context, estimated
	Before int64 `hook:"before"`
	// how many messages will be summarised
	Messages int64 `hook:"messages"`
}

// EventName is "compact:start".
func (*CompactStart) EventName() string { return "compact:start" }

// CompactProgress is the ctx of compact:progress. Tells how far a summary is.
type CompactProgress struct {
	Common
	// auto when the context filled up, manual when it was asked for
	Reason string `hook:"reason"`
	// bytes of summary so far
	TextBytes int64 `hook:"text_bytes"`
}

// EventName is "compact:progress".
func (*CompactProgress) EventName() string { return "compact:progress" }

// CompactEnd is the ctx of compact:end. Sees what a summary came to.
type CompactEnd struct {
	Common
	// auto when the context filled up, manual when it was asked for
	Reason string `hook:"reason"`
	// whether it is in force
	Ok bool `hook:"ok"`
	// why it is not, nil when it is
	Error *string `hook:"error"`
	// tokens in the context before, estimated
	Before int64 `hook:"before"`
	// tokens after, estimated
	After int64 `hook:"after"`
	// the summary, empty when it failed
	Summary string `hook:"summary"`
}

// EventName is "compact:end".
func (*CompactEnd) EventName() string { return "compact:end" }

// SteerInject is the ctx of steer:inject. Sees what the user said while the run was at work.
type SteerInject struct {
	Common
	// the message's id
	ID string `hook:"id"`
	// its text
	Text string `hook:"text"`
	// its parts
	Content []struct {
		// what the part is; a reminder is text of the host
		Type string `hook:"type"`
		// the text of a text, thinking, reminder or tool_result part
		Text *string `hook:"text"`
		// the call's id, of a tool_call or tool_result
		ID *string `hook:"id"`
		// the tool's name, of a tool_call
		Name *string `hook:"name"`
		// the tool's arguments, of a tool_call
		Arguments map[string]any `hook:"arguments"`
		// whether a tool_result is an error
		IsError *bool `hook:"is_error"`
		// of an image, such as image/png
		MediaType *string `hook:"media_type"`
		// names the part in the transcript: a part that keeps it keeps what is not shown here, such as an image's bytes
		Ref *string `hook:"ref"`
	} `hook:"content"`
}

// EventName is "steer:inject".
func (*SteerInject) EventName() string { return "steer:inject" }

// TurnAfter is the ctx of turn:after. Sees each turn with what the model answered.
type TurnAfter struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// the tokens of this answer
	Usage struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"usage"`
	// the answer, nil when there is none
	Message *struct {
		// who says it; results of tools are the user's
		Role string `hook:"role"`
		// its parts in order
		Content []struct {
			// what the part is; a reminder is text of the host
			Type string `hook:"type"`
			// the text of a text, thinking, reminder or tool_result part
			Text *string `hook:"text"`
			// the call's id, of a tool_call or tool_result
			ID *string `hook:"id"`
			// the tool's name, of a tool_call
			Name *string `hook:"name"`
			// the tool's arguments, of a tool_call
			Arguments map[string]any `hook:"arguments"`
			// whether a tool_result is an error
			IsError *bool `hook:"is_error"`
			// of an image, such as image/png
			MediaType *string `hook:"media_type"`
			// names the part in the transcript: a part that keeps it keeps what is not shown here, such as an image's bytes
			Ref *string `hook:"ref"`
		} `hook:"content"`
	} `hook:"message"`
	// why the model stopped: end, tool_use, max_tokens, refusal; empty after an error
	StopReason string `hook:"stop_reason"`
	// what went wrong, nil when nothing
	Error *string `hook:"error"`
}

// EventName is "turn:after".
func (*TurnAfter) EventName() string { return "turn:after" }

// ToolResultsAfter is the ctx of tool-results:after. Sees the results of a batch as the model will.
type ToolResultsAfter struct {
	Common
	// the results in the order of the calls
	Results []struct {
		// the call's id
		CallID string `hook:"call_id"`
		// the tool's name
		Name string `hook:"name"`
		// how the call ended
		Outcome string `hook:"outcome"`
		// whether the result is an error
		IsError bool `hook:"is_error"`
		// bytes of the result that the model sees
		OutputBytes int64 `hook:"output_bytes"`
	} `hook:"results"`
}

// EventName is "tool-results:after".
func (*ToolResultsAfter) EventName() string { return "tool-results:after" }

// Usage is the ctx of usage. Counts tokens and cost.
type Usage struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// the tokens of this answer
	Usage struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"usage"`
	// the tokens of the session so far
	Total struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"total"`
	// what it cost, nil where no price is known
	Cost *struct {
		// how much
		Amount float64 `hook:"amount"`
		// of what, such as USD
		Currency string `hook:"currency"`
	} `hook:"cost"`
}

// EventName is "usage".
func (*Usage) EventName() string { return "usage" }

// Output is the ctx of output. Sees the structured output of a run.
type Output struct {
	Common
	// the output
	Output any `hook:"output"`
	// the text that it was read from
	Text string `hook:"text"`
}

// EventName is "output".
func (*Output) EventName() string { return "output" }

// AgentDone is the ctx of agent:done. Sees how a run ended and what it took.
type AgentDone struct {
	Common
	// how the run ended
	Status string `hook:"status"`
	// why: end, hook, policy, limit, model, user, internal
	StopReason string `hook:"stop_reason"`
	// the final text, empty when there is none
	Output string `hook:"output"`
	// what went wrong, nil when nothing
	Error *string `hook:"error"`
	// how many turns it took
	Turns int64 `hook:"turns"`
	// how many calls ended
	ToolCalls int64 `hook:"tool_calls"`
	// its tokens, those of sub-agents included
	Usage struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"usage"`
	// what it cost, nil where no price is known
	Cost *struct {
		// how much
		Amount float64 `hook:"amount"`
		// of what, such as USD
		Currency string `hook:"currency"`
	} `hook:"cost"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "agent:done".
func (*AgentDone) EventName() string { return "agent:done" }

// AgentAbort is the ctx of agent:abort. Sees a run that was stopped from outside.
type AgentAbort struct {
	Common
	// why it was stopped
	Reason string `hook:"reason"`
}

// EventName is "agent:abort".
func (*AgentAbort) EventName() string { return "agent:abort" }

// ToolGate is the ctx of tool:gate. Refuses a call or answers in its place.
type ToolGate struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// arguments that were of another type and were read as the right one; nil when there are none
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
	// how often each tool ran in this run before; a tool that never did is not there
	RunToolCounts map[string]int64 `hook:"run_tool_counts"`
	// whether the call passed this gate in a process that ended; substitute is ignored then, and deny counts only if the call would run again
	Resumed bool `hook:"resumed"`
	// the state that this hook returned for the call before the process ended; nil otherwise
	ResumeState map[string]any `hook:"resume_state"`
}

// EventName is "tool:gate".
func (*ToolGate) EventName() string { return "tool:gate" }

// ToolDispatched is the ctx of tool:dispatched. Sees what became of a call at the gate.
type ToolDispatched struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name as the model wrote it
	Name string `hook:"name"`
	// the arguments as the model wrote them
	Input any `hook:"input"`
	// run when it will run, else why it will not
	Outcome string `hook:"outcome"`
	// which layer decided: schema, hook, builtin, rule, taint, approval
	Layer string `hook:"layer"`
	// why, nil when it runs
	Reason *string `hook:"reason"`
}

// EventName is "tool:dispatched".
func (*ToolDispatched) EventName() string { return "tool:dispatched" }

// ToolBefore is the ctx of tool:before. Sees a call as it starts.
type ToolBefore struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// arguments that were of another type and were read as the right one; nil when there are none
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
	// what it does, in a line for people
	Title string `hook:"title"`
	// what it may do at most
	Effect string `hook:"effect"`
}

// EventName is "tool:before".
func (*ToolBefore) EventName() string { return "tool:before" }

// ToolUnknown is the ctx of tool:unknown. Answers a call of a tool that does not exist.
type ToolUnknown struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name as the model wrote it
	Name string `hook:"name"`
	// the arguments as the model wrote them
	Input any `hook:"input"`
	// the nearest tool that there is, nil when none is near
	Nearest *string `hook:"nearest"`
	// the names of the tools that there are
	Available []string `hook:"available"`
	// the result that the model will see
	Result string `hook:"result"`
	// whether the result is no error
	SuppressError bool `hook:"suppress_error"`
}

// EventName is "tool:unknown".
func (*ToolUnknown) EventName() string { return "tool:unknown" }

// ToolTransform is the ctx of tool:transform. Rewrites the result of a call before the model sees it.
type ToolTransform struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// the result that the model will see
	Result string `hook:"result"`
	// whether the result is an error
	IsError bool `hook:"is_error"`
	// bytes that the tool produced
	OutputBytes int64 `hook:"output_bytes"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
	// arguments that were of another type and were read as the right one; nil when there are none
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
}

// EventName is "tool:transform".
func (*ToolTransform) EventName() string { return "tool:transform" }

// ToolAfter is the ctx of tool:after. Sees a call that ended, with what the model asked for and what ran.
type ToolAfter struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// the arguments as the model wrote them
	OriginalInput any `hook:"original_input"`
	// the result that the model will see
	Result string `hook:"result"`
	// whether the result is an error
	IsError bool `hook:"is_error"`
	// how the call ended
	Outcome string `hook:"outcome"`
	// bytes that the model sees
	OutputBytes int64 `hook:"output_bytes"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
	// arguments that were of another type and were read as the right one; nil when there are none
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
}

// EventName is "tool:after".
func (*ToolAfter) EventName() string { return "tool:after" }

// ToolError is the ctx of tool:error. Words the error of a tool for the model.
type ToolError struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// what went wrong
	Error string `hook:"error"`
	// the result that the model will see
	Result string `hook:"result"`
}

// EventName is "tool:error".
func (*ToolError) EventName() string { return "tool:error" }

// ToolCancelled is the ctx of tool:cancelled. Sees a call that was cancelled by itself.
type ToolCancelled struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// whether it was running already
	Running bool `hook:"running"`
}

// EventName is "tool:cancelled".
func (*ToolCancelled) EventName() string { return "tool:cancelled" }

// MCPToolGate is the ctx of mcp:tool:gate. Refuses a call of an MCP tool or answers in its place.
type MCPToolGate struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// the tool's name on its server
	Tool string `hook:"tool"`
	// the tool's whole name, mcp__SERVER__TOOL
	Name string `hook:"name"`
	// the tool's arguments
	Input map[string]any `hook:"input"`
	// arguments that were of another type and were read as the right one; nil when there are none
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
}

// EventName is "mcp:tool:gate".
func (*MCPToolGate) EventName() string { return "mcp:tool:gate" }

// MCPToolBefore is the ctx of mcp:tool:before. Sees a call as it is sent to an MCP server.
type MCPToolBefore struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// the tool's name on its server
	Tool string `hook:"tool"`
	// the tool's whole name, mcp__SERVER__TOOL
	Name string `hook:"name"`
	// the tool's arguments
	Input map[string]any `hook:"input"`
}

// EventName is "mcp:tool:before".
func (*MCPToolBefore) EventName() string { return "mcp:tool:before" }

// MCPToolTransform is the ctx of mcp:tool:transform. Rewrites the result of an MCP tool before tool:transform.
type MCPToolTransform struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// the tool's name on its server
	Tool string `hook:"tool"`
	// the tool's whole name, mcp__SERVER__TOOL
	Name string `hook:"name"`
	// the tool's arguments
	Input map[string]any `hook:"input"`
	// the result that the model will see
	Result string `hook:"result"`
	// whether the result is an error
	IsError bool `hook:"is_error"`
	// bytes that the tool produced
	OutputBytes int64 `hook:"output_bytes"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "mcp:tool:transform".
func (*MCPToolTransform) EventName() string { return "mcp:tool:transform" }

// MCPToolAfter is the ctx of mcp:tool:after. Sees a call of an MCP tool that is complete.
type MCPToolAfter struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// the tool's name on its server
	Tool string `hook:"tool"`
	// the tool's whole name, mcp__SERVER__TOOL
	Name string `hook:"name"`
	// the tool's arguments
	Input map[string]any `hook:"input"`
	// the result that the model will see
	Result string `hook:"result"`
	// whether the result is an error
	IsError bool `hook:"is_error"`
	// bytes that the model sees
	OutputBytes int64 `hook:"output_bytes"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "mcp:tool:after".
func (*MCPToolAfter) EventName() string { return "mcp:tool:after" }

// MCPToolError is the ctx of mcp:tool:error. Sees a call of an MCP tool that failed.
type MCPToolError struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// the tool's name on its server
	Tool string `hook:"tool"`
	// the tool's whole name, mcp__SERVER__TOOL
	Name string `hook:"name"`
	// the tool's arguments
	Input map[string]any `hook:"input"`
	// what went wrong
	Error string `hook:"error"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "mcp:tool:error".
func (*MCPToolError) EventName() string { return "mcp:tool:error" }

// ValidationReject is the ctx of validation:reject. Sees arguments that do not fit.
type ValidationReject struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name as the model wrote it
	Name string `hook:"name"`
	// the arguments as the model wrote them
	Input any `hook:"input"`
	// what went wrong
	Error string `hook:"error"`
	// each fault
	Errors []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// what is wrong with it
		Message string `hook:"message"`
	} `hook:"errors"`
}

// EventName is "validation:reject".
func (*ValidationReject) EventName() string { return "validation:reject" }

// ValidationCoerce is the ctx of validation:coerce. Sees arguments that were read as the right type.
type ValidationCoerce struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// the arguments as the model wrote them
	OriginalInput any `hook:"original_input"`
	// what was read otherwise
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
}

// EventName is "validation:coerce".
func (*ValidationCoerce) EventName() string { return "validation:coerce" }

// BudgetExceeded is the ctx of budget:exceeded. Sees a turn with more tool output than its budget.
type BudgetExceeded struct {
	Common
	// bytes of tool output in this turn
	Bytes int64 `hook:"bytes"`
	// how many there may be
	Budget int64 `hook:"budget"`
}

// EventName is "budget:exceeded".
func (*BudgetExceeded) EventName() string { return "budget:exceeded" }

// ToolBudgetExceeded is the ctx of tool-budget:exceeded. Sees a tool called more often than its budget.
type ToolBudgetExceeded struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// how often it may be called in a run
	Max int64 `hook:"max"`
	// how often it is, with this call
	Count int64 `hook:"count"`
	// steer lets it run and tells the model, block refuses
	OnExceed string `hook:"on_exceed"`
}

// EventName is "tool-budget:exceeded".
func (*ToolBudgetExceeded) EventName() string { return "tool-budget:exceeded" }

// RepeatGuardExceeded is the ctx of repeat-guard:exceeded. Sees the same call again and again.
type RepeatGuardExceeded struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// how long the streak is
	Count int64 `hook:"count"`
	// the threshold that it reached
	Threshold int64 `hook:"threshold"`
	// block refuses the call, abort ends the run
	Action string `hook:"action"`
}

// EventName is "repeat-guard:exceeded".
func (*RepeatGuardExceeded) EventName() string { return "repeat-guard:exceeded" }

// MCPBootstrapStart is the ctx of mcp:bootstrap:start. Marks the start of an MCP server.
type MCPBootstrapStart struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// how it is reached
	Transport string `hook:"transport"`
}

// EventName is "mcp:bootstrap:start".
func (*MCPBootstrapStart) EventName() string { return "mcp:bootstrap:start" }

// MCPBootstrapEnd is the ctx of mcp:bootstrap:end. Sees what the start of an MCP server came to.
type MCPBootstrapEnd struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// how it is reached
	Transport string `hook:"transport"`
	// whether it can be used
	Ok bool `hook:"ok"`
	// why not, nil when it can
	Error *string `hook:"error"`
	// how many tools it offers
	Tools int64 `hook:"tools"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "mcp:bootstrap:end".
func (*MCPBootstrapEnd) EventName() string { return "mcp:bootstrap:end" }

// MCPBootstrapSettled is the ctx of mcp:bootstrap:settled. Sees what all MCP servers came to.
type MCPBootstrapSettled struct {
	Common
	// each server, by name
	Results []struct {
		// the server's name
		Name string `hook:"name"`
		// whether it can be used
		Ok bool `hook:"ok"`
		// why not, nil when it can
		Error *string `hook:"error"`
		// how many tools it offers
		Tools int64 `hook:"tools"`
		// how long it took, in milliseconds
		DurationMS int64 `hook:"duration_ms"`
	} `hook:"results"`
}

// EventName is "mcp:bootstrap:settled".
func (*MCPBootstrapSettled) EventName() string { return "mcp:bootstrap:settled" }

// MCPToolsList is the ctx of mcp:tools:list. Sees a server's tools before any filter.
type MCPToolsList struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// the tools as the server lists them
	Tools []struct {
		// the tool's name on its server
		Name string `hook:"name"`
		// what the server says that it does
		Description string `hook:"description"`
		// the JSON schema of its arguments
		InputSchema any `hook:"input_schema"`
	} `hook:"tools"`
}

// EventName is "mcp:tools:list".
func (*MCPToolsList) EventName() string { return "mcp:tools:list" }

// MCPConnect is the ctx of mcp:connect. Sees a connection to an MCP server.
type MCPConnect struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// how it is reached
	Transport string `hook:"transport"`
	// whether it was connected before
	Reconnect bool `hook:"reconnect"`
}

// EventName is "mcp:connect".
func (*MCPConnect) EventName() string { return "mcp:connect" }

// MCPError is the ctx of mcp:error. Sees a fault of an MCP connection.
type MCPError struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// what went wrong
	Error string `hook:"error"`
}

// EventName is "mcp:error".
func (*MCPError) EventName() string { return "mcp:error" }

// MCPWarn is the ctx of mcp:warn. Sees something odd that does not end a connection.
type MCPWarn struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// what is odd
	Message string `hook:"message"`
}

// EventName is "mcp:warn".
func (*MCPWarn) EventName() string { return "mcp:warn" }

// MCPClose is the ctx of mcp:close. Sees the end of an MCP connection.
type MCPClose struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// why
	Reason string `hook:"reason"`
}

// EventName is "mcp:close".
func (*MCPClose) EventName() string { return "mcp:close" }

// MCPToolsFilter is the ctx of mcp:tools:filter. Leaves out tools of an MCP server.
type MCPToolsFilter struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// the tools that would be registered
	Tools []struct {
		// the tool's name on its server
		Name string `hook:"name"`
		// what the server says that it does
		Description string `hook:"description"`
		// the JSON schema of its arguments
		InputSchema any `hook:"input_schema"`
	} `hook:"tools"`
}

// EventName is "mcp:tools:filter".
func (*MCPToolsFilter) EventName() string { return "mcp:tools:filter" }

// MCPAuthRequired is the ctx of mcp:auth:required. Sees a server that wants a login.
type MCPAuthRequired struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
}

// EventName is "mcp:auth:required".
func (*MCPAuthRequired) EventName() string { return "mcp:auth:required" }

// MCPAuthURL is the ctx of mcp:auth:url. Sees where the user logs in.
type MCPAuthURL struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// the page
	URL string `hook:"url"`
}

// EventName is "mcp:auth:url".
func (*MCPAuthURL) EventName() string { return "mcp:auth:url" }

// MCPAuthSuccess is the ctx of mcp:auth:success. Sees a login that worked.
type MCPAuthSuccess struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
}

// EventName is "mcp:auth:success".
func (*MCPAuthSuccess) EventName() string { return "mcp:auth:success" }

// MCPAuthError is the ctx of mcp:auth:error. Sees a login that failed.
type MCPAuthError struct {
	Common
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// what went wrong
	Error string `hook:"error"`
}

// EventName is "mcp:auth:error".
func (*MCPAuthError) EventName() string { return "mcp:auth:error" }

// SkillsResolve is the ctx of skills:resolve. Sees the skills that were found.
type SkillsResolve struct {
	Common
	// the skills found, by name
	Skills []struct {
		// the skill's name
		Name string `hook:"name"`
		// when to use it
		Description string `hook:"description"`
		// its SKILL.md
		Path string `hook:"path"`
	} `hook:"skills"`
}

// EventName is "skills:resolve".
func (*SkillsResolve) EventName() string { return "skills:resolve" }

// SkillsCatalog is the ctx of skills:catalog. Leaves skills out of the catalogue that the model sees.
type SkillsCatalog struct {
	Common
	// the skills that the prompt would list
	Catalog []struct {
		// the skill's name
		Name string `hook:"name"`
		// when to use it
		Description string `hook:"description"`
		// its SKILL.md
		Path string `hook:"path"`
	} `hook:"catalog"`
}

// EventName is "skills:catalog".
func (*SkillsCatalog) EventName() string { return "skills:catalog" }

// SkillsActivate is the ctx of skills:activate. Sees a skill taken up.
type SkillsActivate struct {
	Common
	// the skill's name
	Name string `hook:"name"`
	// its SKILL.md
	Path string `hook:"path"`
	// the tools that it may use, nil when it does not say
	AllowedTools []string `hook:"allowed_tools"`
	// who took it up
	By string `hook:"by"`
}

// EventName is "skills:activate".
func (*SkillsActivate) EventName() string { return "skills:activate" }

// SkillsDeactivate is the ctx of skills:deactivate. Sees a skill put down.
type SkillsDeactivate struct {
	Common
	// the skill's name
	Name string `hook:"name"`
	// who put it down
	By string `hook:"by"`
}

// EventName is "skills:deactivate".
func (*SkillsDeactivate) EventName() string { return "skills:deactivate" }

// SessionStart is the ctx of session:start. Marks the start of a run in its session.
type SessionStart struct {
	Common
	// whether an interrupted run goes on
	Resumed bool `hook:"resumed"`
	// how many turns the session has already
	Turns int64 `hook:"turns"`
}

// EventName is "session:start".
func (*SessionStart) EventName() string { return "session:start" }

// SessionEnd is the ctx of session:end. Marks the end of a run in its session.
type SessionEnd struct {
	Common
	// how the run ended
	Status string `hook:"status"`
	// how many turns the session has
	Turns int64 `hook:"turns"`
}

// EventName is "session:end".
func (*SessionEnd) EventName() string { return "session:end" }

// SessionTurns is the ctx of session:turns. Sees turns being kept.
type SessionTurns struct {
	Common
	// how many messages the transcript has
	Count int64 `hook:"count"`
	// those that are new
	Added []struct {
		// who says it; results of tools are the user's
		Role string `hook:"role"`
		// its parts in order
		Content []struct {
			// what the part is; a reminder is text of the host
			Type string `hook:"type"`
			// the text of a text, thinking, reminder or tool_result part
			Text *string `hook:"text"`
			// the call's id, of a tool_call or tool_result
			ID *string `hook:"id"`
			// the tool's name, of a tool_call
			Name *string `hook:"name"`
			// the tool's arguments, of a tool_call
			Arguments map[string]any `hook:"arguments"`
			// whether a tool_result is an error
			IsError *bool `hook:"is_error"`
			// of an image, such as image/png
			MediaType *string `hook:"media_type"`
			// names the part in the transcript: a part that keeps it keeps what is not shown here, such as an image's bytes
			Ref *string `hook:"ref"`
		} `hook:"content"`
	} `hook:"added"`
}

// EventName is "session:turns".
func (*SessionTurns) EventName() string { return "session:turns" }

// SessionMeta is the ctx of session:meta. Sees what is noted about a session.
type SessionMeta struct {
	Common
	// title, status, turns and usage as they are now
	Meta map[string]any `hook:"meta"`
}

// EventName is "session:meta".
func (*SessionMeta) EventName() string { return "session:meta" }

// SessionSave is the ctx of session:save. Sees the journal written.
type SessionSave struct {
	Common
	// the session's newest event
	Seq int64 `hook:"seq"`
}

// EventName is "session:save".
func (*SessionSave) EventName() string { return "session:save" }

// ExecutionReady is the ctx of execution:ready. Sees what commands run in.
type ExecutionReady struct {
	Common
	// what it is, such as process or container
	Kind string `hook:"kind"`
	// the folder that commands run in
	Root string `hook:"root"`
	// what is in force there
	Sandbox string `hook:"sandbox"`
}

// EventName is "execution:ready".
func (*ExecutionReady) EventName() string { return "execution:ready" }

// ToolStateCommitFailed is the ctx of tool-state:commit-failed. Sees durable state of a tool that could not be kept.
type ToolStateCommitFailed struct {
	Common
	// the call
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// what went wrong
	Error string `hook:"error"`
}

// EventName is "tool-state:commit-failed".
func (*ToolStateCommitFailed) EventName() string { return "tool-state:commit-failed" }

// ArtifactRecorded is the ctx of artifact:recorded. Sees something that a run made and keeps.
type ArtifactRecorded struct {
	Common
	// the artifact's id
	ID string `hook:"id"`
	// its name
	Name string `hook:"name"`
	// what it is, such as text/html
	MediaType string `hook:"media_type"`
	// its size
	Bytes int64 `hook:"bytes"`
	// the file that it is in, nil when it is in none
	Path *string `hook:"path"`
	// the call that made it, nil when none did
	CallID *string `hook:"call_id"`
}

// EventName is "artifact:recorded".
func (*ArtifactRecorded) EventName() string { return "artifact:recorded" }

// BackgroundStart is the ctx of background:start. Sees a background task start.
type BackgroundStart struct {
	Common
	// the task's id
	TaskID string `hook:"task_id"`
	// what it does, in a line
	Title string `hook:"title"`
	// the shell line, empty for a task that is none
	Command string `hook:"command"`
	// the call that started it
	CallID string `hook:"call_id"`
}

// EventName is "background:start".
func (*BackgroundStart) EventName() string { return "background:start" }

// BackgroundExit is the ctx of background:exit. Sees a background task end.
type BackgroundExit struct {
	Common
	// the task's id
	TaskID string `hook:"task_id"`
	// what it does, in a line
	Title string `hook:"title"`
	// the shell line, empty for a task that is none
	Command string `hook:"command"`
	// the call that started it
	CallID string `hook:"call_id"`
	// whether it ended by itself
	Status string `hook:"status"`
	// its exit status, nil when it was killed
	ExitCode *int64 `hook:"exit_code"`
	// the end of what it printed
	Output string `hook:"output"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "background:exit".
func (*BackgroundExit) EventName() string { return "background:exit" }

// BackgroundStall is the ctx of background:stall. Sees a background task that says nothing for long.
type BackgroundStall struct {
	Common
	// the task's id
	TaskID string `hook:"task_id"`
	// what it does, in a line
	Title string `hook:"title"`
	// the shell line, empty for a task that is none
	Command string `hook:"command"`
	// the call that started it
	CallID string `hook:"call_id"`
	// for how long, in milliseconds
	IdleMS int64 `hook:"idle_ms"`
	// the end of what it printed
	Output string `hook:"output"`
}

// EventName is "background:stall".
func (*BackgroundStall) EventName() string { return "background:stall" }

// BackgroundReassign is the ctx of background:reassign. Sees a task move to the parent.
type BackgroundReassign struct {
	Common
	// the task's id
	TaskID string `hook:"task_id"`
	// what it does, in a line
	Title string `hook:"title"`
	// the shell line, empty for a task that is none
	Command string `hook:"command"`
	// the call that started it
	CallID string `hook:"call_id"`
	// the run that had it
	FromRunID string `hook:"from_run_id"`
	// the run that has it now
	ToRunID string `hook:"to_run_id"`
}

// EventName is "background:reassign".
func (*BackgroundReassign) EventName() string { return "background:reassign" }

// BackgroundAdopt is the ctx of background:adopt. Sees a task taken over by a later run.
type BackgroundAdopt struct {
	Common
	// the task's id
	TaskID string `hook:"task_id"`
	// what it does, in a line
	Title string `hook:"title"`
	// the shell line, empty for a task that is none
	Command string `hook:"command"`
	// the call that started it
	CallID string `hook:"call_id"`
	// the run that had started it
	FromRunID string `hook:"from_run_id"`
}

// EventName is "background:adopt".
func (*BackgroundAdopt) EventName() string { return "background:adopt" }

// BackgroundReconcile is the ctx of background:reconcile. Sees the tasks that ended between two runs.
type BackgroundReconcile struct {
	Common
	// the tasks that ended
	Tasks []struct {
		// the task's id
		TaskID string `hook:"task_id"`
		// what it does, in a line
		Title string `hook:"title"`
		// how it ended; lost when nobody saw it end
		Status string `hook:"status"`
		// its exit status, nil when there is none
		ExitCode *int64 `hook:"exit_code"`
	} `hook:"tasks"`
}

// EventName is "background:reconcile".
func (*BackgroundReconcile) EventName() string { return "background:reconcile" }

// DecisionStart is the ctx of decision:start. Sees a question put to the model beside the run.
type DecisionStart struct {
	Common
	// the decision's id
	DecisionID string `hook:"decision_id"`
	// the question
	Question string `hook:"question"`
	// the JSON schema of the answer
	Schema any `hook:"schema"`
}

// EventName is "decision:start".
func (*DecisionStart) EventName() string { return "decision:start" }

// DecisionEnd is the ctx of decision:end. Sees what a decision came to.
type DecisionEnd struct {
	Common
	// the decision's id
	DecisionID string `hook:"decision_id"`
	// the question
	Question string `hook:"question"`
	// whether there is an answer
	Ok bool `hook:"ok"`
	// why there is none, nil when there is
	Reason *string `hook:"reason"`
	// the tokens that it took
	Usage struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"usage"`
	// the answer, nil when there is none
	Answers any `hook:"answers"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "decision:end".
func (*DecisionEnd) EventName() string { return "decision:end" }

// CacheBreak is the ctx of cache:break. Sees a turn that read much less from the cache.
type CacheBreak struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// tokens read from the cache now
	CacheRead int64 `hook:"cache_read"`
	// tokens read by the turn before
	PreviousCacheRead int64 `hook:"previous_cache_read"`
	// what differs from the last request
	Changed []string `hook:"changed"`
	// which parts of the system prompt differ; empty when it did not change
	SystemSections []string `hook:"system_sections"`
}

// EventName is "cache:break".
func (*CacheBreak) EventName() string { return "cache:break" }

// CacheDrift is the ctx of cache:drift. Sees a request that leaves the cached prefix.
type CacheDrift struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// the first message that differs, from 0; nil when none does
	AtMessage *int64 `hook:"at_message"`
	// what differs from the last request
	Changed []string `hook:"changed"`
	// which parts of the system prompt differ; empty when it did not change
	SystemSections []string `hook:"system_sections"`
}

// EventName is "cache:drift".
func (*CacheDrift) EventName() string { return "cache:drift" }

// HistoryRepair is the ctx of history:repair. Sees reasoning removed from the history.
type HistoryRepair struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// how many parts were removed
	Removed int64 `hook:"removed"`
	// what the provider said
	Reason string `hook:"reason"`
}

// EventName is "history:repair".
func (*HistoryRepair) EventName() string { return "history:repair" }

// ProviderInputTransformations is the ctx of provider:input-transformations. Sees reasoning that the provider dropped.
type ProviderInputTransformations struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// how many parts it dropped
	Dropped int64 `hook:"dropped"`
	// what the provider tells
	Details any `hook:"details"`
}

// EventName is "provider:input-transformations".
func (*ProviderInputTransformations) EventName() string { return "provider:input-transformations" }

// ProviderDiagnostic is the ctx of provider:diagnostic. Sees what a provider remarks on a turn.
type ProviderDiagnostic struct {
	Common
	// the model's name in the manifest
	Model string `hook:"model"`
	// the provider's name for it, empty when it has none
	Code string `hook:"code"`
	// what it says
	Message string `hook:"message"`
	// what else it tells
	Details any `hook:"details"`
}

// EventName is "provider:diagnostic".
func (*ProviderDiagnostic) EventName() string { return "provider:diagnostic" }

// OAuthRefresh is the ctx of oauth:refresh. Sees credentials renewed.
type OAuthRefresh struct {
	Common
	// whose
	Provider string `hook:"provider"`
	// until when they hold, RFC 3339, nil when it is not known
	ExpiresAt *string `hook:"expires_at"`
}

// EventName is "oauth:refresh".
func (*OAuthRefresh) EventName() string { return "oauth:refresh" }

// PairingRepair is the ctx of pairing:repair. Sees a call without a result repaired.
type PairingRepair struct {
	Common
	// the call
	CallID string `hook:"call_id"`
	// the tool's name, empty when it is not known
	Name string `hook:"name"`
	// what was done
	Repair string `hook:"repair"`
}

// EventName is "pairing:repair".
func (*PairingRepair) EventName() string { return "pairing:repair" }

// ContentRefResolve is the ctx of content-ref:resolve. Gives the bytes of content that is kept elsewhere.
type ContentRefResolve struct {
	Common
	// the reference
	Ref string `hook:"ref"`
	// what it is, such as image/png
	MediaType string `hook:"media_type"`
	// the bytes in base64, nil while nobody has them
	Data *string `hook:"data"`
}

// EventName is "content-ref:resolve".
func (*ContentRefResolve) EventName() string { return "content-ref:resolve" }

// TracingRedact is the ctx of tracing:redact. Takes secrets out of what traces, metrics, logs and exports record.
type TracingRedact struct {
	Common
	// what records it
	Kind string `hook:"kind"`
	// what would be recorded without any redaction
	Payload any `hook:"payload"`
	// what will be recorded
	Redacted any `hook:"redacted"`
}

// EventName is "tracing:redact".
func (*TracingRedact) EventName() string { return "tracing:redact" }

// ReplayDone is the ctx of replay:done. Sees a durable host go from replay to live.
type ReplayDone struct {
	Common
	// the host's name
	Runtime string `hook:"runtime"`
	// how many steps were replayed
	Replayed int64 `hook:"replayed"`
}

// EventName is "replay:done".
func (*ReplayDone) EventName() string { return "replay:done" }

// ToolBatchResumed is the ctx of tool-batch:resumed. Sees a batch taken up again.
type ToolBatchResumed struct {
	Common
	// the calls whose results are known
	Done []string `hook:"done"`
	// the calls that run again or are reported as interrupted
	Resuming []string `hook:"resuming"`
}

// EventName is "tool-batch:resumed".
func (*ToolBatchResumed) EventName() string { return "tool-batch:resumed" }

// ResumeMismatch is the ctx of resume:mismatch. Sees a run that cannot be taken up.
type ResumeMismatch struct {
	Common
	// the turn of the batch
	ResumeTurn int64 `hook:"resume_turn"`
	// the turns that are saved
	StoredTurns int64 `hook:"stored_turns"`
	// what does not fit
	Reason string `hook:"reason"`
}

// EventName is "resume:mismatch".
func (*ResumeMismatch) EventName() string { return "resume:mismatch" }

// SpawnQueued is the ctx of spawn:queued. Sees a sub-agent wait for its turn.
type SpawnQueued struct {
	Common
	// the call of spawn
	CallID string `hook:"call_id"`
	// the sub-agent's run
	ChildID string `hook:"child_id"`
	// the sub-agent's name in the manifest
	ChildAgent string `hook:"child_agent"`
	// what it is asked to do
	Prompt string `hook:"prompt"`
}

// EventName is "spawn:queued".
func (*SpawnQueued) EventName() string { return "spawn:queued" }

// SpawnBefore is the ctx of spawn:before. Sees a sub-agent start.
type SpawnBefore struct {
	Common
	// the call of spawn
	CallID string `hook:"call_id"`
	// the sub-agent's run
	ChildID string `hook:"child_id"`
	// the sub-agent's name in the manifest
	ChildAgent string `hook:"child_agent"`
	// what it is asked to do
	Prompt string `hook:"prompt"`
}

// EventName is "spawn:before".
func (*SpawnBefore) EventName() string { return "spawn:before" }

// SpawnComplete is the ctx of spawn:complete. Sees what a sub-agent answered.
type SpawnComplete struct {
	Common
	// the call of spawn
	CallID string `hook:"call_id"`
	// the sub-agent's run
	ChildID string `hook:"child_id"`
	// the sub-agent's name in the manifest
	ChildAgent string `hook:"child_agent"`
	// what it is asked to do
	Prompt string `hook:"prompt"`
	// its final text
	Result string `hook:"result"`
	// how many turns it took
	Turns int64 `hook:"turns"`
	// its tokens
	Usage struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"usage"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "spawn:complete".
func (*SpawnComplete) EventName() string { return "spawn:complete" }

// SpawnError is the ctx of spawn:error. Sees a sub-agent that failed.
type SpawnError struct {
	Common
	// the call of spawn
	CallID string `hook:"call_id"`
	// the sub-agent's run
	ChildID string `hook:"child_id"`
	// the sub-agent's name in the manifest
	ChildAgent string `hook:"child_agent"`
	// what it is asked to do
	Prompt string `hook:"prompt"`
	// what went wrong
	Error string `hook:"error"`
	// how it ended
	Status string `hook:"status"`
	// its tokens
	Usage struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"usage"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "spawn:error".
func (*SpawnError) EventName() string { return "spawn:error" }

// ChildStreamText is the ctx of child:stream:text. Is stream:text of a sub-agent: sees a piece of the model's text, which is provisional until the answer counts.
type ChildStreamText struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the piece
	Delta string `hook:"delta"`
	// all text of this answer so far
	Text string `hook:"text"`
}

// EventName is "child:stream:text".
func (*ChildStreamText) EventName() string { return "child:stream:text" }

// ChildStreamThinking is the ctx of child:stream:thinking. Is stream:thinking of a sub-agent: sees a piece of the model's reasoning.
type ChildStreamThinking struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the piece
	Delta string `hook:"delta"`
	// all reasoning of this answer so far
	Thinking string `hook:"thinking"`
}

// EventName is "child:stream:thinking".
func (*ChildStreamThinking) EventName() string { return "child:stream:thinking" }

// ChildStreamEnd is the ctx of child:stream:end. Is stream:end of a sub-agent: sees the whole text that was streamed.
type ChildStreamEnd struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the text of the answer
	Text string `hook:"text"`
}

// EventName is "child:stream:end".
func (*ChildStreamEnd) EventName() string { return "child:stream:end" }

// ChildStreamError is the ctx of child:stream:error. Is stream:error of a sub-agent: sees a request that failed for good.
type ChildStreamError struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the model's name in the manifest
	Model string `hook:"model"`
	// what went wrong
	Error string `hook:"error"`
	// the provider's HTTP status, nil where none came
	HTTPStatus *int64 `hook:"http_status"`
	// how many requests were made
	Attempts int64 `hook:"attempts"`
}

// EventName is "child:stream:error".
func (*ChildStreamError) EventName() string { return "child:stream:error" }

// ChildStreamRetry is the ctx of child:stream:retry. Is stream:retry of a sub-agent: sees a request that will be made again.
type ChildStreamRetry struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the model's name in the manifest
	Model string `hook:"model"`
	// what went wrong
	Error string `hook:"error"`
	// the provider's HTTP status, nil where none came
	HTTPStatus *int64 `hook:"http_status"`
	// the attempt that failed, from 1
	Attempt int64 `hook:"attempt"`
	// how long is waited, in milliseconds
	AfterMS int64 `hook:"after_ms"`
}

// EventName is "child:stream:retry".
func (*ChildStreamRetry) EventName() string { return "child:stream:retry" }

// ChildStreamServerToolUse is the ctx of child:stream:server_tool_use. Is stream:server_tool_use of a sub-agent: sees a tool that the provider runs itself, such as a web search.
type ChildStreamServerToolUse struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the provider's id of the use
	ID string `hook:"id"`
	// the tool's name
	Name string `hook:"name"`
	// what it was asked, nil where it is not known
	Input any `hook:"input"`
}

// EventName is "child:stream:server_tool_use".
func (*ChildStreamServerToolUse) EventName() string { return "child:stream:server_tool_use" }

// ChildStreamServerToolResult is the ctx of child:stream:server_tool_result. Is stream:server_tool_result of a sub-agent: sees what a tool of the provider's came to.
type ChildStreamServerToolResult struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the provider's id of the use
	ID string `hook:"id"`
	// the tool's name
	Name string `hook:"name"`
	// its result as the provider tells it
	Result any `hook:"result"`
	// whether it failed
	IsError bool `hook:"is_error"`
}

// EventName is "child:stream:server_tool_result".
func (*ChildStreamServerToolResult) EventName() string { return "child:stream:server_tool_result" }

// ChildToolGate is the ctx of child:tool:gate. Is tool:gate of a sub-agent: refuses a call or answers in its place.
type ChildToolGate struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// arguments that were of another type and were read as the right one; nil when there are none
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
	// how often each tool ran in this run before; a tool that never did is not there
	RunToolCounts map[string]int64 `hook:"run_tool_counts"`
	// whether the call passed this gate in a process that ended; substitute is ignored then, and deny counts only if the call would run again
	Resumed bool `hook:"resumed"`
	// the state that this hook returned for the call before the process ended; nil otherwise
	ResumeState map[string]any `hook:"resume_state"`
}

// EventName is "child:tool:gate".
func (*ChildToolGate) EventName() string { return "child:tool:gate" }

// ChildToolDispatched is the ctx of child:tool:dispatched. Is tool:dispatched of a sub-agent: sees what became of a call at the gate.
type ChildToolDispatched struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name as the model wrote it
	Name string `hook:"name"`
	// the arguments as the model wrote them
	Input any `hook:"input"`
	// run when it will run, else why it will not
	Outcome string `hook:"outcome"`
	// which layer decided: schema, hook, builtin, rule, taint, approval
	Layer string `hook:"layer"`
	// why, nil when it runs
	Reason *string `hook:"reason"`
}

// EventName is "child:tool:dispatched".
func (*ChildToolDispatched) EventName() string { return "child:tool:dispatched" }

// ChildToolBefore is the ctx of child:tool:before. Is tool:before of a sub-agent: sees a call as it starts.
type ChildToolBefore struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// arguments that were of another type and were read as the right one; nil when there are none
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
	// what it does, in a line for people
	Title string `hook:"title"`
	// what it may do at most
	Effect string `hook:"effect"`
}

// EventName is "child:tool:before".
func (*ChildToolBefore) EventName() string { return "child:tool:before" }

// ChildToolTransform is the ctx of child:tool:transform. Is tool:transform of a sub-agent: rewrites the result of a call before the model sees it.
type ChildToolTransform struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// the result that the model will see
	Result string `hook:"result"`
	// whether the result is an error
	IsError bool `hook:"is_error"`
	// bytes that the tool produced
	OutputBytes int64 `hook:"output_bytes"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
	// arguments that were of another type and were read as the right one; nil when there are none
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
}

// EventName is "child:tool:transform".
func (*ChildToolTransform) EventName() string { return "child:tool:transform" }

// ChildToolAfter is the ctx of child:tool:after. Is tool:after of a sub-agent: sees a call that ended, with what the model asked for and what ran.
type ChildToolAfter struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// the arguments as the model wrote them
	OriginalInput any `hook:"original_input"`
	// the result that the model will see
	Result string `hook:"result"`
	// whether the result is an error
	IsError bool `hook:"is_error"`
	// how the call ended
	Outcome string `hook:"outcome"`
	// bytes that the model sees
	OutputBytes int64 `hook:"output_bytes"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
	// arguments that were of another type and were read as the right one; nil when there are none
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
}

// EventName is "child:tool:after".
func (*ChildToolAfter) EventName() string { return "child:tool:after" }

// ChildToolError is the ctx of child:tool:error. Is tool:error of a sub-agent: words the error of a tool for the model.
type ChildToolError struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// what went wrong
	Error string `hook:"error"`
	// the result that the model will see
	Result string `hook:"result"`
}

// EventName is "child:tool:error".
func (*ChildToolError) EventName() string { return "child:tool:error" }

// ChildToolCancelled is the ctx of child:tool:cancelled. Is tool:cancelled of a sub-agent: sees a call that was cancelled by itself.
type ChildToolCancelled struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// whether it was running already
	Running bool `hook:"running"`
}

// EventName is "child:tool:cancelled".
func (*ChildToolCancelled) EventName() string { return "child:tool:cancelled" }

// ChildMCPToolGate is the ctx of child:mcp:tool:gate. Is mcp:tool:gate of a sub-agent: refuses a call of an MCP tool or answers in its place.
type ChildMCPToolGate struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// the tool's name on its server
	Tool string `hook:"tool"`
	// the tool's whole name, mcp__SERVER__TOOL
	Name string `hook:"name"`
	// the tool's arguments
	Input map[string]any `hook:"input"`
	// arguments that were of another type and were read as the right one; nil when there are none
	Coercions []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// as the model wrote it
		Before any `hook:"before"`
		// as it was read
		After any `hook:"after"`
	} `hook:"coercions"`
}

// EventName is "child:mcp:tool:gate".
func (*ChildMCPToolGate) EventName() string { return "child:mcp:tool:gate" }

// ChildMCPToolTransform is the ctx of child:mcp:tool:transform. Is mcp:tool:transform of a sub-agent: rewrites the result of an MCP tool before tool:transform.
type ChildMCPToolTransform struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the MCP server's name in the manifest
	Server string `hook:"server"`
	// the tool's name on its server
	Tool string `hook:"tool"`
	// the tool's whole name, mcp__SERVER__TOOL
	Name string `hook:"name"`
	// the tool's arguments
	Input map[string]any `hook:"input"`
	// the result that the model will see
	Result string `hook:"result"`
	// whether the result is an error
	IsError bool `hook:"is_error"`
	// bytes that the tool produced
	OutputBytes int64 `hook:"output_bytes"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "child:mcp:tool:transform".
func (*ChildMCPToolTransform) EventName() string { return "child:mcp:tool:transform" }

// ChildValidationReject is the ctx of child:validation:reject. Is validation:reject of a sub-agent: sees arguments that do not fit.
type ChildValidationReject struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name as the model wrote it
	Name string `hook:"name"`
	// the arguments as the model wrote them
	Input any `hook:"input"`
	// what went wrong
	Error string `hook:"error"`
	// each fault
	Errors []struct {
		// JSON Pointer of the argument
		Path string `hook:"path"`
		// what is wrong with it
		Message string `hook:"message"`
	} `hook:"errors"`
}

// EventName is "child:validation:reject".
func (*ChildValidationReject) EventName() string { return "child:validation:reject" }

// ChildRepeatGuardExceeded is the ctx of child:repeat-guard:exceeded. Is repeat-guard:exceeded of a sub-agent: sees the same call again and again.
type ChildRepeatGuardExceeded struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// how long the streak is
	Count int64 `hook:"count"`
	// the threshold that it reached
	Threshold int64 `hook:"threshold"`
	// block refuses the call, abort ends the run
	Action string `hook:"action"`
}

// EventName is "child:repeat-guard:exceeded".
func (*ChildRepeatGuardExceeded) EventName() string { return "child:repeat-guard:exceeded" }

// ChildBackgroundStart is the ctx of child:background:start. Is background:start of a sub-agent: sees a background task start.
type ChildBackgroundStart struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the task's id
	TaskID string `hook:"task_id"`
	// what it does, in a line
	Title string `hook:"title"`
	// the shell line, empty for a task that is none
	Command string `hook:"command"`
	// the call that started it
	CallID string `hook:"call_id"`
}

// EventName is "child:background:start".
func (*ChildBackgroundStart) EventName() string { return "child:background:start" }

// ChildBackgroundExit is the ctx of child:background:exit. Is background:exit of a sub-agent: sees a background task end.
type ChildBackgroundExit struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the task's id
	TaskID string `hook:"task_id"`
	// what it does, in a line
	Title string `hook:"title"`
	// the shell line, empty for a task that is none
	Command string `hook:"command"`
	// the call that started it
	CallID string `hook:"call_id"`
	// whether it ended by itself
	Status string `hook:"status"`
	// its exit status, nil when it was killed
	ExitCode *int64 `hook:"exit_code"`
	// the end of what it printed
	Output string `hook:"output"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "child:background:exit".
func (*ChildBackgroundExit) EventName() string { return "child:background:exit" }

// ChildBackgroundStall is the ctx of child:background:stall. Is background:stall of a sub-agent: sees a background task that says nothing for long.
type ChildBackgroundStall struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the task's id
	TaskID string `hook:"task_id"`
	// what it does, in a line
	Title string `hook:"title"`
	// the shell line, empty for a task that is none
	Command string `hook:"command"`
	// the call that started it
	CallID string `hook:"call_id"`
	// for how long, in milliseconds
	IdleMS int64 `hook:"idle_ms"`
	// the end of what it printed
	Output string `hook:"output"`
}

// EventName is "child:background:stall".
func (*ChildBackgroundStall) EventName() string { return "child:background:stall" }

// ChildBackgroundReassign is the ctx of child:background:reassign. Is background:reassign of a sub-agent: sees a task move to the parent.
type ChildBackgroundReassign struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the task's id
	TaskID string `hook:"task_id"`
	// what it does, in a line
	Title string `hook:"title"`
	// the shell line, empty for a task that is none
	Command string `hook:"command"`
	// the call that started it
	CallID string `hook:"call_id"`
	// the run that had it
	FromRunID string `hook:"from_run_id"`
	// the run that has it now
	ToRunID string `hook:"to_run_id"`
}

// EventName is "child:background:reassign".
func (*ChildBackgroundReassign) EventName() string { return "child:background:reassign" }

// ChildBackgroundAdopt is the ctx of child:background:adopt. Is background:adopt of a sub-agent: sees a task taken over by a later run.
type ChildBackgroundAdopt struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the task's id
	TaskID string `hook:"task_id"`
	// what it does, in a line
	Title string `hook:"title"`
	// the shell line, empty for a task that is none
	Command string `hook:"command"`
	// the call that started it
	CallID string `hook:"call_id"`
	// the run that had started it
	FromRunID string `hook:"from_run_id"`
}

// EventName is "child:background:adopt".
func (*ChildBackgroundAdopt) EventName() string { return "child:background:adopt" }

// ChildBackgroundReconcile is the ctx of child:background:reconcile. Is background:reconcile of a sub-agent: sees the tasks that ended between two runs.
type ChildBackgroundReconcile struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the tasks that ended
	Tasks []struct {
		// the task's id
		TaskID string `hook:"task_id"`
		// what it does, in a line
		Title string `hook:"title"`
		// how it ended; lost when nobody saw it end
		Status string `hook:"status"`
		// its exit status, nil when there is none
		ExitCode *int64 `hook:"exit_code"`
	} `hook:"tasks"`
}

// EventName is "child:background:reconcile".
func (*ChildBackgroundReconcile) EventName() string { return "child:background:reconcile" }

// ChildTurnAfter is the ctx of child:turn:after. Is turn:after of a sub-agent: sees each turn with what the model answered.
type ChildTurnAfter struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the model's name in the manifest
	Model string `hook:"model"`
	// the tokens of this answer
	Usage struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"usage"`
	// the answer, nil when there is none
	Message *struct {
		// who says it; results of tools are the user's
		Role string `hook:"role"`
		// its parts in order
		Content []struct {
			// what the part is; a reminder is text of the host
			Type string `hook:"type"`
			// the text of a text, thinking, reminder or tool_result part
			Text *string `hook:"text"`
			// the call's id, of a tool_call or tool_result
			ID *string `hook:"id"`
			// the tool's name, of a tool_call
			Name *string `hook:"name"`
			// the tool's arguments, of a tool_call
			Arguments map[string]any `hook:"arguments"`
			// whether a tool_result is an error
			IsError *bool `hook:"is_error"`
			// of an image, such as image/png
			MediaType *string `hook:"media_type"`
			// names the part in the transcript: a part that keeps it keeps what is not shown here, such as an image's bytes
			Ref *string `hook:"ref"`
		} `hook:"content"`
	} `hook:"message"`
	// why the model stopped: end, tool_use, max_tokens, refusal; empty after an error
	StopReason string `hook:"stop_reason"`
	// what went wrong, nil when nothing
	Error *string `hook:"error"`
}

// EventName is "child:turn:after".
func (*ChildTurnAfter) EventName() string { return "child:turn:after" }

// ChildArtifactRecorded is the ctx of child:artifact:recorded. Is artifact:recorded of a sub-agent: sees something that a run made and keeps.
type ChildArtifactRecorded struct {
	Common
	// the sub-agent's run; depth is the sub-agent's too
	ChildID string `hook:"child_id"`
	// the artifact's id
	ID string `hook:"id"`
	// its name
	Name string `hook:"name"`
	// what it is, such as text/html
	MediaType string `hook:"media_type"`
	// its size
	Bytes int64 `hook:"bytes"`
	// the file that it is in, nil when it is in none
	Path *string `hook:"path"`
	// the call that made it, nil when none did
	CallID *string `hook:"call_id"`
}

// EventName is "child:artifact:recorded".
func (*ChildArtifactRecorded) EventName() string { return "child:artifact:recorded" }

// ChildSpawnQueued is the ctx of child:spawn:queued. Is spawn:queued of a sub-agent's own sub-agent: sees a sub-agent wait for its turn.
type ChildSpawnQueued struct {
	Common
	// the sub-agent whose call started it
	SpawnerID string `hook:"spawner_id"`
	// the call of spawn
	CallID string `hook:"call_id"`
	// the sub-agent's run
	ChildID string `hook:"child_id"`
	// the sub-agent's name in the manifest
	ChildAgent string `hook:"child_agent"`
	// what it is asked to do
	Prompt string `hook:"prompt"`
}

// EventName is "child:spawn:queued".
func (*ChildSpawnQueued) EventName() string { return "child:spawn:queued" }

// ChildSpawnBefore is the ctx of child:spawn:before. Is spawn:before of a sub-agent's own sub-agent: sees a sub-agent start.
type ChildSpawnBefore struct {
	Common
	// the sub-agent whose call started it
	SpawnerID string `hook:"spawner_id"`
	// the call of spawn
	CallID string `hook:"call_id"`
	// the sub-agent's run
	ChildID string `hook:"child_id"`
	// the sub-agent's name in the manifest
	ChildAgent string `hook:"child_agent"`
	// what it is asked to do
	Prompt string `hook:"prompt"`
}

// EventName is "child:spawn:before".
func (*ChildSpawnBefore) EventName() string { return "child:spawn:before" }

// ChildSpawnComplete is the ctx of child:spawn:complete. Is spawn:complete of a sub-agent's own sub-agent: sees what a sub-agent answered.
type ChildSpawnComplete struct {
	Common
	// the sub-agent whose call started it
	SpawnerID string `hook:"spawner_id"`
	// the call of spawn
	CallID string `hook:"call_id"`
	// the sub-agent's run
	ChildID string `hook:"child_id"`
	// the sub-agent's name in the manifest
	ChildAgent string `hook:"child_agent"`
	// what it is asked to do
	Prompt string `hook:"prompt"`
	// its final text
	Result string `hook:"result"`
	// how many turns it took
	Turns int64 `hook:"turns"`
	// its tokens
	Usage struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"usage"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "child:spawn:complete".
func (*ChildSpawnComplete) EventName() string { return "child:spawn:complete" }

// ChildSpawnError is the ctx of child:spawn:error. Is spawn:error of a sub-agent's own sub-agent: sees a sub-agent that failed.
type ChildSpawnError struct {
	Common
	// the sub-agent whose call started it
	SpawnerID string `hook:"spawner_id"`
	// the call of spawn
	CallID string `hook:"call_id"`
	// the sub-agent's run
	ChildID string `hook:"child_id"`
	// the sub-agent's name in the manifest
	ChildAgent string `hook:"child_agent"`
	// what it is asked to do
	Prompt string `hook:"prompt"`
	// what went wrong
	Error string `hook:"error"`
	// how it ended
	Status string `hook:"status"`
	// its tokens
	Usage struct {
		// tokens sent, those from the cache not counted
		Input int64 `hook:"input"`
		// tokens answered
		Output int64 `hook:"output"`
		// tokens read from the provider's cache
		CacheRead int64 `hook:"cache_read"`
		// tokens written to the provider's cache
		CacheWrite int64 `hook:"cache_write"`
	} `hook:"usage"`
	// how long it took, in milliseconds
	DurationMS int64 `hook:"duration_ms"`
}

// EventName is "child:spawn:error".
func (*ChildSpawnError) EventName() string { return "child:spawn:error" }

// PreTool is the ctx of pre_tool. Allows, blocks or rewrites a call. A command that fails blocks nothing by itself: no rule allows that call then, it asks.
type PreTool struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// the tool's name in each spelling that a matcher takes: ours first
	ToolNames []string `hook:"tool_names"`
}

// EventName is "pre_tool".
func (*PreTool) EventName() string { return "pre_tool" }

// PostTool is the ctx of post_tool. Replaces the result of a call. Several of them are a chain in declared order.
type PostTool struct {
	Common
	// the call's id, assigned by the host
	CallID string `hook:"call_id"`
	// the tool's name
	Name string `hook:"name"`
	// the tool's arguments, which fit its schema
	Input map[string]any `hook:"input"`
	// the tool's name in each spelling that a matcher takes: ours first
	ToolNames []string `hook:"tool_names"`
	// the result that the model will see
	Result string `hook:"result"`
}

// EventName is "post_tool".
func (*PostTool) EventName() string { return "post_tool" }

// UserPrompt is the ctx of user_prompt. Adds context behind a prompt, as one reminder of at most 10,000 characters.
type UserPrompt struct {
	Common
	// what the user asked for
	Prompt string `hook:"prompt"`
	// what hooks added so far, empty at first
	AdditionalContext string `hook:"additional_context"`
}

// EventName is "user_prompt".
func (*UserPrompt) EventName() string { return "user_prompt" }

// Notification is the ctx of notification. Tells somebody outside that the agent waits, idles or is done. Nothing waits for it.
type Notification struct {
	Common
	// what the agent does
	Kind string `hook:"kind"`
	// more about it: what is asked, or how the run ended
	Detail string `hook:"detail"`
}

// EventName is "notification".
func (*Notification) EventName() string { return "notification" }

// Stop is the ctx of stop. Keeps the model from stopping, with a reason that it reads as a reminder; at most 3 times per prompt, shared with the reminder of open todos.
type Stop struct {
	Common
	// the model's final text
	Output string `hook:"output"`
}

// EventName is "stop".
func (*Stop) EventName() string { return "stop" }

// SessionShutdown is the ctx of session_end. Cleans up. It is waited for, within its own time limit.
type SessionShutdown struct {
	Common
}

// EventName is "session_end".
func (*SessionShutdown) EventName() string { return "session_end" }
