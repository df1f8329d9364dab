package tool

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// layout is how a file's text is kept: what an edit must not change.
type layout struct {
	mark    bool // it starts with a byte order mark
	crlf    bool // most of its lines end in CR LF
	uniform bool // all of them end alike
	final   bool // its last line ends in a line end
}

func layoutOf(b []byte) layout {
	crlf, lf := bytes.Count(b, []byte("\r\n")), bytes.Count(b, []byte("\n"))
	return layout{
		mark:    bytes.HasPrefix(b, byteOrderMark),
		crlf:    crlf > 0 && crlf*2 >= lf,
		uniform: crlf == 0 || crlf == lf,
		final:   len(b) > 0 && b[len(b)-1] == '\n',
	}
}

// replaced lays out a whole new text like the old one.
func (l layout) replaced(text string) []byte {
	text = strings.TrimPrefix(text, string(byteOrderMark))
	if l.crlf && l.uniform {
		text = crlf(text)
	}
	if l.final && text != "" && !strings.HasSuffix(text, "\n") {
		text += l.lineEnd()
	}
	if l.mark {
		text = string(byteOrderMark) + text
	}
	return []byte(text)
}

func (l layout) lineEnd() string {
	if l.crlf {
		return "\r\n"
	}
	return "\n"
}

func crlf(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// plainText is a text without mark and with LF, and where its bytes come from.
type plainText struct {
	text string
	from []int // offset in the file of each byte, and of the end; nil: the same
	mark int
}

// plainOf is what the model sees of a file.
func plainOf(b []byte) plainText {
	p := plainText{}
	if bytes.HasPrefix(b, byteOrderMark) {
		p.mark = len(byteOrderMark)
	}
	body := b[p.mark:]
	if !bytes.Contains(body, []byte("\r\n")) {
		p.text = string(body)
		return p
	}
	var out strings.Builder
	out.Grow(len(body))
	p.from = make([]int, 0, len(body)+1)
	for i, c := range body {
		if c == '\r' && i+1 < len(body) && body[i+1] == '\n' {
			continue
		}
		at := p.mark + i
		if c == '\n' && i > 0 && body[i-1] == '\r' {
			at-- // a line end starts at its CR
		}
		p.from = append(p.from, at)
		out.WriteByte(c)
	}
	p.from = append(p.from, len(b))
	p.text = out.String()
	return p
}

// origin is the file offset of an offset in the text.
func (p plainText) origin(i int) int {
	if p.from == nil {
		return i + p.mark
	}
	return p.from[i]
}

// binary says why bytes are no text that can be shown, "" when they are.
func binary(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}), bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return "UTF-16 text"
	case bytes.IndexByte(b[:min(len(b), 8<<10)], 0) >= 0:
		return "a binary file"
	}
	head := b[:min(len(b), 8<<10)]
	bad := 0
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && n == 1 && (i+utf8.UTFMax < len(head) || len(head) == len(b)) {
			bad++
		}
		i += n
	}
	if bad*10 > len(head) {
		return "not UTF-8 text"
	}
	return ""
}

// visible makes what is no UTF-8 harmless for the wire.
func visible(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// cut shortens a line that nobody reads to its end.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d more bytes)", s[:n], len(s)-n)
}
