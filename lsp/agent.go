package lsp

import (
	"context"
	"errors"
	"sync"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/manifest"
	"agent-ls/loop/model"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/bridge"
	"agent-ls/lsp/internal/server"
)

// agents makes the services of one connection. Nothing is started or read
// before a request needs a folder's service.
type agents struct {
	deps   Deps
	engine *hooks.Engine

	mu   sync.Mutex
	open int // services that use the engine
}

// extend is the extension that puts the agent on a connection.
func (d Deps) extend() server.Extend {
	a := &agents{deps: d, engine: hooks.NewEngine(hooks.Options{Log: d.Log})}
	return bridge.New(bridge.Options{Open: a.service, StateDir: d.StateDir, Log: d.Log})
}

// service is the agent of one workspace folder.
func (a *agents) service(_ context.Context, p bridge.OpenParams) (run.API, error) {
	store, err := journal.Open(journal.Path(a.deps.StateDir, p.Root))
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open++
	service := run.New(run.Options{
		Root: p.Root, StateDir: a.deps.StateDir, CacheDir: a.deps.CacheDir,
		Manifest: p.Manifest, Journal: store, Hooks: a.engine,
		OpenModel: func(m manifest.Model) (loop.Model, error) {
			return model.Open(m, model.Options{Log: a.deps.Log})
		},
		Files: p.Files, Frontend: p.Frontend, Log: a.deps.Log,
	})
	return &openService{service, store, a}, nil
}

// openService closes with the service what it stands on.
type openService struct {
	*run.Service
	store *journal.Journal
	of    *agents
}

// Close implements run.API.
func (s *openService) Close() error {
	err := errors.Join(s.Service.Close(), s.store.Close())
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.open--; s.of.open == 0 {
		s.of.engine.Close()
	}
	return err
}
