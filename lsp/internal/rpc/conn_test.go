package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"agent-ls/lsp/internal/rpc"
	"agent-ls/lsp/lsptest"
)

// handler serves what the tests need.
type handler struct {
	conn *rpc.Conn
	*table
}

type table struct {
	mu      sync.Mutex // guards what follows
	seen    []int
	methods map[string]rpc.Method
	params  *protocol.InitializeParams
	closed  bool
	release chan struct{} // closed when textDocument/stubborn may end
	prepare func(ctx context.Context) context.Context
}

func (h *handler) Initialize(_ context.Context, params *protocol.InitializeParams, _ json.RawMessage) (*protocol.InitializeResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.params = params
	return &protocol.InitializeResult{}, nil
}

func (h *handler) Lookup(method string) (rpc.Method, bool) {
	m, ok := h.methods[method]
	return m, ok
}

func (h *handler) Prepare(ctx context.Context, _ string) context.Context {
	if h.prepare == nil {
		return ctx
	}
	return h.prepare(ctx)
}

func (h *handler) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return nil
}

func (h *handler) note(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, n)
}

type numbered struct {
	N int `json:"n"`
}

func start(t *testing.T, opts rpc.Options) (*lsptest.Editor, *handler) {
	t.Helper()
	h := &handler{table: &table{release: make(chan struct{})}}
	h.methods = map[string]rpc.Method{
		"initialized": func(context.Context, json.RawMessage) (any, error) { h.note(-1); return nil, nil },
		"shutdown":    func(context.Context, json.RawMessage) (any, error) { return nil, nil },
		"test/echo": func(_ context.Context, params json.RawMessage) (any, error) {
			return append(json.RawMessage(nil), params...), nil
		},
		"test/note": func(_ context.Context, params json.RawMessage) (any, error) {
			var p numbered
			if err := json.Unmarshal(params, &p); err != nil {
				return nil, err
			}
			h.note(p.N)
			return nil, nil
		},
		"test/fail":    func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("no") },
		"test/panic":   func(context.Context, json.RawMessage) (any, error) { panic("boom") },
		"test/refused": func(context.Context, json.RawMessage) (any, error) { return nil, jsonrpc2.NewError(-32013, "unknown") },
		"test/wait": func(ctx context.Context, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"test/ask": func(ctx context.Context, _ json.RawMessage) (any, error) {
			var answer string
			err := h.conn.Call(ctx, "editor/name", map[string]any{}, &answer)
			return answer, err
		},
		// Of a feature's method, so that a cancel does not wait for it.
		"textDocument/stubborn": func(context.Context, json.RawMessage) (any, error) {
			<-h.release
			return nil, nil
		},
		"textDocument/panic": func(context.Context, json.RawMessage) (any, error) { panic("boom") },
	}
	e := lsptest.Start(t, func(ctx context.Context, stream io.ReadWriteCloser) error {
		h.conn = rpc.New(stream, opts)
		return h.conn.Serve(ctx, h)
	})
	return e, h
}

// alive fails the test unless the server still answers.
func alive(t *testing.T, e *lsptest.Editor) {
	t.Helper()
	var got numbered
	if err := e.Call("test/echo", numbered{7}, &got); err != nil || got.N != 7 {
		t.Fatalf("the server no longer answers: %v, %v", got, err)
	}
}

func TestNotificationsKeepTheirOrder(t *testing.T) {
	e, h := start(t, rpc.Options{})
	e.Initialize(nil, nil)
	const n = 3_000
	var pending []*lsptest.Pending
	for i := range n {
		e.Notify("test/note", numbered{i})
		if i%100 == 0 {
			pending = append(pending, e.Send("test/echo", numbered{i}))
		}
	}
	for _, p := range pending {
		if err := p.Result(nil); err != nil {
			t.Fatal(err)
		}
	}
	alive(t, e)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) != n+1 || !slices.IsSorted(h.seen) {
		t.Errorf("%d of %d notifications arrived, in order: %v", len(h.seen)-1, n, slices.IsSorted(h.seen))
	}
}

func TestARequestIsPreparedBeforeLaterNotifications(t *testing.T) {
	e, h := start(t, rpc.Options{})
	type key struct{}
	h.prepare = func(ctx context.Context) context.Context {
		h.mu.Lock()
		defer h.mu.Unlock()
		return context.WithValue(ctx, key{}, len(h.seen))
	}
	h.methods["test/count"] = func(ctx context.Context, _ json.RawMessage) (any, error) { return ctx.Value(key{}), nil }
	e.Initialize(nil, nil)
	var pending []*lsptest.Pending
	for i := range 200 {
		e.Notify("test/note", numbered{i})
		pending = append(pending, e.Send("test/count", nil))
	}
	for i, p := range pending {
		var got int
		if err := p.Result(&got); err != nil || got != i+2 { // and initialized
			t.Fatalf("request %d saw %d notifications, want %d (%v)", i, got, i+2, err)
		}
	}
}

func TestNoMessageEndsTheServer(t *testing.T) {
	note := `{"jsonrpc":"2.0","method":"test/note","params":{"n":1}}`
	for _, tt := range []struct{ name, raw string }{
		{"not json", lsptest.Frame(`{"jsonrpc":`)},
		{"an empty object", lsptest.Frame(`{}`)},
		{"a string", lsptest.Frame(`"hello"`)},
		{"null", lsptest.Frame(`null`)},
		{"a batch", lsptest.Frame(`[` + note + `]`)},
		{"an empty batch", lsptest.Frame(`[]`)},
		{"a method that is a number", lsptest.Frame(`{"jsonrpc":"2.0","id":1000001,"method":5}`)},
		{"an id that is an object", lsptest.Frame(`{"jsonrpc":"2.0","id":{},"method":"test/echo"}`)},
		{"an id that is null", lsptest.Frame(`{"jsonrpc":"2.0","id":null,"method":"test/echo"}`)},
		{"an id with a fraction", lsptest.Frame(`{"jsonrpc":"2.0","id":1.5,"method":"test/echo"}`)},
		{"an answer to nothing", lsptest.Frame(`{"jsonrpc":"2.0","id":424242,"result":1}`)},
		{"an answer with a strange id", lsptest.Frame(`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`)},
		{"an answer that is malformed", lsptest.Frame(`{"jsonrpc":"2.0","id":5,"error":17}`)},
		{"an unknown notification", lsptest.Frame(`{"jsonrpc":"2.0","method":"no/such"}`)},
		{"an unknown dollar notification", lsptest.Frame(`{"jsonrpc":"2.0","method":"$/x","params":{}}`)},
		{"a failing notification", lsptest.Frame(`{"jsonrpc":"2.0","method":"test/fail"}`)},
		{"a panicking notification", lsptest.Frame(`{"jsonrpc":"2.0","method":"test/panic"}`)},
		{"parameters of a wrong type", lsptest.Frame(`{"jsonrpc":"2.0","method":"test/note","params":[1]}`)},
		{"a cancel of null", lsptest.Frame(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":null}}`)},
		{"a cancel without parameters", lsptest.Frame(`{"jsonrpc":"2.0","method":"$/cancelRequest"}`)},
		{"a cancel of a large id", lsptest.Frame(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":9007199254740993}}`)},
		{"a cancel of a huge id", lsptest.Frame(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1e40}}`)},
		{"initialized without parameters, again", lsptest.Frame(`{"jsonrpc":"2.0","method":"initialized"}`)},
		{"deep nesting", lsptest.Frame(`{"jsonrpc":"2.0","method":"test/note","params":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`)},
		{"invalid utf-8", lsptest.Frame("{\"jsonrpc\":\"2.0\",\"method\":\"test/\xff\xfe\"}")},
		{"a lone surrogate", lsptest.Frame(`{"jsonrpc":"2.0","method":"test/note","params":{"n":1,"x":"\ud800"}}`)},
		{"duplicate members", lsptest.Frame(`{"jsonrpc":"2.0","method":"test/note","method":"test/note","params":{"n":1}}`)},
		{"no length", "Content-Type: x\r\n\r\n"},
		{"a length that is no number", "Content-Length: many\r\n\r\n" + note},
		{"a negative length", "Content-Length: -5\r\n\r\n" + note},
		{"a length of zero", "Content-Length: 0\r\n\r\n"},
		{"a length beyond all numbers", "Content-Length: 99999999999999999999\r\n\r\n" + note},
		{"a length that is too small", "Content-Length: 10\r\n\r\n" + note},
		{"a length that is too large", "Content-Length: " + fmt.Sprint(len(note)+30) + "\r\n\r\n" + note},
		{"bare line feeds", "Content-Length: " + fmt.Sprint(len(note)) + "\n\n" + note},
		{"lower case and more fields", "content-length: " + fmt.Sprint(len(note)) + "\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n" + note},
		{"noise", "hello\r\nworld\r\n\r\n\x00\xff\x01"},
		{"a line without an end", strings.Repeat("x", 200_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, _ := start(t, rpc.Options{})
			e.Initialize(nil, nil)
			e.Write(tt.raw)
			alive(t, e)
			alive(t, e)
			if err := e.Quit(); err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}

func TestOversizedMessagesAreSkippedAndAnswered(t *testing.T) {
	e, _ := start(t, rpc.Options{MaxMessage: 100_000})
	e.Initialize(nil, nil)
	p := e.Send("test/echo", map[string]string{"text": strings.Repeat("x", 100_000)})
	if err := p.Result(nil); lsptest.Code(err) != -32600 || !strings.Contains(err.Error(), "larger than the limit") {
		t.Errorf("an oversized request got %v", err)
	}
	alive(t, e)
}

func TestMalformedRequestsGetTheirOwnAnswer(t *testing.T) {
	e, _ := start(t, rpc.Options{})
	e.Initialize(nil, nil)
	e.Write(lsptest.Frame(`{"jsonrpc":"2.0","id":null,"method":"test/echo"}`))
	e.Await("", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "-32600") })
	e.Write(lsptest.Frame(`{"jsonrpc":"2.0",`))
	e.Await("", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "-32700") })
}

func TestErrorsOfRequests(t *testing.T) {
	e, _ := start(t, rpc.Options{})
	e.Initialize(nil, nil)
	for method, want := range map[string]int{
		"no/such": -32601, "$/such": -32601, "test/fail": -32603, "test/panic": -32603, "textDocument/panic": -32603, "test/refused": -32013,
		"initialize": -32600,
	} {
		if err := e.Call(method, nil, nil); lsptest.Code(err) != want {
			t.Errorf("%s got %v, want code %d", method, err, want)
		}
		alive(t, e)
	}
}

func TestCancelledRequestsAreAnsweredAtOnce(t *testing.T) {
	for _, method := range []string{"test/wait", "textDocument/stubborn"} {
		e, h := start(t, rpc.Options{})
		e.Initialize(nil, nil)
		p := e.Send(method, nil)
		alive(t, e) // it runs beside
		p.Cancel()
		// The stubborn one goes on until it is released, which is after the answer.
		if err := p.Result(nil); lsptest.Code(err) != -32800 {
			t.Errorf("%s, cancelled, got %v, want code -32800", method, err)
		}
		alive(t, e)
		close(h.release)
		alive(t, e)
	}
}

func TestHandlersMayCallTheClient(t *testing.T) {
	e, _ := start(t, rpc.Options{})
	e.On("editor/name", func(json.RawMessage) (any, error) { return "fake", nil })
	e.Initialize(nil, nil)
	var got string
	if e.Must("test/ask", nil, &got); got != "fake" {
		t.Errorf("the client's answer came as %q", got)
	}
}

func TestACancelledCallToTheClientIsWithdrawn(t *testing.T) {
	e, _ := start(t, rpc.Options{})
	hold := make(chan struct{})
	e.On("editor/name", func(json.RawMessage) (any, error) { <-hold; return "late", nil })
	e.Initialize(nil, nil)
	p := e.Send("test/ask", nil)
	alive(t, e)
	p.Cancel()
	if err := p.Result(nil); lsptest.Code(err) != -32800 {
		t.Errorf("got %v, want code -32800", err)
	}
	e.Await("$/cancelRequest", nil)
	close(hold)
	alive(t, e)
}

func TestLifeCycle(t *testing.T) {
	t.Run("nothing before initialize", func(t *testing.T) {
		e, h := start(t, rpc.Options{})
		e.Notify("test/note", numbered{1})
		if err := e.Call("test/echo", nil, nil); lsptest.Code(err) != -32002 {
			t.Errorf("a request before initialize got %v, want code -32002", err)
		}
		e.Initialize(nil, nil)
		alive(t, e)
		if slices.Contains(h.seen, 1) {
			t.Error("a notification before initialize was handled")
		}
	})
	t.Run("nothing after shutdown", func(t *testing.T) {
		e, h := start(t, rpc.Options{})
		e.Initialize(nil, nil)
		e.Must("shutdown", nil, nil)
		if err := e.Call("test/echo", nil, nil); lsptest.Code(err) != -32600 {
			t.Errorf("a request after shutdown got %v, want code -32600", err)
		}
		e.Notify("exit", nil)
		if err := e.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
		if !h.closed {
			t.Error("the handler was not closed")
		}
	})
	t.Run("shutdown with parameters", func(t *testing.T) {
		e, _ := start(t, rpc.Options{})
		e.Initialize(nil, nil)
		e.Must("shutdown", map[string]any{}, nil)
		e.Notify("exit", map[string]any{})
		if err := e.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	t.Run("initialized without parameters", func(t *testing.T) {
		e, h := start(t, rpc.Options{})
		e.Must("initialize", map[string]any{"capabilities": map[string]any{}}, nil)
		e.Notify("initialized", nil)
		alive(t, e)
		if !slices.Contains(h.seen, -1) {
			t.Error("initialized was not handled")
		}
	})
	t.Run("exit without shutdown", func(t *testing.T) {
		e, _ := start(t, rpc.Options{})
		e.Initialize(nil, nil)
		e.Notify("exit", nil)
		if err := e.Wait(); !errors.Is(err, rpc.ErrNoShutdown) {
			t.Errorf("the server ended with %v", err)
		}
	})
	t.Run("end of input", func(t *testing.T) {
		e, h := start(t, rpc.Options{})
		e.Initialize(nil, nil)
		p := e.Send("test/wait", nil)
		alive(t, e)
		e.Hangup()
		if err := e.Wait(); !errors.Is(err, rpc.ErrNoShutdown) {
			t.Errorf("the server ended with %v", err)
		}
		if err := p.Result(nil); err == nil {
			t.Error("the open request succeeded")
		}
		if !h.closed {
			t.Error("the handler was not closed")
		}
	})
	t.Run("end of input in the middle of a message", func(t *testing.T) {
		e, _ := start(t, rpc.Options{})
		e.Initialize(nil, nil)
		e.Write("Content-Length: 100\r\n\r\n{")
		e.Hangup()
		if err := e.Wait(); !errors.Is(err, rpc.ErrNoShutdown) {
			t.Errorf("the server ended with %v", err)
		}
	})
}

// brokenPipe reads and cannot write.
type brokenPipe struct {
	io.Reader
	closed chan struct{}
}

func (b brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (b brokenPipe) Close() error              { close(b.closed); return nil }

func TestABrokenPipeEndsTheServer(t *testing.T) {
	in, feed := io.Pipe()
	conn := rpc.New(brokenPipe{in, make(chan struct{})}, rpc.Options{Drain: 50 * time.Millisecond})
	done := make(chan error, 1)
	go func() { done <- conn.Serve(t.Context(), &handler{table: &table{}}) }()
	if _, err := io.WriteString(feed, lsptest.Frame(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if !errors.Is(err, rpc.ErrNoShutdown) {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(lsptest.Patience):
		t.Fatal("the server goes on with a broken pipe")
	}
}

func TestTheServerEndsWithTheClientsProcess(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	e, _ := start(t, rpc.Options{})
	e.Must("initialize", map[string]any{"processId": child.Process.Pid, "capabilities": map[string]any{}}, nil)
	if err := e.Wait(); !errors.Is(err, rpc.ErrOrphaned) {
		t.Errorf("the server ended with %v, want %v", err, rpc.ErrOrphaned)
	}
}

func TestTheServerStaysWithALivingProcess(t *testing.T) {
	e, _ := start(t, rpc.Options{})
	e.Initialize(nil, map[string]any{"processId": os.Getpid()})
	alive(t, e)
	if err := e.Quit(); err != nil {
		t.Error(err)
	}
}

func TestTheTokenIsAsked(t *testing.T) {
	for name, options := range map[string]any{
		"none": nil, "wrong": map[string]any{"token": "guess"}, "another type": map[string]any{"token": 5}, "another shape": []int{1},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := start(t, rpc.Options{Token: "secret"})
			err := e.Call("initialize", map[string]any{"capabilities": map[string]any{}, "initializationOptions": options}, nil)
			if lsptest.Code(err) != -32600 {
				t.Errorf("initialize got %v, want code -32600", err)
			}
			if err := e.Wait(); !errors.Is(err, rpc.ErrUnauthorized) {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
	e, _ := start(t, rpc.Options{Token: "secret"})
	e.Initialize(nil, map[string]any{"initializationOptions": map[string]any{"token": "secret"}})
	alive(t, e)
}

func TestOneWrongCapabilityDoesNotFailInitialize(t *testing.T) {
	e, h := start(t, rpc.Options{})
	e.Must("initialize", map[string]any{
		"processId":        "none",
		"clientInfo":       map[string]any{"name": "odd", "version": 3},
		"workspaceFolders": 5,
		"capabilities": map[string]any{
			"workspace":    map[string]any{"applyEdit": true, "configuration": "yes"},
			"textDocument": map[string]any{"hover": 7, "publishDiagnostics": map[string]any{"relatedInformation": true}},
			"general":      map[string]any{"positionEncodings": []any{"utf-8"}},
		},
	}, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.params.Capabilities
	if c.Workspace == nil || c.Workspace.ApplyEdit == nil || !*c.Workspace.ApplyEdit {
		t.Error("workspace.applyEdit was lost")
	}
	if c.Workspace != nil && c.Workspace.Configuration != nil {
		t.Error("a string counts as workspace.configuration")
	}
	if c.TextDocument == nil || c.TextDocument.PublishDiagnostics == nil {
		t.Error("textDocument.publishDiagnostics was lost")
	}
	if c.General == nil || len(c.General.PositionEncodings) != 1 {
		t.Error("general.positionEncodings was lost")
	}
	if h.params.ClientInfo.Name != "odd" {
		t.Errorf("clientInfo is %v", h.params.ClientInfo)
	}
}

func TestTheTraceMasksSecrets(t *testing.T) {
	var log safeBuffer
	opts := rpc.Options{Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: rpc.LevelTrace})), Token: "hunter2"}
	e, _ := start(t, opts)
	e.Initialize(nil, map[string]any{"initializationOptions": map[string]any{"token": "hunter2"}})
	e.Must("test/echo", map[string]any{"text": "key sk-ant-abcdefgh12345678 here", "env": map[string]any{"A": "swordfish"}, "shown": "plain"}, nil)
	got := log.String()
	for _, secret := range []string{"hunter2", "sk-ant-abcdefgh", "swordfish"} {
		if strings.Contains(got, secret) {
			t.Errorf("the trace contains %q", secret)
		}
	}
	if !strings.Contains(got, "plain") || !strings.Contains(got, "test/echo") {
		t.Errorf("the trace does not show the message: %s", got)
	}
}

// safeBuffer is a buffer for several writers.
type safeBuffer struct {
	mu sync.Mutex // guards b
	b  strings.Builder
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
