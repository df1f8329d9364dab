package server

import (
	"context"
	"encoding/json"
	"maps"

	"go.lsp.dev/protocol"

	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/text"
)

// settingsSection is ours in the client's configuration.
const settingsSection = "agent-ls"

type workspaceFolder struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

func cacheFolders(folders []workspaceFolder) []cache.Folder {
	out := make([]cache.Folder, len(folders))
	for i, f := range folders {
		out[i] = cache.Folder{URI: f.URI, Name: f.Name}
	}
	return out
}

func (s *Server) didChangeWorkspaceFolders(_ context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		Event struct {
			Added   []workspaceFolder `json:"added"`
			Removed []workspaceFolder `json:"removed"`
		} `json:"event"`
	}](raw)
	if err != nil {
		return nil, err
	}
	s.session.ChangeFolders(cacheFolders(p.Event.Added), cacheFolders(p.Event.Removed))
	return nil, nil
}

func (s *Server) didChangeWatchedFiles(_ context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		Changes []struct {
			URI string `json:"uri"`
		} `json:"changes"`
	}](raw)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, c := range p.Changes {
		if path := text.Path(c.URI); path != "" {
			paths = append(paths, path)
		}
	}
	s.session.ChangeFiles(paths)
	return nil, nil
}

// didChangeFiles takes files that the editor itself created, renamed or
// deleted; watching may be slower.
func (s *Server) didChangeFiles(_ context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		Files []struct {
			URI    string `json:"uri"`
			OldURI string `json:"oldUri"`
			NewURI string `json:"newUri"`
		} `json:"files"`
	}](raw)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range p.Files {
		for _, uri := range []string{f.URI, f.OldURI, f.NewURI} {
			if path := text.Path(uri); path != "" {
				paths = append(paths, path)
			}
		}
	}
	s.session.ChangeFiles(paths)
	return nil, nil
}

// didChangeConfiguration asks for the settings if the client lets us, and
// takes what it sent otherwise.
func (s *Server) didChangeConfiguration(_ context.Context, raw json.RawMessage) (any, error) {
	if s.caps.Configuration {
		s.spawn(s.askConfiguration)
		return nil, nil
	}
	p, err := decode[struct {
		Settings map[string]json.RawMessage `json:"settings"`
	}](raw)
	if err != nil {
		return nil, err
	}
	section, ok := p.Settings[settingsSection]
	if !ok {
		return nil, nil
	}
	var settings map[string]any
	if err := json.Unmarshal(section, &settings); err != nil {
		return nil, err
	}
	s.applySettings(settings)
	return nil, nil
}

// askConfiguration asks the client for its settings.
func (s *Server) askConfiguration(ctx context.Context) {
	params := map[string]any{"items": []map[string]any{{"section": settingsSection}}}
	var items []json.RawMessage
	if err := s.conn.Call(ctx, protocol.MethodWorkspaceConfiguration, params, &items); err != nil {
		s.log.Warn("asking the client for its settings", "error", err)
		return
	}
	var settings map[string]any
	if len(items) > 0 && string(items[0]) != "null" {
		if err := json.Unmarshal(items[0], &settings); err != nil {
			s.log.Warn("the client's settings are no object", "error", err)
			return
		}
	}
	s.applySettings(settings)
}

// applySettings puts settings over the initialization options. Nothing that
// says the same again causes work.
func (s *Server) applySettings(settings map[string]any) {
	merged := s.initializationSettings()
	if len(settings) == 0 && len(merged) == 0 {
		return
	}
	maps.Copy(merged, settings)
	s.session.ChangeSettings(merged)
}

// initializationSettings are the initializationOptions without what is about
// the connection.
func (s *Server) initializationSettings() map[string]any {
	settings := map[string]any{}
	if len(s.caps.Initialization) > 0 {
		_ = json.Unmarshal(s.caps.Initialization, &settings) // another shape is no settings, and warnOfInitialization says so
	}
	delete(settings, "token")
	if settings == nil {
		settings = map[string]any{}
	}
	return settings
}

// warnOfInitialization tells an editor whose initializationOptions are of
// another shape that none of them counts.
func (s *Server) warnOfInitialization(ctx context.Context) {
	var object map[string]any
	if len(s.caps.Initialization) == 0 || json.Unmarshal(s.caps.Initialization, &object) == nil {
		return
	}
	params := map[string]any{"type": protocol.MessageTypeWarning, "message": "agent-ls: initializationOptions is not an object, so none of its settings counts"}
	if err := s.conn.Notify(ctx, protocol.MethodWindowShowMessage, params); err != nil && ctx.Err() == nil {
		s.log.Warn("telling the client about its initializationOptions", "error", err)
	}
}
