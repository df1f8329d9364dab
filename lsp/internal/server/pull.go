package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"go.lsp.dev/protocol"

	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/text"
)

// refreshes reports whether the client can be told to pull again.
func (s *Server) refreshes() bool {
	w := s.caps.Standard.Workspace
	return w != nil && w.Diagnostics != nil && yes(w.Diagnostics.RefreshSupport)
}

func (s *Server) refresh(ctx context.Context) {
	if err := s.conn.Call(ctx, protocol.MethodWorkspaceDiagnosticRefresh, nil, nil); err != nil && ctx.Err() == nil {
		s.log.Warn("asking the client to pull diagnostics again", "error", err)
	}
}

// report is the diagnostics of one document with what identifies them.
func (s *Server) report(conv *converter, doc *cache.Document) (items []protocol.Diagnostic, id string, err error) {
	items = conv.diagnostics(doc, conv.snap.Findings(doc))
	raw, err := protocol.Marshal(items)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(raw)
	return items, hex.EncodeToString(sum[:12]), nil
}

// documentDiagnostic answers a pull for one document.
func (s *Server) documentDiagnostic(ctx context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		TextDocument     documentID `json:"textDocument"`
		PreviousResultID string     `json:"previousResultId"`
	}](raw)
	if err != nil {
		return nil, err
	}
	snap := s.snapshot(ctx)
	full := &protocol.RelatedFullDocumentDiagnosticReport{}
	full.Kind, full.Items = string(protocol.DocumentDiagnosticReportKindFull), []protocol.Diagnostic{}
	doc := snap.Document(p.TextDocument.URI)
	if doc == nil {
		return full, nil // nothing here
	}
	items, id, err := s.report(s.converter(snap), doc)
	if err != nil {
		return nil, err
	}
	if id == p.PreviousResultID {
		same := &protocol.RelatedUnchangedDocumentDiagnosticReport{}
		same.Kind, same.ResultID = string(protocol.DocumentDiagnosticReportKindUnchanged), id
		return same, nil
	}
	full.Items, full.ResultID = items, &id
	return full, nil
}

// workspaceDiagnostic answers a pull for everything. As long as there is
// nothing that the client does not have, the answer waits: clients ask again
// at once.
func (s *Server) workspaceDiagnostic(ctx context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		PreviousResultIDs []struct {
			URI   string `json:"uri"`
			Value string `json:"value"`
		} `json:"previousResultIds"`
	}](raw)
	if err != nil {
		return nil, err
	}
	has := make(map[string]string, len(p.PreviousResultIDs))
	spelled := make(map[string]string, len(p.PreviousResultIDs))
	for _, previous := range p.PreviousResultIDs {
		has[text.Key(previous.URI)], spelled[text.Key(previous.URI)] = previous.Value, previous.URI
	}
	for snap := s.snapshot(ctx); ; snap = s.session.Snapshot() {
		next := s.diagnoser.next() // before looking, so that no change is missed
		if now := s.session.Snapshot(); now.ID != snap.ID {
			snap = now
		}
		items, err := s.workspaceReport(snap, has, spelled)
		if err != nil {
			return nil, err
		}
		if len(items) > 0 {
			return &protocol.WorkspaceDiagnosticReport{Items: items}, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.background.Done():
			return &protocol.WorkspaceDiagnosticReport{Items: items}, nil
		case <-next:
		}
	}
}

// workspaceReport lists what the client does not have yet.
func (s *Server) workspaceReport(snap *cache.Snapshot, has, spelled map[string]string) ([]protocol.WorkspaceDocumentDiagnosticReport, error) {
	items := []protocol.WorkspaceDocumentDiagnosticReport{}
	conv := s.converter(snap)
	present := map[string]bool{}
	for _, doc := range snap.Targets() {
		present[doc.Key] = true
		diagnostics, id, err := s.report(conv, doc)
		if err != nil {
			return nil, err
		}
		previous, known := has[doc.Key]
		if previous == id || !known && len(diagnostics) == 0 {
			continue
		}
		items = append(items, workspaceItem(doc, diagnostics, id))
	}
	for key, previous := range has {
		if !present[key] && previous != goneID {
			items = append(items, workspaceItem(&cache.Document{URI: spelled[key]}, []protocol.Diagnostic{}, goneID))
		}
	}
	return items, nil
}

// goneID is the result of a document that is no longer there: empty.
const goneID = "gone"

func workspaceItem(doc *cache.Document, diagnostics []protocol.Diagnostic, id string) *protocol.WorkspaceFullDocumentDiagnosticReport {
	item := &protocol.WorkspaceFullDocumentDiagnosticReport{URI: asURI(doc.URI)}
	item.Kind, item.Items, item.ResultID = string(protocol.DocumentDiagnosticReportKindFull), diagnostics, &id
	if doc.Open {
		item.Version = &doc.Version
	}
	return item
}
