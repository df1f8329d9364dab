package manifest

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/loop/model/rehearsal"
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
	if ok {
		_, found := rehearsal.Parse(path, text)
		for _, f := range found {
			l.out.add(f)
		}
	}
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

// shellWords is how a line is handed to the shell.
func shellWords(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C", line}
	}
	return []string{"sh", "-c", line}
}
