package toolname

import (
	"slices"
	"strings"
)

// spellings are the names by which command hooks know a tool beside ours:
// hotl's first, Claude Code's second, then whatever else it is called.
var spellings = map[string][]string{
	"shell":        {"bash", "Bash", "sh", "run_command", "exec"},
	"shell_output": {"shell_output", "BashOutput"},
	"shell_kill":   {"shell_kill", "KillShell", "KillBash"},
	"read_file":    {"read", "Read", "view"},
	"write_file":   {"write", "Write", "create"},
	"edit":         {"edit", "Edit", "str_replace"},
	"multi_edit":   {"multi_edit", "MultiEdit", "multiedit"},
	"glob":         {"glob", "Glob"},
	"grep":         {"grep", "Grep"},
	"list_files":   {"ls", "LS", "list"},
	"spawn":        {"task", "Task", "Agent"},
	"ask_user":     {"ask_user", "AskUserQuestion"},
	"todowrite":    {"todowrite", "TodoWrite"},
	"todoread":     {"todoread", "TodoRead"},
	"web_fetch":    {"web_fetch", "WebFetch", "webfetch"},
	"skill":        {"skill", "Skill"},
}

// Spellings are a tool's names in each spelling that matchers of command hooks
// take: ours, hotl's, Claude Code's, then others. There are three at least.
func Spellings(name string) []string {
	known, ok := spellings[name]
	if !ok {
		return []string{name, name, name}
	}
	return append([]string{name}, known...)
}

// BySpelling is the tool that a matcher means with that very spelling; ok is
// false when no tool has it, so that the matcher would never match. Names of
// MCP tools stand for themselves.
func BySpelling(spelt string) (name string, ok bool) {
	if strings.HasPrefix(spelt, "mcp__") {
		return spelt, true
	}
	for _, name := range Built {
		if slices.Contains(Spellings(name), spelt) {
			return name, true
		}
	}
	return "", false
}

// NearestSpelling is the spelling most like a word, "" when none comes close.
func NearestSpelling(word string) string {
	var all []string
	for _, name := range Built {
		all = append(all, Spellings(name)...)
	}
	for _, s := range all {
		if strings.EqualFold(s, word) {
			return s
		}
	}
	return Closest(word, all)
}
