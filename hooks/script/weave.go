package script

import (
	"fmt"
	"strconv"

	"github.com/risor-io/risor/ast"
	"github.com/risor-io/risor/token"
)

// The names that woven code uses. No lexer makes a name with a zero byte, so
// that no script can say or shadow them.
const (
	reporterName = "\x00at"  // reporter
	orderedName  = "\x00map" // orderedMap
	shelterName  = "\x00try" // tryShelter
	attemptName  = "\x00attempt"
)

// weaver rewrites a parsed script so that it tells the reporter where it is.
// An index expression on a global of ours does that: it costs less than a call
// and means the same inside pipes, where the compiler turns calls into
// partials.
//
//	\0at[id]         before a statement
//	\0at[id][value]  around a value: evaluates it, reports, yields it
type weaver struct {
	*places
	file     int
	source   []rune
	function string
	template *token.Position // the string whose holes are being woven
	used     map[string]bool // names that the file may mean a global by
	err      error
}

// refusal is a construct that hooks do not have.
type refusal struct {
	pos token.Position
	msg string
}

func (r *refusal) Error() string { return r.msg }

// weave rewrites one file. The tree must come from the parser: what it shares
// with the result is not used again. used are the names that may be globals.
func weave(p *ast.Program, file int, source []rune, into *places) (tree *ast.Program, used map[string]bool, err error) {
	w := &weaver{places: into, file: file, source: source, function: topLevel, used: map[string]bool{}}
	body := w.statements(p.Statements())
	if file == 0 {
		body = append([]ast.Node{shelter()}, body...)
	}
	return ast.NewProgram(body), w.used, w.err
}

// shelter is the frame that try runs in: a call that fails leaves an operand
// on the machine's stack, which only the end of a frame sweeps away. It has no
// variables: the machine finds what a function in a function in try shares
// with the function around try by counting frames, and so looks here. There
// must be nothing to find, since a wrong variable could decide a call.
func shelter() ast.Node {
	at := token.Position{}
	call := ast.NewCall(mark(at), name(attemptName, at), nil)
	body := ast.NewBlock(mark(at), []ast.Node{ast.NewReturn(mark(at), call)})
	fn := ast.NewFunc(token.Token{Type: token.FUNC, Literal: "func"}, nil, nil, nil, body)
	return ast.NewIndex(mark(at), name(shelterName, at), fn)
}

func mark(at token.Position) token.Token {
	return token.Token{StartPosition: at, EndPosition: at}
}

func name(s string, at token.Position) *ast.Ident {
	return ast.NewIdent(token.Token{Type: token.IDENT, Literal: s, StartPosition: at, EndPosition: at})
}

func none(at token.Position) ast.Expression {
	return ast.NewNil(token.Token{Type: token.NIL, Literal: "nil", StartPosition: at, EndPosition: at})
}

func (w *weaver) refuse(at token.Position, msg string) {
	if w.err == nil {
		w.err = &refusal{at, msg}
	}
}

// report is \0at[id].
func (w *weaver) report(kind place, at token.Position) ast.Expression {
	at = behindComments(at, w.source)
	if w.template != nil {
		at = *w.template // positions in a hole count from the hole
	}
	id := w.add(kind, w.file, at, w.function)
	number := token.Token{Type: token.INT, Literal: strconv.FormatInt(id, 10), StartPosition: at, EndPosition: at}
	return ast.NewIndex(mark(at), name(reporterName, at), ast.NewInt(number, id))
}

// around is \0at[id][x].
func (w *weaver) around(kind place, at token.Position, x ast.Expression) ast.Expression {
	return ast.NewIndex(mark(at), w.report(kind, at), x)
}

// last marks the last operand of what stands at a position, so that its
// failure is reported there.
func (w *weaver) last(at token.Position, x ast.Expression) ast.Expression {
	if x == nil {
		return nil
	}
	return w.around(operand, at, x)
}

func (w *weaver) statements(in []ast.Node) []ast.Node {
	out := make([]ast.Node, 0, 2*len(in)+1)
	for _, n := range in {
		out = append(out, w.report(step, w.start(n)), w.statement(n))
	}
	return out
}

func (w *weaver) block(b *ast.Block) *ast.Block {
	if b == nil {
		return nil
	}
	return ast.NewBlock(b.Token(), w.statements(b.Statements()))
}

// statement rewrites a node that stands by itself.
func (w *weaver) statement(n ast.Node) ast.Node {
	at := n.Token().StartPosition
	switch n := n.(type) {
	case *ast.Var, *ast.MultiVar:
		return w.variable(n, w.expr)
	case *ast.Const:
		id, v := n.Value()
		return ast.NewConst(n.Token(), name(id, at), w.expr(v))
	case *ast.Return:
		v := none(at)
		if n.Value() != nil {
			v = w.expr(n.Value())
		}
		return ast.NewReturn(n.Token(), w.around(leaving, at, v))
	case *ast.Block:
		return w.block(n)
	case *ast.For:
		return w.loop(n)
	case *ast.Assign:
		return w.assign(n)
	case *ast.SetAttr:
		return ast.NewSetAttr(n.Token(), w.last(at, w.expr(n.Object())), name(n.Name(), at), w.expr(n.Value()))
	case *ast.Defer:
		switch call := w.expr(n.Call()).(type) {
		case *ast.Call, *ast.ObjectCall:
			return ast.NewDefer(n.Token(), call)
		}
		// Risor would compile nothing for it and take something else off the stack.
		w.refuse(at, "defer takes a call")
		return n
	case *ast.Go, *ast.Send:
		w.refuse(at, "hooks have no concurrency")
		return n
	case *ast.Import:
		w.used[n.Path().Value()] = true
		return n
	case *ast.FromImport:
		for _, p := range n.Parents() {
			w.used[p.Literal()] = true
		}
		return n
	case *ast.Postfix:
		w.used[n.Literal()] = true
		return n
	case *ast.Control:
		return n
	case ast.Expression:
		return w.expr(n)
	}
	w.refuse(at, fmt.Sprintf("%T is not known here", n))
	return n
}

// variable rewrites `x := v`, `var x = v` and `x, y := v`.
func (w *weaver) variable(n ast.Node, value func(ast.Expression) ast.Expression) ast.Node {
	at := n.Token().StartPosition
	switch n := n.(type) {
	case *ast.Var:
		id, v := n.Value()
		if n.IsWalrus() {
			return ast.NewDeclaration(n.Token(), name(id, at), value(v))
		}
		return ast.NewVar(n.Token(), name(id, at), value(v))
	case *ast.MultiVar:
		ids, v := n.Value()
		idents := make([]*ast.Ident, len(ids))
		for i, id := range ids {
			idents[i] = name(id, at)
		}
		v = value(v)
		if _, isRange := v.(*ast.Range); !isRange {
			v = w.last(at, v)
		}
		return ast.NewMultiVar(n.Token(), idents, v, n.IsWalrus())
	}
	return n
}

func (w *weaver) assign(n *ast.Assign) ast.Node {
	at := n.Token().StartPosition
	if ix := n.Index(); ix != nil {
		target := ast.NewIndex(ix.Token(), w.expr(ix.Left()), w.last(ix.Token().StartPosition, w.expr(ix.Index())))
		return ast.NewAssignIndex(n.Token(), target, w.expr(n.Value()))
	}
	w.used[n.Name()] = true
	v := w.expr(n.Value())
	if n.Operator() != "=" {
		v = w.last(at, v)
	}
	return ast.NewAssign(n.Token(), name(n.Name(), at), v)
}

func (w *weaver) loop(n *ast.For) ast.Node {
	head := n.Token().StartPosition
	body := ast.NewBlock(n.Consequence().Token(), append([]ast.Node{w.report(step, head)}, w.statements(n.Consequence().Statements())...))
	if n.IsSimpleLoop() && n.Post() == nil {
		return ast.NewSimpleFor(n.Token(), body)
	}
	var init, cond, post ast.Node
	if n.Init() != nil {
		init = w.statement(n.Init())
	}
	switch c := n.Condition().(type) {
	case nil:
		// The compiler cannot write a loop without condition as text, which it
		// does for every function.
		cond = ast.NewBool(token.Token{Type: token.TRUE, Literal: "true", StartPosition: head}, true)
	case *ast.Var, *ast.MultiVar:
		cond = w.variable(c, w.iterated)
	case *ast.Range:
		cond = w.iterated(c)
	case ast.Expression:
		cond = w.expr(c)
	default:
		cond = w.statement(c)
	}
	if n.Post() != nil {
		post = w.post(n.Post())
	}
	return ast.NewFor(n.Token(), cond, body, init, post)
}

// post rewrites what a loop does after each turn. `i++` takes no mark, which
// `i += 1` does.
func (w *weaver) post(n ast.Node) ast.Node {
	p, ok := n.(*ast.Postfix)
	if !ok {
		return w.statement(n)
	}
	at := p.Token().StartPosition
	op := token.Token{Type: token.PLUS_EQUALS, Literal: "+=", StartPosition: at, EndPosition: at}
	amount := int64(1)
	if p.Operator() == "--" {
		amount = -1
	}
	one := ast.NewInt(token.Token{Type: token.INT, Literal: strconv.FormatInt(amount, 10), StartPosition: at}, amount)
	return ast.NewAssign(op, name(p.Literal(), at), w.last(at, one))
}

// iterated rewrites what a loop ranges over.
func (w *weaver) iterated(e ast.Expression) ast.Expression {
	if r, ok := e.(*ast.Range); ok {
		return ast.NewRange(r.Token(), w.container(r))
	}
	return w.last(w.start(e), w.expr(e))
}

func (w *weaver) container(r *ast.Range) ast.Node {
	c, ok := r.Container().(ast.Expression)
	if !ok {
		return w.statement(r.Container())
	}
	return w.last(r.Token().StartPosition, w.expr(c))
}

// body rewrites a function's block. What it returns without saying so, it
// then says, so that leaving is seen.
func (w *weaver) body(b *ast.Block, at token.Position) *ast.Block {
	in := b.Statements()
	out := []ast.Node{w.report(entering, at)}
	said := -1
	for i, n := range in {
		if _, ok := n.(*ast.Return); ok {
			said = i
			break
		}
	}
	for i, n := range in {
		pos := w.start(n)
		out = append(out, w.report(step, pos))
		if e, ok := n.(ast.Expression); ok && said < 0 && i == len(in)-1 {
			out = append(out, ast.NewReturn(mark(pos), w.around(leaving, pos, w.expr(e))))
			return ast.NewBlock(b.Token(), out)
		}
		out = append(out, w.statement(n))
		if i == said {
			return ast.NewBlock(b.Token(), out) // the compiler drops the rest too
		}
	}
	if len(in) > 0 {
		at = w.start(in[len(in)-1])
	}
	out = append(out, ast.NewReturn(mark(at), w.around(leaving, at, none(at))))
	return ast.NewBlock(b.Token(), out)
}

// behindComments is where a token really begins: the lexer has those after a
// block comment begin with the comment.
func behindComments(at token.Position, source []rune) token.Position {
	i := at.Char
	for i+1 < len(source) && source[i] == '/' && source[i+1] == '*' {
		for i += 2; i+1 < len(source) && !(source[i] == '*' && source[i+1] == '/'); i++ {
		}
		for i += 2; i < len(source) && (blank(source[i]) || source[i] == '\r' || source[i] == '\n'); i++ {
		}
	}
	if i >= len(source) {
		return at
	}
	for ; at.Char < i; at.Char++ {
		at.Column++
		if source[at.Char] == '\n' {
			at.Line, at.Column = at.Line+1, 0
		}
	}
	return at
}
