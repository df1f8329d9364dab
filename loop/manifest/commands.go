package manifest

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/loop/realpath"
	"agent-ls/loop/tool/toolname"
	"agent-ls/loop/trust"
)

// commands collects what starts a process.
func (l *loader) commands() {
	for _, one := range l.everyLayer() {
		if n := one.root().get("hook"); n != nil {
			for i, item := range n.items {
				if !item.bad {
					l.commandHook(one, item, i)
				}
			}
		}
		if n := one.root().get("diagnostics"); n != nil && n.kind == tableKind {
			for _, e := range n.keys {
				if !e.value.bad {
					d := DiagnosticsCommand{Ext: strings.TrimPrefix(e.name, "."), Command: e.value.text}
					d.Trust = l.trust(one, "diagnostics."+e.name, e.value.span, check.Warning,
						trust.Item{Kind: trust.Diagnostics, Name: e.name, Entry: entryJSON(e.value), Line: d.Command})
					l.cfg.Diagnostics = append(l.cfg.Diagnostics, d)
					l.cfg.Origins[pathText([]string{"diagnostics", e.name})] = one.origin(e.value, e.value.text)
				}
			}
		}
	}
	l.servers()
}

func (l *loader) commandHook(one *layer, n *node, index int) {
	event := n.get("event")
	command := n.get("command")
	if event == nil || command == nil {
		return
	}
	if !slices.Contains(CommandEvents, event.text) {
		l.unknownEvent(one, event.text, event.span, CommandEvents, "command hooks", true)
		return
	}
	id := fmt.Sprintf("%shook.%d", idPrefix(one), index)
	out := CommandHook{
		Event: event.text, Command: command.text,
		Declared: location(one.path, one.doc.text, n.span),
	}
	if m := n.get("matcher"); m != nil {
		out.Matcher = m.text
		if !l.matcher(one, m, out.Event) {
			return
		}
	}
	if env := n.get("env"); env != nil {
		out.Env = map[string]string{}
		for _, e := range env.keys {
			if !e.value.bad {
				out.Env[e.name] = e.value.text
			}
		}
	}
	if r := n.get("required"); r != nil {
		out.Required = r.truth
	}
	out.Required = out.Required || one.kind == orgLayer
	severity := check.Warning
	if out.Required {
		severity = check.Error // an untrusted one that must run keeps runs from starting
	}
	out.Trust = l.trust(one, id, n.span, severity,
		trust.Item{Kind: trust.Hook, Name: out.Event + " " + out.Command, Entry: entryJSON(n), Line: out.Command, Env: out.Env})
	l.cfg.Commands = append(l.cfg.Commands, out)
}

// matcher says whether a matcher can match: its names are compared as they are
// spelt, so one that is nearly right never fires and nobody would notice.
func (l *loader) matcher(one *layer, n *node, event string) bool {
	if e := contract.ByName(event); e != nil {
		if _, scoped := e.Field("tool_names"); !scoped {
			l.out.add(one.finding(n.span, CodeUnavailable, check.Warning, fmt.Sprintf("a matcher counts for pre_tool and post_tool only: this %s hook fires whatever it says", event)))
			return true
		}
	}
	named := 0
	for _, name := range strings.Split(n.text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		named++
		if _, ok := toolname.BySpelling(name); ok || name == "*" {
			continue
		}
		l.unknownSpelling(one, n, name)
		return false
	}
	if named == 0 && strings.TrimSpace(n.text) != "" {
		l.out.add(one.finding(n.span, CodeUnknownTool, check.Error, fmt.Sprintf("hook.matcher: %q names no tool: it would never match", n.text)))
		return false
	}
	return true
}

func (l *loader) unknownSpelling(one *layer, n *node, name string) {
	near, message := toolname.NearestSpelling(name), fmt.Sprintf("hook.matcher: no tool is called %q", name)
	if KnownTool(name) {
		message = fmt.Sprintf("hook.matcher: no tool is spelt %q, so it would never match", name)
	}
	if strings.Contains(name, "|") {
		message += "; names are separated by commas"
	} else if near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	at, exact := n.span, plainString(one, n)
	if exact {
		start := n.span.Start + 1 + strings.Index(n.text, name)
		at = check.Span{Start: start, End: start + len(name)}
	}
	f := one.finding(at, CodeUnknownTool, check.Error, message)
	if near != "" && exact {
		f = withFix(f, at, near, near)
	}
	l.out.add(f)
}

// servers merges [mcp.*]: an entry of a later layer replaces the whole one.
func (l *loader) servers() {
	all := map[string]MCPServer{}
	for _, one := range l.layers {
		n := one.root().get("mcp")
		if n == nil || n.kind != tableKind {
			continue
		}
		for _, e := range n.keys {
			if e.value.bad {
				continue
			}
			if have, ok := all[e.name]; ok && one.restricted() && !have.Workspace {
				l.out.add(one.finding(e.key, CodeNotAllowedHere, check.Warning, fmt.Sprintf("mcp.%s has no effect here: it is the user's server", keyText(e.name))))
				continue
			}
			s := MCPServer{Name: e.name, Command: e.value.get("command").strings(), Env: stringTable(e.value.get("env")), Headers: stringTable(e.value.get("headers"))}
			if u := e.value.get("url"); u != nil {
				s.URL = u.text
			}
			if !l.serverLimits(&s, e.value, keyText(e.name), one) {
				continue
			}
			if (len(s.Command) == 0) == (s.URL == "") {
				l.out.add(one.finding(e.key, CodeWrongType, check.Error, fmt.Sprintf("mcp.%s needs either a command or a url", keyText(e.name))))
				continue
			}
			s.Trust = l.trust(one, "mcp."+e.name, e.key, check.Warning,
				trust.Item{Kind: trust.MCP, Name: e.name, Entry: entryJSON(e.value), Argv: s.Command, URL: s.URL, Env: s.Env})
			all[e.name] = s
			l.cfg.Origins[pathText([]string{"mcp", e.name})] = one.origin(e.value, e.value.plain())
		}
	}
	for _, name := range sortedKeys(all) {
		l.cfg.MCP = append(l.cfg.MCP, all[name])
	}
}

// serverLimits reads what bounds a server's use. False means that a filter
// cannot be read: the server is then left out, not its filter.
func (l *loader) serverLimits(s *MCPServer, n *node, name string, one *layer) (ok bool) {
	s.Tools, s.Exclude = n.get("tools").strings(), n.get("exclude").strings()
	s.Timeout, s.StartTimeout = 5*time.Minute, time.Minute
	for key, into := range map[string]*time.Duration{"timeout": &s.Timeout, "start_timeout": &s.StartTimeout} {
		if v := n.get(key); v != nil {
			if d, err := parseDuration(v.text); err == nil && d > 0 { // else it is a finding already
				*into = d
			}
		}
	}
	if v := n.get("network"); v != nil && !one.restricted() {
		s.Network = v.truth
		if s.Network && l.noNetwork() {
			s.Network = false
			l.looser(one, v, "mcp."+name+".network", false)
		}
	}
	ok = true
	for _, patterns := range [][]string{s.Tools, s.Exclude} {
		for _, p := range patterns {
			if _, err := path.Match(p, ""); err != nil {
				ok = false
				l.out.add(one.finding(n.span, CodeWrongType, check.Error, fmt.Sprintf("mcp.%s: %q is no pattern of names", name, p)))
			}
		}
	}
	return ok
}

// noNetwork says whether the organisation keeps commands off the network. No
// single server is let past that.
func (l *loader) noNetwork() bool {
	if l.org == nil {
		return false
	}
	n := l.org.root().at("sandbox", "network")
	return n != nil && !n.bad && !n.truth
}

func stringTable(n *node) map[string]string {
	if n == nil || n.kind != tableKind {
		return nil
	}
	out := map[string]string{}
	for _, e := range n.keys {
		if !e.value.bad {
			out[e.name] = e.value.text
		}
	}
	return out
}

// trust works out the content of an entry that starts a process and how it
// stands with the user.
func (l *loader) trust(one *layer, id string, at check.Span, severity check.Severity, item trust.Item) Trust {
	if !one.restricted() {
		return Trust{ID: id, Trusted: true, State: trust.NotNeeded}
	}
	t := Trust{ID: id, Workspace: true, State: trust.Untrusted, Item: item}
	if path := l.sources.Trust.Path(); path != "" {
		l.watch(path)
	}
	digest, err := item.Digest(l.sources.Root)
	if err == nil {
		t.Digest = digest
		t.State, err = l.sources.Trust.State(l.ctx, realpath.Resolve(l.sources.Root), item.Kind, item.Name, digest)
	}
	t.Trusted = t.State.Allows()
	does := fmt.Sprintf("run %q", item.Line)
	switch {
	case len(item.Argv) > 0:
		does = fmt.Sprintf("run %q", strings.Join(item.Argv, " "))
	case item.Line == "":
		does = "connect to " + item.URL
	}
	if t.Trusted && err == nil {
		return t
	}
	f := one.finding(at, CodeUntrusted, severity, fmt.Sprintf("%s waits for your trust: it would %s", id, does))
	switch {
	case err != nil:
		f.Message = fmt.Sprintf("%s is not trusted: %v", id, err)
	case t.State == trust.Changed:
		f.Message = fmt.Sprintf("%s changed since you trusted it and waits for your trust: it would %s", id, does)
	}
	if err == nil {
		f.Trust = &check.TrustAsk{ID: id, Digest: digest, Does: does}
	}
	l.out.add(f)
	return t
}

// entryJSON is an entry as it is declared; plain data always encodes.
func entryJSON(n *node) json.RawMessage {
	text, _ := json.Marshal(n.plain())
	return text
}

// Starters lists everything in the configuration that starts a process or
// connects to one, in declared order: command hooks, diagnostics commands, MCP
// servers.
func (c *Config) Starters() []Trust {
	var out []Trust
	for _, h := range c.Commands {
		out = append(out, h.Trust)
	}
	for _, d := range c.Diagnostics {
		out = append(out, d.Trust)
	}
	for _, s := range c.MCP {
		out = append(out, s.Trust)
	}
	return out
}
