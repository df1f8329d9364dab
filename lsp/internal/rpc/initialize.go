package rpc

import (
	"encoding/json"

	"go.lsp.dev/protocol"
)

// decodeInitialize decodes the first request. A client that declares one
// capability with a wrong type gets a server all the same: what does not
// decode is left out, and named in dropped.
func decodeInitialize(raw []byte) (params *protocol.InitializeParams, dropped []string, err error) {
	params = new(protocol.InitializeParams)
	if len(raw) == 0 {
		return params, nil, nil
	}
	if protocol.Unmarshal(raw, params) == nil {
		return params, nil, nil
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, nil, err
	}
	p := pruner{}
	kept, ok := p.prune(tree, "", func(v any) any { return v }).(map[string]any)
	if !ok {
		kept = map[string]any{}
	}
	clean, err := json.Marshal(kept)
	if err != nil {
		return nil, nil, err
	}
	params = new(protocol.InitializeParams)
	if err := protocol.Unmarshal(clean, params); err != nil {
		return nil, p.dropped, err
	}
	return params, p.dropped, nil
}

// pruner cuts what does not decode out of a tree.
type pruner struct{ dropped []string }

// gone marks a value that is left out.
type gone struct{}

// prune returns the part of v that decodes. wrap puts a value back to where it
// stands, with nothing beside it.
func (p *pruner) prune(v any, path string, wrap func(any) any) any {
	if raw, err := json.Marshal(wrap(v)); err == nil {
		if protocol.Unmarshal(raw, new(protocol.InitializeParams)) == nil {
			return v
		}
	}
	object, ok := v.(map[string]any)
	if !ok {
		p.dropped = append(p.dropped, path)
		return gone{}
	}
	kept := map[string]any{}
	for key, member := range object {
		child := p.prune(member, path+"/"+key, func(v any) any { return wrap(map[string]any{key: v}) })
		if child != (any)(gone{}) {
			kept[key] = child
		}
	}
	// Members that are each fine may still miss one that is required.
	if raw, err := json.Marshal(wrap(kept)); err != nil || protocol.Unmarshal(raw, new(protocol.InitializeParams)) != nil {
		p.dropped = append(p.dropped, path)
		return gone{}
	}
	return kept
}
