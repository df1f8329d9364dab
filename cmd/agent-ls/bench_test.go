package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agent-ls/hooks/measured"
	"agent-ls/lsp/lsptest"
)

// processSamples is how many processes a benchmark starts at most.
const processSamples = 40

// BenchmarkRunToFirstRequest is the time from the start of `agent-ls run` to
// its first request at the model's server, and the most memory that the
// process had by then. bare-start is the same program doing nothing.
func BenchmarkRunToFirstRequest(b *testing.B) {
	asked, goOn := make(chan time.Time), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- time.Now()
		<-goOn
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("content-type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	dir := b.TempDir()
	root := benchWorkspace(b, dir, "[models.m]\nprovider = \"openai\"\nmodel = \"x\"\nbase_url = \""+server.URL+"\"\napi_key_env = \"BENCH_KEY\"\n")
	var took measured.Sample
	var memory int64
	for range min(b.N, processSamples) {
		cmd := ownProgram(b, dir, "-C", root, "run", "go")
		cmd.Env = append(cmd.Env, "BENCH_KEY=x")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		began := time.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case at := <-asked:
			took = append(took, at.Sub(began))
		case err := <-ended:
			b.Fatalf("it ended without a request: %v\n%s", err, said.String())
		}
		memory = max(memory, memoryOf(cmd.Process.Pid, "VmHWM:"))
		goOn <- struct{}{}
		if err := <-ended; err != nil {
			b.Fatalf("%v\n%s", err, said.String())
		}
	}
	measured.Own(b)
	measured.Most(b, took.Millis(0.5), 60, "first-request-p50-ms")
	b.ReportMetric(took.Millis(0.95), "first-request-p95-ms")
	if memory > 0 {
		measured.Most(b, float64(memory)/1e6, 60, "peak-MB")
	}
	bareStart(b, dir)
}

// BenchmarkProcessInitialize is the time from the start of the server's
// process to its answer to initialize, and the memory that it has when it
// waits for more.
func BenchmarkProcessInitialize(b *testing.B) {
	dir := b.TempDir()
	root := benchWorkspace(b, dir, "")
	params := map[string]any{"processId": nil, "rootUri": nil, "capabilities": map[string]any{}}
	for k, v := range lsptest.Folder((&url.URL{Scheme: "file", Path: root}).String()) {
		params[k] = v
	}
	var took measured.Sample
	var memory int64
	for range min(b.N, processSamples) {
		cmd := ownProgram(b, dir, "serve", "--stdio")
		began := time.Now()
		e := lsptest.Command(b, cmd)
		e.Must("initialize", params, nil)
		took = append(took, time.Since(began))
		e.Notify("initialized", map[string]any{})
		e.Must("shutdown", nil, nil) // what initialized started is done
		memory = max(memory, memoryOf(cmd.Process.Pid, "VmRSS:"))
		e.Hangup()
		_ = e.Wait()
	}
	measured.Own(b)
	measured.Most(b, took.Millis(0.5), 30, "initialize-p50-ms")
	b.ReportMetric(took.Millis(0.95), "initialize-p95-ms")
	if memory > 0 {
		measured.Most(b, float64(memory)/1e6, 40, "idle-MB")
	}
	bareStart(b, dir)
}

// bareStart is what the start of the same program takes that only says its
// version, and of a shell.
func bareStart(b *testing.B, dir string) {
	own := measured.Take(min(b.N, processSamples), func() {
		if err := ownProgram(b, dir, "version").Run(); err != nil {
			b.Fatal(err)
		}
	})
	b.ReportMetric(own.Millis(0.5), "bare-start-p50-ms")
	if sh, err := exec.LookPath("sh"); err == nil {
		shell := measured.Take(min(b.N, processSamples), func() { _ = exec.Command(sh, "-c", ":").Run() })
		b.ReportMetric(shell.Millis(0.5), "sh-start-p50-ms")
	}
}

// ownProgram is the program as it is shipped, away from the user's settings.
// A test's program has the tests in it, and takes their memory.
func ownProgram(b *testing.B, dir string, args ...string) *exec.Cmd {
	b.Helper()
	built, err := shipped()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(built, args...)
	cmd.Env = crashEnv(dir)
	return cmd
}

// shipped builds the program, once. It stays in the folder for temporary
// files under one name, so that there is one at most.
var shipped = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("agent-ls-bench-%d", os.Getuid()))
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	built := filepath.Join(path, "built.exe")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", built, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	// As it is installed: written piece by piece, as an unpacker does. A file
	// that the linker wrote, or one large write, has larger pieces in the
	// system's cache, and all of a piece counts as memory of the process that
	// touches a part of it.
	text, err := os.ReadFile(built)
	if err != nil {
		return "", err
	}
	path = filepath.Join(path, "agent-ls.exe")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o700)
	if err != nil {
		return "", err
	}
	for piece := range slices.Chunk(text, 32<<10) {
		if _, err := f.Write(piece); err != nil {
			return "", errors.Join(err, f.Close())
		}
	}
	return path, f.Close()
})

func benchWorkspace(b *testing.B, dir, userConfig string) (root string) {
	b.Helper()
	root = filepath.Join(dir, "ws")
	files := map[string]string{
		"ws/.agent-ls/agent.toml":     "[agent]\nname = \"a\"\nmodel = \"m\"\n\n[stages.work]\ntools = [\"*\"]\n",
		"config/agent-ls/config.toml": userConfig,
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return root
}

// memoryOf is what a process has in memory, or had at most since it began, in
// bytes; 0 where the system does not say so. What the system counts for an
// ended process has its parent's memory in it.
func memoryOf(pid int, which string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == which {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n * 1024
		}
	}
	return 0
}
