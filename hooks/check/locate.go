package check

import (
	"sort"
	"strings"
	"unicode/utf8"

	"agent-ls/hooks/syntax"
)

// path gives the nodes around an offset, outermost first.
func (a *Analysis) path(offset int) []syntax.Node {
	var path []syntax.Node
	var list []syntax.Node
	for _, s := range a.Tree.Statements {
		list = append(list, s)
	}
	for len(list) > 0 {
		var inner syntax.Node
		for _, n := range list {
			s := n.Pos()
			if s.Start > offset {
				break
			}
			// Of two that touch at the offset the word counts, else the latter.
			if s.Contains(offset) && (inner == nil || offset < s.End || !isIdent(inner)) {
				inner = n
			}
		}
		if inner == nil {
			break
		}
		path = append(path, inner)
		list = syntax.Children(inner)
		sort.SliceStable(list, func(i, j int) bool { return list[i].Pos().Start < list[j].Pos().Start })
	}
	return path
}

func isIdent(n syntax.Node) bool { _, ok := n.(*syntax.Ident); return ok }

// inComment says whether the offset is inside of a comment.
func (a *Analysis) inComment(offset int) bool {
	list := a.Tree.Comments
	i := sort.Search(len(list), func(i int) bool { return list[i].End >= offset })
	if i == len(list) || list[i].Start >= offset {
		return false
	}
	if strings.HasPrefix(a.Tree.Text[list[i].Start:], "/*") {
		return offset < list[i].End
	}
	return true
}

// scopeAt gives the innermost block around an offset.
func (a *Analysis) scopeAt(offset int) *scope {
	s := a.names.top
	for {
		inner := (*scope)(nil)
		for _, k := range s.kids {
			if k.span.Start < offset && offset <= k.span.End {
				inner = k
			}
		}
		if inner == nil {
			return s
		}
		s = inner
	}
}

// hookAt gives the hook function around an offset.
func (a *Analysis) hookAt(offset int) (hookFunction, bool) {
	for _, h := range hookFunctions(a.Tree) {
		if h.fn.Start <= offset && offset <= h.fn.End {
			return h, true
		}
	}
	return hookFunction{}, false
}

// symbolAt gives the name at an offset with what it stands for: a symbol of
// the script, or nil for one of the library.
func (a *Analysis) symbolAt(offset int) (*syntax.Ident, *symbol) {
	path := a.path(offset)
	for i := len(path) - 1; i >= 0; i-- {
		id, ok := path[i].(*syntax.Ident)
		if !ok {
			continue
		}
		if i > 0 {
			switch p := path[i-1].(type) {
			case *syntax.Attr:
				if p.Name == id {
					return nil, nil
				}
			case *syntax.Map:
				for _, item := range p.Items {
					if item.Key == syntax.Expr(id) {
						return nil, nil
					}
				}
			}
		}
		return id, a.names.refs[id]
	}
	return nil, nil
}

// word gives the span of the word before an offset.
func (a *Analysis) word(offset int) Span {
	start := offset
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(a.Tree.Text[:start])
		if !(r == '_' || isLetterOrDigit(r)) {
			break
		}
		start -= size
	}
	return Span{start, offset}
}

// Symbol is a definition in the script, for outlines.
type Symbol struct {
	Name      string
	Kind      SymbolKind
	Detail    string
	Span      Span // all of it
	Selection Span // the name
	Children  []Symbol
}

// SymbolKind is what a Symbol is.
type SymbolKind uint8

const (
	NoSymbolKind SymbolKind = iota
	HookSymbol              // a function that an event fires
	FunctionSymbol
	VariableSymbol
	ConstantSymbol
	ModuleSymbol
)

var symbolKindNames = [...]string{"none", "hook", "function", "variable", "constant", "module"}

// String names the kind.
func (k SymbolKind) String() string {
	if int(k) < len(symbolKindNames) {
		return symbolKindNames[k]
	}
	return "none"
}

// Symbols lists what the script defines at its top, with the functions inside
// of functions as children.
func (a *Analysis) Symbols() []Symbol { return a.symbolsOf(a.Tree.Statements, true) }

func (a *Analysis) symbolsOf(list []syntax.Stmt, top bool) []Symbol {
	var out []Symbol
	for _, s := range list {
		if name, fn := topFunction(s); fn != nil {
			out = append(out, a.functionSymbol(name, fn, span(s), top))
			continue
		}
		if !top {
			continue
		}
		switch s := s.(type) {
		case *syntax.Declare:
			k := VariableSymbol
			if s.Op == "const" {
				k = ConstantSymbol
			}
			for _, n := range s.Names {
				out = append(out, Symbol{Name: n.Name, Kind: k, Detail: a.types().idents[n].String(), Span: span(s), Selection: span(n)})
			}
		case *syntax.Import:
			out = append(out, Symbol{Name: s.Name.Name, Kind: ModuleSymbol, Detail: s.Path, Span: span(s), Selection: span(s.Name)})
		}
	}
	return out
}

func (a *Analysis) functionSymbol(name *syntax.Ident, fn *syntax.Func, whole Span, top bool) Symbol {
	s := Symbol{Name: name.Name, Kind: FunctionSymbol, Detail: signatureOf(name.Name, fn), Span: whole, Selection: span(name)}
	if e := hookEvent(name.Name, fn); e != nil && top {
		s.Kind, s.Detail = HookSymbol, e.Doc
	}
	if fn.Body != nil {
		s.Children = a.symbolsOf(fn.Body.Statements, false)
	}
	return s
}

func signatureOf(name string, fn *syntax.Func) string {
	s := name + "("
	for i, p := range fn.Params {
		if i > 0 {
			s += ", "
		}
		s += p.Name.Name
		if p.Default != nil {
			s += "?"
		}
	}
	return s + ")"
}

// Function gives the top-level function with that name, for links from a
// manifest.
func (a *Analysis) Function(name string) (Symbol, bool) {
	for _, s := range a.Tree.Statements {
		if id, fn := topFunction(s); fn != nil && id.Name == name {
			return a.functionSymbol(id, fn, span(s), true), true
		}
	}
	return Symbol{}, false
}

// Definition gives where the name at an offset is defined in the script.
func (a *Analysis) Definition(offset int) (Span, bool) {
	_, sym := a.symbolAt(offset)
	if sym == nil {
		return Span{}, false
	}
	return span(sym.decl), true
}

// References gives every place of the name at an offset, its definition
// included, in the order of the text; nil when there is no name there.
func (a *Analysis) References(offset int) []Span {
	id, sym := a.symbolAt(offset)
	if id == nil {
		return nil
	}
	seen := map[Span]bool{}
	var list []Span
	add := func(i *syntax.Ident) {
		if s := span(i); !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	if sym != nil {
		add(sym.decl)
		for _, u := range sym.uses {
			add(u)
		}
	} else {
		for _, s := range a.Tree.Statements {
			syntax.Inspect(s, func(n syntax.Node) bool {
				if i, ok := n.(*syntax.Ident); ok && i.Name == id.Name && a.names.refs[i] == nil {
					if at, s := a.symbolAt(i.Start); at == i && s == nil {
						add(i)
					}
				}
				return true
			})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Start < list[j].Start })
	return list
}
