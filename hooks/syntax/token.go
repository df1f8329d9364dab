package syntax

// Kind is what a token is. Operators are told apart by their text.
type kind uint8

const (
	eof kind = iota
	newline
	ident
	keyword
	integer
	float
	stringLit   // "…"
	templateLit // '…'
	rawLit      // `…`
	operator
	invalid // already reported
)

// token is a piece of source.
type token struct {
	kind  kind
	text  string // as written; for strings, with their quotes
	value string // of strings: cooked
	start int
	end   int
	prec  int // how tightly it binds as an operator
	// column0 is set for the first token of a line without white space before.
	column0 bool
	// offsets maps the bytes of a template's value to the source; it has one
	// more entry, for the end.
	offsets []int32
}

func (t *token) is(op string) bool    { return t.kind == operator && t.text == op }
func (t *token) key(word string) bool { return t.kind == keyword && t.text == word }

// name shows the token in a message.
func (t *token) name() string {
	switch t.kind {
	case eof:
		return "the end of the script"
	case newline:
		return "the end of the line"
	case stringLit, templateLit, rawLit:
		return "a string"
	default:
		return quote(t.text)
	}
}

var keywords = map[string]bool{
	"as": true, "break": true, "case": true, "const": true, "continue": true, "default": true, "defer": true,
	"else": true, "false": true, "for": true, "from": true, "func": true, "go": true, "if": true, "import": true,
	"in": true, "nil": true, "range": true, "return": true, "struct": true, "switch": true, "true": true, "var": true,
}

// Keywords lists the words that cannot be names.
func Keywords() []string {
	return []string{"as", "break", "case", "const", "continue", "default", "defer", "else", "false", "for", "from",
		"func", "go", "if", "import", "in", "nil", "range", "return", "struct", "switch", "true", "var"}
}

// How tightly operators bind, as in Risor.
const (
	lowest = iota + 1
	pipePrec
	condPrec
	assignPrec
	declarePrec
	ternaryPrec
	equalsPrec
	lessPrec
	sumPrec
	productPrec
	powerPrec
	modPrec
	prefixPrec
	callPrec
	indexPrec
)

var precedences = map[string]int{
	"?": ternaryPrec, "=": assignPrec, ":=": declarePrec, "==": equalsPrec, "!=": equalsPrec,
	"<": lessPrec, "<=": lessPrec, ">": lessPrec, ">=": lessPrec,
	"+": sumPrec, "+=": sumPrec, "-": sumPrec, "-=": sumPrec,
	"/": productPrec, "/=": productPrec, "*": productPrec, "*=": productPrec, "&": productPrec, ">>": productPrec, "<<": productPrec,
	"**": powerPrec, "%": modPrec, "&&": condPrec, "||": condPrec, "|": pipePrec,
	"(": callPrec, ".": indexPrec, "[": indexPrec, "<-": callPrec,
}

func precedence(t *token) int {
	switch {
	case t.kind == operator:
		if p, ok := precedences[t.text]; ok {
			return p
		}
	case t.key("in"), t.key("range"):
		return prefixPrec
	}
	return lowest
}
