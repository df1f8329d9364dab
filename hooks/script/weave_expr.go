package script

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/risor-io/risor/ast"
	"github.com/risor-io/risor/token"
)

// expr rewrites an expression. Calls stay calls: defer and pipes look at the
// node's type.
func (w *weaver) expr(e ast.Expression) ast.Expression {
	if e == nil {
		return nil
	}
	at := e.Token().StartPosition
	switch n := e.(type) {
	case *ast.Ident:
		w.used[n.Literal()] = true
		return n
	case *ast.Int, *ast.Float, *ast.Nil, *ast.Bool:
		return n
	case *ast.String:
		return w.text(n)
	case *ast.List:
		return ast.NewList(n.Token(), w.exprs(n.Items()))
	case *ast.Set:
		return ast.NewSet(n.Token(), w.exprs(n.Items()))
	case *ast.Map:
		return w.mapLiteral(n)
	case *ast.Func:
		return w.literal(n)
	case *ast.Prefix:
		r := w.expr(n.Right())
		if n.Operator() == "-" {
			r = w.last(at, r)
		}
		return ast.NewPrefix(n.Token(), r)
	case *ast.Infix:
		return w.infix(n)
	case *ast.In:
		return ast.NewIn(n.Token(), w.last(at, w.expr(n.Left())), w.expr(n.Right())) // the left one is evaluated last
	case *ast.If:
		return ast.NewIf(n.Token(), w.expr(n.Condition()), w.block(n.Consequence()), w.block(n.Alternative()))
	case *ast.Ternary:
		return ast.NewTernary(n.Token(), w.expr(n.Condition()), w.expr(n.IfTrue()), w.expr(n.IfFalse()))
	case *ast.Switch:
		return w.choice(n)
	case *ast.Call:
		return w.call(n)
	case *ast.ObjectCall:
		return w.method(n)
	case *ast.GetAttr:
		return ast.NewGetAttr(n.Token(), w.last(w.afterDot(at), w.expr(n.Object())), name(n.Name(), at))
	case *ast.Index:
		return ast.NewIndex(n.Token(), w.expr(n.Left()), w.last(at, w.expr(n.Index())))
	case *ast.Slice:
		return w.slice(n)
	case *ast.Pipe:
		return w.pipe(n)
	case *ast.Range:
		return ast.NewRange(n.Token(), w.container(n))
	case *ast.Receive:
		w.refuse(at, "hooks have no concurrency")
		return n
	}
	w.refuse(at, fmt.Sprintf("%T is not known here", e))
	return e
}

func (w *weaver) exprs(in []ast.Expression) []ast.Expression {
	out := make([]ast.Expression, len(in))
	for i, e := range in {
		out[i] = w.expr(e)
	}
	return out
}

func (w *weaver) infix(n *ast.Infix) ast.Expression {
	l, r := w.expr(n.Left()), w.expr(n.Right())
	switch n.Operator() {
	case "&&", "||", "==", "!=": // these do not fail
	default:
		r = w.last(n.Token().StartPosition, r)
	}
	return ast.NewInfix(n.Token(), l, n.Operator(), r)
}

func (w *weaver) slice(n *ast.Slice) ast.Expression {
	at := n.Token().StartPosition
	l, from, to := w.expr(n.Left()), w.expr(n.FromIndex()), w.expr(n.ToIndex())
	switch { // the start is evaluated last, then the end
	case from != nil:
		from = w.last(at, from)
	case to != nil:
		to = w.last(at, to)
	default:
		l = w.last(at, l)
	}
	return ast.NewSlice(n.Token(), l, from, to)
}

func (w *weaver) choice(n *ast.Switch) ast.Expression {
	cases := make([]*ast.Case, len(n.Choices()))
	for i, c := range n.Choices() {
		if !c.IsDefault() {
			cases[i] = ast.NewCase(c.Token(), w.exprs(c.Expressions()), w.block(c.Block()))
			continue
		}
		b := w.block(c.Block())
		if b == nil {
			b = ast.NewBlock(c.Token(), nil) // the compiler does not expect none
		}
		cases[i] = ast.NewDefaultCase(c.Token(), b)
	}
	return ast.NewSwitch(n.Token(), w.expr(n.Value()), cases)
}

func (w *weaver) arguments(in []ast.Node, at token.Position) []ast.Node {
	out := make([]ast.Node, len(in))
	for i, a := range in {
		out[i] = w.statement(a)
		if e, ok := out[i].(ast.Expression); ok && i == len(in)-1 {
			out[i] = w.last(at, e)
		}
	}
	return out
}

func (w *weaver) call(n *ast.Call) ast.Expression {
	at := w.start(n)
	f := w.expr(n.Function())
	args := w.arguments(n.Arguments(), at)
	if len(args) == 0 {
		f = w.last(at, f)
	}
	return ast.NewCall(n.Token(), f, args)
}

func (w *weaver) method(n *ast.ObjectCall) ast.Expression {
	call, ok := n.Call().(*ast.Call)
	if !ok {
		return n // the compiler says what is wrong with it
	}
	at := call.Function().Token().StartPosition
	object := w.last(at, w.expr(n.Object())) // the method may not exist
	args := w.arguments(call.Arguments(), at)
	return ast.NewObjectCall(n.Token(), object, ast.NewCall(call.Token(), call.Function(), args))
}

func (w *weaver) pipe(n *ast.Pipe) ast.Expression {
	in := n.Expressions()
	out := w.exprs(in)
	for i := 1; i < len(in); i++ {
		out[i] = w.last(w.start(in[i]), out[i])
	}
	return ast.NewPipe(n.Token(), out)
}

func (w *weaver) text(n *ast.String) ast.Expression {
	if n.Template() == nil {
		return n
	}
	if w.template == nil {
		at := behindComments(n.Token().StartPosition, w.source)
		w.template = &at
		defer func() { w.template = nil }()
	}
	return ast.NewTemplatedString(n.Token(), n.Template(), w.exprs(n.TemplateExpressions()))
}

// mapLiteral makes {a: x, b: y} into \0map[["a", x, "b", y]]. The compiler
// takes the entries of a map literal in random order; in ours they are
// evaluated as they are written and the last of two equal keys wins.
func (w *weaver) mapLiteral(n *ast.Map) ast.Expression {
	keys := make([]ast.Expression, 0, len(n.Items()))
	for k := range n.Items() {
		keys = append(keys, k)
		switch k.(type) {
		case *ast.Ident, *ast.String:
		default:
			w.refuse(k.Token().StartPosition, "a key of a map is a name or a string")
			return n
		}
	}
	slices.SortFunc(keys, func(a, b ast.Expression) int {
		return cmp.Compare(a.Token().StartPosition.Char, b.Token().StartPosition.Char)
	})
	var items []ast.Expression
	for _, k := range keys {
		if id, ok := k.(*ast.Ident); ok {
			t := id.Token()
			t.Type = token.STRING
			items = append(items, ast.NewString(t))
		} else {
			items = append(items, w.expr(k))
		}
		items = append(items, w.expr(n.Items()[k]))
	}
	at := n.Token().StartPosition
	return ast.NewIndex(mark(at), name(orderedName, at), ast.NewList(n.Token(), items))
}

func (w *weaver) literal(n *ast.Func) ast.Expression {
	outer := w.function
	w.function = "func"
	if n.Name() != nil {
		w.function = n.Name().Literal()
	}
	body := w.body(n.Body(), n.Token().StartPosition)
	w.function = outer
	return ast.NewFunc(n.Token(), n.Name(), n.Parameters(), n.Defaults(), body)
}

// start is where a node begins: the token of an operation is its operator.
func (w *weaver) start(n ast.Node) token.Position {
	switch n := n.(type) {
	case *ast.Infix:
		return w.start(n.Left())
	case *ast.In:
		return w.start(n.Left())
	case *ast.Ternary:
		return w.start(n.Condition())
	case *ast.Call:
		return w.start(n.Function())
	case *ast.ObjectCall:
		return w.start(n.Object())
	case *ast.GetAttr:
		return w.start(n.Object())
	case *ast.SetAttr:
		return w.start(n.Object())
	case *ast.Index:
		return w.start(n.Left())
	case *ast.Slice:
		return w.start(n.Left())
	case *ast.Send:
		return w.start(n.Channel())
	case *ast.Pipe:
		return w.start(n.Expressions()[0])
	case *ast.Assign:
		if n.Index() != nil {
			return w.start(n.Index())
		}
		return w.before(n.Token().StartPosition, n.Name())
	}
	return n.Token().StartPosition
}

// before is where the name left of an assignment's operator begins: the tree
// does not tell.
func (w *weaver) before(at token.Position, name string) token.Position {
	i := at.Char
	for i > 0 && i <= len(w.source) && blank(w.source[i-1]) {
		i--
	}
	if n := len([]rune(name)); w.template == nil && i >= n {
		moved := at.Char - (i - n)
		at.Char -= moved
		at.Column = max(0, at.Column-moved)
	}
	return at
}

// afterDot is where the name after an attribute's dot begins.
func (w *weaver) afterDot(at token.Position) token.Position {
	if w.template != nil {
		return at
	}
	i := at.Char + 1
	for i < len(w.source) && blank(w.source[i]) {
		i++
	}
	at.Column += i - at.Char
	at.Char = i
	return at
}

func blank(r rune) bool { return r == ' ' || r == '\t' }
