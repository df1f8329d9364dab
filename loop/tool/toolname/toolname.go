// Package toolname owns what tools are called: the names themselves and the
// aliases of the systems whose hooks and rules are accepted here. Start at
// Canonical.
package toolname

import (
	"slices"
	"strings"
)

// Built are the tools that come with the program, canonical names.
var Built = []string{
	"read_file", "write_file", "edit", "multi_edit", "glob", "grep", "list_files", "shell",
	"shell_output", "shell_kill", "spawn", "ask_user", "todoread", "todowrite", "web_fetch", "diagnostics",
	"definition", "references", "symbols", "rename", "find_tools", "skill",
}

// aliases maps lower-case names of other systems to canonical ones.
var aliases = map[string]string{
	"bash": "shell", "sh": "shell", "run_command": "shell", "exec": "shell",
	"bashoutput": "shell_output", "killshell": "shell_kill", "killbash": "shell_kill",
	"read": "read_file", "view": "read_file",
	"write": "write_file", "create": "write_file",
	"str_replace": "edit", "multiedit": "multi_edit",
	"ls": "list_files", "list": "list_files", "listfiles": "list_files",
	"readfile": "read_file", "writefile": "write_file",
	"task": "spawn", "askuser": "ask_user", "webfetch": "web_fetch",
}

// Canonical is the name by which rules, hooks and records know a tool. A name
// that is nobody's alias comes back as it is.
func Canonical(name string) string {
	if strings.HasPrefix(name, "mcp__") {
		return name
	}
	lower := strings.ToLower(strings.TrimSpace(name))
	if slices.Contains(Built, lower) {
		return lower
	}
	if c, ok := aliases[lower]; ok {
		return c
	}
	return name
}

// Known tells whether a name, canonical already, is a built-in tool's or has
// the shape of an MCP tool's.
func Known(name string) bool {
	return slices.Contains(Built, name) || strings.HasPrefix(name, "mcp__")
}

// Nearest is the built-in name or alias that is spelt most like name, "" when
// nothing comes close.
func Nearest(name string) string {
	candidates := slices.Clone(Built)
	for a := range aliases {
		candidates = append(candidates, a)
	}
	slices.Sort(candidates)
	return Closest(strings.ToLower(name), candidates)
}

// Closest is the candidate with the least edit distance, within a third of
// the word's length; "" when none is that close.
func Closest(word string, candidates []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if d := distance(word, c, least); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of inserted, removed, replaced or swapped bytes
// between two words; it stops counting at limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}
