package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/lsp/lsptest"
)

// languageServerVariable makes the test binary a small language server over
// standard input and output, for machines without gopls.
const languageServerVariable = "AGENT_LS_TEST_LANGUAGE_SERVER"

type lsPlace struct {
	URI   string  `json:"uri"`
	Range lsRange `json:"range"`
}

type lsRange struct {
	Start lsPoint `json:"start"`
	End   lsPoint `json:"end"`
}

type lsPoint struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// languageServer knows words: they are defined behind "func" and used wherever
// they stand, in the .go files of one folder.
func languageServer(in io.Reader, out io.Writer) {
	folder := ""
	r := bufio.NewReader(in)
	for {
		size := 0
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				size, _ = strconv.Atoi(v)
			}
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				WorkspaceFolders []struct{ URI string }
				TextDocument     struct{ URI string }
				Position         lsPoint
				Query, NewName   string
			}
		}
		if err := json.Unmarshal(body, &m); err != nil || m.ID == nil {
			continue
		}
		if len(m.Params.WorkspaceFolders) > 0 {
			u, _ := url.Parse(m.Params.WorkspaceFolders[0].URI)
			folder = u.Path
		}
		result := answerAsLanguageServer(folder, m.Method, m.Params.TextDocument.URI, m.Params.Position, m.Params.Query, m.Params.NewName)
		answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
		fmt.Fprint(out, lsptest.Frame(string(answer)))
	}
}

func answerAsLanguageServer(folder, method, uri string, at lsPoint, query, newName string) any {
	word := ""
	if u, err := url.Parse(uri); err == nil && strings.HasPrefix(method, "textDocument/") && method != "textDocument/documentSymbol" {
		text, _ := os.ReadFile(u.Path)
		if lines := strings.Split(string(text), "\n"); at.Line < len(lines) {
			word = regexp.MustCompile(`^\w+`).FindString(lines[at.Line][min(at.Character, len(lines[at.Line])):])
		}
	}
	switch method {
	case "initialize":
		return map[string]any{"capabilities": map[string]any{}}
	case "textDocument/definition":
		return find(folder, `func (`+word+`)\b`)
	case "textDocument/references":
		return find(folder, `\b(`+word+`)\b`)
	case "textDocument/rename":
		changes := map[string][]map[string]any{}
		for _, p := range find(folder, `\b(`+word+`)\b`) {
			changes[p.URI] = append(changes[p.URI], map[string]any{"range": p.Range, "newText": newName})
		}
		return map[string]any{"changes": changes}
	case "textDocument/documentSymbol", "workspace/symbol":
		symbols := []map[string]any{}
		for _, p := range find(folder, `func (\w*`+query+`\w*)\b`) {
			if query != "" || p.URI == uri {
				u, _ := url.Parse(p.URI)
				text, _ := os.ReadFile(u.Path)
				name := strings.Split(string(text), "\n")[p.Range.Start.Line][p.Range.Start.Character:p.Range.End.Character]
				symbols = append(symbols, map[string]any{"name": name, "kind": 12, "location": p})
			}
		}
		return symbols
	}
	return nil
}

// find lists where the first group of a pattern stands.
func find(folder, pattern string) []lsPlace {
	out := []lsPlace{}
	files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for n, line := range strings.Split(string(text), "\n") {
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatchIndex(line, -1) {
				out = append(out, lsPlace{(&url.URL{Scheme: "file", Path: f}).String(), lsRange{lsPoint{n, m[2]}, lsPoint{n, m[3]}}})
			}
		}
	}
	return out
}

// startLanguageServer starts gopls where it is, else the one above.
func startLanguageServer(t *testing.T, root string) *lsptest.Editor {
	t.Helper()
	cmd := exec.Command("gopls")
	if cmd.Err != nil {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command(self)
		cmd.Env = append(os.Environ(), languageServerVariable+"=1")
	}
	cmd.Dir = root
	server := lsptest.Command(t, cmd)
	server.Initialize(nil, lsptest.Folder((&url.URL{Scheme: "file", Path: root}).String()))
	for _, f := range []string{"calc.go", "use.go"} {
		text, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		server.Open((&url.URL{Scheme: "file", Path: filepath.Join(root, f)}).String(), "go", string(text))
	}
	return server
}

const navigationRehearsal = `turns:
  - tool_calls: [{ name: definition, arguments: { path: use.go, line: 3, symbol: Add } }]
  - tool_calls: [{ name: references, arguments: { path: calc.go, line: 3, symbol: Add } }]
  - tool_calls: [{ name: symbols, arguments: { path: calc.go } }]
  - tool_calls: [{ name: symbols, arguments: { query: Tw } }]
  - tool_calls: [{ name: definition, arguments: { path: refused.txt, line: 1, symbol: x } }]
  - tool_calls: [{ name: definition, arguments: { path: malformed.txt, line: 1, symbol: x } }]
  - tool_calls: [{ name: definition, arguments: { path: slow.txt, line: 1, symbol: x } }]
  - tool_calls: [{ name: rename, arguments: { path: calc.go, line: 3, symbol: Add, new_name: Sum } }]
  - text: "All found."
`

// TestTheEditorsLanguageServersAnswer has the agent navigate through an editor
// with a language server of its own: a server that answers, one that refuses,
// one that answers nonsense, and one that is so slow that the call is cancelled
// and its answer comes too late.
func TestTheEditorsLanguageServersAnswer(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "calc")
	for name, text := range map[string]string{
		".agent-ls/agent.toml": "[agent]\nname = \"coder\"\nmodel = \"play\"\n\n[models.play]\nprovider = \"rehearsal\"\nscript = \"play.yaml\"\n\n[stages.work]\ntools = [\"*\"]\n",
		".agent-ls/play.yaml":  navigationRehearsal,
		"go.mod":               "module calc\n\ngo 1.24\n",
		"calc.go":              "package calc\n\nfunc Add(a, b int) int { return a + b }\n",
		"use.go":               "package calc\n\nfunc Twice(a int) int { return Add(a, a) }\n",
		"refused.txt":          "x\n", "malformed.txt": "x\n", "slow.txt": "x\n",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	server := startLanguageServer(t, root)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--stdio")
	cmd.Env = append(crashEnv(dir), programVariable+"=1")
	cmd.Stderr = os.Stderr
	editor := lsptest.Command(t, cmd)
	late, asked := make(chan struct{}), make(chan struct{}, 1)
	letGo := sync.OnceFunc(func() { close(late) })
	defer letGo()
	editor.On("agent/clientLsp", func(raw json.RawMessage) (any, error) {
		var p struct {
			URI, Method string
			Params      json.RawMessage
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, err
		}
		switch filepath.Base(p.URI) {
		case "refused.txt":
			return nil, errors.New("no views in this session")
		case "malformed.txt":
			return "what?", nil
		case "slow.txt":
			asked <- struct{}{}
			<-late
			return []lsPlace{{URI: p.URI}}, nil
		}
		var result json.RawMessage
		err := server.Call(p.Method, p.Params, &result)
		return result, err
	})
	editor.On("agent/approve", func(json.RawMessage) (any, error) { return map[string]any{"outcome": "allowOnce"}, nil })
	editor.On("agent/event", func(json.RawMessage) (any, error) { return nil, nil })
	editor.Initialize(map[string]any{"experimental": map[string]any{"agent": map[string]any{"version": 1, "approvals": true, "events": true, "lsp": true}}},
		lsptest.Folder((&url.URL{Scheme: "file", Path: root}).String()))
	var started struct{ RunID string }
	editor.Must("agent/start", map[string]any{"prompt": "find it"}, &started)
	<-asked
	slow := eventOf(t, editor.Await("agent/event", func(raw json.RawMessage) bool {
		return strings.Contains(string(raw), "tool_started") && strings.Contains(string(raw), "slow.txt")
	}).Params)
	editor.Must("agent/cancel", map[string]any{"runId": started.RunID, "callId": slow.CallID}, nil)
	editor.Await("$/cancelRequest", nil)
	letGo()
	end := eventOf(t, editor.Await("agent/event", func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"run_finished"`) }).Params)
	if end.Status != report.Done || *end.Output != "All found." {
		t.Errorf("the run ended %s: %s", end.Status, end.Error)
	}
	checkNavigation(t, editor, root)
}

func checkNavigation(t *testing.T, editor *lsptest.Editor, root string) {
	t.Helper()
	want := []struct {
		outcome loop.CallOutcome
		parts   []string
	}{
		{loop.CallOK, []string{"calc.go:3:6: func Add"}},
		{loop.CallOK, []string{"calc.go:3:6", "use.go:3:32"}},
		{loop.CallOK, []string{"function Add"}},
		{loop.CallOK, []string{"function ", "Twice", "use.go:3"}},
		{loop.CallError, []string{"no views in this session"}},
		{loop.CallError, []string{"no list of places"}},
		{loop.CallCancelled, nil},
		{loop.CallOK, []string{"calc.go", "use.go"}},
	}
	n := 0
	for _, m := range editor.Messages("agent/event") {
		e := eventOf(t, m.Params)
		if e.Type != report.ToolFinished {
			continue
		}
		if n >= len(want) {
			t.Fatalf("one call too many: %s", m.Params)
		}
		w := want[n]
		if n++; loop.CallOutcome(e.Outcome) != w.outcome {
			t.Errorf("call %d ended as %s, want %s: %s", n, e.Outcome, w.outcome, *e.Output)
		}
		for _, part := range w.parts {
			if !strings.Contains(*e.Output, part) {
				t.Errorf("call %d: %q is not in %q", n, part, *e.Output)
			}
		}
	}
	if n != len(want) {
		t.Errorf("%d calls ended, want %d", n, len(want))
	}
	for file, text := range map[string]string{
		"calc.go": "package calc\n\nfunc Sum(a, b int) int { return a + b }\n", "use.go": "package calc\n\nfunc Twice(a int) int { return Sum(a, a) }\n",
	} {
		if b, err := os.ReadFile(filepath.Join(root, file)); err != nil || string(b) != text {
			t.Errorf("after the rename %s is %q, %v", file, b, err)
		}
	}
}

func eventOf(t *testing.T, raw json.RawMessage) report.Event {
	t.Helper()
	var e report.Event
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e
}
