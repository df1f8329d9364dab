package manifest

import (
	"bytes"
	"strconv"
	"strings"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
)

// kind is the shape of a value in a settings file.
type kind uint8

const (
	noKind kind = iota
	stringKind
	intKind
	floatKind
	boolKind
	dateKind
	listKind
	tableKind
)

func (k kind) String() string {
	switch k {
	case stringKind:
		return "a string"
	case intKind:
		return "an integer"
	case floatKind:
		return "a number with a fraction"
	case boolKind:
		return "true or false"
	case dateKind:
		return "a date"
	case listKind:
		return "a list"
	case tableKind:
		return "a table"
	}
	return "nothing"
}

// node is one value with its place. Values from the environment, a client or
// a flag have a zero span.
type node struct {
	kind  kind
	span  check.Span // of the value; a table's header or its braces
	text  string
	num   int64
	frac  float64
	truth bool
	items []*node  // listKind, in order
	keys  []*entry // tableKind, in the order of the file

	closed  bool // an inline table: nothing may be added from outside
	headed  bool // a table that has had its own [header]
	dotted  bool // made by a dotted key; a header may not open it again
	ofArray bool // the list of a [[header]]
	bad     bool // a finding disabled it
}

// entry is one key of a table.
type entry struct {
	name  string
	key   check.Span // of the name where it was first written
	whole check.Span // of the key and its value, or of the header
	value *node
}

// get returns the value under a name, nil if there is none or if a finding
// disabled it.
func (n *node) get(name string) *node {
	if e := n.entry(name); e != nil && !e.value.bad {
		return e.value
	}
	return nil
}

// entry returns a table's entry by its exact name.
func (n *node) entry(name string) *entry {
	if n == nil {
		return nil
	}
	for _, e := range n.keys {
		if e.name == name {
			return e
		}
	}
	return nil
}

// at follows names down the tables.
func (n *node) at(path ...string) *node {
	for _, name := range path {
		if n = n.get(name); n == nil {
			return nil
		}
	}
	return n
}

// strings returns a list's strings, or the one string that stands alone.
func (n *node) strings() []string {
	if n == nil {
		return nil
	}
	if n.kind == stringKind {
		return []string{n.text}
	}
	out := []string{}
	for _, item := range n.items {
		if item.kind == stringKind && !item.bad {
			out = append(out, item.text)
		}
	}
	return out
}

// stringNodes is strings with the places.
func (n *node) stringNodes() []*node {
	if n == nil {
		return nil
	}
	if n.kind == stringKind {
		return []*node{n}
	}
	var out []*node
	for _, item := range n.items {
		if item.kind == stringKind && !item.bad {
			out = append(out, item)
		}
	}
	return out
}

// plain turns a value into plain Go data, for digests and for show.
func (n *node) plain() any {
	if n == nil {
		return nil
	}
	switch n.kind {
	case stringKind, dateKind:
		return n.text
	case intKind:
		return n.num
	case floatKind:
		return n.frac
	case boolKind:
		return n.truth
	case listKind:
		out := make([]any, 0, len(n.items))
		for _, item := range n.items {
			out = append(out, item.plain())
		}
		return out
	case tableKind:
		out := make(map[string]any, len(n.keys))
		for _, e := range n.keys {
			out[e.name] = e.value.plain()
		}
		return out
	}
	return nil
}

// fromPlain turns plain data (JSON from a client, values of flags) into a
// tree without places. Keys with dots are paths.
func fromPlain(v any, depth int) *node {
	if depth > maxDepth {
		return &node{kind: noKind}
	}
	switch v := v.(type) {
	case string:
		return &node{kind: stringKind, text: v}
	case bool:
		return &node{kind: boolKind, truth: v}
	case int:
		return &node{kind: intKind, num: int64(v)}
	case int64:
		return &node{kind: intKind, num: v}
	case float64:
		if i := int64(v); float64(i) == v {
			return &node{kind: intKind, num: i, frac: v}
		}
		return &node{kind: floatKind, frac: v}
	case []string:
		n := &node{kind: listKind}
		for _, s := range v {
			n.items = append(n.items, &node{kind: stringKind, text: s})
		}
		return n
	case []any:
		n := &node{kind: listKind}
		for _, item := range v {
			n.items = append(n.items, fromPlain(item, depth+1))
		}
		return n
	case map[string]string:
		n := &node{kind: tableKind}
		for _, k := range sortedKeys(v) {
			n.set([]string{k}, &node{kind: stringKind, text: v[k]})
		}
		return n
	case map[string]any:
		n := &node{kind: tableKind}
		for _, k := range sortedKeys(v) {
			if v[k] == nil {
				continue // a client says null for what is not set
			}
			n.set([]string{k}, fromPlain(v[k], depth+1))
		}
		return n
	}
	return &node{kind: noKind}
}

// set puts a value at a path and makes the tables on the way. What is there
// already is replaced, tables are joined.
func (n *node) set(path []string, value *node) {
	for _, name := range path[:len(path)-1] {
		e := n.entry(name)
		if e == nil || e.value.kind != tableKind {
			e = n.put(name, &node{kind: tableKind})
		}
		n = e.value
	}
	last := path[len(path)-1]
	if e := n.entry(last); e != nil && e.value.kind == tableKind && value.kind == tableKind {
		for _, k := range value.keys {
			e.value.set([]string{k.name}, k.value)
		}
		return
	}
	n.put(last, value)
}

func (n *node) put(name string, value *node) *entry {
	if e := n.entry(name); e != nil {
		e.value = value
		return e
	}
	e := &entry{name: name, value: value}
	n.keys = append(n.keys, e)
	return e
}

// pathText writes a path as TOML would: names with dots are quoted.
func pathText(path []string) string {
	var b strings.Builder
	for i, name := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(keyText(name))
	}
	return b.String()
}

// keyText quotes a key where TOML needs it.
func keyText(name string) string {
	if name == "" {
		return `""`
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return strconv.Quote(name)
		}
	}
	return name
}

// lineOf returns the line, from 1, that an offset is on.
func lineOf(text []byte, offset int) int {
	offset = min(max(offset, 0), len(text))
	return 1 + bytes.Count(text[:offset], []byte("\n"))
}

// location says where a span is, in every unit.
func location(path string, text []byte, span check.Span) hooks.Location {
	return hooks.Location{Path: path, Start: position(text, span.Start), End: position(text, span.End)}
}

func position(text []byte, offset int) hooks.Position {
	offset = min(max(offset, 0), len(text))
	start := bytes.LastIndexByte(text[:offset], '\n') + 1
	p := hooks.Position{Offset: offset, Line: lineOf(text, offset), Byte: offset - start, Column: 1}
	for _, r := range string(text[start:offset]) {
		p.Column++
		p.UTF16++
		if r > 0xFFFF {
			p.UTF16++
		}
	}
	return p
}
