package check

import (
	"slices"
	"strings"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

// checker follows the values of variables along the paths of each function.
// What it knows at a place holds on every path there; where paths meet it
// keeps what may be. It says nothing about what it does not know.
type checker struct {
	*names
	tree *syntax.Tree
	r    *report
	// vals is what each symbol holds here, by its id; trail undoes changes.
	vals  []value
	trail []change
	// declared is what a symbol got at its definition, for closures.
	declared []value
	// recorders note what loops around here assign.
	recorders []map[int]value
	frame     *frame
	dead      bool                  // no path leads here
	silent    int                   // in a trial run of a loop: nothing is reported
	atOnce    map[*syntax.Func]bool // functions that are called where they stand
	trying    int                   // in a function that try calls: what throws is caught
	loops     int                   // around here
	guarded   map[string]int
	later     []func() // checks that need to know what happens to literals
	// opaque is set when a ctx or part of it gets names that are not known.
	opaque  bool
	fields  []*pendingField
	results map[*syntax.Func]value
	// tailOf is the statement at the end of the function that is walked.
	tailOf *Span
	record *recording
	steps  int
	budget int // of steps
}

type change struct {
	id  int
	old value
}

// frame is the function that is being walked.
type frame struct {
	fn     *syntax.Func
	hook   *hookFunction // when an event fires it
	result value
	// ends are the places where a path ends without a return.
	ends []Span
	// broken says that something in it does not parse.
	broken bool
	// taken counts the conditions around here whose value something takes: a
	// last expression in them is not lost.
	taken int
}

// recording keeps what questions need: the values of names and of what stands
// before dots.
type recording struct {
	idents map[*syntax.Ident]value
	attrs  map[*syntax.Attr]value // of what is before the dot
}

func newChecker(t *syntax.Tree, n *names, r *report) *checker {
	return &checker{
		names: n, tree: t, r: r,
		vals: make([]value, len(n.symbols)), declared: make([]value, len(n.symbols)),
		guarded: map[string]int{}, atOnce: map[*syntax.Func]bool{}, results: map[*syntax.Func]value{},
		frame:  &frame{},
		budget: 20*len(t.Text) + 100_000,
	}
}

// recorded walks a script once more, for questions.
func recorded(t *syntax.Tree, n *names) *recording {
	c := newChecker(t, n, &report{seen: map[place]bool{}})
	c.record = &recording{map[*syntax.Ident]value{}, map[*syntax.Attr]value{}}
	c.program()
	return c.record
}

func (r *recording) ident(i *syntax.Ident, v value) {
	if r != nil {
		r.idents[i] = v
	}
}

func (r *recording) attr(a *syntax.Attr, x value) {
	if r != nil {
		r.attrs[a] = x
	}
}

func (c *checker) program() {
	hooks := map[*syntax.Func]*hookFunction{}
	for _, h := range hookFunctions(c.tree) {
		hooks[h.fn] = &h
	}
	c.frame = &frame{broken: len(c.tree.Errors) > 0}
	for _, s := range c.tree.Statements {
		if name, fn := topFunction(s); fn != nil && hooks[fn] != nil {
			c.hook(hooks[fn])
			if sym := c.refs[name]; sym != nil {
				c.set(sym, value{kinds: contract.FunctionValue, fn: fn})
			}
			continue
		}
		c.statement(s)
	}
	for _, check := range c.later {
		check()
	}
	c.farUses()
	for _, f := range c.fields {
		f.report(c)
	}
}

// hook walks a function that an event fires.
func (c *checker) hook(h *hookFunction) {
	if n := len(h.fn.Params); n != 1 && !c.tree.ErrorIn(syntax.Span{Start: h.name.Start, End: max(h.fn.Parens.End, h.name.End)}) {
		f := c.r.add(CodeArity, span(h.name), "%s takes one parameter, ctx; it has %s", h.name.Name, countOf(n))
		if closed := h.fn.Parens.End - h.fn.Parens.Start; n == 0 && closed >= 2 && c.tree.Text[h.fn.Parens.End-1] == ')' {
			f.fix("Add the parameter ctx", Edit{Span{h.fn.Parens.Start + 1, h.fn.Parens.End - 1}, "ctx"})
		}
	}
	args := make([]value, len(h.fn.Params))
	for i := range args {
		args[i] = unknown
	}
	if len(args) > 0 {
		args[0] = value{kinds: contract.MapValue, shape: ctxTypes[h.event], inCtx: true}
	}
	c.call(h.fn, args, h)
}

func countOf(n int) string {
	if n == 0 {
		return "none"
	}
	return itoa(n)
}

// call walks the body of a function with what its parameters hold, and gives
// what it returns.
func (c *checker) call(f *syntax.Func, args []value, h *hookFunction) value {
	outer, dead, loops := c.frame, c.dead, c.loops
	c.frame, c.dead = &frame{fn: f, hook: h, broken: c.tree.ErrorIn(f.Span)}, false
	for i, p := range f.Params {
		v := unknown
		if i < len(args) {
			v = args[i]
		}
		if p.Default != nil && i >= len(args) {
			v = unknown
		}
		if sym := c.refs[p.Name]; sym != nil {
			c.set(sym, v)
			c.declared[sym.id] = c.vals[sym.id]
			c.record.ident(p.Name, v)
		}
	}
	mark := len(c.trail)
	if f.Body != nil {
		c.body(f.Body)
	}
	if !c.dead {
		c.frame.result = join(c.frame.result, kind(contract.NilValue))
	}
	result := c.frame.result
	if h != nil {
		c.noDecision(h)
	}
	c.undo(mark) // what it does to variables of others is no path of theirs
	c.frame, c.dead, c.loops = outer, dead, loops
	if result.kinds == 0 { // it never returns
		result = unknown
	}
	return result
}

// set gives a variable a value here.
func (c *checker) set(sym *symbol, v value) {
	if sym.mutated {
		opened(v)
		switch {
		case !v.only(contract.ListValue):
		case v.inCtx:
			c.opaque = c.opaque || sym.grown
		default: // something else may be put into it, under any of its names
			if v.elem != nil {
				*v.elem = unknown
			}
			v.shape, v.elem = nil, nil
		}
	}
	c.trail = append(c.trail, change{sym.id, c.vals[sym.id]})
	c.vals[sym.id] = v
	for _, r := range c.recorders {
		r[sym.id] = join(r[sym.id], v)
	}
}

func (c *checker) undo(mark int) {
	for i := len(c.trail) - 1; i >= mark; i-- {
		c.vals[c.trail[i].id] = c.trail[i].old
	}
	c.trail = c.trail[:mark]
}

// branch runs one of several ways and takes its changes back; it gives what
// they came to.
func (c *checker) branch(run func()) (changed map[int]value, dead bool) {
	mark := len(c.trail)
	before := c.dead
	run()
	dead = c.dead
	for _, t := range c.trail[mark:] {
		if changed == nil {
			changed = map[int]value{}
		}
		changed[t.id] = c.vals[t.id]
	}
	c.steps += len(changed)
	c.undo(mark)
	c.dead = before
	return changed, dead
}

// merge goes on where the ways meet.
func (c *checker) merge(ways []map[int]value, dead []bool) {
	var ids map[int]bool
	alive := 0
	for i, w := range ways {
		if dead[i] {
			continue
		}
		alive++
		for id := range w {
			if ids == nil {
				ids = map[int]bool{}
			}
			ids[id] = true
		}
	}
	if alive == 0 {
		c.dead = true
		return
	}
	for id := range ids {
		v := value{}
		for i, w := range ways {
			if dead[i] {
				continue
			}
			if got, ok := w[id]; ok {
				v = join(v, got)
			} else {
				v = join(v, c.vals[id])
			}
		}
		c.trail = append(c.trail, change{id, c.vals[id]})
		c.vals[id] = v
	}
}

// read gives what a variable holds here. Of another function's variable that
// is known only if it never changes after its definition.
func (c *checker) read(sym *symbol) value {
	switch {
	case sym.owner != c.frame.fn && sym.writes == 1:
		return c.declared[sym.id]
	case sym.owner != c.frame.fn, sym.captured:
		return unknown
	}
	if v := c.vals[sym.id]; v.kinds != 0 {
		return v
	}
	return unknown
}

func (c *checker) block(b *syntax.Block) {
	if b != nil {
		c.statements(b.Statements)
	}
}

func (c *checker) statements(list []syntax.Stmt) {
	for i, s := range list {
		if c.dead {
			c.unreachable(list[i:])
			return
		}
		c.statement(s)
	}
}

// unreachable reports the rest of a block, which is not looked into.
func (c *checker) unreachable(rest []syntax.Stmt) {
	if c.silent > 0 || c.frame.broken || len(rest) == 0 {
		return
	}
	at := Span{span(rest[0]).Start, span(rest[len(rest)-1]).End}
	cut := at
	if line := c.lineStart(at.Start); strings.HasPrefix(strings.TrimLeft(c.tree.Text[line:at.Start]+"/*", " \t"), "/*") {
		cut.Start = line // with the comment before it
	}
	c.r.add(CodeUnreachable, at, "this never runs").fix("Remove what never runs", Edit{cut, ""})
}

func (c *checker) statement(s syntax.Stmt) {
	if c.steps++; c.steps > c.budget {
		return // a text made to tire us: say no more of it
	}
	switch s := s.(type) {
	case *syntax.ExprStmt:
		c.discard(s)
	case *syntax.Declare:
		c.declare(s)
	case *syntax.Assign:
		c.assign(s)
	case *syntax.Postfix:
		if sym := c.refs[s.Name]; sym != nil {
			c.set(sym, value{kinds: c.read(sym).kinds})
		}
	case *syntax.Return:
		c.returns(s)
	case *syntax.Control:
		c.dead = true
	case *syntax.For:
		c.loop(s)
	case *syntax.Import:
		c.importModule(s)
	case *syntax.Imports:
		for _, i := range s.Names {
			c.importModule(i)
		}
	case *syntax.Go:
		if call, ok := s.Call.(*syntax.Call); ok {
			c.partial(call)
		}
	case *syntax.Send:
		c.expr(s.Channel)
		c.expr(s.Value)
	}
}

// discard walks an expression whose value nothing takes.
func (c *checker) discard(s *syntax.ExprStmt) {
	switch e := s.X.(type) {
	case *syntax.If:
		c.condition(e, c.block)
		return
	case *syntax.Switch:
		c.switches(e, c.block)
		return
	}
	before := len(c.r.findings)
	v := c.expr(s.X)
	if call, ok := syntax.Unparen(s.X).(*syntax.Call); ok && c.throws(call) {
		c.dead = true
	}
	if len(c.r.findings) > before { // one fault, one finding
		return
	}
	if v.kinds&contract.MapValue == 0 || c.frame.taken > 0 || c.silent > 0 || c.frame.broken || !slices.ContainsFunc(v.lits, (*literal).decides) {
		return
	}
	at := span(s)
	f := c.r.add(CodeLostDecision, at, "this decision is not returned, so it decides nothing")
	if c.frame.fn != nil {
		f.fix("Return it", Edit{Span{at.Start, at.Start}, "return "})
	}
}

// decides says that a map names an action that an answer can have.
func (l *literal) decides() bool {
	k := l.key("action")
	if k == nil || !k.value.isText {
		return false
	}
	action, err := contract.ParseAction(k.value.text)
	return err == nil && slices.Contains(contract.Answers(), action)
}

func (c *checker) importModule(i *syntax.Import) {
	if sym := c.refs[i.Name]; sym != nil {
		v := unknown
		if m := contract.Library().Module(i.Path); m != nil && i.From == "" {
			v = value{kinds: contract.ModuleValue, mod: m}
		}
		c.set(sym, v)
		c.declared[sym.id] = c.vals[sym.id]
	}
}

// throws says that a call always does.
func (c *checker) throws(call *syntax.Call) bool {
	id, ok := call.Fun.(*syntax.Ident)
	return ok && id.Name == "error" && c.refs[id] == nil
}

func (c *checker) declare(s *syntax.Declare) {
	tried := 0
	for _, i := range s.Names {
		if sym := c.refs[i]; sym != nil && sym.tried {
			tried = 1
		}
	}
	c.trying += tried
	v := c.expr(s.Value)
	c.trying -= tried
	for _, i := range s.Names {
		each := v
		if len(s.Names) > 1 {
			each = unknown
			if v.only(contract.ListValue) {
				each = v.item()
			}
		}
		if sym := c.refs[i]; sym != nil {
			c.set(sym, each)
			c.declared[sym.id] = c.vals[sym.id]
			c.record.ident(i, each)
		}
	}
}

func (c *checker) assign(s *syntax.Assign) {
	v := c.expr(s.Value)
	for _, target := range s.Targets {
		switch t := target.(type) {
		case *syntax.Ident:
			sym := c.refs[t]
			if sym == nil {
				continue
			}
			if sym.kind == parameter && c.isCtx(sym) {
				c.mutation(span(t), t.Name)
			}
			switch {
			case s.Op != "=":
				c.set(sym, value{kinds: c.read(sym).kinds | v.kinds})
			case len(s.Targets) > 1:
				c.set(sym, unknown)
			default:
				c.set(sym, v)
			}
		case *syntax.Attr:
			x := c.expr(t.X)
			opened(x)
			if x.inCtx && !c.usedLater(t.X) {
				c.mutation(span(t.Name), t.Name.Name)
			}
		case *syntax.Index:
			x := c.expr(t.X)
			key := c.expr(t.I)
			opened(x)
			if x.inCtx && x.only(contract.MapValue) && !key.isText {
				c.opaque = true
			}
			if x.inCtx && !c.usedLater(t.X) {
				c.mutation(span(t.I), c.tree.Text[t.I.Pos().Start:t.I.Pos().End])
			}
		}
	}
}

// isCtx says whether the symbol is the parameter of the hook function.
func (c *checker) isCtx(sym *symbol) bool {
	return c.frame.hook != nil && len(c.frame.hook.fn.Params) > 0 && c.refs[c.frame.hook.fn.Params[0].Name] == sym
}

// usedLater says that what is changed is a part of ctx under a name of its
// own that the script hands on, as `keep.append(call)` does: then the change
// counts after all.
func (c *checker) usedLater(target syntax.Expr) bool {
	sym := c.root(target)
	return sym != nil && !c.isCtx(sym) && sym.handedOn
}

func (c *checker) mutation(at Span, what string) {
	if c.silent == 0 && !c.dead {
		c.r.add(CodeContextMutation, at, "%s is set in a copy, which changes nothing: return a decision instead", what)
	}
}
