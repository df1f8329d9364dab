package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Call calls a tool of the server. A server that is not connected yet, or
// again, is waited for. Progress gets what the server says meanwhile, one line
// at a time. When ctx ends, the server is told that the call is cancelled.
//
// An error is about the way to the server; what the tool itself says is in the
// Result. A call whose connection broke is not made again: it may have
// happened.
func (s *Server) Call(ctx context.Context, tool string, args json.RawMessage, progress func(string)) (Result, error) {
	outer := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, s.def.CallTimeout, errSlow)
	defer cancel()
	session, lost, err := s.connected(ctx)
	if err != nil {
		return Result{}, err
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-lost:
			cancel()
		case <-over:
		}
	}()
	params := &sdk.CallToolParams{Name: tool, Arguments: args}
	token, done := s.watch(progress)
	defer done()
	params.SetProgressToken(token)
	got, err := session.CallTool(ctx, params)
	if errors.Is(context.Cause(ctx), errSlow) {
		return Result{}, fmt.Errorf("no result within %s", s.def.CallTimeout)
	}
	select {
	case <-lost:
		if err != nil && outer.Err() == nil {
			return Result{}, errors.New("the connection to the server was lost during the call, which may have happened")
		}
	default:
	}
	if err != nil {
		return Result{}, err
	}
	return resultOf(got), nil
}

var errSlow = errors.New("the call took too long")

// connected gives the session, and waits for one within the time that a start
// may take.
func (s *Server) connected(ctx context.Context) (*sdk.ClientSession, <-chan struct{}, error) {
	ctx, cancel := context.WithTimeout(ctx, s.def.StartTimeout)
	defer cancel()
	for {
		s.mu.Lock()
		session, lost, standing, err, changed := s.session, s.lost, s.standing, s.err, s.changed
		s.mu.Unlock()
		switch {
		case standing == Ready && session != nil:
			return session, lost, nil
		case standing == Over:
			return nil, nil, fmt.Errorf("the server is not there: %w", err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if err == nil {
				err = fmt.Errorf("not connected within %s", s.def.StartTimeout)
			}
			return nil, nil, fmt.Errorf("the server is not there: %w", err)
		}
	}
}

// watch gives a token under which the server reports progress.
func (s *Server) watch(progress func(string)) (token string, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	token = fmt.Sprintf("call-%d", s.serial)
	if progress != nil {
		s.progress[token] = progress
	}
	return token, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.progress, token)
	}
}

func (s *Server) progressed(p *sdk.ProgressNotificationParams) {
	if p == nil {
		return
	}
	s.mu.Lock()
	show := s.progress[fmt.Sprint(p.ProgressToken)]
	s.mu.Unlock()
	if show == nil {
		return
	}
	line := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		line += fmt.Sprintf(" of %g", p.Total)
	}
	if p.Message != "" {
		line += ": " + cut(p.Message, 512)
	}
	show(line)
}

// resultOf makes the text and the images that a model can read of a result.
func resultOf(r *sdk.CallToolResult) Result {
	out := Result{IsError: r.IsError}
	var parts []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
		case *sdk.ImageContent:
			if len(out.Images) >= maxImages || len(c.Data) > maxImage || !strings.HasPrefix(c.MIMEType, "image/") {
				parts = append(parts, fmt.Sprintf("[an image (%s, %d bytes) is left out]", cut(c.MIMEType, 64), len(c.Data)))
				continue
			}
			out.Images = append(out.Images, Image{MediaType: c.MIMEType, Data: c.Data})
		case *sdk.AudioContent:
			parts = append(parts, fmt.Sprintf("[audio (%s, %d bytes) is left out]", cut(c.MIMEType, 64), len(c.Data)))
		case *sdk.EmbeddedResource:
			parts = append(parts, resourceText(c.Resource))
		case *sdk.ResourceLink:
			parts = append(parts, fmt.Sprintf("[resource %s: %s]", cut(c.Name, 256), cut(c.URI, 1024)))
		}
	}
	if len(parts) == 0 && len(out.Images) == 0 && r.StructuredContent != nil {
		if text, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(text))
		}
	}
	out.Text, out.Truncated = bounded(strings.Join(parts, "\n"))
	if out.Text == "" && len(out.Images) == 0 {
		out.Text = "(no output)"
	}
	return out
}

func resourceText(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return "[an empty resource]"
	case r.Text != "" || len(r.Blob) == 0:
		return fmt.Sprintf("[resource %s]\n%s", cut(r.URI, 1024), r.Text)
	}
	return fmt.Sprintf("[resource %s (%s, %d bytes) is left out]", cut(r.URI, 1024), cut(r.MIMEType, 64), len(r.Blob))
}

// bounded keeps the head and the tail of a long text.
func bounded(text string) (string, bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxText {
		return text, false
	}
	head, tail := text[:maxText*3/4], text[len(text)-maxText/4:]
	missing := len(text) - len(head) - len(tail)
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[… %d bytes left out …]\n", missing) + strings.ToValidUTF8(tail, ""), true
}
