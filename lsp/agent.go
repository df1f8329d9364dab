package lsp

import (
	"context"

	"agent-ls/loop/agent"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/bridge"
	"agent-ls/lsp/internal/server"
)

// extend is the extension that puts the agent on a connection. Nothing is
// started or read before a request needs a folder's service.
func (d Deps) extend() server.Extend {
	return bridge.New(bridge.Options{Open: d.openService, StateDir: d.StateDir, Log: d.Log})
}

// openService makes the service of a folder. Each folder has its own workers.
func (d Deps) openService(_ context.Context, p bridge.OpenParams) (run.API, error) {
	a, err := agent.Open(agent.Params{
		Root: p.Root, StateDir: d.StateDir, CacheDir: d.CacheDir,
		Manifest: p.Manifest, Files: p.Files, Frontend: p.Frontend, Editor: p.Editor,
		Executable: d.Executable, Version: d.Version, Log: d.Log,
	})
	if err != nil { // a nil *agent.Agent would not be a nil run.API
		return nil, err
	}
	return a, nil
}
