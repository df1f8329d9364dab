package rpc

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Stdio joins an input and an output to one stream. Closing it ends a read
// that is on its way, which closing a terminal or a file would not. The
// goroutine that reads in ends with the input.
func Stdio(in io.Reader, out io.Writer) io.ReadWriteCloser {
	r, w := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(w, struct{ io.Reader }{in}, make([]byte, 64<<10))
		_ = w.CloseWithError(err) // nil means the end of input
	}()
	return &stdio{r, out}
}

type stdio struct {
	*io.PipeReader
	out io.Writer
}

func (s *stdio) Write(p []byte) (int, error) { return s.out.Write(p) }

// Close ends reading. The output is the caller's; closing it here would close
// the standard output of a process that still has something to say.
func (s *stdio) Close() error { return s.PipeReader.Close() }

// ListenLocal listens on a loopback address and makes the token that clients
// must send.
func ListenLocal(address string) (net.Listener, string, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", fmt.Errorf("listening on %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, "", fmt.Errorf("listening on %q: only loopback addresses are allowed, such as 127.0.0.1:0", address)
	}
	token := make([]byte, 32)
	if _, err := rand.Read(token); err != nil {
		return nil, "", err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, "", err
	}
	return l, hex.EncodeToString(token), nil
}

// ListenSocket listens on a socket in the file system that only its owner can
// open. What a server that is gone has left is replaced; the socket of one
// that runs, or any other file, is not.
func ListenSocket(path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := clearSocket(path); err != nil {
		return nil, err
	}
	// Between creating a socket and setting its mode anybody could connect, so
	// it is created where nobody else can look and moved into place.
	private, err := os.MkdirTemp(filepath.Dir(path), ".agent-ls-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(private) }()
	hidden := filepath.Join(private, "s")
	l, err := net.Listen("unix", hidden)
	if err != nil {
		return nil, err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	if err := errors.Join(os.Chmod(hidden, 0o600), os.Rename(hidden, path)); err != nil {
		_ = l.Close()
		return nil, err
	}
	return &socket{Listener: l, path: path}, nil
}

// socket removes its file when it is closed.
type socket struct {
	net.Listener
	path string
}

func (s *socket) Close() error {
	_ = os.Remove(s.path)
	return s.Listener.Close()
}

func clearSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("listening on %s: the file exists and is no socket", path)
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = conn.Close()
		return fmt.Errorf("listening on %s: another server uses it", path)
	}
	return os.Remove(path)
}
