package rehearsal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

const (
	// maxSource is the largest script, in bytes.
	maxSource = 1 << 20
	// maxNesting is how far the YAML library may recurse.
	maxNesting = 5000
	// maxDepth is how deep values may nest.
	maxDepth = 64
	// maxRepeat and maxChunks bound what a few bytes can ask for.
	maxRepeat = 1_000_000
	maxChunks = 100_000
)

// Codes of the findings.
const (
	CodeSyntax     check.Code = "manifest-syntax"
	CodeUnknownKey check.Code = "unknown-key"
	CodeWrongType  check.Code = "wrong-type"
)

// Parse reads a script. The script is nil when a finding says what is wrong
// with it.
func Parse(path string, text []byte) (*Script, []check.Finding) {
	r := &reader{path: path, text: text}
	if len(text) > maxSource {
		r.fault(check.Span{}, CodeSyntax, fmt.Sprintf("the script is larger than %d bytes", maxSource))
		return nil, r.findings
	}
	if nesting(text) > maxNesting {
		r.fault(check.Span{}, CodeSyntax, "values are nested too deep")
		return nil, r.findings
	}
	file, err := parse(text)
	if err != nil {
		var said yaml.Error
		span, message := check.Span{}, err.Error()
		if errors.As(err, &said) {
			message = said.GetMessage()
			if t := said.GetToken(); t != nil {
				span = r.tokenSpan(t)
			}
		}
		r.fault(span, CodeSyntax, message)
		return nil, r.findings
	}
	s := r.script(file)
	if len(r.findings) > 0 {
		return nil, r.findings
	}
	return s, nil
}

// parse keeps what goes wrong inside the YAML library inside.
func parse(text []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the text cannot be read: %v", p)
		}
	}()
	return parser.ParseBytes(text, 0)
}

// nesting is at least how deep the library would recurse into a text: open
// brackets, and on one line the marks that open a value within a value. What
// stands in strings counts too, so the bound is generous; it only keeps the
// stack from running out, which would end the process.
func nesting(text []byte) int {
	deepest, open := 0, 0
	for line := range bytes.Lines(text) {
		marks := 0
		for _, c := range line {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(0, open-1)
			case '-', '?', ':', '!', '&', '*', '|', '>':
				marks++
			}
			deepest = max(deepest, open+marks)
		}
	}
	return deepest
}

// reader turns the tree into a Script.
type reader struct {
	path     string
	text     []byte
	lines    []int // where each line begins
	findings []check.Finding
}

func (r *reader) fault(span check.Span, code check.Code, message string) {
	span.Start = min(max(span.Start, 0), len(r.text))
	span.End = min(max(span.End, span.Start), len(r.text))
	r.findings = append(r.findings, check.Finding{Path: r.path, Span: span, Code: code, Severity: check.Error, Message: message})
}

// tokenSpan finds a token in the text by its line and column, which the
// library counts in characters.
func (r *reader) tokenSpan(t *token.Token) check.Span {
	if r.lines == nil {
		r.lines = []int{0}
		for i, c := range r.text {
			if c == '\n' {
				r.lines = append(r.lines, i+1)
			}
		}
	}
	if t == nil || t.Position == nil || t.Position.Line < 1 || t.Position.Line > len(r.lines) {
		return check.Span{}
	}
	start := r.lines[t.Position.Line-1]
	for i := 1; i < t.Position.Column && start < len(r.text); i++ {
		_, size := utf8.DecodeRune(r.text[start:])
		start += size
	}
	end := start + len(t.Value)
	if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
		end += 2
	}
	if line := start + len(firstLine(r.text[start:])); end > line {
		end = line
	}
	return check.Span{Start: start, End: max(end, start)}
}

func firstLine(text []byte) []byte {
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		return text[:i]
	}
	return text
}

func (r *reader) span(n ast.Node) check.Span {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return r.span(n.Values[0].Key)
		}
		return r.tokenSpan(n.Start)
	case *ast.MappingValueNode:
		return r.span(n.Key)
	case *ast.SequenceNode:
		return r.tokenSpan(n.Start)
	}
	if n == nil {
		return check.Span{}
	}
	return r.tokenSpan(n.GetToken())
}

// field is a key of a mapping and how its value is read.
type field struct {
	name string
	read func(ast.Node)
}

func names(fields []field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.name
	}
	return out
}

// mapping reads a mapping by its fields.
func (r *reader) mapping(n ast.Node, what string, fields []field) {
	pairs, ok := r.pairs(n, what)
	if !ok {
		return
	}
	seen := map[string]bool{}
	for _, p := range pairs {
		key := keyName(p.Key)
		i := -1
		for k, f := range fields {
			if f.name == key {
				i = k
			}
		}
		switch {
		case i < 0:
			r.unknown(p.Key, key, what, names(fields))
		case seen[key]:
			r.fault(r.span(p.Key), CodeSyntax, fmt.Sprintf("%s is set twice", key))
		default:
			fields[i].read(p.Value)
		}
		seen[key] = true
	}
}

func (r *reader) unknown(at ast.Node, key, what string, known []string) {
	span := r.span(at)
	r.fault(span, CodeUnknownKey, fmt.Sprintf("unknown key %q in %s%s", key, what, contract.DidYouMean(key, known)))
	if near := contract.Nearest(key, known); near != "" && span.End > span.Start {
		f := &r.findings[len(r.findings)-1]
		f.Fixes = []check.Fix{{Title: "change to " + near, Edits: []check.Edit{{Span: span, NewText: near}}, Preferred: true}}
	}
}

func (r *reader) pairs(n ast.Node, what string) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	r.wrong(n, what, "a mapping")
	return nil, false
}

func keyName(n ast.Node) string {
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value
	}
	if n == nil || n.GetToken() == nil {
		return ""
	}
	return n.GetToken().Value
}

func (r *reader) wrong(n ast.Node, what, want string) {
	r.fault(r.span(n), CodeWrongType, fmt.Sprintf("%s must be %s", what, want))
}

func (r *reader) script(file *ast.File) *Script {
	s := &Script{}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			r.fault(r.span(d.Body), CodeSyntax, "a script is one document")
			return s
		}
		body = d.Body
	}
	if body == nil {
		return s
	}
	r.mapping(body, "the script", []field{
		{"turns", func(n ast.Node) {
			for _, item := range r.list(n, "turns") {
				s.Turns = append(s.Turns, r.turn(item))
			}
		}},
		{"summaries", func(n ast.Node) {
			for _, item := range r.list(n, "summaries") {
				s.Summaries = append(s.Summaries, r.str(item, "a summary"))
			}
		}},
		{"decisions", func(n ast.Node) {
			for _, item := range r.list(n, "decisions") {
				s.Decisions = append(s.Decisions, r.json(item, "a decision", 0))
			}
		}},
		{"context_window", func(n ast.Node) { s.ContextWindow = int(r.whole(n, "context_window", 0, math.MaxInt32)) }},
	})
	return s
}

func (r *reader) list(n ast.Node, what string) []ast.Node {
	switch n := n.(type) {
	case *ast.SequenceNode:
		return n.Values
	case *ast.NullNode, nil:
		return nil
	}
	r.wrong(n, what, "a list")
	return nil
}

func (r *reader) turn(n ast.Node) Turn {
	t := Turn{Chunks: 1, Repeat: 1, At: r.span(n)}
	t.Line = 1 + bytes.Count(r.text[:min(t.At.Start, len(r.text))], []byte("\n"))
	var output json.RawMessage
	r.mapping(n, "a turn", []field{
		{"text", func(n ast.Node) { t.Text = r.str(n, "text") }},
		{"output", func(n ast.Node) { output = r.json(n, "output", 0) }},
		{"thinking", func(n ast.Node) { t.Thinking = r.str(n, "thinking") }},
		{"tool_calls", func(n ast.Node) {
			for _, item := range r.list(n, "tool_calls") {
				t.Calls = append(t.Calls, r.call(item))
			}
		}},
		{"expect", func(n ast.Node) {
			var err error
			if t.Expect, err = regexp.Compile(r.str(n, "expect")); err != nil {
				r.fault(r.span(n), CodeWrongType, fmt.Sprintf("expect is no regular expression: %v", err))
			}
		}},
		{"usage", func(n ast.Node) {
			var u loop.Usage
			count := func(name string, to *int64) field {
				return field{name, func(n ast.Node) { *to = r.whole(n, "usage."+name, 0, math.MaxInt32) }}
			}
			r.mapping(n, "usage", []field{count("input", &u.Input), count("output", &u.Output), count("cache_read", &u.CacheRead), count("cache_write", &u.CacheWrite)})
			t.Usage = &u
		}},
		{"delay_ms", func(n ast.Node) {
			t.Delay = time.Duration(r.whole(n, "delay_ms", 0, int64(time.Hour/time.Millisecond))) * time.Millisecond
		}},
		{"chunks", func(n ast.Node) { t.Chunks = int(r.whole(n, "chunks", 1, maxChunks)) }},
		{"cut_after", func(n ast.Node) { t.Cut, t.CutAfter = true, int(r.whole(n, "cut_after", 0, maxChunks)) }},
		{"repeat", func(n ast.Node) { t.Repeat = int(r.whole(n, "repeat", 1, maxRepeat)) }},
		{"error", func(n ast.Node) { t.Error = r.failure(n) }},
		{"when", func(n ast.Node) { t.When = r.when(n) }},
	})
	if output != nil {
		if t.Text != "" {
			r.fault(t.At, CodeWrongType, "a turn has text or output, not both")
		}
		t.Text = string(output)
	}
	return t
}

func (r *reader) call(n ast.Node) Call {
	c := Call{Arguments: json.RawMessage("{}")}
	r.mapping(n, "a tool call", []field{
		{"name", func(n ast.Node) { c.Name = r.str(n, "name") }},
		{"arguments", func(n ast.Node) {
			c.Arguments = r.json(n, "arguments", 0)
			if len(c.Arguments) > 0 && c.Arguments[0] != '{' {
				r.wrong(n, "arguments", "a mapping")
			}
		}},
	})
	if c.Name == "" {
		r.fault(r.span(n), CodeWrongType, "a tool call needs a name")
	}
	return c
}

func (r *reader) failure(n ast.Node) *Failure {
	f := &Failure{Status: 500}
	r.mapping(n, "error", []field{
		{"status", func(n ast.Node) { f.Status = int(r.whole(n, "status", 400, 599)) }},
		{"retry_after", func(n ast.Node) {
			f.RetryAfter = time.Duration(r.number(n, "retry_after", 86400) * float64(time.Second))
		}},
		{"body", func(n ast.Node) { f.Body = r.str(n, "body") }},
	})
	return f
}

func (r *reader) when(n ast.Node) When {
	var w When
	r.mapping(n, "when", []field{
		{"depth", func(n ast.Node) {
			d := int(r.whole(n, "depth", 0, 1000))
			w.Depth = &d
		}},
		{"agent", func(n ast.Node) { w.Agent = r.str(n, "agent") }},
		{"contains", func(n ast.Node) { w.Contains = r.str(n, "contains") }},
	})
	return w
}

// str reads text; a bare number or word counts as it is written.
func (r *reader) str(n ast.Node, what string) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	}
	r.wrong(n, what, "a string")
	return ""
}

func (r *reader) whole(n ast.Node, what string, low, high int64) int64 {
	i, ok := n.(*ast.IntegerNode)
	if ok {
		if v, err := strconv.ParseInt(fmt.Sprint(i.Value), 10, 64); err == nil && v >= low && v <= high {
			return v
		}
	}
	r.wrong(n, what, fmt.Sprintf("an integer from %d to %d", low, high))
	return low
}

func (r *reader) number(n ast.Node, what string, high float64) float64 {
	var v float64
	switch n := n.(type) {
	case *ast.FloatNode:
		v = n.Value
	case *ast.IntegerNode:
		v, _ = strconv.ParseFloat(fmt.Sprint(n.Value), 64)
	default:
		v = -1
	}
	if !(v >= 0 && v <= high) {
		r.wrong(n, what, fmt.Sprintf("a number from 0 to %v", high))
		return 0
	}
	return v
}

// json writes a value as JSON, keys in the order of the script.
func (r *reader) json(n ast.Node, what string, level int) json.RawMessage {
	if level > maxDepth {
		r.wrong(n, what, fmt.Sprintf("nested at most %d deep", maxDepth))
		return json.RawMessage("null")
	}
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return json.RawMessage("null")
	case *ast.BoolNode:
		return json.RawMessage(strconv.FormatBool(n.Value))
	case *ast.IntegerNode:
		return json.RawMessage(fmt.Sprint(n.Value))
	case *ast.FloatNode:
		if b, err := json.Marshal(n.Value); err == nil {
			return b
		}
	case *ast.StringNode:
		return text(n.Value)
	case *ast.LiteralNode:
		return text(n.Value.Value)
	case *ast.SequenceNode:
		parts := make([]string, len(n.Values))
		for i, item := range n.Values {
			parts[i] = string(r.json(item, what, level+1))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	case *ast.MappingNode, *ast.MappingValueNode:
		pairs, _ := r.pairs(n, what)
		parts := make([]string, len(pairs))
		seen := map[string]bool{}
		for i, p := range pairs {
			key := keyName(p.Key)
			if seen[key] {
				r.fault(r.span(p.Key), CodeSyntax, fmt.Sprintf("%s is set twice", key))
			}
			seen[key] = true
			parts[i] = string(text(key)) + ":" + string(r.json(p.Value, what, level+1))
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + "}")
	}
	r.wrong(n, what, "plain data, without anchors, aliases and tags")
	return json.RawMessage("null")
}

func text(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return json.RawMessage(bytes.TrimRight(b.Bytes(), "\n"))
}
