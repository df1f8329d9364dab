package manifest

import (
	"slices"
	"strings"
	"testing"

	"agent-ls/hooks/check"
)

// inForce leaves out what is said of settings that nothing acts on.
func inForce(found []check.Finding) []check.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f check.Finding) bool { return f.Code == CodeUnavailable })
}

// Whoever sets something that nothing acts on is told, and no run starts
// where it is there to keep the run from something.
func TestSettingsThatAreNotInForceAreSaid(t *testing.T) {
	tests := map[string]struct {
		text, at string // what stands at the finding's place; "" = no finding
		blocks   bool
	}{
		"taint":                   {"[taint]\nenabled = true\n[taint.labels]\n\"a/**\" = \"private\"\n[taint.clearance]\nshell = \"public\"\n", "", false},
		"a budget that blocks":    {"[behavior]\ntool_budgets = { bash = { max = 1, on_exceed = \"block\" } }\n", "", false},
		"a budget that steers":    {"[behavior.tool_budgets]\nbash = { max = 1 }\n", "", false},
		"a guard of one's own":    {"[behavior]\nrepeat_guard = { block = 2 }\n", "", false},
		"a guard in a section":    {"[behavior.repeat_guard]\nabort = 5\n", "", false},
		"the guard as it is":      {"[behavior]\nrepeat_guard = true\n", "", false},
		"no guard":                {"[behavior]\nrepeat_guard = false\n", "", false},
		"limits of sub-agents":    {"[limits]\ndepth = 0\nagents = 2\n", "", false},
		"diagnostics":             {"[diagnostics]\ngo = \"go vet\"\n", "", false},
		"a server":                {"[mcp.files]\nurl = \"http://127.0.0.1:1/\"\n", "", false},
		"compaction":              {"[behavior]\ncompact_strategy = \"tail\"\nelide_stale_reads = true\nthinking_budget = 2000\n", "", false},
		"no compaction":           {"[behavior]\ncompact_strategy = \"off\"\nauto_compact = false\nthinking_budget = 0\n", "", false},
		"what is in force":        {"[behavior]\ndedup_reads = false\nmax_retries = 1\n[limits]\nturns = 3\ncost = 1\n[sandbox]\nnetwork = false\n", "", false},
		"nothing set at all":      {"", "", false},
		"a wrong value, not both": {"[taint]\nenabled = 3\n", "", false},
	}
	for name, tt := range tests {
		for _, file := range []string{"config.toml", "ws/.agent-ls/agent.toml"} {
			t.Run(name+" in "+file, func(t *testing.T) {
				s := workspace(t, "-- "+file+" --\n"+tt.text)
				cfg, found := load(t, s)
				var said []check.Finding
				for _, f := range found {
					if f.Code == CodeUnavailable {
						said = append(said, f)
					}
				}
				if tt.at == "" {
					if len(said) > 0 {
						t.Errorf("findings %v, want none", said)
					}
					return
				}
				if len(said) != 1 {
					t.Fatalf("findings %v, want one", said)
				}
				f := said[0]
				if got := tt.text[f.Span.Start:f.Span.End]; got != tt.at || !strings.HasSuffix(f.Path, file) || !strings.Contains(f.Message, "not in force in this version") {
					t.Errorf("%q at %q in %s, want it at %q", f.Message, got, f.Path, tt.at)
				}
				if got := slices.ContainsFunc(cfg.Blocking("", found), func(b check.Finding) bool { return b.Code == CodeUnavailable }); got != tt.blocks {
					t.Errorf("keeps runs from starting: %v, want %v", got, tt.blocks)
				}
			})
		}
	}
}
