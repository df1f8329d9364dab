package manifest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/loop/trust"
)

// workspace writes files below a folder and returns sources that read nothing
// else. "config.toml" and "policy.toml" are the user's and the organisation's.
func workspace(t testing.TB, files string) Sources {
	t.Helper()
	root := t.TempDir()
	for _, f := range txtar.Parse([]byte(files)).Files {
		full := filepath.Join(root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Sources{
		Root: filepath.Join(root, "ws"), UserConfig: filepath.Join(root, "config.toml"), OrgPolicy: filepath.Join(root, "policy.toml"), Environ: []string{},
	}
}

func load(t testing.TB, s Sources) (*Config, []check.Finding) {
	t.Helper()
	return Load(context.Background(), s)
}

func TestOwnSettingsAreKnown(t *testing.T) {
	s := workspace(t, "-- ws/main.go --\npackage main\n")
	cfg, _ := load(t, s)
	if diff := cmp.Diff([]string{s.UserConfig, s.UserConfig, s.OrgPolicy}, cfg.Own); diff != "" {
		t.Errorf("a file that somebody named (-want +got):\n%s", diff)
	}
	s.Environ = []string{"XDG_CONFIG_HOME=" + filepath.Dir(s.Root), "HOME=" + filepath.Dir(s.Root)}
	s.UserConfig = ""
	cfg, _ = load(t, s)
	file := DefaultUserConfig(s.Environ)
	if diff := cmp.Diff([]string{filepath.Dir(file), file, s.OrgPolicy}, cfg.Own); diff != "" {
		t.Errorf("the user's folder (-want +got):\n%s", diff)
	}
}

func TestNoManifestAtAllIsUsable(t *testing.T) {
	s := workspace(t, "-- ws/main.go --\npackage main\n")
	cfg, found := load(t, s)
	if len(found) > 0 {
		t.Errorf("findings = %v, want none", found)
	}
	want := []Agent{{Name: "default", Entry: "main", Stages: []Stage{{Name: "main", Tools: []string{"*"}, MaxTurns: 50}}}}
	if diff := cmp.Diff(want, cfg.Agents); diff != "" {
		t.Error(diff)
	}
	s.Environ = []string{"OPENAI_API_KEY=x"}
	if cfg, _ := load(t, s); cfg.Agents[0].Model != "gpt" {
		t.Errorf("model = %q, want the built-in one whose key is there", cfg.Agents[0].Model)
	}
	s = workspace(t, "-- config.toml --\n[models.mine]\nprovider = \"openai\"\n")
	if cfg, _ := load(t, s); cfg.Agents[0].Model != "mine" {
		t.Errorf("model = %q, want the only one of the user", cfg.Agents[0].Model)
	}
}

func TestDefaultsAreThoseOfTheTable(t *testing.T) {
	cfg, _ := load(t, workspace(t, ""))
	want := Behavior{
		RequireReadBeforeEdit: true, TrackShellReads: true, WriteExisting: "require_read", MaxConcurrentTools: 10, MaxRetries: 2, DedupReads: true,
		CompactStrategy: "off", CompactThreshold: 131072, CompactKeepTurns: 4, AutoCompact: true, ToolBudgets: map[string]ToolBudget{},
		RepeatGuard:     RepeatGuard{Enabled: true, RepeatLimit: RepeatLimit{4, 8}, Tools: map[string]RepeatLimit{"read_file": {6, 12}}},
		SessionBaseline: true, LazyMCPTools: 40, CompactSkip: CompactSkip{Providers: nil},
	}
	got := cfg.Behavior
	if len(got.CompactSkip.Providers) == 0 {
		got.CompactSkip.Providers = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := (RunLimits{Turns: 200, Time: 2 * time.Hour, Depth: 3, Agents: 8}); cfg.Limits != want {
		t.Errorf("limits = %+v, want %+v", cfg.Limits, want)
	}
	if h := cfg.HookLimits; h.Operations != 100_000 || h.Time != 2*time.Second || h.Memory != 128<<20 || h.CallDepth != 64 ||
		h.Context != 4<<20 || h.Value != 4<<20 || h.Printed != 64<<10 || h.Source != 1<<20 || h.Nesting != 256 || h.Workers < 1 {
		t.Errorf("hook limits = %+v", h)
	}
	if cfg.Sandbox.Network || cfg.Sandbox.Off || !slices.Equal(cfg.Sandbox.Writable, []string{"."}) || cfg.Concurrency.Subprocs != 8 || cfg.Sessions.Keep != 90*24*time.Hour {
		t.Errorf("sandbox, concurrency, sessions = %+v %+v %+v", cfg.Sandbox, cfg.Concurrency, cfg.Sessions)
	}
}

const everything = `
-- config.toml --
[models.claude]
provider = "anthropic"
model = "claude-sonnet-4-5"
api_key_env = "ANTHROPIC_API_KEY"
max_tokens = 16384
fallback = ["local"]
limits = { attempts = 5, total_wait = "2m", idle = "90s" }
price = { input = 3.0, output = 15.0, cache_read = 0.3, cache_write = 3.75 }

[models.local]
provider = "openai"
base_url = "http://127.0.0.1:11434/v1"
model = "qwen3-coder"
api_key_command = ["pass", "show", "key"]
headers = { X-Org = "${ORG}" }
-- ws/.agent-ls/agent.toml --
[agent]
name = "coder"
model = "claude"
entry = "plan"

[models.rehearsal]
provider = "rehearsal"
script = "rehearsal/fix.yaml"

[stages.plan]
prompt = "prompts/plan.md"
tools = ["read", "grep", "mcp__files__read"]
max_turns = 20
next = "implement"

[stages.plan.transitions]
review = { on = "model_choice", hint = "large plans", max_visits = 3 }

[stages.plan.regions]
notes = { kind = "pinned", max_tokens = 900, seed = "file:NOTES.md" }

[stages.plan.hooks]
on_tool_call = "hooks/guard.risor"
on_stage_enter = "hooks/guard.risor"

[stages.implement]
tools = ["*"]

[stages.review]
system = "Review."
next = "implement"

[behavior]
tool_output_budget = 100
compact_strategy = "tail"
compact_low_water_fraction = 0.5
compact_skip = { providers = ["anthropic"], min_context_window = 1000 }
auto_compact = false
elide_stale_reads = "notice"
write_existing = "deny"
dedup_tools = { todowrite = "hooks/guard.risor" }
tool_budgets = { todowrite = { max = 6 }, bash = { max = 3, on_exceed = "block" } }
repeat_guard = { block = 5, tools = { grep = { abort = 20 } } }
thinking_budget = 8192
thinking_decay = { after_turn = 5, floor = 1024 }
cache_telemetry = true

[diagnostics]
go = "go vet ./..."

[mcp.files]
command = ["npx", "-y", "server", "."]
env = { DEBUG = "1" }
-- ws/.agent-ls/prompts/plan.md --
Plan first.
-- ws/.agent-ls/rehearsal/fix.yaml --
turns: []
-- ws/NOTES.md --
note
-- ws/.agent-ls/hooks/guard.risor --
func on_tool_call(ctx) { }
func on_stage_enter(ctx) { }
func dedup_key(input) { nil }
`

func TestEverySectionIsDecoded(t *testing.T) {
	s := workspace(t, everything)
	cfg, found := load(t, s)
	if errs := cfg.Blocking("", inForce(found)); len(errs) > 0 {
		t.Fatalf("blocking findings: %v", errs)
	}
	a := cfg.Agents[0]
	wantStages := []Stage{
		{Name: "plan", System: "Plan first.\n", Tools: []string{"read_file", "grep", "mcp__files__read"}, MaxTurns: 20, Next: "implement",
			Transitions: []Transition{{"review", "model_choice", "large plans", 3}},
			Regions:     []Region{{Name: "notes", Kind: "pinned", MaxTokens: 900, Seed: "note\n", SeedPath: filepath.Join(cfg.Root, "NOTES.md")}}},
		{Name: "implement", Index: 1, Tools: []string{"*"}, MaxTurns: 50},
		{Name: "review", Index: 2, System: "Review.", Tools: []string{"*"}, MaxTurns: 50, Next: "implement"},
	}
	for i := range a.Stages {
		a.Stages[i].At = check.Span{}
	}
	if diff := cmp.Diff(wantStages, a.Stages); diff != "" {
		t.Error(diff)
	}
	var declared []string
	for _, h := range a.Hooks {
		declared = append(declared, h.ID+" "+h.Event+" "+filepath.Base(h.Path))
		if line := h.Declared.Start.Line; line < 20 {
			t.Errorf("%s is declared on line %d", h.ID, line)
		}
	}
	// In the order in which they fire, whatever the order in the file.
	wantHooks := []string{"stages.plan.hooks.on_stage_enter on_stage_enter guard.risor", "stages.plan.hooks.on_tool_call on_tool_call guard.risor"}
	if diff := cmp.Diff(wantHooks, declared); diff != "" {
		t.Error(diff)
	}
	claude := cfg.Models["claude"]
	claude.Origin = Origin{}
	wantModel := Model{Name: "claude", Provider: "anthropic", Model: "claude-sonnet-4-5", APIKeyEnv: "ANTHROPIC_API_KEY", MaxTokens: 16384, Fallback: []string{"local"},
		Attempts: 5, TotalWait: 2 * time.Minute, Idle: 90 * time.Second, Price: &Price{3, 15, 0.3, 3.75}}
	if diff := cmp.Diff(wantModel, claude); diff != "" {
		t.Error(diff)
	}
	if m := cfg.Models["local"]; !slices.Equal(m.APIKeyCommand, []string{"pass", "show", "key"}) || m.Headers["X-Org"] != "${ORG}" {
		t.Errorf("local = %+v", m)
	}
	if m := cfg.Models["rehearsal"]; string(m.ScriptText) != "turns: []\n" || !filepath.IsAbs(m.Script) {
		t.Errorf("rehearsal = %+v", m)
	}
	b := cfg.Behavior
	if b.RepeatGuard.Block != 5 || b.RepeatGuard.Abort != 8 || b.RepeatGuard.Tools["grep"] != (RepeatLimit{5, 20}) || !b.RepeatGuard.Enabled ||
		b.ThinkingDecay == nil || *b.ThinkingDecay != (ThinkingDecay{5, 1024}) || b.ToolBudgets["shell"] != (ToolBudget{3, "block"}) ||
		b.ElideStaleReads != "notice" || len(b.DedupTools) != 1 || b.CompactSkip.MinContextWindow != 1000 || b.AutoCompact {
		t.Errorf("behavior = %+v", b)
	}
	if len(cfg.MCP) != 1 || cfg.MCP[0].Env["DEBUG"] != "1" || cfg.MCP[0].Trusted || !cfg.MCP[0].Workspace {
		t.Errorf("mcp = %+v", cfg.MCP)
	}
}

func TestTrustCoversEntryAndNamedFiles(t *testing.T) {
	files := "-- ws/.agent-ls/agent.toml --\n[diagnostics]\ngo = \"sh scripts/vet.sh\"\n-- ws/scripts/vet.sh --\necho ok\n"
	s := workspace(t, files)
	s.Trust = trust.New(t.TempDir())
	t.Cleanup(func() { s.Trust.Close() })
	cfg, _ := load(t, s)
	d := cfg.Diagnostics[0]
	if d.State != trust.Untrusted || d.ID != "diagnostics.go" {
		t.Errorf("before: %+v", d.Trust)
	}
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Trust.Trust(t.Context(), trust.Entry{Root: root, Kind: d.Item.Kind, Name: d.Item.Name, Digest: d.Digest}); err != nil {
		t.Fatal(err)
	}
	cfg, found := load(t, s)
	if !cfg.Diagnostics[0].Trusted || len(inForce(found)) != 0 {
		t.Errorf("trusted = %v with %v", cfg.Diagnostics[0].Trusted, found)
	}
	if err := os.WriteFile(filepath.Join(s.Root, "scripts", "vet.sh"), []byte("curl evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if cfg, found = load(t, s); cfg.Diagnostics[0].Trusted || cfg.Diagnostics[0].State != trust.Changed {
		t.Errorf("a changed script is %q", cfg.Diagnostics[0].State)
	}
	if f := inForce(found); len(f) != 1 || f[0].Code != CodeUntrusted || !strings.Contains(f[0].Message, "changed since you trusted it") || f[0].Trust == nil {
		t.Errorf("findings = %v", f)
	}
}

func TestBlockingIsByAgent(t *testing.T) {
	s := workspace(t, `
-- ws/.agent-ls/agent.toml --
[stages.a.hooks]
on_tool_call = "hooks/gone.risor"
-- ws/.agent-ls/agents/other.toml --
[stages.b]
-- ws/.agent-ls/agents/broken.toml --
[stages.c]
next = "nowhere"
`)
	cfg, found := load(t, s)
	for agent, want := range map[string]string{"": "missing-file", "other": "", "broken": "unknown-stage"} {
		var got []string
		for _, f := range cfg.Blocking(agent, found) {
			got = append(got, string(f.Code))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Blocking(%q) = %v, want %s", agent, got, want)
		}
	}
	// What stands in nobody's own lines concerns everybody.
	file := filepath.Join(s.Root, ".agent-ls", "agent.toml")
	s.Overlay = func(path string) ([]byte, bool) { return []byte("[policy]\ndeny = [3]\n"), path == file }
	cfg, found = load(t, s)
	if got := cfg.Blocking("other", found); len(got) != 1 || got[0].Code != CodeWrongType {
		t.Errorf("Blocking(other) = %v, want the broken rule", got)
	}
}

func TestABrokenRehearsalBlocksThoseWhoPlayIt(t *testing.T) {
	s := workspace(t, strings.Replace(everything, "turns: []", "turns: [{txt: a}]", 1))
	cfg, found := load(t, s)
	if len(found) == 0 || !strings.HasSuffix(found[len(found)-1].Path, "fix.yaml") {
		t.Fatalf("findings = %v, want one in the script", found)
	}
	if got := cfg.Blocking("", inForce(found)); len(got) != 0 {
		t.Errorf("the agent that plays another model is blocked by %v", got)
	}
	s.Flags = map[string]any{"agent.model": "rehearsal"}
	cfg, found = load(t, s)
	if got := cfg.Blocking("", inForce(found)); len(got) != 1 || got[0].Code != "unknown-key" {
		t.Errorf("Blocking = %v, want the script's mistake", got)
	}
}

func TestOpenDocumentsComeFirst(t *testing.T) {
	s := workspace(t, everything)
	script := filepath.Join(s.Root, ".agent-ls", "hooks", "guard.risor")
	s.Overlay = func(path string) ([]byte, bool) { return []byte("func on_tool_call(ctx) { 1 }"), path == script }
	cfg, found := load(t, s)
	if got := string(cfg.Agents[0].Hooks[0].Text); !strings.Contains(got, "{ 1 }") {
		t.Errorf("script = %q, want the open document's", got)
	}
	codes := map[check.Code]int{}
	for _, f := range found {
		codes[f.Code]++
	}
	if codes[CodeMissingFunction] != 2 { // on_stage_enter and dedup_key are gone
		t.Errorf("findings = %v", found)
	}
	if lines := cfg.ScriptLines(script); len(lines) != 3 {
		t.Errorf("ScriptLines = %v, want the two points and dedup_tools", lines)
	}
}

func TestUsersHooksStayAheadOfTheWorkspaces(t *testing.T) {
	names := scriptEvents()
	if len(names) == 0 {
		// Only stage points so far: an event hook of either is refused, never skipped in silence.
		_, found := load(t, workspace(t, "-- config.toml --\n[hooks]\n\"tool:gate\" = [\"a.risor\"]\n"))
		if len(found) != 1 || found[0].Code != CodeUnknownEvent {
			t.Errorf("findings = %v, want unknown-event", found)
		}
		return
	}
	name, function := names[0], contract.ByName(names[0]).Function
	s := workspace(t, "-- config.toml --\n[hooks]\n"+keyText(name)+" = \"a.risor\"\n-- a.risor --\nfunc "+function+"(ctx) {}\n"+
		"-- ws/.agent-ls/agent.toml --\n[hooks]\n"+keyText(name)+" = [\"b.risor\"]\n-- ws/.agent-ls/b.risor --\nfunc "+function+"(ctx) {}\n")
	cfg, found := load(t, s)
	var got []string
	for _, h := range cfg.Agents[0].Hooks {
		got = append(got, filepath.Base(h.Path))
	}
	if diff := cmp.Diff([]string{"a.risor", "b.risor"}, got); diff != "" || len(found) > 0 {
		t.Errorf("hooks (-want +got):\n%s\n%v", diff, found)
	}
}

func TestKnownTools(t *testing.T) {
	for name, want := range map[string]bool{"read_file": true, "bash": true, "Bash": true, "*": true, "mcp__a__b": true, "mcp__a__*": true, "Edit": true, "sh": true, "shel": false, "": false} {
		if got := KnownTool(name); got != want {
			t.Errorf("KnownTool(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestStagePointsAreTheContracts(t *testing.T) {
	var want []string
	for _, e := range contract.Events() {
		if e.Stage {
			want = append(want, e.Name)
		}
	}
	if diff := cmp.Diff(want, StagePoints); diff != "" {
		t.Error(diff)
	}
}

func TestFunctionOffset(t *testing.T) {
	for text, want := range map[string]int{
		"func f(ctx) {}":                      5,
		"x := 1\nfunc  f (a) {}":              13,
		"// func f()\n# func f()\nfunc g(){}": -1,
		"/* func f() */ func f() {}":          20,
		"s := `func f()`":                     -1,
		"func g() { func f() {} }":            -1,
		"f := func(ctx) {}":                   -1,
		"func g() { \"}\" }\nfunc f() {}":     22,
		"/* never closed func f()":            -1,
	} {
		if got := functionOffset([]byte(text), "f"); got != want {
			t.Errorf("functionOffset(%q) = %d, want %d", text, got, want)
		}
	}
}

// The reference says which models are there without any file.
func TestModelsThatAreAlwaysThereAreDocumented(t *testing.T) {
	at := slices.IndexFunc(settings, func(s Setting) bool { return s.Path == "models" })
	c, _ := Load(context.Background(), Sources{})
	if len(c.Models) == 0 {
		t.Fatal("no model is there by itself")
	}
	for name, m := range c.Models {
		for _, want := range []string{"`" + name + "`", m.Provider, m.Model, m.APIKeyEnv} {
			if !strings.Contains(settings[at].Doc, want) {
				t.Errorf("%q, of the model %s, is not in: %s", want, name, settings[at].Doc)
			}
		}
	}
}
