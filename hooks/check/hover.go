package check

import (
	"strings"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

// Hover tells about the word at an offset, as Markdown; ok is false when there
// is nothing to tell.
func (a *Analysis) Hover(offset int) (markdown string, at Span, ok bool) {
	if offset < 0 || offset > len(a.Tree.Text) || a.inComment(offset) {
		return "", Span{}, false
	}
	path := a.path(offset)
	if len(path) == 0 {
		return "", Span{}, false
	}
	last := path[len(path)-1]
	var parent syntax.Node
	if len(path) > 1 {
		parent = path[len(path)-2]
	}
	switch n := last.(type) {
	case *syntax.Ident:
		markdown = a.hoverName(n, parent, offset)
	case *syntax.String:
		markdown = a.hoverText(n, parent, offset)
	}
	return markdown, span(last), markdown != ""
}

func code(s string) string { return "```risor\n" + s + "\n```" }

// note puts a text under a piece of code.
func note(head, text string) string {
	if text == "" {
		return code(head)
	}
	return code(head) + "\n\n" + text
}

func (a *Analysis) hoverName(n *syntax.Ident, parent syntax.Node, offset int) string {
	switch p := parent.(type) {
	case *syntax.Attr:
		if p.Name == n {
			return hoverMember(a.types().attrs[p], n.Name)
		}
	case *syntax.Map:
		for _, item := range p.Items {
			if item.Key == syntax.Expr(n) {
				return a.hoverKey(n.Name, offset)
			}
		}
	}
	if sym := a.names.refs[n]; sym != nil {
		return a.hoverSymbol(n, sym)
	}
	lib := contract.Library()
	if f := lib.Function(n.Name); f != nil {
		return note(f.Signature(), sentence(f.Doc))
	}
	if m := lib.Module(n.Name); m != nil {
		return note("module "+m.Name, sentence(m.Doc)+"\n\n"+strings.Join(m.Members(), ", "))
	}
	if why, absent := lib.AbsentName(n.Name); absent {
		return "Not available in hooks: " + why + "."
	}
	return ""
}

func (a *Analysis) hoverSymbol(n *syntax.Ident, sym *symbol) string {
	if sym.owner == nil && sym.fn != nil {
		if e := hookEvent(sym.name, sym.fn); e != nil {
			return hoverEvent(e)
		}
	}
	if sym.fn != nil {
		return code("func " + signatureOf(sym.name, sym.fn))
	}
	v := a.types().idents[n]
	if v.kinds == 0 {
		v = a.types().idents[sym.decl]
	}
	if v.kinds == 0 || v.isUnknown() {
		return code(sym.name)
	}
	if v.shape != nil && v.inCtx && v.shape.Kind == contract.Object && field(v.shape, "event") != nil {
		if h, ok := a.hookAt(n.Start); ok {
			return code(sym.name+": the ctx of "+h.event.Name) + "\n\n" + fieldList(v.shape.Fields)
		}
	}
	return code(sym.name + ": " + v.String())
}

func hoverEvent(e *contract.Event) string {
	s := code("func " + e.Function + "(ctx)")
	s += "\n\n" + e.Doc + "\n\nFires: " + lowerFirst(e.Fires) + "\n\nHonours " + e.Honoured() + "."
	if e.Value != nil {
		s += "\n\n`modify` takes `" + e.Value.String() + "`: " + e.ValueDoc + "."
	}
	return s + "\n\n" + fieldList(e.Fields)
}

func fieldList(fields []contract.Field) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString("- `" + f.Name + "` `" + f.Type.String() + "`: " + f.Doc + "\n")
	}
	return b.String()
}

func hoverMember(x value, name string) string {
	if x.mod != nil {
		if f := x.mod.Function(name); f != nil {
			return hoverFunction(x.mod.Name+"."+f.Signature(), f)
		}
		if k := x.mod.Constant(name); k != nil {
			return note(x.mod.Name+"."+k.Name+": "+k.Value.String(), sentence(k.Doc))
		}
		return ""
	}
	if f := field(x.shape, name); f != nil {
		return note(f.Name+": "+f.Type.String(), sentence(f.Doc))
	}
	if x.isUnknown() {
		return ""
	}
	if m := contract.Library().MethodsOf(x.kinds &^ contract.NilValue); m != nil {
		if f := m.Function(name); f != nil {
			return note(m.Name+"."+f.Signature(), sentence(f.Doc))
		}
	}
	if x.shape != nil && x.shape.Kind == contract.Map {
		return code(name + ": " + x.shape.Elem.String())
	}
	return ""
}

func hoverFunction(signature string, f *contract.Function) string {
	s := note(signature, sentence(f.Doc))
	if f.Example == "" {
		return s
	}
	if f.Shape != nil && f.Shape.Kind == contract.Object {
		s += "\n\nGives:\n\n" + fieldList(f.Shape.Fields)
	}
	return s + "\n" + code(strings.TrimSuffix(f.Example, "\n"))
}

func (a *Analysis) hoverKey(name string, offset int) string {
	doc := keyDocs[name]
	if h, ok := a.hookAt(offset); ok && name == "value" && h.event.Value != nil {
		return note("value: "+h.event.Value.String(), doc+" Here: "+h.event.ValueDoc+".")
	}
	if doc == "" {
		return ""
	}
	return note(name, doc)
}

func (a *Analysis) hoverText(s *syntax.String, parent syntax.Node, offset int) string {
	m, ok := parent.(*syntax.Map)
	if !ok {
		return ""
	}
	for _, item := range m.Items {
		name, _ := item.KeyName()
		if name != "action" || item.Value != syntax.Expr(s) {
			continue
		}
		act, err := contract.ParseAction(s.Value)
		if err != nil {
			return ""
		}
		doc := actionDocs[act]
		if h, ok := a.hookAt(offset); ok && !h.event.Honours(act) {
			doc += " " + h.event.Name + " does not honour it."
		}
		return note(act.String(), doc)
	}
	return ""
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
