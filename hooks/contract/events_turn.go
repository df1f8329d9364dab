package contract

// The turn and the stream of the model's answer.

var turnEvents = []*Event{
	watched("system:before", "Sees the system prompt that a run was given at its start.",
		"A run starts with a system prompt of its own, before anything is sent.", "len(ctx.system)",
		f("system", text(), "the run's system prompt")),
	watched("agent:start", "Marks the start of a run.",
		"Once per run, after session:start.", "ctx.prompt",
		f("prompt", text(), "what the user asked for"), modelField,
		f("mode", oneOf("ask", "plan", "auto"), "how the run treats what needs an approval"),
		f("resumed", boolean(), "whether the run goes on after its process ended")),
	{
		Name: "turn:before", Function: "turn_before", Class: Transform, Since: 1,
		Doc:   "Tunes the options of one model request. For messages, use context:transform.",
		Fires: "Before each turn's request to the model.",
		Fields: []Field{modelField,
			f("options", optionsType, "the options of the request"),
			f("messages", sizeType, "the size of what will be sent"),
			f("tools", texts(), "the names of the tools that the model is offered"),
		},
		Actions: actions(Modify, Cancel), Value: value(optionsType), ValueField: "options",
		ValueDoc: "the options that the request is to have; one that is left out stays; endpoint, key and tools cannot be changed",
		Example: `func turn_before(ctx) {
    if ctx.turn > 5 {
        return hook.modify({thinking_budget: 1024})
    }
    return hook.allow()
}
`,
	},
	{
		Name: "context:transform", Function: "context_transform", Class: Transform, Since: 1,
		Doc:     "Rewrites the messages of one request; the transcript stays as it is.",
		Fires:   "Before each model call, after turn:before.",
		Fields:  []Field{f("messages", listOf(messageType), "what will be sent, oldest first")},
		Actions: actions(Modify, Cancel), Value: value(listOf(messageType)), ValueField: "messages",
		ValueDoc: "the messages to send; calls and results that lose each other are repaired before sending",
		Example: `func context_transform(ctx) {
    keep := 30
    if len(ctx.messages) <= keep {
        return hook.allow()
    }
    recent := ctx.messages[len(ctx.messages)-keep+1:]
    return hook.modify([ctx.messages[0]] + recent)
}
`,
	},
	{
		Name: "system:transform", Function: "system_transform", Class: Transform, Since: 1,
		Doc:     "Rewrites the system prompt of one request.",
		Fires:   "For each request, after context:transform.",
		Fields:  []Field{f("system", text(), "the system prompt that will be sent")},
		Actions: actions(Modify, Cancel), Value: value(text()), ValueField: "system",
		ValueDoc: "the system prompt to send",
		Example: `func system_transform(ctx) {
    if ctx.turn > 10 {
        return hook.modify(ctx.system + "\nKeep the answers short from here on.")
    }
    return hook.allow()
}
`,
	},
	watched("stream:start", "Marks the start of a request to the model.",
		"Right before the request is sent, each attempt.", "ctx.model", modelField,
		f("attempt", number(), "which attempt at this answer it is, from 1")),
	watched("stream:thinking", "Sees a piece of the model's reasoning.",
		"Each piece of reasoning that arrives.", "ctx.delta",
		f("delta", text(), "the piece"), f("thinking", text(), "all reasoning of this answer so far")),
	watched("stream:text", "Sees a piece of the model's text, which is provisional until the answer counts.",
		"Each piece of text that arrives.", "ctx.delta",
		f("delta", text(), "the piece"), f("text", text(), "all text of this answer so far")),
	watched("stream:end", "Sees the whole text that was streamed.",
		"The text of an answer is complete; not when it has none.", "len(ctx.text)",
		f("text", text(), "the text of the answer")),
	watched("stream:progress", "Tells how far an answer is.",
		"While an answer streams, every 250 ms at most.", "ctx.text_bytes",
		f("elapsed_ms", number(), "since the request was sent, in milliseconds"),
		f("text_bytes", number(), "bytes of text so far"),
		f("thinking_bytes", number(), "bytes of reasoning so far"),
		f("chunks", number(), "pieces so far")),
	watched("stream:server_tool_use", "Sees a tool that the provider runs itself, such as a web search.",
		"A tool of the provider's starts while the answer streams.", "ctx.name",
		f("id", text(), "the provider's id of the use"), f("name", text(), "the tool's name"), f("input", anything(), "what it was asked, nil where it is not known")),
	watched("stream:server_tool_result", "Sees what a tool of the provider's came to.",
		"A tool of the provider's ends while the answer streams.", "ctx.id",
		f("id", text(), "the provider's id of the use"), f("name", text(), "the tool's name"), f("result", anything(), "its result as the provider tells it"),
		f("is_error", boolean(), "whether it failed")),
	watched("stream:error", "Sees a request that failed for good.",
		"The stream fails for good before stream:end; not on a cancel and not when a retry recovers.", "ctx.error",
		modelField, errorField, httpStatus, f("attempts", number(), "how many requests were made")),
	watched("stream:retry", "Sees a request that will be made again.",
		"A provider error that may pass was caught, before the wait.", "ctx.after_ms",
		modelField, errorField, httpStatus, f("attempt", number(), "the attempt that failed, from 1"),
		f("after_ms", number(), "how long is waited, in milliseconds")),
	watched("model:fallback", "Sees the run move on to another model.",
		"The model failed for good and the next one under fallback takes over.", "ctx.to",
		f("from", text(), "the model that failed"), f("to", text(), "the model that takes over"), errorField, httpStatus),
	watched("context:overflow", "Sees a request that was too long and is made shorter.",
		"The provider refused the length; older media and tool output were replaced by stubs up to a cutoff, and the request is sent again.", "ctx.attempt",
		modelField, errorField, f("attempt", number(), "which time in this turn, from 1; each moves the cutoff on"),
		f("cutoff", number(), "the message before which output is stubbed; later turns keep to it"),
		f("stubbed", number(), "how many parts are stubs now"), f("bytes", number(), "bytes that the stubs save")),
	watched("compact:start", "Marks the start of a summary of older turns.",
		"Older turns are about to be summarised.", "ctx.reason", compactReason,
		f("before", number(), "tokens in the context, estimated"), f("messages", number(), "how many messages will be summarised")),
	watched("compact:progress", "Tells how far a summary is.",
		"While a summary streams, every 250 ms at most.", "ctx.text_bytes", compactReason,
		f("text_bytes", number(), "bytes of summary so far")),
	watched("compact:end", "Sees what a summary came to.",
		"A summary of older turns is in force, or failed.", "ctx.after", compactReason,
		f("ok", boolean(), "whether it is in force"), f("error", maybeText(), "why it is not, nil when it is"),
		f("before", number(), "tokens in the context before, estimated"), f("after", number(), "tokens after, estimated"),
		f("summary", text(), "the summary, empty when it failed")),
	watched("steer:inject", "Sees what the user said while the run was at work.",
		"A queued message enters the conversation.", "ctx.text",
		f("id", text(), "the message's id"), f("text", text(), "its text"), f("content", listOf(partType), "its parts")),
	watched("turn:after", "Sees each turn with what the model answered.",
		"After each assistant turn, after a failed one too.", "ctx.usage.output",
		modelField, f("usage", usageType, "the tokens of this answer"), f("message", nullable(messageType), "the answer, nil when there is none"),
		f("stop_reason", text(), "why the model stopped: end, tool_use, max_tokens, refusal; empty after an error"), f("error", maybeText(), "what went wrong, nil when nothing")),
	watched("tool-results:after", "Sees the results of a batch as the model will.",
		"The results of a batch were added to the transcript.", "len(ctx.results)",
		f("results", listOf(object(
			f("call_id", text(), "the call's id"), f("name", text(), "the tool's name"), f("outcome", outcomeType, "how the call ended"),
			f("is_error", boolean(), "whether the result is an error"), f("output_bytes", number(), "bytes of the result that the model sees"),
		)), "the results in the order of the calls")),
	watched("usage", "Counts tokens and cost.",
		"Each turn, when the provider's count is in.", "ctx.total.input",
		modelField, f("usage", usageType, "the tokens of this answer"), totalField, costField),
	watched("output", "Sees the structured output of a run.",
		"Output that fits the run's schema was read from the answer.", "ctx.output",
		f("output", anything(), "the output"), f("text", text(), "the text that it was read from")),
	watched("agent:done", "Sees how a run ended and what it took.",
		"A run finished, whatever way it ended.", "ctx.status",
		f("status", oneOf("done", "failed", "cancelled"), "how the run ended"),
		f("stop_reason", text(), "why: end, hook, policy, limit, model, user, internal"),
		f("output", text(), "the final text, empty when there is none"), f("error", maybeText(), "what went wrong, nil when nothing"),
		f("turns", number(), "how many turns it took"), f("tool_calls", number(), "how many calls ended"),
		f("usage", usageType, "its tokens, those of sub-agents included"), costField, durationField),
	watched("agent:abort", "Sees a run that was stopped from outside.",
		"Once, when a run was cancelled or its time ran out.", "ctx.reason",
		f("reason", text(), "why it was stopped")),
}

var (
	optionsType = object(
		maybe("max_tokens", number(), "the most tokens that the answer may have, 0 for the model's own limit"),
		maybe("thinking_budget", number(), "tokens for reasoning, 0 for none"),
	)
	compactReason = f("reason", oneOf("auto", "manual"), "auto when the context filled up, manual when it was asked for")
	outcomeType   = oneOf("ok", "error", "denied", "substituted", "invalid", "cancelled", "interrupted")
)
