package replay

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"agent-ls/hooks/check"
)

// tomlText is TOML as plain data, with where each key stands.
type tomlText struct {
	root map[string]any
	// keys has the place of each key by its path, and of each [[header]].
	keys map[string]check.Span
	// values has the places of the values that have one of their own.
	values map[string]check.Span
}

// fault is why a text is no TOML.
type fault struct {
	span    check.Span
	message string
}

// readTOML reads a whole text; the first fault ends it.
func readTOML(text []byte) (*tomlText, *fault) {
	if len(text) > maxFixture {
		return nil, &fault{message: fmt.Sprintf("the file is larger than %d bytes", maxFixture)}
	}
	skipped := 0
	if bytes.HasPrefix(text, []byte("\uFEFF")) {
		skipped = 3
	}
	body := text[skipped:]
	if err := tooDeep(body); err != nil {
		return nil, err
	}
	t := &tomlText{keys: map[string]check.Span{}, values: map[string]check.Span{}}
	if err := toml.Unmarshal(body, &t.root); err != nil {
		return nil, faultOf(body, skipped, err)
	}
	p := &placer{text: t, base: skipped, elements: map[string]int{}}
	p.parser.Reset(body)
	for p.parser.NextExpression() {
		p.expression(p.parser.Expression())
	}
	if err := p.parser.Error(); err != nil { // what the decoder took, the parser takes
		return nil, &fault{message: err.Error()}
	}
	return t, nil
}

// maxBrackets bounds how deep values nest, so that no reader recurses further.
const maxBrackets = 200

// tooDeep looks for more brackets, one inside another, than a value may have.
func tooDeep(body []byte) *fault {
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '[', '{':
			if depth++; depth > maxBrackets {
				return &fault{check.Span{Start: i, End: i + 1}, fmt.Sprintf("values are nested more than %d deep", maxBrackets)}
			}
		case ']', '}':
			depth = max(0, depth-1)
		case '#':
			if n := bytes.IndexByte(body[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(body)
			}
		case '"', '\'':
			i = stringEnd(body, i) - 1
		}
	}
	return nil
}

// stringEnd is behind the end of the string that opens at an offset. One that
// does not end takes the line, or the rest where it has three quotes.
func stringEnd(body []byte, at int) int {
	quote := body[at]
	three := bytes.Repeat([]byte{quote}, 3)
	long := bytes.HasPrefix(body[at:], three)
	if at++; long {
		at += 2
	}
	for ; at < len(body); at++ {
		switch {
		case body[at] == '\\' && quote == '"':
			at++
		case long && bytes.HasPrefix(body[at:], three):
			return at + 3
		case !long && (body[at] == quote || body[at] == '\n'):
			return at + 1
		}
	}
	return len(body)
}

func faultOf(body []byte, base int, err error) *fault {
	var decode *toml.DecodeError
	if !errors.As(err, &decode) {
		return &fault{message: strings.TrimPrefix(err.Error(), "toml: ")}
	}
	row, col := decode.Position()
	at := 0
	for range row - 1 {
		end := bytes.IndexByte(body[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	at = min(at+max(col-1, 0), len(body))
	end := at
	for end < len(body) && body[end] != '\n' && body[end] != '\r' {
		end++
	}
	return &fault{check.Span{Start: base + at, End: base + end}, strings.TrimPrefix(decode.Error(), "toml: ")}
}

// placer finds where keys and values stand.
type placer struct {
	text     *tomlText
	base     int
	parser   unstable.Parser
	table    string         // the path of the table that keys go to
	elements map[string]int // how many elements a list of [[headers]] has
}

// Names in paths are written as in JSON Pointers.
var escape, unescape = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// under is the path of a name or an index in something.
func under(path, name string) string { return path + "/" + escape.Replace(name) }

func (p *placer) span(r unstable.Range) check.Span {
	return check.Span{Start: p.base + int(r.Offset), End: p.base + int(r.Offset+r.Length)}
}

func (p *placer) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.KeyValue:
		p.keyValue(p.table, n)
	case unstable.Table, unstable.ArrayTable:
		path := ""
		for it := n.Key(); it.Next(); {
			k := it.Node()
			path = under(path, string(k.Data))
			at := p.span(k.Raw)
			if _, known := p.text.keys[path]; !known {
				p.text.keys[path] = at
			}
			if n.Kind == unstable.ArrayTable && it.IsLast() {
				p.elements[path]++
			}
			if count := p.elements[path]; count > 0 {
				path = under(path, strconv.Itoa(count-1))
				if _, known := p.text.keys[path]; !known {
					p.text.keys[path] = at
				}
			}
		}
		p.table = path
	}
}

func (p *placer) keyValue(path string, n *unstable.Node) {
	for it := n.Key(); it.Next(); {
		k := it.Node()
		path = under(path, string(k.Data))
		if _, known := p.text.keys[path]; !known {
			p.text.keys[path] = p.span(k.Raw)
		}
	}
	p.value(path, n.Value())
}

func (p *placer) value(path string, n *unstable.Node) {
	switch n.Kind {
	case unstable.Array:
		i := 0
		for it := n.Children(); it.Next(); i++ {
			p.value(under(path, strconv.Itoa(i)), it.Node())
		}
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			p.keyValue(path, it.Node())
		}
	default:
		if n.Raw.Length > 0 {
			p.text.values[path] = p.span(n.Raw)
		}
	}
}

// place is where something stands: its value, its key, or what it is in.
func (t *tomlText) place(path string) check.Span {
	for {
		if at, ok := t.values[path]; ok {
			return at
		}
		if at, ok := t.keys[path]; ok || path == "" {
			return at
		}
		path = path[:strings.LastIndexByte(path, '/')]
	}
}

// key is where a key stands.
func (t *tomlText) key(path string) check.Span {
	if at, ok := t.keys[path]; ok {
		return at
	}
	return t.place(path)
}

// plain turns a decoded value into plain data; wrong says what in it is none,
// and at which path.
func plain(v any, path string) (value any, wrong, at string) {
	switch v := v.(type) {
	case string, bool, int64:
		return v, "", ""
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, "is no number that hooks know", path
		}
		return v, "", ""
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			if out[i], wrong, at = plain(e, under(path, strconv.Itoa(i))); wrong != "" {
				return nil, wrong, at
			}
		}
		return out, "", ""
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if out[k], wrong, at = plain(e, under(path, k)); wrong != "" {
				return nil, wrong, at
			}
		}
		return out, "", ""
	case time.Time, toml.LocalDate, toml.LocalDateTime, toml.LocalTime:
		return nil, "is a date, which hooks do not know: write it as a string", path
	default:
		return nil, fmt.Sprintf("is no plain data (%T)", v), path
	}
}
