package check

import (
	"fmt"
	"strconv"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

func itoa(n int) string { return strconv.Itoa(n) }

// expr gives what an expression may hold, and reports what cannot work in it.
func (c *checker) expr(e syntax.Expr) value {
	c.steps++
	switch e := e.(type) {
	case *syntax.Ident:
		v := c.ident(e)
		c.record.ident(e, v)
		return v
	case *syntax.Paren:
		return c.expr(e.X)
	case *syntax.String:
		return value{kinds: contract.StringValue, text: e.Value, isText: true}
	case *syntax.Int:
		return kind(contract.IntValue)
	case *syntax.Float:
		return kind(contract.FloatValue)
	case *syntax.Bool:
		return value{kinds: contract.BoolValue, isFlag: true, flag: e.Value}
	case *syntax.Nil:
		return kind(contract.NilValue)
	case *syntax.Template:
		for _, h := range e.Holes {
			if h != nil {
				c.expr(h)
			}
		}
		return kind(contract.StringValue)
	case *syntax.List:
		return c.list(e)
	case *syntax.Map:
		return c.mapLiteral(e)
	case *syntax.Set:
		for _, i := range e.Items {
			c.expr(i)
		}
		return kind(contract.SetValue)
	case *syntax.Func:
		return c.function(e, nil)
	case *syntax.If:
		c.frame.taken++
		c.condition(e, c.block)
		c.frame.taken--
		return unknown
	case *syntax.Switch:
		c.frame.taken++
		c.switches(e, c.block)
		c.frame.taken--
		return unknown
	case *syntax.Attr:
		_, v := c.attrOf(e)
		return v
	case *syntax.Call:
		return c.callExpr(e)
	case *syntax.Index:
		return c.index(e)
	}
	return c.operation(e)
}

// operation handles the expressions that are made of operators.
func (c *checker) operation(e syntax.Expr) value {
	switch e := e.(type) {
	case *syntax.Prefix:
		x := c.expr(e.X)
		switch e.Op {
		case "!":
			return kind(contract.BoolValue)
		case "-":
			return value{kinds: x.kinds}
		}
		return x
	case *syntax.Infix:
		return c.infix(e)
	case *syntax.In:
		x, y := c.expr(e.X), c.expr(e.Y)
		if y.command && x.isText {
			c.substringGuard(Span(e.Span), e.Y, x.text)
		}
		return kind(contract.BoolValue)
	case *syntax.Ternary:
		c.expr(e.Cond)
		names := guards(e.Cond)
		c.guard(names, 1)
		then := c.expr(e.Then)
		c.guard(names, -1)
		return join(then, c.expr(e.Else))
	case *syntax.Slice:
		x := c.expr(e.X)
		for _, i := range []syntax.Expr{e.From, e.To} {
			if i != nil {
				c.expr(i)
			}
		}
		if x.only(contract.StringValue) {
			return kind(contract.StringValue)
		}
		if x.only(contract.ListValue) {
			return value{kinds: x.kinds, shape: x.shape, elem: x.elem, inCtx: x.inCtx}
		}
		return unknown
	case *syntax.Range:
		c.expr(e.X)
		return kind(contract.IteratorValue)
	case *syntax.Pipe:
		for i, s := range e.Stages {
			if call, ok := s.(*syntax.Call); ok && i > 0 {
				c.partial(call)
				continue
			}
			c.expr(s)
		}
		return unknown
	case *syntax.Receive:
		c.expr(e.X)
	}
	return unknown
}

func (c *checker) ident(e *syntax.Ident) value {
	if sym := c.refs[e]; sym != nil {
		if sym.fn != nil && sym.kind == function && sym.writes == 1 {
			return value{kinds: contract.FunctionValue, fn: sym.fn}
		}
		return c.read(sym)
	}
	if e.Name == "" {
		return unknown
	}
	lib := contract.Library()
	if f := lib.Function(e.Name); f != nil {
		return value{kinds: contract.FunctionValue, lib: f}
	}
	if m := lib.Module(e.Name); m != nil {
		return value{kinds: contract.ModuleValue, mod: m}
	}
	if h := c.frame.hook; h != nil && e.Name == "ctx" && len(h.fn.Params) == 0 {
		return value{kinds: contract.MapValue, shape: ctxTypes[h.event], inCtx: true}
	}
	return unknown
}

func (c *checker) infix(e *syntax.Infix) value {
	x := c.expr(e.X)
	switch e.Op {
	case "&&", "||":
		var names []string
		if e.Op == "&&" {
			names = guards(e.X)
		}
		c.guard(names, 1)
		y := c.expr(e.Y)
		c.guard(names, -1)
		return join(x, y)
	}
	y := c.expr(e.Y)
	switch e.Op {
	case "==", "!=", "<", ">", "<=", ">=":
		return kind(contract.BoolValue)
	}
	const whole = contract.IntValue
	switch {
	case x.only(whole) && y.only(whole):
		return kind(whole)
	case x.only(contract.NumberValue) && y.only(contract.NumberValue):
		return kind(contract.NumberValue)
	case e.Op == "+" && x.only(contract.StringValue) && y.only(contract.StringValue):
		return kind(contract.StringValue)
	case e.Op == "+" && x.only(contract.ListValue) && y.only(contract.ListValue):
		return kind(contract.ListValue)
	}
	return unknown
}

func (c *checker) list(e *syntax.List) value {
	v := value{kinds: contract.ListValue}
	if len(e.Items) > 0 {
		elem := value{}
		for _, i := range e.Items {
			elem = join(elem, c.expr(i))
		}
		v.elem = &elem
	}
	return v
}

func (c *checker) mapLiteral(e *syntax.Map) value {
	l := &literal{at: span(e), node: e}
	for _, item := range e.Items {
		name, ok := item.KeyName()
		if !ok {
			l.open = true
			c.expr(item.Key)
		}
		v := c.expr(item.Value)
		if _, bad := item.Value.(*syntax.Bad); bad {
			l.open = true
		}
		if ok {
			l.keys = append(l.keys, literalKey{name, span(item.Key), item.Value, v})
		}
	}
	return value{kinds: contract.MapValue, lits: []*literal{l}}
}

// function walks a function where it is defined.
func (c *checker) function(f *syntax.Func, args []value) value {
	result := c.call(f, args, nil)
	c.results[f] = result
	if f.Name != nil {
		if sym := c.refs[f.Name]; sym != nil && sym.writes == 1 {
			v := value{kinds: contract.FunctionValue, fn: f}
			c.set(sym, v)
			c.declared[sym.id] = c.vals[sym.id]
		}
	}
	return value{kinds: contract.FunctionValue, fn: f}
}

// condition walks an if; each branch by the function that is given.
func (c *checker) condition(e *syntax.If, each func(*syntax.Block)) {
	c.expr(e.Cond)
	names := guards(e.Cond)
	then, thenDead := c.branch(func() {
		c.guard(names, 1)
		each(e.Then)
		c.guard(names, -1)
	})
	other, otherDead := c.branch(func() {
		switch {
		case e.ElseIf != nil:
			c.condition(e.ElseIf, each)
		default:
			each(e.Else)
		}
	})
	c.merge([]map[int]value{then, other}, []bool{thenDead, otherDead})
}

func (c *checker) switches(e *syntax.Switch, each func(*syntax.Block)) {
	c.expr(e.Value)
	for _, k := range e.Cases {
		for _, v := range k.Values {
			c.expr(v)
		}
	}
	var ways []map[int]value
	var dead []bool
	hasDefault := false
	for _, k := range e.Cases {
		hasDefault = hasDefault || k.Default
		w, d := c.branch(func() { each(k.Body) })
		ways, dead = append(ways, w), append(dead, d)
	}
	if !hasDefault {
		w, d := c.branch(func() { each(nil) })
		ways, dead = append(ways, w), append(dead, d)
	}
	c.merge(ways, dead)
}

// guards lists the names that a condition asks for: `"error" in ctx`.
func guards(cond syntax.Expr) []string {
	var list []string
	syntax.Inspect(cond, func(n syntax.Node) bool {
		if in, ok := n.(*syntax.In); ok {
			if s, ok := in.X.(*syntax.String); ok {
				list = append(list, s.Value)
			}
		}
		_, isFunc := n.(*syntax.Func)
		return !isFunc
	})
	return list
}

func (c *checker) guard(names []string, n int) {
	for _, name := range names {
		c.guarded[name] += n
	}
}

func (c *checker) index(e *syntax.Index) value {
	x, i := c.expr(e.X), c.expr(e.I)
	switch {
	case x.only(contract.ListValue|contract.NilValue) && i.only(contract.IntValue|contract.ByteValue):
		return x.item()
	case x.only(contract.StringValue):
		return kind(contract.StringValue)
	case !x.only(contract.MapValue|contract.NilValue) || x.shape == nil || !i.isText:
		if x.shape != nil && x.shape.Kind == contract.Map && x.only(contract.MapValue) {
			return typed(x.shape.Elem, x.inCtx)
		}
		return unknown
	case c.assigned[i.text]:
		return unknown
	case x.shape.Kind == contract.Map:
		v := typed(x.shape.Elem, x.inCtx)
		v.command = x.arguments && i.text == "command"
		return v
	}
	if f := field(x.shape, i.text); f != nil {
		return c.fieldValue(f, x)
	}
	c.noField(&pendingField{at: span(e.I), name: i.text, of: e.X, what: "field", near: contract.Nearest(i.text, fieldNames(x.shape)), known: fieldNames(x.shape), inQuotes: isString(e.I)})
	return unknown
}

func isString(e syntax.Expr) bool { _, ok := e.(*syntax.String); return ok }

func (c *checker) fieldValue(f *contract.Field, x value) value {
	v := typed(&f.Type, x.inCtx)
	v.arguments = f.Name == "arguments"
	return v
}

// attrOf gives what is before a dot and what the name after it stands for.
func (c *checker) attrOf(e *syntax.Attr) (x, v value) {
	x = c.expr(e.X)
	c.record.attr(e, x)
	return x, c.attr(e, x)
}

// attr gives what a name after a dot stands for.
func (c *checker) attr(e *syntax.Attr, x value) value {
	name := e.Name.Name
	if name == "" || x.isUnknown() {
		return unknown
	}
	if x.mod != nil {
		return c.member(e, x.mod)
	}
	kinds := x.kinds &^ contract.NilValue
	if x.kinds == contract.NilValue {
		kinds = contract.NilValue
	}
	methods := contract.Library().MethodsOf(kinds)
	if methods != nil {
		if f := methods.Function(name); f != nil {
			return value{kinds: contract.FunctionValue, lib: f, recv: &x}
		}
	}
	const scalars = contract.NilValue | contract.BoolValue | contract.IntValue | contract.FloatValue | contract.ByteValue
	p := &pendingField{at: span(e.Name), name: name, of: e.X, what: "attribute"}
	switch {
	case kinds == contract.MapValue:
		return c.mapAttr(e, x, p)
	case kinds&^scalars == 0:
		p.is = x.phrase()
		if id, ok := e.X.(*syntax.Ident); ok && c.isIndex(id) {
			p.hint = "; a loop with one variable counts: write for _, " + id.Name + " := range …"
		}
	case methods != nil:
		p.is = value{kinds: kinds}.phrase()
		p.known = methods.Members()
		p.near = contract.Nearest(name, p.known)
	default:
		return unknown
	}
	c.noField(p)
	return unknown
}

// mapAttr gives what a name stands for on a map of the contract.
func (c *checker) mapAttr(e *syntax.Attr, x value, p *pendingField) value {
	name := e.Name.Name
	if x.shape == nil || c.assigned[name] {
		return unknown
	}
	switch x.shape.Kind {
	case contract.Map:
		v := typed(x.shape.Elem, x.inCtx)
		v.command = x.arguments && name == "command"
		return v
	case contract.Object:
		if f := field(x.shape, name); f != nil {
			return c.fieldValue(f, x)
		}
		p.what, p.known = "field", fieldNames(x.shape)
		p.near = contract.Nearest(name, p.known)
		c.noField(p)
	}
	return unknown
}

// isIndex says whether a name is the only variable of a loop over a list.
func (c *checker) isIndex(id *syntax.Ident) bool {
	sym := c.refs[id]
	return sym != nil && sym.kind == variable && sym.whole == span(sym.decl) && c.declared[sym.id].only(contract.IntValue)
}

// member gives a member of a module of the library.
func (c *checker) member(e *syntax.Attr, m *contract.Module) value {
	name := e.Name.Name
	if f := m.Function(name); f != nil {
		return value{kinds: contract.FunctionValue, lib: f}
	}
	if k := m.Constant(name); k != nil {
		return kind(k.Value)
	}
	if name == "__name__" {
		return kind(contract.StringValue)
	}
	if c.silent > 0 || c.dead {
		return unknown
	}
	if why, absent := contract.Library().AbsentName(m.Name + "." + name); absent {
		c.r.add(CodeUnavailable, span(e.Name), "%s.%s is not available: %s", m.Name, name, why)
		return unknown
	}
	if c.trying > 0 {
		return unknown
	}
	near := contract.Nearest(name, m.Members())
	hint := ""
	if near != "" {
		hint = "; did you mean " + near + "?"
	}
	c.r.add(CodeUndefined, span(e.Name), "%s has no %s%s", m.Name, name, hint).fixTo(near)
	return unknown
}

// pendingField is a field that does not exist, unless the script turns out to
// put names into ctx that cannot be told.
type pendingField struct {
	at       Span
	name     string
	of       syntax.Expr
	what     string // "field", "attribute"
	is       string // what kind of value it is, "" for ctx and what is in it
	near     string
	hint     string
	known    []string
	inQuotes bool
	event    string
}

func (c *checker) noField(p *pendingField) {
	if c.silent > 0 || c.dead || c.trying > 0 || c.guarded[p.name] > 0 {
		return
	}
	if c.frame.hook != nil {
		p.event = c.frame.hook.event.Name
	}
	c.fields = append(c.fields, p)
}

func (p *pendingField) report(c *checker) {
	if c.opaque {
		return
	}
	s := p.of.Pos()
	subject := c.tree.Text[s.Start:s.End]
	if len(subject) > 40 {
		subject = "this"
	}
	message := fmt.Sprintf("%s has no %s %q", subject, p.what, p.name)
	if p.is != "" {
		message = fmt.Sprintf("%s is %s and has no %s %q", subject, p.is, p.what, p.name)
	} else if id, ok := p.of.(*syntax.Ident); ok && id.Name == "ctx" && p.event != "" {
		message += " in " + p.event
	}
	switch {
	case p.near != "":
		message += "; did you mean " + p.near + "?"
	case p.hint != "":
		message += p.hint
	case len(p.known) > 0 && len(p.known) <= 6:
		message += "; it has " + joinNames(p.known)
	}
	f := c.r.add(CodeUnknownField, p.at, "%s", message)
	if p.inQuotes && p.near != "" {
		f.fix("Change to "+p.near, Edit{p.at, strconv.Quote(p.near)})
		return
	}
	f.fixTo(p.near)
}

func joinNames(names []string) string {
	s := ""
	for i, n := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			s += " and "
		default:
			s += ", "
		}
		s += n
	}
	return s
}
