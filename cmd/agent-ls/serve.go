package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"agent-ls/lsp"
)

func newServeCommand(dirs *folders) *cobra.Command {
	var (
		listen, socket, logFile string
		stdio                   bool
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the Language Server Protocol (what agent-ls does without a command)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseInSandbox("serve", true); err != nil {
				return err
			}
			log, closeLog, err := serverLog(logFile)
			if err != nil {
				return failed("%v", err)
			}
			defer closeLog()
			if err := dirs.resolvePlaces(); err != nil {
				return err
			}
			deps := lsp.Deps{
				Version:    version,
				UserConfig: dirs.userConfig,
				Environ:    os.Environ(),
				StateDir:   dirs.state,
				CacheDir:   dirs.cache,
				Log:        log,
			}
			return serveEnd(serveOn(cmd.Context(), listen, socket, deps))
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", true, "serve on standard input and output, the default")
	cmd.Flags().StringVar(&listen, "listen", "", "serve on a loopback address, such as 127.0.0.1:0; prints the address and a token on standard error")
	cmd.Flags().StringVar(&socket, "socket", "", "serve on a socket at this path, for this user only")
	cmd.Flags().StringVar(&logFile, "log", "", "append the log to this file instead of standard error")
	cmd.MarkFlagsMutuallyExclusive("listen", "socket")
	return cmd
}

// serveOn serves on what the flags say until the client is gone.
func serveOn(ctx context.Context, listen, socket string, deps lsp.Deps) error {
	switch {
	case listen != "":
		listener, token, err := lsp.ListenLocal(listen)
		if err != nil {
			return err
		}
		deps.Token = token
		fmt.Fprintf(os.Stderr, "listening on %s\ntoken %s\n", listener.Addr(), token)
		return lsp.ServeListener(ctx, listener, deps)
	case socket != "":
		listener, err := lsp.ListenSocket(socket)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "listening on %s\n", socket)
		return lsp.ServeListener(ctx, listener, deps)
	}
	// Whatever a library prints to standard output must not reach the client.
	protocol := os.Stdout
	os.Stdout = os.Stderr
	return lsp.Serve(ctx, lsp.Stdio(os.Stdin, protocol), deps)
}

// serveEnd turns how a connection ended into an exit status; the protocol
// wants 1 for an exit without shutdown.
func serveEnd(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, lsp.ErrNoShutdown) || errors.Is(err, lsp.ErrOrphaned) {
		return &statusError{statusFailed, ""}
	}
	return failed("serve: %v", err)
}

// serverLog opens the log: never standard output, which is the protocol's.
func serverLog(path string) (*slog.Logger, func(), error) {
	out, done := io.Writer(os.Stderr), func() {}
	if path != "" {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("open the log: %w", err)
		}
		out, done = f, func() { f.Close() }
	}
	level := slog.LevelInfo
	if text := os.Getenv("AGENT_LS_LOG"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			return nil, nil, fmt.Errorf("AGENT_LS_LOG=%s: want debug, info, warn or error", text)
		}
	}
	return slog.New(masking(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))), done, nil
}
