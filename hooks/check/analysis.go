// Package check owns what can be said about a hook script without running it:
// findings with fixes, and the answers to an editor's questions (completion,
// hover, symbols, definition, references). Start at Script or Analyze. It
// reads any text and never runs one.
package check

import (
	"slices"
	"strings"
	"sync"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

// Point is a use that a manifest makes of a script.
type Point struct {
	Event    string // the contract's event, "" for a plain function
	Function string // that the script must define
	// Where the manifest names the script; Path is "" when it is not known.
	Path string
	Span Span
}

// Options say what is known beside the text.
type Options struct {
	// Points are the uses of the script in manifests.
	Points []Point
	// ManifestKnown says that Points is complete: a script with hook functions
	// that has none is unreferenced.
	ManifestKnown bool
	// Sibling says whether a file of that module name lies beside the script.
	// Without it nothing is said about imports of other files.
	Sibling func(name string) bool
}

// Analysis is what is known about one version of a script. It may be used by
// several goroutines at once; do not copy it.
type Analysis struct {
	Path     string
	Tree     *syntax.Tree
	Findings []Finding // in the order of their places
	Steps    int       // nodes looked at: the work that it took

	opts  Options
	names *names
	// recordOnce makes the values of names when the first question comes;
	// most versions of a text are checked and never asked about.
	recordOnce sync.Once
	record     *recording
}

// types gives what every name and what every value before a dot may hold.
func (a *Analysis) types() *recording {
	a.recordOnce.Do(func() { a.record = recorded(a.Tree, a.names) })
	return a.record
}

// Script finds what is wrong with a script. path is copied into the findings.
func Script(path string, text []byte, opts Options) []Finding {
	return Analyze(path, text, opts).Findings
}

// Analyze reads a script for findings and questions.
func Analyze(path string, text []byte, opts Options) *Analysis {
	tree := syntax.Parse(text)
	a := &Analysis{Path: path, Tree: tree, opts: opts}
	r := &report{path: path, seen: map[place]bool{}}
	for _, e := range tree.Errors {
		r.add(CodeSyntax, Span{e.Start, e.End}, "%s", e.Message)
	}
	a.names = resolve(tree, r, opts)
	c := newChecker(tree, a.names, r)
	c.program()
	a.unusedNames(r)
	a.points(r)
	slices.SortStableFunc(r.findings, func(a, b Finding) int { return a.Span.Start - b.Span.Start })
	a.Findings = r.findings
	a.Steps = tree.Steps + c.steps
	return a
}

// hookFunction is a top-level function that an event fires.
type hookFunction struct {
	event *contract.Event
	name  *syntax.Ident
	fn    *syntax.Func
}

// hookFunctions finds the functions of a script that events fire: `func
// on_error(ctx)` and `on_error := func(ctx)`.
func hookFunctions(t *syntax.Tree) []hookFunction {
	var list []hookFunction
	for _, s := range t.Statements {
		name, fn := topFunction(s)
		if fn == nil {
			continue
		}
		if e := hookEvent(name.Name, fn); e != nil {
			list = append(list, hookFunction{e, name, fn})
		}
	}
	return list
}

// hookEvent is the event that a top-level function handles by its name. Two
// events have names that any helper may bear, output and usage: such a
// function is a hook when it takes ctx.
func hookEvent(name string, fn *syntax.Func) *contract.Event {
	e := contract.ByFunction(name)
	if e == nil || strings.Contains(name, "_") || len(fn.Params) == 1 && fn.Params[0].Name.Name == "ctx" {
		return e
	}
	return nil
}

// topFunction gives the function that a top-level statement defines.
func topFunction(s syntax.Stmt) (*syntax.Ident, *syntax.Func) {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		if f, ok := s.X.(*syntax.Func); ok && f.Name != nil {
			return f.Name, f
		}
	case *syntax.Declare:
		if f, ok := syntax.Unparen(s.Value).(*syntax.Func); ok && len(s.Names) == 1 {
			return s.Names[0], f
		}
	}
	return nil, nil
}

// points holds the script against what manifests want of it.
func (a *Analysis) points(r *report) {
	defined := map[string]*syntax.Ident{}
	var defs []string
	for _, s := range a.Tree.Statements {
		if name, fn := topFunction(s); fn != nil {
			defined[name.Name] = name
			defs = append(defs, name.Name)
		}
	}
	hooks := hookFunctions(a.Tree)
	if a.opts.ManifestKnown && len(a.opts.Points) == 0 && len(hooks) > 0 {
		r.add(CodeUnreferenced, span(hooks[0].name), "no stage and no event of the manifest names this script: %s never fires", hooks[0].name.Name)
	}
	for _, p := range a.opts.Points {
		if p.Function == "" || defined[p.Function] != nil {
			continue
		}
		a.missingFunction(r, p, defined, defs)
	}
}

func (a *Analysis) missingFunction(r *report, p Point, defined map[string]*syntax.Ident, defs []string) {
	var others []string // functions that no event knows may be misspelt ones
	for _, d := range defs {
		if contract.ByFunction(d) == nil {
			others = append(others, d)
		}
	}
	at, hint := Span{}, ""
	var fixes []Fix
	if near := contract.Nearest(p.Function, others); near != "" {
		at = span(defined[near])
		hint = "; is " + near + " meant to be it?"
		fixes = append(fixes, Fix{Title: "Rename " + near + " to " + p.Function, Edits: []Edit{{at, p.Function}}, Preferred: true})
	}
	end := len(a.Tree.Text)
	fixes = append(fixes, Fix{Title: "Define " + p.Function, Edits: []Edit{{Span{end, end}, "\nfunc " + p.Function + "(ctx) {\n    return nil\n}\n"}}})
	f := r.add(CodeMissingFunction, at, "the manifest names this script for %s, but it does not define that function%s", p.Function, hint)
	if f == nil {
		return
	}
	f.Fixes = fixes
	if p.Path != "" {
		f.Related = append(f.Related, Related{p.Path, p.Span, "named here"})
	}
}
