package syntax

import "fmt"

// sink collects errors; the parsers of a file and of the holes in its
// templates share one.
type sink struct {
	errors []Error
	limit  int
}

func (s *sink) add(e Error) {
	if n := len(s.errors); n < s.limit && !(n > 0 && s.errors[n-1].Start == e.Start) {
		s.errors = append(s.errors, e)
	}
}

// parser reads statements with one token of look-ahead: tok is the next one
// that is not read, and of line ends in a row only the first is seen. So the
// token after a line end is known too.
type parser struct {
	*sink
	lex        *lexer
	limits     Limits
	prev       token
	tok, ahead token
	count      int // tokens read, to see progress
	depth      int
	tall       int  // of the highest expression of this block so far
	quiet      bool // an error of this statement was reported
	ternary    bool // inside a ternary, where Risor takes no other
	unwinding  bool // a limit was passed: pretend the text ends here
	stopped    bool // a limit was passed somewhere
	boundary   bool // a function that begins a line ends every block
	unclosed   bool // a block had no end
	inCase     bool // statements end before case and default too
	hole       bool // of a template
	openSaid   bool // the block that has no end was reported
}

func newParser(src string, limits Limits, boundary bool) *parser {
	s := &sink{limit: limits.Errors}
	p := &parser{sink: s, limits: limits, boundary: boundary}
	p.lex = newLexer(src, s.add)
	p.start()
	return p
}

// start fills the look-ahead.
func (p *parser) start() {
	p.ahead = p.lex.next()
	p.advance()
	p.prev, p.count = token{kind: newline, start: p.tok.start, end: p.tok.start}, 0
}

// advance reads one token.
func (p *parser) advance() {
	p.prev = p.tok
	p.tok = p.ahead
	p.count++
	if p.unwinding {
		return
	}
	p.ahead = p.lex.next()
	for p.tok.kind == newline && p.ahead.kind == newline {
		p.ahead = p.lex.next()
	}
}

func (p *parser) skipNewline() {
	if p.tok.kind == newline {
		p.advance()
	}
}

// take reads the token if it is that operator.
func (p *parser) take(op string) bool {
	if p.tok.is(op) {
		p.advance()
		return true
	}
	return false
}

// fail reports an error of the statement, unless it already has one.
func (p *parser) fail(at Span, format string, args ...any) {
	if p.quiet || p.unwinding {
		return
	}
	p.quiet = true
	p.add(Error{Span: at, Message: fmt.Sprintf(format, args...)})
}

// unexpected reports the next token, or the one before it when the line or
// the script ends here; what the lexer reported is not reported again.
func (p *parser) unexpected(format string, args ...any) {
	if p.tok.kind == invalid {
		p.quiet = true
		return
	}
	at := Span{p.tok.start, p.tok.end}
	if p.tok.kind == newline || p.tok.kind == eof {
		at = Span{p.prev.start, p.prev.end}
	}
	p.fail(at, format, args...)
}

// enter counts a level; false when there are too many.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > p.limits.Nesting {
		p.tooLarge(Span{p.tok.start, p.tok.end}, "nested deeper than %d levels", p.limits.Nesting)
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

// tooLarge reports a limit and lets the parser unwind: it sees nothing more
// until the next function that begins a line.
func (p *parser) tooLarge(at Span, format string, args ...any) {
	if p.unwinding {
		return
	}
	p.add(Error{Span: at, Message: fmt.Sprintf(format, args...), TooLarge: true})
	p.unwinding, p.stopped, p.quiet = true, true, true
	end := token{kind: eof, start: p.tok.start, end: p.tok.start}
	p.tok, p.ahead = end, end
}

// resume goes on after a limit was passed.
func (p *parser) resume() {
	p.unwinding = false
	for {
		p.ahead = p.lex.next()
		if p.ahead.kind == eof || p.ahead.key("func") && p.ahead.column0 {
			break
		}
	}
	p.advance()
	p.prev = token{kind: newline, start: p.tok.start, end: p.tok.start}
}

// program reads the whole text into t.
func (p *parser) program(t *Tree) {
	t.Statements = nil
	for {
		p.depth, p.ternary, p.inCase = 0, false, false
		t.Statements = append(t.Statements, p.statements(false)...)
		switch {
		case p.unwinding && !p.hole:
			p.resume()
		case p.tok.kind == eof:
			return
		default:
			p.quiet = false
			p.unexpected("this %s closes nothing", p.tok.text)
			p.advance()
		}
	}
}

// statements reads up to the end of the block or the text.
func (p *parser) statements(inBlock bool) []Stmt {
	var list []Stmt
	for {
		p.skipNewline()
		switch {
		case p.tok.kind == eof, p.tok.is("}"), inBlock && p.atBoundary(), p.inCase && p.atCase():
			return list
		case p.inCase && p.take(";"):
			continue
		}
		p.quiet, p.openSaid = false, false
		before := p.count
		s := p.statement()
		list = append(list, s)
		p.endStatement()
		if p.count == before && p.tok.kind != eof {
			p.unexpected("%s cannot begin a statement", p.tok.name())
			p.advance()
		}
	}
}

func (p *parser) atBoundary() bool {
	return p.boundary && p.tok.column0 && p.tok.key("func") && p.ahead.kind == ident
}

func (p *parser) atCase() bool { return p.tok.key("case") || p.tok.key("default") }

// endStatement checks that a statement is followed by its end, else goes to it.
func (p *parser) endStatement() {
	switch {
	case p.take(";"):
		return
	case p.prev.kind == newline && p.quiet: // an operand was missing at the line's end
		return
	case p.tok.kind == newline, p.tok.kind == eof, p.tok.is("}"), p.tok.is("++"), p.tok.is("--"), p.inCase && p.atCase():
		return
	}
	p.unexpected("unexpected %s after a statement%s", p.tok.name(), p.hint())
	p.sync()
}

var hints = map[string]string{
	"and": "&&", "or": "||", "not": "!", "elif": "else if", "elseif": "else if", "elsif": "else if", "while": "for",
	"let": ":=", "def": "func", "fn": "func", "function": "func", "foreach": "for … range", "then": "{", "do": "{",
}

// hint helps people who come from other languages.
func (p *parser) hint() string {
	for _, t := range []token{p.tok, p.prev} {
		if h, ok := hints[t.text]; ok && t.kind == ident {
			return fmt.Sprintf("; for %s write %s", quote(t.text), h)
		}
	}
	if p.prev.is("!") || p.prev.text == "in" && p.tok.text == "not" {
		return "; write !(a in b)"
	}
	return ""
}

// sync passes what is left of a statement that does not parse.
func (p *parser) sync() {
	braces := 0
	for p.tok.kind != eof {
		switch {
		case p.atBoundary():
			return
		case p.tok.is("{"):
			braces++
		case p.tok.is("}"):
			if braces == 0 {
				return
			}
			braces--
		case braces == 0 && p.tok.kind == newline:
			return
		case braces == 0 && p.tok.is(";"):
			p.advance()
			return
		}
		p.advance()
	}
}

// made gives the base of an expression from its span and parts, and notices
// when it becomes too high.
func (p *parser) made(start, end int, parts ...interface{ height() int }) base {
	tall := 0
	for _, part := range parts {
		tall = max(tall, part.height())
	}
	return p.madeTall(start, end, tall)
}

func (p *parser) madeTall(start, end, tall int) base {
	tall++
	p.tall = max(p.tall, tall)
	if limit := p.limits.Chain + 4*p.limits.Nesting; tall > limit {
		p.tooLarge(Span{start, min(end, start+1)}, "this expression is nested or chained more than %d levels", limit)
	}
	return base{Span: Span{start, end}, tall: tall}
}

func (p *parser) madeOf(start, end int, list []Expr) base {
	tall := 0
	for _, e := range list {
		if e != nil {
			tall = max(tall, e.height())
		}
	}
	return p.madeTall(start, end, tall)
}

func (p *parser) ident() *Ident {
	p.advance()
	return &Ident{base: p.made(p.prev.start, p.prev.end), Name: p.prev.text}
}

// noName stands for a name that is missing.
func (p *parser) noName() *Ident { return &Ident{base: p.made(p.prev.end, p.prev.end)} }

func (p *parser) bad() *Bad { return &Bad{base: p.made(p.prev.end, p.prev.end)} }

// block reads statements in braces; the opening one is next, or its absence
// is reported and it is looked for on this line.
func (p *parser) block(what string) *Block {
	if !p.tok.is("{") {
		p.unexpected("expected { to begin %s, found %s", what, p.tok.name())
		for !p.tok.is("{") {
			if p.tok.kind == newline || p.tok.kind == eof || p.tok.is("}") {
				return &Block{Span: Span{p.prev.end, p.prev.end}}
			}
			p.advance()
		}
	}
	open := p.tok
	p.advance()
	tall, inCase := p.tall, p.inCase
	p.tall, p.inCase = 0, false
	b := &Block{Statements: p.statements(true)}
	b.tall = p.tall
	p.tall, p.inCase = max(tall, b.tall), inCase
	if p.tok.is("}") {
		p.advance()
	} else if !p.unwinding {
		p.notClosed(open)
	}
	b.Span = Span{open.start, p.prev.end}
	return b
}

// notClosed reports a block without end, once for all that are open here.
func (p *parser) notClosed(open token) {
	if !p.openSaid {
		p.add(Error{Span: Span{open.start, open.end}, Message: "this { is not closed: } is missing"})
	}
	p.openSaid, p.quiet, p.unclosed = true, true, true
}
