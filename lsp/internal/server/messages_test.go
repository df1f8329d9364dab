package server_test

import (
	"encoding/json"
	"testing"

	"agent-ls/lsp/internal/server"
	"agent-ls/lsp/lsptest"
)

// TestParametersOfEveryShape sends every method parameters that it does not
// expect. None may end the server, and each request is answered.
func TestParametersOfEveryShape(t *testing.T) {
	shapes := []string{
		`null`, `{}`, `[]`, `"x"`, `5`, `{"textDocument":null}`, `{"textDocument":{"uri":null}}`, `{"textDocument":{"uri":5}}`,
		`{"textDocument":{"uri":"untitled:a"},"position":null}`,
		`{"textDocument":{"uri":"untitled:a"},"position":{"line":-1,"character":1e300}}`,
		`{"textDocument":{"uri":"untitled:a"},"position":{"line":4294967296,"character":0.5}}`,
		`{"textDocument":{"uri":"untitled:a"},"range":{"start":{"line":9,"character":9},"end":{"line":0,"character":0}},"context":{"only":[""]}}`,
		`{"textDocument":{"uri":"untitled:a","version":null},"contentChanges":[{"range":null,"text":"x"}]}`,
		`{"textDocument":{"uri":"untitled:a","version":1e9},"contentChanges":[{"range":{"start":{"line":99,"character":99},"end":{"line":0,"character":0}},"text":"y"}]}`,
		`{"textDocument":{"uri":"untitled:a","version":99},"contentChanges":null}`,
		`{"textDocument":{"uri":"untitled:a"},"contentChanges":[5]}`,
		`{"event":{"added":[{"uri":"file:////x"},{"uri":""},{}],"removed":null}}`, `{"event":null}`,
		`{"changes":[{"uri":"file:///nowhere/.agent-ls/agent.toml","type":1},{"uri":"nonsense"},{}]}`, `{"changes":5}`,
		`{"files":[{"uri":"file:///x"},{"oldUri":"a","newUri":"b"}]}`,
		`{"settings":{"agent-ls":{"behavior":{"max_concurrent_tools":"many"}}}}`, `{"settings":null}`, `{"settings":[1]}`,
		`{"previousResultIds":null}`, `{"command":"x","arguments":5}`, `{"token":null}`,
	}
	notifications := []string{
		"initialized", "textDocument/didOpen", "textDocument/didChange", "textDocument/didSave", "textDocument/didClose", "textDocument/willSave",
		"workspace/didChangeWatchedFiles", "workspace/didChangeWorkspaceFolders", "workspace/didChangeConfiguration",
		"workspace/didCreateFiles", "workspace/didRenameFiles", "workspace/didDeleteFiles", "window/workDoneProgress/cancel",
		"$/setTrace", "$/progress", "notebookDocument/didOpen",
	}
	requests := []string{
		"textDocument/hover", "textDocument/completion", "textDocument/definition", "textDocument/references", "textDocument/documentSymbol",
		"textDocument/codeAction", "textDocument/diagnostic", "workspace/executeCommand", "workspace/textDocumentContent",
		"textDocument/formatting", "textDocument/rename", "completionItem/resolve", "workspace/symbol",
	}
	e := start(t, server.Options{})
	e.Initialize(nil, nil)
	e.Open("untitled:a", "risor", plainGuard)
	var pending []*lsptest.Pending
	for _, shape := range shapes {
		for _, method := range notifications {
			e.Notify(method, json.RawMessage(shape))
		}
		for _, method := range requests {
			pending = append(pending, e.Send(method, json.RawMessage(shape)))
		}
	}
	for _, p := range pending {
		switch code := lsptest.Code(p.Result(nil)); code {
		case 0, -32601, -32602:
		default:
			t.Errorf("%s was answered with code %d", p.Method, code)
		}
	}
	e.Open("untitled:b", "risor", plainGuard)
	e.Diagnostics("untitled:b", 1)
	if err := e.Quit(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestABurstIsAppliedInOrder types 3,000 characters at once and asks for what
// is there.
func TestABurstIsAppliedInOrder(t *testing.T) {
	e := start(t, server.Options{})
	e.Initialize(nil, nil)
	const uri, n = "untitled:a", 3_000
	e.Open(uri, "risor", "")
	content := ""
	for i := range n {
		piece := string(rune('a'+i%26)) + "\n"
		if i%7 == 0 {
			piece = "// 😀\r\n"
		}
		e.Change(uri, len(content), len(content), piece)
		content += piece
	}
	version := e.Change(uri, len(content), len(content), "func on_error(ctx) { return nil }\n")
	var symbols []struct {
		Name     string           `json:"name"`
		Location lsptest.Location `json:"location"`
	}
	e.Must("textDocument/documentSymbol", lsptest.At(uri), &symbols)
	if len(symbols) != 1 || symbols[0].Name != "on_error" || symbols[0].Location.Range.Start.Line != n {
		t.Errorf("after the burst the symbols are %+v", symbols)
	}
	for _, d := range e.Diagnostics(uri, version) {
		if at := e.TextAt(uri, d.Range); len(at) == 0 && d.Code == "undefined" {
			t.Errorf("a finding about nothing: %+v", d)
		}
	}
}
