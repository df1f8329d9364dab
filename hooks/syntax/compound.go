package syntax

// condition reads an if with all its else-ifs.
func (p *parser) condition() Expr {
	n := &If{Keyword: Span{p.tok.start, p.tok.end}}
	start := p.tok.start
	p.advance()
	if !p.enter() {
		n.Cond, n.Then = p.bad(), &Block{}
		n.base = p.made(start, start)
		return n
	}
	defer p.leave()
	if p.tok.is("{") && p.ahead.kind == newline {
		p.unexpected("a condition is missing after if")
		n.Cond = p.bad()
	} else {
		n.Cond = p.expr(lowest)
	}
	n.Then = p.block("what if does")
	tall := max(n.Cond.height(), n.Then.tall)
	if p.tok.key("else") {
		p.advance()
		if p.tok.key("if") {
			n.ElseIf = p.condition().(*If)
			tall = max(tall, n.ElseIf.tall)
		} else {
			n.Else = p.block("what else does")
			tall = max(tall, n.Else.tall)
		}
	}
	n.base = p.madeTall(start, p.prev.end, tall)
	return n
}

func (p *parser) function() Expr {
	f := &Func{Keyword: Span{p.tok.start, p.tok.end}}
	start := p.tok.start
	p.advance()
	if p.tok.kind == ident {
		f.Name = p.ident()
	}
	if !p.enter() {
		f.Body = &Block{}
		f.base = p.made(start, start)
		return f
	}
	defer p.leave()
	tall := 0
	if open := p.tok; open.is("(") {
		p.advance()
		f.Params = p.params(open)
		f.Parens = Span{open.start, p.prev.end}
		for _, q := range f.Params {
			if q.Default != nil {
				tall = max(tall, q.Default.height())
			}
		}
	} else {
		p.unexpected("expected ( and the parameters, found %s", p.tok.name())
		f.Parens = Span{p.prev.end, p.prev.end}
	}
	f.Body = p.block("the function's body")
	f.base = p.madeTall(start, p.prev.end, max(tall, f.Body.tall))
	return f
}

// params reads parameters; as in Risor commas between them may be missing.
func (p *parser) params(open token) []Param {
	var list []Param
	defaults := false
	for !p.tok.is(")") {
		if p.tok.kind != ident {
			p.unexpected("expected a parameter or ), found %s", p.tok.name())
			break
		}
		q := Param{Name: p.ident()}
		if p.take("=") {
			q.Default = p.expr(lowest)
			defaults = true
			switch d := q.Default.(type) {
			case *Int, *Float, *String, *Bool, *Nil, *Bad:
			default:
				p.fail(d.Pos(), "the default of a parameter is a plain number, string, true, false or nil")
			}
		} else if defaults {
			p.fail(q.Name.Pos(), "parameters with a default come last")
		}
		list = append(list, q)
		p.take(",")
	}
	p.close(open, ")")
	if len(list) > 255 {
		p.fail(list[255].Name.Pos(), "a function has at most 255 parameters")
	}
	return list
}

func (p *parser) switches() Expr {
	s := &Switch{Keyword: Span{p.tok.start, p.tok.end}}
	start := p.tok.start
	p.advance()
	if !p.enter() {
		s.Value = p.bad()
		s.base = p.made(start, start)
		return s
	}
	defer p.leave()
	s.Value = p.expr(lowest)
	open := p.tok
	if !p.take("{") {
		p.unexpected("expected { to begin the cases, found %s", p.tok.name())
		s.base = p.made(start, p.prev.end, s.Value)
		return s
	}
	tall, inCase := p.tall, p.inCase
	p.tall, p.inCase = s.Value.height(), true
	p.cases(s)
	p.inCase = inCase
	inner := p.tall
	p.tall = max(tall, inner)
	if !p.take("}") && !p.unwinding {
		p.notClosed(open)
	}
	s.base = p.madeTall(start, p.prev.end, inner)
	return s
}

func (p *parser) cases(s *Switch) {
	hasDefault := false
	for {
		p.skipNewline()
		c := &Case{Span: Span{p.tok.start, p.tok.end}, Keyword: Span{p.tok.start, p.tok.end}}
		switch {
		case p.tok.kind == eof, p.tok.is("}"), p.atBoundary():
			return
		case p.tok.key("default"):
			p.advance()
			c.Default = true
			if hasDefault {
				p.quiet = false
				p.fail(c.Keyword, "a switch has one default")
			}
			hasDefault = true
		case p.tok.key("case"):
			p.advance()
			c.Values = append(c.Values, p.expr(lowest))
			for p.take(",") {
				c.Values = append(c.Values, p.expr(lowest))
			}
		default:
			p.quiet = false
			p.unexpected("expected case or default, found %s", p.tok.name())
			p.statements(true)
			continue
		}
		if !p.take(":") {
			p.unexpected("expected : after the case, found %s", p.tok.name())
			p.sync()
		}
		from := p.prev.end
		c.Body = &Block{Statements: p.statements(true)}
		c.Body.Span = Span{from, max(from, p.prev.end)}
		if p.prev.kind == newline {
			c.Body.End = max(from, p.prev.start)
		}
		if c.Default && len(c.Body.Statements) == 0 {
			p.quiet = false
			p.fail(c.Keyword, "a default needs a statement, such as nil")
		}
		c.End = c.Body.End
		s.Cases = append(s.Cases, c)
	}
}
