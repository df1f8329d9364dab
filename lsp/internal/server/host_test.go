package server_test

import (
	"encoding/json"
	"errors"
	"testing"

	"agent-ls/hooks/check"
	"agent-ls/lsp/internal/server"
	"agent-ls/lsp/lsptest"
)

// hosted starts a server whose host is given out.
func hosted(t *testing.T, capabilities, extra map[string]any) (*lsptest.Editor, *server.Host) {
	t.Helper()
	hosts := make(chan *server.Host, 1)
	e := start(t, server.Options{Extend: func(h *server.Host) *server.Extension {
		hosts <- h
		return nil
	}})
	e.Initialize(capabilities, extra)
	return e, <-hosts
}

func TestEditsOfOpenDocuments(t *testing.T) {
	plain := map[string]any{"workspace": map[string]any{"applyEdit": true}}
	for name, caps := range map[string]map[string]any{"with versions": modern, "without versions": plain} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, nil)
			e, host := hosted(t, caps, w.folder())
			uri := w.uri("notes.txt")
			w.write(t, "notes.txt", "a😀b\r\nc\r\n")
			e.Open(uri, "plaintext", "a😀b\r\nc\r\n")
			e.Must("textDocument/documentSymbol", lsptest.At(uri), nil) // it has been seen
			doc, ok := host.Documents.ByPath(w.path("notes.txt"))
			if !ok || doc.Dirty {
				t.Fatalf("the document is %+v, %v", doc, ok)
			}
			edit := server.DocumentEdit{URI: uri, Version: doc.Version, Edits: []check.Edit{
				{Span: check.Span{Start: 5, End: 6}, NewText: "B"}, {Span: check.Span{Start: 8, End: 9}, NewText: "CC"},
			}}
			if err := host.Documents.ApplyEdit(t.Context(), "test", edit); err != nil {
				t.Fatal(err)
			}
			doc, _ = host.Documents.ByPath(w.path("notes.txt"))
			if got := doc.Source.Text(); got != "a😀B\r\nCC\r\n" || !doc.Dirty || e.Document(uri).Text != got {
				t.Errorf("after the edit the server has %q, dirty %v", got, doc.Dirty)
			}
			if err := host.Documents.ApplyEdit(t.Context(), "test", edit); !errors.Is(err, server.ErrVersionMoved) {
				t.Errorf("the same edit again: %v", err)
			}
			edit.URI = w.uri("other.txt")
			if err := host.Documents.ApplyEdit(t.Context(), "test", edit); !errors.Is(err, server.ErrNotOpen) {
				t.Errorf("an edit of what is not open: %v", err)
			}
		})
	}
}

func TestEditsThatTheEditorWillNotMake(t *testing.T) {
	w := newWorkspace(t, nil)
	e, host := hosted(t, modern, w.folder())
	uri := w.uri("notes.txt")
	e.Open(uri, "plaintext", "text\n")
	e.Must("textDocument/documentSymbol", lsptest.At(uri), nil)
	edit := server.DocumentEdit{URI: uri, Version: 1, Edits: []check.Edit{{NewText: "x"}}}

	e.On("workspace/applyEdit", func(json.RawMessage) (any, error) {
		return map[string]any{"applied": false, "failureReason": "read only"}, nil
	})
	if err := host.Documents.ApplyEdit(t.Context(), "test", edit); !errors.Is(err, server.ErrEditRefused) {
		t.Errorf("a refused edit: %v", err)
	}
	// The user types while the edit is on its way.
	e.On("workspace/applyEdit", func(json.RawMessage) (any, error) {
		e.Change(uri, 0, 0, "typed ")
		e.Must("textDocument/documentSymbol", lsptest.At(uri), nil)
		return map[string]any{"applied": false}, nil
	})
	if err := host.Documents.ApplyEdit(t.Context(), "test", edit); !errors.Is(err, server.ErrVersionMoved) {
		t.Errorf("an edit that was overtaken: %v", err)
	}
	_, bare := hosted(t, nil, nil)
	if err := bare.Documents.ApplyEdit(t.Context(), "test", edit); !errors.Is(err, server.ErrNoApplyEdit) {
		t.Errorf("an edit by an editor that cannot: %v", err)
	}
}

func TestAFileOfAnAgentIsEnoughOfAWorkspace(t *testing.T) {
	w := newWorkspace(t, nil)
	e, host := hosted(t, modern, nil)
	uri := w.uri(".agent-ls/hooks/guard.risor")
	e.Open(uri, "risor", "func on_tol_call(ctx) {\n    return nil\n}\n")
	if got := e.Diagnostics(uri, 1); !has(got, "missing-function") {
		t.Errorf("the script has %v", lsptest.Codes(got))
	}
	if folders := host.Workspace.Folders(); len(folders) != 1 || folders[0].Name == "" {
		t.Errorf("the folders are %+v", folders)
	}
}

func TestClientSettingsAreALayer(t *testing.T) {
	w := newWorkspace(t, nil)
	e := start(t, server.Options{})
	e.On("workspace/configuration", func(json.RawMessage) (any, error) {
		return []any{map[string]any{"behavior": map[string]any{"max_concurrent_tols": 3}}}, nil
	})
	e.Initialize(map[string]any{"workspace": map[string]any{"configuration": true}}, w.folder())
	e.Await("window/logMessage", func(raw json.RawMessage) bool { return containsAll(string(raw), "max_concurrent_tols", "unknown-key") })
}

func TestFlagsOfTheClientAreReadOneByOne(t *testing.T) {
	_, host := hosted(t, map[string]any{"experimental": map[string]any{"agent": map[string]any{
		"version": 1, "approvals": true, "events": "yes", "save": true, "future": map[string]any{},
	}}}, nil)
	got := host.Client.Capabilities().Agent
	if want := (server.AgentCapabilities{Version: 1, Approvals: true, Save: true}); got != want {
		t.Errorf("the flags are %+v, want %+v", got, want)
	}
}
