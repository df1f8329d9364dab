package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"

	"agent-ls/hooks/check"
	"agent-ls/hooks/textfile"
	"agent-ls/loop/trust"
)

// Sources say where the layers come from. Load reads them afresh each time
// and keeps nothing.
type Sources struct {
	// Root is the workspace, absolute.
	Root string
	// UserConfig is the user's file; "" = DefaultUserConfig.
	UserConfig string
	// OrgPolicy is the organisation's file; "" = DefaultOrgPolicy.
	OrgPolicy string
	// Environ is the environment as os.Environ gives it; nil = that.
	Environ []string
	// Client holds the editor's settings (initializationOptions, or the
	// workspace/configuration section "agent-ls").
	Client map[string]any
	// Flags holds command-line settings by dotted path: "agent.model".
	Flags map[string]any
	// Overlay gives an open document's text by absolute path.
	Overlay func(path string) ([]byte, bool)
	// Trust is what the user trusts of workspaces; nil = nothing.
	Trust *trust.Store
}

type layerKind uint8

const (
	defaultLayer layerKind = iota
	orgLayer
	userLayer
	workspaceLayer
	environmentLayer
	clientLayer
	flagLayer
)

func (k layerKind) String() string {
	return [...]string{"default", "organisation", "user", "workspace", "environment", "client", "flag"}[k]
}

// layer is one source of settings.
type layer struct {
	kind      layerKind
	path      string // the file, or one of EnvironmentPath, ClientPath, FlagPath
	base      string // the folder that scripts are relative to and stay in
	doc       *document
	agentFile bool   // agents/NAME.toml
	name      string // NAME, or "default"
}

// restricted layers come with the code that the agent works on.
func (l *layer) restricted() bool { return l.kind == workspaceLayer || l.kind == clientLayer }

func (l *layer) root() *node { return l.doc.root }

func (l *layer) finding(span check.Span, code check.Code, severity check.Severity, message string) check.Finding {
	return check.Finding{Path: l.path, Span: span, Code: code, Severity: severity, Message: message}
}

func (l *layer) origin(n *node, value any) Origin {
	o := Origin{Layer: l.kind.String(), Value: value}
	if l.doc != nil && l.doc.text != nil {
		o.Path = l.path
		if n != nil {
			o.Line = lineOf(l.doc.text, n.span.Start)
		}
	}
	return o
}

// findings collects; each fault once.
type findings struct {
	list []check.Finding
	seen map[string]bool
}

func (f *findings) add(one check.Finding) {
	key := fmt.Sprint(one.Path, one.Span, one.Code, one.Message)
	if f.seen[key] {
		return
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[key] = true
	f.list = append(f.list, one)
}

// DefaultUserConfig is where the user's config file is, from an environment.
func DefaultUserConfig(environ []string) string {
	if dir := lookup(environ, "XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agent-ls", "config.toml")
	}
	if runtime.GOOS == "windows" {
		if dir := lookup(environ, "APPDATA"); dir != "" {
			return filepath.Join(dir, "agent-ls", "config.toml")
		}
	}
	home := lookup(environ, "HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".config", "agent-ls", "config.toml")
}

// DefaultOrgPolicy is where an organisation's policy file is.
func DefaultOrgPolicy() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("ProgramData"), "agent-ls", "policy.toml")
	}
	return "/etc/agent-ls/policy.toml"
}

func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// read returns a file's text, the open document's if there is one.
func (s *Sources) read(path string) ([]byte, error) {
	if s.Overlay != nil {
		if text, ok := s.Overlay(path); ok {
			return text, nil
		}
	}
	return textfile.Read(path, maxFile)
}

const (
	// maxFile is the largest script, prompt or rehearsal that is read.
	maxFile = 16 << 20
	// maxAgents is how many agents/NAME.toml are read.
	maxAgents = 256
)

// complete fills in the defaults.
func (s Sources) complete() Sources {
	if s.Environ == nil {
		s.Environ = os.Environ()
	}
	if s.UserConfig == "" {
		s.UserConfig = DefaultUserConfig(s.Environ)
	}
	if s.OrgPolicy == "" {
		s.OrgPolicy = DefaultOrgPolicy()
	}
	return s
}

// own are the files and folders that say what agent-ls does on this machine: the
// whole folder where it is agent-ls's, the file alone where somebody named it.
func (s Sources) own() []string {
	user := s.UserConfig
	if user == DefaultUserConfig(s.Environ) && user != "" {
		user = filepath.Dir(user)
	}
	return slices.DeleteFunc([]string{user, s.UserConfig, s.OrgPolicy}, func(path string) bool { return path == "" })
}

// file reads one settings file; nil if it does not exist.
func (l *loader) file(kind layerKind, path, base string) *layer {
	l.watch(path)
	text, err := l.sources.read(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return nil
	}
	out := &layer{kind: kind, path: path, base: base}
	if err != nil {
		out.doc = &document{root: &node{kind: tableKind}}
		l.out.add(out.finding(check.Span{}, CodeMissingFile, check.Error, fmt.Sprintf("cannot read %s: %s", path, reason(err))))
		return out
	}
	out.doc = parseTOML(path, text)
	for _, f := range out.doc.findings {
		l.out.add(f)
	}
	return out
}

// reason is an error without the path that the message names already.
func reason(err error) string {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return perr.Err.Error()
	}
	return err.Error()
}

// readLayers reads every layer; the order is the order of precedence.
func (l *loader) readLayers() {
	s := &l.sources
	add := func(one *layer) *layer {
		if one != nil {
			l.layers = append(l.layers, one)
		}
		return one
	}
	add(l.defaults())
	l.org = l.file(orgLayer, s.OrgPolicy, filepath.Dir(s.OrgPolicy))
	l.user = add(l.file(userLayer, s.UserConfig, filepath.Dir(s.UserConfig)))
	dir := filepath.Join(s.Root, ".agent-ls")
	if s.Root != "" {
		if main := add(l.file(workspaceLayer, filepath.Join(dir, "agent.toml"), dir)); main != nil {
			main.name = "default"
			l.workspace = append(l.workspace, main)
		}
		for _, path := range l.agentFiles(filepath.Join(dir, "agents")) {
			if one := add(l.file(workspaceLayer, path, dir)); one != nil {
				one.agentFile, one.name = true, strings.TrimSuffix(filepath.Base(path), ".toml")
				l.workspace = append(l.workspace, one)
			}
		}
	}
	for _, one := range l.layers {
		l.validate(one)
	}
	if l.org != nil {
		l.validate(l.org)
	}
	l.validate(add(l.environment()))
	l.validate(add(plainLayer(clientLayer, ClientPath, dir, s.Client)))
	l.validate(add(plainLayer(flagLayer, FlagPath, s.Root, s.Flags)))
}

func (l *loader) validate(one *layer) {
	v := &validator{layer: one, out: &l.out}
	v.table(one.root(), schema, nil)
}

// agentFiles lists agents/*.toml, those that only an editor has included.
func (l *loader) agentFiles(dir string) []string {
	l.watch(dir)
	seen := map[string]bool{}
	if entries, err := os.ReadDir(dir); err == nil {
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".toml") && !e.IsDir() {
				seen[filepath.Join(dir, e.Name())] = true
			}
		}
	}
	if l.extra != "" && filepath.Dir(l.extra) == dir {
		seen[l.extra] = true
	}
	paths := sortedKeys(seen)
	if len(paths) > maxAgents {
		l.out.add(check.Finding{Path: paths[maxAgents], Code: CodeNotAllowedHere, Severity: check.Error,
			Message: fmt.Sprintf("more than %d agents in %s", maxAgents, dir)})
		paths = paths[:maxAgents]
	}
	return paths
}

func (l *loader) watch(path string) {
	if path != "" && !l.watched[path] {
		l.watched[path] = true
		l.cfg.Watch = append(l.cfg.Watch, path)
		sort.Strings(l.cfg.Watch)
	}
}

// plainLayer makes a layer of a client's or the command line's settings.
// Dotted keys are paths.
func plainLayer(kind layerKind, path, base string, values map[string]any) *layer {
	root := &node{kind: tableKind}
	for _, key := range sortedKeys(values) {
		if values[key] != nil {
			root.set(strings.Split(key, "."), fromPlain(values[key], 0))
		}
	}
	return &layer{kind: kind, path: path, base: base, doc: &document{root: root}}
}

// defaults are the models that work as soon as their key is in the
// environment. Other defaults are in the table of settings.
func (l *loader) defaults() *layer {
	models := map[string]any{
		"claude": map[string]any{"provider": "anthropic", "model": "claude-sonnet-4-5", "api_key_env": "ANTHROPIC_API_KEY"},
		"gpt":    map[string]any{"provider": "openai", "model": "gpt-4.1", "api_key_env": "OPENAI_API_KEY"},
	}
	return plainLayer(defaultLayer, "", "", map[string]any{"models": models})
}
