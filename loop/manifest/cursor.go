package manifest

import (
	"bytes"
	"slices"
	"strings"

	"agent-ls/hooks/check"
)

// cursor is what stands at an offset of a settings file, read from the text
// alone so that it works in a line that does not parse yet.
type cursor struct {
	table    []string   // the table that the offset is in, inline tables included
	key      string     // in a value: its key
	inValue  bool       // after the `=`
	inHeader bool       // between the brackets of a [header]
	inList   bool       // in a list of the value
	token    check.Span // the word or string there, quotes included; may be empty
	text     string     // the token without quotes
	quote    byte       // the token's quote, 0 for a bare one
	nothing  bool       // in a comment, on a bracket
}

// cursorAt reads from the section's start up to the offset.
func (d *document) cursorAt(offset int) cursor {
	offset = min(max(offset, 0), len(d.text))
	start := 0
	var path []string
	for _, s := range d.sections {
		if s.header.Start > offset {
			break
		}
		if s.header.End > s.header.Start && offset <= s.header.End && (offset > s.header.Start || s.table == nil) {
			return d.headerCursor(s.header, offset)
		}
		start, path = s.start, s.path
	}
	return d.bodyCursor(start, offset, path)
}

// headerCursor reads the names of a header up to the one at the offset. On
// the brackets, and behind them, there is nothing.
func (d *document) headerCursor(header check.Span, offset int) cursor {
	c := cursor{inHeader: true}
	at := header.Start
	for at < header.End && (d.text[at] == '[' || d.text[at] == ' ' || d.text[at] == '\t') {
		at++
	}
	for at <= offset {
		end := tokenEnd(d.text, at)
		if offset <= end {
			c.setToken(d.text, check.Span{Start: at, End: end})
			return c
		}
		c.table = append(c.table, bare(string(d.text[at:end])))
		if at = skipBlank(d.text, end); at >= len(d.text) || d.text[at] != '.' {
			break
		}
		at = skipBlank(d.text, at+1)
	}
	return cursor{nothing: true, token: check.Span{Start: offset, End: offset}}
}

func (c *cursor) setToken(text []byte, span check.Span) {
	c.token = span
	c.text = string(text[span.Start:span.End])
	if c.text != "" && (c.text[0] == '"' || c.text[0] == '\'') {
		c.quote = c.text[0]
		c.text = bare(c.text)
	}
}

// bare takes the quotes off a token, closed or not.
func bare(token string) string {
	if token == "" || token[0] != '"' && token[0] != '\'' {
		return token
	}
	return strings.TrimSuffix(token[1:], token[:1])
}

// tokenEnd returns the end of the bare word or string that begins at an offset.
func tokenEnd(text []byte, at int) int {
	if at < len(text) && (text[at] == '"' || text[at] == '\'') {
		return stringEnd(text, at)
	}
	for at < len(text) && (isWord(text[at]) || text[at] == '-') {
		at++
	}
	return at
}

// opened is a bracket that is open where the reading is.
type opened struct {
	list bool
	path []string // of the table that it interrupts
	key  string
}

// bodyReader follows keys and values up to where a cursor is.
type bodyReader struct {
	cursor
	base   []string // the table of the section
	stack  []opened
	dotted []string // the parts of a dotted key so far
}

// bodyCursor reads keys and values from a section's start to the offset.
func (d *document) bodyCursor(at, offset int, path []string) cursor {
	text := d.text
	r := bodyReader{base: slices.Clone(path)}
	r.table = r.base
	for at < offset {
		switch b := text[at]; {
		case b == '#':
			end := lineEnd(text, at)
			if offset <= end {
				return cursor{nothing: true, token: check.Span{Start: offset, End: offset}}
			}
			at = end
		case b == '"' || b == '\'' || isWord(b) || b == '-' || b == '+':
			end := max(tokenEnd(text, at), at+1)
			if offset <= end && !(offset == end && (b == '"' || b == '\'') && closedString(text[at:end])) {
				return r.end(text, check.Span{Start: at, End: end})
			}
			if !r.inValue {
				r.dotted = append(r.dotted, bare(string(text[at:end])))
			}
			at = end
		default:
			r.mark(b)
			at++
		}
	}
	end := offset
	if !bytes.ContainsAny(text[offset:min(offset+1, len(text))], " \t\r\n,]}") {
		end = tokenEnd(text, offset)
	}
	return r.end(text, check.Span{Start: offset, End: end})
}

// mark moves on over a byte that is neither word, string nor comment.
func (r *bodyReader) mark(b byte) {
	n := len(r.stack)
	switch {
	case b == '\n' && n == 0:
		r.table, r.key, r.inValue, r.dotted = r.base, "", false, nil
	case b == '=':
		if last := len(r.dotted) - 1; last >= 0 {
			r.table = append(slices.Clip(r.table), r.dotted[:last]...)
			r.key = r.dotted[last]
		}
		r.inValue, r.dotted = true, nil
	case b == '[' || b == '{':
		r.stack = append(r.stack, opened{b == '[', r.table, r.key})
		if b == '{' {
			r.table = append(slices.Clone(r.table), r.key)
			r.key, r.inValue = "", false
		}
	case (b == ']' || b == '}') && n > 0:
		r.table, r.key, r.inValue = r.stack[n-1].path, r.stack[n-1].key, true
		r.stack = r.stack[:n-1]
	case b == ',':
		if n > 0 && !r.stack[n-1].list {
			r.table, r.key, r.inValue = append(slices.Clip(r.stack[n-1].path), r.stack[n-1].key), "", false
		}
		r.dotted = nil
	}
}

// end gives the cursor, whose token is at the span.
func (r *bodyReader) end(text []byte, token check.Span) cursor {
	r.setToken(text, token)
	r.inList = len(r.stack) > 0 && r.stack[len(r.stack)-1].list && r.inValue
	if !r.inValue {
		r.table = append(slices.Clip(r.table), r.dotted...)
	}
	return r.cursor
}

func closedString(token []byte) bool {
	return len(token) > 1 && token[len(token)-1] == token[0]
}
