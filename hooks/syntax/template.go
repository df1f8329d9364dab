package syntax

import (
	"strings"
	"unicode/utf8"
)

// template reads the holes of '…{expr}…'. As in Risor they are found in the
// text after its escapes, {{ and }} stand for braces, and a text without any
// { has no holes whatever else is in it.
func (p *parser) template(t token) Expr {
	if !strings.Contains(t.value, "{") {
		return &String{base: p.made(t.start, t.end), Value: t.value}
	}
	n := &Template{}
	r := holes{parser: p, t: t}
	if !p.enter() {
		return p.bad()
	}
	defer p.leave()
	r.read(n)
	n.base = p.madeOf(t.start, t.end, n.Holes)
	return n
}

type holes struct {
	*parser
	t token
}

func (h *holes) at(i int) int { return int(h.t.offsets[min(i, len(h.t.offsets)-1)]) }

// read walks the cooked text: outside a hole it collects text, inside one the
// bytes of the expression with their offsets.
func (h *holes) read(n *Template) {
	v := h.t.value
	var text, hole strings.Builder
	var offsets []int32
	inside, opened := false, 0
	put := func(s string, i int) {
		if !inside {
			text.WriteString(s)
			return
		}
		hole.WriteString(s)
		for j := range len(s) {
			offsets = append(offsets, h.t.offsets[i+j])
		}
	}
	for i := 0; i < len(v); {
		_, size := utf8.DecodeRuneInString(v[i:])
		twice := i+1 < len(v) && v[i+1] == v[i]
		switch {
		case v[i] == '{' && twice:
			put("{", i)
			i += 2
			continue
		case v[i] == '}' && inside:
			offsets = append(offsets, int32(h.at(i)))
			n.Holes = append(n.Holes, h.hole(hole.String(), offsets))
			hole.Reset()
			offsets, inside = nil, false
		case v[i] == '}' && twice:
			put("}", i)
			i += 2
			continue
		case v[i] == '}':
			h.fail(Span{h.at(i), h.at(i) + 1}, "a } in a text with holes is written }}")
			return
		case v[i] == '{' && inside:
			h.fail(Span{h.at(i), h.at(i) + 1}, "a hole cannot have a { in it: give the value a name first")
			return
		case v[i] == '{':
			n.Texts = append(n.Texts, text.String())
			text.Reset()
			inside, opened = true, h.at(i)
		default:
			put(v[i:i+size], i)
		}
		i += size
	}
	n.Texts = append(n.Texts, text.String())
	if inside {
		h.fail(Span{opened, opened + 1}, "this hole has no end: } is missing; a { that is meant is written {{")
	}
}

// hole parses the expression of one hole; nil for an empty one.
func (h *holes) hole(src string, offsets []int32) Expr {
	p := &parser{sink: h.sink, limits: h.limits, depth: h.depth, hole: true}
	p.lex = &lexer{src: src, offsets: offsets, report: h.sink.add}
	p.start()
	p.skipNewline()
	if p.tok.kind == eof {
		h.lex.steps += p.lex.steps
		return nil
	}
	s := p.statement()
	p.endStatement()
	p.skipNewline()
	if p.tok.kind != eof {
		p.quiet = false
		p.unexpected("expected the end of the hole, found %s", p.tok.name())
	}
	h.lex.steps += p.lex.steps
	if e, ok := s.(*ExprStmt); ok {
		return e.X
	}
	p.quiet = false
	p.fail(s.Pos(), "a hole holds a value, not a statement")
	return p.bad()
}
