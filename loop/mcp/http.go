package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// overHTTP makes the way to a server over streamable HTTP.
func (s *Server) overHTTP(ctx context.Context) (*transport, error) {
	at, err := url.Parse(s.def.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("its url is no http or https address: %w", ErrRefused)
	}
	if s.def.Allowed != nil {
		if err := s.def.Allowed(ctx); err != nil {
			return nil, err
		}
	}
	base := s.pool.opt.HTTP
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{login: newLogin(s, at)}
	t.Transport = &sdk.StreamableClientTransport{
		Endpoint:     s.def.URL,
		HTTPClient:   &http.Client{Transport: &polite{base: base, host: at.Host, headers: s.def.Headers}},
		MaxRetries:   3,
		MaxEventSize: maxMessage,
		OAuthHandler: t.login,
	}
	return t, nil
}

// polite is the way of requests to one server: it adds the configured headers,
// to this host only, and bounds what comes back in one piece.
type polite struct {
	base    http.RoundTripper
	host    string
	headers map[string]string
}

func (p *polite) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(p.headers) > 0 && r.URL.Host == p.host {
		r = r.Clone(r.Context())
		for name, value := range p.headers {
			if name == "Authorization" && r.Header.Get(name) != "" {
				continue // of a login
			}
			r.Header.Set(name, value)
		}
	}
	resp, err := p.base.RoundTrip(r)
	if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &limited{ReadCloser: resp.Body, left: maxMessage}
	}
	return resp, err
}

// limited fails when more is read than it lets through.
type limited struct {
	io.ReadCloser
	left int64
}

var errTooLong = errors.New("the server's answer is too long")

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	if int64(len(b)) > l.left {
		b = b[:l.left]
	}
	n, err := l.ReadCloser.Read(b)
	l.left -= int64(n)
	return n, err
}
