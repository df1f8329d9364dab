package contract

// The six events of command hooks. Go handlers take them too; no script
// function handles them.

var commandEvents = []*Event{
	{
		Name: "pre_tool", Class: Gate, PerCall: true, Since: 1,
		Doc:     "Allows, blocks or rewrites a call. A command that fails blocks nothing by itself: no rule allows that call then, it asks.",
		Fires:   "Before each call, after tool:gate, before policy, taint gate and approval.",
		Fields:  about(callFields, toolNameField),
		Actions: actions(Modify, Deny, Substitute, Cancel), Value: value(anyMap()), ValueField: "input",
		ValueDoc: "the arguments to run with, all of them; they are validated and judged as if the model had written them",
		Example:  "#!/bin/sh\n# stdin: the event as JSON; stdout: the decision\nif grep -q '\"rm '; then\n    echo '{\"decision\": \"deny\", \"message\": \"no rm here\"}'\nelse\n    echo '{\"decision\": \"continue\"}'\nfi\n",
	},
	{
		Name: "post_tool", Class: Transform, Since: 1,
		Doc:     "Replaces the result of a call. Several of them are a chain in declared order.",
		Fires:   "After a tool succeeded, beside tool:transform.",
		Fields:  about(callFields, toolNameField, resultField),
		Actions: actions(Modify), Value: value(text()), ValueField: "result",
		ValueDoc: "the result that the model is to see",
		Example:  "#!/bin/sh\n# replaces every result of this tool\necho '{\"result\": \"done\"}'\n",
	},
	{
		Name: "user_prompt", Class: Transform, Since: 1,
		Doc:   "Adds context behind a prompt, as one reminder of at most 10,000 characters.",
		Fires: "A prompt is admitted, before the model is asked.",
		Fields: []Field{f("prompt", text(), "what the user asked for"),
			f("additional_context", text(), "what hooks added so far, empty at first")},
		Actions: actions(Modify), Value: value(text()), ValueField: "additional_context",
		ValueDoc: "the context to add behind the prompt; what several command hooks add is joined in declared order",
		Example:  "#!/bin/sh\necho '{\"hookSpecificOutput\": {\"additionalContext\": \"use pnpm, not npm\"}}'\n",
	},
	{
		Name: "notification", Class: Observe, Since: 1,
		Doc:   "Tells somebody outside that the agent waits, idles or is done. Nothing waits for it.",
		Fires: "The agent waits for the user, becomes idle or finished.",
		Fields: []Field{f("kind", oneOf("blocked", "idle", "done"), "what the agent does"),
			f("detail", text(), "more about it: what is asked, or how the run ended")},
		Actions: actions(),
		Example: "#!/bin/sh\nexec tmux display-message \"the agent waits or is done\"\n",
	},
	{
		Name: "stop", Class: Gate, Since: 1,
		Doc:     "Keeps the model from stopping, with a reason that it reads as a reminder; at most 3 times per prompt, shared with the reminder of open todos.",
		Fires:   "The model answered without calls, before the stage ends.",
		Fields:  []Field{f("output", text(), "the model's final text")},
		Actions: actions(Deny),
		Example: "#!/bin/sh\nmake -q test || echo '{\"decision\": \"block\", \"reason\": \"the tests have not been run\"}'\n",
	},
	{
		Name: "session_end", Class: Observe, Since: 1,
		Doc:     "Cleans up. It is waited for, within its own time limit.",
		Fires:   "A session's process ends its work on it.",
		Fields:  nil,
		Actions: actions(),
		Example: "#!/bin/sh\nrm -f /tmp/agent-notes\n",
	},
}

var toolNameField = f("tool_names", texts(), "the tool's name in each spelling that a matcher takes: ours first")

// CommandEvents are the names of the events that command hooks can take.
func CommandEvents() []string {
	names := make([]string, len(commandEvents))
	for i, e := range commandEvents {
		names[i] = e.Name
	}
	return names
}
