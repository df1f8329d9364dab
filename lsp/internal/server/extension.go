package server

import (
	"context"
	"encoding/json"
	"errors"

	"go.lsp.dev/protocol"

	"agent-ls/hooks/check"
	"agent-ls/loop/manifest"
	"agent-ls/lsp/internal/text"
)

// This file is the seam between the language server proper and what is built
// on top of it on the same connection (the bridge to runs). The server knows
// nothing of runs; an extension knows nothing of framing, order or documents.
//
// An extension's life: Extend is called when `initialize` arrives, before it
// is answered, and must return at once: no file, process, hook or model is
// touched. Initialized follows when the client said `initialized`. From then
// on handlers are called. Shutdown is called for the `shutdown` request; Close
// always, last, whatever ended the connection, and must return within a
// second or so: nothing may outlive it.

// Extend makes the extension of one connection. It must not block; host's
// methods that call the client work from Initialized on.
type Extend func(host *Host) *Extension

// Extension is what an extension offers. Every field may be nil.
type Extension struct {
	// Requests are handlers of custom requests by method (`agent/start`). They
	// run beside each other and beside everything else; the context ends on
	// `$/cancelRequest` and when the connection ends. What they return is
	// encoded with encoding/json unless it is a type of package protocol.
	// An error that is a *jsonrpc2.Error goes to the client as it is, a
	// cancelled context as -32800, any other as -32603.
	Requests map[string]RequestHandler
	// Notifications are handlers of custom notifications. They run in the
	// order of arrival, between document changes, and must not block.
	Notifications map[string]NotificationHandler
	// Commands are those of workspace/executeCommand, listed in the
	// capabilities. They run as Requests do.
	Commands map[string]CommandHandler
	// Content serves workspace/textDocumentContent for ContentSchemes.
	Content        func(ctx context.Context, uri string) (string, error)
	ContentSchemes []string
	// ProgressCancelled is told of window/workDoneProgress/cancel. The token
	// is the client's, as JSON text: `7` or `"abc"`.
	ProgressCancelled func(token string)
	// FoldersChanged is told after the workspace folders changed.
	FoldersChanged func()
	// ManifestChanged is told after a folder's configuration changed, with the
	// new one already in force; in the order of the changes, must not block.
	ManifestChanged func(root string)
	Initialized     func(ctx context.Context)
	Shutdown        func(ctx context.Context) error
	Close           func() error
}

// RequestHandler answers a request. params is owned by the handler; nil when
// the client sent none.
type RequestHandler func(ctx context.Context, params json.RawMessage) (any, error)

// NotificationHandler takes a notification.
type NotificationHandler func(ctx context.Context, params json.RawMessage)

// CommandHandler runs a command of workspace/executeCommand.
type CommandHandler func(ctx context.Context, arguments []json.RawMessage) (any, error)

// Host is what the server offers to an extension. All of it may be used from
// any goroutine.
type Host struct {
	Client    Client
	Documents Documents
	Workspace Workspace
	Findings  Findings
}

// Client calls the editor.
type Client interface {
	// Call sends a request and waits. When ctx ends first the client is sent
	// `$/cancelRequest` and ctx's error returned. Never call it from a
	// NotificationHandler or from Extend. result may be nil.
	Call(ctx context.Context, method string, params, result any) error
	// Notify sends a notification; notifications and requests of one goroutine
	// arrive in order.
	Notify(ctx context.Context, method string, params any) error
	// Capabilities says what the client declared in `initialize`.
	Capabilities() Capabilities
}

// Capabilities are what the client declared, as far as somebody asks.
type Capabilities struct {
	Name, Version string // clientInfo
	// Agent has the flags of capabilities.experimental.agent.
	Agent AgentCapabilities
	// Initialization is the client's initializationOptions, raw; nil if none.
	Initialization json.RawMessage
	// Standard is all the rest, as sent.
	Standard protocol.ClientCapabilities

	ShowDocument        bool // window.showDocument.support
	WorkDoneProgress    bool // window.workDoneProgress
	ApplyEdit           bool // workspace.applyEdit
	VersionedEdits      bool // workspace.workspaceEdit.documentChanges
	TextDocumentContent bool // workspace.textDocumentContent
	Configuration       bool // workspace.configuration
	PullDiagnostics     bool // textDocument.diagnostic
	WatchedFiles        bool // workspace.didChangeWatchedFiles.dynamicRegistration
}

// AgentCapabilities are the flags of `experimental.agent`; a method whose flag
// is false is never sent.
type AgentCapabilities struct {
	Version     int  `json:"version"`
	Approvals   bool `json:"approvals"`
	Questions   bool `json:"questions"`
	Events      bool `json:"events"`
	Decisions   bool `json:"decisions"`
	Save        bool `json:"save"`
	Diagnostics bool `json:"diagnostics"`
	LSP         bool `json:"lsp"`
}

// Document is one open document, as it was when asked for.
type Document struct {
	URI        string // as the client spells it
	Path       string // absolute, symlinks kept; "" unless it is a file
	LanguageID string
	Version    int32
	Dirty      bool // differs from the file on disk, or there is none
	Source     *text.Source
}

// Documents are the open ones: the truth for what they name, not the disk.
type Documents interface {
	// Open lists the open documents, by URI.
	Open() []Document
	// ByPath finds the open document of a file; symlinks are resolved on both
	// sides.
	ByPath(path string) (Document, bool)
	// ApplyEdit changes open documents through workspace/applyEdit, each at
	// the version that its edits were made for, and waits until the server has
	// seen the change, so that ByPath then returns the new text. It fails with
	// ErrVersionMoved when a document changed since, ErrNotOpen when one is
	// not open, ErrNoApplyEdit when the client cannot, ErrEditRefused when it
	// would not; nothing is changed then.
	ApplyEdit(ctx context.Context, label string, edits ...DocumentEdit) error
}

// DocumentEdit changes one open document. Edits are spans of bytes in the text
// of that version; they do not overlap.
type DocumentEdit struct {
	URI     string
	Version int32
	Edits   []check.Edit
}

// What ApplyEdit can fail with.
var (
	ErrVersionMoved = errors.New("the document has changed since the edit was made")
	ErrNotOpen      = errors.New("the document is not open")
	ErrNoApplyEdit  = errors.New("the editor cannot apply edits")
	ErrEditRefused  = errors.New("the editor refused the edit")
)

// Folder is a workspace folder.
type Folder struct {
	URI  string // as the client spells it
	Name string
	Root string // absolute, symlinks resolved
}

// Workspace is what the session knows of folders and places.
type Workspace interface {
	// Folders are the workspace folders, in the client's order. Without any, a
	// single file's folder counts.
	Folders() []Folder
	// Manifest loads the configuration of a folder through the open documents
	// and returns it with what is wrong: the fresh one, for run.Options. A
	// broken manifest gives the last good one and its findings.
	Manifest(ctx context.Context, root string) (*manifest.Config, []check.Finding)
	// DiskManifest loads it from the disk, whatever is open: what a run takes.
	DiskManifest(ctx context.Context, root string) (*manifest.Config, []check.Finding)
	// Reload reads what is configured by these files again, before it returns.
	Reload(paths ...string)
	// URI is how the client spells a path: the open document's own URI, else
	// a file URI under the folder's spelling.
	URI(path string) string
	// Path is the file of a URI, "" if it is none.
	Path(uri string) string
	// Encoding is the negotiated position encoding.
	Encoding() text.Encoding
	// Range converts a span of a file's present text (the open document's,
	// else the disk's).
	Range(path string, span check.Span) protocol.Range
	// Diagnostics groups findings by file as the client would be sent them,
	// for `data.diagnostics` of agent/start's error.
	Diagnostics([]check.Finding) []FileDiagnostics
}

// FileDiagnostics are the diagnostics of one file.
type FileDiagnostics struct {
	URI         string                `json:"uri"`
	Diagnostics []protocol.Diagnostic `json:"diagnostics"`
}

// Findings lets runs add what only they know.
type Findings interface {
	// SetRunFindings replaces the findings that runs have for a file
	// (`failed-at-run-time`). They show beside the checker's until the text of
	// the file changes. Spans are of the text with this digest (SHA-256, hex);
	// findings about another text than the present one are dropped. "" means
	// whatever the text is now.
	SetRunFindings(path, digest string, findings []check.Finding)
}
