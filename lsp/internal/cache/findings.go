package cache

import (
	"slices"

	"agent-ls/hooks/check"
	"agent-ls/hooks/replay"
	"agent-ls/loop/manifest"
)

// Findings are what is wrong with a document, complete: the file's own, those
// that other files make, and those of runs. Sorted by place.
func (s *Snapshot) Findings(doc *Document) []check.Finding {
	var out []check.Finding
	switch doc.Kind {
	case Script:
		out = s.scriptFindings(doc)
	case Manifest:
		out = s.manifestFindings(doc)
	case Fixture:
		_, out = replay.ReadFixture(doc.Path, []byte(doc.Source.Text()), s.scriptText)
	default:
		return nil
	}
	if run, ok := s.runs[doc.Key]; ok {
		out = append(slices.Clip(out), run.Findings...)
	}
	slices.SortStableFunc(out, func(a, b check.Finding) int {
		if a.Span.Start != b.Span.Start {
			return a.Span.Start - b.Span.Start
		}
		return a.Span.End - b.Span.End
	})
	return out
}

// manifestFindings are those that a view has for a file. A file that no view
// reads is checked by itself.
func (s *Snapshot) manifestFindings(doc *Document) []check.Finding {
	var out []check.Finding
	known := false
	for _, v := range s.views {
		if !v.reads(doc) {
			continue
		}
		known = true
		for _, f := range v.Findings() {
			if f.Path == doc.Path || f.Path == doc.Resolved {
				out = appendOnce(out, f)
			}
		}
	}
	if known {
		return out
	}
	return manifest.Check(doc.Path, []byte(doc.Source.Text()), s.Sources(doc))
}

func (s *Snapshot) overlay(path string) ([]byte, bool) {
	if doc := s.ByPath(path); doc != nil {
		return []byte(doc.Source.Text()), true
	}
	return nil, false
}

// scriptText is a script as the editor has it, or else as it is in its file.
func (s *Snapshot) scriptText(path string) ([]byte, bool) {
	if content, ok := s.overlay(path); ok {
		return content, true
	}
	doc, err := readFile(path, "", nil)
	if err != nil {
		return nil, false
	}
	return []byte(doc.Source.Text()), true
}

// reads reports whether a file is among those that the view was read from.
func (v *View) reads(doc *Document) bool {
	for _, path := range v.Watch() {
		if path == doc.Path || path == doc.Resolved {
			return true
		}
	}
	return false
}

// appendOnce adds a finding that several folders may have found.
func appendOnce(out []check.Finding, f check.Finding) []check.Finding {
	for _, o := range out {
		if o.Span == f.Span && o.Code == f.Code && o.Message == f.Message {
			return out
		}
	}
	return append(out, f)
}

// Elsewhere are the findings that no file can show: about the environment or
// the client's settings.
func (s *Snapshot) Elsewhere() []check.Finding {
	var out []check.Finding
	for _, v := range s.views {
		for _, f := range v.Findings() {
			switch f.Path {
			case manifest.EnvironmentPath, manifest.ClientPath, manifest.FlagPath:
				out = appendOnce(out, f)
			}
		}
	}
	return out
}

// Targets are the documents that diagnostics are for: the open ones that we
// know something about, and the files of the folders' agents.
func (s *Snapshot) Targets() []*Document {
	var out []*Document
	seen := map[string]bool{}
	for _, doc := range s.Documents() {
		if doc.Kind != NoKind {
			seen[doc.Key], seen["file:"+doc.Resolved] = true, true
			out = append(out, doc)
		}
	}
	for _, v := range s.views {
		for _, doc := range v.Files() {
			if doc.Open || seen[doc.Key] || seen["file:"+doc.Resolved] || doc.Kind == NoKind {
				continue
			}
			seen[doc.Key] = true
			out = append(out, doc)
		}
	}
	return out
}

// Basis identifies everything that Findings of a document depends on: as long
// as it is the same, they are.
type Basis struct {
	source any
	beside any // of a fixture: its script's
	views  string
	run    *check.Finding
}

// Basis returns it for a document.
func (s *Snapshot) Basis(doc *Document) Basis {
	b := Basis{source: doc.Source}
	if doc.Kind == Fixture {
		path, _ := replay.IsFixture(doc.Path)
		if script := s.ByPath(path); script != nil {
			b.beside = script.Source
		}
	}
	for _, v := range s.views {
		b.views += v.identity
	}
	if run := s.runs[doc.Key].Findings; len(run) > 0 {
		b.run = &run[0]
	}
	return b
}

// Sources are what a settings file is read with, beside its own text.
func (s *Snapshot) Sources(doc *Document) manifest.Sources {
	if v := s.View(doc.Path); v != nil {
		sources := v.Sources()
		sources.Overlay = s.overlay
		return sources
	}
	opts := s.session.opts
	return manifest.Sources{
		UserConfig: opts.UserConfig, OrgPolicy: opts.OrgPolicy, Environ: opts.Environ, Trust: opts.Trust, Overlay: s.overlay,
	}
}
