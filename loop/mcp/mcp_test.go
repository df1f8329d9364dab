package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain lets the test binary be a server, too: a good one, or one with the
// fault that the variable names.
func TestMain(m *testing.M) {
	if fault, is := os.LookupEnv("MCP_TEST_SERVER"); is {
		serve(fault)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type echoArgs struct {
	Text string `json:"text"`
}

func testServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *sdk.CallToolRequest, a echoArgs) (*sdk.CallToolResult, any, error) {
		if a.Text == "fail" {
			return nil, nil, errors.New("it does not work")
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.Text}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "slow", Description: "Waits until it is cancelled."}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		for i := 1; i <= 2; i++ {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3, Message: "at work"})
		}
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "CANCELLED")
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(s, &sdk.Tool{Name: "flood", Description: "Says too much."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "BEGIN" + strings.Repeat("x", 1<<20) + "END"}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "die", Description: "Ends the server."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		os.Exit(7)
		return nil, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "more", Description: "Adds a tool."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "extra"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
		return &sdk.CallToolResult{}, nil, nil
	})
	s.AddTool(&sdk.Tool{Name: "huge", InputSchema: map[string]any{"type": "object", "description": strings.Repeat("x", maxSchema)}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	return s
}

func serve(fault string) {
	switch fault {
	case "junk":
		fmt.Println("Starting up…")
		fmt.Println(`{"not": "a message"}`)
	case "only junk":
		for {
			if _, err := fmt.Println("this is no protocol"); err != nil {
				return
			}
		}
	case "one endless line":
		for {
			if _, err := fmt.Print(strings.Repeat("{", 1<<16)); err != nil {
				return
			}
		}
	case "hang":
		_, _ = io.Copy(io.Discard, os.Stdin)
		select {}
	case "changes":
		changes()
		return
	case "crash":
		fmt.Fprintln(os.Stderr, "no license for this")
		os.Exit(3)
	}
	_ = testServer().Run(context.Background(), &sdk.StdioTransport{})
}

// changes is a server whose tools change very often. It holds its answer to
// the second listing until the client has read all of that, and says in the
// name of a tool whether the client asked again meanwhile.
func changes() {
	answer := func(id json.RawMessage, result string) {
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	tool := func(name string) string { return `{"tools":[{"name":"` + name + `","inputSchema":{"type":"object"}}]}` }
	var held json.RawMessage
	lists, overrun := 0, false
	for in := json.NewDecoder(os.Stdin); ; {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		if in.Decode(&m) != nil {
			return
		}
		switch {
		case m.Method == "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"x","version":"1"}}`)
		case m.Method == "tools/list" && lists == 0:
			lists++
			answer(m.ID, tool("first"))
			for range 500 {
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
		case m.Method == "tools/list" && lists == 1:
			lists++
			held = m.ID
			for range 500 {
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
			fmt.Println(`{"jsonrpc":"2.0","id":"one","method":"ping"}`)
		case m.Method == "tools/list" && held != nil:
			overrun = true
			answer(m.ID, tool("overrun"))
		case m.Method == "tools/list" && overrun:
			answer(m.ID, tool("overrun"))
		case m.Method == "tools/list":
			answer(m.ID, tool("last"))
		case string(m.ID) == `"one"`:
			fmt.Println(`{"jsonrpc":"2.0","id":"two","method":"ping"}`)
		case string(m.ID) == `"two"`:
			answer(held, tool("held"))
			held = nil
		case m.Method != "" && m.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
}

type child struct{ *exec.Cmd }

func (c child) Stop()       { _ = c.Process.Kill() }
func (c child) Wait() error { return c.Cmd.Wait() }

// program starts the test binary as a server.
func program(t *testing.T, name, fault string, stderr io.Writer) Definition {
	return Definition{Name: name, Command: []string{"test", fault}, StartTimeout: 20 * time.Second, Start: func(_ context.Context, in io.Reader, out, errs io.Writer) (Process, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "MCP_TEST_SERVER="+fault)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
		if stderr != nil {
			cmd.Stderr = io.MultiWriter(errs, stderr)
		}
		cmd.WaitDelay = 200 * time.Millisecond
		return child{cmd}, cmd.Start()
	}}
}

func pool(t *testing.T, o Options) *Pool {
	o.backoff = func(int) time.Duration { return time.Millisecond }
	p := NewPool(o)
	t.Cleanup(p.Close)
	return p
}

func use(t *testing.T, p *Pool, d Definition) *Lease {
	t.Helper()
	l, err := p.Use(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Release)
	return l
}

func ready(t *testing.T, l *Lease) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if got, err := l.Await(ctx); got != Ready {
		t.Fatalf("%s stands at %d: %v", l.Name(), got, err)
	}
}

// notice waits for one of a kind that says something.
func notice(t *testing.T, l *Lease, kind Kind, text string) Notice {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case n := <-l.Notices():
			if n.Kind == kind && strings.Contains(n.Text, text) {
				return n
			}
		case <-limit:
			t.Fatalf("no notice of kind %d with %q", kind, text)
		}
	}
}

func call(t *testing.T, l *Lease, tool, args string) (Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return l.Call(ctx, tool, json.RawMessage(args), nil)
}

func TestToolsOfAProgram(t *testing.T) {
	p := pool(t, Options{})
	l := use(t, p, program(t, "good", "", nil))
	ready(t, l)
	var names []string
	for _, tool := range l.Tools() {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "die echo flood more slow" {
		t.Errorf("tools: %s", got)
	}
	notice(t, l, Warned, `the schema of its tool "huge" has`)
	if got, err := call(t, l, "echo", `{"text":"hello"}`); err != nil || got.Text != "hello" || got.IsError {
		t.Errorf("echo = %+v, %v", got, err)
	}
	if got, err := call(t, l, "echo", `{"text":"fail"}`); err != nil || !got.IsError || !strings.Contains(got.Text, "does not work") {
		t.Errorf("a tool that fails = %+v, %v", got, err)
	}
	if got, err := call(t, l, "flood", `{}`); err != nil || !got.Truncated || len(got.Text) > maxText+200 || !strings.HasPrefix(got.Text, "BEGIN") || !strings.HasSuffix(got.Text, "END") {
		t.Errorf("a flood: %d bytes, truncated %v, %v", len(got.Text), got.Truncated, err)
	}
	if _, err := call(t, l, "more", `{}`); err != nil {
		t.Fatal(err)
	}
	for len(l.Tools()) != 6 {
		notice(t, l, Listed, "")
	}
	// A second run shares the connection.
	other := use(t, p, program(t, "good", "", nil))
	if other.Server != l.Server {
		t.Error("an equal definition has a connection of its own")
	}
}

// However often the tools change, they are listed by one at a time, and once
// more behind the last change.
func TestAFloodOfChangesListsOneAtATime(t *testing.T) {
	l := use(t, pool(t, Options{}), program(t, "changes", "changes", nil))
	ready(t, l)
	for {
		if tools := l.Tools(); len(tools) == 1 && tools[0].Name == "last" {
			return
		} else if len(tools) == 1 && tools[0].Name == "overrun" {
			t.Fatal("the tools were listed twice at a time")
		}
		notice(t, l, Listed, "")
	}
}

func TestProgressAndCancel(t *testing.T) {
	said := make(chan string, 1)
	errs := writerFunc(func(b []byte) (int, error) { offer(said, string(b)); return len(b), nil })
	l := use(t, pool(t, Options{}), program(t, "slow", "", errs))
	ready(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	steps := make(chan string, 4)
	done := make(chan error, 1)
	go func() {
		_, err := l.Call(ctx, "slow", json.RawMessage(`{}`), func(line string) { steps <- line })
		done <- err
	}()
	if got := <-steps; got != "1 of 3: at work" {
		t.Errorf("progress %q", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call: %v", err)
	}
	select {
	case got := <-said:
		if !strings.Contains(got, "CANCELLED") {
			t.Errorf("the server said %q", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("the server was not told")
	}
	d := program(t, "slow", "", nil)
	d.CallTimeout = 50 * time.Millisecond
	late := use(t, l.pool, d)
	ready(t, late)
	if _, err := call(t, late, "slow", `{}`); err == nil || !strings.Contains(err.Error(), "no result within 50ms") {
		t.Errorf("a call without end: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestAServerThatDiesComesBack(t *testing.T) {
	l := use(t, pool(t, Options{}), program(t, "mortal", "", nil))
	ready(t, l)
	if _, err := call(t, l, "die", `{}`); err == nil {
		t.Error("the call that killed the server succeeded")
	}
	notice(t, l, Closed, "exit status 7")
	for n := notice(t, l, Connected, ""); !n.Reconnect; {
		n = notice(t, l, Connected, "")
	}
	if got, err := call(t, l, "echo", `{"text":"again"}`); err != nil || got.Text != "again" {
		t.Errorf("after it came back: %+v, %v", got, err)
	}
}

func TestFaultyPrograms(t *testing.T) {
	for _, c := range []struct{ fault, want string }{
		{"only junk", "is no protocol"},
		{"one endless line", "a line of more than"},
		{"crash", "no license for this"},
		{"hang", "no answer within 300ms"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			d := program(t, "bad", c.fault, nil)
			if c.fault == "hang" {
				d.StartTimeout = 300 * time.Millisecond
			}
			l := use(t, pool(t, Options{}), d)
			notice(t, l, Failed, c.want)
			limit, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if _, err := l.Call(limit, "echo", nil, nil); err == nil || limit.Err() != nil {
				t.Errorf("a call of it: %v", err)
			}
		})
	}
	l := use(t, pool(t, Options{}), program(t, "noisy", "junk", nil))
	ready(t, l)
	notice(t, l, Warned, "no message: Starting up")
	if got, err := call(t, l, "echo", `{"text":"in spite of noise"}`); err != nil || got.Text != "in spite of noise" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRefusedIsNotTriedAgain(t *testing.T) {
	tried := 0
	d := Definition{Name: "no", Command: []string{"x"}, Start: func(context.Context, io.Reader, io.Writer, io.Writer) (Process, error) {
		tried++
		return nil, fmt.Errorf("it waits for trust: %w", ErrRefused)
	}}
	p := pool(t, Options{})
	l := use(t, p, d)
	notice(t, l, Failed, "waits for trust")
	if standing, err := l.Standing(); standing != Over || err == nil || tried != 1 {
		t.Errorf("stands at %d (%v) after %d tries", standing, err, tried)
	}
	// The next run tries again: the person may have trusted it meanwhile.
	notice(t, use(t, p, d), Failed, "waits for trust")
}
