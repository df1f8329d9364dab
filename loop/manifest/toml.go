package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"agent-ls/hooks/check"
	"agent-ls/hooks/lazyexp"
)

const (
	// maxSource is the largest settings file that is read, in bytes.
	maxSource = 1 << 20
	// maxDepth is how deep tables and lists may nest.
	maxDepth = 64
)

// section is a run of lines under one header.
type section struct {
	path   []string // names down from the root
	array  bool     // [[header]]
	header check.Span
	table  *node // nil when the header is broken
	start  int   // where its lines begin
	end    int   // where the next header begins, or the end
}

// document is a settings file as a tree with places. It always exists: after
// a mistake the reader goes on with the next line that looks like a key or a
// header, and keeps what it understood.
type document struct {
	text     []byte
	root     *node
	sections []section
	findings []check.Finding
}

// resumable matches the lines on which reading can go on after a mistake.
var resumable = lazyexp.New(`^[ \t]*(\[{1,2}[ \t]*["'A-Za-z0-9_-]|("[^"\n]*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*[=.])`)

// parseTOML reads a settings file. The findings' paths are path.
func parseTOML(path string, text []byte) *document {
	d := &document{text: text, root: &node{kind: tableKind}}
	b := &builder{doc: d, path: path, table: d.root}
	if len(text) > maxSource {
		b.fault(check.Span{}, fmt.Sprintf("the file is larger than %d bytes", maxSource))
		return d
	}
	d.sections = []section{{table: d.root}}
	offset := 0
	if bytes.HasPrefix(text, []byte("\uFEFF")) {
		offset = 3
	}
	d.sections[0].start = offset
	for offset < len(text) {
		offset = b.read(offset)
	}
	b.closeSection(len(text))
	return d
}

// builder turns the parser's expressions into the tree.
type builder struct {
	doc   *document
	path  string
	table *node // where keys go; nil after a broken header
	base  int   // offset of what the parser sees
	p     unstable.Parser
}

// read parses from an offset until the end or the first mistake and returns
// where to go on.
func (b *builder) read(from int) int {
	b.base = from
	b.p.Reset(b.doc.text[from:])
	done := from // the end of what was understood
	for b.p.NextExpression() {
		n := b.p.Expression()
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			done = b.header(n)
		case unstable.KeyValue:
			done = b.base + int(n.Raw.Offset+n.Raw.Length)
			if b.table != nil {
				b.keyValue(b.table, n, 0)
			}
		}
	}
	err := b.p.Error()
	if err == nil {
		return len(b.doc.text)
	}
	start := b.expressionStart(done)
	span := check.Span{Start: start, End: trimmedEnd(b.doc.text, start)}
	message := err.Error()
	var perr *unstable.ParserError
	if errors.As(err, &perr) && len(perr.Highlight) > 0 {
		r := b.p.Range(perr.Highlight)
		at := b.base + int(r.Offset)
		// What is missing at a line's end, or is found missing on a later
		// line, is shown as the whole line that lacks it.
		if at < span.End {
			span = check.Span{Start: at, End: at + int(r.Length)}
		}
		message = perr.Message
	}
	b.fault(span, lowerFirst(message))
	if first := bytes.TrimLeft(b.doc.text[start:], " \t"); len(first) > 0 && first[0] == '[' {
		b.closeSection(start)
		b.table = nil
		b.doc.sections = append(b.doc.sections, section{start: lineEnd(b.doc.text, start), header: check.Span{Start: start, End: lineEnd(b.doc.text, start)}})
	}
	return nextResumable(b.doc.text, lineEnd(b.doc.text, start))
}

// expressionStart skips blank lines and comments after what was understood.
func (b *builder) expressionStart(done int) int {
	text := b.doc.text
	// The rest of the line of the last expression is at most a comment,
	// unless the mistake is right there.
	for done < len(text) {
		switch c := text[done]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' && done+1 < len(text) && text[done+1] == '\n':
			done++
		case c == '#':
			end := lineEnd(text, done)
			if bytes.IndexFunc(text[done:end], badInComment) >= 0 {
				return done
			}
			done = end
		default:
			return done
		}
	}
	return max(0, done-1)
}

func badInComment(r rune) bool {
	return r == '\uFFFD' || r < ' ' && r != '\t' && r != '\r' || r == 0x7F
}

// trimmedEnd is the end of a line without blanks and the carriage return.
func trimmedEnd(text []byte, from int) int {
	end := lineEnd(text, from)
	for end > from && (text[end-1] == ' ' || text[end-1] == '\t' || text[end-1] == '\r') {
		end--
	}
	return end
}

func lineEnd(text []byte, from int) int {
	if i := bytes.IndexByte(text[from:], '\n'); i >= 0 {
		return from + i
	}
	return len(text)
}

func nextResumable(text []byte, from int) int {
	for from < len(text) {
		from++ // over the line's end
		if from >= len(text) {
			break
		}
		if resumable.Match(text[from:lineEnd(text, from)]) {
			return from
		}
		from = lineEnd(text, from)
	}
	return len(text)
}

func (b *builder) fault(span check.Span, message string, related ...check.Related) {
	span.Start = min(max(span.Start, 0), len(b.doc.text))
	span.End = min(max(span.End, span.Start), len(b.doc.text))
	b.doc.findings = append(b.doc.findings, check.Finding{
		Path: b.path, Span: span, Code: CodeSyntax, Severity: check.Error, Message: message, Related: related,
	})
}

type keyPart struct {
	name string
	span check.Span
}

func (b *builder) keyParts(n *unstable.Node) []keyPart {
	var parts []keyPart
	for it := n.Key(); it.Next(); {
		k := it.Node()
		parts = append(parts, keyPart{string(k.Data), b.span(k.Raw)})
	}
	return parts
}

func (b *builder) span(r unstable.Range) check.Span {
	return check.Span{Start: b.base + int(r.Offset), End: b.base + int(r.Offset+r.Length)}
}

func (b *builder) closeSection(at int) {
	if n := len(b.doc.sections); n > 0 && b.doc.sections[n-1].end == 0 {
		b.doc.sections[n-1].end = at
	}
}

// header opens the table of a [header] or [[header]] and returns its end.
func (b *builder) header(n *unstable.Node) int {
	parts := b.keyParts(n)
	last := parts[len(parts)-1].span.End
	text := b.doc.text
	start := bytes.LastIndexByte(text[:parts[0].span.Start], '[')
	end := last
	for end < len(text) && text[end] != ']' {
		end++
	}
	array := n.Kind == unstable.ArrayTable
	end = min(end+1, len(text))
	if array {
		start, end = start-1, min(end+1, len(text))
	}
	span := check.Span{Start: max(start, 0), End: end}
	b.closeSection(span.Start)
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	b.table = b.open(parts, array, span)
	b.doc.sections = append(b.doc.sections, section{path: names, array: array, header: span, table: b.table, start: end})
	return end
}

// open finds or makes the table of a header; nil if it cannot be.
func (b *builder) open(parts []keyPart, array bool, span check.Span) *node {
	if len(parts) > maxDepth {
		b.fault(span, fmt.Sprintf("the header is deeper than %d names", maxDepth))
		return nil
	}
	t := b.doc.root
	for _, part := range parts[:len(parts)-1] {
		if t = b.step(t, part, span); t == nil {
			return nil
		}
	}
	last := parts[len(parts)-1]
	e := t.entry(last.name)
	if array {
		return b.openElement(t, e, last, span)
	}
	if e == nil {
		made := &node{kind: tableKind, span: span, headed: true}
		t.keys = append(t.keys, &entry{name: last.name, key: last.span, whole: span, value: made})
		return made
	}
	if e.value.kind != tableKind || e.value.closed || e.value.headed || e.value.dotted {
		b.twice(last, e)
		return nil
	}
	e.value.headed, e.value.span = true, span
	e.key, e.whole = last.span, span
	return e.value
}

func (b *builder) openElement(t *node, e *entry, last keyPart, span check.Span) *node {
	made := &node{kind: tableKind, span: span, headed: true}
	switch {
	case e == nil:
		list := &node{kind: listKind, span: span, ofArray: true, items: []*node{made}}
		t.keys = append(t.keys, &entry{name: last.name, key: last.span, whole: span, value: list})
	case e.value.kind == listKind && e.value.ofArray:
		e.value.items = append(e.value.items, made)
	default:
		b.twice(last, e)
		return nil
	}
	return made
}

// step goes one name down on the way to a header's table.
func (b *builder) step(t *node, part keyPart, span check.Span) *node {
	e := t.entry(part.name)
	if e == nil {
		made := &node{kind: tableKind, span: span}
		t.keys = append(t.keys, &entry{name: part.name, key: part.span, whole: span, value: made})
		return made
	}
	switch v := e.value; {
	case v.kind == tableKind && !v.closed:
		return v
	case v.kind == listKind && v.ofArray:
		return v.items[len(v.items)-1]
	}
	b.twice(part, e)
	return nil
}

func (b *builder) twice(part keyPart, first *entry) {
	b.fault(part.span, fmt.Sprintf("%s is set already on line %d", keyText(part.name), lineOf(b.doc.text, first.key.Start)),
		check.Related{Path: b.path, Span: first.key, Message: "first set here"})
}

// keyValue adds one `key = value` to a table.
func (b *builder) keyValue(t *node, n *unstable.Node, depth int) {
	parts := b.keyParts(n)
	whole := b.span(n.Raw)
	if len(parts) > maxDepth {
		b.fault(whole, fmt.Sprintf("the key is deeper than %d names", maxDepth))
		return
	}
	for _, part := range parts[:len(parts)-1] {
		e := t.entry(part.name)
		if e == nil {
			e = &entry{name: part.name, key: part.span, whole: whole, value: &node{kind: tableKind, span: whole, dotted: true}}
			t.keys = append(t.keys, e)
		} else if e.value.kind != tableKind || e.value.closed || e.value.headed {
			b.twice(part, e)
			return
		}
		t = e.value
	}
	last := parts[len(parts)-1]
	if e := t.entry(last.name); e != nil {
		b.twice(last, e)
		return
	}
	start := last.span.End
	for start < whole.End && b.doc.text[start] != '=' {
		start++
	}
	start = skipBlank(b.doc.text, start+1)
	value := b.value(n.Value(), start, depth)
	value.span.End = max(value.span.End, value.span.Start)
	if value.kind == listKind || value.kind == tableKind {
		value.span = check.Span{Start: start, End: whole.End}
	}
	t.keys = append(t.keys, &entry{name: last.name, key: last.span, whole: whole, value: value})
}

func skipBlank(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
