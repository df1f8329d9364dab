package server

import (
	"encoding/json"
	"maps"
	"slices"

	"go.lsp.dev/protocol"

	"agent-ls/lsp/internal/cache"
)

// agentVersion is the version of our own methods.
const agentVersion = 1

// capabilities are exactly what there is a handler for.
func (s *Server) capabilities() protocol.ServerCapabilities {
	c := protocol.ServerCapabilities{
		PositionEncoding: protocol.PositionEncodingKind(s.encoding.String()),
		TextDocumentSync: &protocol.TextDocumentSyncOptions{
			OpenClose: ptr(true),
			Change:    ptr(protocol.TextDocumentSyncKindIncremental),
			Save:      protocol.Boolean(true),
		},
		Workspace: &protocol.WorkspaceOptions{
			WorkspaceFolders: &protocol.WorkspaceFoldersServerCapabilities{
				Supported: ptr(true), ChangeNotifications: protocol.Boolean(true),
			},
			FileOperations: fileOperations(),
		},
	}
	s.featureCapabilities(&c)
	if s.caps.PullDiagnostics {
		c.DiagnosticProvider = &protocol.DiagnosticOptions{
			Identifier: ptr(diagnosticSource), InterFileDependencies: true, WorkspaceDiagnostics: true,
		}
	}
	if len(s.extension.Commands) > 0 {
		c.ExecuteCommandProvider = protocol.ExecuteCommandOptions{Commands: slices.Sorted(maps.Keys(s.extension.Commands))}
	}
	if s.extension.Content != nil && len(s.extension.ContentSchemes) > 0 && s.caps.TextDocumentContent {
		c.Workspace.TextDocumentContent = &protocol.TextDocumentContentOptions{Schemes: s.extension.ContentSchemes}
	}
	if methods := s.agentMethods(); len(methods) > 0 {
		agent := map[string]any{"agent": map[string]any{"version": agentVersion, "methods": methods}}
		if raw, err := json.Marshal(agent); err == nil {
			c.Experimental = raw
		}
	}
	return c
}

// agentMethods are the custom ones that a client may send.
func (s *Server) agentMethods() []string {
	methods := slices.Collect(maps.Keys(s.extension.Requests))
	methods = slices.AppendSeq(methods, maps.Keys(s.extension.Notifications))
	slices.Sort(methods)
	return methods
}

func fileOperations() *protocol.FileOperationOptions {
	ours := protocol.FileOperationRegistrationOptions{Filters: []protocol.FileOperationFilter{{
		Scheme: ptr("file"), Pattern: protocol.FileOperationPattern{Glob: "**/" + cache.AgentDir + "/**"},
	}}}
	return &protocol.FileOperationOptions{DidCreate: ours, DidRename: ours, DidDelete: ours}
}
