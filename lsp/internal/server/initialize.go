package server

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"go.lsp.dev/protocol"

	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/text"
)

// Initialize implements rpc.Handler. It touches no file and starts nothing.
func (s *Server) Initialize(_ context.Context, params *protocol.InitializeParams, raw json.RawMessage) (*protocol.InitializeResult, error) {
	s.caps = declared(params)
	s.encoding = negotiate(params)
	s.session = cache.NewSession(cache.Options{
		Encoding: s.encoding, UserConfig: s.opts.UserConfig, OrgPolicy: s.opts.OrgPolicy, Environ: s.opts.Environ,
		Log: s.log, Trust: s.opts.Trust, Changed: s.changed,
	})
	s.diagnoser = newDiagnoser(s)
	if settings := s.initializationSettings(); len(settings) > 0 {
		s.session.ChangeSettings(settings)
	}
	s.session.ChangeFolders(initialFolders(raw), nil)
	if s.opts.Extend != nil {
		if ext := s.opts.Extend(s.host()); ext != nil {
			s.extension = ext
		}
	}
	return &protocol.InitializeResult{
		Capabilities: s.capabilities(),
		ServerInfo:   protocol.ServerInfo{Name: "agent-ls", Version: protocol.NewOptional(s.opts.Version)},
	}, nil
}

// initialized begins the background work, once: some clients say it twice.
func (s *Server) initialized(context.Context, json.RawMessage) (any, error) {
	s.begin.Do(func() {
		s.spawn(s.diagnoser.run)
		s.spawn(func(ctx context.Context) { s.session.Poll(ctx, s.caps.WatchedFiles) })
		s.spawn(s.register)
		s.spawn(s.warnOfInitialization)
		if s.extension.Initialized != nil {
			s.spawn(s.extension.Initialized)
		}
	})
	return nil, nil
}

// register asks for what can only be asked for afterwards.
func (s *Server) register(ctx context.Context) {
	if s.caps.WatchedFiles {
		options := map[string]any{"watchers": []map[string]any{{"globPattern": "**/" + cache.AgentDir + "/**"}}}
		params := map[string]any{"registrations": []map[string]any{{
			"id": "agent-ls-files", "method": protocol.MethodWorkspaceDidChangeWatchedFiles, "registerOptions": options,
		}}}
		if err := s.conn.Call(ctx, protocol.MethodClientRegisterCapability, params, nil); err != nil && ctx.Err() == nil {
			s.log.Warn("the client does not watch files for us", "error", err)
			s.spawn(func(ctx context.Context) { s.session.Poll(ctx, false) })
		}
	}
	if s.caps.Configuration {
		s.askConfiguration(ctx)
	}
}

// initialFolders are those of `initialize`: the workspace's, else the root.
func initialFolders(raw json.RawMessage) []cache.Folder {
	var p struct {
		WorkspaceFolders json.RawMessage `json:"workspaceFolders"`
		RootURI          json.RawMessage `json:"rootUri"`
		RootPath         json.RawMessage `json:"rootPath"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return nil
	}
	var entries []json.RawMessage
	_ = json.Unmarshal(p.WorkspaceFolders, &entries) // null or another shape: none
	var folders []workspaceFolder
	for _, entry := range entries {
		var f workspaceFolder
		if json.Unmarshal(entry, &f) == nil && f.URI != "" {
			folders = append(folders, f)
		}
	}
	if len(folders) > 0 {
		return cacheFolders(folders)
	}
	var uri, path string
	if json.Unmarshal(p.RootURI, &uri) == nil && uri != "" {
		return cacheFolders([]workspaceFolder{{URI: uri, Name: filepath.Base(text.Path(uri))}})
	}
	if json.Unmarshal(p.RootPath, &path) == nil && filepath.IsAbs(path) {
		return cacheFolders([]workspaceFolder{{URI: text.FileURI(path), Name: filepath.Base(path)}})
	}
	return nil
}

// negotiate picks the position encoding: bytes if the client would rather have
// them, else what every client can.
func negotiate(params *protocol.InitializeParams) text.Encoding {
	if params.Capabilities.General == nil || len(params.Capabilities.General.PositionEncodings) == 0 {
		return text.UTF16
	}
	offered := params.Capabilities.General.PositionEncodings
	switch {
	case offered[0] == protocol.PositionEncodingKindUTF8:
		return text.UTF8
	case slices.Contains(offered, protocol.PositionEncodingKindUTF16):
		return text.UTF16
	case slices.Contains(offered, protocol.PositionEncodingKindUTF8):
		return text.UTF8
	case slices.Contains(offered, protocol.PositionEncodingKindUTF32):
		return text.UTF32
	}
	return text.UTF16
}

// declared reads what the client can.
func declared(params *protocol.InitializeParams) Capabilities {
	c := Capabilities{Standard: params.Capabilities, Name: params.ClientInfo.Name}
	c.Version, _ = params.ClientInfo.Version.Get()
	if len(params.InitializationOptions) > 0 && string(params.InitializationOptions) != "null" {
		c.Initialization = append(json.RawMessage(nil), params.InitializationOptions...)
	}
	var experimental struct {
		Agent json.RawMessage `json:"agent"`
	}
	if json.Unmarshal(params.Capabilities.Experimental, &experimental) == nil {
		c.Agent = agentFlags(experimental.Agent)
	}
	if w := params.Capabilities.Workspace; w != nil {
		c.ApplyEdit = yes(w.ApplyEdit)
		c.VersionedEdits = w.WorkspaceEdit != nil && yes(w.WorkspaceEdit.DocumentChanges)
		c.TextDocumentContent = w.TextDocumentContent != nil
		c.Configuration = yes(w.Configuration)
		c.WatchedFiles = w.DidChangeWatchedFiles != nil && yes(w.DidChangeWatchedFiles.DynamicRegistration)
	}
	if w := params.Capabilities.Window; w != nil {
		c.WorkDoneProgress = yes(w.WorkDoneProgress)
		c.ShowDocument = w.ShowDocument != nil && w.ShowDocument.Support
	}
	if t := params.Capabilities.TextDocument; t != nil {
		c.PullDiagnostics = t.Diagnostic != nil
	}
	return c
}

// agentFlags reads each flag by itself: one of a wrong type is false, the
// others count.
func agentFlags(raw json.RawMessage) AgentCapabilities {
	var flags map[string]json.RawMessage
	_ = json.Unmarshal(raw, &flags) // another shape declares nothing
	var c AgentCapabilities
	for name, to := range map[string]*bool{
		"approvals": &c.Approvals, "questions": &c.Questions, "events": &c.Events, "decisions": &c.Decisions,
		"save": &c.Save, "diagnostics": &c.Diagnostics, "lsp": &c.LSP,
	} {
		if json.Unmarshal(flags[name], to) != nil {
			*to = false
		}
	}
	_ = json.Unmarshal(flags["version"], &c.Version) // none is version 0
	return c
}

func yes(b *bool) bool { return b != nil && *b }

func ptr[T any](v T) *T { return &v }
