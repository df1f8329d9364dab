package run

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/shell"
	"agent-ls/loop"
	"agent-ls/loop/skill"
	"agent-ls/loop/tool"
)

// skillTool is the name of the tool that takes up a skill.
const skillTool = "skill"

//go:embed skill.md
var skillText string

// listSkills makes known, once in a run and before its first request, which
// skills there are. Hooks see what was found and can leave skills out. The
// state that it returns is the one to go on with; ok is false when a hook
// ended the run.
func (r *activeRun) listSkills(ctx context.Context, s *loop.State) (ok bool) {
	if s.SkillsListed || r.pin == nil || len(r.pin.Config.Skills) == 0 {
		return true
	}
	var all []loop.SkillEntry
	for _, k := range r.pin.Config.Skills {
		if r.gear.rules != nil && r.gear.rules.Unreadable(k.Path) {
			continue // a rule denies reading it
		}
		all = append(all, loop.SkillEntry{Name: k.Name, Description: k.Description, Path: k.Path, AllowedTools: k.AllowedTools})
	}
	r.raise(ctx, s, "skills:resolve", "", func() map[string]any { return map[string]any{"skills": skillFields(all)} })
	out := r.raise(ctx, s, "skills:catalog", "", func() map[string]any { return map[string]any{"catalog": skillFields(all)} })
	if out.Failure != nil {
		r.endRun("skills:catalog", out)
		return false
	}
	if out.Action == contract.Modify {
		left, _ := out.Value.([]any) // the contract has checked that none is new
		all = slices.DeleteFunc(all, func(k loop.SkillEntry) bool {
			return !slices.ContainsFunc(left, func(v any) bool {
				m, _ := v.(map[string]any)
				return m["name"] == k.Name
			})
		})
	}
	next, ok := r.tell(posted{event: loop.Event{Kind: loop.SkillsFound, Skills: all}})
	if ok {
		*s = next
	}
	return ok
}

func skillFields(all []loop.SkillEntry) []any {
	out := make([]any, len(all))
	for i, k := range all {
		out[i] = map[string]any{"name": k.Name, "description": k.Description, "path": k.Path}
	}
	return out
}

// skillUser is the tool that takes up a skill and puts it down.
type skillUser struct{}

func (skillUser) Spec() loop.ToolSpec {
	return loop.ToolSpec{
		Name: skillTool, Description: strings.TrimSpace(skillText),
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"the skill's name"},` +
			`"done":{"type":"boolean","description":"true puts the skill down"}},"required":["name"],"additionalProperties":false}`),
	}
}

func (skillUser) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	var a struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return loop.Plan{}, err
	}
	return loop.Plan{Effect: loop.Read, Title: bounded("skill " + a.Name)}, nil
}

func (skillUser) runIn(ctx context.Context, d *dispatched, _ loop.Invocation) loop.ToolResult {
	return d.useSkill(ctx)
}

// Run is for a call outside of a run.
func (skillUser) Run(context.Context, loop.Invocation) loop.ToolResult {
	return *refusal(loop.CallError, "a skill is taken up in a run only")
}

// useSkill takes a skill up or puts it down, for a call that was admitted.
func (d *dispatched) useSkill(ctx context.Context) loop.ToolResult {
	var a struct {
		Name string `json:"name"`
		Done bool   `json:"done"`
	}
	if err := json.Unmarshal(d.args, &a); err != nil {
		return *refusal(loop.CallError, err.Error())
	}
	names := make([]string, len(d.state.Skills))
	for i, k := range d.state.Skills {
		names[i] = k.Name
	}
	i := slices.Index(names, a.Name)
	if i < 0 {
		return *refusal(loop.CallError, fmt.Sprintf("there is no skill %q%s", a.Name, didYouMean(a.Name, names)))
	}
	k := d.state.Skills[i]
	if a.Done {
		return d.putDown(ctx, k)
	}
	body, files, err := skill.Body(skill.Skill{Name: k.Name, Path: k.Path})
	if err != nil {
		return *refusal(loop.CallError, err.Error())
	}
	// Calls of the same batch are held to it, too.
	d.run.using(k.Name, true)
	state, ok := d.run.tell(posted{event: loop.Event{Kind: loop.SkillUsed, ID: k.Name, Waits: true}})
	if !ok {
		return *refusal(loop.CallCancelled, "the run is over")
	}
	d.run.raise(ctx, &state, "skills:activate", d.call.ID, func() map[string]any {
		var allowed any
		if k.AllowedTools != nil {
			list := make([]any, len(k.AllowedTools))
			for i, t := range k.AllowedTools {
				list[i] = t
			}
			allowed = list
		}
		return map[string]any{"name": k.Name, "path": k.Path, "allowed_tools": allowed, "by": "model"}
	})
	text := fmt.Sprintf("The skill %s, from %s:\n\n%s", k.Name, d.run.svc.shortPath(k.Path), body)
	if len(files) > 0 {
		text += fmt.Sprintf("\n\nFiles of the skill, in %s: %s", d.run.svc.shortPath(filepath.Dir(k.Path)), strings.Join(files, ", "))
	}
	if k.AllowedTools != nil {
		text += "\n\nWhile it is in use, only these tools may be called: " + strings.Join(append(slices.Clone(k.AllowedTools), skillTool), ", ")
	}
	return loop.ToolResult{Text: text, Outcome: loop.CallOK}
}

func (d *dispatched) putDown(ctx context.Context, k loop.SkillEntry) loop.ToolResult {
	if !d.inUse(k.Name) {
		return *refusal(loop.CallError, fmt.Sprintf("the skill %s is not in use", k.Name))
	}
	state, ok := d.run.tell(posted{event: loop.Event{Kind: loop.SkillUsed, ID: k.Name}})
	if !ok {
		return *refusal(loop.CallCancelled, "the run is over")
	}
	d.run.using(k.Name, false)
	d.run.raise(ctx, &state, "skills:deactivate", d.call.ID, func() map[string]any { return map[string]any{"name": k.Name, "by": "model"} })
	return loop.ToolResult{Text: fmt.Sprintf("The skill %s is no longer in use.", k.Name), Outcome: loop.CallOK}
}

// using notes that a skill is taken up or put down, for calls that were
// dispatched on an older state.
func (r *activeRun) using(name string, up bool) {
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	if r.skills == nil {
		r.skills = map[string]bool{}
	}
	r.skills[name] = up
}

func (d *dispatched) inUse(name string) bool {
	d.run.callsMu.Lock()
	defer d.run.callsMu.Unlock()
	if up, known := d.run.skills[name]; known {
		return up
	}
	return slices.Contains(d.state.ActiveSkills, name)
}

// skillForbids says why a skill in use forbids a call, "" if none does. Each
// skill in use must allow it, so that taking up another never widens.
func (d *dispatched) skillForbids(name string) string {
	if name == skillTool || name == loop.NextStageTool || name == findTools {
		return ""
	}
	for _, k := range d.state.Skills {
		if k.AllowedTools == nil || !d.inUse(k.Name) {
			continue
		}
		if !slices.ContainsFunc(k.AllowedTools, func(entry string) bool { return entryAllows(entry, name, d.args) }) {
			return fmt.Sprintf("the skill %s is in use, and allows only %s; put it down with done = true when it is finished", k.Name, strings.Join(k.AllowedTools, ", "))
		}
	}
	return ""
}

// entryAllows says whether an entry of allowed-tools covers a call: a name, a
// name of MCP tools with *, or NAME(WORDS) for calls that begin with them. A
// call of which something cannot be known is not covered.
func entryAllows(entry, name string, args json.RawMessage) bool {
	base, pattern, has := strings.Cut(entry, "(")
	base = tool.Canonical(strings.TrimSpace(base))
	if base != name && !(isMCP(base) && isMCP(name) && fitsName(base, name)) {
		return false
	}
	pattern = strings.TrimSuffix(strings.TrimSpace(pattern), ")")
	if !has || pattern == "" || pattern == "*" {
		return true
	}
	var a struct {
		Command string `json:"command"`
		Path    string `json:"path"`
	}
	if json.Unmarshal(args, &a) != nil {
		return false
	}
	if name != "shell" {
		ok, err := path.Match(pattern, filepath.ToSlash(filepath.Clean(a.Path)))
		return a.Path != "" && ok && err == nil
	}
	prefix, open := strings.CutSuffix(strings.TrimSpace(pattern), "*")
	if open {
		prefix = strings.TrimSuffix(strings.TrimSpace(prefix), ":")
	}
	want := strings.Fields(prefix)
	commands := shell.Commands(a.Command)
	for _, c := range commands {
		words := c.Words()
		if len(c.Redirects) > 0 || len(c.Assigns) > 0 || len(words) < len(want) || !open && len(words) != len(want) {
			return false
		}
		for i, w := range words {
			if !w.Known || i < len(want) && w.Text != want[i] {
				return false
			}
		}
	}
	return len(commands) > 0
}
