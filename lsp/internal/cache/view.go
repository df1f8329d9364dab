package cache

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"agent-ls/hooks/check"
	"agent-ls/loop/manifest"
	"agent-ls/lsp/internal/text"
)

// View is one folder's configuration, read through the documents that were
// open when the view was made. It is read on first use, once.
type View struct {
	Folder Folder

	session  *Session
	docs     map[string]*Document
	client   map[string]any
	identity string // of this view among all of the session

	once     sync.Once
	loaded   chan struct{}
	config   *manifest.Config
	findings []check.Finding
	uses     map[string][]Use // by the script's path
	files    map[string]*Document
	watch    []string
	// configured: the folder has a settings file of its own.
	configured bool
}

// Use is a place where the configuration names a script.
type Use struct {
	Agent, Stage, Event, Function string
	Path                          string // of the settings file
	Span                          text.Span
}

func (s *Session) newView(f Folder, next *Snapshot) *View {
	s.viewCount++
	return &View{
		Folder: f, session: s, docs: next.docs, client: s.client, loaded: make(chan struct{}),
		identity: strconv.FormatInt(s.viewCount, 36) + " ",
	}
}

// maxScripts is how many scripts of a folder are looked at without being open.
const maxScripts = 1_000

// load reads the configuration, once.
func (v *View) load(ctx context.Context) {
	v.once.Do(func() {
		defer close(v.loaded)
		// Not with the caller's context: a request that is cancelled must not
		// leave half a configuration to the others.
		ctx := context.WithoutCancel(ctx)
		v.config, v.findings = manifest.Load(ctx, v.Sources())
		v.watch = v.config.Watch
		v.readFiles()
		v.keepLastGood()
	})
}

// Sources are what the view's configuration is read from.
func (v *View) Sources() manifest.Sources {
	opts := v.session.opts
	return manifest.Sources{
		Root: v.Folder.Path, UserConfig: opts.UserConfig, OrgPolicy: opts.OrgPolicy, Environ: opts.Environ,
		Client: v.client, Trust: opts.Trust, Overlay: v.overlay,
	}
}

// overlay gives an open document's text.
func (v *View) overlay(path string) ([]byte, bool) {
	snap := Snapshot{docs: v.docs}
	if doc := snap.ByPath(path); doc != nil {
		return []byte(doc.Source.Text()), true
	}
	return nil, false
}

// Config is the configuration in force: a manifest that does not parse leaves
// the last good one. Findings are about what is there now.
func (v *View) Config() *manifest.Config {
	v.load(context.Background())
	return v.config
}

// Findings are what is wrong with the configuration. Paths are absolute.
func (v *View) Findings() []check.Finding {
	v.load(context.Background())
	return v.findings
}

// Uses lists where the configuration names a script.
func (v *View) Uses(path string) []Use {
	v.load(context.Background())
	if uses, ok := v.uses[path]; ok {
		return uses
	}
	return v.uses[resolve(path)]
}

// Files are the settings files, scripts and fixtures of the folder's agent, by path;
// they are there whether they are open or not.
func (v *View) Files() []*Document {
	v.load(context.Background())
	files := make([]*Document, 0, len(v.files))
	for _, doc := range v.files {
		files = append(files, doc)
	}
	slices.SortFunc(files, func(a, b *Document) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// file returns a file that the view has read.
func (v *View) file(path string) *Document {
	select {
	case <-v.loaded:
		return v.files[path]
	default:
		return nil // it is not worth reading all for one
	}
}

// Watch lists the files and folders that the view depends on.
func (v *View) Watch() []string {
	v.load(context.Background())
	return v.watch
}

// dependsOn reports whether a document may change what the view says. Before
// the view was read, whatever lies in the agent's folder may.
func (v *View) dependsOn(doc *Document) bool {
	if doc.Path == "" {
		return false
	}
	for _, base := range []string{v.Folder.Path, v.Folder.Root} {
		for _, path := range []string{doc.Path, doc.Resolved} {
			if _, ok := below(filepath.Join(base, AgentDir), path); ok || path == filepath.Join(base, AgentDir) {
				return true
			}
		}
	}
	if slices.Contains(v.session.settings(), doc.Path) || slices.Contains(v.session.settings(), doc.Resolved) {
		return true
	}
	select {
	case <-v.loaded:
		return slices.Contains(v.watch, doc.Path) || slices.Contains(v.watch, doc.Resolved)
	default:
		return false
	}
}

// readFiles reads the agent's own files and finds out which scripts are used
// where.
func (v *View) readFiles() {
	v.files, v.uses = map[string]*Document{}, map[string][]Use{}
	dir := filepath.Join(v.Folder.Path, AgentDir)
	for _, path := range v.watch {
		if !isManifest(path, v.session.settings()) || v.read(path) == nil {
			continue
		}
		if _, own := below(dir, path); own {
			v.configured = true
		}
	}
	scripts := 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil, scripts >= maxScripts:
			return filepath.SkipDir
		case d.IsDir() && path != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.IsDir() && (strings.EqualFold(filepath.Ext(path), ".risor") || isFixture(path)):
			scripts++
			v.read(path)
		}
		return nil
	})
	for _, agent := range v.config.Agents {
		for _, line := range agent.Lines {
			settings := v.read(line.Path)
			if settings == nil {
				continue
			}
			path := v.scriptOf(settings, line)
			if path == "" {
				continue
			}
			v.read(path)
			use := Use{agent.Name, line.Stage, line.Event, line.Function, line.Path, text.Span(line.Span)}
			v.addUse(path, use)
		}
	}
}

// addUse adds a use under the script's path and under what that leads to. The
// same line may count for several agents; it is one use.
func (v *View) addUse(path string, use Use) {
	for _, key := range []string{path, resolve(path)} {
		same := func(u Use) bool { return u.Path == use.Path && u.Span == use.Span && u.Event == use.Event }
		if !slices.ContainsFunc(v.uses[key], same) {
			v.uses[key] = append(v.uses[key], use)
		}
	}
}

// scriptOf is the script that a line names.
func (v *View) scriptOf(settings *Document, line manifest.ScriptLine) string {
	content := settings.Source.Text()
	if line.Span.Start < 0 || line.Span.End > len(content) || line.Span.End-line.Span.Start < 2 {
		return ""
	}
	name := strings.Trim(content[line.Span.Start:line.Span.End], `"'`)
	if name == "" {
		return ""
	}
	path := filepath.FromSlash(name)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	base := filepath.Dir(line.Path)
	if filepath.Base(base) == "agents" && filepath.Base(filepath.Dir(base)) == AgentDir {
		base = filepath.Dir(base)
	}
	return filepath.Join(base, path)
}

// read takes a file into the view; an open document counts as it was opened.
func (v *View) read(path string) *Document {
	if doc, ok := v.files[path]; ok {
		return doc
	}
	snap := Snapshot{docs: v.docs, views: []*View{v}, session: v.session}
	if doc := snap.ByPath(path); doc != nil {
		v.files[path] = doc
		return doc
	}
	doc, err := readFile(path, snap.URI(path), v.session.settings())
	if err != nil {
		return nil
	}
	v.files[path] = doc
	return doc
}

// lastGoods keeps, for each spelling of a root, the last configuration whose files parsed,
// with the uses that it makes of scripts.
type lastGoods struct {
	mu     sync.Mutex // guards byPath
	byPath map[string]lastGood
}

type lastGood struct {
	config *manifest.Config
	uses   map[string][]Use
}

func newLastGoods() *lastGoods { return &lastGoods{byPath: map[string]lastGood{}} }

// keepLastGood puts the last good configuration in force when a settings file
// does not parse, and remembers this one otherwise.
func (v *View) keepLastGood() {
	g := v.session.goods
	g.mu.Lock()
	defer g.mu.Unlock()
	if v.complete() {
		g.byPath[v.Folder.Path] = lastGood{v.config, v.uses}
		return
	}
	if good, ok := g.byPath[v.Folder.Path]; ok {
		v.config, v.uses = good.config, good.uses
	}
}

// complete reports whether every settings file parsed.
func (v *View) complete() bool {
	return !slices.ContainsFunc(v.findings, func(f check.Finding) bool { return f.Code == manifest.CodeSyntax })
}

// owns reports whether a file lies in the folder of an agent that has
// settings.
func (v *View) owns(doc *Document) bool {
	v.load(context.Background())
	if !v.configured {
		return false
	}
	_, spelled := below(filepath.Join(v.Folder.Path, AgentDir), doc.Path)
	_, real := below(filepath.Join(v.Folder.Root, AgentDir), doc.Resolved)
	return spelled || real
}
