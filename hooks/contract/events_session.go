package contract

// MCP connections and skills, sessions, background tasks and decisions.

var (
	serverField = f("server", text(), "the MCP server's name in the manifest")
	transport   = f("transport", oneOf("stdio", "http"), "how it is reached")
	settledType = object(
		f("name", text(), "the server's name"), f("ok", boolean(), "whether it can be used"), f("error", maybeText(), "why not, nil when it can"),
		f("tools", number(), "how many tools it offers"), f("duration_ms", number(), "how long it took, in milliseconds"),
	)
)

var connectionEvents = []*Event{
	watched("mcp:bootstrap:start", "Marks the start of an MCP server.", "Per server, before it is connected to.", "ctx.server", serverField, transport),
	watched("mcp:bootstrap:end", "Sees what the start of an MCP server came to.", "Per server, after its tools were listed or it failed.", "ctx.ok",
		serverField, transport, f("ok", boolean(), "whether it can be used"), f("error", maybeText(), "why not, nil when it can"),
		f("tools", number(), "how many tools it offers"), durationField),
	watched("mcp:bootstrap:settled", "Sees what all MCP servers came to.", "Once per start, when every server is ready or failed.", "len(ctx.results)",
		f("results", listOf(settledType), "each server, by name")),
	watched("mcp:tools:list", "Sees a server's tools before any filter.", "Per server, with its whole list.", "len(ctx.tools)",
		serverField, f("tools", listOf(toolType), "the tools as the server lists them")),
	watched("mcp:connect", "Sees a connection to an MCP server.", "A server is connected, a later time too.", "ctx.server",
		serverField, transport, f("reconnect", boolean(), "whether it was connected before")),
	watched("mcp:error", "Sees a fault of an MCP connection.", "The connection to a server failed or broke.", "ctx.error", serverField, errorField),
	watched("mcp:warn", "Sees something odd that does not end a connection.", "A server sent what it should not, such as noise on its output.", "ctx.message",
		serverField, f("message", text(), "what is odd")),
	watched("mcp:close", "Sees the end of an MCP connection.", "The connection to a server is closed.", "ctx.reason",
		serverField, f("reason", text(), "why")),
	{
		Name: "mcp:tools:filter", Function: "mcp_tools_filter", Class: Transform, Since: 1,
		Doc:     "Leaves out tools of an MCP server.",
		Fires:   "Per server, after allow and deny of the manifest, before its tools are registered.",
		Fields:  []Field{serverField, f("tools", listOf(toolType), "the tools that would be registered")},
		Actions: actions(Modify), Value: value(listOf(toolType)), ValueField: "tools",
		ValueDoc: "the tools that remain, as they are in ctx.tools; none can be added or changed",
		Example: `func mcp_tools_filter(ctx) {
    return hook.modify(ctx.tools.filter(func(t) { return !strings.has_prefix(t.name, "delete_") }))
}
`,
	},
	watched("mcp:auth:required", "Sees a server that wants a login.", "A server refused for lack of a login.", "ctx.server", serverField),
	watched("mcp:auth:url", "Sees where the user logs in.", "A login was begun in the user's browser.", "ctx.url", serverField, f("url", text(), "the page")),
	watched("mcp:auth:success", "Sees a login that worked.", "A login to a server ended well.", "ctx.server", serverField),
	watched("mcp:auth:error", "Sees a login that failed.", "A login to a server failed.", "ctx.error", serverField, errorField),
	watched("skills:resolve", "Sees the skills that were found.", "Once per run, after discovery.", "len(ctx.skills)",
		f("skills", listOf(skillType), "the skills found, by name")),
	{
		Name: "skills:catalog", Function: "skills_catalog", Class: Transform, Since: 1,
		Doc:     "Leaves skills out of the catalogue that the model sees.",
		Fires:   "Once per run, after the catalogue was built.",
		Fields:  []Field{f("catalog", listOf(skillType), "the skills that the prompt would list")},
		Actions: actions(Modify), Value: value(listOf(skillType)), ValueField: "catalog",
		ValueDoc: "the skills that remain, as they are in ctx.catalog; none can be added or changed",
		Example: `func skills_catalog(ctx) {
    return hook.modify(ctx.catalog.filter(func(s) { return s.name != "deploy" }))
}
`,
	},
	watched("skills:activate", "Sees a skill taken up.", "A skill is in use from here on.", "ctx.name",
		f("name", text(), "the skill's name"), f("path", text(), "its SKILL.md"), f("allowed_tools", nullable(texts()), "the tools that it may use, nil when it does not say"),
		f("by", oneOf("model", "user", "host"), "who took it up")),
	watched("skills:deactivate", "Sees a skill put down.", "A skill is no longer in use.", "ctx.name",
		f("name", text(), "the skill's name"), f("by", oneOf("model", "user", "host"), "who put it down")),
}

var sessionEvents = []*Event{
	watched("session:start", "Marks the start of a run in its session.", "A run begins, always.", "ctx.session_id",
		f("resumed", boolean(), "whether an interrupted run goes on"), f("turns", number(), "how many turns the session has already")),
	watched("session:end", "Marks the end of a run in its session.", "A run ends, always; after agent:done.", "ctx.status",
		f("status", oneOf("done", "failed", "cancelled"), "how the run ended"), f("turns", number(), "how many turns the session has")),
	watched("session:turns", "Sees turns being kept.", "Turns were written to the journal.", "ctx.count",
		f("count", number(), "how many messages the transcript has"), f("added", listOf(messageType), "those that are new")),
	watched("session:meta", "Sees what is noted about a session.", "The session's title, status or counts were written.", "ctx.meta",
		f("meta", anyMap(), "title, status, turns and usage as they are now")),
	watched("session:save", "Sees the journal written.", "What happened was committed to the journal at the end of a turn or run.", "ctx.seq",
		f("seq", number(), "the session's newest event")),
	watched("execution:ready", "Sees what commands run in.", "Once per run, when the place where commands run is ready.", "ctx.sandbox",
		f("kind", text(), "what it is, such as process or container"), f("root", text(), "the folder that commands run in"), f("sandbox", text(), "what is in force there")),
	watched("tool-state:commit-failed", "Sees durable state of a tool that could not be kept.", "The store refused a tool's state; the call keeps its result.", "ctx.error",
		f("call_id", text(), "the call"), f("name", text(), "the tool's name"), errorField),
	watched("artifact:recorded", "Sees something that a run made and keeps.", "An artifact was recorded for the run.", "ctx.name",
		f("id", text(), "the artifact's id"), f("name", text(), "its name"), f("media_type", text(), "what it is, such as text/html"),
		f("bytes", number(), "its size"), f("path", maybeText(), "the file that it is in, nil when it is in none"), f("call_id", maybeText(), "the call that made it, nil when none did")),
}

var (
	taskFields = []Field{
		f("task_id", text(), "the task's id"),
		f("title", text(), "what it does, in a line"),
		f("command", text(), "the shell line, empty for a task that is none"),
		f("call_id", text(), "the call that started it"),
	}
	taskType = object(
		f("task_id", text(), "the task's id"), f("title", text(), "what it does, in a line"),
		f("status", oneOf("exited", "killed", "lost"), "how it ended; lost when nobody saw it end"), f("exit_code", nullable(number()), "its exit status, nil when there is none"),
	)
)

var backgroundEvents = []*Event{
	watched("background:start", "Sees a background task start.", "A task runs on while the agent does something else.", "ctx.command", taskFields...),
	watched("background:exit", "Sees a background task end.", "A background task ended.", "ctx.exit_code", about(taskFields,
		f("status", oneOf("exited", "killed"), "whether it ended by itself"), f("exit_code", nullable(number()), "its exit status, nil when it was killed"),
		f("output", text(), "the end of what it printed"), durationField)...),
	watched("background:stall", "Sees a background task that says nothing for long.", "A background task printed nothing for some time.", "ctx.idle_ms", about(taskFields,
		f("idle_ms", number(), "for how long, in milliseconds"), f("output", text(), "the end of what it printed"))...),
	watched("background:reassign", "Sees a task move to the parent.", "A sub-agent ended while its task runs on, which is the parent's now.", "ctx.to_run_id", about(taskFields,
		f("from_run_id", text(), "the run that had it"), f("to_run_id", text(), "the run that has it now"))...),
	watched("background:adopt", "Sees a task taken over by a later run.", "A run took over a task that its host kept running.", "ctx.from_run_id", about(taskFields,
		f("from_run_id", text(), "the run that had started it"))...),
	watched("background:reconcile", "Sees the tasks that ended between two runs.", "A run starts with ended tasks to report, before the model is told.", "len(ctx.tasks)",
		f("tasks", listOf(taskType), "the tasks that ended")),
}

var decisionEvents = []*Event{
	watched("decision:start", "Sees a question put to the model beside the run.", "A hook or the host asks for a decision.", "ctx.question",
		f("decision_id", text(), "the decision's id"), f("question", text(), "the question"), f("schema", anything(), "the JSON schema of the answer")),
	watched("decision:end", "Sees what a decision came to.", "A decision is settled, well or not.", "ctx.ok",
		f("decision_id", text(), "the decision's id"), f("question", text(), "the question"), f("ok", boolean(), "whether there is an answer"),
		f("reason", maybeText(), "why there is none, nil when there is"), f("usage", usageType, "the tokens that it took"),
		f("answers", anything(), "the answer, nil when there is none"), durationField),
}
