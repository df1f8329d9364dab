package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scope is what a statement inherits from those around it.
type scope struct {
	redirects []Redirect // of the compound commands around it
	piped     bool       // its input is another command's output
	through   []string
	depth     int
}

// reader collects commands in the order in which they are written.
type reader struct {
	out  []Command
	full bool
}

func (r *reader) emit(c Command) {
	switch {
	case r.full:
	case len(r.out) >= MaxCommands:
		// The rest is not looked at, and says so.
		r.full = true
		r.out = append(r.out, unknown)
	default:
		r.out = append(r.out, c)
	}
	if slices.ContainsFunc(c.Assigns, func(a Assign) bool {
		return slices.Contains(evaluated, a.Name) && (!a.Value.Known || !number.MatchString(a.Value.Text))
	}) {
		r.lost(scope{through: c.Through})
	}
}

// lost stands for commands that cannot be known.
func (r *reader) lost(s scope) {
	r.emit(Command{Through: s.through, Redirects: s.redirects})
}

// script reads a whole shell text.
func (r *reader) script(text string, s scope) {
	if r.full {
		return
	}
	if s.depth > MaxDepth {
		r.lost(s)
		return
	}
	f, ok := parse(text)
	if !ok {
		r.lost(s)
		return
	}
	r.stmts(f.Stmts, s)
}

func (r *reader) stmts(list []*syntax.Stmt, s scope) {
	for _, st := range list {
		r.stmt(st, s)
	}
}

func (r *reader) stmt(st *syntax.Stmt, s scope) {
	if st == nil || r.full {
		return
	}
	own := r.redirects(st.Redirs)
	switch c := st.Cmd.(type) {
	case nil:
		if len(own) > 0 {
			r.emit(Command{Name: Word{Known: true}, Redirects: slices.Concat(own, s.redirects), Through: s.through})
		}
	case *syntax.CallExpr:
		r.call(c, own, s)
	case *syntax.DeclClause:
		r.declare(c, own, s)
	case *syntax.BinaryCmd:
		inner := s
		inner.redirects = slices.Concat(own, s.redirects)
		r.stmt(c.X, inner)
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			inner.piped = true
		}
		r.stmt(c.Y, inner)
	default:
		inner := s
		inner.redirects = slices.Concat(own, s.redirects)
		before := len(r.out)
		r.look(c, inner) // groups, control flow, functions, expressions
		if len(r.out) == before && len(own) > 0 {
			r.emit(Command{Name: Word{Known: true}, Redirects: inner.redirects, Through: s.through})
		}
	}
	for _, rd := range st.Redirs {
		r.inside(rd, s)
	}
}

// inside reads the substitutions in a word, a redirect or an assignment.
func (r *reader) inside(n syntax.Node, s scope) {
	if w, ok := n.(*syntax.Word); ok && len(w.Parts) == 1 {
		if l, ok := w.Parts[0].(*syntax.Lit); ok && !strings.HasPrefix(l.Value, "{") {
			return // nothing is in it, as in most words
		}
	}
	s.redirects, s.piped = nil, false
	r.look(n, s)
}

func (r *reader) call(c *syntax.CallExpr, own []Redirect, s scope) {
	cmd := Command{Redirects: slices.Concat(own, s.redirects), Through: s.through}
	for _, a := range c.Assigns {
		cmd.Assigns = append(cmd.Assigns, assign(a))
	}
	var ws []Word
	for _, w := range c.Args {
		ws = append(ws, words(w)...)
	}
	if len(ws) > 0 {
		cmd.Name, cmd.Args = ws[0], ws[1:]
	} else {
		cmd.Name = Word{Known: true}
	}
	r.emit(cmd)
	split := testSplits(cmd, c)
	if base := cmd.Base(); !split || base != "test" && base != "[" {
		r.unwrap(cmd, s)
	}
	if split {
		r.lost(scope{through: s.through})
	}
	for _, a := range c.Assigns {
		r.inside(a, s)
	}
	for _, w := range c.Args {
		r.inside(w, s)
	}
}

// declare reads export, local and their like as the commands that they are.
func (r *reader) declare(c *syntax.DeclClause, own []Redirect, s scope) {
	cmd := Command{Name: Word{c.Variant.Value, true}, Redirects: slices.Concat(own, s.redirects), Through: s.through}
	evaluates := false
	for _, a := range c.Args {
		switch {
		case a.Naked && a.Name == nil && a.Value != nil:
			ws := words(a.Value)
			evaluates = evaluates || slices.ContainsFunc(ws, declares) && !setsPlain.MatchString(leading(a.Value))
			cmd.Args = append(cmd.Args, ws...)
		case a.Naked && a.Name != nil && a.Index == nil:
			cmd.Args = append(cmd.Args, Word{a.Name.Value, true})
		default:
			as := assign(a)
			eq := "="
			if as.Append {
				eq = "+="
			}
			w := Word{}
			if as.Value.Known {
				w = Word{as.Name + eq + as.Value.Text, true}
			}
			cmd.Args = append(cmd.Args, w)
			cmd.Assigns = append(cmd.Assigns, as)
		}
	}
	r.emit(cmd)
	if evaluates {
		r.lost(scope{through: s.through})
	}
	for _, a := range c.Args {
		r.inside(a, s)
	}
}

// leading is the text with which a word begins before any expansion.
func leading(w *syntax.Word) string {
	if len(w.Parts) == 0 {
		return ""
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.DblQuoted:
		if len(p.Parts) > 0 {
			if l, ok := p.Parts[0].(*syntax.Lit); ok {
				return l.Value
			}
		}
	}
	return ""
}

func assign(a *syntax.Assign) Assign {
	out := Assign{Append: a.Append}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	switch {
	case a.Index != nil || a.Array != nil:
	case a.Value == nil:
		out.Value = Word{Known: true}
	default:
		out.Value = single(a.Value)
	}
	return out
}

func (r *reader) redirects(list []*syntax.Redirect) []Redirect {
	var out []Redirect
	for _, rd := range list {
		x := Redirect{Op: rd.Op.String(), FD: 1}
		if x.Op[0] == '<' {
			x.FD = 0
		}
		if rd.N != nil {
			n, err := strconv.Atoi(rd.N.Value)
			if err != nil {
				n = -1
			}
			x.FD = n
		}
		switch {
		case rd.Op == syntax.Hdoc || rd.Op == syntax.DashHdoc:
			x.Target = hereDocument(rd)
		case rd.Word != nil:
			x.Target = single(rd.Word)
		}
		out = append(out, x)
	}
	return out
}
