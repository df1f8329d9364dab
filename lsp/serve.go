// Package lsp is the language server: documents, diagnostics and features for
// hook scripts and manifests, and the agent itself over the same connection.
// Start at Serve.
package lsp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"

	"agent-ls/loop/trust"
	"agent-ls/lsp/internal/rpc"
	"agent-ls/lsp/internal/server"
)

// Deps are what a server needs from the program around it. Nothing in it is
// touched before the client asks for something that needs it.
type Deps struct {
	Version string // shown as serverInfo.version
	// UserConfig and OrgPolicy are the settings files outside of workspaces;
	// "" means the usual places. They need not exist.
	UserConfig, OrgPolicy string
	// Environ is the environment as os.Environ has it.
	Environ  []string
	StateDir string // the state folder of agent-ls, created when needed
	CacheDir string
	// Executable is started for script workers; "" means this program.
	Executable string
	Log        *slog.Logger
	// Token is what `initializationOptions.token` must equal; "" asks for none.
	Token string
}

// How a connection can end other than well; for a process both mean exit
// status 1.
var (
	// ErrNoShutdown: the client said exit, or was gone, without shutdown.
	ErrNoShutdown = rpc.ErrNoShutdown
	// ErrOrphaned: the process that the client named is gone.
	ErrOrphaned = rpc.ErrOrphaned
	// ErrUnauthorized: the client's token was not ours.
	ErrUnauthorized = rpc.ErrUnauthorized
)

// Serve serves one client over a byte stream and returns when it is gone: nil
// if it left as the protocol says or ctx ended. Everything that was started
// for it has ended by then, or has been told to.
func Serve(ctx context.Context, stream io.ReadWriteCloser, deps Deps) error {
	_, err := serve(ctx, stream, deps)
	return err
}

// serve also says whether the client came as far as to be initialized.
func serve(ctx context.Context, stream io.ReadWriteCloser, deps Deps) (initialized bool, err error) {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	trusted := trust.New(deps.StateDir)
	defer func() { err = errors.Join(err, trusted.Close()) }()
	conn := rpc.New(stream, rpc.Options{Log: deps.Log, Token: deps.Token})
	err = conn.Serve(ctx, server.New(conn, server.Options{
		Version: deps.Version, UserConfig: deps.UserConfig, OrgPolicy: deps.OrgPolicy, Environ: deps.Environ,
		Log: deps.Log, Trust: trusted,
		Extend:        deps.extend(),
		ReferencePage: referencePage(deps.CacheDir, deps.Log),
	}))
	return conn.Initialized(), err
}

// Stdio joins standard input and output to a stream for Serve. Nothing else
// may write to out.
func Stdio(in io.Reader, out io.Writer) io.ReadWriteCloser { return rpc.Stdio(in, out) }

// ListenLocal listens on a loopback address such as "127.0.0.1:0". The token
// is for Deps, and for the user to give to the editor.
func ListenLocal(address string) (listener net.Listener, token string, err error) {
	return rpc.ListenLocal(address)
}

// ListenSocket listens on a socket in the file system with mode 0600.
func ListenSocket(path string) (net.Listener, error) { return rpc.ListenSocket(path) }

// ServeListener serves every client that connects, each by itself. It returns
// when the last one is gone, so that nothing is left behind, or when ctx ends.
// A connection that was never initialized, for want of the token or because it
// was somebody's probe, does not count.
func ServeListener(ctx context.Context, listener net.Listener, deps Deps) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var clients sync.WaitGroup
	defer clients.Wait()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()

	var mu sync.Mutex // guards what follows
	open, served, last := 0, false, error(nil)
	for {
		conn, err := listener.Accept()
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return last
			}
			return err
		}
		mu.Lock()
		open++
		mu.Unlock()
		clients.Go(func() {
			initialized, err := serve(ctx, conn, deps)
			mu.Lock()
			defer mu.Unlock()
			open--
			if initialized {
				served, last = true, err
			}
			if served && open == 0 {
				cancel()
			}
		})
	}
}
