// Package lsptest is an editor without a screen, for tests: it speaks the
// protocol to a server in the same process or to the real program, keeps
// documents as an editor does, answers what the server asks, and remembers
// what it was told. Start at Start or Command.
package lsptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Patience is how long the editor waits for anything before the test fails.
const Patience = 20 * time.Second

// Answer handles a request or notification of the server. The result of a
// notification is dropped.
type Answer func(params json.RawMessage) (any, error)

// Message is one notification that arrived.
type Message struct {
	Method string
	Params json.RawMessage
	At     time.Time
}

// Error is an error that the server answered with.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Code returns the code of an error of the server, 0 for any other.
func Code(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// Editor is the client's end of a connection.
type Editor struct {
	t      testing.TB
	stream io.ReadWriteCloser
	ended  chan struct{} // the server's end is done
	err    error         // why; valid after ended
	cmd    *exec.Cmd

	writeMu sync.Mutex // one frame at a time

	mu        sync.Mutex // guards what follows
	nextID    int
	waiting   map[int]chan response
	answers   map[string]Answer
	messages  []Message
	news      chan struct{} // closed and replaced at each message
	documents map[string]*Document
	encoding  string
	closed    bool
}

type response struct {
	result json.RawMessage
	err    *Error
}

// Start runs a server in this process and connects to it. The test ends it.
func Start(t testing.TB, serve func(ctx context.Context, stream io.ReadWriteCloser) error) *Editor {
	t.Helper()
	ours, theirs := net.Pipe()
	e := newEditor(t, ours)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		e.err = serve(ctx, theirs)
		_ = theirs.Close()
		close(e.ended)
	}()
	go e.read()
	t.Cleanup(func() {
		e.Hangup()
		cancel()
		e.wait("the server to end")
	})
	return e
}

// Dial connects to a server that listens.
func Dial(t testing.TB, network, address string) *Editor {
	t.Helper()
	conn, err := net.DialTimeout(network, address, Patience)
	if err != nil {
		t.Fatal(err)
	}
	e := newEditor(t, conn)
	close(e.ended) // the server is not ours to end
	go e.read()
	t.Cleanup(e.Hangup)
	return e
}

// Command starts a program and connects to its standard input and output.
func Command(t testing.TB, cmd *exec.Cmd) *Editor {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := newEditor(t, pipes{out, in})
	e.cmd = cmd
	go func() {
		e.read() // Wait closes the pipe, so everything must have been read
		e.err = cmd.Wait()
		close(e.ended)
	}()
	t.Cleanup(func() {
		e.Hangup()
		select {
		case <-e.ended:
		case <-time.After(Patience):
			_ = cmd.Process.Kill()
			<-e.ended
			t.Errorf("the server did not end at the end of its input")
		}
	})
	return e
}

type pipes struct {
	io.Reader
	io.WriteCloser
}

func newEditor(t testing.TB, stream io.ReadWriteCloser) *Editor {
	return &Editor{
		t: t, stream: stream, ended: make(chan struct{}), waiting: map[int]chan response{},
		answers: map[string]Answer{}, news: make(chan struct{}), documents: map[string]*Document{}, encoding: "utf-16",
	}
}

// Hangup closes the connection without a word.
func (e *Editor) Hangup() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	_ = e.stream.Close()
}

// Wait waits for the server's end and returns how it ended.
func (e *Editor) Wait() error {
	e.t.Helper()
	e.wait("the server to end")
	return e.err
}

func (e *Editor) wait(what string) {
	e.t.Helper()
	select {
	case <-e.ended:
	case <-time.After(Patience):
		e.t.Fatalf("waited %s for %s", Patience, what)
	}
}

// On answers a method of the server's from now on.
func (e *Editor) On(method string, answer Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers[method] = answer
}

// Write sends bytes as they are, for what no editor should send.
func (e *Editor) Write(raw string) {
	e.t.Helper()
	e.writeMu.Lock()
	defer e.writeMu.Unlock()
	if _, err := io.WriteString(e.stream, raw); err != nil {
		e.t.Fatalf("writing to the server: %v", err)
	}
}

// Frame is a message with its header.
func Frame(body string) string {
	return "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

func (e *Editor) send(message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	e.writeMu.Lock()
	defer e.writeMu.Unlock()
	_, err = io.WriteString(e.stream, Frame(string(body)))
	return err
}

// Notify sends a notification.
func (e *Editor) Notify(method string, params any) {
	e.t.Helper()
	message := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		message["params"] = params
	}
	if err := e.send(message); err != nil {
		e.t.Fatalf("notifying %s: %v", method, err)
	}
}

// Pending is a request that was sent.
type Pending struct {
	ID     int
	Method string
	editor *Editor
	answer chan response
}

// Send sends a request and does not wait.
func (e *Editor) Send(method string, params any) *Pending {
	e.t.Helper()
	e.mu.Lock()
	e.nextID++
	p := &Pending{ID: e.nextID, Method: method, editor: e, answer: make(chan response, 1)}
	e.waiting[p.ID] = p.answer
	e.mu.Unlock()
	message := map[string]any{"jsonrpc": "2.0", "id": p.ID, "method": method}
	if params != nil {
		message["params"] = params
	}
	if err := e.send(message); err != nil {
		e.t.Fatalf("requesting %s: %v", method, err)
	}
	return p
}

// Answered reports whether the answer is there.
func (p *Pending) Answered() bool { return len(p.answer) > 0 }

// Cancel asks the server to end the request's work.
func (p *Pending) Cancel() { p.editor.Notify("$/cancelRequest", map[string]any{"id": p.ID}) }

// Result waits for the answer and decodes it into result, if that is not nil.
func (p *Pending) Result(result any) error {
	p.editor.t.Helper()
	select {
	case r := <-p.answer:
		if r.err != nil {
			return r.err
		}
		if result == nil || len(r.result) == 0 {
			return nil
		}
		return json.Unmarshal(r.result, result)
	case <-time.After(Patience):
		p.editor.t.Fatalf("waited %s for the answer to %s", Patience, p.Method)
		return nil
	}
}

// Call sends a request and waits for its answer.
func (e *Editor) Call(method string, params, result any) error {
	e.t.Helper()
	return e.Send(method, params).Result(result)
}

// Must is Call for what has to succeed.
func (e *Editor) Must(method string, params, result any) {
	e.t.Helper()
	if err := e.Call(method, params, result); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

// read takes messages until the connection ends.
func (e *Editor) read() {
	in := bufio.NewReader(e.stream)
	for {
		body, err := readFrame(in)
		if err != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			for id, w := range e.waiting {
				w <- response{err: &Error{Message: "the connection ended: " + err.Error()}}
				delete(e.waiting, id)
			}
			return
		}
		e.take(body)
	}
}

func readFrame(in *bufio.Reader) ([]byte, error) {
	header, err := textproto.NewReader(in).ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil {
		return nil, fmt.Errorf("the server wrote a header without a length: %v", header)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(in, body)
	return body, err
}

func (e *Editor) take(body []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *Error          `json:"error"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		e.t.Errorf("the server wrote what is no message: %q: %v", body, err)
		return
	}
	if m.Method == "" {
		e.answered(m.ID, response{m.Result, m.Error})
		return
	}
	e.mu.Lock()
	answer := e.answers[m.Method]
	e.mu.Unlock()
	if len(m.ID) > 0 {
		// Beside the reading: what an editor does for a request may need more
		// of the server.
		go e.answer(m.ID, m.Method, m.Params, answer)
		return
	}
	if answer != nil {
		_, _ = answer(m.Params)
	}
	e.remember(m.Method, m.Params)
}

func (e *Editor) remember(method string, params json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.messages = append(e.messages, Message{method, params, time.Now()})
	close(e.news)
	e.news = make(chan struct{})
}

func (e *Editor) answered(id json.RawMessage, r response) {
	n, err := strconv.Atoi(string(id))
	e.mu.Lock()
	w := e.waiting[n]
	delete(e.waiting, n)
	e.mu.Unlock()
	if err != nil || w == nil {
		// An answer to what this editor has not asked, such as a refusal with
		// the id null.
		raw, _ := json.Marshal(r.err)
		e.remember("", raw)
		return
	}
	w <- r
}

func (e *Editor) answer(id json.RawMessage, method string, params json.RawMessage, answer Answer) {
	message := map[string]any{"jsonrpc": "2.0", "id": id}
	if answer == nil {
		answer = e.standard(method)
	}
	if answer == nil {
		message["error"] = &Error{Code: -32601, Message: "the editor has no " + method}
	} else if result, err := answer(params); err != nil {
		var wire *Error
		if !errors.As(err, &wire) {
			wire = &Error{Code: -32603, Message: err.Error()}
		}
		message["error"] = wire
	} else {
		message["result"] = result
	}
	e.remember(method, params)
	if err := e.send(message); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.closed {
			e.t.Logf("answering %s: %v", method, err)
		}
	}
}

// Messages returns what the server sent of a method so far; "" are answers to
// nothing.
func (e *Editor) Messages(method string) []Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []Message
	for _, m := range e.messages {
		if m.Method == method {
			out = append(out, m)
		}
	}
	return out
}

// Await waits until ok holds for a message of the method, among those that
// came already and those to come, and returns it.
func (e *Editor) Await(method string, ok func(params json.RawMessage) bool) Message {
	e.t.Helper()
	deadline := time.After(Patience)
	for seen := 0; ; {
		e.mu.Lock()
		messages, news := e.messages, e.news
		e.mu.Unlock()
		for ; seen < len(messages); seen++ {
			if m := messages[seen]; m.Method == method && (ok == nil || ok(m.Params)) {
				return m
			}
		}
		select {
		case <-news:
		case <-deadline:
			var got bytes.Buffer
			for _, m := range e.Messages(method) {
				fmt.Fprintf(&got, "\n\t%s", m.Params)
			}
			e.t.Fatalf("waited %s for a %s like that; there were:%s", Patience, method, got.String())
		}
	}
}

// Forget drops the messages that came so far.
func (e *Editor) Forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.messages = nil
}
