package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.lsp.dev/protocol"

	"agent-ls/hooks/check"
	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/text"
)

// diagnosticSource is the `source` of every diagnostic.
const diagnosticSource = "agent-ls"

// converter turns findings into diagnostics, in one snapshot's positions.
type converter struct {
	snap    *cache.Snapshot
	page    string // of the codes; "" for none
	related bool   // the client shows related information
}

func (s *Server) converter(snap *cache.Snapshot) *converter {
	return &converter{snap: snap, page: s.referencePage(), related: s.showsRelated()}
}

func (s *Server) referencePage() string {
	if s.opts.ReferencePage == nil {
		return ""
	}
	return s.opts.ReferencePage()
}

func (s *Server) showsRelated() bool {
	t := s.caps.Standard.TextDocument
	if t == nil {
		return false
	}
	return t.PublishDiagnostics != nil && yes(t.PublishDiagnostics.RelatedInformation) ||
		t.Diagnostic != nil && yes(t.Diagnostic.RelatedInformation)
}

// fixData is what a diagnostic carries along, so that a client can offer the
// fix without asking.
type fixData struct {
	Fixes []fixEdit       `json:"fixes,omitempty"`
	Trust *check.TrustAsk `json:"trust,omitempty"` // what agent/trust takes
}

type fixEdit struct {
	Title     string              `json:"title"`
	Edits     []protocol.TextEdit `json:"edits"`
	Preferred bool                `json:"preferred,omitempty"`
}

// diagnostics converts a document's findings. It never returns nil: a client
// takes null for an error.
func (c *converter) diagnostics(doc *cache.Document, findings []check.Finding) []protocol.Diagnostic {
	out := make([]protocol.Diagnostic, 0, len(findings))
	for _, f := range findings {
		out = append(out, c.diagnostic(doc, f))
	}
	return out
}

func (c *converter) diagnostic(doc *cache.Document, f check.Finding) protocol.Diagnostic {
	d := protocol.Diagnostic{
		Range:    c.spanRange(doc, text.Span(f.Span)),
		Severity: severity(f.Severity),
		Code:     protocol.String(f.Code),
		Source:   protocol.NewOptional(diagnosticSource),
		Message:  protocol.String(visible(f.Message)),
	}
	if c.page != "" {
		d.CodeDescription = protocol.CodeDescription{Href: asURI(c.page + "#" + string(f.Code))}
	}
	if slices.Contains(f.Tags, check.Unnecessary) {
		d.Tags = protocol.NewDiagnosticTags(protocol.DiagnosticTagUnnecessary)
	}
	if c.related {
		for _, r := range f.Related {
			if location, ok := c.location(doc, r.Path, text.Span(r.Span)); ok {
				d.RelatedInformation = append(d.RelatedInformation,
					protocol.DiagnosticRelatedInformation{Location: location, Message: visible(r.Message)})
			}
		}
	}
	if len(f.Fixes) > 0 || f.Trust != nil {
		data := fixData{Trust: f.Trust}
		for _, fix := range f.Fixes {
			data.Fixes = append(data.Fixes, fixEdit{fix.Title, c.textEdits(doc, fix.Edits), fix.Preferred})
		}
		if raw, err := json.Marshal(data); err == nil {
			d.Data = raw
		}
	}
	return d
}

func (c *converter) textEdits(doc *cache.Document, edits []check.Edit) []protocol.TextEdit {
	out := make([]protocol.TextEdit, len(edits))
	for i, e := range edits {
		out[i] = protocol.TextEdit{Range: c.spanRange(doc, text.Span(e.Span)), NewText: e.NewText}
	}
	return out
}

func (c *converter) spanRange(doc *cache.Document, span text.Span) protocol.Range {
	return protocolRange(doc.Source.SpanRange(c.snap.Encoding, span))
}

// location converts a span of any file. self is the document that the answer
// is about: one that is no file has no other way to name itself.
func (c *converter) location(self *cache.Document, path string, span text.Span) (protocol.Location, bool) {
	doc := self
	if self == nil || path != self.Path {
		doc = c.snap.File(path)
	}
	if doc == nil {
		return protocol.Location{}, false
	}
	return protocol.Location{URI: asURI(doc.URI), Range: c.spanRange(doc, span)}, true
}

func severity(s check.Severity) protocol.DiagnosticSeverity {
	switch s {
	case check.Error:
		return protocol.DiagnosticSeverityError
	case check.Warning:
		return protocol.DiagnosticSeverityWarning
	case check.Information:
		return protocol.DiagnosticSeverityInformation
	}
	return protocol.DiagnosticSeverityHint
}

// visible shows control and bidirectional characters, which could make a text
// look like another one.
func visible(s string) string {
	hidden := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
	}
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "\\u{%x}", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
