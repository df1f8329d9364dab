package hooks

import (
	"unicode"
	"unicode/utf8"

	"agent-ls/hooks/syntax"
)

// source is a text in which places are looked up.
type source struct {
	path   string
	text   string
	lines  *syntax.Lines
	digest string
}

// locate gives the place at a line and a column, and the word that stands
// there.
func (s *source) locate(line, column int) *Location {
	start := s.lines.Offset(line, column)
	end := start
	for end < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[end:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			if end == start && r != '\n' && r != '\r' {
				end += n
			}
			break
		}
		end += n
	}
	return &Location{Path: s.path, Start: position(s.lines.Position(start)), End: position(s.lines.Position(end))}
}

func position(p syntax.Position) Position {
	return Position{Offset: p.Offset, Line: p.Line, Column: p.Column, Byte: p.Byte, UTF16: p.UTF16}
}
