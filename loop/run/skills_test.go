package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/loop/skill"
)

// withSkills gives the rig's workspace two skills, of which one allows a tool.
func (r *rig) withSkills() {
	r.t.Helper()
	for name, allowed := range map[string][]string{"review": {"look"}, "deploy": nil} {
		path := filepath.Join(r.dir, "ws", ".agent-ls", "skills", name, "SKILL.md")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("---\nname: "+name+"\ndescription: About "+name+".\n---\nHow to "+name+".\n"), 0o644); err != nil {
			r.t.Fatal(err)
		}
		r.config.Skills = append(r.config.Skills, skill.Skill{Name: name, Description: "About " + name + ".", Path: path, AllowedTools: allowed, Workspace: true})
	}
	slices.SortFunc(r.config.Skills, func(a, b skill.Skill) int { return strings.Compare(a.Name, b.Name) })
	r.more = append(r.more, skillUser{})
	r.verdict[skillTool] = loop.VerdictAllow
}

// A skill is listed in the prompt, its body is read on use, and while it is in
// use only the tools that it allows may be called: in the same batch already,
// and after a restart still.
func TestASkillIsTakenUpAndPutDown(t *testing.T) {
	r := newRig(t)
	r.withSkills()
	var seen []string
	for _, e := range []string{"skills:resolve", "skills:catalog", "skills:activate", "skills:deactivate"} {
		r.hooks["work/"+e] = func(f hooks.Firing) hooks.Outcome {
			name, _ := f.Fields["name"].(string)
			seen = append(seen, strings.TrimSpace(f.Event+" "+name))
			return hooks.Outcome{Action: contract.Allow}
		}
	}
	r.model.turns = []turn{
		{calls: []string{`skill {"name":"review"}`, `change {"path":"a","text":"a"}`, `look {"at":"x"}`}},
		{calls: []string{`skill {"name":"deploy"}`, `change {"path":"a","text":"b"}`}},
		{calls: []string{`skill {"name":"review","done":true}`, `change {"path":"a","text":"c"}`, `skill {"name":"reviev"}`}},
		{text: "Done."},
	}
	if end := r.wait(r.start("x").RunID); end.Status != report.Done {
		t.Fatalf("end %s %s; events:\n%s", end.Status, end.Error, r.screen.text())
	}
	requests := r.model.requests()
	if got := requests[0].System; !strings.Contains(got, "- deploy: About deploy.\n- review: About review.\n") || strings.Contains(got, "How to") {
		t.Errorf("the system text is %q", got)
	}
	results := func(request int) (out []string) {
		messages := requests[request].Messages
		for _, b := range messages[len(messages)-1].Blocks {
			if b.Result != nil {
				out = append(out, string(b.Result.Outcome)+": "+b.Result.Text)
			}
		}
		return out
	}
	for i, want := range [][]string{
		{"ok: The skill review, from .agent-ls/skills/review/SKILL.md:\n\nHow to review.", "denied: the skill review is in use, and allows only look", "ok: "},
		{"ok: The skill deploy", "denied: the skill review is in use"},
		{"ok: The skill review is no longer in use.", "ok: ", "error: there is no skill \"reviev\""},
	} {
		got := results(i + 1)
		for j, w := range want {
			if j >= len(got) || !strings.HasPrefix(got[j], w) {
				t.Errorf("batch %d: %q, want %q at %d", i, got, w, j)
			}
		}
	}
	want := []string{"skills:resolve", "skills:catalog", "skills:activate review", "skills:activate deploy", "skills:deactivate review"}
	if !slices.Equal(seen, want) {
		t.Errorf("events %q, want %q", seen, want)
	}
}

// skills:catalog can leave skills out; a broken hook of it ends the run.
func TestTheCatalogueCanOnlyShrink(t *testing.T) {
	r := newRig(t)
	r.withSkills()
	r.hooks["work/skills:catalog"] = func(f hooks.Firing) hooks.Outcome {
		return hooks.Outcome{Action: contract.Modify, Value: f.Fields["catalog"].([]any)[:1]}
	}
	r.model.turns = []turn{{calls: []string{`skill {"name":"review"}`}}, {text: "Done."}}
	r.wait(r.start("x").RunID)
	if got := r.model.requests()[0].System; !strings.Contains(got, "- deploy:") || strings.Contains(got, "- review:") {
		t.Errorf("the system text is %q", got)
	}
	if got := r.resultText(1); !strings.HasPrefix(got, `there is no skill "review"`) {
		t.Errorf("a skill that was left out: %q", got)
	}
	r.hooks["work/skills:catalog"] = func(hooks.Firing) hooks.Outcome {
		return hooks.Outcome{Failure: &hooks.Failure{Message: "it throws", Kind: hooks.Malformed}}
	}
	if end := r.wait(r.start("y").RunID); end.Status != report.Failed || !strings.Contains(end.Error, "skills:catalog") {
		t.Errorf("end %s %s", end.Status, end.Error)
	}
}

func TestWhatAllowedToolsCover(t *testing.T) {
	for _, c := range []struct {
		entry, tool, args string
		want              bool
	}{
		{"Read", "read_file", `{"path":"a"}`, true},
		{"Read", "write_file", `{"path":"a"}`, false},
		{"Bash", "shell", `{"command":"rm -rf /"}`, true},
		{"Bash(git add:*)", "shell", `{"command":"git add ."}`, true},
		{"Bash(git add *)", "shell", `{"command":"git add -A && git add b"}`, true},
		{"Bash(git add:*)", "shell", `{"command":"git add . && rm x"}`, false},
		{"Bash(git add:*)", "shell", `{"command":"git add $X"}`, false},
		{"Bash(git add:*)", "shell", `{"command":"git add . > out"}`, false},
		{"Bash(git add:*)", "shell", `{"command":"git commit"}`, false},
		{"Bash(git status)", "shell", `{"command":"git status"}`, true},
		{"Bash(git status)", "shell", `{"command":"git status -s"}`, false},
		{"Bash(git:*)", "shell", `{"command":"git 'unclosed"}`, false},
		{"Edit(docs/*)", "edit", `{"path":"docs/a.md"}`, true},
		{"Edit(docs/*)", "edit", `{"path":"docs/../a.md"}`, false},
		{"Edit(docs/*)", "edit", `{}`, false},
		{"mcp__files__*", "mcp__files__read", `{}`, true},
		{"mcp__files__*", "mcp__web__get", `{}`, false},
		{"*", "shell", `{"command":"ls"}`, false},
	} {
		if got := entryAllows(c.entry, c.tool, json.RawMessage(c.args)); got != c.want {
			t.Errorf("entryAllows(%q, %s %s) = %v, want %v", c.entry, c.tool, c.args, got, c.want)
		}
	}
}
