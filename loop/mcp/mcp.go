// Package mcp owns the connections to MCP servers: starting and reaching them,
// logging in, listing their tools and calling those. Start at Pool. Whether a
// call may run, and which tools a run offers, is decided elsewhere; what a
// server sends is bounded here and believed nowhere.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// The bounds of what a server can make this program keep or wait for.
const (
	maxTools       = 512
	maxSchema      = 64 << 10 // bytes of one tool's input schema
	maxSchemas     = 2 << 20  // of all of a server's together
	maxDescription = 4 << 10
	maxMessage     = 16 << 20 // one message of a server
	maxText        = 128 << 10
	maxImages      = 8
	maxImage       = 4 << 20
	maxJunk        = 1 << 20 // what is no message on standard output, in a row; a line counts as 4 KiB at least
	maxAttempts    = 8       // connections in a row that fail before a server is given up
	linger         = 10 * time.Minute
	defaultStart   = 60 * time.Second
	defaultCall    = 5 * time.Minute
)

// Definition is one configured server. Two runs whose definitions have the
// same Key share its connection.
type Definition struct {
	Name    string
	Command []string // the program and its arguments, or
	URL     string   // a server over streamable HTTP
	Env     map[string]string
	Headers map[string]string
	Root    string // of the workspace, absolute; told to programs
	// StartTimeout and CallTimeout are 60 s and 5 min if they are zero.
	StartTimeout, CallTimeout time.Duration
	// Key tells apart definitions that are otherwise equal: the floor they run
	// on, the trust they need.
	Key string
	// Start starts the program. It is called for each connection, and is where
	// trust is looked at again.
	Start Start `json:"-"`
	// Allowed is asked before each connection over HTTP; nil allows.
	Allowed func(context.Context) error `json:"-"`
}

// Transport is "stdio" or "http".
func (d *Definition) Transport() string {
	if d.URL != "" {
		return "http"
	}
	return "stdio"
}

// Start starts a server's program with these streams.
type Start func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (Process, error)

// Process is a program that was started.
type Process interface {
	// Stop ends it and everything that it started, without waiting.
	Stop()
	// Wait waits for its end and says how it ended; nil is a plain end.
	Wait() error
}

// Browser shows a page to the person, who logs in there. ErrNobody says that
// there is no person.
type Browser func(ctx context.Context, server, url string) error

// ErrNobody: there is nobody who could log in.
var ErrNobody = errors.New("nobody is there to log in")

// ErrRefused is what Start and Allowed wrap to say that trying again is of no
// use.
var ErrRefused = errors.New("not started")

// Options are what a Pool needs.
type Options struct {
	Version  string // of this program, told to servers; "" is "unknown"
	StateDir string // where tokens of logins are kept; "" keeps none
	Browser  Browser
	HTTP     http.RoundTripper // nil: the usual one
	Log      *slog.Logger
	// backoff is how long to wait before attempt n; tests make it short.
	backoff func(n int) time.Duration
}

// Tool is a tool as its server lists it.
type Tool struct {
	Name        string // on the server
	Description string
	Schema      json.RawMessage
}

// Kind is what a Notice tells.
type Kind uint8

const (
	NoKind       Kind = iota
	Connected         // Reconnect
	Listed            // the tools are there, or are others: Server.Tools
	Failed            // the connection could not be made, or broke: Text
	Warned            // something odd: Text
	Closed            // the connection is gone: Text
	AuthRequired      // the server wants a login
	AuthURL           // the person logs in at Text
	AuthSuccess
	AuthError // Text
)

// Notice is something that happened on a connection.
type Notice struct {
	Kind      Kind
	Text      string
	Reconnect bool
}

// Result is what a call came to.
type Result struct {
	Text      string
	Images    []Image
	IsError   bool // the tool says so
	Truncated bool
}

// Image is a picture in a result.
type Image struct {
	MediaType string
	Data      []byte
}
