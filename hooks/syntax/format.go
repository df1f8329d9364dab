package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// indentBy is one level of a formatted script.
const indentBy = "    "

// Format lays a script out anew: four spaces for each level of brackets, one
// space between words and around assignments and comparisons, no blanks at the
// ends of lines, at most one empty line in a row, one line end at the end of
// the text. Lines stay lines, and strings and comments stay as they are. A
// script that does not parse is an error that names the first place, and so is
// one that would mean something else afterwards; nothing is formatted then.
func Format(text []byte) ([]byte, error) {
	t := Parse(text)
	if len(t.Errors) > 0 {
		e := t.Errors[0]
		line := 1 + strings.Count(lineEnds.Replace(t.Text[:min(e.Start, len(t.Text))]), "\n")
		return nil, fmt.Errorf("line %d: %s", line, e.Message)
	}
	pieces := piecesOf(t.Text)
	f := formatter{src: t.Text, end: "\n"}
	if strings.Count(t.Text, "\r\n")*2 > strings.Count(t.Text, "\n") {
		f.end = "\r\n"
	}
	if strings.HasPrefix(t.Text, "\ufeff") {
		f.out.WriteString("\ufeff")
	}
	f.write(pieces)
	out := f.out.Bytes()
	if !sameWords(pieces, piecesOf(string(out))) || len(Parse(out).Errors) > 0 {
		return nil, errors.New("formatting would change what the script says; please report this")
	}
	return out, nil
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// piece is a token or a comment.
type piece struct {
	token
	comment bool
}

// piecesOf cuts a text into tokens and comments, in their order.
func piecesOf(src string) []piece {
	l := newLexer(src, func(Error) {})
	var all []piece
	for {
		t := l.next()
		if t.kind == eof {
			break
		}
		all = append(all, piece{token: t})
	}
	for _, c := range l.comments {
		all = append(all, piece{token: token{text: src[c.Start:c.End], start: c.Start, end: c.End}, comment: true})
	}
	slices.SortStableFunc(all, func(a, b piece) int { return a.start - b.start })
	return all
}

// sameWords says whether two texts are the same but for their layout.
func sameWords(a, b []piece) bool {
	return slices.EqualFunc(significant(a), significant(b), func(x, y piece) bool {
		return x.kind == y.kind && x.comment == y.comment && (x.kind == newline || strings.TrimRight(x.text, " \t") == strings.TrimRight(y.text, " \t"))
	})
}

// significant leaves out the ends of empty lines.
func significant(all []piece) []piece {
	var kept []piece
	for _, p := range all {
		if p.kind == newline && (len(kept) == 0 || kept[len(kept)-1].kind == newline) {
			continue
		}
		kept = append(kept, p)
	}
	for len(kept) > 0 && kept[len(kept)-1].kind == newline {
		kept = kept[:len(kept)-1]
	}
	return kept
}

// formatter writes pieces line by line.
type formatter struct {
	src   string
	end   string
	out   bytes.Buffer
	depth int
	block *piece // see blockOf; of the line in work
	last  *piece // the last token written that is no comment and no line end
}

func (f *formatter) write(all []piece) {
	empty, begun := false, false
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(p piece) bool { return p.kind == newline && !p.comment })
		line := all
		if n >= 0 {
			line, all = all[:n], all[n+1:]
		} else {
			all = nil
		}
		if len(line) == 0 {
			empty = true
			continue
		}
		if empty && begun && !f.opened() {
			f.out.WriteString(f.end)
		}
		empty, begun = false, true
		f.line(line)
	}
}

// opened says that the line before ended with an opening bracket, behind which
// nothing is empty.
func (f *formatter) opened() bool {
	return f.last != nil && (f.last.is("{") || f.last.is("(") || f.last.is("["))
}

func (f *formatter) line(line []piece) {
	depth := f.depth
	for i := range line {
		p := &line[i]
		if p.comment || !closes(p) {
			break
		}
		depth--
	}
	first := &line[0]
	switch {
	case !first.comment && (first.key("case") || first.key("default")):
		depth--
	case f.continued(first):
		depth++
	}
	f.out.WriteString(strings.Repeat(indentBy, max(depth, 0)))
	f.block = blockOf(line)
	for i := range line {
		p := &line[i]
		if i > 0 && f.spaced(&line[i-1], p) {
			f.out.WriteByte(' ')
		}
		text := p.text
		if p.comment {
			text = strings.TrimRight(text, " \t")
		}
		f.out.WriteString(text)
		if p.comment {
			continue
		}
		switch {
		case p.is("{"), p.is("("), p.is("["):
			f.depth++
		case closes(p):
			f.depth--
		}
		f.last = p
	}
	f.out.WriteString(f.end)
}

// blockOf is the bracket at the end of a line with which the block of an if, a
// loop, a switch or a function begins, nil if there is none.
func blockOf(line []piece) *piece {
	first := &line[0]
	if first.is("}") && len(line) > 1 {
		first = &line[1]
	}
	if !first.key("if") && !first.key("else") && !first.key("for") && !first.key("switch") && !first.key("func") {
		return nil
	}
	for i := len(line) - 1; i > 0; i-- {
		if p := &line[i]; !p.comment {
			if p.is("{") {
				return p
			}
			return nil
		}
	}
	return nil
}

func closes(p *piece) bool { return p.is("}") || p.is(")") || p.is("]") }

// continued says that a line goes on with what the one before began, outside
// of brackets.
func (f *formatter) continued(first *piece) bool {
	if !first.comment && (first.is(".") || first.is("|")) {
		return true
	}
	l := f.last
	if l == nil || l.kind != operator || closes(l) {
		return false
	}
	switch l.text {
	case "{", "(", "[", ",", ";", ":", "++", "--":
		return false
	}
	return true
}

// around are operators that always stand free.
var around = map[string]bool{
	":=": true, "==": true, "!=": true, "<=": true, ">=": true, "&&": true, "||": true, "+=": true, "-=": true, "*=": true, "/=": true,
}

// spaced says whether there is a blank between two pieces of a line. What is
// not for certain stays as it was written.
func (f *formatter) spaced(a, b *piece) bool {
	was := b.start > a.end
	switch {
	case a.comment || b.comment:
		return true
	case b.is(","), b.is(";"):
		return false
	case a.is(","), a.is(";"):
		return true
	case around[opText(a)], around[opText(b)]:
		return true
	case b.is("{") && (a.is(")") || a.kind == keyword || b == f.block), a.is("}") && b.key("else"):
		return true
	case a.is("("), a.is("["), b.is(")"), b.is("]"):
		return false
	case a.is("{") && b.is("}"):
		return false
	}
	return was
}

func opText(p *piece) string {
	if p.kind == operator {
		return p.text
	}
	return ""
}
