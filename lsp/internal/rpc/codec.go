package rpc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// codec encodes the protocol's types as package protocol does (its unions need
// it) and everything else as encoding/json does, so that the tags of our own
// types mean what they mean everywhere else in the program.
type codec struct{}

// Marshal implements jsonrpc2.Codec.
func (codec) Marshal(v any) ([]byte, error) {
	switch raw := v.(type) {
	case nil:
		return []byte("null"), nil
	case json.RawMessage:
		return orNull(raw), nil
	case jsonrpc2.RawMessage:
		return orNull(raw), nil
	}
	if isProtocol(reflect.TypeOf(v)) {
		return protocol.Marshal(v)
	}
	return marshalPlain(v)
}

func orNull(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// marshalPlain is json.Marshal without HTML escapes.
func marshalPlain(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Unmarshal implements jsonrpc2.Codec.
func (codec) Unmarshal(data []byte, v any) error {
	switch p := v.(type) {
	case *json.RawMessage:
		*p = bytes.Clone(data)
		return nil
	case *jsonrpc2.RawMessage:
		*p = bytes.Clone(data)
		return nil
	}
	if isProtocol(reflect.TypeOf(v)) {
		return protocol.Unmarshal(data, v)
	}
	return json.Unmarshal(data, v)
}

// isProtocol reports whether a type, or what it points to or holds, is one of
// the protocol libraries'.
func isProtocol(t reflect.Type) bool {
	for t != nil {
		switch path := t.PkgPath(); {
		case strings.HasPrefix(path, "go.lsp.dev/"), strings.HasPrefix(path, "github.com/go-json-experiment/"):
			return true
		case path != "":
			return false
		}
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		default:
			return false
		}
	}
	return false
}
