// Package text owns what editors and we disagree about: positions in the
// three encodings of the protocol, line ends, edits in sequence, and URIs.
// Start at Source. It knows nothing of the protocol's types.
package text

import (
	"fmt"
	"unicode/utf8"
)

// Encoding is the unit in which an editor counts columns.
type Encoding uint8

const (
	NoEncoding Encoding = iota
	UTF8                // bytes
	UTF16               // UTF-16 code units: the protocol's default
	UTF32               // runes
)

// String returns the protocol's name of the encoding.
func (e Encoding) String() string {
	switch e {
	case UTF8:
		return "utf-8"
	case UTF16:
		return "utf-16"
	case UTF32:
		return "utf-32"
	}
	return "none"
}

// width is how many units a rune of size bytes takes.
func (e Encoding) width(r rune, size int) int {
	switch e {
	case UTF8:
		return size
	case UTF32:
		return 1
	}
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// Position is a place in a text as the protocol has it: both from zero.
type Position struct{ Line, Character uint32 }

// Range is a range of positions, end exclusive.
type Range struct{ Start, End Position }

// Span is a range of bytes, end exclusive.
type Span struct{ Start, End int }

// Source is a text with its line starts. It never changes.
type Source struct {
	text  string
	lines []int // byte offset of each line's first byte; lines[0] is 0
}

// NewSource indexes a text. A line ends at LF, CRLF or a lone CR.
func NewSource(text string) *Source {
	return &Source{text: text, lines: appendLineStarts([]int{0}, text, 0, len(text))}
}

// appendLineStarts appends the offsets that follow each line end in
// text[from:to]. A CR at to-1 that is followed by LF ends no line by itself.
func appendLineStarts(lines []int, text string, from, to int) []int {
	for i := from; i < to; i++ {
		switch text[i] {
		case '\n':
			lines = append(lines, i+1)
		case '\r':
			if i+1 < len(text) && text[i+1] == '\n' {
				continue
			}
			lines = append(lines, i+1)
		}
	}
	return lines
}

// Text returns the whole text.
func (s *Source) Text() string { return s.text }

// Lines returns the number of lines; an empty text has one.
func (s *Source) Lines() int { return len(s.lines) }

// Line returns the text of a line without its line end. Lines count from
// zero; a line past the end is empty.
func (s *Source) Line(n int) string {
	if n < 0 || n >= len(s.lines) {
		return ""
	}
	return s.text[s.lines[n]:s.lineEnd(n)]
}

// LineSpan returns the bytes of a line without its line end, clamped.
func (s *Source) LineSpan(n int) Span {
	n = min(max(n, 0), len(s.lines)-1)
	return Span{s.lines[n], s.lineEnd(n)}
}

// lineEnd is the offset of the line end's first byte, or of the text's end.
func (s *Source) lineEnd(n int) int {
	if n+1 >= len(s.lines) {
		return len(s.text)
	}
	end := s.lines[n+1]
	if end > 0 && s.text[end-1] == '\n' {
		end--
		if end > s.lines[n] && s.text[end-1] == '\r' {
			end--
		}
		return end
	}
	return end - 1 // a lone CR
}

// LineOf returns the line, from zero, that an offset is on.
func (s *Source) LineOf(offset int) int {
	lo, hi := 0, len(s.lines)
	for lo+1 < hi {
		mid := (lo + hi) / 2
		if s.lines[mid] <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// OffsetPosition converts a byte offset. An offset outside the text is
// clamped, one inside a character goes back to the character's start, and one
// inside a line end goes back to the end of the line.
func (s *Source) OffsetPosition(enc Encoding, offset int) Position {
	offset = min(max(offset, 0), len(s.text))
	line := s.LineOf(offset)
	start := s.lines[line]
	offset = min(offset, s.lineEnd(line))
	if enc == UTF8 {
		for offset > start && offset < len(s.text) && !utf8.RuneStart(s.text[offset]) && insideRune(s.text[start:], offset-start) {
			offset--
		}
		return Position{uint32(line), uint32(offset - start)}
	}
	units := 0
	for i := start; i < offset; {
		r, size := rune(s.text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s.text[i:])
		}
		if i+size > offset {
			break
		}
		units += enc.width(r, size)
		i += size
	}
	return Position{uint32(line), uint32(units)}
}

// insideRune reports whether byte i of text belongs to a valid character that
// starts before it. Stray continuation bytes stand for themselves.
func insideRune(text string, i int) bool {
	for back := 1; back < utf8.UTFMax && i-back >= 0; back++ {
		if utf8.RuneStart(text[i-back]) {
			_, size := utf8.DecodeRuneInString(text[i-back:])
			return size > back
		}
	}
	return false
}

// PositionOffset converts a position. A line past the end means the end of the
// text, a column past the end of its line the end of that line, and a column
// inside a character the character's start.
func (s *Source) PositionOffset(enc Encoding, pos Position) int {
	if int64(pos.Line) >= int64(len(s.lines)) {
		return len(s.text)
	}
	line := int(pos.Line)
	i, end := s.lines[line], s.lineEnd(line)
	for units := int64(0); i < end; {
		r, size := rune(s.text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s.text[i:])
		}
		units += int64(enc.width(r, size))
		if units > int64(pos.Character) {
			break
		}
		i += size
	}
	return i
}

// SpanRange converts a span.
func (s *Source) SpanRange(enc Encoding, span Span) Range {
	return Range{s.OffsetPosition(enc, span.Start), s.OffsetPosition(enc, span.End)}
}

// RangeSpan converts a range. A range whose end lies before its start is
// turned around.
func (s *Source) RangeSpan(enc Encoding, r Range) Span {
	start, end := s.PositionOffset(enc, r.Start), s.PositionOffset(enc, r.End)
	if end < start {
		start, end = end, start
	}
	return Span{start, end}
}

// Column returns the one-based column in runes that people are shown.
func (s *Source) Column(offset int) int {
	return int(s.OffsetPosition(UTF32, offset).Character) + 1
}

// EOL returns the line end that the text uses: that of its first line, LF for
// a text of one line.
func (s *Source) EOL() string {
	if len(s.lines) < 2 {
		return "\n"
	}
	return s.text[s.lineEnd(0):s.lines[1]]
}

// String describes the source for logs, without its text.
func (s *Source) String() string {
	return fmt.Sprintf("%d bytes, %d lines", len(s.text), len(s.lines))
}
