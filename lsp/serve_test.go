package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"agent-ls/lsp"
	"agent-ls/lsp/internal/text"
	"agent-ls/lsp/lsptest"
)

// asServer makes this test's program a server on its standard input and
// output, so that ends of processes are those of processes.
const asServer = "AGENT_LS_TEST_SERVER"

func TestMain(m *testing.M) {
	dir := os.Getenv(asServer)
	if dir == "" {
		os.Exit(m.Run())
	}
	err := lsp.Serve(context.Background(), lsp.Stdio(os.Stdin, os.Stdout), deps(dir))
	switch {
	case err == nil:
	case errors.Is(err, lsp.ErrNoShutdown), errors.Is(err, lsp.ErrOrphaned):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// deps keep a server away from the machine's own settings.
func deps(dir string) lsp.Deps {
	return lsp.Deps{
		Version: "1.2.3", UserConfig: filepath.Join(dir, "config.toml"), OrgPolicy: filepath.Join(dir, "policy.toml"), Environ: []string{},
		StateDir: filepath.Join(dir, "state"), CacheDir: filepath.Join(dir, "cache"), Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
}

func process(t testing.TB) *lsptest.Editor {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), asServer+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	return lsptest.Command(t, cmd)
}

func status(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

func workspace(t testing.TB, manifest, guard string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, content := range map[string]string{"agent.toml": manifest, "hooks/guard.risor": guard} {
		path := filepath.Join(root, ".agent-ls", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	manifest = "[stages.main]\ntools = [\"read_file\"]\n\n[stages.main.hooks]\non_tool_call = \"hooks/guard.risor\"\n"
	guard    = "func on_tool_call(ctx) {\n    return ctx.tool_call\n}\n"
)

func TestAProcessEndsAsTheProtocolSays(t *testing.T) {
	t.Run("shutdown and exit", func(t *testing.T) {
		e := process(t)
		e.Initialize(nil, nil)
		if got := status(e.Quit()); got != 0 {
			t.Errorf("the exit status is %d", got)
		}
	})
	t.Run("exit alone", func(t *testing.T) {
		e := process(t)
		e.Initialize(nil, nil)
		e.Notify("exit", nil)
		if got := status(e.Wait()); got != 1 {
			t.Errorf("the exit status is %d, want 1", got)
		}
	})
	t.Run("exit before anything", func(t *testing.T) {
		e := process(t)
		e.Notify("exit", nil)
		if got := status(e.Wait()); got != 1 {
			t.Errorf("the exit status is %d, want 1", got)
		}
	})
	t.Run("end of input", func(t *testing.T) {
		e := process(t)
		e.Initialize(nil, nil)
		began := time.Now()
		e.Hangup()
		if got := status(e.Wait()); got != 1 {
			t.Errorf("the exit status is %d, want 1", got)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %s", took)
		}
	})
	t.Run("the process that started it is gone", func(t *testing.T) {
		child := exec.Command(os.Args[0], "-test.run=^$")
		if err := child.Run(); err != nil {
			t.Fatal(err)
		}
		e := process(t)
		e.Must("initialize", map[string]any{"processId": child.Process.Pid, "capabilities": map[string]any{}}, nil)
		if got := status(e.Wait()); got != 1 {
			t.Errorf("the exit status is %d, want 1", got)
		}
	})
	t.Run("garbage", func(t *testing.T) {
		e := process(t)
		e.Write("GET / HTTP/1.1\r\nHost: x\r\n\r\n" + lsptest.Frame("{") + strings.Repeat("\x00", 100_000))
		e.Initialize(nil, nil)
		if got := status(e.Quit()); got != 0 {
			t.Errorf("the exit status is %d", got)
		}
	})
}

func TestInitializeDeclaresExactlyWhatIsThere(t *testing.T) {
	root := workspace(t, manifest, guard)
	e := process(t)
	raw := e.Initialize(nil, lsptest.Folder(text.FileURI(root)))
	var got struct {
		Capabilities map[string]json.RawMessage `json:"capabilities"`
		ServerInfo   struct{ Name, Version string }
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.ServerInfo.Name != "agent-ls" || got.ServerInfo.Version != "1.2.3" {
		t.Errorf("serverInfo is %+v", got.ServerInfo)
	}
	providers := map[string]string{
		"hoverProvider": "textDocument/hover", "definitionProvider": "textDocument/definition", "referencesProvider": "textDocument/references",
		"documentSymbolProvider": "textDocument/documentSymbol", "completionProvider": "textDocument/completion",
		"codeActionProvider": "textDocument/codeAction", "executeCommandProvider": "workspace/executeCommand",
	}
	others := []string{"positionEncoding", "textDocumentSync", "workspace", "experimental"}
	for name := range got.Capabilities {
		if _, ok := providers[name]; !ok && !slices.Contains(others, name) {
			t.Errorf("the server declares %s", name)
		}
	}
	uri := text.FileURI(filepath.Join(root, ".agent-ls", "hooks", "guard.risor"))
	e.Open(uri, "risor", guard)
	params := e.Position(uri, 30)
	params["range"] = lsptest.Range{}
	params["context"] = map[string]any{}
	params["command"] = "none"
	for name, method := range providers {
		if got.Capabilities[name] == nil {
			t.Errorf("the server does not declare %s", name)
		}
		if err := e.Call(method, params, nil); lsptest.Code(err) == -32601 {
			t.Errorf("%s is declared and not there", method)
		}
	}
	for _, method := range []string{"textDocument/rename", "textDocument/formatting", "textDocument/codeLens", "textDocument/inlayHint"} {
		if err := e.Call(method, params, nil); lsptest.Code(err) != -32601 {
			t.Errorf("%s is there and not declared (%v)", method, err)
		}
	}
	var experimental struct {
		Agent struct {
			Version int      `json:"version"`
			Methods []string `json:"methods"`
		} `json:"agent"`
	}
	if err := json.Unmarshal(got.Capabilities["experimental"], &experimental); err != nil {
		t.Fatal(err)
	}
	if experimental.Agent.Version != 1 || !slices.Contains(experimental.Agent.Methods, "agent/start") {
		t.Errorf("experimental is %s", got.Capabilities["experimental"])
	}
}

func TestEveryCodeHasAPage(t *testing.T) {
	root := workspace(t, manifest, guard)
	e := process(t)
	e.Initialize(nil, lsptest.Folder(text.FileURI(root)))
	uri := text.FileURI(filepath.Join(root, ".agent-ls", "hooks", "guard.risor"))
	e.Open(uri, "risor", guard)
	got := e.Diagnostics(uri, 1)
	if len(got) == 0 {
		t.Fatal("there is nothing to explain")
	}
	page, anchor, ok := strings.Cut(got[0].CodeDescription.Href, "#")
	if !ok || anchor != got[0].Code {
		t.Fatalf("the description is at %q", got[0].CodeDescription.Href)
	}
	content, err := os.ReadFile(text.Path(page))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), "\n## "+anchor+"\n") {
		t.Errorf("the page says nothing of %s", anchor)
	}
}

func TestListeningOnLoopbackNeedsTheToken(t *testing.T) {
	listener, token, err := lsp.ListenLocal("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := serveListener(t, listener, token)
	address := listener.Addr().String()

	// Somebody's probe and a wrong guess end nothing.
	probe, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = probe.Close()
	wrong := lsptest.Dial(t, "tcp", address)
	err = wrong.Call("initialize", map[string]any{"capabilities": map[string]any{}, "initializationOptions": map[string]any{"token": "guess"}}, nil)
	if lsptest.Code(err) != -32600 {
		t.Errorf("a wrong token got %v", err)
	}
	e := lsptest.Dial(t, "tcp", address)
	e.Initialize(nil, map[string]any{"initializationOptions": map[string]any{"token": token}})
	e.Must("shutdown", nil, nil)
	e.Notify("exit", nil)
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(lsptest.Patience):
		t.Fatal("the server outlives its last client")
	}
}

func TestListeningOnASocketServesSeveral(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no modes for sockets")
	}
	path := filepath.Join(t.TempDir(), "s")
	listener, err := lsp.ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	done := serveListener(t, listener, "")
	a, b := lsptest.Dial(t, "unix", path), lsptest.Dial(t, "unix", path)
	a.Initialize(nil, nil)
	b.Initialize(nil, nil)
	a.Hangup()
	b.Open("untitled:x", "risor", guard)
	b.Diagnostics("untitled:x", 1) // goes on without the other
	b.Must("shutdown", nil, nil)
	b.Notify("exit", nil)
	select {
	case <-done:
	case <-time.After(lsptest.Patience):
		t.Fatal("the server outlives its last client")
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

func serveListener(t *testing.T, listener net.Listener, token string) <-chan error {
	t.Helper()
	d := deps(t.TempDir())
	d.Token = token
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { done <- lsp.ServeListener(ctx, listener, d) }()
	return done
}
