// Package syntax owns the tree of a hook script: a tolerant lexer and parser
// for Risor 1.8.1 that keep comments and byte spans, go on after an error and
// bound what they accept, so that they may read any text in the editor's own
// process. Start at Parse.
//
// The tree accepts what Risor's own parser accepts, with these exceptions,
// all of them programs that do not compile, do not run or do not do what
// they seem to: a block comment without an end, a NUL character, an empty
// default case, a missing operand that Risor reads as none at all (after a
// line end in brackets), a statement as an argument, ++ after something else
// than a name, a loop of more than two variables or of an assignment, a key of
// a map that is no name and no string, a default value that is no literal or
// that a parameter without one follows, a condition that is a map literal over
// several lines, a semicolon that begins a line, and whatever passes the Limits. A lone carriage return ends a
// line, as it does at run time.
package syntax

import (
	"fmt"
	"slices"
	"strings"
)

// Limits bound what Parse accepts. Zero means the default.
type Limits struct {
	Source  int // bytes of text; 1 MiB
	Nesting int // levels of brackets, blocks, prefixes and else-ifs; 256
	Chain   int // operators, calls and attributes in a row; 1,000
	Errors  int // errors that are kept; 100
}

// The defaults of Limits.
const (
	DefaultSource  = 1 << 20
	DefaultNesting = 256
	DefaultChain   = 1000
	DefaultErrors  = 100
)

func (l Limits) filled() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{{&l.Source, DefaultSource}, {&l.Nesting, DefaultNesting}, {&l.Chain, DefaultChain}, {&l.Errors, DefaultErrors}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}

// Tree is a script as it was read. It is never changed after Parse.
type Tree struct {
	Text       string // all of it, a byte order mark included
	Statements []Stmt
	Comments   []Comment
	Errors     []Error // in the order of their starts
	Lines      *Lines
	Steps      int // tokens looked at: the work that it took
}

// Comment is a comment with its marks: `# …`, `// …` or `/* … */`.
type Comment struct{ Span }

// Error is a place that does not parse.
type Error struct {
	Span
	Message string // lower case, says what was expected
	// TooLarge is set when a limit was passed: what follows was not read.
	TooLarge bool
}

// Error makes an Error an error.
func (e Error) Error() string { return e.Message }

// Parse reads a script with the default limits. It never fails: what does not
// parse is in Errors, and the tree holds everything else.
func Parse(text []byte) *Tree { return ParseLimited(text, Limits{}) }

// ParseLimited reads a script within the limits.
func ParseLimited(text []byte, limits Limits) *Tree {
	limits = limits.filled()
	if len(text) > limits.Source {
		// Not even the line table is made: the text is none of ours.
		return &Tree{Lines: NewLines(""), Errors: []Error{{
			Message:  fmt.Sprintf("the script is larger than %d bytes", limits.Source),
			TooLarge: true,
		}}}
	}
	src := string(text)
	t := &Tree{Text: src, Lines: NewLines(src)}
	p := newParser(src, limits, false)
	p.program(t)
	if p.unclosed && !p.stopped {
		// A block had no end. Read once more, and take a function that begins
		// a line for the end of every block: what follows is then judged by
		// itself.
		steps := p.lex.steps
		p = newParser(src, limits, true)
		p.program(t)
		p.lex.steps += steps
	}
	t.Steps = p.lex.steps
	t.Comments = p.lex.comments
	t.Errors = p.errors
	slices.SortStableFunc(t.Errors, func(a, b Error) int { return a.Start - b.Start })
	return t
}

// ErrorIn says whether something in that span does not parse.
func (t *Tree) ErrorIn(s Span) bool {
	i, _ := slices.BinarySearchFunc(t.Errors, s.Start, func(e Error, start int) int { return e.Start - start })
	return i < len(t.Errors) && t.Errors[i].Start < max(s.End, s.Start+1)
}

// quote shows a piece of source in a message.
func quote(s string) string {
	if r := []rune(s); len(r) > 20 {
		s = string(r[:20]) + "…"
	}
	return "\"" + strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + "\""
}
