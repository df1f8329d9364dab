package lsp

import (
	"context"
	"errors"
	"fmt"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/manifest"
	"agent-ls/loop/model"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/bridge"
	"agent-ls/lsp/internal/server"
)

// service is what runs the agents of one folder, with what it stands on.
type service struct {
	*run.Service
	engine  *hooks.Engine
	journal *journal.Journal
}

// extend is the extension that puts the agent on a connection. Nothing is
// started or read before a request needs a folder's service.
func (d Deps) extend() server.Extend {
	return bridge.New(bridge.Options{Open: d.openService, StateDir: d.StateDir, Log: d.Log})
}

// openService makes the service of a folder.
func (d Deps) openService(_ context.Context, p bridge.OpenParams) (run.API, error) {
	if d.StateDir == "" {
		return nil, errors.New("the server has no state folder")
	}
	store, err := journal.Open(journal.Path(d.StateDir, p.Root))
	if err != nil {
		return nil, fmt.Errorf("opening the journal of %s: %w", p.Root, err)
	}
	// Each folder has its own workers; what scripts import is read as the
	// editor has it.
	engine := hooks.NewEngine(hooks.Options{Log: d.Log, Executable: d.Executable, ReadFile: func(path string) ([]byte, error) {
		file, err := p.Files.Read(context.Background(), path)
		return file.Bytes, err
	}})
	return &service{engine: engine, journal: store, Service: run.New(run.Options{
		Root: p.Root, StateDir: d.StateDir, CacheDir: d.CacheDir,
		Manifest: p.Manifest, Journal: store, Hooks: engine,
		OpenModel: func(m manifest.Model) (loop.Model, error) {
			return model.Open(m, model.Options{Log: d.Log})
		},
		Files: p.Files, Frontend: p.Frontend, Log: d.Log,
	})}, nil
}

// Close stops the runs where they are, then what they stood on.
func (s *service) Close() error {
	err := s.Service.Close()
	s.engine.Close()
	return errors.Join(err, s.journal.Close())
}
