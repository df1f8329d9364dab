package contract

// Calls of tools, of MCP tools, and what budgets and guards say of them.

var (
	callFields = []Field{
		f("call_id", text(), "the call's id, assigned by the host"),
		f("name", text(), "the tool's name"),
		f("input", anyMap(), "the tool's arguments, which fit its schema"),
	}
	rawCallFields = []Field{
		f("call_id", text(), "the call's id, assigned by the host"),
		f("name", text(), "the tool's name as the model wrote it"),
		f("input", anything(), "the arguments as the model wrote them"),
	}
	mcpFields = []Field{
		f("call_id", text(), "the call's id, assigned by the host"),
		f("server", text(), "the MCP server's name in the manifest"),
		f("tool", text(), "the tool's name on its server"),
		f("name", text(), "the tool's whole name, mcp__SERVER__TOOL"),
		f("input", anyMap(), "the tool's arguments"),
	}
	coercionsField = f("coercions", nullable(listOf(coercionType)), "arguments that were of another type and were read as the right one; nil when there are none")
	countsField    = f("run_tool_counts", mapOf(number()), "how often each tool ran in this run before; a tool that never did is not there")
	resultField    = f("result", text(), "the result that the model will see")
	isErrorField   = f("is_error", boolean(), "whether the result is an error")
	bytesMade      = f("output_bytes", number(), "bytes that the tool produced")
	bytesSeen      = f("output_bytes", number(), "bytes that the model sees")
	resultValue    = object(f("result", text(), "the result that the model is to see"))
)

var toolEvents = []*Event{
	{
		Name: "tool:gate", Function: "tool_gate", Class: Gate, PerCall: true, Since: 1,
		Doc: "Refuses a call or answers in its place.",
		Fires: "Before each call, after its validation and on_tool_call, before policy, taint gate and approval; " +
			"again on a resumed run for a call that had passed it.",
		Fields: about(callFields, coercionsField, countsField,
			f("resumed", boolean(), "whether the call passed this gate in a process that ended; substitute is ignored then, and deny counts only if the call would run again"),
			f("resume_state", nullable(anyMap()), "the state that this hook returned for the call before the process ended; nil otherwise"),
		),
		Actions: actions(Deny, Substitute, Cancel),
		Example: `func tool_gate(ctx) {
    if ctx.name == "todowrite" && ctx.run_tool_counts.get("todowrite", 0) > 0 {
        return hook.substitute("already recorded, nothing to do")
    }
    if ctx.name == "shell" {
        for _, command := range shell.commands(ctx.input.command) {
            if command.name == "rm" || command.name == nil {
                return hook.deny("no rm, and no command that cannot be known")
            }
        }
    }
    return hook.allow()
}
`,
	},
	watched("tool:dispatched", "Sees what became of a call at the gate.",
		"After gate, policy and approval of a call, and for one that was refused, is invalid or names no tool.", "ctx.outcome",
		about(rawCallFields,
			f("outcome", oneOf("run", "denied", "substituted", "invalid", "unknown", "cancelled"), "run when it will run, else why it will not"),
			f("layer", text(), "which layer decided: schema, hook, builtin, rule, taint, approval"),
			f("reason", maybeText(), "why, nil when it runs"))...),
	watched("tool:before", "Sees a call as it starts.",
		"The tool is about to run.", "ctx.title", about(callFields, coercionsField,
			f("title", text(), "what it does, in a line for people"),
			f("effect", oneOf("read", "write", "execute", "network"), "what it may do at most"))...),
	{
		Name: "tool:unknown", Function: "tool_unknown", Class: Gate, PerCall: true, Since: 1,
		Doc:   "Answers a call of a tool that does not exist.",
		Fires: "The model called a tool that nobody registered.",
		Fields: about(rawCallFields,
			f("nearest", maybeText(), "the nearest tool that there is, nil when none is near"),
			f("available", texts(), "the names of the tools that there are"),
			resultField, f("suppress_error", boolean(), "whether the result is no error")),
		Actions: actions(Modify, Deny, Substitute, Cancel),
		Value: value(object(f("result", text(), "the result that the model is to see"),
			Field{Name: "suppress_error", Type: boolean(), Doc: "true makes the result no error", Optional: true})),
		ValueDoc: "the result that the model is to see, and whether it is to be no error",
		Example: `func tool_unknown(ctx) {
    if ctx.name == "EnterPlanMode" {
        return hook.modify({result: "there is no plan mode; write the plan as text", suppress_error: true})
    }
    return hook.allow()
}
`,
	},
	{
		Name: "tool:transform", Function: "tool_transform", Class: Transform, Since: 1,
		Doc:     "Rewrites the result of a call before the model sees it.",
		Fires:   "After a tool's result, before it is added to the transcript.",
		Fields:  about(callFields, resultField, isErrorField, bytesMade, durationField, coercionsField),
		Actions: actions(Modify),
		Value: value(object(
			Field{Name: "result", Type: text(), Doc: "the result that the model is to see", Optional: true},
			Field{Name: "is_error", Type: boolean(), Doc: "whether it is an error", Optional: true})),
		ValueDoc: "the result that the model is to see and whether it is an error; what is left out stays",
		Example: `func tool_transform(ctx) {
    secret := regexp.compile("(?i)(api_key|token|password)\\s*=\\s*\\S+")
    return hook.modify({result: secret.replace_all(ctx.result, "$1=<redacted>")})
}
`,
	},
	watched("tool:after", "Sees a call that ended, with what the model asked for and what ran.",
		"A call is complete, with the result as the model sees it.", "ctx.outcome",
		about(callFields, f("original_input", anything(), "the arguments as the model wrote them"),
			resultField, isErrorField, f("outcome", outcomeType, "how the call ended"), bytesSeen, durationField, coercionsField)...),
	{
		Name: "tool:error", Function: "tool_error", Class: Transform, Since: 1,
		Doc:     "Words the error of a tool for the model.",
		Fires:   "A tool failed, before tool:after.",
		Fields:  about(callFields, errorField, resultField),
		Actions: actions(Modify), Value: value(resultValue), ValueDoc: "the text that the model is to see in place of the error",
		Example: `func tool_error(ctx) {
    return hook.modify({result: ctx.error + "\nLook at the arguments before trying again."})
}
`,
	},
	watched("tool:cancelled", "Sees a call that was cancelled by itself.",
		"One call was cancelled while the run goes on.", "ctx.call_id", about(callFields,
			f("running", boolean(), "whether it was running already"))...),
	{
		Name: "mcp:tool:gate", Function: "mcp_tool_gate", Class: Gate, PerCall: true, Since: 1,
		Doc:     "Refuses a call of an MCP tool or answers in its place.",
		Fires:   "Before each call of an MCP tool, right after tool:gate.",
		Fields:  about(mcpFields, coercionsField),
		Actions: actions(Deny, Substitute, Cancel),
		Example: `func mcp_tool_gate(ctx) {
    if ctx.server == "tickets" && strings.has_prefix(ctx.tool, "delete") {
        return hook.deny("tickets are not deleted by an agent")
    }
    return hook.allow()
}
`,
	},
	watched("mcp:tool:before", "Sees a call as it is sent to an MCP server.",
		"The call is about to be sent.", "ctx.server", mcpFields...),
	{
		Name: "mcp:tool:transform", Function: "mcp_tool_transform", Class: Transform, Since: 1,
		Doc:     "Rewrites the result of an MCP tool before tool:transform.",
		Fires:   "After an MCP server's result.",
		Fields:  about(mcpFields, resultField, isErrorField, bytesMade, durationField),
		Actions: actions(Modify), Value: value(resultValue), ValueDoc: "the result that the model is to see",
		Example: `func mcp_tool_transform(ctx) {
    if ctx.output_bytes > 8192 {
        return hook.modify({result: text.truncate(ctx.result, 4096)})
    }
    return hook.allow()
}
`,
	},
	watched("mcp:tool:after", "Sees a call of an MCP tool that is complete.",
		"An MCP server answered a call.", "ctx.duration_ms", about(mcpFields, resultField, isErrorField, bytesSeen, durationField)...),
	watched("mcp:tool:error", "Sees a call of an MCP tool that failed.",
		"An MCP server, or the way to it, failed on a call.", "ctx.error", about(mcpFields, errorField, durationField)...),
	watched("validation:reject", "Sees arguments that do not fit.",
		"The arguments of a call do not fit its tool's schema; the call does not run.", "ctx.error",
		about(rawCallFields, errorField, f("errors", listOf(object(
			f("path", text(), "JSON Pointer of the argument"), f("message", text(), "what is wrong with it"),
		)), "each fault"))...),
	watched("validation:coerce", "Sees arguments that were read as the right type.",
		"Arguments of a call were of another type and could be read safely.", "len(ctx.coercions)",
		about(callFields, f("original_input", anything(), "the arguments as the model wrote them"), f("coercions", listOf(coercionType), "what was read otherwise"))...),
	watched("budget:exceeded", "Sees a turn with more tool output than its budget.",
		"The tool output of a turn is over behavior.tool_output_budget.", "ctx.bytes",
		f("bytes", number(), "bytes of tool output in this turn"), f("budget", number(), "how many there may be")),
	watched("tool-budget:exceeded", "Sees a tool called more often than its budget.",
		"A call goes over a cap of behavior.tool_budgets.", "ctx.name",
		about(callFields, f("max", number(), "how often it may be called in a run"), f("count", number(), "how often it is, with this call"),
			f("on_exceed", oneOf("steer", "block"), "steer lets it run and tells the model, block refuses"))...),
	watched("repeat-guard:exceeded", "Sees the same call again and again.",
		"A streak of the same call reached a threshold of behavior.repeat_guard.", "ctx.count",
		about(callFields, f("count", number(), "how long the streak is"), f("threshold", number(), "the threshold that it reached"),
			f("action", oneOf("block", "abort"), "block refuses the call, abort ends the run"))...),
}
