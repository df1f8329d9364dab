package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"

	"agent-ls/hooks"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/server"
)

// Only what was offered counts; everything else is a denial.
func TestAnswersThatCannotBeHonouredAreDenials(t *testing.T) {
	shell := approvalOf("a1", report.AllowOnce, report.DenyOnce)
	edit := approvalOf("a1", report.AllowOnce, report.DenyOnce)
	edit.Command, edit.Edits = nil, []report.Edit{{Path: "/w/a", Hunks: []report.Hunk{{N: 1}, {N: 2}}}}
	for _, test := range []struct {
		name, answer string
		ap           report.Approval
		outcome      report.ApprovalOutcome
		by           string
	}{
		{"allowed", `{"outcome":"allowOnce"}`, shell, report.AllowOnce, "here"},
		{"denied", `{"outcome":"deny","feedback":"no"}`, shell, report.DenyOnce, "here"},
		{"not offered", `{"outcome":"allowAlways"}`, shell, report.DenyOnce, "malformed"},
		{"unknown", `{"outcome":"yes"}`, shell, report.DenyOnce, "malformed"},
		{"no outcome", `{}`, shell, report.DenyOnce, "malformed"},
		{"null", `null`, shell, report.DenyOnce, "dismissed"},
		{"a string", `"allowOnce"`, shell, report.DenyOnce, "malformed"},
		{"a list", `["allowOnce"]`, shell, report.DenyOnce, "malformed"},
		{"true", `true`, shell, report.DenyOnce, "malformed"},
		{"a number for an outcome", `{"outcome":1}`, shell, report.DenyOnce, "malformed"},
		{"arguments", `{"outcome":"allowOnce","arguments":{"command":"ls"}}`, shell, report.AllowOnce, "here"},
		{"arguments that are a list", `{"outcome":"allowOnce","arguments":[]}`, shell, report.DenyOnce, "malformed"},
		{"hunks of no edit", `{"outcome":"allowOnce","hunks":[1]}`, shell, report.DenyOnce, "malformed"},
		{"hunks", `{"outcome":"allowOnce","hunks":[2]}`, edit, report.AllowOnce, "here"},
		{"a hunk that is not there", `{"outcome":"allowOnce","hunks":[3]}`, edit, report.DenyOnce, "malformed"},
		{"a hunk twice", `{"outcome":"allowOnce","hunks":[1,1]}`, edit, report.DenyOnce, "malformed"},
		{"no hunk", `{"outcome":"allowOnce","hunks":[]}`, edit, report.DenyOnce, "malformed"},
		{"hunks and arguments", `{"outcome":"allowOnce","hunks":[1],"arguments":{}}`, edit, report.DenyOnce, "malformed"},
		{"hunks of a denial", `{"outcome":"deny","hunks":[9]}`, edit, report.DenyOnce, "here"},
	} {
		got := validAnswer(json.RawMessage(test.answer), test.ap)
		if got.Outcome != test.outcome || got.By != test.by {
			t.Errorf("%s: %s = %s by %s, want %s by %s", test.name, test.answer, got.Outcome, got.By, test.outcome, test.by)
		}
		if test.by == "malformed" && got.Feedback == "" {
			t.Errorf("%s: %s is denied without a reason", test.name, test.answer)
		}
	}
	if got := validAnswer(json.RawMessage(`{"outcome":"allowOnce","hunks":[2]}`), edit); len(got.Hunks) != 1 || got.Hunks[0] != 2 {
		t.Errorf("the hunks were lost: %v", got.Hunks)
	}
	if got := validAnswer(json.RawMessage(`{"outcome":"allowOnce","arguments":{"command":"ls"}}`), shell); string(got.Arguments) != `{"command":"ls"}` {
		t.Errorf("the arguments were lost: %s", got.Arguments)
	}
}

func TestApproveAsksTheEditorAndTellsEverySurface(t *testing.T) {
	f := newFakeHost(t)
	f.caps.Agent = server.AgentCapabilities{Approvals: true, Events: true}
	f.answer(methodApprove, map[string]any{"outcome": "allowSession", "feedback": "fine"})
	_, _, api := newTestBridge(t, f)
	api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 1, Type: report.ApprovalRequested, ID: "a1"})
	got, err := api.front.Approve(t.Context(), approvalOf("a1", allOutcomes...))
	if err != nil || got.Outcome != report.AllowSession || got.Feedback != "fine" || got.By != "here" {
		t.Errorf("Approve = %+v, %v", got, err)
	}
	sent := decodeJSON[Approval](t, f.wait(methodApprove, 1))
	if sent.Command == nil || sent.Command.Line != "go test ./..." || sent.Covers.Session != "shell(go test *)" || len(sent.Outcomes) != 4 {
		t.Errorf("the editor was shown %+v", sent)
	}
	resolved := decodeJSON[ApprovalResolved](t, f.wait(methodApprovalResolved, 1))
	if resolved != (ApprovalResolved{"a1", report.AllowSession, "here"}) {
		t.Errorf("resolved = %+v", resolved)
	}
	order := strings.Join(f.order(methodEvent, methodApprove, methodApprovalResolved), " ")
	if want := "agent/event agent/approve agent/approvalResolved"; order != want {
		t.Errorf("order = %s, want %s", order, want)
	}
}

// A cancel while an approval is open takes it down at once.
func TestCancelWithdrawsAnOpenApproval(t *testing.T) {
	f := newFakeHost(t)
	f.caps.Agent.Approvals = true
	f.on(methodApprove, func(ctx context.Context, _ json.RawMessage) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
	_, _, api := newTestBridge(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := api.front.Approve(ctx, approvalOf("a1", allOutcomes...))
		done <- err
	}()
	f.wait(methodApprove, 1)
	start := time.Now()
	api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 2, Type: report.ApprovalWithdrawn, ID: "a1", By: "cancel"})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Approve = %v", err)
	}
	f.wait("$/cancelRequest", 1)
	resolved := decodeJSON[ApprovalResolved](t, f.wait(methodApprovalResolved, 1))
	if took := time.Since(start); took > 100*time.Millisecond {
		t.Errorf("it took %v to take the approval down", took)
	}
	if resolved != (ApprovalResolved{"a1", report.DenyOnce, "cancel"}) {
		t.Errorf("resolved = %+v", resolved)
	}
	if n := len(f.got(methodApprovalResolved)); n != 1 {
		t.Errorf("it was taken down %d times", n)
	}
}

// resolvable is a service that takes the first answer to one approval, as the
// real one does, and ends the context of who waits for it.
type resolvable struct {
	api    *fakeAPI
	cancel context.CancelFunc
	taken  chan report.Answer
}

func newResolvable(api *fakeAPI, ap report.Approval) *resolvable {
	r := &resolvable{api: api, taken: make(chan report.Answer, 1)}
	api.pending = func() []report.Approval { return []report.Approval{ap} }
	api.resolve = func(id string, a report.Answer) error {
		if id != ap.ID {
			return run.ErrUnknownID
		}
		select {
		case r.taken <- a:
		default:
			return run.ErrAlreadyResolved
		}
		if r.cancel != nil {
			r.cancel()
		}
		return nil
	}
	return r
}

func TestAnswerOutOfBandTakesTheEditorsRequestDown(t *testing.T) {
	f := newFakeHost(t)
	f.caps.Agent.Approvals = true
	f.on(methodApprove, func(ctx context.Context, _ json.RawMessage) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
	_, x, api := newTestBridge(t, f)
	ap := approvalOf("a1", allOutcomes...)
	service := newResolvable(api, ap)
	ctx, cancel := context.WithCancel(t.Context())
	service.cancel = cancel
	done := make(chan error, 1)
	go func() {
		_, err := api.front.Approve(ctx, ap)
		done <- err
	}()
	f.wait(methodApprove, 1)
	if got := mustAsk[OK](t, x, "agent/resolve", `{"id":"a1","outcome":"allowOnce"}`); !got.OK {
		t.Error("not ok")
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Approve = %v", err)
	}
	f.wait("$/cancelRequest", 1)
	resolved := decodeJSON[ApprovalResolved](t, f.wait(methodApprovalResolved, 1))
	if resolved != (ApprovalResolved{"a1", report.AllowOnce, "here"}) {
		t.Errorf("resolved = %+v", resolved)
	}
	_, err := ask(t, x, "agent/resolve", `{"id":"a1","outcome":"deny"}`)
	if codeOf(err) != CodeAlreadyResolved {
		t.Errorf("a second answer = %v, want alreadyResolved", err)
	}
	if data := dataOf[AlreadyResolvedData](t, err); data != (AlreadyResolvedData{"a1", report.AllowOnce, "here"}) {
		t.Errorf("data = %+v", data)
	}
}

// Two surfaces answer at the same moment: one wins, and nobody hears of two
// outcomes.
func TestFirstAnswerWins(t *testing.T) {
	for range 50 {
		f := newFakeHost(t)
		f.caps.Agent.Approvals = true
		gate := make(chan struct{})
		f.on(methodApprove, func(context.Context, json.RawMessage) (any, error) {
			<-gate
			return map[string]any{"outcome": "deny"}, nil
		})
		_, x, api := newTestBridge(t, f)
		ap := approvalOf("a1", allOutcomes...)
		service := newResolvable(api, ap)
		ctx, cancel := context.WithCancel(t.Context())
		service.cancel = cancel
		byEditor := make(chan report.Answer, 1)
		go func() {
			if got, err := api.front.Approve(ctx, ap); err == nil {
				byEditor <- got
			}
			close(byEditor)
		}()
		f.wait(methodApprove, 1)
		close(gate)
		_, err := ask(t, x, "agent/resolve", `{"id":"a1","outcome":"allowOnce"}`)
		resolved := decodeJSON[ApprovalResolved](t, f.wait(methodApprovalResolved, 1))
		<-byEditor
		want := report.AllowOnce
		if err != nil {
			if codeOf(err) != CodeAlreadyResolved {
				t.Fatalf("resolve = %v", err)
			}
			want = report.DenyOnce
		}
		if resolved.Outcome != want || len(f.got(methodApprovalResolved)) != 1 {
			t.Fatalf("resolve = %v, told %+v (%d times)", err, resolved, len(f.got(methodApprovalResolved)))
		}
		cancel()
	}
}

func TestUnhonouredAnswerOutOfBandIsADenial(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	service := newResolvable(api, approvalOf("a1", report.AllowOnce, report.DenyOnce))
	mustAsk[OK](t, x, "agent/resolve", `{"id":"a1","outcome":"allowAlways"}`)
	if got := <-service.taken; got.Outcome != report.DenyOnce || got.By != "malformed" {
		t.Errorf("the service was told %+v", got)
	}
	if _, err := ask(t, x, "agent/resolve", `{"id":"a9","outcome":"deny"}`); codeOf(err) != CodeUnknownID {
		t.Errorf("an unknown id = %v", err)
	}
	if _, err := ask(t, x, "agent/resolve", `{"id":"a1"}`); codeOf(err) != jsonrpc2.InvalidParams {
		t.Errorf("no outcome = %v", err)
	}
}

// An editor that knows nothing of us is asked through a message box whose text
// says what it is about.
func TestPlainEditorIsAskedByMessage(t *testing.T) {
	for _, test := range []struct {
		title   any
		outcome report.ApprovalOutcome
		by      string
	}{
		{"Allow once", report.AllowOnce, "here"},
		{"Allow for this session", report.AllowSession, "here"},
		{"Deny", report.DenyOnce, "here"},
		{"Always allow", report.DenyOnce, "malformed"}, // not offered
		{"allow once", report.DenyOnce, "malformed"},
		{nil, report.DenyOnce, "dismissed"},
	} {
		f := newFakeHost(t)
		var answer any
		if test.title != nil {
			answer = map[string]any{"title": test.title}
		}
		f.answer("window/showMessageRequest", answer)
		_, _, api := newTestBridge(t, f)
		ap := approvalOf("a1", report.AllowOnce, report.AllowSession, report.DenyOnce)
		ap.Command.Line = "go test ./... \u202e; evil"
		ap.Hooks = []hooks.Decision{{Event: "on_tool_call", Action: "modify", Reason: "adds a flag",
			Hook:    hooks.Source{At: &hooks.Location{Path: "/w/guard.risor", Start: hooks.Position{Line: 3, Column: 5}}},
			Changes: []hooks.Change{{Path: "/command", Before: json.RawMessage(`"go test"`), After: json.RawMessage(`"go test ./..."`)}}}}
		got, err := api.front.Approve(t.Context(), ap)
		if err != nil || got.Outcome != test.outcome || got.By != test.by {
			t.Errorf("%v = %+v, %v, want %s by %s", test.title, got, err, test.outcome, test.by)
		}
		sent := decodeJSON[struct {
			Message string
			Actions []struct{ Title string }
		}](t, f.wait("window/showMessageRequest", 1))
		if len(sent.Actions) != 3 {
			t.Errorf("actions = %v, want the three offered ones", sent.Actions)
		}
		for _, want := range []string{"Tool: shell", `Command: go test ./... \u{202e}; evil`, "In: /w", "Asked by: default: commands ask",
			"Hook on_tool_call: modify, adds a flag", "/command", "guard.risor:3", "covers: shell(go test *)"} {
			if !strings.Contains(sent.Message, want) {
				t.Errorf("the message does not say %q:\n%s", want, sent.Message)
			}
		}
		if n := len(f.got(methodApprovalResolved)); n != 0 {
			t.Errorf("a method was sent that the editor did not declare")
		}
	}
}

func TestMessageShowsTheDiffAndNamesTheRest(t *testing.T) {
	f := newFakeHost(t)
	f.answer("window/showMessageRequest", nil)
	_, _, api := newTestBridge(t, f)
	ap := approvalOf("a1", report.AllowOnce)
	ap.Command, ap.Tool, ap.Risk = nil, "edit", "write"
	ap.Edits = []report.Edit{{Path: "/w/a.go", Diff: "--- a.go\n+++ a.go\n@@ -1 +1 @@\n-a\n" + strings.Repeat("+b\n", 100)}}
	if _, err := api.front.Approve(t.Context(), ap); err != nil {
		t.Fatal(err)
	}
	message := decodeJSON[struct{ Message string }](t, f.wait("window/showMessageRequest", 1)).Message
	if !strings.Contains(message, "@@ -1 +1 @@\n-a\n+b") || !strings.Contains(message, "more lines in ") {
		t.Errorf("message:\n%s", message)
	}
	place := message[strings.LastIndex(message, " in ")+4:]
	if rest := readFile(t, place); strings.Count(rest, "+b") != 100 {
		t.Errorf("%s has not the whole diff", place)
	}
}

// An editor that can answer neither gets a denial with its reason, at once.
func TestEditorThatCannotAnswerIsNobody(t *testing.T) {
	for _, declared := range []bool{false, true} {
		f := newFakeHost(t) // answers MethodNotFound to everything
		f.caps.Agent.Approvals = declared
		_, _, api := newTestBridge(t, f)
		_, err := api.front.Approve(t.Context(), approvalOf("a1", allOutcomes...))
		if !errors.Is(err, run.ErrNoApprover) || !strings.Contains(err.Error(), "window/showMessageRequest") {
			t.Errorf("declared %v: Approve = %v, want no approver and why", declared, err)
		}
	}
}

func TestEditorsErrorIsADenial(t *testing.T) {
	f := newFakeHost(t)
	f.caps.Agent.Approvals = true
	f.on(methodApprove, func(context.Context, json.RawMessage) (any, error) {
		return nil, jsonrpc2.NewError(jsonrpc2.InternalError, "view is gone")
	})
	_, _, api := newTestBridge(t, f)
	got, err := api.front.Approve(t.Context(), approvalOf("a1", allOutcomes...))
	if err != nil || got.Outcome != report.DenyOnce || !strings.Contains(got.Feedback, "view is gone") {
		t.Errorf("Approve = %+v, %v", got, err)
	}
}

// A lost connection is no answer: the approval stays open.
func TestLostConnectionIsNoAnswer(t *testing.T) {
	f := newFakeHost(t)
	f.caps.Agent.Approvals = true
	f.on(methodApprove, func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("broken pipe") })
	_, _, api := newTestBridge(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := api.front.Approve(ctx, approvalOf("a1", allOutcomes...))
		done <- err
	}()
	f.wait(methodApprove, 1)
	select {
	case err := <-done:
		t.Fatalf("Approve = %v before the service let go", err)
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Approve = %v", err)
	}
}

// agent.pending puts what an earlier process left open in front of the user of
// a plain editor, and the run goes on with the answer.
func TestPendingAsksAPlainEditorAgain(t *testing.T) {
	f := newFakeHost(t)
	f.answer("window/showMessageRequest", map[string]any{"title": "Allow once"})
	_, x, api := newTestBridge(t, f)
	service := newResolvable(api, approvalOf("a1", report.AllowOnce, report.DenyOnce))
	got, err := x.Commands["agent.pending"](t.Context(), nil)
	if err != nil || len(got.(PendingResult).Approvals) != 1 {
		t.Fatalf("agent.pending = %+v, %v", got, err)
	}
	select {
	case answer := <-service.taken:
		if answer.Outcome != report.AllowOnce {
			t.Errorf("the service was told %+v", answer)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("nobody was asked")
	}
}
