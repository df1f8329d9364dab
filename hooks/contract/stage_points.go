package contract

// The seven stage points, declared under [stages.NAME.hooks].

var (
	regionsType = mapOf(text())
	callType    = object(
		Field{Name: "id", Type: text(), Doc: "the call's id, assigned by the host"},
		Field{Name: "name", Type: text(), Doc: "the tool's name"},
		Field{Name: "arguments", Type: mapOf(anything()), Doc: "the tool's arguments, which fit its schema"},
	)
	usageType = object(
		Field{Name: "input", Type: number(), Doc: "tokens sent, those from the cache not counted"},
		Field{Name: "output", Type: number(), Doc: "tokens answered"},
		Field{Name: "cache_read", Type: number(), Doc: "tokens read from the provider's cache"},
		Field{Name: "cache_write", Type: number(), Doc: "tokens written to the provider's cache"},
	)
	regionsField = Field{Name: "regions", Type: regionsType, Doc: "region name to its text, at most 256 KiB each; conversation and task are built in"}
	statusField  = Field{Name: "status", Type: oneOf("done", "failed"), Doc: "how the run ended: done or failed"}
)

const regionsDoc = "region name to new text; replaces those regions and leaves the others"

var stagePoints = []*Event{
	{
		Name: "on_stage_enter", Function: "on_stage_enter", Class: Gate, Stage: true, Since: 1,
		Doc:     "Prepares a stage: seeds or replaces its regions before anything is sent.",
		Fires:   "A stage opens, the first one included.",
		Fields:  []Field{regionsField},
		Actions: actions(Modify, Cancel),
		Value:   value(regionsType), ValueDoc: regionsDoc, ValueField: "regions",
		Example: `func on_stage_enter(ctx) {
    return {action: "modify", value: {task: ctx.regions.task + "\nLook at the failing test first."}}
}
`,
	},
	{
		Name: "before_inference", Function: "before_inference", Class: Gate, Stage: true, Since: 1,
		Doc:   "Sees what is about to be sent to the model and may trim it or stop the run.",
		Fires: "The context is assembled, before each model call.",
		Fields: []Field{
			regionsField,
			{Name: "messages", Type: object(
				Field{Name: "count", Type: number(), Doc: "how many messages will be sent"},
				Field{Name: "bytes", Type: number(), Doc: "how many bytes of text they have together"},
			), Doc: "the size of what will be sent"},
			{Name: "model", Type: text(), Doc: "the model's name in the manifest"},
			{Name: "tools", Type: listOf(text()), Doc: "the names of the tools that the model is offered"},
		},
		Actions: actions(Modify, Cancel),
		Value:   value(regionsType), ValueDoc: regionsDoc, ValueField: "regions",
		Example: `func before_inference(ctx) {
    if ctx.messages.bytes > 400000 {
        return hook.cancel("the context is larger than this stage should need")
    }
    return hook.allow()
}
`,
	},
	{
		Name: "after_inference", Function: "after_inference", Class: Gate, Stage: true, Since: 1,
		Doc:   "Reads the model's answer before it counts: may replace its text or ask again.",
		Fires: "The response is in, before it is applied; streamed text is provisional until then.",
		Fields: []Field{
			{Name: "response", Type: text(), Doc: "the text of the answer, empty when it has only calls"},
			{Name: "usage", Type: usageType, Doc: "the tokens of this answer"},
			{Name: "tool_calls", Type: listOf(text()), Doc: "the names of the tools that it wants to call; the calls themselves are for on_tool_call"},
		},
		Actions: actions(Modify, Cancel, Retry),
		Value:   value(text()), ValueDoc: "text that replaces the response's text", ValueField: "response",
		Example: `func after_inference(ctx) {
    if ctx.response == "" && len(ctx.tool_calls) == 0 {
        return hook.retry("answer with text or a tool call")
    }
    return hook.allow()
}
`,
	},
	{
		Name: "on_tool_call", Function: "on_tool_call", Class: Gate, Stage: true, Since: 1,
		Doc:   "Narrows what the model may do: denies calls, leaves some out or changes their arguments.",
		Fires: "The model asked for one or more calls; after their arguments were validated, before policy, taint gate and approval.",
		Fields: []Field{
			{Name: "tool_calls", Type: listOf(callType), Doc: "the calls of this batch, never empty"},
		},
		Actions: actions(Modify, Deny, Cancel),
		Value:   value(listOf(callType)), ValueField: "tool_calls",
		ValueDoc: "the calls that remain, by their ids: a call left out is refused with a notice; name and arguments may change; no call can be added",
		Example: `func on_tool_call(ctx) {
    for _, call := range ctx.tool_calls {
        if call.name == "shell" {
            for _, command := range shell.commands(call.arguments.command) {
                if command.name == "rm" || command.name == nil {
                    return {action: "deny", reason: "no rm, and no command that cannot be known", calls: [call.id]}
                }
            }
        }
    }
    return hook.allow()
}
`,
	},
	{
		Name: "on_stage_exit", Function: "on_stage_exit", Class: Gate, Stage: true, Since: 1,
		Doc:   "Tidies up after a stage, before the next one is chosen.",
		Fires: "A stage finished: the model answered without calls, or max_turns was reached; not after a failure.",
		Fields: []Field{
			regionsField,
			{Name: "outcome", Type: oneOf("finished", "max_turns"), Doc: "finished, or max_turns when the limit ended it"},
		},
		Actions: actions(Modify, Cancel),
		Value:   value(regionsType), ValueDoc: regionsDoc, ValueField: "regions",
		Example: `func on_stage_exit(ctx) {
    if ctx.outcome == "max_turns" {
        return hook.cancel('stage {ctx.stage} did not finish')
    }
    return hook.allow()
}
`,
	},
	{
		Name: "on_completion", Function: "on_completion", Class: Gate, Stage: true, Since: 1,
		Doc:   "Has the last word on a run that finished: may replace its output or fail it.",
		Fires: "The run finished; the last stage's fires.",
		Fields: []Field{
			statusField,
			{Name: "output", Type: text(), Doc: "the final text"},
		},
		Actions: actions(Modify, Cancel),
		Value:   value(text()), ValueDoc: "text that replaces the final output", ValueField: "output",
		Example: `func on_completion(ctx) {
    return hook.modify(ctx.output.trim_space())
}
`,
	},
	{
		Name: "on_error", Function: "on_error", Class: Gate, Stage: true, Since: 1,
		Doc:   "Words the error of a run that failed; the run stays failed.",
		Fires: "The run failed; the point of the stage that it failed in fires. A cancelled run fires nothing.",
		Fields: []Field{
			statusField,
			{Name: "output", Type: text(), Doc: "what the run had answered so far, empty when nothing"},
			{Name: "error", Type: text(), Doc: "what went wrong, as it will be shown"},
		},
		Actions: actions(Modify, Cancel),
		Value:   value(text()), ValueDoc: "text that replaces the error shown", ValueField: "error",
		Example: `func on_error(ctx) {
    return hook.modify('stage {ctx.stage}: {ctx.error}')
}
`,
	},
}
