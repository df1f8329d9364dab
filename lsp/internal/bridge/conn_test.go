package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/rpc"
	"agent-ls/lsp/internal/server"
	"agent-ls/lsp/lsptest"
)

// desk is an editor on a real connection to a real server, with a folder and
// a scripted service behind it.
type desk struct {
	*lsptest.Editor
	root   string
	api    *fakeAPI
	params OpenParams
	result json.RawMessage // of initialize
}

// agentFlags are capabilities with these flags of experimental.agent, and what
// a modern editor has beside.
func agentFlags(flags ...string) map[string]any {
	agent := map[string]any{"version": 1}
	for _, f := range flags {
		agent[f] = true
	}
	return map[string]any{
		"experimental": map[string]any{"agent": agent},
		"window":       map[string]any{"workDoneProgress": true, "showDocument": map[string]any{"support": true}},
		"workspace": map[string]any{
			"applyEdit": true, "workspaceEdit": map[string]any{"documentChanges": true}, "textDocumentContent": map[string]any{},
		},
	}
}

// bare are the capabilities of an editor that has next to nothing.
var bare = map[string]any{}

// serving runs a server with a bridge over a stream, as package lsp does.
func serving(extend server.Extend) func(context.Context, io.ReadWriteCloser) error {
	return func(ctx context.Context, stream io.ReadWriteCloser) error {
		conn := rpc.New(stream, rpc.Options{})
		return conn.Serve(ctx, server.New(conn, server.Options{Extend: extend}))
	}
}

func newDesk(t *testing.T, capabilities map[string]any) *desk {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{root: root, api: &fakeAPI{}}
	opened := make(chan struct{})
	d.Editor = lsptest.Start(t, serving(New(Options{
		StateDir: t.TempDir(),
		Open: func(_ context.Context, p OpenParams) (run.API, error) {
			d.params, d.api.front = p, p.Frontend
			close(opened)
			return d.api, nil
		},
	})))
	d.result = d.Initialize(capabilities, lsptest.Folder(fileURI(root)))
	d.Must("agent/hooks", nil, nil) // makes the service
	<-opened
	return d
}

func (d *desk) path(name string) string { return filepath.Join(d.root, name) }

func TestServerSaysWhatItServes(t *testing.T) {
	d := newDesk(t, agentFlags())
	got := decodeJSON[struct {
		Capabilities struct {
			ExecuteCommandProvider struct{ Commands []string }
			Experimental           struct{ Agent ServerAgent }
		}
	}](t, d.result).Capabilities
	if got.Experimental.Agent.Version != protocolVersion || !slices.Equal(got.Experimental.Agent.Methods, ServerMethods()) {
		t.Errorf("experimental.agent = %+v", got.Experimental.Agent)
	}
	for _, c := range []string{"agent.answer", "agent.cancel", "agent.pending", "agent.run", "agent.showDecisions", "agent.steer", "agent.trust", "agent.undo"} {
		if !slices.Contains(got.ExecuteCommandProvider.Commands, c) {
			t.Errorf("%s is not among the commands %v", c, got.ExecuteCommandProvider.Commands)
		}
	}
	for _, later := range []string{"agent/later", "agent/nothing"} {
		if code := lsptest.Code(d.Call(later, map[string]any{}, nil)); code != -32601 {
			t.Errorf("%s = %d, want -32601", later, code)
		}
	}
}

func TestErrorsOnTheWire(t *testing.T) {
	d := newDesk(t, agentFlags())
	err := d.Call("agent/cancel", map[string]any{"runId": "nope"}, nil)
	var wire *lsptest.Error
	if !errors.As(err, &wire) || wire.Code != -32013 || decodeJSON[UnknownIDData](t, wire.Data) != (UnknownIDData{"nope", "run"}) {
		t.Errorf("cancel = %v", err)
	}
}

// approving runs Approve beside the test.
func (d *desk) approving(ctx context.Context, ap report.Approval) chan error {
	done := make(chan error, 1)
	go func() {
		answer, err := d.api.front.Approve(ctx, ap)
		if err == nil && answer.Outcome != report.AllowOnce {
			err = errors.New(string(answer.Outcome) + " by " + answer.By)
		}
		done <- err
	}()
	return done
}

func TestWithdrawnApprovalOnTheWire(t *testing.T) {
	for _, capabilities := range []map[string]any{agentFlags("approvals"), bare} {
		d := newDesk(t, capabilities)
		asked, release := make(chan struct{}, 1), make(chan struct{})
		t.Cleanup(func() { close(release) })
		hold := func(json.RawMessage) (any, error) {
			asked <- struct{}{}
			<-release
			return nil, nil
		}
		d.On("agent/approve", hold)
		d.On("window/showMessageRequest", hold)
		ctx, cancel := context.WithCancelCause(t.Context())
		done := d.approving(ctx, approvalOf("a1", allOutcomes...))
		<-asked
		start := time.Now()
		cancel(&run.Settled{By: "cancel"})
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Approve = %v", err)
		}
		d.Await("$/cancelRequest", func(json.RawMessage) bool { return true })
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if capabilities["experimental"] != nil {
			m := d.Await("agent/approvalResolved", func(json.RawMessage) bool { return true })
			if got := decodeJSON[ApprovalResolved](t, m.Params); got != (ApprovalResolved{"a1", report.DenyOnce, "cancel"}) {
				t.Errorf("resolved %+v", got)
			}
		}
	}
}

func TestGrantOfAnotherApprovalOnTheWire(t *testing.T) {
	d := newDesk(t, agentFlags("approvals"))
	asked, release := make(chan struct{}, 1), make(chan struct{})
	t.Cleanup(func() { close(release) })
	d.On("agent/approve", func(json.RawMessage) (any, error) { asked <- struct{}{}; <-release; return nil, nil })
	ctx, cancel := context.WithCancelCause(t.Context())
	done := d.approving(ctx, approvalOf("a1", allOutcomes...))
	<-asked
	cancel(&run.Settled{Outcome: report.AllowOnce, By: "policy"})
	<-done
	m := d.Await("agent/approvalResolved", func(json.RawMessage) bool { return true })
	if got := decodeJSON[ApprovalResolved](t, m.Params); got != (ApprovalResolved{"a1", report.AllowOnce, "policy"}) {
		t.Errorf("resolved %+v", got)
	}
}

func TestBareEditorGetsADenialAndNoHang(t *testing.T) {
	d := newDesk(t, bare) // knows no window/showMessageRequest either
	select {
	case err := <-d.approving(t.Context(), approvalOf("a1", allOutcomes...)):
		if !errors.Is(err, run.ErrNoApprover) {
			t.Errorf("Approve = %v", err)
		}
	case <-time.After(lsptest.Patience):
		t.Fatal("Approve hangs")
	}
	d.Await("window/logMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "denied: go test") })
}

func TestEditsOfOpenDocumentsOnTheWire(t *testing.T) {
	const before, after = "one\r\nzwei 😀\r\nthree\r\n", "one\r\nzwei 😁!\r\nthree\r\n"
	for _, encoding := range []string{"utf-8", "utf-16", "utf-32"} {
		t.Run(encoding, func(t *testing.T) {
			capabilities := agentFlags("save")
			capabilities["general"] = map[string]any{"positionEncodings": []string{encoding}}
			d := newDesk(t, capabilities)
			path := d.path("a b.txt")
			writeFile(t, path, before)
			uri := fileURI(path)
			d.On("agent/save", func(raw json.RawMessage) (any, error) {
				writeFile(t, path, d.Document(uri).Text)
				d.Notify("textDocument/didSave", lsptest.At(uri))
				return decodeJSON[map[string]any](t, []byte(`{"saved":["`+uri+`"]}`)), nil
			})
			d.Open(uri, "plaintext", before)
			d.Must("agent/hooks", nil, nil) // everything before it was read
			if err := d.params.Files.Write(t.Context(), path, []byte(before), []byte(after)); err != nil {
				t.Fatal(err)
			}
			if doc, disk := d.Document(uri).Text, readFile(t, path); doc != after || disk != after {
				t.Errorf("document %q, disk %q", doc, disk)
			}
			if d.params.Files.Open()[path] {
				t.Error("it is unsaved")
			}
		})
	}
}

// The user types while the agent's edit is on its way: the editor refuses it
// for its version, and the text that the user sees stays.
func TestTypingWhileAnEditIsOnItsWay(t *testing.T) {
	d := newDesk(t, agentFlags("save"))
	path := d.path("a.txt")
	writeFile(t, path, "one\n")
	uri := fileURI(path)
	d.Open(uri, "plaintext", "one\n")
	d.Must("agent/hooks", nil, nil)
	d.On("workspace/applyEdit", func(raw json.RawMessage) (any, error) {
		d.Replace(uri, "one", "one and mine")
		return map[string]any{"applied": false, "failureReason": "the version moved"}, nil
	})
	err := d.params.Files.Write(t.Context(), path, []byte("one\n"), []byte("two\n"))
	if !errors.Is(err, loop.ErrFileChanged) {
		t.Errorf("Write = %v, want a conflict", err)
	}
	if doc, disk := d.Document(uri).Text, readFile(t, path); doc != "one and mine\n" || disk != "one\n" {
		t.Errorf("document %q, disk %q", doc, disk)
	}
}

func TestCommandsOnTheWire(t *testing.T) {
	d := newDesk(t, agentFlags())
	d.On("window/showDocument", func(raw json.RawMessage) (any, error) {
		return map[string]bool{"success": true}, nil
	})
	d.api.events = func(_ string, after int64, _ int) ([]report.Event, int64, error) {
		all := []report.Event{{RunID: "r1", SessionID: "s1", Seq: 1, Type: report.Message, Text: "Done that."}}
		return all[min(after, 1):], 1, nil
	}
	var started StartResult
	d.Must("workspace/executeCommand", map[string]any{"command": "agent.run", "arguments": []any{"do it"}}, &started)
	if started != (StartResult{"r1", "s1"}) {
		t.Errorf("started %+v", started)
	}
	cancelled := make(chan string, 1)
	d.api.cancel = func(id, _ string) (bool, error) { cancelled <- id; return true, nil }
	begin := d.Await("$/progress", func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"begin"`) })
	token := decodeJSON[struct{ Token json.RawMessage }](t, begin.Params).Token
	d.Notify("window/workDoneProgress/cancel", map[string]any{"token": token})
	if id := <-cancelled; id != "r1" {
		t.Errorf("cancelled %s", id)
	}
	d.api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 2, Type: report.RunFinished, Status: report.Cancelled})
	m := d.Await("window/showDocument", func(raw json.RawMessage) bool { return true })
	uri := decodeJSON[struct{ URI string }](t, m.Params).URI
	var content struct{ Text string }
	d.Must("workspace/textDocumentContent", map[string]any{"uri": uri}, &content)
	if !strings.Contains(content.Text, "Done that.") {
		t.Errorf("%s shows %q", uri, content.Text)
	}
	if code := lsptest.Code(d.Call("workspace/textDocumentContent", map[string]any{"uri": "agent:/nothing.txt"}, nil)); code != -32013 {
		t.Errorf("an unknown document = %d", code)
	}
}

// Events of a burst arrive complete and in order, whatever else is under way.
func TestEventsArriveInOrder(t *testing.T) {
	d := newDesk(t, agentFlags("events"))
	const n = 2000
	for i := range n {
		d.api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: int64(i + 1), Type: report.Notice, Text: "x"})
	}
	d.Await("agent/event", func(raw json.RawMessage) bool { return decodeJSON[struct{ Seq int }](t, raw).Seq == n })
	for i, m := range d.Messages("agent/event") {
		if seq := decodeJSON[struct{ Seq int }](t, m.Params).Seq; seq != i+1 {
			t.Fatalf("event %d has seq %d", i, seq)
		}
	}
}

func TestServiceIsClosedWithTheConnection(t *testing.T) {
	d := newDesk(t, agentFlags("approvals"))
	asked := make(chan struct{}, 1)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	d.On("agent/approve", func(json.RawMessage) (any, error) { asked <- struct{}{}; <-release; return nil, nil })
	ctx, cancel := context.WithCancel(t.Context())
	d.api.onClose = cancel // as the real one does
	done := d.approving(ctx, approvalOf("a1", allOutcomes...))
	<-asked
	d.Hangup()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Approve = %v: a lost connection is no answer", err)
		}
	case <-time.After(lsptest.Patience):
		t.Fatal("Approve hangs after the editor is gone")
	}
}
