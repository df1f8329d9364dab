package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/mcp"
	"agent-ls/loop/sandbox"
	"agent-ls/loop/tool"
)

// runServers are the MCP servers of one run: what they offer by now, and what
// of it the model was told. The run waits for none of them; what is new is
// offered with the next request, and journaled before that. A nil one has no
// servers.
type runServers struct {
	svc    *Service
	all    []*runServer // by name
	lazy   int          // with more tools than this they are looked up; 0 = never
	root   string
	commit sync.Mutex // held while an offer is made known, so that there is one at a time

	mu        sync.Mutex // guards what follows
	run       *activeRun
	offered   []loop.OfferedTool // what the model was told last
	disclosed map[string]bool    // by name: it saw these
	settled   chan struct{}      // closed when every server is ready or failed
}

// runServer is one of them.
type runServer struct {
	config manifest.MCPServer
	def    mcp.Definition

	// Guarded by runServers.mu:
	lease *mcp.Lease
	tools []loop.OfferedTool // after every filter
	known bool               // it is ready or has failed
	err   error              // why it cannot be used
	took  time.Duration
}

// serversOf are the servers that a configuration names. Nothing is started.
func (s *Service) serversOf(cfg *manifest.Config, floor *sandbox.Floor) *runServers {
	if len(cfg.MCP) == 0 {
		return nil
	}
	v := &runServers{svc: s, lazy: cfg.Behavior.LazyMCPTools, root: s.opt.Root, disclosed: map[string]bool{}, settled: make(chan struct{})}
	for _, c := range cfg.MCP {
		d := mcp.Definition{
			Name: c.Name, Command: c.Command, URL: c.URL, Root: s.opt.Root, StartTimeout: c.StartTimeout, CallTimeout: c.Timeout,
			Env: c.Env, Headers: c.Headers,
		}
		if !c.Workspace {
			d.Env, d.Headers = expanded(c.Env), expanded(c.Headers)
		}
		on := floor
		if c.Network && !cfg.Sandbox.Network && !cfg.Sandbox.Off {
			on = floor.WithNetwork()
		}
		rules, _ := json.Marshal(cfg.Policy) // strings always encode
		d.Key = string(rules) + " " + on.Describe() + " " + strings.Join(cfg.Sandbox.Writable, "\x00") + " " + c.Digest
		d.Start = s.starter(on, c, d.Env)
		d.Allowed = func(ctx context.Context) error { return s.mayStart(ctx, c.Trust) }
		v.all = append(v.all, &runServer{config: c, def: d})
	}
	return v
}

// expanded replaces ${NAME} by the variable of our own environment.
func expanded(m map[string]string) map[string]string {
	out := maps.Clone(m)
	for k, text := range out {
		out[k] = os.Expand(text, func(name string) string {
			if !strings.Contains(text, "${"+name+"}") {
				return "$" + name // a plain dollar is one
			}
			return os.Getenv(name)
		})
	}
	return out
}

// mayStart refuses what a person does not trust, as it is at this moment.
func (s *Service) mayStart(ctx context.Context, t manifest.Trust) error {
	state, err := s.trusted(ctx, t)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", mcp.ErrRefused, err)
	case !state.Allows():
		return fmt.Errorf("%w: %s of this workspace is %s; a person has to trust it first", mcp.ErrRefused, t.ID, state)
	}
	return nil
}

// starter starts a server's program on the floor that commands run on, with
// their environment and the entry's own variables.
func (s *Service) starter(floor *sandbox.Floor, c manifest.MCPServer, env map[string]string) mcp.Start {
	return func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (mcp.Process, error) {
		if err := s.mayStart(ctx, c.Trust); err != nil {
			return nil, err
		}
		words := make([]string, len(c.Command))
		for i, w := range c.Command {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		p, err := floor.Command(ctx, "exec "+strings.Join(words, " "), s.opt.Root)
		if err != nil {
			return nil, err
		}
		p.Stdin, p.Stdout, p.Stderr = stdin, stdout, stderr
		for _, name := range slices.Sorted(maps.Keys(env)) {
			p.Env = append(p.Env, name+"="+env[name])
		}
		if err := p.Start(); err != nil {
			return nil, err
		}
		return program{p}, nil
	}
}

// program is a server's process on the floor.
type program struct{ *sandbox.Process }

func (p program) Wait() error {
	switch exit := p.Process.Wait(); {
	case exit.Err != nil:
		return exit.Err
	case exit.Signal != "":
		return fmt.Errorf("ended by signal: %s", exit.Signal)
	case exit.Code != 0:
		return fmt.Errorf("exit status %d", exit.Code)
	}
	return nil
}

// PageOpener is a Frontend that can show a web page to the person, for a login.
type PageOpener interface {
	OpenPage(ctx context.Context, why, url string) error
}

func (s *Service) browse(ctx context.Context, server, url string) error {
	if f, ok := s.opt.Frontend.(PageOpener); ok {
		return f.OpenPage(ctx, fmt.Sprintf("log in to the MCP server %s", server), url)
	}
	return mcp.ErrNobody
}

// begin starts the servers for a run and returns at once. What the session's
// model was offered before stays on offer until something else is known.
func (v *runServers) begin(r *activeRun) {
	if v == nil {
		return
	}
	v.mu.Lock()
	v.run = r
	for _, t := range r.state.Offered {
		if v.server(t.Server) != nil || t.Name == findTools {
			v.offered = append(v.offered, t)
			v.disclosed[t.Name] = true
		}
	}
	v.mu.Unlock()
	r.busy.Add(1)
	go func() {
		defer r.busy.Done()
		defer r.recovered()
		var each sync.WaitGroup
		for _, s := range v.all {
			each.Go(func() {
				defer r.recovered()
				v.watch(r.root, s)
			})
		}
		each.Wait()
	}()
}

func (v *runServers) server(name string) *runServer {
	i := slices.IndexFunc(v.all, func(s *runServer) bool { return s.config.Name == name })
	if i < 0 {
		return nil
	}
	return v.all[i]
}

// offer is what the model was told last.
func (v *runServers) offer() []loop.OfferedTool {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.offered
}

// refresh makes known what is new, at the boundary of a turn. The journal has
// it before anybody can rely on it.
func (v *runServers) refresh() {
	if v == nil {
		return
	}
	v.commit.Lock()
	defer v.commit.Unlock()
	v.mu.Lock()
	next := v.next()
	same := slices.EqualFunc(next, v.offered, func(a, b loop.OfferedTool) bool {
		return a.Name == b.Name && a.Description == b.Description && string(a.Schema) == string(b.Schema) && a.Server == b.Server && a.Tool == b.Tool
	})
	v.mu.Unlock()
	if same {
		return
	}
	if _, ok := v.run.tell(posted{event: loop.Event{Kind: loop.ToolsOffered, Offered: next}}); !ok {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.offered = next
	for _, t := range next {
		v.disclosed[t.Name] = true
	}
}

// next is what is to be offered by now. A server of which nothing is known yet
// keeps what it offered before.
func (v *runServers) next() []loop.OfferedTool {
	var all []loop.OfferedTool
	starting := false
	for _, s := range v.all {
		if s.known {
			all = append(all, s.tools...)
			continue
		}
		starting = true
		for _, t := range v.offered {
			if t.Server == s.config.Name {
				all = append(all, t)
			}
		}
	}
	lazy := v.lazy > 0 && len(all) > v.lazy
	if lazy {
		all = slices.DeleteFunc(all, func(t loop.OfferedTool) bool { return !v.disclosed[t.Name] })
	}
	if lazy || starting {
		all = append(all, loop.OfferedTool{ToolSpec: v.finderSpec()})
	}
	return all
}

// find gives the tool of that name as the servers offer it now, or as the
// model was told of it.
func (v *runServers) find(name string) loop.Tool {
	if v == nil || !isMCP(name) {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.all {
		for _, t := range s.tools {
			if t.Name == name {
				return &serverTool{v, s, t}
			}
		}
	}
	for _, t := range v.offered {
		if s := v.server(t.Server); s != nil && t.Name == name && !s.known {
			return &serverTool{v, s, t}
		}
	}
	return nil
}

// raise fires an event of the servers in the run, at no cost where nothing is
// declared for it. ok is false when its hooks ended the run.
func (v *runServers) raise(ctx context.Context, event string, fields map[string]any) (hooks.Outcome, bool) {
	r := v.run
	declared := slices.ContainsFunc(r.pin.agent().Stages, func(st manifest.Stage) bool { return r.gear.has(st.Name, event) })
	if !declared {
		return hooks.Outcome{Action: contract.Allow}, true
	}
	state, ok := r.tell(posted{event: loop.Event{Kind: loop.Noted}})
	if !ok {
		return hooks.Outcome{}, false
	}
	out := r.raise(ctx, &state, event, "", func() map[string]any { return fields })
	if out.Failure != nil && contract.ByName(event).Class != contract.Observe {
		r.endRun(event, out)
		return out, false
	}
	return out, ctx.Err() == nil
}

// wholeName is the name under which models, rules and hooks know a server's
// tool. Providers take letters, digits, _ and -, and 64 of them.
func wholeName(server, name string) string {
	whole := "mcp__" + plainName(server) + "__" + plainName(name)
	if len(whole) > 64 {
		sum := sha256.Sum256([]byte(server + "\x00" + name))
		whole = whole[:57] + "_" + hex.EncodeToString(sum[:3])
	}
	return whole
}

func plainName(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, s)
}

// fitsName says whether a name is one that a pattern means. A pattern that
// cannot be read means none.
func fitsName(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// configured applies tools and exclude of the manifest.
func configured(c *manifest.MCPServer, tools []mcp.Tool) []mcp.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool {
		is := func(pattern string) bool { return fitsName(pattern, t.Name) }
		return len(c.Tools) > 0 && !slices.ContainsFunc(c.Tools, is) || slices.ContainsFunc(c.Exclude, is)
	})
}

func toolFields(tools []mcp.Tool) []any {
	out := make([]any, len(tools))
	for i, t := range tools {
		schema, err := contract.ReadPlain(t.Schema)
		if err != nil {
			schema = map[string]any{} // it was written by us, from what parsed
		}
		out[i] = map[string]any{"name": t.Name, "description": t.Description, "input_schema": schema}
	}
	return out
}

// offering turns a server's tools into what the model is offered. Of two that
// would have one name, and of a schema that cannot be used, nothing is offered.
func offering(server string, tools []mcp.Tool, odd func(string)) []loop.OfferedTool {
	var out []loop.OfferedTool
	names := map[string]string{}
	for _, t := range tools {
		name := wholeName(server, t.Name)
		spec := loop.ToolSpec{Name: name, Description: t.Description, Schema: t.Schema}
		if other, taken := names[name]; taken {
			odd(fmt.Sprintf("its tools %q and %q would both be called %s; the second is left out", other, t.Name, name))
			continue
		}
		if err := tool.CheckSchema(spec); err != nil {
			odd(fmt.Sprintf("its tool %q is left out: %v", t.Name, err))
			continue
		}
		names[name] = t.Name
		out = append(out, loop.OfferedTool{ToolSpec: spec, Server: server, Tool: t.Name})
	}
	return out
}

// serverTool is one tool of a server, as the dispatcher knows tools.
type serverTool struct {
	servers *runServers
	server  *runServer
	offered loop.OfferedTool
}

func (t *serverTool) Spec() loop.ToolSpec { return t.offered.ToolSpec }

// Prepare says what the call would do, which nobody but the server knows.
func (t *serverTool) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	t.servers.mu.Lock()
	seen := t.servers.disclosed[t.offered.Name]
	t.servers.mu.Unlock()
	if !seen {
		return loop.Plan{}, fmt.Errorf("%s was not looked up yet: call %s with names [%q] first and read what it takes", t.offered.Name, findTools, t.offered.Name)
	}
	plan := loop.Plan{Effect: loop.Execute, Title: bounded(fmt.Sprintf("%s: %s %s", t.offered.Server, t.offered.Tool, args))}
	if t.server.config.URL != "" {
		plan.Effect = loop.Network
	}
	return plan, nil
}

// Run calls the tool. What changes of protected files while a program of ours
// serves the call is put back: no floor keeps it from making new ones.
func (t *serverTool) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	t.servers.mu.Lock()
	lease, err := t.server.lease, t.server.err
	t.servers.mu.Unlock()
	if lease == nil {
		if err == nil {
			err = fmt.Errorf("it is not there")
		}
		return *refusal(loop.CallError, fmt.Sprintf("the MCP server %s: %v", t.offered.Server, err))
	}
	if !call.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, call.Deadline)
		defer cancel()
	}
	watched := t.server.config.URL == ""
	var before sandbox.Digests
	if watched {
		before = sandbox.Snapshot(t.servers.root)
	}
	got, err := lease.Call(ctx, t.offered.Tool, call.Arguments, call.Output)
	result := loop.ToolResult{Text: got.Text, IsError: got.IsError, Truncated: got.Truncated, Outcome: loop.CallOK}
	if got.IsError {
		result.Outcome = loop.CallError
	}
	for _, i := range got.Images {
		result.Images = append(result.Images, loop.Block{Kind: loop.ImageBlock, MediaType: i.MediaType, Data: i.Data})
	}
	if err != nil {
		result = *refusal(loop.CallError, fmt.Sprintf("the MCP server %s: %v", t.offered.Server, err))
	}
	if watched {
		if changes := before.Compare(sandbox.Snapshot(t.servers.root)); len(changes) > 0 {
			did := t.servers.svc.setAside(changes)
			result.IsError, result.Outcome = true, loop.CallError
			result.Text += "\n[meanwhile protected files were changed, which only a person may allow: " + did + "]"
			t.servers.run.note(loop.Note{Level: "warning", Text: fmt.Sprintf("while the MCP server %s was called, protected files changed: %s", t.offered.Server, did)})
		}
	}
	return result
}
