package command

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"agent-ls/hooks/contract"
)

// claudeNames are the events' names in Claude Code's hooks.
var claudeNames = map[string]string{
	"pre_tool": "PreToolUse", "post_tool": "PostToolUse", "user_prompt": "UserPromptSubmit",
	"notification": "Notification", "stop": "Stop", "session_end": "SessionEnd",
}

// envelope is what a command reads on stdin: the event under both names, the
// tool in each spelling, and what every event has.
func envelope(e *contract.Event, fields map[string]any) ([]byte, error) {
	m := map[string]any{"event": e.Name, "hookEventName": claudeNames[e.Name], "hook_event_name": claudeNames[e.Name]}
	for _, f := range contract.Common() {
		switch f.Name {
		case "event", "state":
		default:
			m[f.Name] = fields[f.Name]
		}
	}
	if names, ok := fields["tool_names"].([]any); ok && len(names) >= 3 {
		m["name"], m["tool"], m["tool_name"] = names[0], names[1], names[2]
		m["call_id"], m["input"], m["tool_input"] = fields["call_id"], fields["input"], fields["input"]
	}
	switch e.Name {
	case "post_tool":
		result, _ := fields["result"].(string)
		m["result"] = cut(result)
		m["tool_response"] = m["result"]
	case "user_prompt":
		m["prompt"] = fields["prompt"]
	case "notification":
		m["kind"], m["detail"] = fields["kind"], fields["detail"]
		m["message"] = fields["detail"]
	case "stop":
		m["outcome"] = fields["output"]
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write the envelope: %w", err)
	}
	return append(text, '\n'), nil
}

// cut shortens a result to what a command sees, and marks it.
func cut(result string) string {
	if len(result) <= MaxResult {
		return result
	}
	at := MaxResult
	for at > 0 && !utf8.RuneStart(result[at]) {
		at--
	}
	return fmt.Sprintf("%s\n[cut: the whole result has %d bytes]", result[:at], len(result))
}

// shorten bounds injected text.
func shorten(text string) string {
	if utf8.RuneCountInString(text) <= MaxContext {
		return text
	}
	return string([]rune(text)[:MaxContext])
}
