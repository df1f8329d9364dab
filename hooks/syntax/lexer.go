package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexer cuts a text into tokens, one at a time.
type lexer struct {
	src string
	pos int
	// offsets maps src to the file when src is the cooked text of a template's
	// hole; nil when src is the file itself.
	offsets  []int32
	last     kind // of the token before
	dot      bool // the token before was "."
	bol      bool // nothing but a line end before pos
	ended    bool // a NUL was met
	steps    int
	comments []Comment
	report   func(Error)
}

func newLexer(src string, report func(Error)) *lexer {
	l := &lexer{src: src, report: report, bol: true}
	if strings.HasPrefix(src, "\ufeff") {
		l.pos = len("\ufeff")
	}
	return l
}

// at maps a position in src to the file.
func (l *lexer) at(pos int) int {
	if l.offsets == nil {
		return pos
	}
	return int(l.offsets[min(pos, len(l.offsets)-1)])
}

func (l *lexer) fail(start, end int, format string, args ...any) {
	l.report(Error{Span: Span{l.at(start), l.at(end)}, Message: fmt.Sprintf(format, args...)})
}

func (l *lexer) peek() rune { return l.peekAt(l.pos) }

func (l *lexer) peekAt(pos int) rune {
	if pos >= len(l.src) {
		return 0
	}
	if c := l.src[pos]; c < utf8.RuneSelf {
		return rune(c)
	}
	r, _ := utf8.DecodeRuneInString(l.src[pos:])
	return r
}

func (l *lexer) has(prefix string) bool { return strings.HasPrefix(l.src[l.pos:], prefix) }

// next gives the next token, comments and blanks skipped.
func (l *lexer) next() token {
	l.steps++
	l.skip()
	start := l.pos
	column0 := l.bol
	l.bol = false
	t := l.scan()
	t.column0 = column0
	if t.text == "" {
		t.text = l.src[start:l.pos]
	}
	t.start, t.end = l.at(start), l.at(l.pos)
	t.prec = precedence(&t)
	l.last, l.dot = t.kind, t.is(".")
	return t
}

// skip passes blanks and comments. In Risor a second comment on a line, after
// a block comment, is no comment.
func (l *lexer) skip() {
	for !l.ended && l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t':
			l.pos++
			l.bol = false
		case c == '#' || l.has("//"):
			l.lineComment()
		case l.has("/*"):
			l.blockComment()
			for l.pos < len(l.src) && (l.src[l.pos] == ' ' || l.src[l.pos] == '\t') {
				l.pos++
			}
			if l.pos < len(l.src) && (l.src[l.pos] == '#' || l.has("//") || l.has("/*")) {
				l.fail(l.pos, l.pos+1, "a comment cannot follow a block comment on the same line")
				continue
			}
			return
		default:
			return
		}
	}
}

func (l *lexer) lineComment() {
	start := l.pos
	for l.pos < len(l.src) && l.src[l.pos] != '\n' && l.src[l.pos] != '\r' && l.src[l.pos] != 0 {
		l.pos++
	}
	l.comments = append(l.comments, Comment{Span{l.at(start), l.at(l.pos)}})
	l.bol = false
}

func (l *lexer) blockComment() {
	start := l.pos
	// Risor looks for the end from the star of the beginning on: /*/ is whole.
	if n := strings.Index(l.src[start+1:], "*/"); n >= 0 {
		l.pos = start + 1 + n + 2
	} else {
		l.pos = len(l.src)
		l.fail(start, start+2, "this comment has no end: */ is missing")
	}
	l.comments = append(l.comments, Comment{Span{l.at(start), l.at(l.pos)}})
	l.bol = false
}

func (l *lexer) scan() token {
	if l.ended || l.pos >= len(l.src) {
		return token{kind: eof}
	}
	switch c := l.src[l.pos]; {
	case c == '\n':
		l.pos++
		l.bol = true
		return token{kind: newline}
	case c == '\r':
		l.pos++
		if l.pos < len(l.src) && l.src[l.pos] == '\n' {
			l.pos++
		}
		l.bol = true
		return token{kind: newline}
	case c == 0:
		l.fail(l.pos, l.pos+1, "a NUL character ends the script here")
		l.ended = true
		return token{kind: eof}
	case c == '"':
		return l.quoted('"', stringLit)
	case c == '\'':
		return l.quoted('\'', templateLit)
	case c == '`':
		return l.raw()
	case '0' <= c && c <= '9':
		return l.number()
	}
	if op := l.operator(); op != "" {
		l.pos += len(op)
		return token{kind: operator, text: op}
	}
	return l.word()
}

// operators, longer ones first.
var operators = []string{
	"&&", "||", "==", "++", "+=", "--", "-=", "/=", "**", "*=", "<<", "<=", "<-", ">>", ">=", "!=", ":=",
	"&", "|", "=", ";", "?", "(", ")", ",", ".", "+", "%", "{", "}", "-", "/", "*", "<", ">", "!", "[", "]", ":",
}

// byFirst sorts the operators by their first byte.
var byFirst = func() (table [256][]string) {
	for _, op := range operators {
		table[op[0]] = append(table[op[0]], op)
	}
	return table
}()

func (l *lexer) operator() string {
	for _, op := range byFirst[l.src[l.pos]] {
		if l.has(op) {
			return op
		}
	}
	return ""
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func (l *lexer) word() token {
	start := l.pos
	for l.pos < len(l.src) {
		if c := l.src[l.pos]; 'a' <= c && c <= 'z' || c == '_' || 'A' <= c && c <= 'Z' {
			l.pos++
			continue
		}
		r, size := utf8.DecodeRuneInString(l.src[l.pos:])
		if !isWord(r) {
			break
		}
		l.pos += size
	}
	if l.pos == start {
		r, size := utf8.DecodeRuneInString(l.src[start:])
		l.pos += size
		if r == utf8.RuneError && size == 1 {
			l.fail(start, l.pos, "the byte 0x%02x is not UTF-8", l.src[start])
		} else {
			l.fail(start, l.pos, "%s means nothing here", describeRune(r))
		}
		return token{kind: invalid}
	}
	text := l.src[start:l.pos]
	if r := l.peek(); r > unicode.MaxASCII {
		// Risor wants something of ASCII after a name.
		_, size := utf8.DecodeRuneInString(l.src[l.pos:])
		l.fail(l.pos, l.pos+size, "%s cannot follow a name", describeRune(r))
	}
	if keywords[text] && !(text == "as" && l.dot) {
		return token{kind: keyword, text: text}
	}
	return token{kind: ident, text: text}
}

func describeRune(r rune) string {
	if unicode.IsGraphic(r) && !unicode.IsSpace(r) {
		return fmt.Sprintf("%q", string(r))
	}
	return fmt.Sprintf("the character %U", r)
}

// number reads a decimal, hexadecimal (0x) or octal (0) integer, or a float.
func (l *lexer) number() token {
	start := l.pos
	digits, k := "0123456789", integer
	switch {
	case l.has("0x"):
		digits = "0x123456789abcdefABCDEF"
	case l.src[l.pos] == '0' && l.peekAt(l.pos+1) != '.':
		digits = "01234567"
	}
	l.pos++
	l.run(digits)
	if r := l.peek(); r == '.' && len(digits) == 10 && isDigit(l.peekAt(l.pos+1)) {
		k = float
		l.pos++
		l.run(digits)
	} else if r == '.' {
		// "1." and "1.name" are no numbers.
		l.pos++
		for isWord(l.peek()) {
			l.pos += utf8.RuneLen(l.peek())
		}
		l.fail(start, l.pos, "%s is no number", quote(l.src[start:l.pos]))
		return token{kind: invalid}
	}
	if r := l.peek(); unicode.IsLetter(r) || unicode.IsNumber(r) {
		for r := l.peek(); unicode.IsLetter(r) || unicode.IsNumber(r); r = l.peek() {
			l.pos += utf8.RuneLen(r)
		}
		l.fail(start, l.pos, "%s is no number%s", quote(l.src[start:l.pos]), numberHint(l.src[start:l.pos]))
		return token{kind: invalid}
	}
	return token{kind: k}
}

func numberHint(s string) string {
	switch {
	case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0b"), strings.HasPrefix(s, "0o"), strings.HasPrefix(s, "0"):
		return ": hexadecimal numbers begin with 0x, octal ones with 0"
	case strings.ContainsAny(s, "eE"):
		return ": write it out, there are no exponents"
	}
	return ""
}

func (l *lexer) run(accept string) {
	for l.pos < len(l.src) && strings.IndexByte(accept, l.src[l.pos]) >= 0 {
		l.pos++
	}
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }
