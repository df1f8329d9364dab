package manifest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"agent-ls/hooks/check"
)

// value turns a parsed value into a node. start is where it begins, for the
// kinds whose place the parser does not tell.
func (b *builder) value(n *unstable.Node, start, depth int) *node {
	out := &node{span: b.span(n.Raw)}
	if n.Kind == unstable.Array || n.Kind == unstable.InlineTable {
		out.span = check.Span{Start: start, End: closing(b.doc.text, start)}
		if depth >= maxDepth {
			b.fault(check.Span{Start: start, End: start + 1}, fmt.Sprintf("lists and tables are nested more than %d deep", maxDepth))
			out.bad = true
			return out
		}
	}
	raw := string(n.Data)
	switch n.Kind {
	case unstable.String:
		out.kind, out.text = stringKind, raw
	case unstable.Bool:
		out.kind, out.truth = boolKind, raw == "true"
	case unstable.Integer:
		out.kind = intKind
		b.integer(out, raw)
	case unstable.Float:
		out.kind = floatKind
		f, err := strconv.ParseFloat(strings.ReplaceAll(raw, "_", ""), 64)
		if err != nil {
			b.fault(out.span, fmt.Sprintf("%s is no number", raw))
			out.bad = true
		}
		out.frac = f
	case unstable.LocalDate, unstable.LocalTime, unstable.LocalDateTime, unstable.DateTime:
		out.kind, out.text = dateKind, raw
	case unstable.Array:
		out.kind = listKind
		at := start + 1
		for it := n.Children(); it.Next(); {
			at = skipBetween(b.doc.text, at)
			item := b.value(it.Node(), at, depth+1)
			at = item.span.End
			out.items = append(out.items, item)
		}
	case unstable.InlineTable:
		out.kind = tableKind
		for it := n.Children(); it.Next(); {
			b.keyValue(out, it.Node(), depth+1)
		}
		closeTables(out)
	}
	return out
}

// closeTables marks an inline table and those that its dotted keys made.
func closeTables(n *node) {
	n.closed = true
	for _, e := range n.keys {
		if e.value.kind == tableKind && !e.value.closed {
			closeTables(e.value)
		}
	}
}

func (b *builder) integer(out *node, raw string) {
	digits := strings.TrimLeft(strings.ReplaceAll(raw, "_", ""), "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		b.fault(out.span, fmt.Sprintf("%s begins with a zero: write it without, or as 0o%s", raw, digits[1:]))
		out.bad = true
		return
	}
	v, err := strconv.ParseInt(strings.TrimPrefix(strings.ReplaceAll(raw, "_", ""), "+"), 0, 64)
	if err != nil {
		b.fault(out.span, fmt.Sprintf("%s is no integer of 64 bits", raw))
		out.bad = true
	}
	out.num, out.frac = v, float64(v)
}

// skipBetween moves over what may stand between the items of a list.
func skipBetween(text []byte, at int) int {
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\r', '\n', ',':
			at++
		case '#':
			at = lineEnd(text, at)
		default:
			return at
		}
	}
	return at
}

// closing returns the end of the list or inline table that opens at an
// offset. The text was parsed, so brackets match outside strings and comments.
func closing(text []byte, at int) int {
	depth := 0
	for at < len(text) {
		switch c := text[at]; c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
			if depth == 0 {
				return at + 1
			}
		case '"', '\'':
			at = stringEnd(text, at) - 1
		case '#':
			at = lineEnd(text, at) - 1
		}
		at++
	}
	return len(text)
}

// stringEnd returns the end of the string literal that opens at an offset.
func stringEnd(text []byte, at int) int {
	quote := text[at]
	triple := bytes.Repeat([]byte{quote}, 3)
	long := bytes.HasPrefix(text[at:], triple)
	if long {
		at += 3
	} else {
		at++
	}
	for at < len(text) {
		switch {
		case text[at] == '\\' && quote == '"':
			at++
		case long && bytes.HasPrefix(text[at:], triple):
			at += 3
			for at < len(text) && text[at] == quote { // quotes before the end belong to the string
				at++
			}
			return at
		case !long && text[at] == quote:
			return at + 1
		case !long && text[at] == '\n':
			return at
		}
		at++
	}
	return len(text)
}
