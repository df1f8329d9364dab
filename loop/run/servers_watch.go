package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/mcp"
)

// watch uses one server for as long as the run lasts, and raises what happens
// on its connection.
func (v *runServers) watch(ctx context.Context, s *runServer) {
	began := time.Now()
	fields := func(more map[string]any) map[string]any {
		more["server"] = s.config.Name
		return more
	}
	if _, ok := v.raise(ctx, "mcp:bootstrap:start", fields(map[string]any{"transport": s.def.Transport()})); !ok {
		return
	}
	if err := v.svc.mayStart(ctx, s.config.Trust); err != nil {
		v.verdict(ctx, s, began, err)
		return
	}
	lease, err := v.svc.pool.Use(s.def)
	if err != nil {
		v.verdict(ctx, s, began, err)
		return
	}
	defer lease.Release()
	v.mu.Lock()
	s.lease = lease
	v.mu.Unlock()
	w := watching{v: v, server: s, lease: lease, began: began, fields: fields}
	for {
		select {
		case n := <-lease.Notices():
			if !w.take(ctx, n) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// watching is what one run knows of one connection.
type watching struct {
	v         *runServers
	server    *runServer
	lease     *mcp.Lease
	began     time.Time
	fields    func(map[string]any) map[string]any
	connected bool
	decided   bool
}

// take acts on a notice. False means that the run is over.
func (w *watching) take(ctx context.Context, n mcp.Notice) bool {
	v := w.v
	hear := func(event string, more map[string]any) bool {
		_, ok := v.raise(ctx, event, w.fields(more))
		return ok
	}
	switch n.Kind {
	case mcp.Connected:
		w.connected = true
		return hear("mcp:connect", map[string]any{"transport": w.server.def.Transport(), "reconnect": n.Reconnect})
	case mcp.Listed:
		if !w.connected {
			w.connected = true
			if !hear("mcp:connect", map[string]any{"transport": w.server.def.Transport(), "reconnect": false}) {
				return false
			}
		}
		return w.listed(ctx)
	case mcp.Failed:
		if !hear("mcp:error", map[string]any{"error": bounded(n.Text)}) {
			return false
		}
		return w.decide(ctx, errors.New(n.Text))
	case mcp.Warned:
		return hear("mcp:warn", map[string]any{"message": bounded(n.Text)})
	case mcp.Closed:
		w.connected = false
		return hear("mcp:close", map[string]any{"reason": bounded(n.Text)})
	case mcp.AuthRequired:
		v.run.note(loop.Note{Level: "info", Text: fmt.Sprintf("the MCP server %s wants you to log in", w.server.config.Name)})
		return hear("mcp:auth:required", map[string]any{})
	case mcp.AuthURL:
		return hear("mcp:auth:url", map[string]any{"url": n.Text})
	case mcp.AuthSuccess:
		return hear("mcp:auth:success", map[string]any{})
	case mcp.AuthError:
		return hear("mcp:auth:error", map[string]any{"error": bounded(n.Text)})
	}
	return true
}

// listed takes the server's tools through the filters.
func (w *watching) listed(ctx context.Context) bool {
	v, s := w.v, w.server
	tools := w.lease.Tools()
	if _, ok := v.raise(ctx, "mcp:tools:list", w.fields(map[string]any{"tools": toolFields(tools)})); !ok {
		return false
	}
	tools = configured(&s.config, tools)
	out, ok := v.raise(ctx, "mcp:tools:filter", w.fields(map[string]any{"tools": toolFields(tools)}))
	if !ok {
		return false
	}
	if out.Action == contract.Modify {
		tools = remaining(tools, out.Value)
	}
	offered := offering(s.config.Name, tools, func(text string) {
		v.raise(ctx, "mcp:warn", w.fields(map[string]any{"message": bounded(text)}))
		v.run.note(loop.Note{Level: "warning", Text: fmt.Sprintf("the MCP server %s: %s", s.config.Name, text)})
	})
	v.mu.Lock()
	s.tools = offered
	v.mu.Unlock()
	return w.decide(ctx, nil)
}

// remaining keeps the tools that a filter left. The contract has checked that
// it added none.
func remaining(tools []mcp.Tool, value any) []mcp.Tool {
	list, _ := value.([]any)
	left := map[string]bool{}
	for _, v := range list {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		left[name] = true
	}
	var out []mcp.Tool
	for _, t := range tools {
		if left[t.Name] {
			out = append(out, t)
		}
	}
	return out
}

// decide says once how the server's start went; later failures are those of a
// server that was known, whose tools stay on offer while it is tried again.
func (w *watching) decide(ctx context.Context, err error) bool {
	if w.decided {
		if err == nil {
			w.v.mu.Lock()
			w.server.known, w.server.err = true, nil
			w.v.mu.Unlock()
		}
		return true
	}
	w.decided = true
	return w.v.verdict(ctx, w.server, w.began, err)
}

// verdict marks a server as ready or failed, and all as settled with the last.
func (v *runServers) verdict(ctx context.Context, s *runServer, began time.Time, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	took := time.Since(began)
	v.mu.Lock()
	s.known, s.err, s.took = true, err, took
	count, last := len(s.tools), true
	for _, other := range v.all {
		last = last && other.known
	}
	v.mu.Unlock()
	var why any
	if err != nil {
		why = bounded(err.Error())
		v.run.note(loop.Note{Level: "warning", Text: fmt.Sprintf("the MCP server %s cannot be used: %s", s.config.Name, why)})
	}
	_, ok := v.raise(ctx, "mcp:bootstrap:end", map[string]any{
		"server": s.config.Name, "transport": s.def.Transport(), "ok": err == nil, "error": why, "tools": int64(count), "duration_ms": took.Milliseconds(),
	})
	if ok && last {
		ok = v.allSettled(ctx)
	}
	return ok
}

func (v *runServers) allSettled(ctx context.Context) bool {
	v.mu.Lock()
	results := make([]any, len(v.all))
	for i, s := range v.all {
		var why any
		if s.err != nil {
			why = bounded(s.err.Error())
		}
		results[i] = map[string]any{"name": s.config.Name, "ok": s.err == nil, "error": why, "tools": int64(len(s.tools)), "duration_ms": s.took.Milliseconds()}
	}
	select {
	case <-v.settled: // two verdicts at once both saw the last one
		v.mu.Unlock()
		return true
	default:
		close(v.settled)
	}
	v.mu.Unlock()
	_, ok := v.raise(ctx, "mcp:bootstrap:settled", map[string]any{"results": results})
	return ok
}
