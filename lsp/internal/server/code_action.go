package server

import (
	"context"
	"encoding/json"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"agent-ls/hooks/check"
	"agent-ls/lsp/internal/cache"
	"agent-ls/lsp/internal/feature"
)

// fixAllKind is the kind of the action that makes every preferred fix; editors
// can run it on save.
const fixAllKind = protocol.CodeActionKind("source.fixAll.agent-ls")

func (s *Server) codeAction(ctx context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		TextDocument documentID `json:"textDocument"`
		Range        textRange  `json:"range"`
		Context      struct {
			Only []string `json:"only"`
		} `json:"context"`
	}](raw)
	if err != nil {
		return nil, err
	}
	actions := []protocol.CommandOrCodeAction{}
	snap := s.snapshot(ctx)
	doc := snap.Document(p.TextDocument.URI)
	if doc == nil || doc.Kind == cache.NoKind {
		return actions, nil // nothing here
	}
	conv := s.converter(snap)
	if wanted(p.Context.Only, string(protocol.CodeActionKindQuickFix)) {
		for _, fix := range feature.Fixes(snap, doc, doc.Source.RangeSpan(snap.Encoding, p.Range.text())) {
			action := &protocol.CodeAction{
				Title: visible(fix.Title), Kind: ptr(protocol.CodeActionKindQuickFix),
				Diagnostics: []protocol.Diagnostic{conv.diagnostic(doc, fix.Finding)},
				Edit:        s.workspaceEdit(conv, doc, fix.Edits),
			}
			if fix.Preferred {
				action.IsPreferred = ptr(true)
			}
			actions = append(actions, action)
		}
	}
	if s.extension.Commands[trustCommand] != nil && wanted(p.Context.Only, string(protocol.CodeActionKindQuickFix)) {
		for _, f := range feature.Asks(snap, doc, doc.Source.RangeSpan(snap.Encoding, p.Range.text())) {
			actions = append(actions, s.trustAction(conv, doc, f))
		}
	}
	// Not offered at every place unasked: it is for those who look for it.
	if len(p.Context.Only) > 0 && wanted(p.Context.Only, string(fixAllKind)) {
		if edits := feature.FixAll(snap, doc); len(edits) > 0 {
			actions = append(actions, &protocol.CodeAction{
				Title: "Fix everything that has one obvious fix", Kind: ptr(fixAllKind), Edit: s.workspaceEdit(conv, doc, edits),
			})
		}
	}
	return actions, nil
}

// trustCommand asks a person whether they trust an entry: editors can be set
// to take quick fixes by themselves.
const trustCommand = "agent.trust"

func (s *Server) trustAction(conv *converter, doc *cache.Document, f check.Finding) *protocol.CodeAction {
	command := protocol.Command{Title: "Trust " + visible(f.Trust.ID) + "…", Command: trustCommand}
	for _, arg := range []string{f.Trust.ID, f.Trust.Digest, doc.URI} {
		if raw, err := json.Marshal(arg); err == nil { // a string always encodes
			command.Arguments = append(command.Arguments, raw)
		}
	}
	return &protocol.CodeAction{
		Title: command.Title, Kind: ptr(protocol.CodeActionKindQuickFix), Command: command,
		Diagnostics: []protocol.Diagnostic{conv.diagnostic(doc, f)},
	}
}

// wanted reports whether a kind, or one that it belongs to, was asked for;
// without a wish every kind is.
func wanted(only []string, kind string) bool {
	if len(only) == 0 {
		return true
	}
	for _, o := range only {
		if o == "" || kind == o || strings.HasPrefix(kind, o+".") {
			return true
		}
	}
	return false
}

// workspaceEdit edits one document, at its version where the client can tell.
func (s *Server) workspaceEdit(conv *converter, doc *cache.Document, edits []check.Edit) *protocol.WorkspaceEdit {
	changes := conv.textEdits(doc, edits)
	if !s.caps.VersionedEdits {
		return &protocol.WorkspaceEdit{Changes: map[uri.URI][]protocol.TextEdit{asURI(doc.URI): changes}}
	}
	of := &protocol.TextDocumentEdit{Edits: []protocol.TextDocumentEditElement{}}
	of.TextDocument.URI = asURI(doc.URI)
	if doc.Open {
		of.TextDocument.Version = &doc.Version
	}
	for i := range changes {
		of.Edits = append(of.Edits, &changes[i])
	}
	return &protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{of}}
}
