package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-ls/loop/tool"
)

// servers is an editor with language servers and one file in it.
func servers(t *testing.T, content string) (*setting, *codeServers) {
	s := newSetting(t, content, true, true)
	s.caps.Agent.Diagnostics, s.caps.Agent.LSP = true, true
	b, _, _ := newTestBridge(t, s.fakeHost)
	return s, &codeServers{bridge: b, root: s.root()}
}

func TestWithoutTheFlagsNothingIsAsked(t *testing.T) {
	s, c := servers(t, "x\n")
	s.caps.Agent.Diagnostics, s.caps.Agent.LSP = false, false
	_, err := c.Diagnostics(t.Context(), []string{s.path})
	_, err2 := c.Navigate(t.Context(), tool.Navigation{Kind: tool.Definition, Path: s.path, Line: 1, Column: 1})
	if !errors.Is(err, tool.ErrNotOffered) || !errors.Is(err2, tool.ErrNotOffered) || len(s.got(methodClientDiagnostics))+len(s.got(methodClientLSP)) > 0 {
		t.Errorf("errors %v, %v", err, err2)
	}
}

func TestClientDiagnosticsAreVersioned(t *testing.T) {
	s, c := servers(t, "größe := 1\n")
	s.open(s.path, "größe := 1\n")
	doc, _ := s.Host.Documents.ByPath(s.path)
	version := doc.Version
	for late, v := range map[bool]int32{false: version, true: version - 1} {
		s.on(methodClientDiagnostics, func(_ context.Context, raw json.RawMessage) (any, error) {
			p := decodeJSON[ClientDiagnosticsParams](t, raw)
			return ClientDiagnosticsResult{Items: []DocumentDiagnostics{
				{URI: p.URIs[0], Version: &v, Diagnostics: []ClientDiagnostic{
					{Range: Range{Start: Position{0, 6}}, Severity: 2, Message: "m", Source: "ls", Code: json.RawMessage(`7`)},
					{Message: "no severity"}}},
				{URI: "file:///elsewhere", Diagnostics: []ClientDiagnostic{{Message: "not asked for"}}},
			}}, nil
		})
		got, err := c.Diagnostics(t.Context(), []string{s.path})
		want := []tool.FileDiagnostics{{Path: s.path, Late: late, Items: []tool.Diagnostic{
			{Line: 1, Column: 7, Severity: "warning", Message: "m", Source: "ls", Code: "7"},
			{Line: 1, Column: 1, Severity: "error", Message: "no severity"},
		}}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("version %d of %d: %v (-want +got):\n%s", v, version, err, diff)
		}
	}
}

func TestNavigation(t *testing.T) {
	s, c := servers(t, "😀 a := b\nb = 1\n")
	uri := c.uriOf(s.path)
	at := func(line, from, to uint32) Range { return Range{Position{line, from}, Position{line, to}} }
	tests := map[string]struct {
		ask    tool.Navigation
		answer any
		method string
		params string // part of what was asked
		want   []tool.Place
		edit   string // what the file would be
		fails  string
	}{
		"a definition": {tool.Navigation{Kind: tool.Definition, Path: s.path, Line: 1, Column: 8}, Location{uri, at(1, 0, 1)}, "textDocument/definition",
			`"position":{"line":0,"character":8}`, []tool.Place{{Path: s.path, Line: 2, EndLine: 2, Column: 1}}, "", ""},
		"links": {tool.Navigation{Kind: tool.Definition, Path: s.path, Line: 2, Column: 1},
			[]any{map[string]any{"targetUri": uri, "targetSelectionRange": at(0, 8, 9)}, map[string]any{"targetUri": "jdt:x"}}, "textDocument/definition",
			`"position":{"line":1,"character":0}`, []tool.Place{{Path: s.path, Line: 1, EndLine: 1, Column: 8}}, "", ""},
		"no references": {tool.Navigation{Kind: tool.References, Path: s.path, Line: 2, Column: 1}, nil, "textDocument/references", `"includeDeclaration":true`, nil, "", ""},
		"symbols of a file": {tool.Navigation{Kind: tool.Symbols, Path: s.path},
			[]any{map[string]any{"name": "T", "kind": 23, "selectionRange": at(0, 0, 1), "children": []any{map[string]any{"name": "f", "kind": 99, "selectionRange": at(1, 2, 3)}}}},
			"textDocument/documentSymbol", `"textDocument"`, []tool.Place{{Path: s.path, Line: 1, Column: 1, Name: "T", Kind: "struct"}, {Path: s.path, Line: 2, Column: 3, Name: "f", Kind: "symbol", Depth: 1}}, "", ""},
		"symbols of the workspace": {tool.Navigation{Kind: tool.Symbols, Query: "T"}, []any{map[string]any{"name": "T", "kind": 5, "location": Location{uri, at(1, 0, 1)}}},
			"workspace/symbol", `"query":"T"`, []tool.Place{{Path: s.path, Line: 2, Name: "T", Kind: "class"}}, "", ""},
		"a rename": {tool.Navigation{Kind: tool.Rename, Path: s.path, Line: 2, Column: 1, NewName: "cc"},
			map[string]any{"changes": map[string]any{uri: []textEdit{{at(1, 0, 1), "cc"}, {at(0, 8, 9), "cc"}}}}, "textDocument/rename", `"newName":"cc"`, nil, "😀 a := cc\ncc = 1\n", ""},
		"a rename that moves files": {tool.Navigation{Kind: tool.Rename, Path: s.path, Line: 2, Column: 1, NewName: "cc"},
			map[string]any{"documentChanges": []any{map[string]any{"kind": "rename"}}}, "textDocument/rename", "", nil, "", "would rename files"},
		"edits that overlap": {tool.Navigation{Kind: tool.Rename, Path: s.path, Line: 2, Column: 1, NewName: "cc"},
			map[string]any{"changes": map[string]any{uri: []textEdit{{at(1, 0, 3), "x"}, {at(1, 2, 4), "y"}}}}, "textDocument/rename", "", nil, "", "overlap"},
		"no answer that fits": {tool.Navigation{Kind: tool.Definition, Path: s.path, Line: 1, Column: 1}, "what?", "textDocument/definition", "", nil, "", "no list of places"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var asked ClientLSPParams
			s.on(methodClientLSP, func(_ context.Context, raw json.RawMessage) (any, error) {
				asked = decodeJSON[ClientLSPParams](t, raw)
				return tt.answer, nil
			})
			got, err := c.Navigate(t.Context(), tt.ask)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil || asked.Method != tt.method || !strings.Contains(string(asked.Params), tt.params) {
				t.Errorf("asked %s %s, %v; want %s with %s", asked.Method, asked.Params, err, tt.method, tt.params)
			}
			if diff := cmp.Diff(tt.want, got.Places); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
			if tt.edit != "" && (len(got.Edits) != 1 || string(got.Edits[0].After) != tt.edit || got.Edits[0].Path != filepath.Join(s.root(), "a.txt")) {
				t.Errorf("edits %+v, want %q", got.Edits, tt.edit)
			}
		})
	}
}
