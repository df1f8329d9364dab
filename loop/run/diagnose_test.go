package run

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// checks gives the rig real tools and a diagnostics command for .txt files.
func (r *rig) checks(command string, change func(*manifest.DiagnosticsCommand)) {
	r.realTools()
	r.config.Policy = manifest.Policy{Default: "allow"}
	r.config.Sandbox = manifest.Sandbox{Off: true}
	r.config.Behavior.WriteExisting = "allow"
	d := manifest.DiagnosticsCommand{Ext: "txt", Command: command}
	if change != nil {
		change(&d)
	}
	r.config.Diagnostics = []manifest.DiagnosticsCommand{d}
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
}

func TestPostEditDiagnostics(t *testing.T) {
	tests := map[string]struct {
		command, call string
		want          string // behind "created a.txt: …", exactly
	}{
		"what it prints is appended": {"echo a.txt:1: bad; exit 1", `write_file {"path":"a.txt","content":"x\n"}`, "\n\necho a.txt:1: bad; exit 1:\na.txt:1: bad"},
		"clean and quiet":            {"true", `write_file {"path":"a.txt","content":"x\n"}`, ""},
		"clean and chatty":           {"echo fine", `write_file {"path":"a.txt","content":"x\n"}`, "\n\necho fine:\nfine"},
		"quiet and not clean":        {"exit 3", `write_file {"path":"a.txt","content":"x\n"}`, "\n\nexit 3:\n[exit status 3]"},
		"thirty lines":               {"seq 40", `write_file {"path":"a.txt","content":"x\n"}`, "\n\nseq 40:\n" + strings.Join(numbers(30), "\n") + "\n(10 more lines)"},
		"another kind of file":       {"echo bad", `write_file {"path":"a.md","content":"x\n"}`, ""},
		"it sees the edit":           {"cat a.txt", `write_file {"path":"a.txt","content":"x\n"}`, "\n\ncat a.txt:\nx"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.checks(tt.command, nil)
			r.model.turns = []turn{{calls: []string{tt.call}}, {text: "done"}}
			r.wait(r.start("x").RunID)
			got := r.outputs()
			if len(got) != 1 {
				t.Fatalf("results %q:\n%s", got, r.screen.text())
			}
			_, tail, _ := strings.Cut(got[0], "1 lines added, 0 removed")
			if tail != tt.want {
				t.Errorf("behind the edit: %q, want %q", tail, tt.want)
			}
		})
	}
}

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return all
}

func TestDiagnosticsOfAWorkspaceNeedTrust(t *testing.T) {
	r := newRig(t)
	r.checks("echo bad > ran.log; echo bad", func(d *manifest.DiagnosticsCommand) { d.Workspace, d.ID = true, "diagnostics.txt" })
	r.model.turns = []turn{{calls: []string{`write_file {"path":"a.txt","content":"x\n"}`, `write_file {"path":"b.txt","content":"x\n"}`}}, {text: "done"}}
	r.wait(r.start("x").RunID)
	notices := 0
	for _, e := range r.screen.all() {
		if e.Type == report.Notice && strings.Contains(e.Text, "waits for your trust") {
			notices++
		}
	}
	if ran := r.content(filepath.Join(r.dir, "ws", "ran.log")); ran != "<none>" || notices != 1 || strings.Contains(strings.Join(r.outputs(), ""), "bad") {
		t.Errorf("it ran: %q; %d notices; %q", ran, notices, r.outputs())
	}
}

// editor is an editor with answers of its own.
type editor struct {
	said  []tool.FileDiagnostics
	err   error
	asked [][]string
}

func (e *editor) Diagnostics(_ context.Context, paths []string) ([]tool.FileDiagnostics, error) {
	e.asked = append(e.asked, paths)
	return e.said, e.err
}

func (e *editor) Navigate(context.Context, tool.Navigation) (tool.Navigated, error) {
	return tool.Navigated{}, tool.ErrNotOffered
}

func TestTheEditorsOwnDiagnostics(t *testing.T) {
	path := func(r *rig) string { return filepath.Join(r.dir, "ws", "a.txt") }
	tests := map[string]struct {
		editor func(*rig) *editor
		want   string
	}{
		"what it says": {func(r *rig) *editor {
			return &editor{said: []tool.FileDiagnostics{
				{Path: path(r), Items: []tool.Diagnostic{{Line: 2, Column: 1, Severity: "hint", Message: "could be\nshorter"}, {Line: 1, Column: 3, Severity: "error", Message: "no", Source: "ls", Code: "E1"}}},
				{Path: path(r), Late: true, Items: []tool.Diagnostic{{Line: 9, Column: 1, Severity: "warning", Message: "old"}}},
			}}
		}, "\n\nthe editor's language servers:\na.txt:1:3: error: no [ls E1]\na.txt:2:1: hint: could be shorter\na.txt:9:1: warning: old (late: of an older text of the file)"},
		"nothing":     {func(*rig) *editor { return &editor{said: []tool.FileDiagnostics{{}}} }, ""},
		"not offered": {func(*rig) *editor { return &editor{err: tool.ErrNotOffered} }, ""},
		"a failure":   {func(*rig) *editor { return &editor{err: errors.New("gone")} }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.checks("true", nil)
			e := tt.editor(r)
			r.svc.opt.Editor = e
			r.model.turns = []turn{{calls: []string{`write_file {"path":"a.txt","content":"x\n"}`, `read_file {"path":"a.txt"}`}}, {text: "done"}}
			r.wait(r.start("x").RunID)
			_, tail, _ := strings.Cut(r.outputs()[0], "1 lines added, 0 removed")
			if tail != tt.want || len(e.asked) != 1 || e.asked[0][0] != path(r) {
				t.Errorf("behind the edit: %q, want %q; asked %v", tail, tt.want, e.asked)
			}
		})
	}
}
