package syntax

// Span is a range of bytes of the text, end exclusive.
type Span struct{ Start, End int }

// Pos gives the span itself; with it every node is a Node.
func (s Span) Pos() Span { return s }

// Contains says whether the offset is in the span or at its end, where a
// cursor that just typed it is.
func (s Span) Contains(offset int) bool { return s.Start <= offset && offset <= s.End }

// Node is a piece of the tree.
type Node interface{ Pos() Span }

// Stmt is a node that stands for itself.
type Stmt interface {
	Node
	stmt()
}

// Expr is a node that has a value.
type Expr interface {
	Node
	height() int
}

// base is the span and the height of an expression: one more than the highest
// one in it. Heights are bounded, so that whoever walks a tree may recurse.
type base struct {
	Span
	tall int
}

func (b *base) height() int { return b.tall }

func (b *Block) height() int { return b.tall }

// statement marks a Stmt.
type statement struct{ Span }

func (statement) stmt() {}

// The statements.
type (
	// ExprStmt is an expression by itself; the last one of a function is its result.
	ExprStmt struct {
		statement
		X Expr
	}
	// Declare defines names: `a := v`, `a, b := v`, `var a = v`, `const a = v`.
	Declare struct {
		statement
		Names []*Ident
		Op    string // ":=", "var", "const"
		Value Expr
	}
	// Assign changes what is there: `a = v`, `a, b = v`, `a.b += v`, `a[i] = v`.
	Assign struct {
		statement
		Targets []Expr // Ident, Attr or Index; more than one are Idents
		Op      string // "=", "+=", "-=", "*=", "/="
		Value   Expr
	}
	// Postfix is `a++` or `a--`.
	Postfix struct {
		statement
		Name *Ident
		Op   string
	}
	// Return ends a function.
	Return struct {
		statement
		Value Expr // nil for none
	}
	// Control is break or continue.
	Control struct {
		statement
		Word string
	}
	// For is a loop of any of the four forms.
	For struct {
		statement
		Keyword Span
		// Vars are the variables of a range loop, at most two of use.
		Vars  []*Ident
		Range Expr // what a range loop goes over
		Init  Stmt // of a loop of three parts
		Cond  Expr // nil for an endless loop and for a range loop
		Post  Stmt
		Body  *Block
	}
	// Import is `import a as b` or one name of `from p import a as b`.
	Import struct {
		statement
		Path   string // what is imported: "a", "dir/a"
		From   string // "p" of the from form, its parts joined by "/"
		Module *Ident // where the path stands; its name is the path
		Name   *Ident // what it is called here
	}
	// Imports is a from-import of one or more names.
	Imports struct {
		statement
		From  *Ident
		Names []*Import
	}
	// Go is `go f()` or `defer f()`.
	Go struct {
		statement
		Word string
		Call Expr
	}
	// Send is `ch <- v`.
	Send struct {
		statement
		Channel, Value Expr
	}
	// BadStmt is what could not be read.
	BadStmt struct{ statement }
)

// Block is statements in braces.
type Block struct {
	Span
	Statements []Stmt
	tall       int
}

// The expressions.
type (
	// Ident is a name.
	Ident struct {
		base
		Name string
	}
	// Int is a whole number.
	Int struct {
		base
		Value int64
	}
	// Float is a number with a point.
	Float struct {
		base
		Value float64
	}
	// Bool is true or false.
	Bool struct {
		base
		Value bool
	}
	// Nil is nil.
	Nil struct{ base }
	// String is text: "…", `…`, or '…' without holes.
	String struct {
		base
		Value string
	}
	// Template is '…' with holes in braces.
	Template struct {
		base
		Texts []string // before, between and after the holes
		Holes []Expr   // nil for an empty one
	}
	// List is `[a, b]`.
	List struct {
		base
		Items []Expr
	}
	// Map is `{a: b}`.
	Map struct {
		base
		Items []MapItem
	}
	// Set is `{a, b}`.
	Set struct {
		base
		Items []Expr
	}
	// Func is a function, named or not.
	Func struct {
		base
		Keyword Span
		Name    *Ident // nil for none
		Params  []Param
		// Parens is the list of parameters with its brackets.
		Parens Span
		Body   *Block
	}
	// If is a condition; with Else it may have two values.
	If struct {
		base
		Keyword Span
		Cond    Expr
		Then    *Block
		Else    *Block // nil for none, or when ElseIf is set
		ElseIf  *If
	}
	// Switch compares a value.
	Switch struct {
		base
		Keyword Span
		Value   Expr
		Cases   []*Case
	}
	// Ternary is `c ? a : b`.
	Ternary struct {
		base
		Cond, Then, Else Expr
	}
	// Prefix is `!a`, `-a` or `|a`.
	Prefix struct {
		base
		Op string
		X  Expr
	}
	// Infix is `a + b`.
	Infix struct {
		base
		Op   string
		OpAt Span
		X, Y Expr
	}
	// In is `a in b`.
	In struct {
		base
		X, Y Expr
	}
	// Range is `range a`.
	Range struct {
		base
		X Expr
	}
	// Pipe is `a | f | g`.
	Pipe struct {
		base
		Stages []Expr
	}
	// Call is `f(a)`.
	Call struct {
		base
		Fun    Expr
		Args   []Expr
		Parens Span
	}
	// Attr is `a.b`.
	Attr struct {
		base
		X    Expr
		Dot  int    // where the dot is
		Name *Ident // empty when it is not yet typed
	}
	// Index is `a[i]`.
	Index struct {
		base
		X, I Expr
	}
	// Slice is `a[i:j]`.
	Slice struct {
		base
		X, From, To Expr // From and To may be nil
	}
	// Receive is `<- ch`.
	Receive struct {
		base
		X Expr
	}
	// Paren is `(a)`.
	Paren struct {
		base
		X Expr
	}
	// Bad is a value that is missing or could not be read.
	Bad struct{ base }
)

// MapItem is `key: value`.
type MapItem struct{ Key, Value Expr }

// KeyName gives the item's key when it is known: a name or a plain string.
func (m MapItem) KeyName() (string, bool) {
	switch k := m.Key.(type) {
	case *Ident:
		return k.Name, true
	case *String:
		return k.Value, true
	}
	return "", false
}

// Param is a parameter with its default, nil for none.
type Param struct {
	Name    *Ident
	Default Expr
}

// Case is one case of a switch.
type Case struct {
	Span
	Keyword Span
	Default bool
	Values  []Expr
	Body    *Block // its span begins after the colon
}

// Unparen takes brackets off.
func Unparen(e Expr) Expr {
	for {
		p, ok := e.(*Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}
