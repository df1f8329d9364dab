// Package agent puts a workspace's agent together: its journal, the engine of
// its hooks, its models and the service that drives its runs. Start at Open.
// The command line and the language server both get theirs here, so that a
// run is the same in either.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/manifest"
	"agent-ls/loop/model"
	"agent-ls/loop/run"
	"agent-ls/loop/tool"
)

// Params are what an agent needs from the program around it.
type Params struct {
	Root     string // the workspace, absolute, symlinks resolved
	StateDir string // the user's state folder of agent-ls
	CacheDir string
	Manifest func(context.Context) (*manifest.Config, []check.Finding)
	Files    loop.Files
	Frontend run.Frontend
	Editor   tool.Editor // nil: no editor
	// Executable is what is started as a script worker; "" is this program.
	Executable string
	Version    string // of agent-ls, told to MCP servers
	Log        *slog.Logger
}

// Agent is a service with all that it stands on.
type Agent struct {
	*run.Service
	engine  *hooks.Engine
	journal *journal.Journal
}

// Open opens the workspace's journal and makes the service. No hook, model or
// worker is started before a run needs it.
func Open(p Params) (*Agent, error) {
	if p.StateDir == "" {
		return nil, errors.New("there is no state folder")
	}
	store, err := journal.Open(journal.Path(p.StateDir, p.Root))
	if err != nil {
		return nil, fmt.Errorf("open the journal of %s: %w", p.Root, err)
	}
	engine := hooks.NewEngine(hooks.Options{
		Log: p.Log, Executable: p.Executable,
	})
	return &Agent{engine: engine, journal: store, Service: run.New(run.Options{
		Root: p.Root, StateDir: p.StateDir, CacheDir: p.CacheDir,
		Manifest: p.Manifest, Journal: store, Hooks: engine,
		OpenModel: func(m manifest.Model) (loop.Model, error) {
			return model.Open(m, model.Options{Log: p.Log})
		},
		Files: p.Files, Frontend: p.Frontend, Editor: p.Editor, Version: p.Version, Log: p.Log,
	})}, nil
}

// Close stops the runs where they are, then what they stood on.
func (a *Agent) Close() error {
	err := a.Service.Close()
	a.engine.Close()
	return errors.Join(err, a.journal.Close())
}
