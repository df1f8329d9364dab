// Package lsp is the language server: documents, diagnostics and features for
// hook scripts and manifests, and the agent itself over the same connection.
// Start at Serve.
package lsp

import "log/slog"

// Deps are what a server needs from the program around it. Nothing in it is
// touched before the client asks for something that needs it.
type Deps struct {
	Version string // shown as serverInfo.version
	// UserConfig is the user's config file, "" for none; it need not exist.
	UserConfig string
	// Environ is the environment as os.Environ has it.
	Environ  []string
	StateDir string // the state folder of agent-ls, created when needed
	CacheDir string
	Log      *slog.Logger
	// Token is what `initializationOptions.token` must equal; "" asks for none.
	Token string
}
