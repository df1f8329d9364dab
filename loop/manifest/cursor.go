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

// bodyCursor reads keys and values from a section's start to the offset.
func (d *document) bodyCursor(at, offset int, path []string) cursor {
	text := d.text
	c := cursor{table: slices.Clone(path)}
	base := c.table
	var stack []opened
	var dotted []string // the parts of a dotted key so far
	reset := func() {
		c.table, c.key, c.inValue, dotted = base, "", false, nil
	}
	for at < offset {
		switch b := text[at]; {
		case b == '\n' && len(stack) == 0:
			reset()
			at++
		case b == '#':
			end := lineEnd(text, at)
			if offset <= end {
				return cursor{nothing: true, token: check.Span{Start: offset, End: offset}}
			}
			at = end
		case b == '=':
			if len(dotted) > 0 {
				c.table = append(slices.Clip(c.table), dotted[:len(dotted)-1]...)
				c.key = dotted[len(dotted)-1]
			}
			c.inValue, dotted = true, nil
			at++
		case b == '[' || b == '{':
			stack = append(stack, opened{b == '[', c.table, c.key})
			if b == '{' {
				c.table = append(slices.Clip(c.table), c.key)
				c.key, c.inValue = "", false
			}
			at++
		case b == ']' || b == '}':
			if n := len(stack); n > 0 {
				c.table, c.key, c.inValue = stack[n-1].path, stack[n-1].key, true
				stack = stack[:n-1]
			}
			at++
		case b == ',':
			if n := len(stack); n > 0 && !stack[n-1].list {
				c.table, c.key, c.inValue = append(slices.Clip(stack[n-1].path), stack[n-1].key), "", false
			}
			dotted = nil
			at++
		case b == '"' || b == '\'' || isWord(b) || b == '-' || b == '+':
			end := max(tokenEnd(text, at), at+1)
			if offset <= end && !(offset == end && (b == '"' || b == '\'') && closedString(text[at:end])) {
				c.finish(text, check.Span{Start: at, End: end}, stack, dotted)
				return c
			}
			if !c.inValue {
				dotted = append(dotted, bare(string(text[at:end])))
			}
			at = end
		default:
			at++
		}
	}
	end := offset
	if !bytes.ContainsAny(text[offset:min(offset+1, len(text))], " \t\r\n,]}") {
		end = tokenEnd(text, offset)
	}
	c.finish(text, check.Span{Start: offset, End: end}, stack, dotted)
	return c
}

func closedString(token []byte) bool {
	return len(token) > 1 && token[len(token)-1] == token[0]
}

func (c *cursor) finish(text []byte, token check.Span, stack []opened, dotted []string) {
	c.setToken(text, token)
	c.inList = len(stack) > 0 && stack[len(stack)-1].list && c.inValue
	if !c.inValue {
		c.table = append(slices.Clip(c.table), dotted...)
	}
}
