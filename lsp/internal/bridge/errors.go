package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

// The error codes of agent/*, each with data of its own type in wire.go.
const (
	CodeCannotStart     jsonrpc2.Code = -32010
	CodeAlreadyResolved jsonrpc2.Code = -32011
	CodeSessionBusy     jsonrpc2.Code = -32012
	CodeUnknownID       jsonrpc2.Code = -32013
	CodeNotTrusted      jsonrpc2.Code = -32014
)

// codeRequestFailed is the protocol's code for a well-formed request that
// cannot be served.
const codeRequestFailed = jsonrpc2.Code(protocol.LSPErrorCodesRequestFailed)

// CannotStartData is that of -32010.
type CannotStartData struct {
	Diagnostics []FileDiagnostics `json:"diagnostics"`
}

// FileDiagnostics are the diagnostics of one file.
type FileDiagnostics struct {
	URI         string            `json:"uri"`
	Diagnostics []json.RawMessage `json:"diagnostics" doc:"LSP Diagnostic"`
}

// AlreadyResolvedData is that of -32011. Outcome and By are there when this
// server knows them.
type AlreadyResolvedData struct {
	ID      string                 `json:"id"`
	Outcome report.ApprovalOutcome `json:"outcome,omitempty"`
	By      string                 `json:"by,omitempty"`
}

// SessionBusyData is that of -32012.
type SessionBusyData struct {
	SessionID string `json:"sessionId"`
	RunID     string `json:"runId,omitempty" doc:"the run it is busy with, if it is one of this server"`
}

// UnknownIDData is that of -32013.
type UnknownIDData struct {
	ID   string `json:"id"`
	Kind string `json:"kind" enum:"run,session,approval,call,agent,model,stage,tool,entry"`
}

// NotTrustedData is that of -32014.
type NotTrustedData struct {
	ID     string `json:"id"`
	Reason string `json:"reason" doc:"why it is not trusted"`
}

// RefusedData is that of -32803, the protocol's own "request failed".
type RefusedData struct {
	Reason string `json:"reason" enum:"noFolder,closing,service"`
}

// failure makes an error answer with data.
func failure(code jsonrpc2.Code, message string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil { // our own types
		return jsonrpc2.Errorf(jsonrpc2.InternalError, "encoding the data of %q: %v", message, err)
	}
	return &jsonrpc2.Error{Code: code, Message: message, Data: jsonrpc2.RawMessage(raw)}
}

// invalid is the answer to parameters that cannot be meant.
func invalid(format string, args ...any) error {
	return jsonrpc2.Errorf(jsonrpc2.InvalidParams, format, args...)
}

// unknown is the answer to an id that nothing has.
func unknown(kind, id string) error {
	return failure(CodeUnknownID, fmt.Sprintf("there is no %s %q", kind, id), UnknownIDData{ID: id, Kind: kind})
}

// answer turns an error of run.API into that of the protocol. kind and id name
// what the call was about.
func (b *bridge) answer(err error, kind, id string) error {
	var cannot *run.CannotStart
	var rpc *jsonrpc2.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &rpc):
		return rpc
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err // the server's to map
	case errors.As(err, &cannot):
		return failure(CodeCannotStart, show(cannot.Error()), CannotStartData{b.diagnostics(cannot)})
	case errors.Is(err, run.ErrSessionBusy):
		return failure(CodeSessionBusy, show(err.Error()), SessionBusyData{SessionID: id, RunID: b.runs.busy(id)})
	case errors.Is(err, run.ErrAlreadyResolved):
		data := AlreadyResolvedData{ID: id}
		data.Outcome, data.By = b.approvals.settled(id)
		return failure(CodeAlreadyResolved, fmt.Sprintf("approval %q is already resolved", id), data)
	case errors.Is(err, run.ErrUnknownID):
		if err == run.ErrUnknownID { //nolint:errorlint // bare: it names nothing
			return unknown(kind, id)
		}
		return failure(CodeUnknownID, show(err.Error()), UnknownIDData{ID: id, Kind: kind})
	}
	return failure(codeRequestFailed, show(err.Error()), RefusedData{Reason: "service"})
}

// diagnostics are the findings of a run that cannot start, by file.
func (b *bridge) diagnostics(cannot *run.CannotStart) []FileDiagnostics {
	out := []FileDiagnostics{}
	for _, file := range b.host.Workspace.Diagnostics(cannot.Findings) {
		entry := FileDiagnostics{URI: file.URI, Diagnostics: []json.RawMessage{}}
		for _, d := range file.Diagnostics {
			raw, err := protocol.Marshal(d)
			if err != nil {
				b.log.Error("encoding a diagnostic", "uri", file.URI, "err", err)
				continue
			}
			entry.Diagnostics = append(entry.Diagnostics, raw)
		}
		out = append(out, entry)
	}
	return out
}
