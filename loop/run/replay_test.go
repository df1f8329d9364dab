package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/loop/report"
)

// watched are the events of a run whose scripts TestReplay plays again.
var watched = map[string]string{
	"work/on_stage_enter":   `func on_stage_enter(ctx) { return hook.modify({task: ctx.regions.task + " (carefully)"}) }`,
	"work/before_inference": `func before_inference(ctx) { return {action: "allow", state: {n: ctx.state.get("n", 0) + 1, at: time.now().unix()}} }`,
	"work/on_tool_call":     guard,
	"work/tool:gate": `func tool_gate(ctx) {
    n := ctx.state.get("n", 0) + 1
    if n > 1 { return {action: "substitute", value: 'call {n}', state: {n: n}} }
    return {action: "allow", state: {n: n}}
}
`,
	"work/tool:transform":  `func tool_transform(ctx) { return hook.modify({result: strings.to_upper(ctx.result)}) }`,
	"work/after_inference": `func after_inference(ctx) { return true }`,
	"work/on_completion":   `func on_completion(ctx) { return hook.modify(ctx.output + "!") }`,
}

func replayed(t *testing.T, r *rig, p ReplayParams) *Replayed {
	t.Helper()
	got, err := r.svc.Replay(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got.Findings {
		t.Errorf("%s: %s", f.Path, f.Message)
	}
	return got
}

// TestReplayOfUnchangedScriptsChangesNothing makes a run with hooks on seven
// events and plays each script over it.
func TestReplayOfUnchangedScriptsChangesNothing(t *testing.T) {
	r := newRig(t)
	r.real(watched)
	for i := range r.config.Agents[0].Hooks {
		if d := &r.config.Agents[0].Hooks[i]; strings.Contains(d.Event, ":") {
			d.Path = strings.ReplaceAll(d.Path, ":", "_")
			if err := os.WriteFile(d.Path, []byte(watched["work/"+d.Event]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.file("a.txt", "one")
	r.file("secret.txt", "psst")
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	r.model.turns = []turn{
		{calls: []string{`read_file {"path":"secret.txt"}`, `read_file {"path":"a.txt"}`}},
		{calls: []string{`read_file {"path":"a.txt","limit":1}`, `read_file {"path":"a.txt","offset":1}`}},
		{text: "done"},
	}
	s := r.start("look")
	if end := r.wait(s.RunID); end.Status != report.Done || *end.Output != "done!" {
		t.Fatalf("end %s %s\n%s", end.Status, end.Error, r.screen.text())
	}
	events := map[string]int{}
	for _, d := range r.config.Agents[0].Hooks {
		got := replayed(t, r, ReplayParams{Path: d.Path})
		if got.Checked == 0 || got.Unchanged != got.Checked || got.Unrecorded != 0 {
			t.Errorf("%s: checked %d, unchanged %d, unrecorded %d: %+v %+v", d.Event, got.Checked, got.Unchanged, got.Unrecorded, got.Changed, got.Broken)
		}
		events[d.Event] = got.Checked
	}
	if events["tool:gate"] != 2 || events["before_inference"] != 3 || events["on_tool_call"] != 2 {
		t.Errorf("fired %v", events)
	}

	path := filepath.Join(r.dir, "ws", "hooks", "work_on_tool_call.risor")
	stricter := strings.Replace(guard, `call.arguments.path == "secret.txt"`, "true", 1)
	got := replayed(t, r, ReplayParams{Path: path, Text: []byte(stricter), Sessions: []string{s.SessionID}})
	if got.Checked != 2 || len(got.Changed) != 1 || got.Changed[0].Because != "it did allow and would now deny: secrets stay secret" || got.Changed[0].Was.SessionID != s.SessionID {
		t.Errorf("a stricter guard: %+v", got)
	}
	// What the recorded script was not asked about, another one's record shows.
	fresh := filepath.Join(r.dir, "ws", "hooks", "new.risor")
	got = replayed(t, r, ReplayParams{Path: fresh, Text: []byte(`func tool_gate(ctx) { return ctx.input.path == "a.txt" ? hook.deny("no a") : true }`), Last: 1})
	if got.Checked != 2 || len(got.Changed) != 2 || got.Changed[0].Because != "it had no say and would now deny: no a" {
		t.Errorf("a new script: %+v", got)
	}
	if got := replayed(t, r, ReplayParams{Path: path, Limit: 1}); got.Checked != 1 {
		t.Errorf("with a limit of one, %d were checked", got.Checked)
	}
	if _, err := r.svc.Replay(context.Background(), ReplayParams{Path: path, Sessions: []string{"s_no"}}); !errors.Is(err, ErrUnknownID) {
		t.Errorf("an unknown session: %v", err)
	}
	bad, err := r.svc.Replay(context.Background(), ReplayParams{Path: path, Text: []byte("func on_tool_call(ctx) { return tru }")})
	if err != nil || len(bad.Findings) != 1 || bad.Checked != 0 {
		t.Errorf("a script with an error: %+v, %v", bad, err)
	}

	if err := r.svc.Delete(context.Background(), s.SessionID); err != nil {
		t.Fatal(err)
	}
	if got := replayed(t, r, ReplayParams{Path: path}); got.Checked != 0 || got.Unrecorded != 0 {
		t.Errorf("after the session was deleted: %+v", got)
	}
}

// TestReplayAsksNoModel plays a decision that a model had a part in.
func TestReplayAsksNoModel(t *testing.T) {
	r := newRig(t)
	const asks = `func on_stage_enter(ctx) {
    d := hook.decide("is it safe?", nil)
    return d.ok && d.answers == "yes" ? true : hook.cancel("not safe")
}
`
	r.real(map[string]string{"work/on_stage_enter": asks})
	r.model.turns = []turn{{text: `"yes"`}, {text: "done"}}
	if end := r.wait(r.start("go").RunID); end.Status != report.Done {
		t.Fatalf("end %s %s", end.Status, end.Error)
	}
	before := len(r.model.requests())
	path := r.config.Agents[0].Hooks[0].Path
	if got := replayed(t, r, ReplayParams{Path: path}); got.Checked != 1 || got.Unchanged != 1 {
		t.Errorf("the same script: %+v", got)
	}
	got := replayed(t, r, ReplayParams{Path: path, Text: []byte(strings.Replace(asks, "is it safe?", "is it wise?", 1))})
	if len(got.Broken) != 1 || got.Broken[0].Now.Error.Kind != hooks.Unasked || !strings.Contains(got.Broken[0].Because, "on_stage_enter.risor:2:") {
		t.Errorf("another question: %+v", got)
	}
	if n := len(r.model.requests()); n != before {
		t.Errorf("the model was asked %d times by replays", n-before)
	}
}
