package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"go.lsp.dev/jsonrpc2"

	"agent-ls/lsp/internal/server"
)

// The methods of docs/protocol.md, from the server.
const (
	methodEvent             = "agent/event"
	methodHookDecision      = "agent/hookDecision"
	methodApprove           = "agent/approve"
	methodApprovalResolved  = "agent/approvalResolved"
	methodAsk               = "agent/ask"
	methodSave              = "agent/save"
	methodClientDiagnostics = "agent/clientDiagnostics"
	methodClientLSP         = "agent/clientLsp"
)

// protocolVersion is that of experimental.agent.
const protocolVersion = 1

// method is one row of the protocol: it serves the dispatch, the capabilities,
// the schema and the test of the reference page.
type method struct {
	name           string
	params, result any // samples of the types, for the schema
	fromServer     bool
	notification   bool
	handle         func(*bridge, context.Context, json.RawMessage) (any, error)
}

// methods is the table, in the order of docs/protocol.md.
var methods = []method{
	request("agent/list", (*bridge).list, ListParams{}, ListResult{}),
	request("agent/start", (*bridge).start, StartParams{}, StartResult{}),
	request("agent/steer", (*bridge).steerRun, SteerParams{}, SteerResult{}),
	request("agent/cancel", (*bridge).cancelRun, CancelParams{}, CancelResult{}),
	request("agent/resume", (*bridge).resumeRun, ResumeParams{}, ResumeResult{}),
	request("agent/set", (*bridge).setSession, SetParams{}, OK{}),
	request("agent/fork", (*bridge).forkSession, ForkParams{}, ForkResult{}),
	request("agent/deleteSession", (*bridge).deleteSession, DeleteSessionParams{}, OK{}),
	request("agent/compact", (*bridge).compactSession, CompactParams{}, CompactResult{}),
	request("agent/sessions", (*bridge).sessions, SessionsParams{}, SessionsResult{}),
	request("agent/events", (*bridge).events, EventsParams{}, EventsResult{}),
	request("agent/pending", (*bridge).pendingRequest, PendingParams{}, PendingResult{}),
	request("agent/resolve", (*bridge).resolve, ResolveParams{}, OK{}),
	request("agent/decisions", (*bridge).decisions, DecisionsParams{}, DecisionsResult{}),
	request("agent/hooks", (*bridge).hooks, HooksParams{}, HooksResult{}),
	request("agent/setHook", (*bridge).setHook, SetHookParams{}, OK{}),
	request("agent/explain", (*bridge).explain, ExplainParams{}, ExplainResult{}),
	request("agent/replay", (*bridge).replay, ReplayParams{}, ReplayResult{}),
	request("agent/undo", (*bridge).undoRun, UndoParams{}, UndoResult{}),
	request("agent/trust", (*bridge).trust, TrustParams{}, OK{}),
	{name: methodEvent, params: Event{}, fromServer: true, notification: true},
	{name: methodHookDecision, params: Decision{}, fromServer: true, notification: true},
	{name: methodApprove, params: Approval{}, result: ApprovalAnswer{}, fromServer: true},
	{name: methodApprovalResolved, params: ApprovalResolved{}, fromServer: true, notification: true},
	{name: methodAsk, params: Question{}, result: AskResult{}, fromServer: true},
	{name: methodSave, params: SaveParams{}, result: SaveResult{}, fromServer: true},
	{name: methodClientDiagnostics, params: ClientDiagnosticsParams{}, result: ClientDiagnosticsResult{}, fromServer: true},
	{name: methodClientLSP, params: ClientLSPParams{}, fromServer: true},
}

// request makes the row of a request of the client.
func request[P, R any](name string, handle func(*bridge, context.Context, P) (R, error), params P, result R) method {
	return method{
		name: name, params: params, result: result,
		handle: func(b *bridge, ctx context.Context, raw json.RawMessage) (any, error) {
			var p P
			if err := decode(raw, &p); err != nil {
				return nil, err
			}
			got, err := handle(b, ctx, p)
			if err != nil {
				return nil, err
			}
			return got, nil
		},
	}
}

// decode reads parameters. Absent ones are those without any member.
func decode(raw json.RawMessage, into any) error {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) {
		return nil
	}
	if raw[0] != '{' {
		return invalid("the parameters are an object")
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return jsonrpc2.Errorf(jsonrpc2.InvalidParams, "the parameters do not fit: %v", err)
	}
	return nil
}

// requests are the handlers by method.
func (b *bridge) requests() map[string]server.RequestHandler {
	out := map[string]server.RequestHandler{}
	for _, m := range methods {
		if m.handle != nil {
			out[m.name] = func(ctx context.Context, params json.RawMessage) (any, error) { return m.handle(b, ctx, params) }
		}
	}
	return out
}

// ServerMethods lists the requests that a client may send, sorted: what the
// server puts into experimental.agent.methods.
func ServerMethods() []string {
	var out []string
	for _, m := range methods {
		if !m.fromServer {
			out = append(out, m.name)
		}
	}
	slices.Sort(out)
	return out
}
