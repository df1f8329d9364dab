package manifest

import "testing"

func TestNobodyRelaxesAnothersClearance(t *testing.T) {
	s := workspace(t, `
-- policy.toml --
[taint]
enabled = true
clearance = { "mcp__*" = "internal" }
-- config.toml --
[taint.clearance]
"*" = "internal"
read_file = "private"
"mcp__files__*" = "private"
-- ws/.agent-ls/agent.toml --
[taint.clearance]
shell = "private"
bash = "public"
read = "internal"
web_fetch = "private"
`)
	cfg, _ := load(t, s)
	if !cfg.Taint.Enabled {
		t.Error("the organisation's taint is not enabled")
	}
	for tool, want := range map[string]string{
		"shell":            "public",   // the workspace's lower one
		"web_fetch":        "internal", // the user's pattern, whatever the workspace names
		"read_file":        "internal", // by name before the pattern, and the workspace is stricter
		"edit":             "internal",
		"mcp__files__read": "internal", // the organisation's, whatever the user says
		"mcp__web__get":    "internal",
	} {
		if got := cfg.Taint.ClearanceOf(tool); got != want {
			t.Errorf("ClearanceOf(%s) = %s, want %s", tool, got, want)
		}
	}
	if got := (Taint{}).ClearanceOf("shell"); got != "private" {
		t.Errorf("of nothing said: %s, want private", got)
	}
}
