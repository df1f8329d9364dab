package syntax

// Inspect visits a node and what is in it, each before its parts and in the
// order of the text. It does not go into a node for which visit is false.
func Inspect(n Node, visit func(Node) bool) {
	if isNil(n) || !visit(n) {
		return
	}
	for _, c := range Children(n) {
		Inspect(c, visit)
	}
}

// Children lists the parts of a node in the order of the text.
func Children(n Node) []Node {
	var c children
	switch n := n.(type) {
	case *ExprStmt:
		c.add(n.X)
	case *Declare:
		c.idents(n.Names)
		c.add(n.Value)
	case *Assign:
		c.exprs(n.Targets)
		c.add(n.Value)
	case *Postfix:
		c.add(n.Name)
	case *Return:
		c.add(n.Value)
	case *For:
		c.idents(n.Vars)
		c.add(n.Range, n.Init, n.Cond, n.Post, n.Body)
	case *Import:
		c.add(n.Module)
		if n.Name != n.Module {
			c.add(n.Name)
		}
	case *Imports:
		c.add(n.From)
		for _, i := range n.Names {
			c.add(i)
		}
	case *Go:
		c.add(n.Call)
	case *Send:
		c.add(n.Channel, n.Value)
	case *Block:
		for _, s := range n.Statements {
			c.add(s)
		}
	case *Case:
		c.exprs(n.Values)
		c.add(n.Body)
	case Expr:
		c.ofExpr(n)
	}
	return c.list
}

type children struct{ list []Node }

func (c *children) add(nodes ...Node) {
	for _, n := range nodes {
		if !isNil(n) {
			c.list = append(c.list, n)
		}
	}
}

func (c *children) exprs(list []Expr) {
	for _, e := range list {
		c.add(e)
	}
}

func (c *children) idents(list []*Ident) {
	for _, i := range list {
		c.add(i)
	}
}

func (c *children) ofExpr(n Expr) {
	switch n := n.(type) {
	case *Template:
		c.exprs(n.Holes)
	case *List:
		c.exprs(n.Items)
	case *Map:
		for _, i := range n.Items {
			c.add(i.Key, i.Value)
		}
	case *Set:
		c.exprs(n.Items)
	case *Func:
		c.add(n.Name)
		for _, p := range n.Params {
			c.add(p.Name, p.Default)
		}
		c.add(n.Body)
	case *If:
		c.add(n.Cond, n.Then, n.ElseIf, n.Else)
	case *Switch:
		c.add(n.Value)
		for _, k := range n.Cases {
			c.add(k)
		}
	case *Ternary:
		c.add(n.Cond, n.Then, n.Else)
	case *Prefix:
		c.add(n.X)
	case *Infix:
		c.add(n.X, n.Y)
	case *In:
		c.add(n.X, n.Y)
	case *Range:
		c.add(n.X)
	case *Pipe:
		c.exprs(n.Stages)
	case *Call:
		c.add(n.Fun)
		c.exprs(n.Args)
	case *Attr:
		c.add(n.X, n.Name)
	case *Index:
		c.add(n.X, n.I)
	case *Slice:
		c.add(n.X, n.From, n.To)
	case *Receive:
		c.add(n.X)
	case *Paren:
		c.add(n.X)
	}
}

// isNil sees through the interface that holds a nil pointer.
func isNil(n Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *Block:
		return n == nil
	case *Ident:
		return n == nil
	case *If:
		return n == nil
	case *Func:
		return n == nil
	}
	return false
}
