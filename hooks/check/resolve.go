package check

import (
	"slices"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

func (v *resolver) statements(list []syntax.Stmt) {
	for _, s := range list {
		v.statement(s)
	}
}

func (v *resolver) statement(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		v.expr(s.X)
	case *syntax.Declare:
		v.expr(s.Value)
		for n := range s.Names { // in Risor the last one is stored first
			i := s.Names[len(s.Names)-1-n]
			if sym := v.define(i, variable, span(s)); sym != nil {
				sym.constant = s.Op == "const"
				if f, ok := syntax.Unparen(s.Value).(*syntax.Func); ok && len(s.Names) == 1 {
					sym.fn = f
				}
			}
		}
	case *syntax.Assign:
		v.assign(s)
	case *syntax.Postfix:
		if sym := v.use(s.Name); sym != nil {
			sym.reads++
			sym.writes++
			v.wrote(sym)
		}
	case *syntax.Return:
		if v.fn == nil {
			v.r.add(CodeSyntax, span(s), "return belongs in a function")
		}
		if s.Value != nil {
			v.expr(s.Value)
			v.handOn(s.Value)
		}
	case *syntax.Control:
		if v.breakable == 0 && v.dead == 0 {
			v.r.add(CodeSyntax, span(s), "%s belongs in a loop", s.Word)
		}
	case *syntax.For:
		v.loop(s)
	case *syntax.Import:
		v.imported(s, s.Path)
	case *syntax.Imports:
		for _, i := range s.Names {
			v.imported(i, s.From.Name)
		}
	case *syntax.Go:
		if s.Word == "go" {
			v.r.add(CodeUnavailable, Span{s.Start, s.Start + len(s.Word)}, "go is not available: hooks have no concurrency")
		} else if v.fn == nil {
			v.r.add(CodeSyntax, Span{s.Start, s.Start + len(s.Word)}, "defer belongs in a function")
		}
		v.expr(s.Call)
	case *syntax.Send:
		v.r.add(CodeUnavailable, span(s), "<- is not available: hooks have no concurrency")
		v.expr(s.Channel)
		v.expr(s.Value)
	}
}

func (v *resolver) assign(s *syntax.Assign) {
	for _, target := range s.Targets {
		switch t := target.(type) {
		case *syntax.Ident:
			sym := v.use(t)
			if sym == nil {
				continue
			}
			sym.writes++
			v.wrote(sym)
			if s.Op != "=" {
				sym.reads++
			}
			if (sym.constant || sym.kind == function || sym.kind == module) && len(s.Targets) == 1 && v.dead == 0 {
				v.r.add(CodeSyntax, span(t), "%s is constant and cannot be assigned to", t.Name).relate(span(sym.decl), "the definition")
			}
		case *syntax.Attr:
			v.assigned[t.Name.Name] = true
			v.expr(t.X)
			v.mutate(t.X)
		case *syntax.Index:
			if key, ok := t.I.(*syntax.String); ok {
				v.assigned[key.Value] = true
			}
			v.expr(t.X)
			v.expr(t.I)
			v.mutate(t.X)
		}
	}
	v.expr(s.Value)
}

// mutate notes that what a variable holds is changed through it.
func (v *resolver) mutate(e syntax.Expr) {
	if sym := v.root(e); sym != nil {
		sym.mutated = true
	}
}

// root gives the variable at the beginning of a chain of attributes and items.
func (n *names) root(e syntax.Expr) *symbol {
	for {
		switch x := e.(type) {
		case *syntax.Ident:
			return n.refs[x]
		case *syntax.Attr:
			e = x.X
		case *syntax.Index:
			e = x.X
		case *syntax.Slice:
			e = x.X
		case *syntax.Paren:
			e = x.X
		case *syntax.Call: // list.append gives the list
			e = x.Fun
		default:
			return nil
		}
	}
}

func (v *resolver) imported(i *syntax.Import, file string) {
	first := file
	for n, c := range first {
		if c == '/' {
			first = first[:n]
			break
		}
	}
	why, absent := contract.Library().AbsentName(first)
	known := contract.Library().Module(file) != nil
	switch {
	case absent:
		v.r.add(CodeUnavailable, span(i.Module), "%s cannot be imported: %s", file, why)
	case !known && v.opts.Sibling != nil && !v.opts.Sibling(file):
		v.r.add(CodeUnavailable, span(i.Module), "%s cannot be imported: there is no %s.risor beside this script", file, file)
	}
	if v.scope.names[i.Name.Name] != nil { // Risor takes the name over
		v.refs[i.Name] = v.scope.names[i.Name.Name]
		v.refs[i.Name].writes += 2
		return
	}
	if sym := v.define(i.Name, module, span(i)); sym != nil {
		sym.constant = true
	}
}

func (v *resolver) loop(s *syntax.For) {
	if s.Range != nil {
		v.expr(s.Range)
	}
	v.push(span(s))
	for _, i := range s.Vars {
		v.define(i, variable, span(i))
	}
	if s.Init != nil {
		v.statement(s.Init)
	}
	v.loops = append(v.loops, s)
	v.breakable++
	if s.Cond != nil {
		v.expr(s.Cond)
	}
	v.block(s.Body)
	if s.Post != nil {
		v.statement(s.Post)
	}
	v.breakable--
	v.loops = v.loops[:len(v.loops)-1]
	v.pop()
}

func (v *resolver) block(b *syntax.Block) {
	if b == nil {
		return
	}
	v.push(span(b))
	v.statements(b.Statements)
	v.pop()
}

func (v *resolver) exprs(list []syntax.Expr) {
	for _, e := range list {
		if e != nil {
			v.expr(e)
		}
	}
}

func (v *resolver) expr(e syntax.Expr) {
	switch e := e.(type) {
	case nil:
	case *syntax.Ident:
		if sym := v.use(e); sym != nil {
			sym.reads++
		}
	case *syntax.Func:
		v.function(e)
	case *syntax.Map:
		for _, item := range e.Items {
			if _, plain := item.Key.(*syntax.Ident); !plain {
				v.expr(item.Key)
			}
			v.expr(item.Value)
			v.handOn(item.Value)
		}
	case *syntax.List:
		v.exprs(e.Items)
		v.handOn(e.Items...)
	case *syntax.Infix:
		v.expr(e.X)
		v.expr(e.Y)
	case *syntax.In:
		v.expr(e.X)
		v.expr(e.Y)
	case *syntax.Index:
		v.expr(e.X)
		v.expr(e.I)
	case *syntax.Paren:
		v.expr(e.X)
	case *syntax.Prefix:
		v.expr(e.X)
	case *syntax.Template:
		v.exprs(e.Holes)
	case *syntax.Int, *syntax.Float, *syntax.String, *syntax.Bool, *syntax.Nil, *syntax.Bad:
	case *syntax.Attr:
		v.expr(e.X)
	case *syntax.Call:
		v.call(e)
	case *syntax.Receive:
		v.r.add(CodeUnavailable, span(e), "<- is not available: hooks have no concurrency")
		v.expr(e.X)
	case *syntax.If, *syntax.Switch:
		v.branches(e)
	default:
		for _, child := range syntax.Children(e) {
			if x, ok := child.(syntax.Expr); ok {
				v.expr(x)
			}
		}
	}
}

// branches resolves what has blocks of its own.
func (v *resolver) branches(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.If:
		v.expr(e.Cond)
		v.block(e.Then)
		if e.ElseIf != nil {
			v.push(span(e.ElseIf)) // Risor makes it a block of its own
			v.expr(e.ElseIf)
			v.pop()
		}
		v.block(e.Else)
	case *syntax.Switch:
		v.expr(e.Value)
		for _, c := range e.Cases {
			v.exprs(c.Values)
		}
		for _, c := range e.Cases {
			v.block(c.Body)
		}
	}
}

// pure are methods that change neither their receiver nor keep their arguments.
var pure = map[string]bool{
	"copy": true, "count": true, "index": true, "keys": true, "values": true, "get": true, "items": true, "contains": true,
	"has_prefix": true, "has_suffix": true, "fields": true, "join": true, "split": true, "to_lower": true, "to_upper": true, "trim": true,
	"trim_space": true, "trim_prefix": true, "trim_suffix": true, "replace_all": true, "last_index": true, "match": true, "find": true,
	"find_all": true, "find_submatch": true, "format": true, "unix": true, "union": true, "intersection": true,
}

// handOn notes that a variable goes somewhere whole.
func (v *resolver) handOn(list ...syntax.Expr) {
	for _, e := range list {
		if i, ok := e.(*syntax.Ident); ok && v.refs[i] != nil {
			v.refs[i].handedOn = true
		}
	}
}

// gives are methods that hand a list on and put nothing into it.
var gives = map[string]bool{"map": true, "filter": true, "each": true, "sort": true, "reverse": true, "remove": true, "pop": true, "clear": true}

func (v *resolver) call(e *syntax.Call) {
	v.expr(e.Fun)
	v.exprs(e.Args)
	v.handOn(e.Args...)
	keeps := true // the callee may keep or change its arguments
	switch f := e.Fun.(type) {
	case *syntax.Ident:
		if v.refs[f] == nil && contract.Library().Function(f.Name) != nil {
			keeps = f.Name == "delete" || f.Name == "call" || f.Name == "try"
			if f.Name == "try" {
				v.tried(e.Args)
			}
		}
	case *syntax.Attr:
		if m, ok := f.X.(*syntax.Ident); ok && v.refs[m] == nil && contract.Library().Module(m.Name) != nil {
			keeps = false
			break
		}
		keeps = !pure[f.Name.Name]
		if keeps {
			v.mutate(f.X)
			if sym := v.root(f.X); sym != nil && !gives[f.Name.Name] {
				sym.grown = true
			}
		}
		if (f.Name.Name == "setdefault" || f.Name.Name == "update") && len(e.Args) > 0 {
			v.noteKeys(e.Args[0])
		}
	}
	if keeps {
		for _, a := range e.Args {
			v.mutate(a)
		}
	}
}

func (v *resolver) noteKeys(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.String:
		v.assigned[e.Value] = true
	case *syntax.Map:
		for _, item := range e.Items {
			if k, ok := item.KeyName(); ok {
				v.assigned[k] = true
			}
		}
	}
}

func (v *resolver) tried(args []syntax.Expr) {
	for _, a := range args {
		if sym := v.root(a); sym != nil {
			sym.tried = true
		}
	}
}

func (v *resolver) function(f *syntax.Func) {
	for _, p := range f.Params {
		if p.Default != nil {
			v.expr(p.Default)
		}
	}
	outer := *v
	v.fn, v.breakable, v.around[f] = f, 0, v.fn
	if outer.fn == nil && v.scope == v.top {
		isHook := f.Name != nil && hookEvent(f.Name.Name, f) != nil
		v.noCtx = isHook && len(f.Params) == 0
	}
	v.push(span(f))
	for _, p := range f.Params {
		v.define(p.Name, parameter, span(p.Name))
	}
	var self *symbol
	if f.Name != nil {
		self = v.self(f)
	}
	if f.Body != nil {
		v.push(span(f.Body))
		v.body(f.Body.Statements)
		v.pop()
	}
	v.pop()
	v.fn, v.breakable, v.noCtx = outer.fn, outer.breakable, outer.noCtx
	if f.Name != nil {
		sym := v.define(f.Name, function, span(f))
		if sym == nil {
			return
		}
		sym.constant = true
		if sym.fn == nil {
			sym.fn = f
		}
		if self != nil {
			for _, i := range self.uses {
				v.refs[i] = sym
			}
			sym.uses = append(sym.uses, self.uses...)
		}
	}
}

// self lets a function see its own name, as Risor does for recursion.
func (v *resolver) self(f *syntax.Func) *symbol {
	if old := v.scope.names[f.Name.Name]; old != nil {
		v.r.add(CodeSyntax, span(old.decl), "a parameter cannot have the name of its function")
		return nil
	}
	sym := &symbol{id: len(v.symbols), name: f.Name.Name, kind: function, decl: f.Name, whole: span(f), owner: v.fn, fn: f, writes: 1, constant: true}
	v.symbols = append(v.symbols, sym)
	if v.scope.names == nil {
		v.scope.names = map[string]*symbol{}
	}
	v.scope.names[sym.name] = sym
	return sym
}

// body resolves a function's statements; Risor compiles none after the first
// return among them.
func (v *resolver) body(list []syntax.Stmt) {
	i := slices.IndexFunc(list, func(s syntax.Stmt) bool { _, ok := s.(*syntax.Return); return ok })
	if i < 0 {
		v.statements(list)
		return
	}
	v.statements(list[:i+1])
	v.dead++
	v.statements(list[i+1:])
	v.dead--
}
