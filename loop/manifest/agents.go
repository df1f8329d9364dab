package manifest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/loop/tool/toolname"
)

// DefaultAgent is the name of the agent of agent.toml, and of the built-in
// one where there is no such file, unless the file names it otherwise.
const DefaultAgent = "default"

// defaultStage is the one stage of an agent without stages.
const defaultStage = "main"

// ownership says which agent a piece of a file concerns.
type ownership struct {
	path  string
	span  check.Span
	agent string
}

// agents builds the agents: agent.toml's first, or the user's own, or the
// built-in one; then agents/NAME.toml by name.
func (l *loader) agents() {
	var files []*layer
	if len(l.workspace) == 0 || l.workspace[0].agentFile {
		fallback := &layer{kind: defaultLayer, name: DefaultAgent, doc: &document{root: &node{kind: tableKind}}}
		if l.user != nil && l.user.root().get("stages") != nil {
			fallback = l.user
		}
		files = append(files, fallback)
	}
	files = append(files, l.workspace...)
	global := l.globalHooks()
	names := map[string]string{}
	for _, one := range files {
		a := l.agent(one, global)
		if other, taken := names[a.Name]; taken {
			at := one.root().get("agent").get("name")
			span := check.Span{}
			if at != nil {
				span = at.span
			}
			l.out.add(one.finding(span, CodeWrongType, check.Error, fmt.Sprintf("the agent %q is defined already in %s", a.Name, other)))
			continue
		}
		names[a.Name] = one.path
		l.cfg.Agents = append(l.cfg.Agents, a)
		l.own(one, a.Name)
	}
}

// own records which lines concern this agent alone.
func (l *loader) own(one *layer, agent string) {
	if one.path == "" || one.kind == userLayer {
		return
	}
	if one.agentFile {
		l.cfg.owned = append(l.cfg.owned, ownership{one.path, check.Span{End: len(one.doc.text) + 1}, agent})
		return
	}
	for _, s := range one.doc.sections {
		if len(s.path) > 0 && (s.path[0] == "agent" || s.path[0] == "stages") {
			l.cfg.owned = append(l.cfg.owned, ownership{one.path, check.Span{Start: s.header.Start, End: s.end}, agent})
		}
	}
}

// Blocking returns the findings that keep a run of an agent from starting:
// the errors, but for those about other agents. An agent "" is the default.
func (c *Config) Blocking(agent string, findings []check.Finding) []check.Finding {
	if a, ok := c.Agent(agent); ok {
		agent = a.Name
	}
	var out []check.Finding
	for _, f := range findings {
		if f.Severity == check.Error && c.Concerns(agent, f) {
			out = append(out, f)
		}
	}
	return out
}

// Concerns says whether a finding concerns an agent. What stands in no
// agent's own lines concerns all of them, but for a rehearsal's script, which
// concerns those who would play it.
func (c *Config) Concerns(agent string, f check.Finding) bool {
	for name, m := range c.Models {
		if m.Script != "" && m.Script == f.Path {
			a, _ := c.Agent(agent)
			return a.Model == name || slices.Contains(c.Models[a.Model].Fallback, name)
		}
	}
	for _, o := range c.owned {
		if o.path == f.Path && o.span.Start <= f.Span.Start && f.Span.Start < o.span.End {
			return o.agent == agent
		}
	}
	return true
}

func agentName(one *layer) string {
	if n := one.root().get("agent").get("name"); n != nil && n.text != "" {
		return n.text
	}
	if one.name == "" {
		return DefaultAgent
	}
	return one.name
}

// idPrefix makes the ids of one file's hooks differ from the others'.
func idPrefix(one *layer) string {
	switch {
	case one.kind == orgLayer:
		return "organisation."
	case one.kind == userLayer:
		return "user."
	case one.agentFile:
		return "agents." + keyText(one.name) + "."
	case one.kind == clientLayer, one.kind == flagLayer:
		return one.kind.String() + "."
	}
	return ""
}

func (l *loader) agent(one *layer, global []eventHook) Agent {
	a := Agent{Name: agentName(one), Path: one.path, Model: l.agentModel(one)}
	if e := one.root().entry("agent"); e != nil {
		a.At, a.ModelAt = e.whole, e.whole
	}
	if n := one.root().get("agent").get("model"); n != nil {
		a.ModelAt = n.span
	}
	stages := one.root().get("stages")
	if stages != nil {
		for _, e := range stages.keys {
			if !e.value.bad {
				a.Stages = append(a.Stages, l.stage(one, stages, e, len(a.Stages)))
			}
		}
	}
	if len(a.Stages) == 0 {
		a.Stages = []Stage{{Name: defaultStage, Tools: []string{"*"}, MaxTurns: 50}}
	}
	a.Entry = a.Stages[0].Name
	if n := one.root().get("agent").get("entry"); n != nil && l.stageExists(one, n, stages, "agent.entry") {
		a.Entry = n.text
	}
	if stages != nil && len(one.doc.findings) == 0 { // a line that was not understood may be what leads there
		l.reachable(one, &a)
	}
	if n := one.root().get("agent").get("output"); n != nil {
		a.Output = l.outputSchema(one, n)
	}
	hooksOf := global
	if one.agentFile {
		hooksOf = append(slices.Clip(global), l.eventHooks(one)...)
	}
	for _, h := range hooksOf {
		a.Lines = append(a.Lines, h.line)
		if h.usable {
			a.Hooks = append(a.Hooks, h.declaration)
		}
	}
	if stages != nil {
		for _, e := range stages.keys {
			if !e.value.bad {
				l.stageHooks(one, &a, e)
			}
		}
	}
	return a
}

// agentModel is the model that the layers come to: flags, client and
// environment over the agent's own file over the user's choice.
func (l *loader) agentModel(one *layer) string {
	name, from, at := "", (*layer)(nil), (*node)(nil)
	for _, other := range l.layers {
		if other.kind == workspaceLayer && other != one {
			continue
		}
		if n := other.root().get("agent").get("model"); n != nil {
			name, from, at = n.text, other, n
		}
	}
	if name == "" {
		return l.onlyModel()
	}
	if _, ok := l.cfg.Models[name]; !ok {
		known := sortedKeys(l.cfg.Models)
		near := contract.Nearest(name, known)
		// A workspace names a model that each user defines for themselves: on
		// this machine it may be missing, and a run may name another.
		f := from.finding(at.span, CodeUndefined, check.Warning, fmt.Sprintf("no model is called %q%s", name, contract.DidYouMean(name, known)))
		if near != "" {
			f = withFix(f, at.span, quote(near), near)
		}
		l.out.add(f)
	}
	return name
}

// onlyModel is the model to take when nobody chose one: the only one that
// the user defined, the only one of the workspace, or the first built-in one
// whose key is there.
func (l *loader) onlyModel() string {
	for _, kind := range []layerKind{userLayer, workspaceLayer} {
		var names []string
		for _, name := range sortedKeys(l.cfg.Models) {
			if l.cfg.Models[name].Origin.Layer == kind.String() {
				names = append(names, name)
			}
		}
		if len(names) == 1 {
			return names[0]
		}
	}
	for _, name := range []string{"claude", "gpt"} {
		if m, ok := l.cfg.Models[name]; ok && m.APIKeyEnv != "" && lookup(l.sources.Environ, m.APIKeyEnv) != "" {
			return name
		}
	}
	return ""
}

func (l *loader) stage(one *layer, stages *node, e *entry, index int) Stage {
	n := e.value
	where := "stages." + keyText(e.name)
	s := Stage{Name: e.name, Index: index, MaxTurns: 50, At: e.whole, Tools: []string{"*"}}
	if v := n.get("system"); v != nil {
		s.System = v.text
	}
	if v := n.get("prompt"); v != nil {
		if n.get("system") != nil {
			l.out.add(one.finding(v.span, CodeWrongType, check.Error, where+" has both prompt and system: keep one"))
		} else if _, text, ok := l.textFile(one, v, "prompt"); ok {
			s.System = string(text)
		}
	}
	if v := n.get("tools"); v != nil {
		s.Tools = []string{}
		for _, t := range v.stringNodes() {
			if !KnownTool(t.text) {
				l.unknownTool(one, t.text, t.span, where+".tools", true)
				continue
			}
			s.Tools = append(s.Tools, toolname.Canonical(t.text))
		}
	}
	if v := n.get("max_turns"); v != nil {
		s.MaxTurns = int(v.num)
	}
	if v := n.get("next"); v != nil && l.stageExists(one, v, stages, where+".next") {
		s.Next = v.text
	}
	if t := n.get("transitions"); t != nil {
		for _, k := range t.keys {
			if !k.value.bad {
				if tr, ok := l.transition(one, stages, k, where); ok {
					s.Transitions = append(s.Transitions, tr)
				}
			}
		}
	}
	if r := n.get("regions"); r != nil {
		for _, k := range r.keys {
			if !k.value.bad {
				if region, ok := l.region(one, k, where); ok {
					s.Regions = append(s.Regions, region)
				}
			}
		}
	}
	return s
}

func (l *loader) transition(one *layer, stages *node, k *entry, where string) (Transition, bool) {
	if stages.entry(k.name) == nil {
		l.unknownStage(one, k.name, k.key, stages, where+".transitions", false)
		return Transition{}, false
	}
	t := Transition{To: k.name}
	if v := k.value.get("on"); v != nil {
		t.On = v.text
	} else {
		return t, false // its absence or its mistake is a finding already
	}
	if v := k.value.get("hint"); v != nil {
		t.Hint = v.text
	}
	if v := k.value.get("max_visits"); v != nil {
		t.MaxVisits = int(v.num)
	}
	return t, true
}

func (l *loader) region(one *layer, k *entry, where string) (Region, bool) {
	if k.name == "conversation" || k.name == "task" {
		l.out.add(one.finding(k.key, CodeWrongType, check.Error, fmt.Sprintf("%s.regions.%s: a built-in region has that name", where, k.name)))
		return Region{}, false
	}
	r := Region{Name: k.name, Kind: "pinned", MaxTokens: 2000}
	if v := k.value.get("kind"); v != nil {
		r.Kind = v.text
	}
	if v := k.value.get("max_tokens"); v != nil {
		r.MaxTokens = int(v.num)
	}
	if v := k.value.get("seed"); v != nil {
		r.Seed = v.text
		if file, ok := strings.CutPrefix(v.text, "file:"); ok {
			named := &node{kind: stringKind, span: v.span, text: file}
			path, text, ok := l.fileIn(one, named, l.sources.Root, "seed")
			if !ok {
				return Region{}, false
			}
			r.Seed, r.SeedPath = string(text), path
		}
	}
	return r, true
}

func (l *loader) stageExists(one *layer, n *node, stages *node, where string) bool {
	if stages.entry(n.text) != nil {
		return true
	}
	l.unknownStage(one, n.text, n.span, stages, where, true)
	return false
}

func (l *loader) unknownStage(one *layer, name string, at check.Span, stages *node, where string, quoted bool) {
	var known []string
	if stages != nil {
		for _, e := range stages.keys {
			known = append(known, e.name)
		}
	}
	f := one.finding(at, CodeUnknownStage, check.Error, fmt.Sprintf("%s: no stage is called %q%s", where, name, contract.DidYouMean(name, known)))
	if near := contract.Nearest(name, known); near != "" {
		text := keyText(near)
		if quoted {
			text = quote(near)
		}
		f = withFix(f, at, text, near)
	}
	l.out.add(f)
}

// reachable marks the stages that nothing leads to.
func (l *loader) reachable(one *layer, a *Agent) {
	seen := map[string]bool{}
	queue := []string{a.Entry}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, s := range a.Stages {
			if s.Name == name {
				queue = append(queue, s.Next)
				for _, t := range s.Transitions {
					queue = append(queue, t.To)
				}
			}
		}
	}
	for _, s := range a.Stages {
		if !seen[s.Name] {
			e := one.root().get("stages").entry(s.Name)
			f := one.finding(e.key, CodeUnreachableStage, check.Warning, fmt.Sprintf("nothing leads to the stage %q", s.Name))
			f.Tags = []check.Tag{check.Unnecessary}
			l.out.add(f)
		}
	}
}

// eventHook is a declared script with the line that declares it.
type eventHook struct {
	declaration hooks.Declaration
	line        ScriptLine
	usable      bool // the script is there and defines the function
}

// globalHooks are the scripts that hold for every agent: the organisation's,
// the user's, the workspace's.
func (l *loader) globalHooks() []eventHook {
	var out []eventHook
	for _, one := range l.everyLayer() {
		if !one.agentFile {
			out = append(out, l.eventHooks(one)...)
		}
	}
	return out
}

// eventHooks reads one layer's [hooks].
func (l *loader) eventHooks(one *layer) []eventHook {
	n := one.root().get("hooks")
	if n == nil || n.kind != tableKind {
		return nil
	}
	var out []eventHook
	for _, e := range n.keys {
		if e.value.bad || e.name == "limits" {
			continue
		}
		event := contract.ByName(e.name)
		if event == nil || event.Function == "" || event.Stage {
			l.unknownEvent(one, e.name, e.key, scriptEvents(), "scripts", false)
			continue
		}
		for i, item := range e.value.stringNodes() {
			line := ScriptLine{Event: e.name, Function: event.Function, Path: one.path, Span: item.span, Script: l.scriptPath(one, item)}
			id := fmt.Sprintf("%shooks.%s.%d", idPrefix(one), keyText(e.name), i)
			d, ok := l.declare(one, item, line, id)
			out = append(out, eventHook{d, line, ok})
		}
	}
	return out
}

func (l *loader) declare(one *layer, n *node, line ScriptLine, id string) (hooks.Declaration, bool) {
	s, ok := l.script(one, n, line.Function)
	return hooks.Declaration{
		ID: id, Event: line.Event, Stage: line.Stage, Path: s.path, Text: s.text,
		Declared: location(one.path, one.doc.text, n.span),
	}, ok
}

// stageHooks reads [stages.NAME.hooks], in the order in which they fire.
func (l *loader) stageHooks(one *layer, a *Agent, e *entry) {
	n := e.value.get("hooks")
	for _, point := range StagePoints {
		v := n.get(point)
		if v == nil {
			continue
		}
		line := ScriptLine{Event: point, Function: point, Stage: e.name, Path: one.path, Span: v.span, Script: l.scriptPath(one, v)}
		a.Lines = append(a.Lines, line)
		id := fmt.Sprintf("%sstages.%s.hooks.%s", idPrefix(one), keyText(e.name), point)
		if d, ok := l.declare(one, v, line, id); ok {
			a.Hooks = append(a.Hooks, d)
		}
	}
}

// scriptEvents are the events that [hooks] can name.
func scriptEvents() []string {
	var out []string
	for _, e := range contract.Events() {
		if e.Function != "" && !e.Stage {
			out = append(out, e.Name)
		}
	}
	return out
}

func (l *loader) unknownEvent(one *layer, name string, at check.Span, known []string, whom string, quoted bool) {
	message := fmt.Sprintf("no event for %s is called %q%s", whom, name, contract.DidYouMean(name, known))
	if e := contract.ByName(name); e != nil {
		switch {
		case e.Stage:
			message = fmt.Sprintf("%s is a point of a stage: it belongs under [stages.NAME.hooks]", name)
		case e.Function == "":
			message = fmt.Sprintf("%s is an event for command hooks: it belongs in a [[hook]] entry, as event = %q", name, name)
		default:
			message = fmt.Sprintf("%s is an event for scripts: it belongs under [hooks], as %q = [\"hooks/NAME.risor\"]", name, name)
		}
		l.out.add(one.finding(at, CodeUnknownEvent, check.Error, message))
		return
	}
	f := one.finding(at, CodeUnknownEvent, check.Error, message)
	if near := contract.Nearest(name, known); near != "" {
		text := keyText(near)
		if quoted {
			text = quote(near)
		}
		f = withFix(f, at, text, near)
	}
	l.out.add(f)
}

// AgentFile says whether a path is a settings file of a workspace and which
// root it belongs to.
func AgentFile(path string) (root string, ok bool) {
	dir := filepath.Dir(path)
	switch {
	case filepath.Base(path) == "agent.toml" && filepath.Base(dir) == ".agent-ls":
		return filepath.Dir(dir), true
	case filepath.Ext(path) == ".toml" && filepath.Base(dir) == "agents" && filepath.Base(filepath.Dir(dir)) == ".agent-ls":
		return filepath.Dir(filepath.Dir(dir)), true
	}
	return "", false
}
