package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agent-ls/hooks/check"
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
					d.Trust = l.trust(one, "diagnostics."+e.name, e.value, e.value.span, check.Warning, d.Command)
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
	out := CommandHook{
		ID: fmt.Sprintf("%shook.%d", idPrefix(one), index), Event: event.text, Command: command.text,
		Declared: location(one.path, one.doc.text, n.span),
	}
	if m := n.get("matcher"); m != nil {
		out.Matcher = m.text
		for _, tool := range strings.Split(m.text, ",") {
			if tool = strings.TrimSpace(tool); tool != "" && !KnownTool(tool) {
				l.unknownTool(one, tool, m.span, "hook.matcher", false)
				return
			}
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
	out.Trust = l.trust(one, out.ID, n, n.span, severity, out.Command)
	l.cfg.Commands = append(l.cfg.Commands, out)
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
			if (len(s.Command) == 0) == (s.URL == "") {
				l.out.add(one.finding(e.key, CodeWrongType, check.Error, fmt.Sprintf("mcp.%s needs either a command or a url", keyText(e.name))))
				continue
			}
			s.Trust = l.trust(one, "mcp."+e.name, e.value, e.key, check.Warning, strings.Join(s.Command, " "))
			all[e.name] = s
			l.cfg.Origins[pathText([]string{"mcp", e.name})] = one.origin(e.value, e.value.plain())
		}
	}
	for _, name := range sortedKeys(all) {
		l.cfg.MCP = append(l.cfg.MCP, all[name])
	}
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

// trust works out the digest of an entry that starts a process and whether
// the user trusts it.
func (l *loader) trust(one *layer, what string, n *node, at check.Span, severity check.Severity, command string) Trust {
	if !one.restricted() {
		return Trust{Trusted: true}
	}
	t := Trust{Workspace: true, Digest: l.digest(what, n, command)}
	t.Trusted = l.sources.Trusted != nil && l.sources.Trusted(t.Digest)
	if !t.Trusted {
		l.out.add(one.finding(at, CodeUntrusted, severity, fmt.Sprintf("%s waits for your trust: it would run %q", what, command)))
	}
	return t
}

var wordBreak = regexp.MustCompile(`[\s"'=;|&()<>]+`)

// digest covers the entry and each file of the workspace that its command names.
func (l *loader) digest(what string, n *node, command string) string {
	h := sha256.New()
	entry, _ := json.Marshal([]any{what, n.plain()}) // plain data always encodes
	h.Write(entry)
	root := resolved(l.sources.Root)
	for _, word := range wordBreak.Split(command, -1) {
		if word == "" {
			continue
		}
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, word)
		}
		if path = resolved(path); path == root || !inside(root, path) {
			continue
		}
		if text, err := l.sources.read(path); err == nil {
			sum := sha256.Sum256(text)
			fmt.Fprintf(h, "\x00%s\x00%x", word, sum)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
