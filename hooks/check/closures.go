package check

import (
	"slices"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

// Risor finds a variable two or more functions further out by counting the
// calls that are under way. That is right where each function in between is
// called at once, from where it stands, and takes another variable where
// anybody else calls it. A guard must not compare with another value than the
// one that its author wrote.

// farUse is a use of a variable that is two or more functions further out.
type farUse struct {
	name    *syntax.Ident
	sym     *symbol
	between []*syntax.Func // those in between, innermost first
}

// fromFar notes a use of a variable of a function around the one around here.
func (v *resolver) fromFar(i *syntax.Ident, sym *symbol) {
	if sym.owner == nil || v.fn == nil || sym.owner == v.fn || v.dead > 0 {
		return
	}
	use := farUse{name: i, sym: sym}
	for fn := v.around[v.fn]; fn != nil && fn != sym.owner; fn = v.around[fn] {
		use.between = append(use.between, fn)
	}
	if len(use.between) > 0 {
		v.far = append(v.far, use)
	}
}

// farUses refuses the uses in which the engine could be wrong.
func (c *checker) farUses() {
	for _, use := range c.far {
		if !slices.ContainsFunc(use.between, func(fn *syntax.Func) bool { return !c.atOnce[fn] }) {
			continue
		}
		c.r.add(CodeUnavailable, span(use.name), "%[1]s is of a function two or more further out, and the engine could take another variable for it here: give it to a variable of the function in between first, such as mine := %[1]s", use.name.Name).
			relate(span(use.sym.decl), "the definition")
	}
}

// calling are the methods of lists that call their argument themselves.
var calling = map[string]bool{"map": true, "filter": true, "each": true}

// called notes which functions a call runs where they stand: itself, or the
// library in its place. A map may hold a script's own function under a
// method's name, and try adds a call of its own.
func (c *checker) called(e *syntax.Call, of, f value) {
	if fn, ok := syntax.Unparen(e.Fun).(*syntax.Func); ok {
		c.atOnce[fn] = true
	}
	byLibrary := f.lib != nil && (f.lib.Name != "try" || f.recv != nil)
	if at, ok := e.Fun.(*syntax.Attr); ok && f.lib == nil {
		byLibrary = calling[at.Name.Name] && !of.only(contract.MapValue)
	}
	for _, a := range e.Args {
		if fn, ok := syntax.Unparen(a).(*syntax.Func); ok && byLibrary {
			c.atOnce[fn] = true
		}
	}
}
