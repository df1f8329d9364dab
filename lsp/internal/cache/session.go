package cache

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"agent-ls/loop/manifest"
	"agent-ls/loop/trust"
	"agent-ls/lsp/internal/text"
)

// Cause is why a snapshot follows another.
type Cause uint8

const (
	NoCause Cause = iota
	Opened
	Changed
	Saved
	Closed
	FilesChanged   // on the disk
	FoldersChanged // of the workspace
	SettingsChanged
	RunFindingsChanged
)

// String names the cause for logs.
func (c Cause) String() string {
	return [...]string{"none", "opened", "changed", "saved", "closed", "files changed", "folders changed", "settings changed", "run findings changed"}[c]
}

// Change says what is new in a snapshot.
type Change struct {
	Cause    Cause
	Snapshot *Snapshot
	Keys     []string // documents
	Roots    []string // folders whose configuration is to be read again
}

// Options are what a session needs.
type Options struct {
	Encoding text.Encoding
	// UserConfig and OrgPolicy are settings files outside of every workspace;
	// "" means the places that package manifest knows.
	UserConfig, OrgPolicy string
	Environ               []string
	Log                   *slog.Logger
	// Trust is what the user trusts of workspaces; nil means nothing.
	Trust *trust.Store
	// Changed is called after each change, in order, by whoever made it. It
	// must not block and must not change the session.
	Changed func(Change)
}

// Folder is a workspace folder.
type Folder struct {
	URI  string // as the client spells it
	Name string
	Path string // as the client spells it
	Root string // symlinks resolved
}

// Session is the state of one connection. Start it with folders, then feed it
// what the client says.
type Session struct {
	opts Options

	mu sync.Mutex // guards the making of snapshots, and their order
	id int64
	// viewCount numbers the views.
	viewCount int64
	client    map[string]any
	current   atomic.Pointer[Snapshot]
	analyses  *analyses
	goods     *lastGoods
}

// NewSession makes an empty session.
func NewSession(opts Options) *Session {
	if opts.UserConfig == "" {
		opts.UserConfig = manifest.DefaultUserConfig(opts.Environ)
	}
	if opts.OrgPolicy == "" {
		opts.OrgPolicy = manifest.DefaultOrgPolicy()
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Session{opts: opts, analyses: newAnalyses(), goods: newLastGoods()}
	s.current.Store(&Snapshot{session: s, Encoding: opts.Encoding, docs: map[string]*Document{}})
	return s
}

// Snapshot returns the present one.
func (s *Session) Snapshot() *Snapshot { return s.current.Load() }

// settings are the settings files outside of the workspaces.
func (s *Session) settings() []string { return []string{s.opts.UserConfig, s.opts.OrgPolicy} }

// update is the one way to a new snapshot. edit gets a copy that it may
// change, and says which documents and folders are concerned; a nil change
// publishes nothing.
func (s *Session) update(cause Cause, edit func(next *Snapshot) *Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.current.Load()
	next := *was
	change := edit(&next)
	if change == nil {
		return
	}
	s.id++
	next.ID = s.id
	change.Cause, change.Snapshot = cause, &next
	s.renew(&next, change)
	s.current.Store(&next)
	if s.opts.Changed != nil {
		// Under the lock: whoever is told must be told in order.
		s.opts.Changed(*change)
	}
}

// renew replaces the views of the folders that a change names.
func (s *Session) renew(next *Snapshot, change *Change) {
	if len(change.Roots) == 0 {
		return
	}
	views := slices.Clone(next.views)
	for i, v := range views {
		if slices.Contains(change.Roots, v.Folder.Root) {
			views[i] = s.newView(v.Folder, next)
		}
	}
	next.views = views
}

// Open takes a document that the client opened. A second open of the same
// document replaces the first.
func (s *Session) Open(uri, language string, version int32, content string) {
	uri = strings.Clone(uri)
	path := text.Path(uri)
	doc := &Document{
		Key: text.Key(uri), URI: uri, Path: path, Resolved: resolve(path),
		LanguageID: strings.Clone(language), Version: version, Open: true,
		Kind: kindOf(path, language, s.settings()), Source: text.NewSource(strings.Clone(content)),
	}
	s.update(Opened, func(next *Snapshot) *Change {
		next.docs = with(next.docs, doc)
		if root := AgentRoot(doc.Path); root != "" && len(next.views) == 0 {
			// A client without folders that opens a file of an agent.
			folder := Folder{URI: text.FileURI(root), Name: filepath.Base(root), Path: root, Root: resolve(root)}
			next.views = []*View{s.newView(folder, next)}
		}
		return &Change{Keys: []string{doc.Key}, Roots: next.configuredBy(doc)}
	})
}

// ErrUnknown, ErrStale: what a change can be ignored for. Both are for the log.
var (
	ErrUnknown = fmt.Errorf("the document is not open")
	ErrStale   = fmt.Errorf("the version does not rise")
)

// Change makes content changes in sequence. A change of a document that is not
// open, or whose version does not rise, is ignored and reported.
func (s *Session) Change(uri string, version int32, changes []text.Change) (err error) {
	key := text.Key(uri)
	s.update(Changed, func(next *Snapshot) *Change {
		old := next.docs[key]
		if old == nil {
			err = fmt.Errorf("changing %s: %w", uri, ErrUnknown)
			return nil
		}
		if version <= old.Version {
			err = fmt.Errorf("changing %s from version %d to %d: %w", uri, old.Version, version, ErrStale)
			return nil
		}
		doc := *old
		doc.Version = version
		doc.Source = old.Source.Apply(next.Encoding, changes)
		next.docs = with(next.docs, &doc)
		next.runs = without(next.runs, key)
		change := &Change{Keys: []string{key}}
		if doc.Kind != Script || functionLines(old.Source.Text()) != functionLines(doc.Source.Text()) {
			change.Roots = next.configuredBy(&doc)
		}
		return change
	})
	return err
}

// functionLines are the lines of a script that define functions, joined: as
// long as they are the same, a manifest's findings are too.
func functionLines(script string) string {
	var b strings.Builder
	for len(script) > 0 {
		i := strings.Index(script, "func ")
		if i < 0 {
			break
		}
		rest := script[i:]
		if i == 0 || script[i-1] == '\n' || script[i-1] == '\r' || script[i-1] == ' ' || script[i-1] == '\t' {
			end := strings.IndexAny(rest, "(\r\n")
			if end < 0 {
				end = len(rest)
			}
			b.WriteString(rest[:end])
			b.WriteByte('\n')
		}
		script = rest[len("func "):]
	}
	return b.String()
}

// Save notes that a document was written.
func (s *Session) Save(uri string) {
	key := text.Key(uri)
	s.update(Saved, func(next *Snapshot) *Change {
		if next.docs[key] == nil {
			return nil
		}
		return &Change{Keys: []string{key}}
	})
}

// Close forgets an open document: from now on the file counts.
func (s *Session) Close(uri string) {
	key := text.Key(uri)
	s.update(Closed, func(next *Snapshot) *Change {
		doc := next.docs[key]
		if doc == nil {
			return nil
		}
		next.docs = without(next.docs, key)
		next.runs = without(next.runs, key)
		return &Change{Keys: []string{key}, Roots: next.configuredBy(doc)}
	})
}

// ChangeFiles notes that files changed, appeared or went, on the disk.
func (s *Session) ChangeFiles(paths []string) {
	s.update(FilesChanged, func(next *Snapshot) *Change {
		change := &Change{}
		for _, path := range paths {
			doc := &Document{Path: path, Resolved: resolve(path)}
			for _, root := range next.configuredBy(doc) {
				if !slices.Contains(change.Roots, root) {
					change.Roots = append(change.Roots, root)
				}
			}
			change.Keys = append(change.Keys, text.Key(text.FileURI(path)))
		}
		if len(change.Roots) == 0 {
			return nil
		}
		return change
	})
}

// ChangeFolders adds and removes workspace folders. A folder that is no file
// is ignored.
func (s *Session) ChangeFolders(added, removed []Folder) {
	s.update(FoldersChanged, func(next *Snapshot) *Change {
		change := &Change{}
		var views []*View
		for _, v := range next.views {
			if slices.ContainsFunc(removed, func(f Folder) bool { return text.Key(f.URI) == text.Key(v.Folder.URI) }) {
				change.Roots = append(change.Roots, v.Folder.Root)
				continue
			}
			views = append(views, v)
		}
		for _, f := range added {
			f.Path = text.Path(f.URI)
			if f.Path == "" || slices.ContainsFunc(views, func(v *View) bool { return text.Key(v.Folder.URI) == text.Key(f.URI) }) {
				continue
			}
			f.URI = strings.TrimSuffix(strings.Clone(f.URI), "/")
			f.Name, f.Root = strings.Clone(f.Name), resolve(f.Path)
			views = append(views, s.newView(f, next))
			change.Roots = append(change.Roots, f.Root)
		}
		if len(change.Roots) == 0 {
			return nil
		}
		next.views = views
		return change
	})
}

// ChangeSettings takes the client's settings: a layer of the configuration.
func (s *Session) ChangeSettings(client map[string]any) {
	s.update(SettingsChanged, func(next *Snapshot) *Change {
		if reflect.DeepEqual(s.client, client) {
			return nil
		}
		s.client = client
		change := &Change{}
		for _, v := range next.views {
			change.Roots = append(change.Roots, v.Folder.Root)
		}
		return change
	})
}

// SetRunFindings replaces what runs found in a file.
func (s *Session) SetRunFindings(path string, found RunFindings) {
	s.update(RunFindingsChanged, func(next *Snapshot) *Change {
		doc := next.ByPath(path)
		key := text.Key(text.FileURI(path))
		if doc != nil {
			key = doc.Key
			if found.Digest != "" && found.Digest != digest(doc.Source.Text()) {
				found.Findings = nil
			}
		}
		if len(found.Findings) == 0 {
			if _, had := next.runs[key]; !had {
				return nil
			}
			next.runs = without(next.runs, key)
			return &Change{Keys: []string{key}}
		}
		next.runs = maps.Clone(next.runs)
		if next.runs == nil {
			next.runs = map[string]RunFindings{}
		}
		next.runs[key] = found
		return &Change{Keys: []string{key}}
	})
}

// with and without copy a map before they change it.
func with(docs map[string]*Document, doc *Document) map[string]*Document {
	docs = maps.Clone(docs)
	docs[doc.Key] = doc
	return docs
}

func without[V any](m map[string]V, key string) map[string]V {
	if _, ok := m[key]; !ok {
		return m
	}
	m = maps.Clone(m)
	delete(m, key)
	return m
}

// Load reads a folder's configuration afresh, as it is now. Unlike a view's it
// is for somebody who is about to use it.
func (s *Session) Load(ctx context.Context, root string) *View {
	snap := s.Snapshot()
	folder := Folder{URI: text.FileURI(root), Name: filepath.Base(root), Path: root, Root: resolve(root)}
	for _, v := range snap.views {
		if v.Folder.Root == folder.Root {
			folder = v.Folder
		}
	}
	folder.Path = folder.Root // whoever runs in it works with real paths
	s.mu.Lock()
	view := s.newView(folder, snap)
	s.mu.Unlock()
	view.load(ctx)
	return view
}
