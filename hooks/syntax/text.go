package syntax

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// raw reads `…`, which may span lines and has no escapes.
func (l *lexer) raw() token {
	start := l.pos
	n := strings.IndexAny(l.src[start+1:], "`\x00")
	if n < 0 || l.src[start+1+n] == 0 {
		l.pos = len(l.src)
		l.fail(start, start+1, "this string has no end: ` is missing")
		return token{kind: rawLit, value: l.src[start+1:]}
	}
	l.pos = start + 1 + n + 1
	return token{kind: rawLit, value: l.src[start+1 : l.pos-1]}
}

// quoted reads "…" or '…' with its escapes, on one line.
func (l *lexer) quoted(end byte, k kind) token {
	start := l.pos
	l.pos++
	if n := strings.IndexAny(l.src[l.pos:], "\\\r\n\x00"+string(end)); n >= 0 && l.src[l.pos+n] == end && k == stringLit {
		value := l.src[l.pos : l.pos+n] // nothing to cook
		l.pos += n + 1
		return token{kind: k, value: value}
	}
	c := cooker{lexer: l, end: end, mapped: k == templateLit}
	ok := c.cook()
	if !ok {
		l.fail(start, l.pos, "this string has no end: %c is missing on its line", end)
	}
	t := token{kind: k, value: c.out.String()}
	if c.mapped {
		t.offsets = append(c.offsets, int32(l.at(max(l.pos-1, start+1))))
	}
	return t
}

// cooker turns escapes into what they stand for and notes where each byte of
// the result came from.
type cooker struct {
	*lexer
	end     byte
	mapped  bool
	out     strings.Builder
	offsets []int32
}

func (c *cooker) put(s string, from int) {
	c.out.WriteString(s)
	if c.mapped {
		for i := range len(s) {
			at := from
			if len(s) > 1 && from+i < c.pos && c.src[from] != '\\' {
				at += i
			}
			c.offsets = append(c.offsets, int32(c.at(at)))
		}
	}
}

// cook reads to the closing quote; false when the line ends before.
func (c *cooker) cook() bool {
	for c.pos < len(c.src) {
		from := c.pos
		switch b := c.src[c.pos]; {
		case b == '\n' || b == '\r' || b == 0:
			return false
		case b == c.end:
			c.pos++
			return true
		case b == '\\':
			c.pos++
			c.escape(from)
		default:
			_, size := utf8.DecodeRuneInString(c.src[c.pos:])
			c.pos += size
			c.put(c.src[from:c.pos], from)
		}
	}
	return false
}

var simpleEscapes = map[byte]string{'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '\\': "\\", 'e': "\x1b"}

func (c *cooker) escape(from int) {
	if c.pos >= len(c.src) {
		return
	}
	b := c.src[c.pos]
	if b == '\n' || b == '\r' || b == 0 {
		return // cook reports that the string has no end
	}
	if s, ok := simpleEscapes[b]; ok || b == c.end {
		if b == c.end {
			s = string(b)
		}
		c.pos++
		c.put(s, from)
		return
	}
	switch {
	case b == 'x':
		c.numeric(from, 2, 16)
	case b == 'u':
		c.numeric(from, 4, 16)
	case b == 'U':
		c.numeric(from, 8, 16)
	case '0' <= b && b <= '3':
		c.pos-- // the digit counts
		c.numeric(from, 3, 8)
	default:
		_, size := utf8.DecodeRuneInString(c.src[c.pos:])
		c.pos += size
		c.fail(from, c.pos, "%s is no escape; a backslash is written \\\\", quote(c.src[from:c.pos]))
	}
}

// numeric reads the digits of an escape; pos is at the letter before them.
func (c *cooker) numeric(from, count, base int) {
	c.pos++
	start := c.pos
	for c.pos < len(c.src) && c.pos-start < count {
		b := c.src[c.pos]
		if !(base == 16 && isHex(b) || base == 8 && '0' <= b && b <= '7') {
			break
		}
		c.pos++
	}
	n, err := strconv.ParseInt(c.src[start:c.pos], base, 32)
	if err != nil || c.pos-start < count {
		c.fail(from, c.pos, "%s is no escape: it needs %d digits", quote(c.src[from:c.pos]), count)
		return
	}
	if base == 8 {
		c.put(string([]byte{byte(n)}), from)
		return
	}
	c.put(string(rune(n)), from)
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}
