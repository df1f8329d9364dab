package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"agent-ls/hooks"
	"agent-ls/loop/report"
	"agent-ls/lsp/internal/server"
)

// codeRequestCancelled is what an editor answers to a request that it gave up.
const codeRequestCancelled = jsonrpc2.Code(protocol.LSPErrorCodesRequestCancelled)

// front is run.Frontend for one folder.
type front struct {
	bridge *bridge
	folder *folder
}

// Event implements run.Frontend.
func (f *front) Event(e report.Event) {
	b := f.bridge
	p := b.runs.observe(f.folder, e)
	if b.host.Client.Capabilities().Agent.Events {
		b.out.event(e, b.wire.event)
	}
	b.logEvent(e)
	if p != nil {
		p.update(e)
	}
	switch e.Type {
	case report.ApprovalWithdrawn:
		// One that is shown is taken down by approve, which its context wakes.
		ending := endingFrom(report.ApprovalOutcome(e.Outcome), e.By)
		if !b.approvals.withdrawn(e.ID, ending) {
			b.resolved(e.ID, ending)
		}
	case report.RunFinished:
		b.finished(e)
	}
}

// Decision implements run.Frontend.
func (f *front) Decision(d hooks.Decision) {
	b := f.bridge
	b.out.notify(methodHookDecision, b.wire.decision(d))
	b.logDecision(d)
	b.findings.decided(d)
}

// Approve implements run.Frontend.
func (f *front) Approve(ctx context.Context, a report.Approval) (report.Answer, error) {
	return f.bridge.approve(ctx, a)
}

// OpenPage implements run.PageOpener: the page opens in the person's browser.
// An editor that cannot do that shows its address.
func (f *front) OpenPage(ctx context.Context, why, url string) error {
	b := f.bridge
	if b.host.Client.Capabilities().ShowDocument {
		var result struct {
			Success bool `json:"success"`
		}
		params := map[string]any{"uri": url, "external": true, "takeFocus": true}
		if err := b.call(ctx, protocol.MethodWindowShowDocument, params, &result); err == nil && result.Success {
			return nil
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	b.showMessage(protocol.MessageTypeInfo, show("To "+why+", open "+url))
	return nil
}

// call sends a request to the editor. What an editor did not declare is not
// sent, and is answered as one answers who does not know it.
func (b *bridge) call(ctx context.Context, method string, params, result any) error {
	if !declared(b.host.Client.Capabilities(), method) {
		return jsonrpc2.Errorf(jsonrpc2.MethodNotFound, "the editor did not declare %s", method)
	}
	raw, err := encode(params)
	if err != nil {
		return err
	}
	return b.host.Client.Call(ctx, method, raw, result)
}

// encode uses the protocol's own encoder for its types and encoding/json for
// ours, whose omitempty means something else there.
func encode(params any) (json.RawMessage, error) {
	if p, ok := params.(*protocol.ShowMessageRequestParams); ok {
		return protocol.Marshal(p)
	}
	return json.Marshal(params)
}

// declared says whether a client may be sent a method of ours.
func declared(caps server.Capabilities, method string) bool {
	switch method {
	case methodEvent:
		return caps.Agent.Events
	case methodHookDecision:
		return caps.Agent.Decisions
	case methodApprove, methodApprovalResolved:
		return caps.Agent.Approvals
	case methodAsk:
		return caps.Agent.Questions
	case methodSave:
		return caps.Agent.Save
	case methodClientDiagnostics:
		return caps.Agent.Diagnostics
	case methodClientLSP:
		return caps.Agent.LSP
	case protocol.MethodWindowShowDocument:
		return caps.ShowDocument
	case protocol.MethodWindowWorkDoneProgressCreate:
		return caps.WorkDoneProgress
	case protocol.MethodWorkspaceTextDocumentContentRefresh:
		return caps.TextDocumentContent
	}
	return !strings.HasPrefix(method, "agent/")
}

// finished does what a run's end asks for: an editor without agent/event is
// shown the result of a run that a command started.
func (b *bridge) finished(e report.Event) {
	b.content.refresh(decisionsURI(e.RunID), transcriptURI(e.SessionID, e.RunID))
	b.measure(e.RunID)
	if b.runs.claimResult(e.RunID) {
		b.showResult(e)
	}
}

func (b *bridge) showResult(e report.Event) {
	if b.host.Client.Capabilities().Agent.Events {
		return
	}
	b.background(func(ctx context.Context) {
		if e.Status != report.Done {
			b.showMessage(protocol.MessageTypeError, finishedLine(b.wire.event(e)))
		}
		uri := transcriptURI(e.SessionID, e.RunID)
		text, err := b.content.read(ctx, uri)
		if err != nil {
			b.log.Warn("reading a run's transcript", "run", e.RunID, "err", err)
			b.logMessage(protocol.MessageTypeInfo, finishedLine(b.wire.event(e)))
			return
		}
		b.content.present(ctx, uri, text)
	})
}

// claimResult reports, once, that a run's result is to be shown: when it was
// started by a command and is over, whichever is known last.
func (r *runs) claimResult(runID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[runID]
	if s == nil || !s.plain || s.finished == nil || s.resultShown {
		return false
	}
	s.resultShown = true
	return true
}

// startedByCommand notes that a run's result is to be shown, and returns the
// end if it is over already.
func (r *runs) startedByCommand(runID string) *report.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.get(runID)
	s.plain = true
	return s.finished
}

func (b *bridge) logMessage(t protocol.MessageType, message string) {
	b.message(protocol.MethodWindowLogMessage, t, message)
}

func (b *bridge) showMessage(t protocol.MessageType, message string) {
	b.message(protocol.MethodWindowShowMessage, t, message)
}

func (b *bridge) message(method string, t protocol.MessageType, message string) {
	b.out.notify(method, struct {
		Type    protocol.MessageType `json:"type"`
		Message string               `json:"message"`
	}{t, message})
}

// logEvent tells an editor that has no view of events what happens. One that
// has gets the notices that need somebody's attention all the same.
func (b *bridge) logEvent(e report.Event) {
	t := protocol.MessageTypeInfo
	switch {
	case e.Type == report.RunFinished && e.Status == report.Failed, e.Level == "error":
		t = protocol.MessageTypeError
	case e.Type == report.Retrying, e.Level == "warning":
		t = protocol.MessageTypeWarning
	}
	if b.host.Client.Capabilities().Agent.Events && t == protocol.MessageTypeInfo {
		return
	}
	if line := eventLine(b.wire.event(e)); line != "" {
		b.logMessage(t, line)
	}
}

func (b *bridge) logDecision(d hooks.Decision) {
	if b.host.Client.Capabilities().Agent.Decisions {
		return
	}
	t := protocol.MessageTypeInfo
	switch d.Action {
	case "allow":
		t = protocol.MessageTypeLog
	case "error", "cancel", "deny":
		t = protocol.MessageTypeWarning
	}
	b.logMessage(t, hookLine(b.wire.decision(d)))
}

// eventLine is an event in one line, "" for one that says nothing to a reader
// of a log.
func eventLine(e Event) string {
	switch e.Type {
	case report.RunStarted:
		return fmt.Sprintf("run %s: %s (%s, %s)", e.RunID, oneLine(e.Prompt), e.Model, e.Mode)
	case report.StageEntered:
		return "stage " + e.Stage
	case report.Message:
		return e.Text
	case report.ToolStarted:
		if e.Title != "" {
			return "→ " + oneLine(e.Title)
		}
		return "→ " + e.Tool
	case report.ToolFinished:
		if e.DurationMs != nil {
			return fmt.Sprintf("← %s in %d ms", e.Outcome, *e.DurationMs)
		}
		return "← " + e.Outcome
	case report.ApprovalRequested:
		return "approval " + e.ID + " is open"
	case report.ApprovalWithdrawn:
		return fmt.Sprintf("approval %s is withdrawn (%s)", e.ID, e.By)
	case report.QuestionAsked:
		return "question " + e.ID + " is open"
	case report.AgentSpawned:
		return fmt.Sprintf("sub-agent %s: run %s", oneLine(e.Agent), e.ChildRunID)
	case report.FileChanged:
		return "changed " + e.URI
	case report.Retrying:
		return "asks the model again: " + oneLine(e.Because)
	case report.Notice:
		return e.Text
	case report.RunFinished:
		return finishedLine(e)
	}
	return ""
}

func finishedLine(e Event) string {
	line := string(e.Status)
	if e.StopReason != "" && e.StopReason != report.StopEnd {
		line += " (" + string(e.StopReason) + ")"
	}
	switch {
	case e.Error != "":
		line += ": " + e.Error
	case e.Output != nil && *e.Output != "":
		line += ": " + *e.Output
	}
	return line
}
