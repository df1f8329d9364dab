package policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"agent-ls/loop"
	"agent-ls/loop/tool/toolname"
)

// Request is one prepared call.
type Request struct {
	Tool      string
	Arguments json.RawMessage
	Plan      loop.Plan
	Mode      loop.Mode
	Grants    []Grant // of the session and of the workspace
	// Taint is the highest label of what is in the model's context.
	Taint loop.Label
	// Unheard says which hook could have refused the call and was not heard, or
	// wants a person to decide; "" where all were. No rule allows such a call.
	Unheard string
	// SandboxInForce: commands are confined. Where they are not, each asks.
	SandboxInForce bool
	// Unwatched says why a command could change protected files unnoticed, ""
	// where it cannot. Each asks where it can.
	Unwatched string
	// Exposed says why a command could read files that may not be read, ""
	// where it cannot. Each asks where it can.
	Exposed string
}

// answer is what one look at a call came to. The zero value is no answer.
type answer struct {
	verdict loop.Verdict
	must    bool // of an ask: nothing but a person can settle it
	because string
	source  string
	layer   loop.Layer
}

// worse orders answers: none, allow, ask, must ask, deny.
func (a answer) rank() int {
	switch {
	case a.verdict == loop.VerdictDeny:
		return 4
	case a.verdict == loop.VerdictAsk && a.must:
		return 3
	case a.verdict == loop.VerdictAsk:
		return 2
	case a.verdict == loop.VerdictAllow:
		return 1
	}
	return 0
}

// judging is one call under judgement.
type judging struct {
	*Rules
	req     Request
	tool    string
	grants  []rule
	answers []answer
	// uncertain: part of the call cannot be read; no grant can be offered.
	uncertain bool
}

func (j *judging) say(layer loop.Layer, verdict loop.Verdict, must bool, source, because string) {
	j.answers = append(j.answers, answer{verdict: verdict, must: must, because: because, source: source, layer: layer})
}

func (j *judging) mustAsk(source, because string) {
	j.say(loop.LayerBuiltin, loop.VerdictAsk, true, source, because)
}

// Judge says whether a call may run. The worst of all answers counts.
func (r *Rules) Judge(req Request) loop.Judgement {
	j := &judging{Rules: r, req: req, tool: toolname.Canonical(req.Tool)}
	if j.tool == "shell" {
		j.Rules = r.ForCommands()
	}
	for _, g := range req.Grants {
		one, err := parseRule(g.Rule)
		if err != nil {
			continue // it grants nothing
		}
		one.verdict, one.granted = loop.VerdictAllow, true
		j.grants = append(j.grants, one)
	}
	j.builtin()
	switch {
	case j.tool == "shell" && req.Plan.Command != nil:
		j.shell(req.Plan.Command.Line, req.Plan.Command.Dir)
	case j.tool == "shell":
		j.mustAsk("shell", "the command is not known")
	case len(req.Plan.Paths) > 0:
		for _, p := range req.Plan.Paths {
			j.add(j.pathAnswer(j.tool, p.Path, p.Write, true)...)
		}
	default:
		j.other()
	}
	j.clearance()
	return j.conclude()
}

func (j *judging) add(a ...answer) { j.answers = append(j.answers, a...) }

// builtin holds what no rule changes.
func (j *judging) builtin() {
	effect := j.req.Plan.Effect
	if j.req.Mode == loop.ModePlan && (effect == loop.Write || effect == loop.Execute) {
		j.say(loop.LayerBuiltin, loop.VerdictDeny, false, "mode plan", "in plan mode nothing is written or executed")
	}
	if j.req.Unheard != "" {
		j.say(loop.LayerHook, loop.VerdictAsk, true, "pre_tool", j.req.Unheard)
	}
	if effect == loop.Execute && !j.req.SandboxInForce {
		j.mustAsk("sandbox", "commands are not confined on this machine")
	}
	if effect == loop.Execute && j.req.Unwatched != "" {
		j.mustAsk("sandbox", j.req.Unwatched)
	}
	if effect == loop.Execute && j.req.Exposed != "" {
		j.mustAsk("sandbox", j.req.Exposed)
	}
}

// other judges a tool without paths and commands: by bare rules only.
func (j *judging) other() {
	a := j.ruleAnswer(j.tool, func(rule) bool { return true })
	if a.verdict == loop.VerdictNone {
		a = j.byDefault(j.req.Plan.Effect)
	}
	j.add(a)
}

// ruleAnswer finds the worst rule among those about a tool that match. A
// person's grant settles an ask rule, but not an organisation's.
func (j *judging) ruleAnswer(tool string, match func(rule) bool) answer {
	var best answer
	take := func(a answer) {
		if a.rank() > best.rank() {
			best = a
		}
	}
	for _, r := range j.rules {
		if !r.covers(tool) || !match(r) {
			continue
		}
		switch {
		case r.verdict == loop.VerdictAllow && j.only(r):
			continue // said below, when nothing else allows
		case r.broken:
			take(answer{verdict: loop.VerdictAsk, must: true, because: "a rule that cannot be read could be about this call", source: r.source(), layer: r.gate()})
		case r.verdict == loop.VerdictAsk && r.layer == "organisation":
			take(answer{verdict: loop.VerdictAsk, must: true, because: "the organisation's rule asks", source: r.source(), layer: loop.LayerRule})
		default:
			take(answer{verdict: r.verdict, because: "rule " + r.source(), source: r.source(), layer: r.gate()})
		}
	}
	if best.rank() >= 3 || best.verdict == loop.VerdictAllow {
		return best
	}
	for _, g := range j.grants {
		if g.covers(tool) && match(g) {
			return answer{verdict: loop.VerdictAllow, because: "the user " + g.source(), source: g.source(), layer: loop.LayerRule}
		}
	}
	if best.verdict != loop.VerdictNone {
		return best
	}
	for _, r := range j.rules {
		if r.covers(tool) && match(r) && j.only(r) && j.req.Plan.Effect != loop.Read {
			return answer{verdict: loop.VerdictAsk, because: "rule " + r.source() + ": a workspace cannot allow, only the user can", source: r.source(), layer: loop.LayerRule}
		}
	}
	return best
}

// only tells whether an allow comes from the workspace, which cannot allow.
func (j *judging) only(r rule) bool {
	return r.verdict == loop.VerdictAllow && !r.granted && (r.layer == "workspace" || r.layer == "client")
}

// byDefault is the answer where no rule says anything.
func (j *judging) byDefault(effect loop.Effect) answer {
	a := answer{layer: loop.LayerRule, source: "policy.default"}
	switch {
	case j.fallback == "allow":
		a.verdict, a.because = loop.VerdictAllow, "the default allows"
	case effect == loop.Read:
		a.verdict, a.because = loop.VerdictAllow, "reading is allowed by default"
	case j.fallback == "deny":
		a.verdict, a.because = loop.VerdictDeny, fmt.Sprintf("no rule allows it and the default denies to %s", effect)
	default:
		a.verdict, a.because = loop.VerdictAsk, fmt.Sprintf("no rule says anything, and to %s asks by default", effect)
	}
	return a
}

// conclude folds the answers and says what a grant would cover.
func (j *judging) conclude() loop.Judgement {
	var worst answer
	for _, a := range j.answers {
		if a.rank() > worst.rank() {
			worst = a
		}
	}
	out := loop.Judgement{Verdict: worst.verdict, MustAsk: worst.must}
	if worst.verdict == loop.VerdictNone {
		out.Verdict = loop.VerdictAsk // nothing was judged: nothing is known
		out.Steps = append(out.Steps, loop.GateStep{Layer: loop.LayerRule, Fired: true, Outcome: loop.VerdictAsk, Because: "nothing is known about this call"})
	}
	said := map[string]bool{}
	for _, a := range j.answers {
		key := a.source + "\x00" + a.because
		if a.verdict == loop.VerdictNone || said[key] {
			continue
		}
		said[key] = true
		out.Steps = append(out.Steps, loop.GateStep{Layer: a.layer, Source: a.source, Fired: a.rank() == worst.rank(), Outcome: a.verdict, Because: a.because})
	}
	if out.Verdict == loop.VerdictAsk && !out.MustAsk && j.req.Mode == loop.ModeAuto {
		out.Verdict = loop.VerdictAllow
		out.Steps = append(out.Steps, loop.GateStep{Layer: loop.LayerBuiltin, Source: "mode auto", Fired: true, Outcome: loop.VerdictAllow, Because: "in auto mode what would ask is allowed"})
	}
	if out.Verdict == loop.VerdictAsk && !out.MustAsk && !j.uncertain {
		cover := j.cover()
		out.Session, out.Always = cover, cover
	}
	return out
}

// cover is the rule that allows exactly this call again, "" if there is none.
func (j *judging) cover() string {
	switch {
	case j.tool == "shell":
		return j.lineRule(j.req.Plan.Command.Line)
	case len(j.req.Plan.Paths) == 1:
		p := j.req.Plan.Paths[0]
		rel, ok := j.relative(p.Path)
		if !ok {
			return ""
		}
		return j.tool + "(" + escapeGlob(rel) + ")"
	case len(j.req.Plan.Paths) > 1:
		return ""
	case toolname.Known(j.tool):
		return j.tool
	}
	return ""
}

// lineRule is the rule for one exact shell line: as a pattern of words where
// that can allow it, else as the line itself.
func (r *Rules) lineRule(line string) string {
	line = strings.TrimSpace(line)
	if line == "" || strings.ContainsAny(line, "\n\r\x00") {
		return ""
	}
	plain := true
	for _, c := range line {
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(" ._/:@%+,-", c))
	}
	if words := strings.Fields(line); plain && strings.Join(words, " ") == line && (bash(words[0]) || r.find(words[0], nil) == "") {
		return "shell(" + line + ")"
	}
	return "shell(=" + line + ")"
}

func escapeGlob(path string) string {
	var b strings.Builder
	for _, c := range path {
		if strings.ContainsRune(`*?[]{}\!`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}
