package hooks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
	"agent-ls/hooks/worker/pool"
	"agent-ls/hooks/worker/wire"
)

// extension is what a script's file name ends in.
const extension = ".risor"

// Load makes the set of a run: it reads what is missing, checks every script,
// and has a worker compile it. All that is wrong is in the findings; with a
// finding of severity error there is no set, and no run may start. An error
// means that the scripts could not be judged at all.
func (e *Engine) Load(ctx context.Context, declared []Declaration, limits Limits) (*Set, []check.Finding, error) {
	return e.load(ctx, declared, limits, e.readFile)
}

func (e *Engine) load(ctx context.Context, declared []Declaration, limits Limits, read func(string) ([]byte, error)) (*Set, []check.Finding, error) {
	l := loading{engine: e, read: read, limits: limits.filled(), seen: map[string]bool{}}
	if len(declared) == 0 {
		return newSet(e, nil, l.limits, nil), nil, nil
	}
	p, err := e.pool(l.limits)
	if err != nil {
		return nil, nil, err
	}
	hooks := make([]*hook, len(declared))
	units := map[string]*unit{}
	var order []*unit
	for i, d := range declared {
		h, u := l.declare(d, units)
		hooks[i] = h
		if u != nil && len(u.hooks) == 1 {
			order = append(order, u)
		}
	}
	for _, u := range order {
		if err := l.compile(ctx, p, u); err != nil {
			return nil, l.sorted(), err
		}
	}
	findings := l.sorted()
	if slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Severity == check.Error }) {
		return nil, findings, nil
	}
	return newSet(e, p, l.limits, hooks), findings, nil
}

// loading is one Load.
type loading struct {
	engine   *Engine
	read     func(path string) ([]byte, error)
	limits   Limits
	findings []check.Finding
	seen     map[string]bool // siblings that were checked, by path and digest
}

// unit is one script with its siblings, and the hooks that it serves.
type unit struct {
	files   []wire.File
	sources []*source
	hooks   []*hook
}

func (l *loading) add(f check.Finding) { l.findings = append(l.findings, f) }

func (l *loading) sorted() []check.Finding {
	slices.SortStableFunc(l.findings, func(a, b check.Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Span.Start-b.Span.Start)
	})
	return l.findings
}

// declare reads one declaration. The unit is nil when it cannot be.
func (l *loading) declare(d Declaration, units map[string]*unit) (*hook, *unit) {
	h := &hook{Declaration: d, event: contract.ByName(d.Event)}
	manifest := func(code check.Code, msg string) {
		path, span := d.Declared.Path, check.Span{Start: d.Declared.Start.Offset, End: d.Declared.End.Offset}
		if path == "" {
			path, span = d.Path, check.Span{}
		}
		l.add(check.NewFinding(code, path, span, msg))
	}
	switch {
	case h.event == nil:
		manifest(check.CodeUnknownEvent, fmt.Sprintf("there is no event %q%s", d.Event, contract.DidYouMean(d.Event, eventNames())))
		return h, nil
	case h.event.Function == "":
		manifest(check.CodeUnknownEvent, fmt.Sprintf("no script can handle %s", d.Event))
		return h, nil
	}
	if d.Text == nil {
		text, err := l.read(d.Path)
		if err != nil {
			manifest(check.CodeMissingFile, fmt.Sprintf("the script cannot be read: %v", err))
			return h, nil
		}
		h.Text = text
		if h.Text == nil {
			h.Text = []byte{}
		}
	}
	key := d.Path + "\x00" + string(h.Text)
	u := units[key]
	if u == nil {
		u = l.gather(h)
		units[key] = u
	}
	h.Siblings = map[string][]byte{}
	for _, f := range u.files[1:] {
		h.Siblings[f.Path] = f.Text
	}
	h.sources = u.sources
	u.hooks = append(u.hooks, h)
	return h, u
}

func eventNames() []string {
	var names []string
	for _, e := range contract.Events() {
		names = append(names, e.Name)
	}
	return names
}

// gather finds the siblings that a script imports, and those that they do.
func (l *loading) gather(h *hook) *unit {
	u := &unit{files: []wire.File{{Path: h.Path, Text: h.Text}}}
	have := map[string]bool{}
	for i := 0; i < len(u.files); i++ {
		f := u.files[i]
		u.sources = append(u.sources, &source{path: f.Path, text: string(f.Text), lines: syntax.NewLines(string(f.Text)), digest: Digest(f.Text)})
		for _, name := range imports(syntax.ParseLimited(f.Text, l.syntaxLimits())) {
			if have[name] || len(u.files) >= wire.MaxFiles {
				continue
			}
			path := filepath.Join(filepath.Dir(h.Path), name+extension)
			text, ok := h.Siblings[path]
			if h.Siblings == nil {
				text, ok = l.sibling(h.Path, path)
			}
			if ok {
				have[name] = true
				u.files = append(u.files, wire.File{Path: path, Name: name, Text: bytes.Clone(text)})
			}
		}
	}
	return u
}

func (l *loading) syntaxLimits() syntax.Limits {
	return syntax.Limits{Source: int(l.limits.Source), Nesting: l.limits.Nesting}
}

// sibling reads a script beside another. A link that leads out of the folder
// is none.
func (l *loading) sibling(script, path string) ([]byte, bool) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		folder, err := filepath.EvalSymlinks(filepath.Dir(script))
		if err != nil || filepath.Dir(real) != folder {
			return nil, false
		}
	}
	text, err := l.read(path)
	return text, err == nil
}

// imports names the files that a script imports: what is no module and no
// path.
func imports(t *syntax.Tree) []string {
	var names []string
	visit := func(n syntax.Node) bool {
		i, ok := n.(*syntax.Import)
		if !ok {
			return true
		}
		name := i.Path
		if i.From != "" {
			name = i.From
		}
		if name != "" && !strings.ContainsAny(name, `/\.:`) && contract.Library().Module(name) == nil {
			names = append(names, name)
		}
		return true
	}
	for _, s := range t.Statements {
		syntax.Inspect(s, visit)
	}
	return names
}

// compile checks one unit and has a worker compile it.
func (l *loading) compile(ctx context.Context, p *pool.Pool, u *unit) error {
	before := len(l.findings)
	l.check(u)
	for _, f := range l.findings[before:] {
		if f.Severity == check.Error {
			return nil // a worker would only say it again
		}
	}
	script := l.engine.script(u.files)
	// A time limit is about firings; compiling gets what is usual at least.
	functions, failure := p.Load(ctx, script, max(l.limits.Time, defaultTime))
	if failure != nil {
		if failure.Kind == pool.Infrastructure {
			return fmt.Errorf("compile %s: %w", u.files[0].Path, errors.New(failure.Message))
		}
		l.refused(u, failure)
		return nil
	}
	for _, h := range u.hooks {
		h.script = script
		l.function(h, functions)
	}
	return nil
}

// check runs the checker over the script and its siblings.
func (l *loading) check(u *unit) {
	have := map[string]bool{}
	for _, f := range u.files[1:] {
		have[f.Name] = true
	}
	sibling := func(name string) bool { return have[name] }
	for i, f := range u.files {
		o := check.Options{Sibling: sibling}
		if i == 0 {
			for _, h := range u.hooks {
				o.Points = append(o.Points, check.Point{
					Event: h.Event, Function: h.event.Function, Path: h.Declared.Path,
					Span: check.Span{Start: h.Declared.Start.Offset, End: h.Declared.End.Offset},
				})
			}
		}
		key := f.Path + "\x00" + u.sources[i].digest
		if i > 0 && l.seen[key] {
			continue
		}
		l.seen[key] = true
		found := check.Script(f.Path, f.Text, o)
		l.findings = append(l.findings, found...)
		if slices.ContainsFunc(found, func(f check.Finding) bool { return f.Code == check.CodeSyntax }) {
			continue
		}
		// Limits lower than those that the checker knows.
		for _, e := range syntax.ParseLimited(f.Text, l.syntaxLimits()).Errors {
			l.add(check.NewFinding(check.CodeSyntax, f.Path, check.Span{Start: e.Start, End: e.End}, e.Message))
		}
	}
}

// refused says what a worker has against a script.
func (l *loading) refused(u *unit, f *pool.Failure) {
	path, span := u.files[0].Path, check.Span{}
	if len(f.Stack) > 0 && f.Stack[0].File < len(u.sources) {
		s := u.sources[f.Stack[0].File]
		path = s.path
		if at := f.Stack[0]; at.Line > 0 {
			loc := s.locate(at.Line, at.Col)
			span = check.Span{Start: loc.Start.Offset, End: loc.End.Offset}
		}
	}
	l.add(check.NewFinding(check.CodeSyntax, path, span, f.Message))
}

// function finds the function that a hook is about. The checker has looked
// for it as well; here it is what really was compiled.
func (l *loading) function(h *hook, functions []wire.Function) {
	h.start = h.sources[0].locate(1, 1)
	for _, f := range functions {
		if f.Name != h.event.Function {
			continue
		}
		h.start = h.sources[0].locate(f.Line, f.Col)
		if f.Min > 1 || f.Max < 1 {
			l.add(check.NewFinding(check.CodeArity, h.Path, check.Span{Start: h.start.Start.Offset, End: h.start.End.Offset},
				fmt.Sprintf("%s must take one parameter, ctx", f.Name)))
		}
		return
	}
	l.add(check.NewFinding(check.CodeMissingFunction, h.Path, check.Span{}, fmt.Sprintf("the script does not define the function %s, which %s calls", h.event.Function, h.ID)))
}
