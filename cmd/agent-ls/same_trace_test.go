package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"

	"agent-ls/hooks"
	"agent-ls/loop/report"
	"agent-ls/lsp/lsptest"
)

// traceWorkspace has hooks that allow, modify and deny, of a stage, of calls
// and of results, and a call that a person must allow.
const traceWorkspace = `
-- .agent-ls/agent.toml --
[agent]
name = "coder"
model = "played"

[models.played]
provider = "rehearsal"
script = "played.yaml"

[policy]
ask = ["edit"]

[hooks]
"tool:gate" = ["hooks/gate.risor"]
"tool:transform" = ["hooks/first.risor", "hooks/second.risor"]
"tool:after" = "hooks/first.risor"

[stages.work]
system = "Work."
tools = ["*"]

[stages.work.regions]
notes = { kind = "pinned", max_tokens = 500 }

[stages.work.hooks]
on_stage_enter = "hooks/stage.risor"
before_inference = "hooks/stage.risor"
after_inference = "hooks/stage.risor"
on_tool_call = "hooks/stage.risor"
on_stage_exit = "hooks/stage.risor"
on_completion = "hooks/stage.risor"
-- .agent-ls/hooks/stage.risor --
func on_stage_enter(ctx) {
    return hook.modify({notes: "Look first."})
}

func before_inference(ctx) {
    return hook.allow()
}

func after_inference(ctx) {
    return hook.modify(ctx.response + " (turn " + string(ctx.turn) + ")")
}

func on_tool_call(ctx) {
    for _, call := range ctx.tool_calls {
        if call.name == "read_file" && call.arguments.path == "secret.txt" {
            return {action: "deny", reason: "that file is not for you", calls: [call.id]}
        }
    }
    return nil
}

func on_stage_exit(ctx) {
    return nil
}

func on_completion(ctx) {
    return hook.modify(ctx.output + " Bye.")
}
-- .agent-ls/hooks/gate.risor --
func tool_gate(ctx) {
    if ctx.name == "glob" {
        return hook.substitute("nothing is there")
    }
    return hook.allow()
}
-- .agent-ls/hooks/first.risor --
func tool_transform(ctx) {
    return hook.modify({result: ctx.result + " first"})
}

func tool_after(ctx) {
    return nil
}
-- .agent-ls/hooks/second.risor --
func tool_transform(ctx) {
    return hook.modify({result: ctx.result + " second"})
}
-- .agent-ls/played.yaml --
turns:
  - text: "I look."
    tool_calls:
      - { name: read_file, arguments: { path: "a.txt" } }
      - { name: read_file, arguments: { path: "secret.txt" } }
      - { name: glob, arguments: { pattern: "*.txt" } }
  - text: "I change it."
    tool_calls:
      - { name: edit, arguments: { path: "a.txt", old_string: "one", new_string: "two" } }
  - text: "Changed."
-- a.txt --
one
-- secret.txt --
s3cret
`

// The same prompt and the same answers of model and person make the hooks
// decide the same, whoever shows the run: a terminal, an editor that knows our
// part of the protocol, or one that does not.
func TestTheSameTraceInEveryFrontEnd(t *testing.T) {
	traces := map[string]string{}
	for name, play := range map[string]func(t *testing.T, dir string){
		"agent-ls run": playRun, "our editor": playOurs, "a plain editor": playPlain,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeTraceWorkspace(t, filepath.Join(dir, "calc"))
			play(t, dir)
			if text, err := os.ReadFile(filepath.Join(dir, "calc", "a.txt")); err != nil || string(text) != "two\n" {
				t.Errorf("a.txt is %q, %v", text, err)
			}
			s, ok := recordedSession(t, dir)
			if !ok {
				t.Fatal("no session is on record")
			}
			traces[name] = traceOf(t, dir, s)
		})
	}
	want := traces["agent-ls run"]
	for _, says := range []string{
		"on_stage_enter .agent-ls/hooks/stage.risor:2:", "on_tool_call .agent-ls/hooks/stage.risor:16:", `deny "that file is not for you"`,
		"tool:gate .agent-ls/hooks/gate.risor:3:", "substitute", "tool:transform .agent-ls/hooks/second.risor:2:", " first second", "on_completion", "Changed. (turn 3) Bye.",
	} {
		if !strings.Contains(want, says) {
			t.Errorf("the trace lacks %q", says)
		}
	}
	for name, got := range traces {
		if got != want {
			t.Errorf("%s has the trace\n%s\nwant\n%s", name, got, want)
		}
	}
	if t.Failed() {
		t.Logf("agent-ls run has the trace\n%s", want)
	}
}

func writeTraceWorkspace(t *testing.T, root string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(traceWorkspace)).Files {
		path := filepath.Join(root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const tracePrompt = "change a.txt"

// playRun has nobody who could be asked: the mode allows what a person allows
// in the editors.
func playRun(t *testing.T, dir string) {
	program(t, dir, "run", "--mode", "auto", tracePrompt)
}

func playOurs(t *testing.T, dir string) {
	editor := traceEditor(t, dir, map[string]any{"experimental": map[string]any{"agent": map[string]any{
		"version": 1, "approvals": true, "events": true, "decisions": true,
	}}})
	var asked atomic.Int32
	editor.On("agent/approve", func(json.RawMessage) (any, error) {
		asked.Add(1)
		return map[string]any{"outcome": "allowOnce"}, nil
	})
	editor.Must("agent/start", map[string]any{"prompt": tracePrompt}, nil)
	editor.Await("agent/event", func(raw json.RawMessage) bool {
		var e report.Event
		return json.Unmarshal(raw, &e) == nil && e.Type == report.RunFinished
	})
	quit(t, editor)
	if n := asked.Load(); n != 1 {
		t.Errorf("%d approvals were asked, want 1", n)
	}
}

func playPlain(t *testing.T, dir string) {
	editor := traceEditor(t, dir, map[string]any{"window": map[string]any{"workDoneProgress": true}})
	var asked atomic.Int32
	editor.On("window/showMessageRequest", func(json.RawMessage) (any, error) {
		asked.Add(1)
		return map[string]any{"title": "Allow once"}, nil
	})
	editor.Must("workspace/executeCommand", map[string]any{"command": "agent.run", "arguments": []any{tracePrompt}}, nil)
	editor.Await("$/progress", func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"end"`) })
	quit(t, editor)
	if n := asked.Load(); n != 1 {
		t.Errorf("%d approvals were asked, want 1", n)
	}
	if n := len(editor.Messages("agent/event")); n > 0 {
		t.Errorf("an editor that asked for no events was sent %d", n)
	}
}

// traceEditor starts the program as a server of the workspace in dir.
func traceEditor(t *testing.T, dir string, capabilities map[string]any) *lsptest.Editor {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--stdio")
	cmd.Env = append(crashEnv(dir), programVariable+"=1")
	cmd.Stderr = os.Stderr
	editor := lsptest.Command(t, cmd)
	editor.Initialize(capabilities, lsptest.Folder((&url.URL{Scheme: "file", Path: filepath.Join(dir, "calc")}).String()))
	return editor
}

func quit(t *testing.T, editor *lsptest.Editor) {
	t.Helper()
	if err := editor.Quit(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// traceOf is a session without its ids, times and places on the disk, and
// without the asking itself: the types of its events, and its decisions.
func traceOf(t *testing.T, dir string, s shown) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(filepath.Join(dir, "calc"))
	if err != nil {
		t.Fatal(err)
	}
	var calls []string // in the order in which they are named
	var b strings.Builder
	for _, e := range s.Events {
		if e.Type == report.ApprovalRequested {
			continue
		}
		if e.CallID != "" && !slices.Contains(calls, e.CallID) {
			calls = append(calls, e.CallID)
		}
		fmt.Fprintf(&b, "%s %s %d call %d %s\n", e.Type, e.Stage, e.Turn, slices.Index(calls, e.CallID), e.Outcome)
	}
	end := s.Events[len(s.Events)-1]
	if end.Output == nil {
		t.Fatalf("the session ends with %+v", end)
	}
	fmt.Fprintf(&b, "%s %s: %s\n", end.Status, end.StopReason, *end.Output)
	var places []string // ids become their place among the calls
	for i, id := range calls {
		places = append(places, id, fmt.Sprint("CALL", i))
	}
	for _, d := range s.Decisions {
		changes, err := json.Marshal(d.Changes)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %s call %d %s %q %s\n", d.Event, decidedAt(root, d), d.HookID, slices.Index(calls, d.CallID), d.Action, d.Reason,
			strings.NewReplacer(places...).Replace(string(changes)))
	}
	return b.String()
}

func decidedAt(root string, d hooks.Decision) string {
	if d.Hook.At == nil {
		return "nowhere"
	}
	path, err := filepath.Rel(root, d.Hook.At.Path)
	if err != nil {
		path = d.Hook.At.Path
	}
	return fmt.Sprintf("%s:%d:%d", filepath.ToSlash(path), d.Hook.At.Start.Line, d.Hook.At.Start.Column)
}
