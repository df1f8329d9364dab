package syntax

import "strings"

// statement reads one statement, without what ends it.
func (p *parser) statement() Stmt {
	start := p.tok.start
	if p.tok.kind == keyword {
		switch p.tok.text {
		case "var", "const":
			return p.declareWord()
		case "return":
			return p.returns()
		case "break", "continue":
			p.advance()
			return &Control{p.from(start), p.prev.text}
		case "for":
			return p.loop()
		case "import":
			return p.imports()
		case "from":
			return p.fromImport()
		case "go", "defer":
			return p.goes()
		case "else":
			p.unexpected("else belongs on the line of the } before it")
			return p.badStmt(start)
		case "case", "default":
			p.unexpected("%s belongs in a switch", p.tok.text)
			return p.badStmt(start)
		}
	}
	switch {
	case p.tok.is("++"), p.tok.is("--"):
		return p.postfix()
	case p.tok.kind == ident && (p.ahead.is(":=") || p.ahead.is(",")):
		return p.declare()
	}
	return p.exprStatement()
}

func (p *parser) from(start int) statement { return statement{Span{start, max(start, p.prev.end)}} }

func (p *parser) badStmt(start int) Stmt {
	p.sync()
	return &BadStmt{p.from(start)}
}

// postfix reads ++ or --, which in Risor is a statement on the name before it.
func (p *parser) postfix() Stmt {
	before := p.prev
	p.advance()
	op := p.prev
	if before.kind != ident {
		p.fail(Span{op.start, op.end}, "%s needs a variable before it", op.text)
		return &BadStmt{statement{Span{op.start, op.end}}}
	}
	name := &Ident{base: p.made(before.start, before.end), Name: before.text}
	return &Postfix{statement{Span{before.start, op.end}}, name, op.text}
}

// exprStatement reads an expression, an assignment or a send.
func (p *parser) exprStatement() Stmt {
	start := p.tok.start
	x := p.expr(lowest)
	switch {
	case p.tok.kind == operator && isAssign(p.tok.text):
		return p.assign(start, x)
	case p.tok.is("<-"):
		if !binds(x) {
			p.unexpected("expected a channel before <-")
		}
		p.advance()
		v := p.expr(callPrec)
		return &Send{p.from(start), x, v}
	}
	return &ExprStmt{p.from(start), x}
}

func isAssign(op string) bool {
	return op == "=" || op == "+=" || op == "-=" || op == "*=" || op == "/="
}

// binds says whether an expression is held together at least as tightly as a call.
func binds(e Expr) bool {
	switch e.(type) {
	case *Infix, *In, *Ternary, *Prefix, *Pipe, *Range, *Receive:
		return false
	}
	return true
}

func (p *parser) assign(start int, target Expr) Stmt {
	switch Unparen(target).(type) {
	case *Ident, *Index, *Attr, *Bad:
	default:
		p.fail(target.Pos(), "cannot assign to this: a name, an item or an attribute belongs before %s", p.tok.text)
	}
	if paren, ok := target.(*Paren); ok {
		if _, isAttr := Unparen(paren).(*Attr); isAttr {
			p.fail(target.Pos(), "cannot assign to an attribute in brackets")
		}
	}
	op := p.tok.text
	p.advance()
	v := p.value()
	return &Assign{p.from(start), []Expr{Unparen(target)}, op, v}
}

// value reads the right side of an assignment.
func (p *parser) value() Expr { return p.expr(lowest) }

// declare reads `a := v`, `a, b := v` or `a, b = v`.
func (p *parser) declare() Stmt {
	start := p.tok.start
	names := p.names()
	switch {
	case p.take(":="):
		v := p.value()
		return &Declare{p.from(start), names, ":=", v}
	case p.take("="):
		targets := make([]Expr, len(names))
		for i, n := range names {
			targets[i] = n
		}
		v := p.value()
		return &Assign{p.from(start), targets, "=", v}
	}
	p.unexpected("expected := or = after the names, found %s", p.tok.name())
	return p.badStmt(start)
}

// names reads `a, b, c`; the first is next.
func (p *parser) names() []*Ident {
	names := []*Ident{p.ident()}
	for p.take(",") {
		if p.tok.kind != ident {
			p.unexpected("expected a name, found %s", p.tok.name())
			break
		}
		names = append(names, p.ident())
	}
	return names
}

func (p *parser) declareWord() Stmt {
	start, word := p.tok.start, p.tok.text
	p.advance()
	if p.tok.kind != ident {
		p.unexpected("expected a name after %s, found %s", word, p.tok.name())
		return p.badStmt(start)
	}
	names := []*Ident{}
	if word == "const" {
		names = append(names, p.ident())
	} else {
		names = p.names()
	}
	if !p.take("=") {
		p.unexpected("expected = after the name, found %s", p.tok.name())
		return p.badStmt(start)
	}
	v := p.value()
	return &Declare{p.from(start), names, word, v}
}

func (p *parser) returns() Stmt {
	start := p.tok.start
	p.advance()
	if p.tok.kind == newline || p.tok.kind == eof || p.tok.is(";") || p.tok.is("}") {
		return &Return{p.from(start), nil}
	}
	v := p.expr(lowest)
	return &Return{p.from(start), v}
}

func (p *parser) goes() Stmt {
	start, word := p.tok.start, p.tok.text
	p.advance()
	if p.tok.kind != ident && !p.tok.key("func") {
		p.unexpected("expected a call after %s, found %s", word, p.tok.name())
		return p.badStmt(start)
	}
	call := p.expr(prefixPrec)
	if _, ok := call.(*Call); !ok {
		p.fail(call.Pos(), "expected a call after %s", word)
	}
	return &Go{p.from(start), word, call}
}

// loop reads a for of any form.
func (p *parser) loop() Stmt {
	f := &For{Keyword: Span{p.tok.start, p.tok.end}}
	start := p.tok.start
	p.advance()
	if !p.enter() {
		f.statement = p.from(start)
		f.Body = &Block{}
		return f
	}
	defer p.leave()
	inCase := p.inCase
	p.inCase = false
	p.loopHead(f)
	p.inCase = inCase
	f.Body = p.block("the loop's body")
	f.statement = p.from(start)
	return f
}

func (p *parser) loopHead(f *For) {
	if p.tok.is("{") {
		return
	}
	var first Stmt
	if !p.tok.is(";") {
		first = p.statement()
		if p.tok.is("{") {
			p.loopOver(f, first)
			return
		}
	}
	if p.isRange(first) {
		return // block says that { is missing
	}
	f.Init = first
	if !p.take(";") {
		p.unexpected("expected ; or { in the head of the loop, found %s", p.tok.name())
		return
	}
	if p.tok.is("{") || p.tok.is(";") {
		p.unexpected("expected a condition between the semicolons: write for { … } for an endless loop")
		if !p.take(";") {
			return
		}
	} else {
		f.Cond = p.expr(lowest)
		if !p.take(";") {
			p.unexpected("expected ; after the condition, found %s", p.tok.name())
			return
		}
	}
	if p.tok.is("{") {
		p.unexpected("expected what to do after each round, such as i++, found {")
		return
	}
	if p.tok.kind == ident && (p.ahead.is("++") || p.ahead.is("--")) {
		p.advance()
		f.Post = p.postfix()
		return
	}
	f.Post = p.statement()
	p.take(";")
}

// loopOver reads a head of one part: a condition or a range.
func (p *parser) loopOver(f *For, head Stmt) {
	switch head := head.(type) {
	case *Declare:
		if head.Op == "const" {
			break
		}
		f.Vars = head.Names
		f.Range = head.Value
		if r, ok := head.Value.(*Range); ok {
			f.Range = r.X
		}
		if len(head.Names) > 2 {
			p.fail(head.Names[2].Pos(), "a loop has at most two variables")
		}
		return
	case *Assign:
		if len(head.Targets) == 2 { // Risor reads `for a, b = range c` as a declaration
			for _, t := range head.Targets {
				f.Vars = append(f.Vars, t.(*Ident))
			}
			f.Range = head.Value
			if r, ok := head.Value.(*Range); ok {
				f.Range = r.X
			}
			return
		}
	case *ExprStmt:
		if r, ok := head.X.(*Range); ok {
			f.Range = r.X
		} else {
			f.Cond = head.X
		}
		return
	}
	p.fail(head.Pos(), "expected a condition or a range in the head of the loop")
}

func (p *parser) isRange(s Stmt) bool {
	var v Expr
	switch s := s.(type) {
	case *Declare:
		v = s.Value
	case *Assign:
		v = s.Value
	}
	_, ok := v.(*Range)
	return ok
}

func (p *parser) imports() Stmt {
	start := p.tok.start
	p.advance()
	i := &Import{}
	switch p.tok.kind {
	case ident:
		i.Module = p.ident()
	case stringLit:
		p.advance()
		i.Module = &Ident{base: p.made(p.prev.start, p.prev.end), Name: p.prev.value}
	default:
		p.unexpected("expected the name of a module, found %s", p.tok.name())
		return p.badStmt(start)
	}
	p.checkPath(i.Module)
	i.Path, i.Name = i.Module.Name, i.Module
	if n := strings.LastIndexByte(i.Path, '/'); n >= 0 {
		i.Name = &Ident{base: i.Module.base, Name: i.Path[n+1:]}
	}
	p.alias(i)
	i.statement = p.from(start)
	return i
}

func (p *parser) alias(i *Import) {
	if !p.tok.key("as") {
		return
	}
	p.advance()
	if p.tok.kind != ident {
		p.unexpected("expected a name after as, found %s", p.tok.name())
		return
	}
	i.Name = p.ident()
}

// checkPath holds an import path against what Risor takes: names with slashes.
func (p *parser) checkPath(m *Ident) {
	for _, part := range strings.Split(strings.Trim(m.Name, `"`), "/") {
		ok := part != ""
		for i, r := range part {
			if !(r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || i > 0 && isDigit(r)) {
				ok = false
			}
		}
		if !ok {
			p.fail(m.Pos(), "%s is no import path: it is made of names and slashes", quote(m.Name))
			return
		}
	}
}

func (p *parser) fromImport() Stmt {
	start := p.tok.start
	p.advance()
	f := &Imports{}
	switch p.tok.kind {
	case stringLit:
		p.advance()
		f.From = &Ident{base: p.made(p.prev.start, p.prev.end), Name: p.prev.value}
		p.checkPath(f.From)
	case ident:
		f.From = p.ident()
		for p.take(".") && p.tok.kind == ident {
			part := p.ident()
			f.From = &Ident{base: p.made(f.From.Start, part.End), Name: f.From.Name + "/" + part.Name}
		}
	default:
		p.unexpected("expected the name of a module, found %s", p.tok.name())
		return p.badStmt(start)
	}
	if !p.tok.key("import") {
		p.unexpected("expected import after the module, found %s", p.tok.name())
		return p.badStmt(start)
	}
	p.advance()
	grouped := p.take("(")
	for first := true; ; first = false {
		if grouped {
			p.skipNewline()
			if !first && p.tok.is(")") {
				break
			}
		}
		if p.tok.kind != ident {
			p.unexpected("expected a name to import, found %s", p.tok.name())
			return p.badStmt(start)
		}
		i := &Import{From: f.From.Name, Module: p.ident()}
		i.Path, i.Name = i.Module.Name, i.Module
		p.alias(i)
		i.statement = p.from(i.Module.Start)
		f.Names = append(f.Names, i)
		if !p.take(",") {
			break
		}
	}
	if grouped && !p.take(")") {
		p.unexpected("expected ) after the names, found %s", p.tok.name())
		return p.badStmt(start)
	}
	f.statement = p.from(start)
	return f
}
