package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent-ls/hooks/worker"
	"agent-ls/lsp"
	"agent-ls/lsp/internal/bridge"
	"agent-ls/lsp/lsptest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Subcommand {
		worker.Main()
	}
	os.Exit(m.Run())
}

// window is an editor with a workspace and the whole agent behind it: real
// hooks in real workers, a real journal, a rehearsed model.
type window struct {
	*lsptest.Editor
	t     *testing.T
	root  string
	state string
}

// workspace lays out files below a new folder.
func workspace(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const agentTOML = `
[agent]
name  = "coder"
model = "rehearsal"

[models.rehearsal]
provider = "rehearsal"
script   = "rehearsal/run.yaml"

[stages.work]
system = "You fix code."
tools  = ["*"]

[stages.work.hooks]
on_tool_call = "hooks/guard.risor"
`

const guard = `func on_tool_call(ctx) {
	for _, call := range ctx.tool_calls {
		if call.name == "shell" {
			return hook.deny("no shell here")
		}
	}
	return hook.allow()
}
`

const calc = "package calc\n\nfunc Add(a, b int) int {\n\treturn a - b\n}\n\nfunc Sub(a, b int) int {\n\treturn a + b\n}\n"

// fixAdd reads calc.go and edits one line of it.
const fixAdd = `turns:
  - text: "I look."
    tool_calls:
      - { name: read_file, arguments: { path: "calc.go" } }
  - text: "I fix."
    tool_calls:
      - { name: edit, arguments: { path: "calc.go", old_string: "return a - b", new_string: "return a + b" } }
  - text: "Fixed: Add subtracted."
`

func calcWorkspace(t *testing.T, script string) string {
	return workspace(t, map[string]string{
		".agent-ls/agent.toml": agentTOML, ".agent-ls/hooks/guard.risor": guard, ".agent-ls/rehearsal/run.yaml": script,
		"calc.go": calc,
	})
}

func openWindow(t *testing.T, root, state string, capabilities map[string]any) *window {
	t.Helper()
	w := &window{t: t, root: root, state: state}
	w.Editor = lsptest.Start(t, func(ctx context.Context, stream io.ReadWriteCloser) error {
		return lsp.Serve(ctx, stream, lsp.Deps{
			UserConfig: filepath.Join(state, "config.toml"), OrgPolicy: filepath.Join(state, "policy.toml"),
			StateDir: state, CacheDir: filepath.Join(state, "cache"),
			Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + state},
		})
	})
	w.Initialize(capabilities, lsptest.Folder(bridge.FileURI(root)))
	t.Cleanup(w.checkSchema)
	return w
}

// checkSchema holds everything that the editor was sent against the schema.
func (w *window) checkSchema() {
	for _, method := range []string{"agent/event", "agent/hookDecision", "agent/approve", "agent/approvalResolved", "agent/save"} {
		for _, m := range w.Messages(method) {
			bridge.CheckAgainst(w.t, method, "params", m.Params)
		}
	}
}

// ask calls a method and holds its answer against the schema.
func ask[T any](w *window, method string, params any) T {
	w.t.Helper()
	var raw json.RawMessage
	w.Must(method, params, &raw)
	bridge.CheckAgainst(w.t, method, "result", raw)
	return decode[T](w.t, raw)
}

func decode[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return out
}

func (w *window) path(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }
func (w *window) uri(name string) string  { return bridge.FileURI(w.path(name)) }

func (w *window) disk(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// event is what tests look at of an Event.
type event struct {
	RunID, SessionID, Type, Stage, Text, URI, Diff, Outcome, Status, StopReason, By, ID, Error, Output string
	Seq                                                                                                int
}

// finished waits for the end of a run.
func (w *window) finished(runID string) event {
	w.t.Helper()
	var end event
	w.Await("agent/event", func(raw json.RawMessage) bool {
		end = decode[event](w.t, raw)
		return end.Type == "run_finished" && end.RunID == runID
	})
	return end
}

func (w *window) start(prompt string) bridge.StartResult {
	w.t.Helper()
	return ask[bridge.StartResult](w, "agent/start", map[string]any{"prompt": prompt})
}

// approveWith answers every approval.
func (w *window) approveWith(answer map[string]any) {
	w.On("agent/approve", func(json.RawMessage) (any, error) { return answer, nil })
}

// saving makes the editor save on request.
func (w *window) saving() {
	w.On("agent/save", func(raw json.RawMessage) (any, error) {
		p := decode[bridge.SaveParams](w.t, raw)
		for _, uri := range p.URIs {
			path := strings.TrimPrefix(uri, "file://")
			if err := os.WriteFile(path, []byte(w.Document(uri).Text), 0o644); err != nil {
				return nil, err
			}
			w.Notify("textDocument/didSave", lsptest.At(uri))
		}
		return bridge.SaveResult{Saved: p.URIs}, nil
	})
}

var everything = []string{"approvals", "events", "decisions", "save"}

// The whole of it in an editor that can everything: what the agent reads,
// what hooks decide, the approval with its diff, the edit in the open
// document, and the way back.
func TestRunInAnEditorOfOurs(t *testing.T) {
	w := openWindow(t, calcWorkspace(t, fixAdd), t.TempDir(), bridge.AgentFlags(everything...))
	w.saving()
	w.approveWith(map[string]any{"outcome": "allowOnce"})
	w.Open(w.uri("calc.go"), "go", calc)

	listed := ask[bridge.ListResult](w, "agent/list", nil)
	if len(listed.Agents) != 1 || listed.Agents[0].Name != "coder" || len(listed.Agents[0].Stages) != 1 ||
		len(listed.Agents[0].Stages[0].Hooks) != 1 || len(listed.Models) == 0 {
		t.Errorf("agent/list = %+v", listed)
	}

	started := ask[bridge.StartResult](w, "agent/start", map[string]any{"prompt": "Add is wrong", "workDoneToken": 7,
		"context": []any{map[string]any{"uri": w.uri("calc.go")}}})
	end := w.finished(started.RunID)
	if end.Status != "done" || !strings.Contains(end.Output, "Fixed: Add subtracted.") {
		t.Fatalf("the run ended with %+v", end)
	}
	want := strings.Replace(calc, "a - b", "a + b", 1)
	if doc, disk := w.Document(w.uri("calc.go")).Text, w.disk("calc.go"); doc != want || disk != want {
		t.Errorf("document %q, disk %q", doc, disk)
	}
	w.Await("$/progress", func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"end"`) })

	ap := decode[bridge.Approval](t, w.Messages("agent/approve")[0].Params)
	if ap.Tool != "edit" || len(ap.Edits) != 1 || ap.Edits[0].URI != w.uri("calc.go") || !strings.Contains(ap.Edits[0].Diff, "+\treturn a + b") ||
		len(ap.Edits[0].Hunks) != 1 || len(ap.Why) == 0 || len(ap.Hooks) != 1 || ap.Digest == "" || ap.Risk != "write" {
		t.Errorf("the approval was %+v", ap)
	}
	resolved := decode[bridge.ApprovalResolved](t, w.Await("agent/approvalResolved", func(json.RawMessage) bool { return true }).Params)
	if resolved.ID != ap.ID || resolved.Outcome != "allowOnce" || resolved.By != "here" {
		t.Errorf("resolved %+v", resolved)
	}
	decision := decode[bridge.Decision](t, w.Messages("agent/hookDecision")[0].Params)
	if decision.Action != "allow" || decision.Hook.URI != w.uri(".agent-ls/hooks/guard.risor") || decision.Hook.Range.Start.Line != 6 {
		t.Errorf("the first decision was %+v %+v", decision, decision.Hook)
	}
	w.checkHistory(started, decision)
	w.checkUndo(started)
}

// checkHistory holds what can be asked for later against what was told.
func (w *window) checkHistory(started bridge.StartResult, first bridge.Decision) {
	t := w.t
	t.Helper()
	var told []int
	for _, m := range w.Messages("agent/event") {
		if e := decode[event](t, m.Params); e.Seq != 0 {
			told = append(told, e.Seq)
		}
	}
	got := ask[struct {
		Events  []event
		LastSeq int
	}](w, "agent/events", map[string]any{"sessionId": started.SessionID})
	if !slices.IsSorted(told) || len(told) != len(got.Events) || got.LastSeq != len(told) {
		t.Errorf("told %v, agent/events has %d up to %d", told, len(got.Events), got.LastSeq)
	}
	for i, e := range got.Events {
		if e.Seq != i+1 {
			t.Errorf("event %d has seq %d", i, e.Seq)
		}
		if e.Type == "file_changed" && e.URI != w.uri("calc.go") {
			t.Errorf("file_changed is of %q", e.URI)
		}
	}
	later := ask[struct{ Events []event }](w, "agent/events", map[string]any{"sessionId": started.SessionID, "afterSeq": 3, "limit": 2})
	if len(later.Events) != 2 || later.Events[0].Seq != 4 {
		t.Errorf("events after 3: %+v", later.Events)
	}
	decided := ask[bridge.DecisionsResult](w, "agent/decisions", map[string]any{"uri": w.uri(".agent-ls/hooks/guard.risor"), "runId": started.RunID})
	if len(decided.Decisions) != 2 || decided.Decisions[0].ID != first.ID {
		t.Errorf("agent/decisions = %+v", decided.Decisions)
	}
	hooks := ask[bridge.HooksResult](w, "agent/hooks", nil)
	if len(hooks.Hooks) != 1 || hooks.Hooks[0].ID != first.HookID || hooks.Hooks[0].Counts.Fired != 2 || hooks.Hooks[0].LastRun == nil {
		t.Errorf("agent/hooks = %+v", hooks.Hooks)
	}
	sessions := ask[bridge.SessionsResult](w, "agent/sessions", nil)
	if len(sessions.Sessions) != 1 || sessions.Sessions[0].SessionID != started.SessionID || sessions.Sessions[0].Status != "done" {
		t.Errorf("agent/sessions = %+v", sessions.Sessions)
	}
	if pending := ask[bridge.PendingResult](w, "agent/pending", nil); len(pending.Approvals) != 0 {
		t.Errorf("agent/pending = %+v", pending)
	}
	resumed := ask[bridge.ResumeResult](w, "agent/resume", map[string]any{"sessionId": started.SessionID})
	if resumed.RunID != nil || resumed.Reason == "" {
		t.Errorf("agent/resume of a finished run = %+v", resumed)
	}
}

func (w *window) checkUndo(started bridge.StartResult) {
	t := w.t
	t.Helper()
	dry := ask[bridge.UndoResult](w, "agent/undo", map[string]any{"runId": started.RunID, "dryRun": true})
	if len(dry.Edits) != 1 || dry.Edits[0].URI != w.uri("calc.go") || !strings.Contains(dry.Edits[0].Diff, "+\treturn a - b") || w.disk("calc.go") == calc {
		t.Errorf("a dry undo = %+v", dry)
	}
	ask[bridge.UndoResult](w, "agent/undo", map[string]any{"runId": started.RunID})
	if doc, disk := w.Document(w.uri("calc.go")).Text, w.disk("calc.go"); doc != calc || disk != calc {
		t.Errorf("after undo: document %q, disk %q", doc, disk)
	}
}

// An editor that declares nothing: commands, a message box, a document.
func TestRunInAPlainEditor(t *testing.T) {
	w := openWindow(t, calcWorkspace(t, fixAdd), t.TempDir(), map[string]any{
		"window": map[string]any{"workDoneProgress": true, "showDocument": map[string]any{"support": true}},
	})
	w.On("window/showMessageRequest", func(json.RawMessage) (any, error) { return map[string]any{"title": "Allow once"}, nil })
	w.On("window/showDocument", func(json.RawMessage) (any, error) { return map[string]any{"success": true}, nil })
	var started bridge.StartResult
	w.Must("workspace/executeCommand", map[string]any{"command": "agent.run", "arguments": []any{"Add is wrong"}}, &started)
	w.Await("$/progress", func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"end"`) })
	box := decode[struct{ Message string }](t, w.Messages("window/showMessageRequest")[0].Params)
	for _, want := range []string{"Tool: edit", "+\treturn a + b", "Asked by: ", "Hook on_tool_call: allow"} {
		if !strings.Contains(box.Message, want) {
			t.Errorf("the message box does not say %q:\n%s", want, box.Message)
		}
	}
	if got := w.disk("calc.go"); !strings.Contains(got, "func Add(a, b int) int {\n\treturn a + b") {
		t.Errorf("calc.go is %q", got)
	}
	shown := decode[struct{ URI string }](t, w.Await("window/showDocument", func(json.RawMessage) bool { return true }).Params)
	result, err := os.ReadFile(strings.TrimPrefix(shown.URI, "file://"))
	if err != nil || !strings.Contains(string(result), "Fixed: Add subtracted.") || !strings.HasPrefix(shown.URI, bridge.FileURI(w.state)) {
		t.Errorf("shown %s: %q, %v", shown.URI, result, err)
	}
	var decisions struct{ URI string }
	w.Must("workspace/executeCommand", map[string]any{"command": "agent.showDecisions"}, &decisions)
	if text, err := os.ReadFile(decisions.URI); err != nil || !strings.Contains(string(text), "guard.risor:7:") {
		t.Errorf("decisions in %s: %q, %v", decisions.URI, text, err)
	}
	w.Must("workspace/executeCommand", map[string]any{"command": "agent.undo"}, nil)
	if got := w.disk("calc.go"); got != calc {
		t.Errorf("after undo calc.go is %q", got)
	}
	for _, m := range w.Messages("") {
		t.Errorf("a stray answer: %s", m.Params)
	}
}

// An editor that cannot be asked at all: a denial with its reason, no hang,
// and the bytes as they were.
func TestRunInAnEditorThatCannotBeAsked(t *testing.T) {
	w := openWindow(t, calcWorkspace(t, fixAdd), t.TempDir(), bridge.AgentFlags("events"))
	started := w.start("Add is wrong")
	if end := w.finished(started.RunID); end.Status != "done" {
		t.Errorf("the run ended with %+v", end)
	}
	if got := w.disk("calc.go"); got != calc {
		t.Errorf("calc.go is %q", got)
	}
	denied := w.Await("agent/event", func(raw json.RawMessage) bool {
		e := decode[event](t, raw)
		return e.Type == "tool_finished" && e.Outcome == "denied"
	})
	if e := decode[event](t, denied.Params); !strings.Contains(e.Output, "no approver") {
		t.Errorf("the model was told %q", e.Output)
	}
}

func TestRefusedEditLeavesEverythingAsItWas(t *testing.T) {
	w := openWindow(t, calcWorkspace(t, fixAdd), t.TempDir(), bridge.AgentFlags(everything...))
	w.saving()
	w.approveWith(map[string]any{"outcome": "deny", "feedback": "not like that"})
	w.Open(w.uri("calc.go"), "go", calc)
	w.finished(w.start("Add is wrong").RunID)
	if doc, disk := w.Document(w.uri("calc.go")).Text, w.disk("calc.go"); doc != calc || disk != calc {
		t.Errorf("document %q, disk %q", doc, disk)
	}
	if d := w.Document(w.uri("calc.go")); d.Version != 1 {
		t.Errorf("the document was touched: version %d", d.Version)
	}
	w.Await("agent/event", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "not like that") })
}

func TestOneHunkOfTwo(t *testing.T) {
	script := `turns:
  - tool_calls:
      - { name: read_file, arguments: { path: "calc.go" } }
  - tool_calls:
      - { name: write_file, arguments: { path: "calc.go", content: "package calc\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n\nfunc Sub(a, b int) int {\n\treturn a - b\n}\n" } }
  - text: "Done."
`
	w := openWindow(t, calcWorkspace(t, script), t.TempDir(), bridge.AgentFlags(everything...))
	w.approveWith(map[string]any{"outcome": "allowOnce", "hunks": []int{2}})
	w.finished(w.start("fix both").RunID)
	want := strings.Replace(calc, "return a + b", "return a - b", 1) // Sub only
	if got := w.disk("calc.go"); got != want {
		t.Errorf("calc.go is %q, want %q", got, want)
	}
}

func TestEditedArguments(t *testing.T) {
	w := openWindow(t, calcWorkspace(t, fixAdd), t.TempDir(), bridge.AgentFlags(everything...))
	asked := 0
	w.On("agent/approve", func(raw json.RawMessage) (any, error) {
		if asked++; asked > 1 { // its digest is another one: it is asked about again
			return map[string]any{"outcome": "allowOnce"}, nil
		}
		return map[string]any{"outcome": "allowOnce", "arguments": map[string]any{
			"path": "calc.go", "old_string": "return a - b", "new_string": "return b + a"}}, nil
	})
	w.finished(w.start("Add is wrong").RunID)
	if got := w.disk("calc.go"); !strings.Contains(got, "return b + a") {
		t.Errorf("calc.go is %q after %d approvals", got, asked)
	}
}

// What the agent reads is what the user sees; an unsaved document is edited
// and stays unsaved.
func TestUnsavedDocument(t *testing.T) {
	w := openWindow(t, calcWorkspace(t, fixAdd), t.TempDir(), bridge.AgentFlags(everything...))
	w.saving()
	w.approveWith(map[string]any{"outcome": "allowOnce"})
	w.Open(w.uri("calc.go"), "go", calc)
	w.Replace(w.uri("calc.go"), "package calc\n", "// Package calc counts 😀.\npackage calc\n")
	w.finished(w.start("Add is wrong").RunID)
	doc := w.Document(w.uri("calc.go")).Text
	if !strings.HasPrefix(doc, "// Package calc counts 😀.\n") || !strings.Contains(doc, "func Add(a, b int) int {\n\treturn a + b") {
		t.Errorf("document %q", doc)
	}
	if got := w.disk("calc.go"); got != calc {
		t.Errorf("disk %q: it was saved, with what the user had not", got)
	}
	if n := len(w.Messages("agent/save")); n != 0 {
		t.Errorf("%d saves", n)
	}
	w.Await("agent/event", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "counts 😀") })
}

func TestHookThatCannotRunIsUnderlined(t *testing.T) {
	root := calcWorkspace(t, fixAdd)
	if err := os.WriteFile(filepath.Join(root, ".agent-ls", "hooks", "guard.risor"), []byte("func on_tool_call(ctx) {\n\treturn hook.alow()\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := openWindow(t, root, t.TempDir(), bridge.AgentFlags(everything...))
	err := w.Call("agent/start", map[string]any{"prompt": "Add is wrong"}, nil)
	var wire *lsptest.Error
	if !errors.As(err, &wire) || wire.Code != -32010 {
		t.Fatalf("start = %v", err)
	}
	data := decode[struct {
		Diagnostics []struct {
			URI         string
			Diagnostics []lsptest.Diagnostic
		}
	}](t, wire.Data)
	if len(data.Diagnostics) == 0 || data.Diagnostics[0].URI != w.uri(".agent-ls/hooks/guard.risor") || len(data.Diagnostics[0].Diagnostics) == 0 ||
		data.Diagnostics[0].Diagnostics[0].Range.Start.Line != 1 {
		t.Errorf("data = %s", wire.Data)
	}
}

// A hook that breaks ends the run, the call does not run, and the script is
// underlined where it broke until it is edited.
func TestHookThatBreaksIsUnderlinedUntilTheEdit(t *testing.T) {
	root := calcWorkspace(t, fixAdd)
	broken := "func on_tool_call(ctx) {\n\tn := len(ctx.tool_calls) - 1\n\tif 1 / n > 0 {\n\t\treturn true\n\t}\n\treturn true\n}\n"
	if err := os.WriteFile(filepath.Join(root, ".agent-ls", "hooks", "guard.risor"), []byte(broken), 0o644); err != nil {
		t.Fatal(err)
	}
	w := openWindow(t, root, t.TempDir(), bridge.AgentFlags(everything...))
	uri := w.uri(".agent-ls/hooks/guard.risor")
	w.Open(uri, "risor", broken)
	end := w.finished(w.start("Add is wrong").RunID)
	if end.Status != "failed" || end.StopReason != "hook" || !strings.Contains(end.Error, "guard.risor:3:") {
		t.Errorf("the run ended with %+v", end)
	}
	decision := decode[bridge.Decision](t, w.Await("agent/hookDecision", func(json.RawMessage) bool { return true }).Params)
	if decision.Action != "error" || decision.Error == nil || decision.Error.Range == nil || decision.Error.Range.Start.Line != 2 {
		t.Errorf("the decision was %+v", decision)
	}
	shown := w.AwaitDiagnostics(uri, func(p lsptest.Published) bool {
		return slices.Contains(lsptest.Codes(p.Diagnostics), "failed-at-run-time")
	})
	for _, d := range shown {
		if d.Code == "failed-at-run-time" && d.Range.Start.Line != 2 {
			t.Errorf("it is underlined at %+v", d.Range)
		}
	}
	w.Replace(uri, "1 / n", "1 / (n + 1)")
	w.AwaitDiagnostics(uri, func(p lsptest.Published) bool {
		return p.Version != nil && *p.Version == 2 && !slices.Contains(lsptest.Codes(p.Diagnostics), "failed-at-run-time")
	})
}

func TestExplain(t *testing.T) {
	w := openWindow(t, calcWorkspace(t, fixAdd), t.TempDir(), bridge.AgentFlags())
	got := ask[bridge.ExplainResult](w, "agent/explain", map[string]any{"tool": "shell", "arguments": map[string]any{"command": "ls"}})
	if got.Outcome != "deny" || !slices.ContainsFunc(got.Steps, func(s bridge.Step) bool {
		return s.Layer == "hook" && s.Outcome == "deny" && strings.Contains(s.Because, "no shell here")
	}) {
		t.Errorf("explain = %+v", got)
	}
	if got := ask[bridge.ExplainResult](w, "agent/explain", map[string]any{"tool": "read_file", "arguments": map[string]any{"path": "calc.go"}}); got.Outcome != "allow" {
		t.Errorf("explain = %+v", got)
	}
}

func TestSteer(t *testing.T) {
	w := openWindow(t, calcWorkspace(t, fixAdd+"  - expect: \"and Sub\"\n    text: \"Sub is fine.\"\n"), t.TempDir(), bridge.AgentFlags(everything...))
	started, ap := w.openApproval()
	if got := ask[bridge.SteerResult](w, "agent/steer", map[string]any{"runId": started.RunID, "text": "and Sub?", "when": "followUp"}); got.ID == "" {
		t.Error("no id")
	}
	ask[bridge.OK](w, "agent/resolve", map[string]any{"id": ap.ID, "outcome": "allowOnce"})
	if end := w.finished(started.RunID); end.Status != "done" || !strings.Contains(end.Output, "Sub is fine.") {
		t.Errorf("the run ended with %+v", end)
	}
	if code := lsptest.Code(w.Call("agent/steer", map[string]any{"runId": started.RunID, "text": "more"}, nil)); code != -32013 {
		t.Errorf("steering a finished run = %d", code)
	}
}

// Nothing that an editor did not declare is sent to it, flag by flag.
func TestFlagByFlag(t *testing.T) {
	methods := map[string]string{
		"approvals": "agent/approve", "events": "agent/event", "decisions": "agent/hookDecision", "save": "agent/save",
	}
	for flag := range maps.Keys(methods) {
		t.Run(flag, func(t *testing.T) {
			w := openWindow(t, calcWorkspace(t, fixAdd), t.TempDir(), bridge.AgentFlags(flag))
			w.saving()
			w.approveWith(map[string]any{"outcome": "allowOnce"})
			w.On("window/showMessageRequest", func(json.RawMessage) (any, error) { return map[string]any{"title": "Allow once"}, nil })
			w.On("window/showDocument", func(json.RawMessage) (any, error) { return map[string]any{"success": true}, nil })
			w.Open(w.uri("calc.go"), "go", calc)
			w.Must("agent/start", map[string]any{"prompt": "Add is wrong", "workDoneToken": "t"}, nil)
			w.Await("$/progress", func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"end"`) })
			for other, method := range methods {
				if n := len(w.Messages(method)); (n > 0) != (other == flag) {
					t.Errorf("with %s alone %s was sent %d times", flag, method, n)
				}
			}
			if flag == "approvals" && len(w.Messages("window/showMessageRequest")) != 0 {
				t.Error("it was asked twice")
			}
			if got := w.disk("calc.go"); !strings.Contains(got, "func Add(a, b int) int {\n\treturn a + b") {
				t.Errorf("calc.go is %q", got)
			}
		})
	}
}
