package syntax

import (
	"strconv"
	"strings"
)

// expr reads an expression of operators that bind tighter than prec.
func (p *parser) expr(prec int) Expr {
	left := p.operand()
	for chain := 0; ; chain++ {
		q := p.tok.prec
		if prec >= q || p.unwinding || p.tok.key("range") ||
			p.tok.kind == operator && (isAssign(p.tok.text) || p.tok.text == ":=" || p.tok.text == "<-") {
			return left
		}
		if chain >= p.limits.Chain {
			p.tooLarge(Span{p.tok.start, p.tok.end}, "more than %d operators, calls and attributes in a row", p.limits.Chain)
			return left
		}
		left = p.infix(left, q)
	}
}

// operand reads an expression up to the first operator.
func (p *parser) operand() Expr {
	t := p.tok
	switch t.kind {
	case ident:
		return p.ident()
	case integer, float:
		p.advance()
		return p.number(t)
	case stringLit, rawLit:
		p.advance()
		return &String{base: p.made(t.start, t.end), Value: t.value}
	case templateLit:
		p.advance()
		return p.template(t)
	case operator:
		switch t.text {
		case "(":
			return p.paren()
		case "[":
			return p.list()
		case "{":
			return p.mapOrSet()
		case "!", "-", "|", "<-":
			return p.prefix()
		}
	case keyword:
		switch t.text {
		case "true", "false":
			p.advance()
			return &Bool{base: p.made(t.start, t.end), Value: t.text == "true"}
		case "nil":
			p.advance()
			return &Nil{base: p.made(t.start, t.end)}
		case "func":
			return p.function()
		case "if":
			return p.condition()
		case "switch":
			return p.switches()
		case "range":
			return p.prefix()
		}
	case invalid:
		p.quiet = true
		p.advance()
		return p.bad()
	}
	p.missing()
	return p.bad()
}

// missing reports that a value should be here.
func (p *parser) missing() {
	switch {
	case p.tok.kind != newline && p.tok.kind != eof:
		p.unexpected("expected a value, found %s%s", p.tok.name(), p.hint())
	case p.prev.kind == newline:
		p.fail(Span{p.tok.start, p.tok.start}, "expected a value, found %s", p.tok.name())
	default:
		p.unexpected("a value is missing after %s", p.prev.name())
	}
}

// begins says whether a token can begin a value.
func (t *token) begins() bool {
	switch t.kind {
	case ident, integer, float, stringLit, rawLit, templateLit:
		return true
	case operator:
		return strings.Contains(" ( [ { ! - | <- ", " "+t.text+" ")
	case keyword:
		return strings.Contains(" true false nil func if switch range ", " "+t.text+" ")
	}
	return false
}

func (p *parser) number(t token) Expr {
	b := p.made(t.start, t.end)
	if t.kind == float {
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			p.fail(b.Span, "%s is too large for a float", quote(t.text))
		}
		return &Float{base: b, Value: v}
	}
	digits, radix := t.text, 10
	if strings.HasPrefix(digits, "0x") {
		digits, radix = digits[2:], 16
	} else if len(digits) > 1 && digits[0] == '0' {
		digits, radix = digits[1:], 8
	}
	v, err := strconv.ParseInt(digits, radix, 64)
	if err != nil {
		p.fail(b.Span, "%s is no whole number of at most 64 bits", quote(t.text))
	}
	return &Int{base: b, Value: v}
}

func (p *parser) paren() Expr {
	open := p.tok
	p.advance()
	if !p.enter() {
		return p.bad()
	}
	defer p.leave()
	x := p.expr(lowest)
	p.close(open, ")")
	return &Paren{base: p.made(open.start, p.prev.end, x), X: x}
}

// close reads a closing bracket, or reports that it is missing and looks for
// it on this line.
func (p *parser) close(open token, bracket string) {
	if p.take(bracket) {
		return
	}
	p.unexpected("expected %s to close the %s, found %s%s", bracket, open.text, p.tok.name(), p.hint())
	for depth := 0; ; p.advance() {
		switch {
		case p.tok.kind == newline, p.tok.kind == eof, p.tok.is("{"), p.tok.is("}"), p.tok.is(";"):
			return
		case p.tok.is("("), p.tok.is("["):
			depth++
		case depth == 0 && p.take(bracket):
			return
		case p.tok.is(")"), p.tok.is("]"):
			if depth == 0 {
				return
			}
			depth--
		}
	}
}

// items reads values between commas and the closing bracket. Lines may end
// after the opening bracket, after a comma and before the closing bracket.
func (p *parser) items(open token, end string) []Expr {
	if p.take(end) {
		return nil
	}
	p.skipItemNewline(end)
	list := []Expr{p.item()}
	for p.take(",") {
		p.skipNewline()
		if p.tok.is(end) {
			break
		}
		list = append(list, p.item())
	}
	if p.tok.kind == newline && p.ahead.is(end) {
		p.advance()
	}
	p.close(open, end)
	return list
}

// skipItemNewline passes a line end after an opening bracket, if a value
// follows: else the bracket is not closed and the line is another statement.
func (p *parser) skipItemNewline(end string) {
	if p.tok.kind == newline && (p.ahead.begins() || p.ahead.is(end)) {
		p.advance()
	}
}

// item reads one value of a list.
func (p *parser) item() Expr {
	x := p.expr(lowest)
	if p.tok.kind == operator && (isAssign(p.tok.text) || p.tok.text == ":=") {
		p.unexpected("an assignment is no value: arguments have no names")
	}
	return x
}

func (p *parser) list() Expr {
	open := p.tok
	p.advance()
	if !p.enter() {
		return p.bad()
	}
	defer p.leave()
	items := p.items(open, "]")
	return &List{base: p.madeOf(open.start, p.prev.end, items), Items: items}
}

func (p *parser) mapOrSet() Expr {
	open := p.tok
	p.advance()
	if !p.enter() {
		return p.bad()
	}
	defer p.leave()
	p.skipItemNewline("}")
	if p.take("}") {
		return &Map{base: p.made(open.start, p.prev.end)}
	}
	first := p.expr(lowest)
	if p.tok.is(":") {
		return p.mapping(open, first)
	}
	return p.set(open, first)
}

func (p *parser) mapping(open token, key Expr) Expr {
	m := &Map{}
	all := []Expr{}
	for {
		item := MapItem{Key: key}
		switch Unparen(key).(type) {
		case *Ident, *String, *Template, *Bad:
		default:
			p.fail(key.Pos(), "the key of a map is a name or a string")
		}
		if p.take(":") {
			item.Value = p.expr(lowest)
		} else {
			p.unexpected("expected : and a value after the key, found %s", p.tok.name())
			item.Value = p.bad()
		}
		m.Items = append(m.Items, item)
		all = append(all, item.Key, item.Value)
		if !p.take(",") {
			break
		}
		p.skipNewline()
		if p.tok.is("}") {
			break
		}
		key = p.expr(lowest)
	}
	if p.tok.kind == newline && p.ahead.is("}") {
		p.advance()
	}
	p.close(open, "}")
	m.base = p.madeOf(open.start, p.prev.end, all)
	return m
}

func (p *parser) set(open token, first Expr) Expr {
	items := []Expr{first}
	for p.take(",") {
		p.skipNewline()
		if p.tok.is("}") {
			break
		}
		items = append(items, p.expr(lowest))
	}
	p.close(open, "}")
	return &Set{base: p.madeOf(open.start, p.prev.end, items), Items: items}
}

func (p *parser) prefix() Expr {
	op := p.tok
	p.advance()
	if !p.enter() {
		return p.bad()
	}
	defer p.leave()
	switch op.text {
	case "<-":
		x := p.expr(lowest)
		return &Receive{base: p.made(op.start, p.prev.end, x), X: x}
	case "range":
		if p.tok.is("{") {
			p.unexpected("range of a map literal does not parse: give it a name first")
		}
		x := p.expr(prefixPrec)
		return &Range{base: p.made(op.start, p.prev.end, x), X: x}
	}
	x := p.expr(prefixPrec)
	return &Prefix{base: p.made(op.start, p.prev.end, x), Op: op.text, X: x}
}

func (p *parser) infix(left Expr, prec int) Expr {
	start := left.Pos().Start
	switch p.tok.text {
	case ".":
		return p.attr(left)
	case "(":
		return p.call(left)
	case "[":
		return p.index(left)
	case "?":
		return p.ternaryExpr(left)
	case "|":
		return p.pipe(left)
	case "in":
		p.advance()
		y := p.expr(prefixPrec)
		return &In{base: p.made(start, p.prev.end, left, y), X: left, Y: y}
	}
	op := p.tok
	p.advance()
	if p.tok.kind == newline {
		p.advance()
		if !p.tok.begins() && !p.unwinding {
			p.fail(Span{op.start, op.end}, "a value is missing after %s", op.name())
			return &Infix{base: p.made(start, op.end, left), Op: op.text, OpAt: Span{op.start, op.end}, X: left, Y: &Bad{base{Span: Span{op.end, op.end}}}}
		}
	}
	y := p.expr(prec)
	return &Infix{base: p.made(start, max(op.end, y.Pos().End), left, y), Op: op.text, OpAt: Span{op.start, op.end}, X: left, Y: y}
}

func (p *parser) attr(left Expr) Expr {
	start := left.Pos().Start
	p.advance()
	dot := p.prev
	if p.tok.kind == newline && p.ahead.kind == ident {
		p.advance()
	}
	name := (*Ident)(nil)
	switch {
	case p.tok.kind == ident:
		name = p.ident()
	case p.tok.kind == keyword:
		p.unexpected("%s is a word of the language and no name; write [%s] to get at it", quote(p.tok.text), quote(p.tok.text))
		name = p.ident()
	default:
		p.unexpected("a name is missing after the dot")
		name = p.noName()
	}
	return &Attr{base: p.made(start, max(dot.end, name.End), left), X: left, Dot: dot.start, Name: name}
}

func (p *parser) call(fun Expr) Expr {
	open := p.tok
	p.advance()
	if !p.enter() {
		return p.bad()
	}
	defer p.leave()
	args := p.items(open, ")")
	b := p.madeOf(fun.Pos().Start, p.prev.end, append([]Expr{fun}, args...))
	return &Call{base: b, Fun: fun, Args: args, Parens: Span{open.start, p.prev.end}}
}

func (p *parser) index(x Expr) Expr {
	open := p.tok
	p.advance()
	if !p.enter() {
		return p.bad()
	}
	defer p.leave()
	start := x.Pos().Start
	var from, to Expr
	if !p.tok.is(":") {
		from = p.expr(lowest)
		if !p.tok.is(":") {
			p.close(open, "]")
			return &Index{base: p.made(start, p.prev.end, x, from), X: x, I: from}
		}
	}
	p.advance() // the colon
	if !p.tok.is("]") {
		to = p.expr(lowest)
	}
	p.close(open, "]")
	return &Slice{base: p.madeOf(start, p.prev.end, []Expr{x, from, to}), X: x, From: from, To: to}
}

// ternaryExpr reads `c ? a : b`. As in Risor the branches bind as tightly as
// the operator that the first of them begins with, and none may hold another.
func (p *parser) ternaryExpr(cond Expr) Expr {
	mark := p.tok
	p.advance()
	if p.ternary {
		p.fail(Span{mark.start, mark.end}, "a ternary cannot hold another: use if")
	}
	if !p.enter() {
		return p.bad()
	}
	defer p.leave()
	p.ternary = true
	defer func() { p.ternary = false }()
	prec := p.tok.prec
	then := p.expr(prec)
	var other Expr
	if p.take(":") {
		other = p.expr(prec)
	} else {
		p.unexpected("expected : and the other value, found %s", p.tok.name())
		other = p.bad()
	}
	return &Ternary{base: p.made(cond.Pos().Start, p.prev.end, cond, then, other), Cond: cond, Then: then, Else: other}
}

func (p *parser) pipe(first Expr) Expr {
	stages := []Expr{first}
	for p.take("|") {
		p.skipNewline()
		stages = append(stages, p.expr(pipePrec))
		if len(stages) > p.limits.Chain {
			p.tooLarge(Span{p.tok.start, p.tok.end}, "more than %d stages in a pipe", p.limits.Chain)
		}
	}
	return &Pipe{base: p.madeOf(first.Pos().Start, p.prev.end, stages), Stages: stages}
}
