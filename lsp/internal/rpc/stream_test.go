package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// readOnly reads from a buffer and drops what is written.
type readOnly struct{ io.Reader }

func (readOnly) Write(p []byte) (int, error) { return len(p), nil }
func (readOnly) Close() error                { return nil }

func frames(t testing.TB, raw []byte) ([]string, error) {
	t.Helper()
	s := newStream(readOnly{bytes.NewReader(raw)}, &tracer{slog.New(slog.DiscardHandler)})
	var out []string
	for {
		body, _, err := s.ReadFrame(context.Background())
		if err != nil {
			return out, err
		}
		out = append(out, string(body))
	}
}

func frame(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

// FuzzFraming puts noise between two messages: whatever it is, the reader
// neither fails nor loses the second message, unless the noise is a header
// itself.
func FuzzFraming(f *testing.F) {
	for _, seed := range []string{"", "x", "\r\n\r\n", "Content-Type: a\r\n\r\n", "{\"a\":", "Content-Length: x\r\n\r\n{}", "\xff\x00", strings.Repeat("y", 9000)} {
		f.Add([]byte(seed))
	}
	const first, second = `{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","method":"b"}`
	f.Fuzz(func(t *testing.T, noise []byte) {
		got, err := frames(t, []byte(frame(first)+string(noise)+frame(second)))
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("reading ended with %v", err)
		}
		if len(got) == 0 || got[0] != first {
			t.Fatalf("the first message was lost: %q", got)
		}
		if bytes.Contains(bytes.ToLower(noise), lengthField) {
			return
		}
		if got[len(got)-1] != second {
			t.Fatalf("the message after %q was lost: %q", noise, got)
		}
	})
}

func FuzzMessages(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `{"id":1}`, `{"jsonrpc":"2.0","id":"a","method":"m","params":null}`, `{"jsonrpc":"2.0","result":1,"id":2}`, `"`, `{"id":1e400}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_ = checkMessage(body)
		_ = findID(body)
		_ = mask(body)
		_, _, _ = decodeInitialize(body)
	})
}

func TestALengthThatIsTooLargeLosesNothing(t *testing.T) {
	a, b := `{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","method":"b"}`
	for extra := 1; extra < 40; extra++ {
		raw := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(a)+extra, a) + frame(b) + frame(b)
		got, _ := frames(t, []byte(raw))
		if extra >= len("Content-Length:") && (len(got) != 3 || got[0] != a) {
			t.Errorf("with %d bytes too many the messages are %q", extra, got)
		}
		if len(got) == 0 || got[len(got)-1] != b {
			t.Errorf("with %d bytes too many the last message is lost: %q", extra, got)
		}
	}
}

func TestListenSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no modes")
	}
	path := filepath.Join(t.TempDir(), "s")
	l, err := ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode()&os.ModeSocket == 0 {
		t.Errorf("the socket has mode %v (%v), want 0600", info.Mode(), err)
	}
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
		}
	}()
	if c, err := net.Dial("unix", path); err != nil {
		t.Error(err)
	} else {
		_ = c.Close()
	}
	<-accepted
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
		}
	}()
	if _, err := ListenSocket(path); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("listening twice got %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenSocket(path); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("listening on a file got %v", err)
	}
}

func TestListenSocketReplacesWhatIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	old, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = old.Close()
	l, err := ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

func TestListenLocal(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.org:0", "nonsense"} {
		if l, _, err := ListenLocal(address); err == nil {
			_ = l.Close()
			t.Errorf("listening on %q succeeded", address)
		}
	}
	l, token, err := ListenLocal("127.0.0.1:0")
	if err != nil || len(token) < 32 {
		t.Fatalf("ListenLocal = %q, %v", token, err)
	}
	_ = l.Close()
}

func TestStdioCloseEndsABlockedRead(t *testing.T) {
	never, _ := io.Pipe()
	s := Stdio(never, io.Discard)
	done := make(chan struct{})
	go func() {
		_, _ = s.Read(make([]byte, 1))
		close(done)
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
}
