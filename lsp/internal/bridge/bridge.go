package bridge

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"agent-ls/hooks/check"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/run"
	"agent-ls/loop/tool"
	"agent-ls/lsp/internal/server"
)

// Options are what the bridge needs from the program around it.
type Options struct {
	// Open makes the service of one workspace folder; called once per folder,
	// at the first request that needs it.
	Open func(context.Context, OpenParams) (run.API, error)
	// Disk reads and writes files that are not open in the editor; that of
	// loop/tool if it is nil.
	Disk loop.Files
	// StateDir holds the documents that are shown to editors without
	// workspace/textDocumentContent.
	StateDir string
	Log      *slog.Logger
}

// OpenParams are what the bridge gives to the service of a folder.
type OpenParams struct {
	Root     string // absolute, symlinks resolved
	Manifest func(context.Context) (*manifest.Config, []check.Finding)
	Frontend run.Frontend
	Files    loop.Files // open documents before disk
	Editor   tool.Editor
}

// closeWait bounds how long Close waits for the services. What is left then
// ends with the process.
const closeWait = 1500 * time.Millisecond

// New returns what the server calls for each connection.
func New(opts Options) server.Extend {
	opts = opts.filled()
	return func(host *server.Host) *server.Extension { return newBridge(opts, host).extension() }
}

func (o Options) filled() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Disk == nil {
		o.Disk = tool.Disk("")
	}
	return o
}

// bridge is the agent's side of one connection.
type bridge struct {
	opts Options
	host *server.Host
	log  *slog.Logger

	wire      *wire
	files     *Files
	out       *outbox
	runs      *runs
	approvals *approvals
	findings  *runFindings
	content   *content
	shown     sync.Map // ids of the questions that are in front of the user

	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	tasks  sync.WaitGroup // goroutines that talk to the client beside requests

	replaysMu sync.Mutex
	replays   map[string]func() // what cancels those whose progress is shown, by token

	foldersMu sync.Mutex
	folders   map[string]*folder // by root; kept when the client removes one, for its runs
	closed    bool
}

func newBridge(opts Options, host *server.Host) *bridge {
	ctx, cancel := context.WithCancel(context.Background())
	b := &bridge{
		opts: opts, host: host, log: opts.Log, ctx: ctx, cancel: cancel,
		folders: map[string]*folder{}, replays: map[string]func(){},
	}
	b.files = newFiles(host, opts.Disk, opts.Log)
	b.wire = &wire{uri: host.Workspace.URI, encoding: host.Workspace.Encoding, source: b.files.source}
	b.out = newOutbox(ctx, host.Client, opts.Log)
	b.runs = newRuns()
	b.approvals = newApprovals()
	b.findings = newRunFindings(host.Findings)
	b.content = newContent(b)
	return b
}

func (b *bridge) extension() *server.Extension {
	return &server.Extension{
		Requests:          b.requests(),
		Commands:          b.commands(),
		Content:           b.content.read,
		ContentSchemes:    []string{contentScheme},
		ProgressCancelled: b.progressCancelled,
		ManifestChanged:   b.configurationChanged,
		Close:             b.close,
	}
}

// close ends what the connection carried. Runs stop where they are and can be
// resumed: their services are closed, nothing is cancelled.
func (b *bridge) close() error {
	b.foldersMu.Lock()
	b.closed = true
	open := make([]*folder, 0, len(b.folders))
	for _, f := range b.folders {
		open = append(open, f)
	}
	b.foldersMu.Unlock()

	b.cancel()
	done := make(chan error, 1)
	go func() {
		var errs []error
		for _, f := range open {
			errs = append(errs, f.close())
		}
		b.tasks.Wait()
		b.out.close()
		done <- errors.Join(errs...)
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(closeWait):
		return errors.New("closing: runs did not stop in time")
	}
}

// background runs fn beside the requests, until the connection ends.
func (b *bridge) background(fn func(context.Context)) {
	b.foldersMu.Lock()
	defer b.foldersMu.Unlock()
	if b.closed {
		return
	}
	b.tasks.Go(func() { fn(b.ctx) })
}
