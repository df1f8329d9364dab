package run

import (
	"context"
	"strings"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// realTools lets the rig run with the real tools and rules in place of the
// small ones.
func (r *rig) realTools() { r.svc.equip = r.svc.realGear }

func (r *rig) taint(labels map[string]string, clearance map[string]string) {
	r.config.Taint = manifest.Taint{Enabled: true, Bounds: []map[string]string{clearance}}
	for glob, level := range labels {
		r.config.Taint.Labels = append(r.config.Taint.Labels, manifest.Label{Glob: glob, Level: level})
	}
	r.config.Policy = manifest.Policy{Default: "allow"}
	r.config.Sandbox = manifest.Sandbox{Off: true}
}

func (r *rig) label(session string) loop.Label {
	r.t.Helper()
	var s loop.State
	_, _, err := r.journal.Replay(context.Background(), session, func(e loop.Event) { s, _ = loop.Apply(s, e) })
	if err != nil {
		r.t.Fatal(err)
	}
	return s.Taint
}

func TestWhatWasReadKeepsToolsFromBeingCalled(t *testing.T) {
	r := newRig(t)
	r.realTools()
	r.taint(map[string]string{"*.key": "private", "*.md": "internal"}, map[string]string{"write_file": "public", "glob": "internal"})
	r.file("a.key", "hunter2\n")
	r.file("notes.md", "a note\n")
	r.file("plain.txt", "plain\n")
	r.screen.answer = answerWith(report.Answer{Outcome: report.DenyOnce})
	r.model.turns = []turn{
		{calls: []string{`read_file {"path":"plain.txt"}`}},
		{calls: []string{`write_file {"path":"one.txt","content":"1"}`}}, // nothing read that has a label
		{calls: []string{`grep {"pattern":"note"}`}},                     // shows notes.md
		{calls: []string{`write_file {"path":"two.txt","content":"2"}`, `glob {"pattern":"*.md"}`}},
		{text: "ok"},
	}
	s := r.start("x")
	r.wait(s.RunID)
	if got := r.content(r.dir + "/ws/one.txt"); got != "1" {
		t.Errorf("before anything with a label was read: %q", got)
	}
	if got := r.content(r.dir + "/ws/two.txt"); got != "<none>" {
		t.Errorf("written with what is internal in the context: %q", got)
	}
	if len(r.screen.shown) != 1 || !strings.Contains(strings.Join(r.screen.shown[0].Why, "; "), "the context holds what is internal, and write_file is cleared for public") {
		t.Errorf("approvals %+v, want one that says why", r.screen.shown)
	}
	if got := r.label(s.SessionID); got != loop.Internal {
		t.Errorf("the journal's label is %q, want internal", got)
	}

	// The label stays with the session, whatever process goes on with it.
	r.close()
	r.open()
	r.realTools()
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	r.model.turns = []turn{
		{calls: []string{`write_file {"path":"three.txt","content":"3"}`}},
		{calls: []string{`read_file {"path":"a.key"}`}},
		{calls: []string{`glob {"pattern":"*"}`}},
		{text: "ok"},
	}
	r.wait(r.startIn(s.SessionID, "again").RunID)
	var why []string
	for _, a := range r.screen.shown[1:] {
		why = append(why, a.Tool+": "+strings.Join(a.Why, "; "))
	}
	want := "write_file: taint: the context holds what is internal, and write_file is cleared for public\n" +
		"glob: taint: the context holds what is private, and glob is cleared for internal"
	if got := strings.Join(why, "\n"); got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
	if got := r.label(s.SessionID); got != loop.Private {
		t.Errorf("the journal's label is %q, want private", got)
	}
}

func TestThePromptsFilesBringTheirLabels(t *testing.T) {
	r := newRig(t)
	r.realTools()
	r.taint(map[string]string{"*.key": "private", "AGENTS.md": "internal"}, nil)
	path := r.file("a.key", "hunter2\n")
	r.model.turns = []turn{{text: "ok"}, {text: "ok"}, {text: "ok"}}
	plain := r.start("x")
	r.wait(plain.RunID)
	if got := r.label(plain.SessionID); got != loop.NoLabel {
		t.Errorf("of a plain prompt: %q", got)
	}
	r.file("AGENTS.md", "be kind\n")
	s := r.start("x")
	r.wait(s.RunID)
	if got := r.label(s.SessionID); got != loop.Internal {
		t.Errorf("of the project's instructions: %q, want internal", got)
	}
	with, err := r.svc.Start(context.Background(), StartParams{Prompt: "look", Context: []ContextFile{{Path: path}}})
	if err != nil {
		t.Fatal(err)
	}
	r.wait(with.RunID)
	if got := r.label(with.SessionID); got != loop.Private {
		t.Errorf("of a file that goes along: %q, want private", got)
	}
}

func TestSubAgentsInheritLabelsAndBringThemBack(t *testing.T) {
	r := newRig(t)
	r.realTools()
	r.taint(map[string]string{"*.key": "private", "*.md": "internal"}, map[string]string{"write_file": "public", "glob": "internal"})
	r.config.Limits = manifest.RunLimits{Depth: 3, Agents: 8}
	r.file("a.key", "hunter2\n")
	r.file("notes.md", "a note\n")
	r.screen.answer = answerWith(report.Answer{Outcome: report.DenyOnce})
	r.model.turns = []turn{
		{calls: []string{`read_file {"path":"notes.md"}`}},
		{calls: []string{`spawn {"prompt":"look at the key"}`}},
		{calls: []string{`write_file {"path":"one.txt","content":"1"}`}}, // the child's
		{calls: []string{`read_file {"path":"a.key"}`}},
		{text: "it is hunter2"},
		{calls: []string{`glob {"pattern":"*"}`}}, // the parent's again
		{text: "ok"},
	}
	s := r.start("x")
	r.wait(s.RunID)
	var why []string
	for _, a := range r.screen.shown {
		why = append(why, a.Tool+": "+strings.Join(a.Why, "; "))
	}
	want := "write_file: taint: the context holds what is internal, and write_file is cleared for public\n" +
		"glob: taint: the context holds what is private, and glob is cleared for internal"
	if got := strings.Join(why, "\n"); got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
	if got := r.label(s.SessionID); got != loop.Private {
		t.Errorf("the journal's label is %q, want private", got)
	}
}

// What an MCP server that runs here answers may come from any file that
// commands see.
func TestAServersResultsBearTheLabelOfWhatItMayRead(t *testing.T) {
	r := newRig(t)
	r.realTools()
	r.withServer(nil)
	r.taint(map[string]string{"*.key": "private"}, map[string]string{"write_file": "public"})
	r.file("a.key", "hunter2\n")
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	r.model.turns = []turn{
		{calls: []string{`find_tools {}`}},
		{calls: []string{`mcp__files__echo {"text":"x"}`}},
		{calls: []string{`write_file {"path":"one.txt","content":"1"}`}},
		{text: "ok"},
	}
	s := r.start("x")
	r.wait(s.RunID)
	if got := r.label(s.SessionID); got != loop.Private {
		t.Errorf("the journal's label is %q, want private; events:\n%s", got, r.screen.text())
	}
	why := r.screen.shown[len(r.screen.shown)-1]
	if why.Tool != "write_file" || !strings.Contains(strings.Join(why.Why, "; "), "the context holds what is private") {
		t.Errorf("the last approval is %+v, want that of write_file", why)
	}
}
