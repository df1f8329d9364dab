package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"agent-ls/loop/trust"
	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/rpc"
	"agent-ls/lsp/internal/text"
)

// Options are what a server needs.
type Options struct {
	Version               string
	UserConfig, OrgPolicy string // "" means the usual places
	Environ               []string
	// ReferencePage gives the URI of the page that explains the codes of
	// diagnostics; "" or nil means none. It may write the page first.
	ReferencePage func() string
	Log           *slog.Logger
	// Extend makes the extension; nil means none.
	Extend Extend
	// Trust is what the user trusts of workspaces; nil means nothing.
	Trust *trust.Store
}

// Server serves one connection. It is made by New and driven by
// rpc.Conn.Serve.
type Server struct {
	opts    Options
	conn    *rpc.Conn
	log     *slog.Logger
	methods map[string]rpc.Method

	// Set by Initialize, before any other message is handled; never again.
	caps      Capabilities
	encoding  text.Encoding
	session   *cache.Session
	extension *Extension
	diagnoser *diagnoser

	begin sync.Once // of the background work

	// Goroutines of the server itself; Close joins them.
	background context.Context
	stop       context.CancelFunc
	running    sync.WaitGroup
}

// New makes the server of a connection. It starts nothing.
func New(conn *rpc.Conn, opts Options) *Server {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, conn: conn, log: opts.Log, extension: &Extension{}}
	s.background, s.stop = context.WithCancel(context.Background())
	s.methods = map[string]rpc.Method{
		protocol.MethodInitialized: s.initialized,
		protocol.MethodShutdown:    s.shutdown,

		protocol.MethodTextDocumentDidOpen:   s.didOpen,
		protocol.MethodTextDocumentDidChange: s.didChange,
		protocol.MethodTextDocumentDidSave:   s.didSave,
		protocol.MethodTextDocumentDidClose:  s.didClose,

		protocol.MethodWorkspaceDidChangeWatchedFiles:     s.didChangeWatchedFiles,
		protocol.MethodWorkspaceDidChangeWorkspaceFolders: s.didChangeWorkspaceFolders,
		protocol.MethodWorkspaceDidChangeConfiguration:    s.didChangeConfiguration,
		protocol.MethodWorkspaceDidCreateFiles:            s.didChangeFiles,
		protocol.MethodWorkspaceDidRenameFiles:            s.didChangeFiles,
		protocol.MethodWorkspaceDidDeleteFiles:            s.didChangeFiles,

		protocol.MethodWorkspaceExecuteCommand:      s.executeCommand,
		protocol.MethodWindowWorkDoneProgressCancel: s.progressCancelled,
		protocol.MethodWorkspaceTextDocumentContent: s.textDocumentContent,
		protocol.MethodTextDocumentDiagnostic:       s.documentDiagnostic,
		protocol.MethodWorkspaceDiagnostic:          s.workspaceDiagnostic,

		protocol.MethodTextDocumentHover:          s.hover,
		protocol.MethodTextDocumentCompletion:     s.completion,
		protocol.MethodTextDocumentDefinition:     s.definition,
		protocol.MethodTextDocumentReferences:     s.references,
		protocol.MethodTextDocumentDocumentSymbol: s.documentSymbol,
		protocol.MethodTextDocumentCodeAction:     s.codeAction,
	}
	return s
}

// Lookup implements rpc.Handler.
func (s *Server) Lookup(method string) (rpc.Method, bool) {
	if m, ok := s.methods[method]; ok {
		return m, true
	}
	if handle, ok := s.extension.Requests[method]; ok {
		return func(ctx context.Context, params json.RawMessage) (any, error) {
			return handle(ctx, append(json.RawMessage(nil), params...))
		}, true
	}
	if handle, ok := s.extension.Notifications[method]; ok {
		return func(ctx context.Context, params json.RawMessage) (any, error) {
			handle(ctx, append(json.RawMessage(nil), params...))
			return nil, nil
		}, true
	}
	return nil, false
}

type snapshotKey struct{}

// Prepare implements rpc.Handler: a request sees everything that the client
// sent before it, and nothing that it sends after.
func (s *Server) Prepare(ctx context.Context, _ string) context.Context {
	if s.session == nil {
		return ctx
	}
	return context.WithValue(ctx, snapshotKey{}, s.session.Snapshot())
}

// snapshot is the one that a request was prepared with.
func (s *Server) snapshot(ctx context.Context) *cache.Snapshot {
	if snap, ok := ctx.Value(snapshotKey{}).(*cache.Snapshot); ok {
		return snap
	}
	return s.session.Snapshot()
}

// spawn runs f in the background until Close.
func (s *Server) spawn(f func(ctx context.Context)) {
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		defer func() {
			if r := recover(); r != nil {
				s.log.Error("a background task panicked", "panic", r)
			}
		}()
		f(s.background)
	}()
}

// shutdown lets the extension end its work while the client still listens.
func (s *Server) shutdown(ctx context.Context, _ json.RawMessage) (any, error) {
	if s.extension.Shutdown != nil {
		return nil, s.extension.Shutdown(ctx)
	}
	return nil, nil
}

// Close implements rpc.Handler.
func (s *Server) Close() error {
	s.stop()
	var err error
	if s.extension.Close != nil {
		err = s.extension.Close()
	}
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(closeWithin):
		// Something hangs that no context reaches, such as a read of a file
		// that is none. It must not keep the process.
		s.log.Warn("background work did not end in time", "after", closeWithin)
	}
	return err
}

// closeWithin is how long Close waits for the server's own work.
const closeWithin = time.Second

// executeCommand runs a command of the extension.
func (s *Server) executeCommand(ctx context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		Command   string            `json:"command"`
		Arguments []json.RawMessage `json:"arguments"`
	}](raw)
	if err != nil {
		return nil, err
	}
	handle, ok := s.extension.Commands[p.Command]
	if !ok {
		return nil, jsonrpc2.Errorf(jsonrpc2.InvalidParams, "there is no command %q", p.Command)
	}
	return handle(ctx, p.Arguments)
}

// progressCancelled passes on that the user cancelled something.
func (s *Server) progressCancelled(_ context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		Token json.RawMessage `json:"token"`
	}](raw)
	if err != nil {
		return nil, err
	}
	if s.extension.ProgressCancelled != nil && len(p.Token) > 0 {
		s.extension.ProgressCancelled(string(p.Token))
	}
	return nil, nil
}

// textDocumentContent serves the extension's own documents.
func (s *Server) textDocumentContent(ctx context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		URI string `json:"uri"`
	}](raw)
	if err != nil {
		return nil, err
	}
	if s.extension.Content == nil {
		return nil, jsonrpc2.Errorf(jsonrpc2.MethodNotFound, "the server has no documents of its own")
	}
	content, err := s.extension.Content(ctx, p.URI)
	if err != nil {
		return nil, err
	}
	return &protocol.TextDocumentContentResult{Text: content}, nil
}
