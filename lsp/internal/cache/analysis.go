package cache

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agent-ls/hooks/check"
	"agent-ls/lsp/internal/text"
)

// analyses remembers the last thing that the checker said about each document.
type analyses struct {
	mu    sync.Mutex // guards byKey
	byKey map[string]*analysis
}

// analysis is made once, by whoever needs it first; the others wait.
type analysis struct {
	source *text.Source
	about  string // what else it depends on
	once   sync.Once
	result *check.Analysis
}

func newAnalyses() *analyses { return &analyses{byKey: map[string]*analysis{}} }

// maxAnalyses is how many are kept; beyond it, those of documents that are
// gone are dropped with all others.
const maxAnalyses = 2 * maxScripts

func (a *analyses) of(doc *Document, about string) *analysis {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.byKey[doc.Key]; one != nil && one.source == doc.Source && one.about == about {
		return one
	}
	if len(a.byKey) >= maxAnalyses {
		clear(a.byKey)
	}
	one := &analysis{source: doc.Source, about: about}
	a.byKey[doc.Key] = one
	return one
}

// Script is what the checker knows about a script; nil for anything else.
func (s *Snapshot) Script(doc *Document) *check.Analysis {
	if doc.Kind != Script {
		return nil
	}
	opts, about := s.scriptOptions(doc)
	one := s.session.analyses.of(doc, about)
	one.once.Do(func() { one.result = check.Analyze(doc.Path, []byte(doc.Source.Text()), opts) })
	return one.result
}

func (s *Snapshot) scriptFindings(doc *Document) []check.Finding { return s.Script(doc).Findings }

// scriptOptions gathers what the checker should know beside the text, and
// sums it up, so that an analysis is made again only when it may differ.
func (s *Snapshot) scriptOptions(doc *Document) (check.Options, string) {
	opts := check.Options{}
	var about strings.Builder
	for _, use := range s.Uses(doc) {
		point := check.Point{Event: use.Event, Function: use.Function, Path: use.Path, Span: check.Span(use.Span)}
		if slices.Contains(opts.Points, point) {
			continue
		}
		opts.Points = append(opts.Points, point)
		about.WriteString(use.Event + "\x00" + use.Function + "\x00" + use.Path + "\x00")
	}
	opts.ManifestKnown = s.manifestKnown(doc)
	if opts.ManifestKnown {
		about.WriteString("known")
	}
	if doc.Path == "" {
		return opts, about.String()
	}
	siblings := s.siblings(doc)
	about.WriteString("\x00" + strings.Join(siblings, "\x00"))
	dir := filepath.Dir(doc.Path)
	opts.Sibling = func(name string) bool {
		if slices.Contains(siblings, name) {
			return true
		}
		if name != filepath.Base(name) {
			return false
		}
		info, err := os.Stat(filepath.Join(dir, name+".risor"))
		return err == nil && info.Mode().IsRegular()
	}
	return opts, about.String()
}

// Uses lists where the folders' configurations name a script.
func (s *Snapshot) Uses(doc *Document) []Use {
	if doc.Path == "" {
		return nil
	}
	var uses []Use
	for _, v := range s.views {
		uses = append(uses, v.Uses(doc.Path)...)
	}
	return uses
}

// manifestKnown reports whether Uses is all there is: the script belongs to a
// folder's agent, and that agent's settings could be read.
func (s *Snapshot) manifestKnown(doc *Document) bool {
	for _, v := range s.views {
		if v.owns(doc) {
			return v.complete()
		}
	}
	return false
}

// siblings are the scripts beside a script that we know of, without ending.
func (s *Snapshot) siblings(doc *Document) []string {
	dir := filepath.Dir(doc.Path)
	var out []string
	add := func(other *Document) {
		if other.Kind == Script && other.Path != doc.Path && filepath.Dir(other.Path) == dir {
			out = append(out, strings.TrimSuffix(filepath.Base(other.Path), filepath.Ext(other.Path)))
		}
	}
	for _, v := range s.views {
		if v.owns(doc) {
			for _, other := range v.Files() {
				add(other)
			}
		}
	}
	for _, other := range s.docs {
		add(other)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
