package server

import (
	"context"
	"encoding/json"
	"math"

	"go.lsp.dev/jsonrpc2"

	"agent-ls/lsp/internal/text"
)

func (s *Server) didOpen(_ context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		TextDocument struct {
			URI        string `json:"uri"`
			LanguageID string `json:"languageId"`
			Version    int64  `json:"version"`
			Text       string `json:"text"`
		} `json:"textDocument"`
	}](raw)
	if err != nil {
		return nil, err
	}
	d := p.TextDocument
	if d.URI == "" {
		return nil, jsonrpc2.NewError(jsonrpc2.InvalidParams, "a document without a URI")
	}
	s.session.Open(d.URI, d.LanguageID, version(d.Version), d.Text)
	return nil, nil
}

func version(v int64) int32 { return int32(min(max(v, math.MinInt32), math.MaxInt32)) }

func (s *Server) didChange(_ context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[struct {
		TextDocument   documentID `json:"textDocument"`
		ContentChanges []struct {
			Range *textRange `json:"range"`
			Text  string     `json:"text"`
		} `json:"contentChanges"`
	}](raw)
	if err != nil {
		return nil, err
	}
	changes := make([]text.Change, len(p.ContentChanges))
	for i, c := range p.ContentChanges {
		changes[i].Text = c.Text
		if c.Range != nil {
			r := c.Range.text()
			changes[i].Range = &r
		}
	}
	// Without a version the change counts as the next one.
	next := int32(math.MinInt32)
	if p.TextDocument.Version != nil {
		next = version(*p.TextDocument.Version)
	} else if doc := s.session.Snapshot().Open(p.TextDocument.URI); doc != nil {
		next = doc.Version + 1
	}
	return nil, s.session.Change(p.TextDocument.URI, next, changes)
}

func (s *Server) didSave(_ context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[documentParams](raw)
	if err != nil {
		return nil, err
	}
	s.session.Save(p.TextDocument.URI)
	return nil, nil
}

func (s *Server) didClose(_ context.Context, raw json.RawMessage) (any, error) {
	p, err := decode[documentParams](raw)
	if err != nil {
		return nil, err
	}
	s.session.Close(p.TextDocument.URI)
	return nil, nil
}
