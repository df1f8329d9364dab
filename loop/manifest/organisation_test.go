package manifest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"agent-ls/hooks/check"
)

// Whatever is wrong with an organisation's policy, no run starts past it.
func TestABrokenOrganisationPolicyStopsRuns(t *testing.T) {
	for name, text := range map[string]string{
		"syntax":             "[policy\ndeny = [\"shell\"]\n",
		"a misspelt key":     "[policy]\ndenny = [\"shell(rm *)\"]\n",
		"a misspelt table":   "[polcy]\ndeny = [\"shell(rm *)\"]\n",
		"no rule":            "[policy]\ndeny = [\"shell(\"]\n",
		"an unknown tool":    "[policy]\ndeny = [\"shel(rm *)\"]\n",
		"a wrong type":       "[policy]\ndeny = \"shell(rm *)\"\n",
		"a wrong default":    "[policy]\ndefault = \"never\"\n",
		"a wrong level":      "[taint.labels]\n\"a\" = \"secret\"\n",
		"a wrong limit":      "[limits]\nturns = 0\n",
		"a wrong sandbox":    "[sandbox]\nnetwork = \"no\"\n",
		"a hook without":     "[[hook]]\nevent = \"pre_tool\"\nrequired = true\n",
		"an unknown event":   "[[hook]]\nevent = \"pre_tol\"\ncommand = \"x\"\nrequired = true\n",
		"a script not there": "[hooks]\n\"tool:gate\" = [\"nowhere.risor\"]\n",
	} {
		s := workspace(t, "-- policy.toml --\n"+text+"-- ws/.agent-ls/agent.toml --\n[agent]\nmodel = \"claude\"\n[stages.a]\nsystem = \"x\"\n")
		cfg, found := load(t, s)
		blocking := cfg.Blocking("", found)
		if len(blocking) == 0 || blocking[0].Path != s.OrgPolicy {
			t.Errorf("%s: Blocking = %v of %v, want the organisation's", name, blocking, found)
		}
	}
	s := workspace(t, "")
	if err := os.Mkdir(s.OrgPolicy, 0o755); err != nil { // something that cannot be read
		t.Fatal(err)
	}
	cfg, found := load(t, s)
	if blocking := cfg.Blocking("", found); len(blocking) != 1 || !strings.Contains(blocking[0].Message, "cannot read") {
		t.Errorf("a file that cannot be read: Blocking = %v", blocking)
	}
}

func TestAnOrganisationsHooksAndRulesHold(t *testing.T) {
	s := workspace(t, `
-- policy.toml --
[policy]
default = "deny"
deny = ["shell(curl *)"]
ask = ["write_file(deploy/**)"]

[[hook]]
event = "pre_tool"
command = "/usr/bin/guard"
required = true
-- config.toml --
[policy]
default = "allow"
allow = ["shell(curl *)", "write_file(deploy/**)"]

[[hook]]
event = "pre_tool"
command = "mine"
-- ws/.agent-ls/agent.toml --
[policy]
allow = ["shell"]
`)
	cfg, _ := load(t, s)
	if cfg.Policy.Default != "deny" {
		t.Errorf("default = %q, want the organisation's", cfg.Policy.Default)
	}
	if len(cfg.Policy.Rules) == 0 || cfg.Policy.Rules[0].Origin.Layer != "organisation" || cfg.Policy.Rules[0].Verdict != "deny" {
		t.Errorf("rules %+v, want the organisation's first", cfg.Policy.Rules)
	}
	if len(cfg.Commands) != 2 || cfg.Commands[0].Command != "/usr/bin/guard" || !cfg.Commands[0].Required || !cfg.Commands[0].Trusted {
		t.Errorf("command hooks %+v, want the organisation's required one first, trusted", cfg.Commands)
	}
}

func TestNoServerIsLetPastTheOrganisationsNetwork(t *testing.T) {
	const user = "-- config.toml --\n[mcp.issues]\ncommand = [\"issues\"]\nnetwork = true\n"
	cfg, found := load(t, workspace(t, "-- policy.toml --\n[sandbox]\nnetwork = false\n"+user))
	if len(cfg.MCP) != 1 || cfg.MCP[0].Network {
		t.Errorf("servers %+v, want the one without the network", cfg.MCP)
	}
	if !slices.ContainsFunc(found, func(f check.Finding) bool {
		return f.Code == CodeNotAllowedHere && strings.HasPrefix(f.Message, "mcp.issues.network has no effect") && strings.HasSuffix(f.Path, "config.toml")
	}) {
		t.Errorf("findings %v, want one about mcp.issues.network", found)
	}
	for _, policy := range []string{"", "-- policy.toml --\n[sandbox]\nnetwork = true\n", "-- policy.toml --\n[limits]\nturns = 5\n"} {
		cfg, found = load(t, workspace(t, policy+user))
		if len(found) > 0 || len(cfg.MCP) != 1 || !cfg.MCP[0].Network {
			t.Errorf("under %q: servers %+v, findings %v", policy, cfg.MCP, found)
		}
	}
}
