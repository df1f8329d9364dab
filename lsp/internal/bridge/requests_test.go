package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/server"
)

func TestStartPassesWhatTheUserPointedAt(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	var got run.StartParams
	api.start = func(p run.StartParams) (run.Started, error) {
		got = p
		return run.Started{RunID: "r1", SessionID: "s1"}, nil
	}
	a := filepath.Join(f.root(), "a b.go")
	uri := fileURI(a)
	started := mustAsk[StartResult](t, x, "agent/start", `{"prompt":"fix it","agent":"coder","model":"m","mode":"plan","context":[
		{"uri":"`+uri+`"},
		{"uri":"`+uri+`","range":{"start":{"line":2,"character":4},"end":{"line":4,"character":1}}},
		{"uri":"`+uri+`","range":{"start":{"line":2,"character":0},"end":{"line":4,"character":0}}}]}`)
	if started != (StartResult{"r1", "s1"}) {
		t.Errorf("started %+v", started)
	}
	want := []run.ContextFile{{Path: a}, {Path: a, StartLine: 3, EndLine: 5}, {Path: a, StartLine: 3, EndLine: 4}}
	if got.Prompt != "fix it" || got.Agent != "coder" || got.Model != "m" || got.Mode != "plan" || !slices.Equal(got.Context, want) {
		t.Errorf("the service got %+v", got)
	}
}

func TestStartRefusesWhatCannotBeMeant(t *testing.T) {
	f := newFakeHost(t)
	_, x, _ := newTestBridge(t, f)
	for params, want := range map[string]string{
		`{}`:                                 "the prompt is empty",
		`{"prompt":"  "}`:                    "the prompt is empty",
		`{"prompt":"a","mode":"yolo"}`:       `unknown mode "yolo"`,
		`{"prompt":"a","workDoneToken":{}}`:  "workDoneToken",
		`{"prompt":"a","workDoneToken":1.5}`: "workDoneToken",
		`{"prompt":1}`:                       "do not fit",
		`["a"]`:                              "an object",
		`{"prompt":"a","context":[{"uri":"x:1"}]}`: "is no file",
		`{"prompt":"a","folder":"file:///other"}`:  "none of the workspace folders",
	} {
		_, err := ask(t, x, "agent/start", params)
		if codeOf(err) != jsonrpc2.InvalidParams || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, want invalid params: %s", params, err, want)
		}
	}
}

func TestErrorsOfTheirOwn(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	fail := func(err error) { api.start = func(run.StartParams) (run.Started, error) { return run.Started{}, err } }

	fail(&run.CannotStart{Findings: []check.Finding{{Path: "/w/guard.risor", Code: "undefined", Message: `undefined name "ctxx"`}}})
	_, err := ask(t, x, "agent/start", `{"prompt":"a"}`)
	data := dataOf[CannotStartData](t, err)
	if codeOf(err) != -32010 || len(data.Diagnostics) != 1 || data.Diagnostics[0].URI != "file:///w/guard.risor" ||
		!strings.Contains(string(data.Diagnostics[0].Diagnostics[0]), "ctxx") {
		t.Errorf("cannot start: %v %+v", err, data)
	}

	fail(run.ErrSessionBusy)
	api.front.Event(report.Event{RunID: "r7", SessionID: "s7", Seq: 1, Type: report.RunStarted})
	_, err = ask(t, x, "agent/start", `{"prompt":"a","sessionId":"s7"}`)
	if codeOf(err) != -32012 || dataOf[SessionBusyData](t, err) != (SessionBusyData{"s7", "r7"}) {
		t.Errorf("busy: %v", err)
	}

	for method, params := range map[string]string{
		"agent/steer":         `{"runId":"nope","text":"a"}`,
		"agent/cancel":        `{"runId":"nope"}`,
		"agent/undo":          `{"runId":"nope"}`,
		"agent/set":           `{"sessionId":"nope","mode":"plan"}`,
		"agent/fork":          `{"sessionId":"nope"}`,
		"agent/deleteSession": `{"sessionId":"nope"}`,
		"agent/resume":        `{"sessionId":"nope"}`,
		"agent/trust":         `{"id":"nope","digest":"d","trust":true}`,
		"agent/events":        `{"sessionId":"nope"}`,
		"agent/compact":       `{"sessionId":"nope"}`,
		"agent/setHook":       `{"id":"nope","enabled":false}`,
	} {
		_, err := ask(t, x, method, params)
		if codeOf(err) != -32013 || dataOf[UnknownIDData](t, err).ID != "nope" {
			t.Errorf("%s: %v", method, err)
		}
	}
	for _, ours := range []string{"agent/ask", "agent/approve"} { // the server asks them
		if x.Requests[ours] != nil || slices.Contains(ServerMethods(), ours) {
			t.Errorf("%s is offered to clients", ours)
		}
	}
}

func TestNoFolderIsSaid(t *testing.T) {
	f := newFakeHost(t)
	f.folders = nil
	_, x, _ := newTestBridge(t, f)
	_, err := ask(t, x, "agent/start", `{"prompt":"a"}`)
	if codeOf(err) != codeRequestFailed || !strings.Contains(err.Error(), "no workspace folder is open") {
		t.Errorf("start = %v", err)
	}
}

// Each folder has a service; a request goes to the one that it is about.
func TestSeveralFolders(t *testing.T) {
	f := newFakeHost(t)
	second := filepath.Join(f.root(), "inner")
	if err := os.Mkdir(second, 0o755); err != nil {
		t.Fatal(err)
	}
	f.folders = append(f.folders, server.Folder{URI: fileURI(second), Root: second})
	apis := map[string]*fakeAPI{}
	b := newBridge(Options{Open: func(_ context.Context, p OpenParams) (run.API, error) {
		name := filepath.Base(p.Root)
		a := &fakeAPI{root: p.Root}
		a.start = func(run.StartParams) (run.Started, error) {
			return run.Started{RunID: "r-" + name, SessionID: "s-" + name}, nil
		}
		a.steer = func(id, _ string, _ bool) (string, error) {
			if id != "r-"+name {
				return "", run.ErrUnknownID
			}
			return name, nil
		}
		apis[name] = a
		return a, nil
	}}.filled(), f.Host)
	x := b.extension()
	first := filepath.Base(f.root())
	for params, want := range map[string]string{
		`{"prompt":"a"}`: first,
		`{"prompt":"a","folder":"` + fileURI(second) + `"}`:                       "inner",
		`{"prompt":"a","context":[{"uri":"` + fileURI(second) + `/x.go"}]}`:       "inner",
		`{"prompt":"a","context":[{"uri":"` + fileURI(f.root()) + `/inner.go"}]}`: first,
	} {
		if got := mustAsk[StartResult](t, x, "agent/start", params); got.RunID != "r-"+want {
			t.Errorf("%s went to %s, want %s", params, got.RunID, want)
		}
	}
	if got := mustAsk[SteerResult](t, x, "agent/steer", `{"runId":"r-inner","text":"b"}`); got.ID != "inner" {
		t.Errorf("steer went to %s", got.ID)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	for name, a := range apis {
		if !a.closed {
			t.Errorf("the service of %s is still open", name)
		}
	}
	if _, err := ask(t, x, "agent/start", `{"prompt":"a"}`); codeOf(err) != codeRequestFailed {
		t.Errorf("after close: %v", err)
	}
}

func TestListNamesStagesHooksAndModels(t *testing.T) {
	f := newFakeHost(t)
	script := filepath.Join(f.root(), "guard.risor")
	writeFile(t, script, "x := 1\nfunc on_tool_call(ctx) {\n\treturn true\n}\n")
	agent := filepath.Join(f.root(), "agent.toml")
	writeFile(t, agent, "[agent]\nname = \"coder\"\n[stages.plan]\n")
	f.config = &manifest.Config{
		Agents: []manifest.Agent{{
			Name: "coder", Model: "m", Path: agent,
			Stages: []manifest.Stage{{Name: "plan", Tools: []string{"read_file"}, At: check.Span{Start: 23, End: 36}}},
			Hooks: []hooks.Declaration{
				{Event: "on_tool_call", Stage: "plan", Path: script, Declared: hooks.Location{Path: agent, Start: hooks.Position{Line: 3}}},
				{Event: "on_stage_enter", Stage: "other", Path: script},
			},
		}},
		Models: map[string]manifest.Model{"m": {Provider: "rehearsal"}, "a": {Provider: "openai", Model: "gpt"}},
	}
	_, x, _ := newTestBridge(t, f)
	got := mustAsk[ListResult](t, x, "agent/list", ``)
	if len(got.Agents) != 1 || len(got.Models) != 2 || got.Models[0] != (Model{"a", "openai", "gpt"}) {
		t.Fatalf("%+v", got)
	}
	stage := got.Agents[0].Stages[0]
	if stage.Range != (Range{Position{2, 0}, Position{2, 13}}) || len(stage.Hooks) != 1 {
		t.Fatalf("stage %+v", stage)
	}
	hook := stage.Hooks[0]
	if hook.Point != "on_tool_call" || hook.Range != (Range{Position{1, 5}, Position{1, 17}}) || hook.URI != fileURI(script) || hook.Declared.Range.Start.Line != 2 {
		t.Errorf("hook %+v", hook)
	}
}

func TestQueries(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	at := time.Unix(1000, 0)
	d := hooks.Decision{ID: "d1", RunID: "r1", At: at, Event: "on_tool_call", HookID: "h", Action: "deny", Reason: "no"}
	var asked run.DecisionQuery
	api.decided = func(q run.DecisionQuery) ([]hooks.Decision, string, error) {
		asked = q
		return []hooks.Decision{d}, "next", nil
	}
	api.rows = []run.HookStatus{{ID: "h", Event: "on_tool_call", Kind: "stage", Enabled: true, Trust: "notNeeded", LastRun: &d, Counts: run.HookCounts{Fired: 2, Denied: 1},
		Hook: hooks.Source{At: &hooks.Location{Path: "/w/g.risor"}}}}
	var asking []int64
	api.events = func(_ string, after int64, limit int) ([]report.Event, int64, error) {
		asking = append(asking, after, int64(limit))
		return []report.Event{{RunID: "r1", SessionID: "s1", Seq: after + 1, Type: report.FileChanged, Path: "/w/a.go"}}, 9, nil
	}
	got := mustAsk[DecisionsResult](t, x, "agent/decisions", `{"uri":"file:///w/g.risor","event":"on_tool_call","limit":5000}`)
	if len(got.Decisions) != 1 || got.Cursor != "next" || asked.Limit != 1000 || asked.Path != "/w/g.risor" || asked.Event != "on_tool_call" {
		t.Errorf("decisions %+v of %+v", got, asked)
	}
	rows := mustAsk[HooksResult](t, x, "agent/hooks", `{}`)
	if len(rows.Hooks) != 1 || rows.Hooks[0].LastRun.Action != "deny" || rows.Hooks[0].Counts.Denied != 1 || rows.Hooks[0].Hook.URI != "file:///w/g.risor" {
		t.Errorf("hooks %+v", rows)
	}
	events := mustAsk[struct {
		Events  []struct{ URI string }
		LastSeq int64
	}](t, x, "agent/events", `{"sessionId":"s1","afterSeq":4}`)
	if events.LastSeq != 9 || events.Events[0].URI != "file:///w/a.go" || !slices.Equal(asking, []int64{4, 500}) {
		t.Errorf("events %+v, asked %v", events, asking)
	}
	if got := mustAsk[SessionsResult](t, x, "agent/sessions", `{}`); len(got.Sessions) != 1 {
		t.Errorf("sessions %+v", got)
	}
	for method, params := range map[string]string{
		"agent/decisions": `{"limit":-1}`, "agent/events": `{"sessionId":"s1","afterSeq":-1}`, "agent/sessions": `{"limit":-1}`,
		"agent/explain": `{"tool":"shell","arguments":[]}`, "agent/steer": `{"runId":"r1","text":"a","when":"soon"}`,
	} {
		if _, err := ask(t, x, method, params); codeOf(err) != jsonrpc2.InvalidParams {
			t.Errorf("%s %s = %v", method, params, err)
		}
	}
}

func TestResumeOfNothing(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	api.resume = func(string) (run.Resumed, error) { return run.Resumed{Reason: "the last run is done"}, nil }
	raw, err := ask(t, x, "agent/resume", `{"sessionId":"s1"}`)
	if want := `{"runId":null,"reason":"the last run is done","resuming":[],"done":[]}`; err != nil || string(raw) != want {
		t.Errorf("resume = %s, %v", raw, err)
	}
}

func TestProgressUnderTheClientsToken(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	cancelled := make(chan string, 1)
	api.cancel = func(id, _ string) (bool, error) { cancelled <- id; return true, nil }
	mustAsk[StartResult](t, x, "agent/start", `{"prompt":"fix it","workDoneToken": "tok" }`)
	api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 1, Type: report.StageEntered, Stage: "plan"})
	f.wait("$/progress", 2)
	x.ProgressCancelled(`"tok"`)
	if id := <-cancelled; id != "r1" {
		t.Errorf("cancelled %s", id)
	}
	api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 2, Type: report.RunFinished, Status: report.Cancelled, StopReason: report.StopUser})
	var got []string
	for i := range 3 {
		got = append(got, string(f.wait("$/progress", i+1)))
	}
	want := []string{
		`{"token":"tok","value":{"kind":"begin","title":"agent: fix it","cancellable":true}}`,
		`{"token":"tok","value":{"kind":"report","message":"stage plan"}}`,
		`{"token":"tok","value":{"kind":"end","message":"cancelled (user)"}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	x.ProgressCancelled(`"tok"`) // over: nothing to cancel
	if len(cancelled) != 0 {
		t.Error("a finished run was cancelled")
	}
}

// A command shows its run as progress where the client takes one, and its
// result at the end.
func TestCommandRun(t *testing.T) {
	for _, content := range []bool{true, false} {
		f := newFakeHost(t)
		f.caps.WorkDoneProgress, f.caps.ShowDocument, f.caps.TextDocumentContent = true, true, content
		f.answer("window/workDoneProgress/create", nil)
		f.answer("window/showDocument", map[string]bool{"success": true})
		_, x, api := newTestBridge(t, f)
		output := "Fixed."
		api.events = func(_ string, after int64, _ int) ([]report.Event, int64, error) {
			all := []report.Event{
				{RunID: "r1", SessionID: "s1", Seq: 1, Type: report.RunStarted, Prompt: "fix it"},
				{RunID: "r1", SessionID: "s1", Seq: 2, Type: report.Message, Text: "Fixed."},
				{RunID: "r1", SessionID: "s1", Seq: 3, Type: report.RunFinished, Status: report.Done, Output: &output},
			}
			return all[min(after, 3):], 3, nil
		}
		got, err := x.Commands["agent.run"](t.Context(), []json.RawMessage{json.RawMessage(`"fix it"`)})
		if err != nil || got != (StartResult{"r1", "s1"}) {
			t.Fatalf("agent.run = %v, %v", got, err)
		}
		f.wait("$/progress", 1)
		api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 3, Type: report.RunFinished, Status: report.Done, Output: &output})
		f.wait("$/progress", 2)
		shown := decodeJSON[struct {
			URI       string
			TakeFocus bool
		}](t, f.wait("window/showDocument", 1))
		text := ""
		if content {
			if shown.URI != "agent:/sessions/s1/r1.txt" {
				t.Errorf("shown %+v", shown)
			}
			text, err = x.Content(t.Context(), shown.URI)
			if err != nil {
				t.Fatal(err)
			}
		} else {
			text = readFile(t, strings.TrimPrefix(shown.URI, "file://"))
		}
		if !strings.Contains(text, "> fix it") || !strings.Contains(text, "Fixed.") {
			t.Errorf("the result:\n%s", text)
		}
		if len(f.got("window/logMessage")) == 0 {
			t.Error("nothing was logged")
		}
	}
}

func TestCommandsMeanTheNewestRun(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	command := func(name string, args ...string) (any, error) {
		var raw []json.RawMessage
		for _, a := range args {
			raw = append(raw, json.RawMessage(a))
		}
		return x.Commands[name](t.Context(), raw)
	}
	for _, name := range []string{"agent.cancel", "agent.undo", "agent.showDecisions"} {
		if _, err := command(name); codeOf(err) != codeRequestFailed {
			t.Errorf("%s without a run = %v", name, err)
		}
	}
	var calls []string
	api.cancel = func(id, _ string) (bool, error) { calls = append(calls, "cancel "+id); return true, nil }
	api.steer = func(id, text string, _ bool) (string, error) {
		calls = append(calls, "steer "+id+" "+text)
		return "m1", nil
	}
	api.undo = func(id, _ string, _ bool) (run.Undone, error) {
		calls = append(calls, "undo "+id)
		return run.Undone{Edits: []report.Edit{{Path: "/w/a"}}, Conflicts: []string{"/w/b"}}, nil
	}
	api.decided = func(q run.DecisionQuery) ([]hooks.Decision, string, error) {
		calls = append(calls, "decisions "+q.RunID)
		return []hooks.Decision{{Event: "on_tool_call", Action: "deny", Reason: "no\x1b rm"}}, "", nil
	}
	api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 1, Type: report.RunStarted})
	api.front.Event(report.Event{RunID: "r2", SessionID: "s2", Seq: 1, Type: report.RunStarted})
	api.front.Event(report.Event{RunID: "r3", SessionID: "s3", Seq: 1, Type: report.RunStarted, ParentRunID: "r2"})
	for _, c := range [][]string{{"agent.cancel"}, {"agent.cancel", `"r1"`}, {"agent.steer", `"go on"`}, {"agent.steer", `"stop"`, `"r1"`}, {"agent.undo"}, {"agent.showDecisions"}} {
		if _, err := command(c[0], c[1:]...); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
	want := []string{"cancel r2", "cancel r1", "steer r2 go on", "steer r1 stop", "undo r2", "decisions r2"}
	if !slices.Equal(calls, want) {
		t.Errorf("calls = %q, want %q", calls, want)
	}
	if m := string(f.wait("window/showMessage", 1)); !strings.Contains(m, "undone: 1 file") || !strings.Contains(m, "file:///w/b") {
		t.Errorf("message %s", m)
	}
	for name, args := range map[string][]string{
		"agent.run": {}, "agent.steer": {}, "agent.cancel": {`1`}, "agent.pending": {`"a"`}, "agent.undo": {`"a"`, `"b"`},
	} {
		if _, err := command(name, args...); codeOf(err) != jsonrpc2.InvalidParams {
			t.Errorf("%s %v = %v", name, args, err)
		}
	}
}

// A method that the client did not declare is never sent to it.
func TestNothingUndeclaredIsSent(t *testing.T) {
	f := newFakeHost(t)
	f.answer("window/showMessageRequest", nil)
	_, _, api := newTestBridge(t, f)
	api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 1, Type: report.Message, Text: "hello"})
	api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Type: report.TextDelta, Text: "hello"})
	api.front.Decision(hooks.Decision{Event: "on_tool_call", Action: "deny", Reason: "no"})
	if _, err := api.front.Approve(t.Context(), approvalOf("a1", report.AllowOnce)); err != nil {
		t.Fatal(err)
	}
	api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 2, Type: report.RunFinished, Status: report.Failed, Error: "broken"})
	f.wait("window/logMessage", 3)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.sent {
		if strings.HasPrefix(m.method, "agent/") {
			t.Errorf("%s was sent", m.method)
		}
	}
}

// Where a script failed stays underlined until the next run of it, or an edit.
func TestFailedAtRunTime(t *testing.T) {
	f := newFakeHost(t)
	_, _, api := newTestBridge(t, f)
	at := &hooks.Location{Path: "/w/g.risor", Start: hooks.Position{Offset: 10}, End: hooks.Position{Offset: 12}}
	broken := hooks.Decision{RunID: "r1", Hook: hooks.Source{At: at, Digest: "d"}, Action: "error", Error: &hooks.Failure{Message: "division by zero", At: at}}
	fine := hooks.Decision{RunID: "r1", Hook: hooks.Source{At: at, Digest: "d"}, Action: "allow"}
	api.front.Decision(broken)
	api.front.Decision(fine) // the same run: it did fail
	f.mu.Lock()
	got := f.findings["/w/g.risor"]
	f.mu.Unlock()
	if len(got) != 1 || got[0].Code != "failed-at-run-time" || got[0].Span != (check.Span{Start: 10, End: 12}) || got[0].Message != "failed in its last run: division by zero" || got[0].Severity != check.Error {
		t.Fatalf("findings %+v", got)
	}
	fine.RunID = "r2"
	api.front.Decision(fine)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.findings["/w/g.risor"]) != 0 {
		t.Errorf("after a run that did not fail: %+v", f.findings)
	}
}

// A hook that took long in the recorded runs is marked when a run is over.
func TestSlowHook(t *testing.T) {
	f := newFakeHost(t)
	b, _, api := newTestBridge(t, f)
	path, text := filepath.Join(t.TempDir(), "g.risor"), "// slow\nfunc on_tool_call(ctx) { return nil }\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	took := func(us int64) hooks.Decision {
		return hooks.Decision{RunID: "r1", Function: "on_tool_call", Action: "allow", DurationUs: us,
			Hook: hooks.Source{At: &hooks.Location{Path: path}, Digest: hooks.Digest([]byte(text))}}
	}
	us := int64(40_000)
	asked := make(chan run.DecisionQuery, 2)
	api.decided = func(q run.DecisionQuery) ([]hooks.Decision, string, error) {
		asked <- q
		return []hooks.Decision{took(us), took(us), took(us)}, "", nil
	}
	// finish runs to the end and returns what the editor has then.
	finish := func() []check.Finding {
		t.Helper()
		api.front.Decision(took(us))
		api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 1, Type: report.RunFinished, Status: report.Done})
		select {
		case q := <-asked:
			if q.Path != path || !q.Newest || q.Limit != hooks.RecordedDecisions {
				t.Errorf("asked for %+v", q)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the decisions are not looked at")
		}
		b.tasks.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.findings[path]
	}
	got := finish()
	if len(got) != 1 || got[0].Code != check.CodeSlow || text[got[0].Span.Start:got[0].Span.End] != "on_tool_call" {
		t.Fatalf("findings %+v", got)
	}
	us = 100
	if got := finish(); len(got) != 0 {
		t.Errorf("it is fast now: %+v", got)
	}
}

func TestOpenFailureIsSaidAndTriedAgain(t *testing.T) {
	f := newFakeHost(t)
	tries := 0
	b := newBridge(Options{Open: func(context.Context, OpenParams) (run.API, error) {
		if tries++; tries == 1 {
			return nil, errors.New("the journal is of a newer version")
		}
		return &fakeAPI{}, nil
	}}.filled(), f.Host)
	x := b.extension()
	defer x.Close()
	if _, err := ask(t, x, "agent/start", `{"prompt":"a"}`); err == nil || !strings.Contains(err.Error(), "the journal is of a newer version") {
		t.Errorf("start = %v", err)
	}
	mustAsk[StartResult](t, x, "agent/start", `{"prompt":"a"}`)
}
