package main

import (
	"fmt"
	"strings"

	"agent-ls/loop/manifest"
)

const head = `# Settings

<!-- Generated from loop/manifest by "go run ./loop/manifest/gen". Do not edit. -->

Settings are TOML. Each layer goes over the one before: built-in defaults, the user's config
(` + "`$XDG_CONFIG_HOME/agent-ls/config.toml`" + `), the workspace (` + "`.agent-ls/agent.toml`, and `.agent-ls/agents/NAME.toml`" + ` for more
agents), the environment (` + "`AGENT_LS_BEHAVIOR__MAX_CONCURRENT_TOOLS`, `__`" + ` for a level), the editor's settings, flags. Scalars replace,
tables merge, lists replace; hooks, policy, taint and diagnostics add up. An organisation's ` + "`/etc/agent-ls/policy.toml`" + ` cannot be
relaxed by any of them.

A workspace and an editor's settings come with the code that the agent works on. What they may not set is the finding
` + "`not-allowed-here`" + ` and has no effect. Scripts, prompts and rehearsals are relative to the folder ` + "`.agent-ls`" + ` and stay in it; a
region's ` + "`file:`" + ` seed is relative to the workspace's root. A wrong entry has no effect, its neighbours do; an error keeps runs from starting.

In ` + "`agents/NAME.toml`" + ` stand the agent's own [agent], [stages], [hooks], [models] and the rules of [policy], which bind that agent. The scripts under
[hooks] of agent.toml hold for every agent of the workspace, sub-agents included.

A ` + "`*`" + ` is a name that you choose. A name with dots is quoted: ` + "`[models.\"gpt-4.1\"]`" + `. Bold keys are required.

What is marked "not yet in force" is checked and kept, and nothing acts on it in this version. Whoever sets it gets the finding ` + "`unavailable`" + `: a
warning, or, where it is there to keep a run from something (such as a budget that blocks), an
error, and no run starts.
`

// page is the reference of all settings, a table for each section.
func page(settings []manifest.Setting) string {
	var b strings.Builder
	b.WriteString(head)
	section := ""
	for _, s := range settings {
		name, _, _ := strings.Cut(strings.ReplaceAll(s.Path, "[]", ""), ".")
		if name != section {
			section = name
			title := "[" + name + "]"
			if s.Shapes[0] == manifest.Tables {
				title = "[[" + name + "]]"
			}
			fmt.Fprintf(&b, "\n## `%s`\n\n%s\n\n| key | type | default | set by | |\n| --- | --- | --- | --- | --- |\n", title, said(&s))
			continue
		}
		key := "`" + s.Path + "`"
		if s.Required {
			key = "**" + key + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", key, cell(s.TypeText()), code(s.DefaultText()), s.Who, cell(said(&s)))
	}
	return b.String()
}

// said is what there is to know about a setting.
func said(s *manifest.Setting) string {
	if s.InForce() {
		return s.Doc
	}
	return s.Doc + " **Not yet in force.**"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}
