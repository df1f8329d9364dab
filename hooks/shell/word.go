package shell

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// words is what a word becomes: several by brace expansion, one otherwise.
func words(w *syntax.Word) []Word {
	// A copy: the parts that SplitBraces makes are unknown to syntax.Walk.
	w = &syntax.Word{Parts: slices.Clone(w.Parts)}
	if !syntax.SplitBraces(w) {
		return []Word{single(w)}
	}
	var out []Word
	for x, err := range expand.BracesSeq(nil, w) {
		if err != nil || len(out) >= maxWords {
			return []Word{{}}
		}
		out = append(out, single(x))
	}
	return out
}

// single is one word after quote removal.
func single(w *syntax.Word) Word {
	var b strings.Builder
	for i, p := range w.Parts {
		if !part(&b, p, i == 0) {
			return Word{}
		}
	}
	return Word{b.String(), true}
}

// part adds the text of a word's part; false when only a shell can know it.
func part(b *strings.Builder, p syntax.WordPart, first bool) bool {
	switch p := p.(type) {
	case *syntax.Lit:
		return bare(b, p.Value, first)
	case *syntax.SglQuoted:
		if !p.Dollar {
			b.WriteString(p.Value)
			return true
		}
		return ansi(b, p.Value)
	case *syntax.DblQuoted:
		if p.Dollar {
			return false // translated by the locale
		}
		for _, q := range p.Parts {
			l, ok := q.(*syntax.Lit)
			if !ok {
				return false
			}
			quoted(b, l.Value, "$`\"\\")
		}
		return true
	}
	return false
}

// bare adds unquoted text. Globs and a leading tilde depend on the machine.
func bare(b *strings.Builder, s string, first bool) bool {
	if first && strings.HasPrefix(s, "~") {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i == len(s) {
				b.WriteByte('\\')
			} else if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '*', '?':
			return false
		case '[':
			if strings.IndexByte(s[i:], ']') > 1 {
				return false
			}
			b.WriteByte(c)
		case '=', ':':
			// bash expands a tilde after these in what looks like an
			// assignment.
			if i+1 < len(s) && s[i+1] == '~' {
				return false
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return true
}

// quoted adds text in which a backslash only escapes some characters.
func quoted(b *strings.Builder, s, escapes string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if s[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte(escapes, s[i+1]) >= 0 {
				i++
			}
		}
		b.WriteByte(s[i])
	}
}

var ansiLetters = map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?'}

// ansi adds the text of $'…'.
func ansi(b *strings.Builder, s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		if l, ok := ansiLetters[c]; ok {
			b.WriteByte(l)
			continue
		}
		base, most, at := 16, 0, i+1
		switch {
		case c == 'x':
			most = 2
		case c == 'u':
			most = 4
		case c == 'U':
			most = 8
		case c >= '0' && c <= '7':
			base, most, at = 8, 3, i
		default:
			return false
		}
		n := 0
		for n < most && at+n < len(s) && digit(s[at+n], base) {
			n++
		}
		v, err := strconv.ParseUint(s[at:at+n], base, 32)
		if err != nil || v == 0 {
			return false // a zero byte ends the word in some shells
		}
		if c == 'u' || c == 'U' {
			b.Write(utf8.AppendRune(nil, rune(v)))
		} else {
			b.WriteByte(byte(v))
		}
		i = at + n - 1
	}
	return true
}

func digit(c byte, base int) bool {
	switch {
	case base == 8:
		return c >= '0' && c <= '7'
	case c >= '0' && c <= '9':
		return true
	}
	c |= 0x20
	return c >= 'a' && c <= 'f'
}

// hereDocument is the text that a command reads from a here-document.
func hereDocument(rd *syntax.Redirect) Word {
	if rd.Hdoc == nil {
		return Word{Known: true}
	}
	plain := literalDelimiter(rd.Word)
	var b strings.Builder
	for _, p := range rd.Hdoc.Parts {
		l, ok := p.(*syntax.Lit)
		switch {
		case !ok:
			return Word{}
		case plain:
			b.WriteString(l.Value)
		default:
			quoted(&b, l.Value, "$`\\")
		}
	}
	text := b.String()
	if rd.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(text, "\n")
		for i, l := range lines {
			lines[i] = strings.TrimLeft(l, "\t")
		}
		text = strings.Join(lines, "")
	}
	return Word{text, true}
}

// literalDelimiter tells whether any part of the delimiter is quoted, which
// keeps the document as it is.
func literalDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); !ok || strings.Contains(l.Value, `\`) {
			return true
		}
	}
	return false
}
