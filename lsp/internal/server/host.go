package server

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"agent-ls/hooks/check"
	"agent-ls/loop/manifest"
	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/text"
)

func (s *Server) host() *Host {
	return &Host{Client: hostClient{s}, Documents: hostDocuments{s}, Workspace: hostWorkspace{s}, Findings: hostFindings{s}}
}

type hostClient struct{ s *Server }

func (h hostClient) Call(ctx context.Context, method string, params, result any) error {
	return h.s.conn.Call(ctx, method, params, result)
}

func (h hostClient) Notify(ctx context.Context, method string, params any) error {
	return h.s.conn.Notify(ctx, method, params)
}

func (h hostClient) Capabilities() Capabilities { return h.s.caps }

type hostDocuments struct{ s *Server }

func hostDocument(doc *cache.Document) Document {
	return Document{
		URI: doc.URI, Path: doc.Path, LanguageID: doc.LanguageID, Version: doc.Version,
		Dirty: doc.Dirty(), Source: doc.Source,
	}
}

func (h hostDocuments) Open() []Document {
	var out []Document
	for _, doc := range h.s.session.Snapshot().Documents() {
		out = append(out, hostDocument(doc))
	}
	return out
}

func (h hostDocuments) ByPath(path string) (Document, bool) {
	doc := h.s.session.Snapshot().ByPath(path)
	if doc == nil {
		return Document{}, false
	}
	return hostDocument(doc), true
}

// seenWithin is how long a client may take to report an edit that it says it
// has made.
const seenWithin = 5 * time.Second

func (h hostDocuments) ApplyEdit(ctx context.Context, label string, edits ...DocumentEdit) error {
	if !h.s.caps.ApplyEdit {
		return ErrNoApplyEdit
	}
	snap := h.s.session.Snapshot()
	edit := protocol.WorkspaceEdit{}
	for _, e := range edits {
		doc := snap.Open(e.URI)
		if doc == nil {
			return fmt.Errorf("%s: %w", e.URI, ErrNotOpen)
		}
		if doc.Version != e.Version {
			return fmt.Errorf("%s: %w", e.URI, ErrVersionMoved)
		}
		h.add(&edit, snap, doc, e)
	}
	params := &protocol.ApplyWorkspaceEditParams{Label: &label, Edit: edit}
	var result protocol.ApplyWorkspaceEditResult
	if err := h.s.conn.Call(ctx, protocol.MethodWorkspaceApplyEdit, params, &result); err != nil {
		return err
	}
	if !result.Applied {
		return h.refused(edits, result)
	}
	return h.seen(ctx, edits)
}

func (h hostDocuments) add(edit *protocol.WorkspaceEdit, snap *cache.Snapshot, doc *cache.Document, e DocumentEdit) {
	conv := h.s.converter(snap)
	changes := conv.textEdits(doc, e.Edits)
	if !h.s.caps.VersionedEdits {
		if edit.Changes == nil {
			edit.Changes = map[uri.URI][]protocol.TextEdit{}
		}
		edit.Changes[asURI(doc.URI)] = append(edit.Changes[asURI(doc.URI)], changes...)
		return
	}
	of := &protocol.TextDocumentEdit{Edits: []protocol.TextDocumentEditElement{}}
	of.TextDocument.URI, of.TextDocument.Version = asURI(doc.URI), &doc.Version
	for i := range changes {
		of.Edits = append(of.Edits, &changes[i])
	}
	edit.DocumentChanges = append(edit.DocumentChanges, of)
}

// refused tells a document that moved on from an editor that would not.
func (h hostDocuments) refused(edits []DocumentEdit, result protocol.ApplyWorkspaceEditResult) error {
	snap := h.s.session.Snapshot()
	for _, e := range edits {
		if doc := snap.Open(e.URI); doc != nil && doc.Version != e.Version {
			return fmt.Errorf("%s: %w", e.URI, ErrVersionMoved)
		}
	}
	if result.FailureReason != nil && *result.FailureReason != "" {
		return fmt.Errorf("%w: %s", ErrEditRefused, visible(*result.FailureReason))
	}
	return ErrEditRefused
}

// seen waits until the changes have come back as notifications. A document
// that was closed meanwhile counts as seen.
func (h hostDocuments) seen(ctx context.Context, edits []DocumentEdit) error {
	ctx, cancel := context.WithTimeout(ctx, seenWithin)
	defer cancel()
	for {
		next := h.s.diagnoser.next()
		snap := h.s.session.Snapshot()
		missing := slices.ContainsFunc(edits, func(e DocumentEdit) bool {
			doc := snap.Open(e.URI)
			return doc != nil && doc.Version <= e.Version && len(e.Edits) > 0
		})
		if !missing {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the editor has applied the edit but not reported it: %w", ctx.Err())
		case <-h.s.background.Done():
			return context.Canceled
		case <-next:
		}
	}
}

type hostWorkspace struct{ s *Server }

func (h hostWorkspace) Folders() []Folder {
	snap := h.s.session.Snapshot()
	var out []Folder
	for _, v := range snap.Views() {
		out = append(out, Folder{URI: v.Folder.URI, Name: v.Folder.Name, Root: v.Folder.Root})
	}
	if len(out) > 0 {
		return out
	}
	for _, doc := range snap.Documents() {
		if doc.Path != "" {
			root := filepath.Dir(doc.Resolved)
			return []Folder{{URI: text.FileURI(root), Name: filepath.Base(root), Root: root}}
		}
	}
	return nil
}

func (h hostWorkspace) Manifest(ctx context.Context, root string) (*manifest.Config, []check.Finding) {
	view := h.s.session.Load(ctx, root)
	return view.Config(), view.Findings()
}

func (h hostWorkspace) DiskManifest(ctx context.Context, root string) (*manifest.Config, []check.Finding) {
	sources := h.s.session.Load(ctx, root).Sources()
	sources.Overlay = nil
	return manifest.Load(ctx, sources)
}

func (h hostWorkspace) Reload(paths ...string) { h.s.session.ChangeFiles(paths) }

func (h hostWorkspace) URI(path string) string { return h.s.session.Snapshot().URI(path) }

func (h hostWorkspace) Path(uri string) string { return text.Path(uri) }

func (h hostWorkspace) Encoding() text.Encoding { return h.s.encoding }

func (h hostWorkspace) Range(path string, span check.Span) protocol.Range {
	conv := h.s.converter(h.s.session.Snapshot())
	location, _ := conv.location(nil, path, text.Span(span)) // a file that is gone: its start
	return location.Range
}

func (h hostWorkspace) Diagnostics(findings []check.Finding) []FileDiagnostics {
	snap := h.s.session.Snapshot()
	conv := h.s.converter(snap)
	var out []FileDiagnostics
	at := map[string]int{}
	for _, f := range findings {
		doc := snap.File(f.Path)
		if doc == nil {
			doc = &cache.Document{URI: snap.URI(f.Path), Source: text.NewSource("")}
		}
		i, ok := at[doc.URI]
		if !ok {
			i = len(out)
			at[doc.URI] = i
			out = append(out, FileDiagnostics{URI: doc.URI})
		}
		out[i].Diagnostics = append(out[i].Diagnostics, conv.diagnostic(doc, f))
	}
	return out
}

type hostFindings struct{ s *Server }

func (h hostFindings) SetRunFindings(path, digest string, findings []check.Finding) {
	h.s.session.SetRunFindings(path, cache.RunFindings{Digest: digest, Findings: findings})
}
