package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"agent-ls/hooks/check"
)

// jsonReader reads JSON into a tree with places.
type jsonReader struct {
	text    []byte
	tokens  *json.Decoder
	skipped int // bytes of a byte order mark before what the decoder sees
}

// parseJSON reads a settings file of another program. The error names the line.
func parseJSON(text []byte) (*node, error) {
	if len(text) > maxSource {
		return nil, fmt.Errorf("it is larger than %d bytes", maxSource)
	}
	body := bytes.TrimPrefix(text, []byte("\uFEFF"))
	r := &jsonReader{text: text, tokens: json.NewDecoder(bytes.NewReader(body)), skipped: len(text) - len(body)}
	r.tokens.UseNumber()
	n, err := r.value(0)
	if err == nil {
		if _, more := r.tokens.Token(); !errors.Is(more, io.EOF) {
			err = fmt.Errorf("line %d: there is more behind the end of the JSON value", lineOf(text, r.at()))
		}
	}
	return n, err
}

func (r *jsonReader) at() int { return r.skipped + int(r.tokens.InputOffset()) }

// token gives the next token and where it begins.
func (r *jsonReader) token() (json.Token, int, error) {
	start := r.at()
	for start < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[start]) >= 0 {
		start++
	}
	t, err := r.tokens.Token()
	if err != nil {
		at := r.at()
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = r.skipped + int(syntax.Offset)
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("it ends too early")
		}
		return nil, start, fmt.Errorf("line %d: %w", lineOf(r.text, at), err)
	}
	return t, start, nil
}

func (r *jsonReader) value(depth int) (*node, error) {
	t, start, err := r.token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: it is nested more than %d deep", lineOf(r.text, start), maxDepth)
	}
	n := &node{}
	switch t := t.(type) {
	case json.Delim:
		n, err = r.nested(t, depth)
		if err != nil {
			return nil, err
		}
	case string:
		n.kind, n.text = stringKind, t
	case bool:
		n.kind, n.truth = boolKind, t
	case json.Number:
		n.kind, n.text = floatKind, t.String()
		n.frac, _ = t.Float64()
		if i, err := strconv.ParseInt(t.String(), 10, 64); err == nil {
			n.kind, n.num = intKind, i
		}
	}
	n.span = check.Span{Start: start, End: r.at()}
	return n, nil
}

func (r *jsonReader) nested(open json.Delim, depth int) (*node, error) {
	n := &node{kind: listKind}
	if open == '{' {
		n.kind = tableKind
	}
	for r.tokens.More() {
		var e *entry
		if n.kind == tableKind {
			key, start, err := r.token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string) // the decoder takes nothing else there
			e = &entry{name: name, key: check.Span{Start: start, End: r.at()}}
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if e == nil {
			n.items = append(n.items, v)
			continue
		}
		e.value, e.whole = v, check.Span{Start: e.key.Start, End: v.span.End}
		if twice := n.entry(e.name); twice != nil {
			*twice = *e // as every reader of JSON has it: the last one counts
			continue
		}
		n.keys = append(n.keys, e)
	}
	_, _, err := r.token()
	return n, err
}
