package contract

import "slices"

// Sub-agents: the parent's own spawn events, and a child's events as they
// fire on its parent.

var spawnFields = []Field{
	f("call_id", text(), "the call of spawn"),
	f("child_id", text(), "the sub-agent's run"),
	f("child_agent", text(), "the sub-agent's name in the manifest"),
	f("prompt", text(), "what it is asked to do"),
}

var spawnEvents = []*Event{
	watched("spawn:queued", "Sees a sub-agent wait for its turn.", "A sub-agent was asked for and is admitted.", "ctx.child_agent", spawnFields...),
	watched("spawn:before", "Sees a sub-agent start.", "A sub-agent is about to start.", "ctx.child_agent", spawnFields...),
	watched("spawn:complete", "Sees what a sub-agent answered.", "A sub-agent finished.", "ctx.result", about(spawnFields,
		f("result", text(), "its final text"), f("turns", number(), "how many turns it took"), f("usage", usageType, "its tokens"), durationField)...),
	watched("spawn:error", "Sees a sub-agent that failed.", "A sub-agent failed, was cancelled or could not start.", "ctx.error", about(spawnFields,
		errorField, f("status", oneOf("failed", "cancelled"), "how it ended"), f("usage", usageType, "its tokens"), durationField)...),
}

// childEvents bubble to the parent. The gates and transforms among them can
// narrow what a sub-agent does, as its own hooks can.
var childEvents = slices.Concat(
	bubbles(turnEvents, "stream:text", "stream:thinking", "stream:end", "stream:error", "stream:retry", "stream:server_tool_use", "stream:server_tool_result"),
	bubbles(toolEvents, "tool:gate", "tool:dispatched", "tool:before", "tool:transform", "tool:after", "tool:error", "tool:cancelled", "mcp:tool:gate", "mcp:tool:transform",
		"validation:reject", "repeat-guard:exceeded"),
	bubbles(backgroundEvents, "background:start", "background:exit", "background:stall", "background:reassign", "background:adopt", "background:reconcile"),
	bubbles(turnEvents, "turn:after"),
	bubbles(sessionEvents, "artifact:recorded"),
	spawnsOfChildren(),
)

func bubbles(from []*Event, names ...string) []*Event {
	rows := make([]*Event, len(names))
	for i, name := range names {
		of := rowOf(name, from)
		row := child(of, "Is "+name+" of a sub-agent: "+lowerFirst(of.Doc))
		if name == "tool:error" {
			// The parent sees it; wording the error is for the sub-agent's own hooks.
			row = watched(row.Name, row.Doc, row.Fires, "ctx.error", row.Fields...)
		}
		rows[i] = row
	}
	return rows
}

// spawnsOfChildren are the events of a child's own sub-agents. They have a
// child_id already, which is the grandchild; the child that spawned it is
// parent_id.
func spawnsOfChildren() []*Event {
	rows := make([]*Event, len(spawnEvents))
	for i, of := range spawnEvents {
		row := child(of, "Is "+of.Name+" of a sub-agent's own sub-agent: "+lowerFirst(of.Doc))
		row.Fields = about([]Field{f("spawner_id", text(), "the sub-agent whose call started it")}, of.Fields...)
		rows[i] = row
	}
	return rows
}

func lowerFirst(s string) string {
	if s == "" || s[0] < 'A' || s[0] > 'Z' {
		return s
	}
	return string(s[0]+'a'-'A') + s[1:]
}
