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
	"time"

	"github.com/spf13/viper"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/loop/tool/toolname"
)

// placed is a value with the layer that it came from.
type placed struct {
	n     *node
	layer *layer
}

// modelParts are one model's merged settings by their path below the name.
type modelParts struct {
	parts   map[string]placed
	headers map[string]placed
	first   placed // what defined it
	users   bool   // a layer of the user's defined it
}

// models merges [models], key by key.
func (l *loader) models() {
	all := map[string]*modelParts{}
	for _, one := range l.layers {
		n := one.root().get("models")
		if n == nil || n.kind != tableKind {
			continue
		}
		for _, e := range n.keys {
			if !e.value.bad {
				l.mergeModel(all, one, e)
			}
		}
	}
	for _, name := range sortedKeys(all) {
		l.model(name, all[name])
	}
	for _, name := range sortedKeys(all) {
		if p, ok := all[name].parts["fallback"]; ok {
			for _, s := range p.n.stringNodes() {
				l.modelExists(p.layer, s, all)
			}
		}
	}
}

func (l *loader) mergeModel(all map[string]*modelParts, one *layer, e *entry) {
	m := all[e.name]
	if m == nil {
		m = &modelParts{parts: map[string]placed{}, headers: map[string]placed{}, first: placed{e.value, one}, users: !one.restricted()}
	}
	if one.restricted() && !l.workspaceModel(m, one, e) {
		return
	}
	m.users = m.users || !one.restricted()
	if e.value.get("provider") != nil || e.value.get("model") != nil {
		m.first = placed{e.value, one}
	}
	all[e.name] = m
	var add func(prefix string, n *node)
	add = func(prefix string, n *node) {
		for _, k := range n.keys {
			path := prefix + k.name
			switch {
			case k.value.bad:
			case prefix == "headers.":
				m.headers[k.name] = placed{k.value, one}
			case k.value.kind == tableKind:
				add(path+".", k.value)
			default:
				m.parts[path] = placed{k.value, one}
			}
			if !k.value.bad && k.value.kind != tableKind && prefix != "headers." {
				l.cfg.Origins[pathText([]string{"models", e.name})+"."+path] = one.origin(k.value, k.value.plain())
			}
		}
	}
	add("", e.value)
}

// workspaceModel disables what a workspace may not say about a model. It
// returns false when nothing of the entry counts.
func (l *loader) workspaceModel(m *modelParts, one *layer, e *entry) bool {
	provider := e.value.entry("provider")
	rehearsal := provider != nil && !provider.value.bad && provider.value.text == "rehearsal"
	if m.users {
		if m.parts["provider"].n != nil && m.parts["provider"].n.text == "rehearsal" {
			return true
		}
		for _, k := range e.value.keys {
			if slices.Contains([]string{"provider", "model", "script", "price"}, k.name) && !k.value.bad {
				k.value.bad = true
				l.out.add(one.finding(k.key, CodeNotAllowedHere, check.Warning,
					fmt.Sprintf("models.%s.%s has no effect here: %s is the user's model", keyText(e.name), k.name, e.name)))
			}
		}
		return true
	}
	if m.parts["provider"].n != nil || rehearsal {
		return true
	}
	at := e.key
	if provider != nil {
		at = provider.key
	}
	l.out.add(one.finding(at, CodeNotAllowedHere, check.Warning,
		fmt.Sprintf("the model %s has no effect here: a workspace defines rehearsal models only, others belong in the user's config", e.name)))
	return false
}

func (l *loader) model(name string, m *modelParts) {
	text := func(path string) string {
		if p, ok := m.parts[path]; ok && p.n.kind == stringKind {
			return p.n.text
		}
		return ""
	}
	number := func(path string, otherwise int) int {
		if p, ok := m.parts[path]; ok {
			return int(p.n.num)
		}
		return otherwise
	}
	span := func(path string, otherwise time.Duration) time.Duration {
		if d, err := parseDuration(text(path)); err == nil {
			return d
		}
		return otherwise
	}
	out := Model{
		Name: name, Provider: text("provider"), Model: text("model"), BaseURL: text("base_url"), APIKeyEnv: text("api_key_env"),
		MaxTokens: number("max_tokens", 16384), Fallback: m.parts["fallback"].n.strings(), ContextWindow: number("context_window", 0),
		Attempts: number("limits.attempts", 5), TotalWait: span("limits.total_wait", 2*time.Minute), Idle: span("limits.idle", 90*time.Second),
		Origin: m.first.layer.origin(m.first.n, nil),
	}
	if out.Provider == "" {
		l.out.add(m.first.layer.finding(m.first.n.span, CodeWrongType, check.Error, fmt.Sprintf("models.%s needs a provider: %s", keyText(name), quotedChoice(rowAt([]string{"models", name, "provider"}).setting.Values))))
		return
	}
	if p, ok := m.parts["api_key_command"]; ok {
		out.APIKeyCommand = p.n.strings()
		if p.n.kind == stringKind {
			out.APIKeyCommand = shellWords(p.n.text)
		}
	}
	if len(m.headers) > 0 {
		out.Headers = map[string]string{}
		for key, p := range m.headers {
			out.Headers[key] = p.n.text
		}
	}
	out.Price = price(m.parts)
	if out.Provider == "rehearsal" && !l.rehearsal(&out, m) {
		return
	}
	l.cfg.Models[name] = out
}

// price is set when any of its keys is.
func price(parts map[string]placed) *Price {
	var p Price
	set := false
	for path, to := range map[string]*float64{"price.input": &p.Input, "price.output": &p.Output, "price.cache_read": &p.CacheRead, "price.cache_write": &p.CacheWrite} {
		if v, ok := parts[path]; ok {
			set = true
			if *to = v.n.frac; v.n.kind == intKind {
				*to = float64(v.n.num)
			}
		}
	}
	if !set {
		return nil
	}
	return &p
}

// rehearsal reads a rehearsal model's script.
func (l *loader) rehearsal(out *Model, m *modelParts) bool {
	p, ok := m.parts["script"]
	if !ok {
		l.out.add(m.first.layer.finding(m.first.n.span, CodeWrongType, check.Error, fmt.Sprintf("models.%s needs a script: the provider is rehearsal", keyText(out.Name))))
		return false
	}
	path, text, ok := l.textFile(p.layer, p.n, "rehearsal")
	out.Script, out.ScriptText = path, text
	return ok
}

func (l *loader) modelExists(one *layer, n *node, all map[string]*modelParts) {
	if all[n.text] != nil {
		return
	}
	near := contract.Nearest(n.text, sortedKeys(all))
	f := one.finding(n.span, CodeUndefined, check.Warning, fmt.Sprintf("no model is called %q%s", n.text, contract.DidYouMean(n.text, sortedKeys(all))))
	if near != "" {
		f = withFix(f, n.span, quote(near), near)
	}
	l.out.add(f)
}

// everyLayer are all layers, the organisation's first.
func (l *loader) everyLayer() []*layer {
	if l.org == nil {
		return l.layers
	}
	return append([]*layer{l.org}, l.layers...)
}

var ruleForm = regexp.MustCompile(`(?s)^\s*([A-Za-z0-9_*-]+)\s*(?:\((.*)\))?\s*$`)

// policy adds up the rules of all layers.
func (l *loader) policy() {
	users := map[string]bool{}
	if l.user != nil {
		for _, n := range l.user.root().get("policy").get("allow").stringNodes() {
			users[n.text] = true
		}
	}
	for _, one := range l.everyLayer() {
		p := one.root().get("policy")
		for _, verdict := range []string{"deny", "ask", "allow"} {
			for _, n := range p.get(verdict).stringNodes() {
				m := ruleForm.FindStringSubmatch(n.text)
				if m == nil {
					l.out.add(one.finding(n.span, CodeWrongType, check.Error, fmt.Sprintf("%q is no rule: write tool or tool(pattern)", n.text)))
					continue
				}
				if !KnownTool(m[1]) {
					at := n.span
					if i := strings.Index(n.text, m[1]); at.End > at.Start && plainString(one, n) {
						at = check.Span{Start: n.span.Start + 1 + i, End: n.span.Start + 1 + i + len(m[1])}
					}
					l.unknownTool(one, m[1], at, "policy."+verdict, false)
					continue
				}
				if verdict == "allow" && one.restricted() && !users[n.text] {
					l.out.add(one.finding(n.span, CodeNotAllowedHere, check.Warning,
						fmt.Sprintf("counts as ask: a workspace cannot allow %s, only the user's own config can", n.text)))
				}
				rule := Rule{Verdict: verdict, Text: n.text, Origin: one.origin(n, n.text)}
				if one.agentFile {
					rule.Agent = agentName(one)
				}
				l.cfg.Policy.Rules = append(l.cfg.Policy.Rules, rule)
			}
		}
	}
}

// For leaves out the rules of other agents.
func (p Policy) For(agent string) Policy {
	out := Policy{Default: p.Default}
	for _, r := range p.Rules {
		if r.Agent == "" || r.Agent == agent {
			out.Rules = append(out.Rules, r)
		}
	}
	return out
}

// plainString says whether a string's bytes stand in the file as they are.
func plainString(one *layer, n *node) bool {
	text := one.doc.text
	return n.span.End <= len(text) && n.span.End-n.span.Start == len(n.text)+2 && string(text[n.span.Start+1:n.span.End-1]) == n.text
}

func (l *loader) unknownTool(one *layer, name string, at check.Span, where string, quoted bool) {
	near, hint := toolname.Nearest(name), ""
	if near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	f := one.finding(at, CodeUnknownTool, check.Error, fmt.Sprintf("%s: no tool is called %q%s", where, name, hint))
	if near != "" {
		text := near
		if quoted {
			text = quote(near)
		}
		f = withFix(f, at, text, near)
	}
	l.out.add(f)
}

// taint adds up labels and takes the lowest clearance: a workspace, and
// everything below the organisation, can only make both stricter.
func (l *loader) taint() {
	t := &l.cfg.Taint
	t.Clearance = map[string]string{}
	level := map[string]string{}
	var globs []string
	for _, one := range l.everyLayer() {
		n := one.root().get("taint")
		if labels := n.get("labels"); labels != nil {
			for _, e := range labels.keys {
				if e.value.bad {
					continue
				}
				have, known := level[e.name]
				if known && place(Levels, e.value.text) < place(Levels, have) && (one.restricted() || l.orgSays("labels", e.name)) {
					l.looser(one, e.value, pathText([]string{"taint", "labels", e.name}), have)
					continue
				}
				if !known {
					globs = append(globs, e.name)
				}
				level[e.name] = e.value.text
				l.cfg.Origins[pathText([]string{"taint", "labels", e.name})] = one.origin(e.value, e.value.text)
			}
		}
		for _, e := range l.toolKeys(one, n.get("clearance"), "taint.clearance") {
			tool := CanonicalTool(e.name)
			have, known := t.Clearance[tool]
			if known && place(Levels, e.value.text) > place(Levels, have) && (one.restricted() || l.orgSays("clearance", tool)) {
				l.looser(one, e.value, pathText([]string{"taint", "clearance", e.name}), have)
				continue
			}
			t.Clearance[tool] = e.value.text
			l.cfg.Origins[pathText([]string{"taint", "clearance", tool})] = one.origin(e.value, e.value.text)
		}
	}
	for _, g := range globs {
		t.Labels = append(t.Labels, Label{Glob: g, Level: level[g]})
	}
}

func (l *loader) orgSays(table, name string) bool {
	if l.org == nil {
		return false
	}
	n := l.org.root().get("taint").get(table)
	if n == nil {
		return false
	}
	return slices.ContainsFunc(n.keys, func(e *entry) bool { return e.name == name || CanonicalTool(e.name) == name })
}

// sandbox narrows the writable folders.
func (l *loader) sandbox(v *viper.Viper) {
	s := &l.cfg.Sandbox
	s.Network, s.Off = v.GetBool("sandbox.network"), v.GetBool("sandbox.off")
	s.Writable = []string{"."}
	const path = "sandbox.writable"
	l.cfg.Origins[path] = Origin{Layer: defaultLayer.String(), Value: s.Writable}
	for _, one := range l.layers {
		n := one.root().get("sandbox").get("writable")
		if n == nil {
			continue
		}
		kept := []string{}
		for _, f := range n.stringNodes() {
			if one.restricted() && !l.within(f.text, s.Writable) {
				l.looser(one, f, path, s.Writable)
				continue
			}
			kept = append(kept, f.text)
		}
		s.Writable = kept
		l.cfg.Origins[path] = one.origin(n, kept)
	}
	if l.org == nil {
		return
	}
	if n := l.org.root().get("sandbox").get("writable"); n != nil {
		folders := n.strings()
		kept := slices.DeleteFunc(slices.Clone(s.Writable), func(f string) bool { return !l.within(f, folders) })
		if len(kept) != len(s.Writable) {
			for _, one := range l.layers {
				for _, f := range one.root().get("sandbox").get("writable").stringNodes() {
					if !l.within(f.text, folders) {
						l.looser(one, f, path, folders)
					}
				}
			}
			// What is left may be nothing; the organisation's own are narrower
			// than what they replace only if they lie within it.
			for _, f := range folders {
				if l.within(f, s.Writable) && !slices.Contains(kept, f) {
					kept = append(kept, f)
				}
			}
			s.Writable = kept
			l.cfg.Origins[path] = l.org.origin(n, kept)
		}
	}
}

// within says whether a folder lies in one of others, from the root.
func (l *loader) within(folder string, others []string) bool {
	abs := func(f string) string {
		if !filepath.IsAbs(f) {
			f = filepath.Join(l.sources.Root, f)
		}
		return resolved(filepath.Clean(f))
	}
	inner := abs(folder)
	for _, other := range others {
		if inside(abs(other), inner) {
			return true
		}
	}
	return false
}

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
	if !slices.Contains(CommandEvents, event.text) || contract.ByName(event.text) == nil {
		l.unknownEvent(one, event.text, event.span, slices.DeleteFunc(slices.Clone(CommandEvents), func(e string) bool { return contract.ByName(e) == nil }), "command hooks", true)
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

// shellWords is how a line is handed to the shell.
func shellWords(line string) []string { return []string{"sh", "-c", line} }

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}
