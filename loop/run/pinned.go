package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/command"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/policy"
	"agent-ls/loop/sandbox"
	"agent-ls/loop/tool"
)

type finding = check.Finding

// pinned is what a run keeps from its start to its end, on resume too,
// whatever happens to the files that it came from.
type pinned struct {
	Config manifest.Config // its Agents are the run's only
	Model  string
	Mode   loop.Mode
	Others []otherAgent `json:",omitempty"` // agents that it may spawn
	// Callers are the agents of the runs above a sub-agent's, the top one
	// first. What binds them binds it.
	Callers []string `json:",omitempty"`
	// said are the files with errors that keep the run from starting.
	said map[string]bool
}

func (p *pinned) agent() *manifest.Agent { return &p.Config.Agents[0] }

func (p *pinned) encode() ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("pin the manifest: %w", err)
	}
	return text, nil
}

func decodePin(text []byte) (*pinned, error) {
	var p pinned
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("read the pinned manifest: %w", err)
	}
	if len(p.Config.Agents) != 1 {
		return nil, fmt.Errorf("read the pinned manifest: %d agents in it", len(p.Config.Agents))
	}
	return &p, nil
}

// gear is what one run works with.
type gear struct {
	set hookSet
	// commands are the command hooks in the set, nil where there are none.
	commands   *command.Runner
	commandsOn *commandFloor
	tools      map[string]loop.Tool
	servers    *runServers // nil: no MCP server is configured
	names      []string    // of the tools, in the order in which models see them
	judge      func(policy.Request) loop.Judgement
	rules      *policy.Rules // nil: nothing has a label
	models     *modelChain
	sandbox    string
	inForce    bool
	floor      *sandbox.Floor
	tracker    *tool.Tracker
	dedup      map[string]dedupKey // by tool
}

// load reads the manifest and pins the agent that is asked for. What is wrong
// comes back as findings; only those marked error keep a run from starting.
func (s *Service) load(ctx context.Context, agent, model string, mode loop.Mode) (*pinned, []finding) {
	cfg, findings := s.opt.Manifest(ctx)
	if cfg == nil {
		return nil, append(findings, cannot("", "there is no manifest to run"))
	}
	a := pick(cfg.Agents, agent)
	if a == nil {
		return nil, append(errorsOf(findings), unknownAgent(cfg, agent))
	}
	beside := others(cfg, a.Name, findings)
	findings = cfg.Blocking(a.Name, findings)
	if mode == "" {
		mode = loop.ModeAsk
	}
	p := &pinned{Config: *cfg, Model: a.Model, Mode: mode}
	p.Config.Agents, p.Config.Origins = []manifest.Agent{*a}, nil
	p.Others, p.said = beside, map[string]bool{}
	for _, f := range findings {
		p.said[f.Path] = p.said[f.Path] || f.Severity == check.Error
	}
	if model != "" {
		p.Model = model
	}
	if _, known := cfg.Models[p.Model]; !known {
		findings = append(findings, unknownModel(cfg, a, p.Model, model != ""))
	}
	if len(a.Stages) == 0 {
		findings = append(findings, cannot(a.Path, fmt.Sprintf("agent %q has no stage", a.Name)))
	}
	return p, append(findings, checkStages(a, findings)...)
}

func pick(agents []manifest.Agent, name string) *manifest.Agent {
	if len(agents) == 0 {
		return nil
	}
	if name == "" {
		return &agents[0]
	}
	i := slices.IndexFunc(agents, func(a manifest.Agent) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &agents[i]
}

// codeCannotStart marks what is wrong with a run as a whole.
const codeCannotStart = check.CodeCannotStart

func cannot(path, message string) finding {
	return finding{Path: path, Code: codeCannotStart, Severity: check.Error, Message: message}
}

func unknownAgent(cfg *manifest.Config, name string) finding {
	names := make([]string, len(cfg.Agents))
	for i, a := range cfg.Agents {
		names[i] = a.Name
	}
	if len(names) == 0 {
		return cannot("", `no agent is declared here: there is no .agent-ls/agent.toml; "agent-ls init" makes one`)
	}
	return cannot("", fmt.Sprintf("unknown agent %q%s", name, didYouMean(name, names)))
}

// unknownModel is about the model that the agent names, or, where another one
// was asked for, about that: then no file is to blame.
func unknownModel(cfg *manifest.Config, a *manifest.Agent, name string, asked bool) finding {
	names := make([]string, 0, len(cfg.Models))
	for n := range cfg.Models {
		names = append(names, n)
	}
	slices.Sort(names)
	if asked {
		return cannot("", fmt.Sprintf("unknown model %q%s", name, didYouMean(name, names)))
	}
	f := cannot(a.Path, fmt.Sprintf("unknown model %q%s", name, didYouMean(name, names)))
	if name == "" {
		f.Message = fmt.Sprintf("agent %q names no model: name one under [agent], model = …", a.Name)
		if a.Path == "" {
			f.Message = fmt.Sprintf("agent %q names no model, and this folder has no .agent-ls/agent.toml: configure [models.NAME] in your own config file, "+
				"with model = \"NAME\" under [agent] where there are several, or run \"agent-ls init\" here", a.Name)
		}
	}
	f.Span = a.ModelAt
	return f
}

// checkStages finds what the core could not follow, where the manifest's own
// findings have not said so yet.
func checkStages(a *manifest.Agent, have []finding) []finding {
	var found []finding
	said := func(code check.Code) bool {
		return slices.ContainsFunc(have, func(f finding) bool { return f.Code == code && f.Path == a.Path })
	}
	names := make([]string, len(a.Stages))
	for i, st := range a.Stages {
		names[i] = st.Name
	}
	add := func(st *manifest.Stage, code check.Code, message string) {
		if !said(code) {
			found = append(found, finding{Path: a.Path, Span: st.At, Code: code, Severity: check.Error, Message: message})
		}
	}
	if a.Entry != "" && !slices.Contains(names, a.Entry) {
		found = append(found, cannot(a.Path, fmt.Sprintf("unknown stage %q as entry%s", a.Entry, didYouMean(a.Entry, names))))
	}
	for i := range a.Stages {
		st := &a.Stages[i]
		if st.Next != "" && !slices.Contains(names, st.Next) {
			add(st, "unknown-stage", fmt.Sprintf("stage %q leads to the unknown stage %q%s", st.Name, st.Next, didYouMean(st.Next, names)))
		}
		for _, t := range st.Transitions {
			if !slices.Contains(names, t.To) {
				add(st, "unknown-stage", fmt.Sprintf("stage %q leads to the unknown stage %q%s", st.Name, t.To, didYouMean(t.To, names)))
			}
		}
		for _, r := range st.Regions {
			if r.Kind != string(loop.Sliding) && r.MaxTokens > 0 && loop.Tokens(r.Seed) > r.MaxTokens {
				add(st, "wrong-type", fmt.Sprintf("the seed of region %q has about %d tokens, its budget is %d", r.Name, loop.Tokens(r.Seed), r.MaxTokens))
			}
		}
	}
	return found
}

// loadHooks loads the scripts that the run's agent declares. A hook that is
// declared and that nothing can fire keeps the run from starting.
func (s *Service) loadHooks(ctx context.Context, g *gear, p *pinned) ([]finding, error) {
	a := p.agent()
	if s.opt.Hooks == nil {
		// Those of a program's Bus would be skipped without a word.
		if n := len(a.Hooks) + len(p.Config.Commands) + len(s.opt.Bus.Registered()); n > 0 {
			return nil, fmt.Errorf("load hooks: %d are declared and there is no engine for them", n)
		}
		return nil, nil
	}
	set, found, err := s.opt.Hooks.Load(ctx, a.Hooks, p.Config.HookLimits)
	if err != nil {
		return found, fmt.Errorf("load hooks: %w", err)
	}
	if set != nil {
		g.set = set
		a.Hooks = set.Declarations() // with every text, for a resume
	}
	return errorsOf(found), nil
}

// realGear makes what a run works with. Findings marked error say why it
// cannot.
func (s *Service) realGear(ctx context.Context, p *pinned, tracker *tool.Tracker) (*gear, []finding, error) {
	a, cfg := p.agent(), &p.Config
	g := &gear{tools: map[string]loop.Tool{}, tracker: tracker}
	findings, err := s.loadHooks(ctx, g, p)
	if err != nil {
		return nil, findings, err
	}
	floor := sandbox.Detect(cfg.Sandbox, sandbox.Dirs{Root: s.opt.Root, State: s.opt.StateDir, Cache: s.opt.CacheDir}).Own(cfg.Own...)
	// The variables that hold models' keys need not look like keys.
	for _, m := range cfg.Models {
		if m.APIKeyEnv != "" {
			floor = floor.Without(m.APIKeyEnv)
		}
	}
	rules, found := s.rules(p)
	findings = append(findings, errorsOf(found)...)
	if denied, outside, some := rules.HiddenFromCommands(); some {
		floor = floor.Hide(denied, outside...)
	}
	if set, ok := g.set.(*hooks.Set); ok {
		g.commands, g.commandsOn = s.commandHooks(p, floor)
		var commands hooks.Commands
		if g.commands != nil {
			commands = g.commands
		}
		g.set = set.With(s.opt.Bus, commands).Without(s.hookOff)
	}
	g.sandbox, g.inForce, g.floor = floor.Describe(), floor.InForce(), floor
	if rules != nil {
		g.judge, g.rules = rules.Judge, rules
		findings = append(findings, hiddenSeeds(a, rules)...)
	}
	for _, t := range tool.Builtin(s.toolOptions(cfg, floor, tracker, rules)) {
		g.add(t)
	}
	keys, found, err := s.dedupKeys(ctx, cfg)
	if err != nil {
		return nil, append(findings, found...), err
	}
	g.dedup, findings = keys, append(findings, found...)
	g.add(&nextStage{})
	g.add(&spawnTool{agents: p.spawnable()})
	g.add(askTool{})
	g.add(outputTool{})
	g.add(killTool{})
	if len(cfg.Skills) > 0 {
		g.add(skillUser{})
	}
	if g.servers = s.serversOf(cfg, floor); g.servers != nil {
		g.tools[findTools] = &toolFinder{g.servers} // listed when it is of use
	}
	findings = append(findings, g.unknownTools(a)...)
	models, found := s.chain(cfg, p.Model, a.Path, p.said)
	g.models = models
	for i := range found { // they are about what the agent names as its model
		found[i].Span = a.ModelAt
	}
	return g, append(findings, found...), nil
}

// hiddenSeeds finds regions whose seed would show the model a file that no
// tool may read.
func hiddenSeeds(a *manifest.Agent, rules *policy.Rules) []finding {
	var found []finding
	for i := range a.Stages {
		for _, r := range a.Stages[i].Regions {
			if r.SeedPath != "" && rules.Unreadable(r.SeedPath) {
				found = append(found, finding{Path: a.Path, Span: a.Stages[i].At, Code: codeCannotStart, Severity: check.Error,
					Message: fmt.Sprintf("the seed of region %q is %s, which a rule denies to read", r.Name, r.SeedPath)})
			}
		}
	}
	return found
}

func (g *gear) add(t loop.Tool) {
	name := t.Spec().Name
	g.tools[name] = t
	g.names = append(g.names, name)
}

func (g *gear) unknownTools(a *manifest.Agent) []finding {
	var found []finding
	for i := range a.Stages {
		for _, name := range a.Stages[i].Tools {
			if c := tool.Canonical(name); name == "*" || g.tools[c] != nil || strings.HasPrefix(c, "mcp__") {
				continue
			}
			found = append(found, finding{Path: a.Path, Span: a.Stages[i].At, Code: "unknown-tool", Severity: check.Error,
				Message: fmt.Sprintf("stage %q names the unknown tool %q%s", a.Stages[i].Name, name, didYouMean(tool.Canonical(name), g.names))})
		}
	}
	return found
}

// errorsOf keeps the findings that are marked error.
func errorsOf(all []finding) []finding {
	var kept []finding
	for _, f := range all {
		if f.Severity == check.Error {
			kept = append(kept, f)
		}
	}
	return kept
}

// has says whether something is declared for the hook point.
func (g *gear) has(stage, point string) bool { return g.set != nil && g.set.Has(stage, point) }

// course is the pinned agent as the core follows it.
func (p *pinned) course(g *gear, instructions string) *loop.Course {
	a, cfg := p.agent(), &p.Config
	c := &loop.Course{
		Agent: a.Name, Model: p.Model, Mode: p.Mode, Entry: a.Entry, Instructions: instructions,
		Limits:     loop.CourseLimits{Turns: cfg.Limits.Turns, Time: cfg.Limits.Time, Cost: cfg.Limits.Cost, Tokens: cfg.Limits.Tokens, Agents: cfg.Limits.Agents, Depth: cfg.Limits.Depth},
		MaxRetries: cfg.Behavior.MaxRetries, OutputBudget: cfg.Behavior.ToolOutputBudget,
		Wire: wireCourse(&cfg.Behavior, g.models), TodoReminder: true,
	}
	if len(a.Output) > 0 {
		c.Output = &loop.OutputCourse{Schema: a.Output}
	}
	for _, st := range a.Stages {
		sc := loop.StageCourse{Name: st.Name, System: st.System, MaxTurns: st.MaxTurns, Next: st.Next}
		if sc.MaxTurns == 0 {
			sc.MaxTurns = 50
		}
		for _, t := range st.Transitions {
			sc.Transitions = append(sc.Transitions, loop.Transition{To: t.To, On: t.On, Hint: t.Hint, MaxVisits: t.MaxVisits})
		}
		for _, r := range st.Regions {
			sc.Regions = append(sc.Regions, loop.RegionCourse{Name: r.Name, Kind: loop.RegionKind(r.Kind), MaxTokens: r.MaxTokens, Seed: r.Seed})
		}
		for _, point := range slices.Concat(hookPoints, checkPoints) {
			if g.has(st.Name, point) {
				sc.Points = append(sc.Points, point)
			}
		}
		for _, point := range []string{loop.UserPrompt, loop.StopPoint} {
			if g.has(st.Name, point) && !c.Has(point) {
				c.Points = append(c.Points, point)
			}
		}
		if !c.Has(loop.Closes) && slices.ContainsFunc(closing, func(e string) bool { return g.has(st.Name, e) }) {
			c.Points = append(c.Points, loop.Closes)
		}
		c.Stages = append(c.Stages, sc)
	}
	return c
}

var hookPoints = []string{
	loop.OnStageEnter, loop.BeforeInference, loop.AfterInference, loop.OnToolCall,
	loop.OnStageExit, loop.OnCompletion, loop.OnFailure,
}

// checkPoints are the events that the core waits for before it goes on with a
// batch that has calls which validation answered or changed.
var checkPoints = []string{loop.OnToolUnknown, loop.OnReject, loop.OnCoerce, loop.OnToolDispatched}

// stage is the manifest's stage of that name.
func (p *pinned) stage(name string) *manifest.Stage {
	a := p.agent()
	for i := range a.Stages {
		if a.Stages[i].Name == name {
			return &a.Stages[i]
		}
	}
	return &manifest.Stage{}
}

// allowed says whether a stage offers the tool.
func (p *pinned) allowed(stage, name string) bool {
	st := p.stage(stage)
	if name == loop.NextStageTool {
		return slices.ContainsFunc(st.Transitions, func(t manifest.Transition) bool { return t.On == loop.OnModelChoice })
	}
	return slices.ContainsFunc(st.Tools, func(listed string) bool {
		return listed == "*" && !unlisted[name] || tool.Canonical(listed) == name || isMCP(listed) && (name == findTools || isMCP(name) && fitsName(listed, name))
	})
}

// unlisted are the tools that a stage offers only where it names them: they
// reach out of the machine.
var unlisted = map[string]bool{"web_fetch": true}

// specs are the tools that a stage offers, as the model sees them.
func (g *gear) specs(p *pinned, stage string) []loop.ToolSpec {
	var specs []loop.ToolSpec
	for _, name := range g.names {
		if !p.allowed(stage, name) {
			continue
		}
		spec := g.tools[name].Spec()
		if name == loop.NextStageTool {
			spec = nextStageSpec(p.stage(stage))
		}
		specs = append(specs, spec)
	}
	for _, t := range g.servers.offer() {
		if p.allowed(stage, t.Name) {
			specs = append(specs, t.ToolSpec)
		}
	}
	return specs
}

// find gives the tool of that canonical name, nil when there is none.
func (g *gear) find(name string) loop.Tool {
	if t := g.tools[name]; t != nil {
		return t
	}
	return g.servers.find(name)
}

// fired converts what hooks gave as state into what the core keeps.
func coreStates(m map[string]map[string]any) map[string]loop.HookState {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]loop.HookState, len(m))
	for id, s := range m {
		out[id] = s
	}
	return out
}

func hookStates(m map[string]loop.HookState) map[string]map[string]any {
	out := make(map[string]map[string]any, len(m))
	for id, s := range m {
		out[id] = s
	}
	return out
}

var _ hookSet = (*hooks.Set)(nil)
