package check

import (
	"slices"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/lazyexp"
	"agent-ls/hooks/syntax"
)

// symbol is a name that the script defines.
type symbol struct {
	id    int
	name  string
	kind  symbolKind
	decl  *syntax.Ident
	whole Span         // the statement or function that defines it
	owner *syntax.Func // the function that it lives in, nil at the top
	fn    *syntax.Func // of functions
	uses  []*syntax.Ident
	reads int
	// writes counts the places that give it a value, the definition included.
	writes int
	// mutated says that what it holds may be changed through it or elsewhere.
	mutated bool
	// grown says that something may be put into the list that it holds.
	grown bool
	// captured says that a function inside of its own gives it a value.
	captured bool
	// loops is how many loops are around its definition.
	loops int
	// handedOn says that it is given to a call or put into a value or returned.
	handedOn bool
	// tried says that it is given to try, which catches what it throws.
	tried    bool
	constant bool
}

type symbolKind uint8

const (
	noSymbol symbolKind = iota
	variable
	parameter
	function
	module
)

// scope is a block with the names that it defines.
type scope struct {
	parent *scope
	span   Span
	names  map[string]*symbol
	order  []*symbol
	fn     *syntax.Func
	kids   []*scope
}

func (s *scope) lookup(name string) *symbol {
	for ; s != nil; s = s.parent {
		if sym := s.names[name]; sym != nil {
			return sym
		}
	}
	return nil
}

// names is what the names of a script stand for.
type names struct {
	tree    *syntax.Tree
	top     *scope
	symbols []*symbol
	refs    map[*syntax.Ident]*symbol // uses and definitions
	// assigned are the names of attributes and items that the script sets
	// somewhere: reading such a one may work whatever the contract says.
	assigned map[string]bool
	// loopWrites are the symbols that get a value inside of a loop.
	loopWrites map[*syntax.For][]*symbol
	far        []farUse
}

// resolver walks the tree in the order in which Risor compiles it: a name is
// known from its definition on, and not before.
type resolver struct {
	*names
	r     *report
	opts  Options
	scope *scope
	fn    *syntax.Func
	loops []*syntax.For
	// breakable counts the loops of this function around here.
	breakable int
	dead      int             // in statements that Risor does not compile
	maybe     map[string]bool // names that a line that does not parse may define
	later     map[string]*syntax.Ident
	noCtx     bool // in a hook function that lacks its parameter
	// around is the function that a function stands in, nil at the top.
	around map[*syntax.Func]*syntax.Func
}

func resolve(t *syntax.Tree, r *report, opts Options) *names {
	n := &names{tree: t, refs: make(map[*syntax.Ident]*symbol, len(t.Text)/24), assigned: map[string]bool{}, loopWrites: map[*syntax.For][]*symbol{}}
	n.top = &scope{span: Span{0, len(t.Text)}, names: map[string]*symbol{}}
	v := &resolver{names: n, r: r, opts: opts, scope: n.top, maybe: maybeDefined(t), later: map[string]*syntax.Ident{},
		around: map[*syntax.Func]*syntax.Func{}}
	for _, s := range t.Statements {
		switch s := s.(type) {
		case *syntax.Declare:
			for _, i := range s.Names {
				v.later[i.Name] = i
			}
		default:
			if name, _ := topFunction(s); name != nil {
				v.later[name.Name] = name
			}
		}
	}
	v.statements(t.Statements)
	return n
}

var definition = lazyexp.New(`(?:func\s+)([\pL_][\pL\pN_]*)|([\pL_][\pL\pN_]*)\s*(?::=|=|,)|(?:import|as|var|const)\s+([\pL_][\pL\pN_]*)`)

// maybeDefined lists names that lines which do not parse seem to define.
func maybeDefined(t *syntax.Tree) map[string]bool {
	m := map[string]bool{}
	for _, e := range t.Errors {
		s := t.Lines.Span(t.Lines.Position(e.Start).Line)
		line := t.Text[s.Start:min(s.End, s.Start+1000)]
		for _, match := range definition.FindAllStringSubmatch(line, 50) {
			for _, name := range match[1:] {
				m[name] = true
			}
		}
	}
	return m
}

func (v *resolver) push(at Span) {
	s := &scope{parent: v.scope, span: at, fn: v.fn}
	v.scope.kids = append(v.scope.kids, s)
	v.scope = s
}

func (v *resolver) pop() { v.scope = v.scope.parent }

// define adds a name to the present block.
func (v *resolver) define(i *syntax.Ident, kind symbolKind, whole Span) *symbol {
	if i == nil || i.Name == "" {
		return nil
	}
	if old := v.scope.names[i.Name]; old != nil {
		v.refs[i] = old
		if v.dead == 0 {
			f := v.r.add(CodeSyntax, span(i), "%s is defined twice in the same block", i.Name)
			f.relate(span(old.decl), "the earlier definition")
		}
		old.uses = append(old.uses, i)
		old.writes += 2 // whatever it was, nothing is known of it
		return old
	}
	sym := &symbol{id: len(v.symbols), name: i.Name, kind: kind, decl: i, whole: whole, owner: v.fn, writes: 1, loops: len(v.loops)}
	v.shadows(i)
	v.symbols = append(v.symbols, sym)
	if v.scope.names == nil {
		v.scope.names = map[string]*symbol{}
	}
	v.scope.names[i.Name] = sym
	v.scope.order = append(v.scope.order, sym)
	v.refs[i] = sym
	return sym
}

// wrote notes that the loops between a symbol's definition and here give it a
// value.
func (v *resolver) wrote(sym *symbol) {
	if sym.owner != v.fn {
		sym.captured = true
	}
	for _, l := range v.loops[min(sym.loops, len(v.loops)):] {
		v.loopWrites[l] = append(v.loopWrites[l], sym)
	}
}

func (v *resolver) shadows(i *syntax.Ident) {
	if i.Name == "_" {
		return
	}
	if old := v.scope.parent.lookup(i.Name); old != nil {
		v.r.add(CodeShadowed, span(i), "%s hides the %s of an outer block", i.Name, i.Name).relate(span(old.decl), "the one that it hides")
		return
	}
	// A local `call` or `list` takes nothing from anybody; `strings` does.
	lib := contract.Library()
	if v.scope == v.top && lib.Function(i.Name) != nil || lib.Module(i.Name) != nil {
		v.r.add(CodeShadowed, span(i), "%s hides the %s of the script library", i.Name, i.Name)
	}
}

// use resolves a name that is read or written.
func (v *resolver) use(i *syntax.Ident) *symbol {
	if i.Name == "" {
		return nil
	}
	if sym := v.scope.lookup(i.Name); sym != nil {
		sym.uses = append(sym.uses, i)
		v.refs[i] = sym
		v.fromFar(i, sym)
		return sym
	}
	lib := contract.Library()
	if lib.Function(i.Name) != nil || lib.Module(i.Name) != nil {
		return nil
	}
	v.undefined(i)
	return nil
}

// otherWords are words of other languages with what Risor says for them.
var otherWords = map[string]string{
	"null": "nil", "None": "nil", "undefined": "nil", "NULL": "nil", "True": "true", "False": "false", "this": "ctx",
	"context": "ctx", "length": "len", "size": "len", "println": "print", "str": "string", "console": "print", "throw": "error", "raise": "error",
}

func (v *resolver) undefined(i *syntax.Ident) {
	if v.dead > 0 || v.maybe[i.Name] || v.noCtx && i.Name == "ctx" || v.r.full() {
		return
	}
	if why, absent := contract.Library().AbsentName(i.Name); absent {
		v.r.add(CodeUnavailable, span(i), "%s is not available: %s", i.Name, why)
		return
	}
	if later := v.later[i.Name]; later != nil {
		line := v.tree.Lines.Position(later.Start).Line
		v.r.add(CodeUndefined, span(i), "%s is defined further down, on line %d: move it above its use", i.Name, line).relate(span(later), "the definition")
		return
	}
	near := otherWords[i.Name]
	if near == "" || near == "ctx" && v.scope.lookup("ctx") == nil {
		near = contract.Nearest(i.Name, v.visible())
	}
	hint := ""
	if near != "" {
		hint = "; did you mean " + near + "?"
	}
	v.r.add(CodeUndefined, span(i), "%s is not defined%s", i.Name, hint).fixTo(near)
}

// visible lists the names that can be used here, nearest block first, and of a
// block with very many only the first.
func (v *resolver) visible() []string {
	var list []string
	for s := v.scope; s != nil; s = s.parent {
		for _, sym := range s.order[:min(len(s.order), 500)] {
			list = append(list, sym.name)
		}
	}
	return append(append(list, contract.Library().Names()...), "true", "false", "nil")
}

// unusedNames reports what is never read. Functions of a file without hooks
// may be for others that import it.
func (a *Analysis) unusedNames(r *report) {
	hooks := len(hookFunctions(a.Tree)) > 0
	for _, sym := range a.names.symbols {
		if sym.reads > 0 || sym.name == "_" || sym.kind == parameter || a.names.refs[sym.decl] != sym {
			continue
		}
		if sym.owner == nil {
			wanted := slices.ContainsFunc(a.opts.Points, func(p Point) bool { return p.Function == sym.name })
			if wanted || !hooks || len(a.Tree.Errors) > 0 || a.names.top.names[sym.name] == sym && sym.fn != nil && hookEvent(sym.name, sym.fn) != nil {
				continue
			}
		} else if a.Tree.ErrorIn(sym.owner.Span) {
			continue
		}
		f := r.add(CodeUnused, span(sym.decl), "%s is never read", sym.name)
		if sym.kind == variable && sym.whole == span(sym.decl) { // of a loop
			f.fixTo("_")
		}
	}
}
