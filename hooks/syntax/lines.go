package syntax

import (
	"sort"
	"unicode/utf8"
)

// Lines finds the line and column of a byte offset. LF, CRLF and a lone CR
// each end a line; a leading byte order mark is no column.
type Lines struct {
	text   string
	starts []int // byte offset of each line's first byte, the mark skipped
}

// Position is a place in a text in every unit that a reader may need.
type Position struct {
	Offset int // bytes from the start of the text
	Line   int // from 1
	Column int // from 1, in runes
	Byte   int // bytes from the start of the line
	UTF16  int // UTF-16 code units from the start of the line
}

// NewLines makes the table for a text. Byte and UTF16 of the first line count
// a byte order mark as part of the line, as an editor that keeps it does;
// Column does not.
func NewLines(text string) *Lines {
	l := &Lines{text: text, starts: []int{0}}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\r':
			if i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			l.starts = append(l.starts, i+1)
		case '\n':
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// Count gives the number of lines; a text that ends in a line end has an
// empty last one.
func (l *Lines) Count() int { return len(l.starts) }

// Span gives a line's bytes without its end; lines count from 1. A line that
// is not there is empty at the end of the text.
func (l *Lines) Span(line int) Span {
	if line < 1 || line > len(l.starts) {
		return Span{len(l.text), len(l.text)}
	}
	start, end := l.starts[line-1], len(l.text)
	if line < len(l.starts) {
		end = l.starts[line]
	}
	for end > start && (l.text[end-1] == '\n' || l.text[end-1] == '\r') {
		end--
	}
	return Span{start, end}
}

// Position finds a byte offset, which is moved into the text if it is not.
func (l *Lines) Position(offset int) Position {
	offset = max(0, min(offset, len(l.text)))
	line := sort.SearchInts(l.starts, offset+1)
	start := l.starts[line-1]
	p := Position{Offset: offset, Line: line, Byte: offset - start, Column: 1}
	before := l.text[start:offset]
	for i, r := range before {
		if !(i == 0 && line == 1 && r == '\ufeff') {
			p.Column++
		}
		p.UTF16++
		if r > 0xffff {
			p.UTF16++
		}
	}
	return p
}

// Offset finds the byte offset of a line and a column in runes, both from 1.
// What lies outside is moved to the nearest place that exists.
func (l *Lines) Offset(line, column int) int {
	line = max(1, min(line, len(l.starts)))
	s := l.Span(line)
	offset := s.Start
	if line == 1 && len(l.text) >= 3 && l.text[:3] == "\ufeff" {
		offset += 3
	}
	for n := 1; n < column && offset < s.End; n++ {
		_, size := utf8.DecodeRuneInString(l.text[offset:])
		offset += size
	}
	return offset
}
