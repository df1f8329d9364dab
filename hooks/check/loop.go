package check

import (
	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

func (c *checker) loop(s *syntax.For) {
	var over value
	if s.Range != nil {
		over = c.expr(s.Range)
	}
	if s.Init != nil {
		c.statement(s.Init)
	}
	once := func() {
		c.loopVars(s, over)
		if s.Cond != nil {
			c.expr(s.Cond)
		}
		c.block(s.Body)
		if s.Post != nil {
			c.dead = false
			c.statement(s.Post)
		}
		c.dead = false
	}
	c.loops++
	c.settle(s, once)
	c.branch(once)
	c.loops--
	c.loopVars(s, over)
	if endless(s) {
		exits := c.leaves(s.Body)
		c.dead = !exits.breaks
		if !exits.breaks && !exits.returns && c.silent == 0 && !c.frame.broken {
			c.r.add(CodeEndlessLoop, Span(s.Keyword), "this loop has no condition, break or return: it never ends")
		}
	}
}

// settle makes what variables hold at the head of a loop true for every round.
func (c *checker) settle(s *syntax.For, once func()) {
	writes := c.loopWrites[s]
	if len(writes) == 0 {
		return
	}
	forget := func() {
		for _, sym := range writes {
			if !same(c.vals[sym.id], unknown) {
				c.set(sym, unknown)
			}
		}
	}
	if c.loops > 2 {
		forget()
		return
	}
	for round := range 2 {
		seen := map[int]value{}
		c.recorders = append(c.recorders, seen)
		c.silent++
		c.branch(once)
		c.silent--
		c.recorders = c.recorders[:len(c.recorders)-1]
		stable := true
		for id, v := range seen {
			j := join(c.vals[id], v)
			if same(j, c.vals[id]) {
				continue
			}
			stable = false
			c.trail = append(c.trail, change{id, c.vals[id]})
			c.vals[id] = j
			for _, r := range c.recorders {
				r[id] = join(r[id], j)
			}
		}
		if stable {
			return
		}
		if round == 1 {
			forget()
		}
	}
}

// loopVars gives the variables of a range loop what they hold.
func (c *checker) loopVars(s *syntax.For, over value) {
	if len(s.Vars) == 0 {
		return
	}
	key, item := rangeOf(over)
	for i, id := range s.Vars {
		v := key
		if i == 1 {
			v = item
		}
		if sym := c.refs[id]; sym != nil {
			c.set(sym, v)
			c.declared[sym.id] = c.vals[sym.id]
			c.record.ident(id, v)
		}
	}
}

// rangeOf gives what the variables of a loop over a value hold.
func rangeOf(over value) (key, item value) {
	switch {
	case over.only(contract.ListValue):
		return kind(contract.IntValue), over.item()
	case over.only(contract.MapValue):
		item = unknown
		if over.shape != nil && over.shape.Kind == contract.Map {
			item = typed(over.shape.Elem, over.inCtx)
		}
		return kind(contract.StringValue), item
	case over.only(contract.StringValue):
		return kind(contract.IntValue), kind(contract.StringValue)
	}
	return unknown, unknown
}

func endless(s *syntax.For) bool {
	if s.Range != nil {
		return false
	}
	b, ok := s.Cond.(*syntax.Bool)
	return s.Cond == nil || ok && b.Value
}

type exits struct{ breaks, returns bool }

// leaves looks for what ends a loop from within.
func (c *checker) leaves(n syntax.Node) (e exits) {
	depth := 0
	var visit func(n syntax.Node) bool
	visit = func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Func:
			return false
		case *syntax.For:
			depth++
			for _, child := range syntax.Children(n) {
				syntax.Inspect(child, visit)
			}
			depth--
			return false
		case *syntax.Control:
			e.breaks = e.breaks || n.Word == "break" && depth == 0
		case *syntax.Return:
			e.returns = true
		case *syntax.Call:
			e.returns = e.returns || c.throws(n)
			if id, ok := n.Fun.(*syntax.Ident); ok && id.Name == "assert" {
				e.returns = true
			}
		}
		return true
	}
	syntax.Inspect(n, visit)
	return e
}
