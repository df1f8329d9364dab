package server

import (
	"encoding/json"
	"fmt"
	"math"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"agent-ls/lsp/internal/text"
)

// The parameters are decoded here and not by package protocol, which rewrites
// URIs on the way in and refuses a whole message for one number out of range.

// number is an unsigned number of the protocol; what lies outside is clamped.
type number uint32

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(raw []byte) error {
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	*n = number(min(max(f, 0), math.MaxUint32))
	return nil
}

type position struct {
	Line      number `json:"line"`
	Character number `json:"character"`
}

func (p position) text() text.Position {
	return text.Position{Line: uint32(p.Line), Character: uint32(p.Character)}
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

func (r textRange) text() text.Range { return text.Range{Start: r.Start.text(), End: r.End.text()} }

type documentID struct {
	URI     string `json:"uri"`
	Version *int64 `json:"version"`
}

type positionParams struct {
	TextDocument documentID `json:"textDocument"`
	Position     position   `json:"position"`
}

type documentParams struct {
	TextDocument documentID `json:"textDocument"`
}

// decode reads parameters; what does not decode is the client's fault.
func decode[P any](raw json.RawMessage) (*P, error) {
	p := new(P)
	if len(raw) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, jsonrpc2.NewError(jsonrpc2.InvalidParams, fmt.Sprintf("the parameters do not decode: %v", err))
	}
	return p, nil
}

func protocolPosition(p text.Position) protocol.Position {
	return protocol.Position{Line: p.Line, Character: p.Character}
}

func protocolRange(r text.Range) protocol.Range {
	return protocol.Range{Start: protocolPosition(r.Start), End: protocolPosition(r.End)}
}

// asURI keeps a URI as it is spelled.
func asURI(spelled string) uri.URI { return uri.URI(spelled) }
