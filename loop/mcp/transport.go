package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport is the way to a server for one connection.
type transport struct {
	sdk.Transport
	stdio *stdio // nil over HTTP
	login *login // nil over stdio
}

func (s *Server) transport(ctx context.Context) (*transport, error) {
	if s.def.URL != "" {
		return s.overHTTP(ctx)
	}
	c, err := s.startProgram(ctx)
	if err != nil {
		return nil, err
	}
	return &transport{Transport: c, stdio: c}, nil
}

func (t *transport) close() {
	if t.stdio != nil {
		_ = t.stdio.Close()
	}
}

// gone is closed when the program has ended; nil over HTTP.
func (t *transport) gone() <-chan struct{} {
	if t.stdio == nil {
		return nil
	}
	return t.stdio.stopped
}

// onEnd calls f when the program has ended, unless it is stopped before.
func (t *transport) onEnd(f func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-t.gone():
			f()
		case <-done:
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}

// ended says how the program ended and what it last said, "" if it goes on.
func (t *transport) ended() string {
	if t.stdio == nil {
		return ""
	}
	return t.stdio.last()
}

func (t *transport) loginError() error {
	if t.login == nil {
		return nil
	}
	return t.login.failed()
}

// stdio talks to a program over its standard streams, a message a line. What
// the program prints beside messages is warned about and skipped, within
// bounds.
type stdio struct {
	process Process
	in      *os.File // the program's standard input
	out     *io.PipeReader
	lines   *bufio.Reader
	warn    func(string)
	errors  *tail

	odd      int // lines in a row that are no messages; the reader's own
	junk     int // their bytes, 4 KiB at least for each
	write    chan []byte
	closing  chan struct{}
	close    sync.Once
	stopped  chan struct{} // closed when the program has ended
	waitErr  error         // valid behind stopped
	killWait time.Duration
}

func (s *Server) startProgram(ctx context.Context) (*stdio, error) {
	if s.def.Start == nil {
		return nil, fmt.Errorf("nothing can start its program: %w", ErrRefused)
	}
	// A file, so that nothing of ours has to end before the program can be
	// waited for.
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut := io.Pipe()
	c := &stdio{
		in: in, out: out, lines: bufio.NewReaderSize(out, 64<<10), errors: &tail{},
		warn:  func(text string) { s.tell(Notice{Kind: Warned, Text: text}) },
		write: make(chan []byte, 16), closing: make(chan struct{}), stopped: make(chan struct{}),
		killWait: 2 * time.Second,
	}
	// Not ctx: that is the time for the start, and the program stays.
	p, err := s.def.Start(context.WithoutCancel(ctx), childIn, childOut, c.errors)
	_ = childIn.Close() // the program has its own
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	c.process = p
	go func() { // ends with the program
		c.waitErr = p.Wait()
		_ = childOut.CloseWithError(io.EOF)
		_ = in.Close()
		close(c.stopped)
	}()
	go c.writer()
	return c, nil
}

// Connect implements sdk.Transport.
func (c *stdio) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements sdk.Connection.
func (c *stdio) SessionID() string { return "" }

// Read implements sdk.Connection. Close ends it.
func (c *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			continue
		}
		if line[0] == '{' {
			if m, err := jsonrpc.DecodeMessage(line); err == nil {
				c.junk, c.odd = 0, 0
				return m, nil
			}
		}
		c.odd++
		if c.junk += max(len(line), 4<<10); c.junk > maxJunk {
			return nil, fmt.Errorf("its standard output is no protocol: %d lines in a row are no messages", c.odd)
		}
		if c.odd <= 3 {
			c.warn("its standard output has a line that is no message: " + cut(string(line), 200))
		}
	}
}

// line reads one line of at most maxMessage bytes, without its end.
func (c *stdio) line() ([]byte, error) {
	var whole []byte
	for {
		part, err := c.lines.ReadSlice('\n')
		whole = append(whole, part...)
		if len(whole) > maxMessage {
			return nil, fmt.Errorf("it sent a line of more than %d bytes", maxMessage)
		}
		switch {
		case err == nil:
			return bytes.TrimSpace(whole), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(whole)) > 0:
			return bytes.TrimSpace(whole), nil
		default:
			return nil, err
		}
	}
}

// Write implements sdk.Connection. A program that does not read cannot hold
// the caller for longer than its context.
func (c *stdio) Write(ctx context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	select {
	case c.write <- append(text, '\n'):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closing:
		return io.ErrClosedPipe
	case <-c.stopped:
		return io.ErrClosedPipe
	}
}

func (c *stdio) writer() {
	for {
		select {
		case text := <-c.write:
			if _, err := c.in.Write(text); err != nil {
				return
			}
		case <-c.closing:
			_ = c.in.Close()
			return
		case <-c.stopped:
			return
		}
	}
}

// Close implements sdk.Connection: the program is given a moment to end by
// itself once its input is closed, then it is ended.
func (c *stdio) Close() error {
	c.close.Do(func() {
		close(c.closing)
		_ = c.in.Close()
		_ = c.out.CloseWithError(io.EOF)
		select {
		case <-c.stopped:
		case <-time.After(c.killWait):
			c.process.Stop()
			<-c.stopped
		}
	})
	return nil
}

// last says how the program ended and what it printed last, "" while it runs.
func (c *stdio) last() string {
	select {
	case <-c.stopped:
	case <-time.After(100 * time.Millisecond): // its end follows its last output
		return ""
	}
	text := "its program ended"
	if c.waitErr != nil {
		text += " (" + c.waitErr.Error() + ")"
	}
	if said := c.errors.text(); said != "" {
		text += " and said: " + said
	}
	return text
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const maxTail = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b[max(0, len(b)-maxTail):]...)
	if len(t.kept) > maxTail {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-maxTail:]...)
	}
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.kept), ""))
}
