package server_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/lsp/internal/rpc"
	"agent-ls/lsp/internal/server"
	"agent-ls/lsp/internal/text"
	"agent-ls/lsp/lsptest"
)

// workspace is a folder with an agent.
type workspace struct {
	root string
}

const plainManifest = `[agent]
name = "test"

[stages.main]
tools = ["read_file"]

[stages.main.hooks]
on_tool_call = "hooks/guard.risor"
`

const plainGuard = `func on_tool_call(ctx) {
    return nil
}
`

// newWorkspace writes files; the plain agent if there are none.
func newWorkspace(t testing.TB, files map[string]string) *workspace {
	t.Helper()
	if files == nil {
		files = map[string]string{".agent-ls/agent.toml": plainManifest, ".agent-ls/hooks/guard.risor": plainGuard}
	}
	w := &workspace{t.TempDir()}
	for name, content := range files {
		w.write(t, name, content)
	}
	return w
}

func (w *workspace) path(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }
func (w *workspace) uri(name string) string  { return text.FileURI(w.path(name)) }
func (w *workspace) folder() map[string]any  { return lsptest.Folder(text.FileURI(w.root)) }

func (w *workspace) write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// start runs a server that sees nothing of the machine's own settings.
func start(t testing.TB, opts server.Options) *lsptest.Editor {
	t.Helper()
	if opts.UserConfig == "" {
		opts.UserConfig = filepath.Join(t.TempDir(), "config.toml")
	}
	if opts.OrgPolicy == "" {
		opts.OrgPolicy = filepath.Join(t.TempDir(), "policy.toml")
	}
	if opts.Environ == nil {
		opts.Environ = []string{}
	}
	return lsptest.Start(t, func(ctx context.Context, stream io.ReadWriteCloser) error {
		conn := rpc.New(stream, rpc.Options{})
		return conn.Serve(ctx, server.New(conn, opts))
	})
}

func has(diagnostics []lsptest.Diagnostic, code string) bool {
	for _, d := range diagnostics {
		if d.Code == code {
			return true
		}
	}
	return false
}

func TestManifestDiagnosticsFollowTheBuffer(t *testing.T) {
	w := newWorkspace(t, nil)
	e := start(t, server.Options{})
	e.Initialize(nil, w.folder())
	uri := w.uri(".agent-ls/agent.toml")
	e.Open(uri, "toml", plainManifest)
	if got := e.Diagnostics(uri, 1); len(got) != 0 {
		t.Errorf("a good manifest has %v", lsptest.Codes(got))
	}
	v := e.Replace(uri, "tools =", "toolz =")
	got := e.Diagnostics(uri, v)
	if len(got) != 1 || got[0].Code != "unknown-key" {
		t.Fatalf("a misspelt key gives %v", lsptest.Codes(got))
	}
	if at := e.TextAt(uri, got[0].Range); at != "toolz" {
		t.Errorf("the finding is at %q", at)
	}
	if got[0].Source != "agent-ls" || got[0].Severity != 1 {
		t.Errorf("source and severity are %q and %d", got[0].Source, got[0].Severity)
	}
	v = e.Replace(uri, "toolz =", "tools =")
	if got := e.Diagnostics(uri, v); len(got) != 0 {
		t.Errorf("after the correction there is %v", lsptest.Codes(got))
	}
}

func TestEachVersionIsPublishedAtMostOnce(t *testing.T) {
	w := newWorkspace(t, nil)
	e := start(t, server.Options{})
	e.Initialize(nil, w.folder())
	uri := w.uri(".agent-ls/agent.toml")
	e.Open(uri, "toml", plainManifest)
	last := 0
	for range 200 {
		last = e.Change(uri, 0, 0, "# x\n")
	}
	e.Diagnostics(uri, last)
	seen, newest := map[int]int{}, 0
	for _, m := range e.Messages("textDocument/publishDiagnostics") {
		var p lsptest.Published
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Fatal(err)
		}
		if p.URI != uri || p.Version == nil {
			continue
		}
		seen[*p.Version]++
		if *p.Version < newest {
			t.Errorf("version %d was published after %d", *p.Version, newest)
		}
		newest = *p.Version
	}
	for v, n := range seen {
		if n > 1 {
			t.Errorf("version %d was published %d times", v, n)
		}
	}
	if len(seen) > 100 {
		t.Errorf("a burst of 200 changes made %d publications", len(seen))
	}
}

func TestFilesOfTheAgentAreDiagnosedWithoutBeingOpen(t *testing.T) {
	w := newWorkspace(t, map[string]string{
		".agent-ls/agent.toml": strings.Replace(plainManifest, "tools =", "toolz =", 1), ".agent-ls/hooks/guard.risor": plainGuard,
	})
	e := start(t, server.Options{})
	e.Initialize(nil, w.folder())
	uri := w.uri(".agent-ls/agent.toml")
	if got := e.Diagnostics(uri, 0); !has(got, "unknown-key") {
		t.Errorf("the closed manifest has %v", lsptest.Codes(got))
	}
	// Opened and closed again, it is still part of the agent.
	e.Open(uri, "toml", plainManifest)
	e.Diagnostics(uri, 1)
	e.Close(uri)
	e.AwaitDiagnostics(uri, func(p lsptest.Published) bool {
		return p.Version == nil && has(p.Diagnostics, "unknown-key") && len(e.Shown(uri)) > 0
	})
	// Deleted, it is not.
	if err := os.Remove(w.path(".agent-ls/agent.toml")); err != nil {
		t.Fatal(err)
	}
	e.Notify("workspace/didChangeWatchedFiles", map[string]any{"changes": []any{map[string]any{"uri": uri, "type": 3}}})
	e.AwaitDiagnostics(uri, func(p lsptest.Published) bool { return p.Version == nil && len(p.Diagnostics) == 0 })
}

func TestADocumentOutsideIsClearedOnClose(t *testing.T) {
	w := newWorkspace(t, nil)
	other := newWorkspace(t, map[string]string{})
	e := start(t, server.Options{})
	e.Initialize(nil, w.folder())
	uri := other.uri(".agent-ls/agent.toml")
	e.Open(uri, "toml", "[agent]\nnaem = 1\n")
	if got := e.Diagnostics(uri, 1); !has(got, "unknown-key") {
		t.Fatalf("the manifest has %v", lsptest.Codes(got))
	}
	e.Close(uri)
	if got := e.Diagnostics(uri, 0); len(got) != 0 {
		t.Errorf("after close there is %v", lsptest.Codes(got))
	}
}

func TestChangesOnTheDiskAreSeenWithoutTheClientsHelp(t *testing.T) {
	w := newWorkspace(t, nil)
	e := start(t, server.Options{})
	e.Initialize(nil, w.folder())
	uri := w.uri(".agent-ls/agent.toml")
	e.Open(uri, "toml", plainManifest) // so that the first look was taken
	e.Diagnostics(uri, 1)
	e.Close(uri)
	w.write(t, ".agent-ls/agent.toml", "[agent]\nnaem = 1\n")
	e.AwaitDiagnostics(uri, func(p lsptest.Published) bool { return has(p.Diagnostics, "unknown-key") })
}

func TestWatchingIsLeftToAClientThatCan(t *testing.T) {
	w := newWorkspace(t, nil)
	e := start(t, server.Options{})
	e.Initialize(map[string]any{"workspace": map[string]any{"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true}}}, w.folder())
	m := e.Await("client/registerCapability", nil)
	if !strings.Contains(string(m.Params), "**/.agent-ls/**") {
		t.Errorf("the registration is %s", m.Params)
	}
}

func TestTheOverlayCountsAcrossFiles(t *testing.T) {
	w := newWorkspace(t, nil)
	e := start(t, server.Options{})
	e.Initialize(nil, w.folder())
	manifest, guard := w.uri(".agent-ls/agent.toml"), w.uri(".agent-ls/hooks/guard.risor")
	e.Open(manifest, "toml", plainManifest)
	e.Diagnostics(manifest, 1)
	e.Open(guard, "risor", plainGuard)
	e.Diagnostics(guard, 1)
	e.Replace(guard, "on_tool_call", "on_tol_call")
	got := e.AwaitDiagnostics(manifest, func(p lsptest.Published) bool { return has(p.Diagnostics, "missing-function") })
	if at := e.TextAt(manifest, got[0].Range); at != `"hooks/guard.risor"` && at != "hooks/guard.risor" {
		t.Errorf("the finding is at %q", at)
	}
	e.Replace(guard, "on_tol_call", "on_tool_call")
	e.AwaitDiagnostics(manifest, func(p lsptest.Published) bool { return len(p.Diagnostics) == 0 && len(e.Shown(manifest)) == 0 })
}

func TestPullingClientsGetNoPushes(t *testing.T) {
	w := newWorkspace(t, nil)
	e := start(t, server.Options{})
	raw := e.Initialize(map[string]any{
		"textDocument": map[string]any{"diagnostic": map[string]any{}},
		"workspace":    map[string]any{"diagnostics": map[string]any{"refreshSupport": true}},
	}, w.folder())
	if !strings.Contains(string(raw), `"diagnosticProvider":{"identifier":"agent-ls","interFileDependencies":true,"workspaceDiagnostics":true}`) {
		t.Errorf("the capabilities are %s", raw)
	}
	uri := w.uri(".agent-ls/agent.toml")
	e.Open(uri, "toml", strings.Replace(plainManifest, "tools =", "toolz =", 1))
	var report struct {
		Kind     string               `json:"kind"`
		ResultID string               `json:"resultId"`
		Items    []lsptest.Diagnostic `json:"items"`
	}
	e.Must("textDocument/diagnostic", lsptest.At(uri), &report)
	if report.Kind != "full" || !has(report.Items, "unknown-key") {
		t.Fatalf("the report is %+v", report)
	}
	again := lsptest.At(uri)
	again["previousResultId"] = report.ResultID
	report.Items = nil
	e.Must("textDocument/diagnostic", again, &report)
	if report.Kind != "unchanged" {
		t.Errorf("the second report is %+v", report)
	}
	e.Replace(uri, "toolz", "tools")
	e.Must("textDocument/diagnostic", again, &report)
	if report.Kind != "full" || len(report.Items) != 0 {
		t.Errorf("the report after the correction is %+v", report)
	}
	e.Await("workspace/diagnostic/refresh", nil)
	if n := len(e.Messages("textDocument/publishDiagnostics")); n != 0 {
		t.Errorf("%d pushes came all the same", n)
	}
}

func TestWorkspacePullIsHeldUntilSomethingChanges(t *testing.T) {
	w := newWorkspace(t, nil)
	e := start(t, server.Options{})
	e.Initialize(map[string]any{"textDocument": map[string]any{"diagnostic": map[string]any{}}}, w.folder())
	uri := w.uri(".agent-ls/agent.toml")
	e.Open(uri, "toml", plainManifest)
	p := e.Send("workspace/diagnostic", map[string]any{"previousResultIds": []any{}})
	e.Must("textDocument/diagnostic", lsptest.At(uri), nil) // the server has had the time
	if p.Answered() {
		t.Fatal("a pull with nothing new was answered at once")
	}
	version := e.Replace(uri, "tools =", "toolz =")
	var report struct {
		Items []struct {
			Kind     string               `json:"kind"`
			URI      string               `json:"uri"`
			Version  *int                 `json:"version"`
			ResultID string               `json:"resultId"`
			Items    []lsptest.Diagnostic `json:"items"`
		} `json:"items"`
	}
	if err := p.Result(&report); err != nil {
		t.Fatal(err)
	}
	if len(report.Items) != 1 || report.Items[0].URI != uri || !has(report.Items[0].Items, "unknown-key") || *report.Items[0].Version != version {
		t.Fatalf("the report is %+v", report)
	}
	previous := map[string]any{"previousResultIds": []any{map[string]any{"uri": uri, "value": report.Items[0].ResultID}}}
	p = e.Send("workspace/diagnostic", previous)
	e.Must("textDocument/diagnostic", lsptest.At(uri), nil)
	if p.Answered() {
		t.Error("a pull with nothing new was answered at once")
	}
	p.Cancel()
	if err := p.Result(nil); lsptest.Code(err) != -32800 {
		t.Errorf("the held pull, cancelled, got %v", err)
	}
	if err := e.Quit(); err != nil {
		t.Error(err)
	}
}

func TestSeveralFoldersAndTheirComingAndGoing(t *testing.T) {
	broken := map[string]string{".agent-ls/agent.toml": "[agent]\nnaem = 1\n"}
	a, b := newWorkspace(t, broken), newWorkspace(t, broken)
	e := start(t, server.Options{})
	e.Initialize(nil, a.folder())
	e.AwaitDiagnostics(a.uri(".agent-ls/agent.toml"), func(p lsptest.Published) bool { return has(p.Diagnostics, "unknown-key") })
	change := func(added, removed []any) {
		e.Notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": map[string]any{"added": added, "removed": removed}})
	}
	folder := func(w *workspace) any { return map[string]any{"uri": text.FileURI(w.root), "name": "w"} }
	change([]any{folder(b)}, []any{})
	e.AwaitDiagnostics(b.uri(".agent-ls/agent.toml"), func(p lsptest.Published) bool { return has(p.Diagnostics, "unknown-key") })
	change([]any{}, []any{folder(a)})
	e.AwaitDiagnostics(a.uri(".agent-ls/agent.toml"), func(p lsptest.Published) bool { return len(p.Diagnostics) == 0 })
}

func TestFoldersWithStrangeNames(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"a b", "50%", "x[1]", "c:d", "ü😀", "#1?"} {
		root := filepath.Join(base, name)
		w := &workspace{root}
		w.write(t, ".agent-ls/agent.toml", "[agent]\nnaem = 1\n")
		e := start(t, server.Options{})
		// VS Code escapes more than we do, and in small letters.
		folder := strings.ReplaceAll(text.FileURI(root), "%5B", "%5b")
		e.Initialize(nil, lsptest.Folder(folder))
		uri := folder + "/.agent-ls/agent.toml"
		if got := e.Diagnostics(uri, 0); !has(got, "unknown-key") {
			t.Errorf("in %q: %v", name, lsptest.Codes(got))
		}
		e.Open(uri, "toml", "[agent]\nname = \"x\"\n")
		if got := e.Diagnostics(uri, 1); len(got) != 0 {
			t.Errorf("in %q, opened: %v", name, lsptest.Codes(got))
		}
	}
}

func TestASymlinkedRootIsOneDocument(t *testing.T) {
	w := newWorkspace(t, nil)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.root, link); err != nil {
		t.Skip(err)
	}
	e := start(t, server.Options{})
	e.Initialize(nil, lsptest.Folder(text.FileURI(link)))
	uri := text.FileURI(filepath.Join(link, ".agent-ls", "agent.toml"))
	e.Open(uri, "toml", strings.Replace(plainManifest, "tools =", "toolz =", 1))
	if got := e.Diagnostics(uri, 1); !has(got, "unknown-key") {
		t.Errorf("there is %v", lsptest.Codes(got))
	}
}

func TestStrangeDocuments(t *testing.T) {
	for _, folders := range []map[string]any{nil, {"workspaceFolders": nil, "rootUri": nil, "rootPath": nil}} {
		e := start(t, server.Options{})
		e.Initialize(nil, folders)
		for _, uri := range []string{"untitled:Untitled-1", "file:////x/y.risor", "git:/a/b.risor?x", "file:///a%zz.risor", "nonsense"} {
			e.Open(uri, "risor", plainGuard)
			e.Diagnostics(uri, 1)
			v := e.Replace(uri, "nil", "true")
			e.Diagnostics(uri, v)
			e.Close(uri)
		}
		// A change for a document that is not open is ignored; a reopened one
		// starts anew.
		e.Notify("textDocument/didChange", map[string]any{
			"textDocument": map[string]any{"uri": "untitled:gone", "version": 9}, "contentChanges": []any{map[string]any{"text": "x"}},
		})
		e.Open("untitled:gone", "risor", plainGuard)
		e.Diagnostics("untitled:gone", 1)
		if err := e.Quit(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	}
}

func TestVersionsThatDoNotRiseAreIgnored(t *testing.T) {
	w := newWorkspace(t, nil)
	e := start(t, server.Options{})
	e.Initialize(nil, w.folder())
	uri := w.uri(".agent-ls/agent.toml")
	e.Open(uri, "toml", plainManifest)
	change := func(version int, content string) {
		e.Notify("textDocument/didChange", map[string]any{
			"textDocument": map[string]any{"uri": uri, "version": version}, "contentChanges": []any{map[string]any{"text": content}},
		})
	}
	change(5, "[agent]\nname = \"x\"\n")
	change(5, "[agent]\nnaem = 1\n")
	change(3, "[agent]\nnaem = 1\n")
	change(6, "[agent]\nname = \"y\"\n")
	if got := e.Diagnostics(uri, 6); len(got) != 0 {
		t.Errorf("there is %v", lsptest.Codes(got))
	}
	for _, m := range e.Messages("textDocument/publishDiagnostics") {
		if strings.Contains(string(m.Params), "naem") {
			t.Errorf("an ignored version was diagnosed: %s", m.Params)
		}
	}
}

func TestPositionsInEveryEncoding(t *testing.T) {
	for _, tt := range []struct {
		name    string
		offered []string
		want    string
	}{
		{"nothing offered", nil, "utf-16"},
		{"bytes first", []string{"utf-8", "utf-16"}, "utf-8"},
		{"bytes second", []string{"utf-16", "utf-8"}, "utf-16"},
		{"runes only", []string{"utf-32"}, "utf-32"},
		{"unknown ones", []string{"utf-7"}, "utf-16"},
	} {
		for _, eol := range []string{"\n", "\r\n", "\r"} {
			t.Run(tt.name+strings.NewReplacer("\r", "CR", "\n", "LF").Replace(eol), func(t *testing.T) {
				e := start(t, server.Options{})
				caps := map[string]any{}
				if tt.offered != nil {
					caps["general"] = map[string]any{"positionEncodings": tt.offered}
				}
				raw := e.Initialize(caps, nil)
				if !strings.Contains(string(raw), `"positionEncoding":"`+tt.want+`"`) {
					t.Fatalf("the capabilities are %s", raw)
				}
				uri := "file:///w/.agent-ls/agent.toml"
				e.Open(uri, "toml", "[agent]\nname = \"x\"\n")
				e.Diagnostics(uri, 1)
				content := strings.ReplaceAll("# 😀 e\u0301\n[models]\n\"😀\" = { provider = \"rehearsal\", scirpt = \"a\" }\n", "\n", eol)
				if eol == "\r" {
					content = strings.ReplaceAll("# 😀 e\u0301 \r", "\r", eol) + content // what TOML makes of it is its own affair
				}
				e.SetText(uri, content)
				v := e.Replace(uri, "scirpt", "scirptt")
				if v != 3 || e.Document(uri).Text != strings.Replace(content, "scirpt", "scirptt", 1) {
					t.Fatal("the editor itself is wrong")
				}
				got := e.Diagnostics(uri, v)
				if eol == "\r" {
					return
				}
				found := false
				for _, d := range got {
					if d.Code == "unknown-key" && e.TextAt(uri, d.Range) == "scirptt" {
						found = true
					}
				}
				if !found {
					t.Errorf("the diagnostics are %+v", got)
				}
			})
		}
	}
}

func TestInitializeIsAnsweredBeforeAnythingIsRead(t *testing.T) {
	// A folder whose configuration is a pipe that nobody writes to: whoever
	// reads it hangs.
	e := start(t, server.Options{UserConfig: hangingFile(t)})
	e.Initialize(nil, newWorkspace(t, nil).folder())
	if err := e.Call("test/none", nil, nil); lsptest.Code(err) != -32601 {
		t.Errorf("got %v", err)
	}
}

func TestTheLastGoodManifestStaysInForce(t *testing.T) {
	w := newWorkspace(t, nil)
	hosts := make(chan *server.Host, 1)
	e := start(t, server.Options{Extend: func(h *server.Host) *server.Extension {
		hosts <- h
		return nil
	}})
	e.Initialize(nil, w.folder())
	host := <-hosts
	uri := w.uri(".agent-ls/agent.toml")
	e.Open(uri, "toml", plainManifest)
	e.Diagnostics(uri, 1)
	root := host.Workspace.Folders()[0].Root
	if c, findings := host.Workspace.Manifest(t.Context(), root); len(findings) != 0 || c.Agents[0].Name != "test" {
		t.Fatalf("the manifest has %v", findings)
	}
	v := e.Replace(uri, "[stages.main]", "[stages.main")
	if got := e.Diagnostics(uri, v); !has(got, "manifest-syntax") {
		t.Fatalf("a broken manifest has %v", lsptest.Codes(got))
	}
	c, findings := host.Workspace.Manifest(t.Context(), root)
	if len(findings) == 0 || len(c.Agents[0].Hooks) != 1 || c.Agents[0].Stages[0].Name != "main" {
		t.Errorf("the configuration in force is %+v with %v", c.Agents, findings)
	}
}

func containsAll(s string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}

func TestARenamedFileTakesItsDiagnosticsAlong(t *testing.T) {
	w := newWorkspace(t, map[string]string{".agent-ls/agents/old.toml": "[agent]\nnaem = 1\n"})
	e := start(t, server.Options{})
	e.Initialize(nil, w.folder())
	was, is := w.uri(".agent-ls/agents/old.toml"), w.uri(".agent-ls/agents/new.toml")
	e.AwaitDiagnostics(was, func(p lsptest.Published) bool { return has(p.Diagnostics, "unknown-key") })
	if err := os.Rename(w.path(".agent-ls/agents/old.toml"), w.path(".agent-ls/agents/new.toml")); err != nil {
		t.Fatal(err)
	}
	e.Notify("workspace/didRenameFiles", map[string]any{"files": []any{map[string]any{"oldUri": was, "newUri": is}}})
	e.AwaitDiagnostics(is, func(p lsptest.Published) bool { return has(p.Diagnostics, "unknown-key") })
	e.AwaitDiagnostics(was, func(p lsptest.Published) bool { return len(p.Diagnostics) == 0 })
}

func TestAKeystrokeConcernsOneDocument(t *testing.T) {
	w := newWorkspace(t, nil)
	e := start(t, server.Options{})
	e.Initialize(nil, w.folder())
	manifest, guard := w.uri(".agent-ls/agent.toml"), w.uri(".agent-ls/hooks/guard.risor")
	e.Open(manifest, "toml", plainManifest)
	e.Open(guard, "risor", plainGuard)
	e.Diagnostics(manifest, 1)
	e.Diagnostics(guard, 1)
	before := len(e.Messages("textDocument/publishDiagnostics"))
	const keys = 20
	for range keys {
		e.Diagnostics(guard, e.Change(guard, 0, 0, "// more\n"))
	}
	// Opening may make one more round for the manifest; typing makes none.
	if n := len(e.Messages("textDocument/publishDiagnostics")) - before; n > keys+1 {
		t.Errorf("%d keystrokes made %d publications", keys, n)
	}
}

func TestSeveralRangesInOneChange(t *testing.T) {
	e := start(t, server.Options{})
	e.Initialize(nil, nil)
	const uri = "untitled:a"
	e.Open(uri, "risor", "x := 1\r\ny := 2")
	at := func(l, c, l2, c2 int) lsptest.Range {
		return lsptest.Range{Start: lsptest.Position{Line: l, Character: c}, End: lsptest.Position{Line: l2, Character: c2}}
	}
	e.Notify("textDocument/didChange", map[string]any{
		"textDocument": map[string]any{"uri": uri, "version": 2},
		"contentChanges": []any{
			map[string]any{"range": at(0, 0, 0, 1), "text": "func one() { return 1 }\r\nlonger"},
			map[string]any{"range": at(1, 0, 1, 6), "text": "z"},                               // speaks of the text after the first
			map[string]any{"range": at(7, 7, 9, 9), "text": "\r\nfunc two() { return 2 }"},     // past the end
			map[string]any{"range": at(1, 99, 1, 99), "text": "\r\nfunc three() { return 3 }"}, // past the line
			map[string]any{"range": at(0, 5, 0, 8), "rangeLength": 3, "text": "four"},
		},
	})
	var symbols []struct {
		Name     string           `json:"name"`
		Location lsptest.Location `json:"location"`
	}
	e.Must("textDocument/documentSymbol", lsptest.At(uri), &symbols)
	var got []string
	for _, s := range symbols {
		got = append(got, s.Name)
	}
	if want := "four z three y two"; strings.Join(got, " ") != want {
		t.Errorf("the symbols are %v, want %s", got, want)
	}
}
