package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agent-ls/hooks/command"
	"agent-ls/hooks/contract"
	"agent-ls/loop/tool/toolname"
)

// claudeEvents are Claude Code's events that commands have here.
var claudeEvents = map[string]string{
	"PreToolUse": "pre_tool", "PostToolUse": "post_tool", "UserPromptSubmit": "user_prompt",
	"Notification": "notification", "Stop": "stop", "SessionEnd": "session_end",
}

// elsewhere are scripts' events at the moment of one of Claude Code's events
// that commands do not have.
var elsewhere = map[string]string{
	"SessionStart": "session:start", "SubagentStart": "spawn:before", "SubagentStop": "spawn:complete", "PreCompact": "compact:start",
	"PostCompact": "compact:end", "PostToolUseFailure": "tool:error", "PermissionRequest": "tool:gate", "PermissionDenied": "tool:dispatched",
}

// claude reads a settings.json of Claude Code, or a plugin's hooks.json.
func (i *importer) claude(root *node) {
	for _, e := range root.keys {
		switch {
		case e.name == "hooks":
			if e.value.kind != tableKind {
				i.lost(e.value.span, "hooks must be an object of events, not %s", jsonKind(e.value))
				continue
			}
			for _, event := range e.value.keys {
				i.claudeEvent(event)
			}
		case e.name == "disableAllHooks" && e.value.truth:
			i.note(e.key, "disableAllHooks is set: these hooks are switched off there, and would run here")
		case e.name == "permissions":
			i.lost(e.key, "permissions are no hooks: write them as rules under [policy]")
		case e.name == "$schema" || e.name == "description":
		default:
			i.lost(e.key, "%s is no hook", e.name)
		}
	}
}

func (i *importer) claudeEvent(e *entry) {
	event, ok := claudeEvents[e.name]
	if !ok {
		why := "command hooks here have no such event"
		if near := elsewhere[e.name]; near != "" {
			why += fmt.Sprintf("; a script under [hooks] can take %q", near)
		} else if near := contract.Nearest(e.name, sortedKeys(claudeEvents)); near != "" {
			why += fmt.Sprintf("; did you mean %q?", near)
		}
		i.lost(e.key, "%s: %s", e.name, why)
		return
	}
	if e.value.kind != listKind {
		i.lost(e.value.span, "%s must be a list, not %s", e.name, jsonKind(e.value))
		return
	}
	for _, group := range e.value.items {
		if group.kind != tableKind {
			i.lost(group.span, "an entry of %s must be an object, not %s", e.name, jsonKind(group))
			continue
		}
		i.claudeGroup(e.name, event, group)
	}
}

// claudeGroup reads one matcher with its commands.
func (i *importer) claudeGroup(name, event string, group *node) {
	matcher, carried := "", true
	for _, e := range group.keys {
		switch e.name {
		case "hooks":
		case "matcher":
			matcher, carried = i.matcher(event, e.value, "|")
		default:
			i.lost(e.key, "%s is no key of an entry of %s", e.name, name)
		}
	}
	list := group.get("hooks")
	if list == nil || list.kind != listKind {
		i.lost(group.span, "an entry of %s needs a list called hooks", name)
		return
	}
	if !carried {
		return
	}
	for _, n := range list.items {
		i.claudeHook(name, event, matcher, n)
	}
}

func (i *importer) claudeHook(name, event, matcher string, n *node) {
	if n.kind != tableKind {
		i.lost(n.span, "a hook of %s must be an object, not %s", name, jsonKind(n))
		return
	}
	if kind := n.get("type"); kind != nil && kind.text != "command" {
		i.lost(kind.span, "a hook of type %q has no counterpart: hooks here are commands or scripts", kind.text)
		return
	}
	line := n.get("command")
	if line == nil || line.kind != stringKind || strings.TrimSpace(line.text) == "" {
		i.lost(n.span, "a hook of %s needs a command, a string", name)
		return
	}
	h := ImportedHook{Event: event, Command: line.text, Matcher: matcher, Line: lineOf(i.text, line.span.Start)}
	for _, e := range n.keys {
		switch e.name {
		case "type", "command":
		case "timeout":
			i.lost(e.key, "timeout: each command has %v here", command.ProcessTime)
		case "async", "asyncRewake":
			if e.value.truth {
				i.lost(e.key, "%s: the agent waits for its hooks here, but for those of notification", e.name)
			}
		case "if":
			// Without its condition the command would decide about calls that it
			// was never meant for.
			i.lost(e.key, "if: the condition has no counterpart, so the command %q is not carried over; look at the input in the command itself", line.text)
			return
		default:
			i.lost(e.key, "%s is no key of a [[hook]] entry", e.name)
		}
	}
	i.claudeHabits(n, &h)
	i.out.Hooks = append(i.out.Hooks, h)
}

// claudeHabits says what a command that was written for Claude Code may count
// on and finds otherwise here.
func (i *importer) claudeHabits(n *node, h *ImportedHook) {
	at := n.get("command").span
	if strings.Contains(h.Command, "CLAUDE_PROJECT_DIR") {
		h.Env = map[string]string{"CLAUDE_PROJECT_DIR": "."}
		i.note(at, "CLAUDE_PROJECT_DIR is set to \".\": a command starts in the workspace's root")
	}
	if strings.Contains(h.Command, "CLAUDE_PLUGIN_ROOT") {
		i.note(at, "CLAUDE_PLUGIN_ROOT is not set here: write the path of the plugin's folder")
	}
	if h.Event == "post_tool" {
		i.note(at, "post_tool fires after calls that succeeded, and can replace the result; a decision to block is not heard there")
	}
}

// pattern lists the tools that an expression matches, since matchers here are
// exact names.
func (m *matching) pattern(expression string) {
	re, err := regexp.Compile(`^(?:` + expression + `)$`)
	if err != nil {
		m.importer.lost(m.at, "the pattern %q does not compile: %v", expression, err)
		return
	}
	if strings.Contains(expression, "mcp__") {
		m.importer.lost(m.at, "matchers are exact names: write the MCP tools that %q stands for one by one, as mcp__SERVER__TOOL", expression)
		return
	}
	var found []string
	for _, name := range toolname.Built {
		if slices.ContainsFunc(toolname.Spellings(name), re.MatchString) {
			found = append(found, name)
			m.add(name)
		}
	}
	if len(found) == 0 {
		m.importer.lost(m.at, "the pattern %q matches no tool that there is here", expression)
		return
	}
	m.importer.note(m.at, "matchers are exact names: the pattern %q is written as %s; it would not match a tool of an MCP server", expression, strings.Join(found, ","))
}

// alternatives splits a matcher where it lists names. A separator inside
// brackets belongs to a pattern.
func alternatives(text, separator string) []string {
	if separator != "|" {
		return strings.Split(text, separator)
	}
	var parts []string
	depth, start := 0, 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '|', ',':
			if depth == 0 {
				parts = append(parts, text[start:at])
				start = at + 1
			}
		}
	}
	return append(parts, text[start:])
}
