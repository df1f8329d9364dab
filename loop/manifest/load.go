package manifest

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/spf13/viper"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/loop/tool/toolname"
)

// loader holds what one Load builds up.
type loader struct {
	ctx       context.Context
	sources   Sources
	extra     string   // an agents/NAME.toml that exists only in an editor
	layers    []*layer // in order of precedence, without the organisation's
	org       *layer
	user      *layer
	workspace []*layer // agent.toml first
	out       findings
	cfg       *Config
	watched   map[string]bool
	texts     map[string]readText
}

// readText is a file as this load read it: whoever names it gets the same.
type readText struct {
	text []byte
	err  error
}

func newLoader(ctx context.Context, s Sources) *loader {
	return &loader{
		ctx: ctx, sources: s, watched: map[string]bool{}, texts: map[string]readText{},
		cfg: &Config{Root: s.Root, Own: s.own(), Models: map[string]Model{}, Origins: map[string]Origin{}},
	}
}

// Load reads every layer and merges them. It is a function of the files, the
// environment and the open documents: it keeps nothing and writes nothing.
// What is wrong is in the findings, by file and then by place; an entry that
// is wrong has no effect, its neighbours do. Whether a run may start all the
// same is for Config.Blocking to say.
func Load(ctx context.Context, sources Sources) (*Config, []check.Finding) {
	return newLoader(ctx, sources.complete()).load()
}

func (l *loader) load() (*Config, []check.Finding) {
	l.readLayers()
	v := l.scalars()
	l.fill(v)
	l.models()
	l.policy()
	l.taint()
	l.sandbox(v)
	l.commands()
	l.skills()
	l.agents()
	l.origins()
	sort.SliceStable(l.out.list, func(i, j int) bool {
		a, b := l.out.list[i], l.out.list[j]
		if a.Path != b.Path {
			return a.Path < b.Path
		}
		return a.Span.Start < b.Span.Start
	})
	return l.cfg, l.out.list
}

// separator keeps viper from splitting paths itself: every key that it gets
// is a whole path of the table of settings, lower case by nature.
const separator = "\x00"

// scalars merges the settings that stand at a fixed place. Viper keeps the
// layers and converts; names that users choose never reach it.
func (l *loader) scalars() *viper.Viper {
	v := viper.NewWithOptions(viper.KeyDelimiter(separator))
	fixed := fixedSettings()
	for _, s := range fixed {
		if d := s.defaultValue(); d != nil {
			v.SetDefault(s.Path, d)
			if text, ok := s.Default.(string); ok {
				d = text // as somebody would write it: 90d, not its hours
			}
			l.cfg.Origins[s.Path] = Origin{Layer: defaultLayer.String(), Value: d}
		}
	}
	for _, one := range l.layers {
		if !one.agentFile {
			l.mergeScalars(v, one, fixed)
		}
	}
	l.clampToOrg(v, fixed)
	return v
}

// fixedSettings are the scalars without a name of the user's in their path.
func fixedSettings() []*Setting {
	var out []*Setting
	for i := range settings {
		s := &settings[i]
		if s.Who == AddsUp || s.Stricter == WhenNarrower || len(s.Shapes) == 1 && (s.has(Fixed) || s.has(Named) || s.has(Tables)) {
			continue
		}
		if fixedPath(s.Path) && s.Path != "agent.name" && s.Path != "agent.entry" {
			out = append(out, s)
		}
	}
	return out
}

func fixedPath(path string) bool {
	for _, name := range splitPattern(path) {
		if name == "*" || name == "[]" {
			return false
		}
	}
	return true
}

func (l *loader) mergeScalars(v *viper.Viper, one *layer, fixed []*Setting) {
	accepted := map[string]any{}
	for _, s := range fixed {
		path := splitPattern(s.Path)
		n := one.root().at(path...)
		if n == nil {
			continue
		}
		value := typed(s, n)
		if n.kind == tableKind { // a table in place of true
			value = true
		}
		if one.restricted() && s.Stricter != NoStricter && !s.asStrict(value, v.Get(s.Path)) {
			l.looser(one, n, s.Path, v.Get(s.Path))
			continue
		}
		accepted[s.Path] = value
		if n.kind == stringKind && len(s.Values) == 0 {
			value = n.text // likewise
		}
		l.cfg.Origins[s.Path] = one.origin(n, value)
	}
	// MergeConfigMap fails only on a nil map.
	_ = v.MergeConfigMap(accepted)
}

func (l *loader) looser(one *layer, n *node, path string, than any) {
	who := "a workspace"
	if one.kind == clientLayer {
		who = "an editor's settings"
	}
	if !one.restricted() {
		who = "nothing below the organisation's policy"
		l.out.add(one.finding(n.span, CodeNotAllowedHere, check.Warning, fmt.Sprintf("%s has no effect: %s can relax it, and the policy says %v", path, who, than)))
		return
	}
	l.out.add(one.finding(n.span, CodeNotAllowedHere, check.Warning, fmt.Sprintf("%s has no effect: %s can only make it stricter than %v", path, who, than)))
}

// clampToOrg puts the organisation's values over looser ones.
func (l *loader) clampToOrg(v *viper.Viper, fixed []*Setting) {
	if l.org == nil {
		return
	}
	clamped := map[string]any{}
	for _, s := range fixed {
		n := l.org.root().at(splitPattern(s.Path)...)
		if n == nil {
			continue
		}
		value := typed(s, n)
		if s.asStrict(v.Get(s.Path), value) {
			continue
		}
		for _, one := range l.layers {
			if own := one.root().at(splitPattern(s.Path)...); own != nil && !one.agentFile && !s.asStrict(typed(s, own), value) {
				l.looser(one, own, s.Path, value)
			}
		}
		clamped[s.Path] = value
		l.cfg.Origins[s.Path] = l.org.origin(n, value)
	}
	_ = v.MergeConfigMap(clamped)
}

// fill moves the merged scalars into the Config.
func (l *loader) fill(v *viper.Viper) {
	c := l.cfg
	c.Policy.Default = v.GetString("policy.default")
	c.Taint.Enabled = v.GetBool("taint.enabled")
	c.Concurrency.Subprocs = v.GetInt("concurrency.subprocs")
	c.Sessions.Keep = v.GetDuration("sessions.keep")
	c.Limits = RunLimits{
		Turns: v.GetInt("limits.turns"), Time: v.GetDuration("limits.time"), Cost: v.GetFloat64("limits.cost"), Tokens: v.GetInt64("limits.tokens"),
		Depth: v.GetInt("limits.depth"), Agents: v.GetInt("limits.agents"),
	}
	c.HookLimits = hooks.Limits{
		Operations: v.GetInt64("hooks.limits.operations"),
		Time:       v.GetDuration("hooks.limits.time"),
		Memory:     v.GetInt64("hooks.limits.memory"),
		CallDepth:  v.GetInt("hooks.limits.call_depth"),
		Context:    v.GetInt64("hooks.limits.context"),
		Value:      v.GetInt64("hooks.limits.value"),
		Printed:    v.GetInt64("hooks.limits.printed"),
		Source:     v.GetInt64("hooks.limits.source"),
		Nesting:    v.GetInt("hooks.limits.nesting"),
		Workers:    v.GetInt("hooks.limits.workers"),
	}
	l.fillBehavior(v)
}

func (l *loader) fillBehavior(v *viper.Viper) {
	b := &l.cfg.Behavior
	b.RequireReadBeforeEdit = v.GetBool("behavior.require_read_before_edit")
	b.TrackShellReads = v.GetBool("behavior.track_shell_reads")
	b.WriteExisting = v.GetString("behavior.write_existing")
	b.MaxConcurrentTools = v.GetInt("behavior.max_concurrent_tools")
	b.MaxRetries = v.GetInt("behavior.max_retries")
	b.LazyMCPTools = v.GetInt("behavior.lazy_mcp_tools")
	b.ToolOutputBudget = v.GetInt("behavior.tool_output_budget")
	b.DedupReads = v.GetBool("behavior.dedup_reads")
	b.CompactStrategy = v.GetString("behavior.compact_strategy")
	b.CompactThreshold = v.GetInt("behavior.compact_threshold")
	b.CompactKeepTurns = v.GetInt("behavior.compact_keep_turns")
	b.CompactLowWaterFraction = v.GetFloat64("behavior.compact_low_water_fraction")
	b.CompactSkip = CompactSkip{
		Providers:        v.GetStringSlice("behavior.compact_skip.providers"),
		MinContextWindow: v.GetInt("behavior.compact_skip.min_context_window"),
	}
	b.AutoCompact = v.GetBool("behavior.auto_compact")
	switch stale := v.Get("behavior.elide_stale_reads").(type) {
	case string:
		b.ElideStaleReads = stale
	case bool:
		if stale {
			b.ElideStaleReads = "stub"
		}
	}
	b.RepeatGuard = RepeatGuard{
		Enabled:     v.GetBool("behavior.repeat_guard"),
		RepeatLimit: RepeatLimit{v.GetInt("behavior.repeat_guard.block"), v.GetInt("behavior.repeat_guard.abort")},
		Tools:       map[string]RepeatLimit{"read_file": {6, 12}},
	}
	b.ThinkingBudget = v.GetInt("behavior.thinking_budget")
	if v.IsSet("behavior.thinking_decay.after_turn") {
		b.ThinkingDecay = &ThinkingDecay{v.GetInt("behavior.thinking_decay.after_turn"), v.GetInt("behavior.thinking_decay.floor")}
	}
	b.CacheTelemetry = v.GetBool("behavior.cache_telemetry")
	b.SessionBaseline = v.GetBool("behavior.session_baseline")
	l.toolTables(b)
}

// toolTables decodes the tables of [behavior] whose keys are tools.
func (l *loader) toolTables(b *Behavior) {
	b.ToolBudgets = map[string]ToolBudget{}
	dedup := map[string]DedupTool{}
	for _, one := range l.layers {
		behavior := one.root().get("behavior")
		for _, e := range l.toolKeys(one, behavior.get("tool_budgets"), "behavior.tool_budgets") {
			on := "steer"
			if n := e.value.get("on_exceed"); n != nil {
				on = n.text
			}
			if n := e.value.get("max"); n != nil {
				b.ToolBudgets[toolname.Canonical(e.name)] = ToolBudget{Max: int(n.num), OnExceed: on}
				l.cfg.Origins[pathText([]string{"behavior", "tool_budgets", e.name})] = one.origin(n, n.num)
			}
		}
		for _, e := range l.toolKeys(one, behavior.get("repeat_guard").get("tools"), "behavior.repeat_guard.tools") {
			limit := RepeatLimit{b.RepeatGuard.Block, b.RepeatGuard.Abort}
			if known, ok := b.RepeatGuard.Tools[toolname.Canonical(e.name)]; ok {
				limit = known
			}
			if n := e.value.get("block"); n != nil {
				limit.Block = int(n.num)
			}
			if n := e.value.get("abort"); n != nil {
				limit.Abort = int(n.num)
			}
			b.RepeatGuard.Tools[toolname.Canonical(e.name)] = limit
			l.cfg.Origins[pathText([]string{"behavior", "repeat_guard", "tools", e.name})] = one.origin(e.value, limit)
		}
		for _, e := range l.toolKeys(one, behavior.get("dedup_tools"), "behavior.dedup_tools") {
			s, ok := l.script(one, e.value, "dedup_key")
			l.cfg.dedupLines = append(l.cfg.dedupLines, ScriptLine{Function: "dedup_key", Path: one.path, Span: e.value.span, Script: s.path})
			if ok {
				dedup[toolname.Canonical(e.name)] = DedupTool{Tool: toolname.Canonical(e.name), Path: s.path, Text: s.text, Declared: location(one.path, one.doc.text, e.value.span)}
				l.cfg.Origins[pathText([]string{"behavior", "dedup_tools", e.name})] = one.origin(e.value, e.value.text)
			}
		}
	}
	for _, tool := range sortedKeys(dedup) {
		b.DedupTools = append(b.DedupTools, dedup[tool])
	}
}

// toolKeys gives the usable entries of a table whose keys are tools.
func (l *loader) toolKeys(one *layer, n *node, where string) []*entry {
	if n == nil || n.kind != tableKind {
		return nil
	}
	var out []*entry
	for _, e := range n.keys {
		if e.value.bad {
			continue
		}
		if !KnownTool(e.name) {
			l.unknownTool(one, e.name, e.key, where, false)
			continue
		}
		out = append(out, e)
	}
	return out
}

// origins adds where the values of agents came from; the merged ones have
// theirs already.
func (l *loader) origins() {
	for _, one := range l.workspace {
		prefix := []string{}
		if one.agentFile {
			prefix = []string{"agents", one.name}
		}
		for _, section := range []string{"agent", "stages", "hooks"} {
			if n := one.root().get(section); n != nil && !(section == "agent" && !one.agentFile) {
				l.originsOf(one, n, append(slices.Clip(prefix), section))
			}
		}
		if n := one.root().get("agent"); n != nil && !one.agentFile {
			for _, key := range []string{"name", "entry"} {
				if v := n.get(key); v != nil {
					l.cfg.Origins["agent."+key] = one.origin(v, v.text)
				}
			}
		}
	}
	counts := map[string]int{}
	for _, r := range l.cfg.Policy.Rules {
		l.cfg.Origins[fmt.Sprintf("policy.%s[%d]", r.Verdict, counts[r.Verdict])] = r.Origin
		counts[r.Verdict]++
	}
}

func (l *loader) originsOf(one *layer, n *node, path []string) {
	for _, e := range n.keys {
		where := append(slices.Clip(path), e.name)
		switch {
		case e.value.bad || pathText(where) == "hooks.limits":
		case e.value.kind == tableKind:
			l.originsOf(one, e.value, where)
		default:
			l.cfg.Origins[pathText(where)] = one.origin(e.value, e.value.plain())
		}
	}
}
