package contract

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Fits says whether plain data has that shape; the error names the place in
// it, starting at the name that the caller gives it.
func Fits(v any, t *Type, name string) error { return fits(v, t, name) }

func fits(v any, t *Type, at string) error {
	if v == nil && (t.Nullable || t.Kind == Any || t.Kind == Nil) {
		return nil
	}
	switch t.Kind {
	case Any:
		return nil
	case Bool:
		_, ok := v.(bool)
		return want(ok, v, t, at)
	case Int:
		_, ok := v.(int64)
		return want(ok, v, t, at)
	case Float:
		switch v.(type) {
		case float64, int64:
			return nil
		}
	case String:
		s, ok := v.(string)
		if ok && len(t.Values) > 0 && !slices.Contains(t.Values, s) {
			return fmt.Errorf("%s is %s, which is none of %s", at, quote(s), some(t.Values))
		}
		return want(ok, v, t, at)
	case List:
		list, ok := v.([]any)
		if !ok {
			break
		}
		for i, e := range list {
			if err := fits(e, t.Elem, at+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
		return nil
	case Map:
		m, ok := v.(map[string]any)
		if !ok {
			break
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if err := fits(m[k], t.Elem, at+"["+quote(k)+"]"); err != nil {
				return err
			}
		}
		return nil
	case Object:
		m, ok := v.(map[string]any)
		if !ok {
			break
		}
		return fitsObject(m, t, at)
	}
	return want(false, v, t, at)
}

func fitsObject(m map[string]any, t *Type, at string) error {
	names := fieldNames(t.Fields)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(names, k) {
			return fmt.Errorf("%s has a field %s, which is none of %s%s", at, quote(k), enumerate(names, "and"), DidYouMean(k, names))
		}
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		v, given := m[f.Name]
		if !given {
			if f.Optional {
				continue
			}
			return fmt.Errorf("%s has no field %q", at, f.Name)
		}
		if err := fits(v, &f.Type, at+"."+f.Name); err != nil {
			return err
		}
	}
	return nil
}

func want(ok bool, v any, t *Type, at string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s must be %s, not %s", at, t.Phrase(), describe(v))
}

// Phrase names the shape in a sentence: `a list of strings`.
func (t *Type) Phrase() string {
	s := t.phrase()
	if t.Nullable {
		s += " or nil"
	}
	return s
}

func (t *Type) phrase() string {
	switch t.Kind {
	case Any:
		return "anything"
	case Nil:
		return "nil"
	case Bool:
		return "true or false"
	case List:
		return "a list of " + t.Elem.plural()
	case Map:
		return "a map of names to " + t.Elem.plural()
	case Object:
		return "a map of " + enumerate(fieldNames(t.Fields), "and")
	case Int:
		return "an int"
	default:
		return "a " + t.Kind.String()
	}
}

func (t *Type) plural() string {
	switch t.Kind {
	case Any:
		return "anything"
	case Object:
		return "{" + listNames(t.Fields) + "}"
	case List:
		return "lists of " + t.Elem.plural()
	case Map:
		return "maps of names to " + t.Elem.plural()
	default:
		return t.Kind.String() + "s"
	}
}

// String writes the shape as the reference page and hover do:
// `list of {id: string, name: string, arguments: map of any}`.
func (t Type) String() string {
	s := t.Kind.String()
	switch t.Kind {
	case List, Map:
		s += " of " + t.Elem.String()
	case Object:
		s = "{"
		for i, f := range t.Fields {
			if i > 0 {
				s += ", "
			}
			s += f.Name
			if f.Optional {
				s += "?"
			}
			s += ": " + f.Type.String()
		}
		s += "}"
	case String:
		for i, v := range t.Values {
			if i == 0 {
				s = ""
			} else {
				s += " | "
			}
			s += strconv.Quote(v)
		}
	}
	if t.Nullable {
		s += " or nil"
	}
	return s
}

func listNames(fields []Field) string {
	s := ""
	for i, f := range fields {
		if i > 0 {
			s += ", "
		}
		s += f.Name
	}
	return s
}

// describe names a value's kind in a sentence, with its article.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return "the int " + strconv.FormatInt(v, 10)
	case float64:
		return "the float " + strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return "the string " + quote(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	default:
		return fmt.Sprintf("a value of Go type %T, which is not plain data", v)
	}
}

// quote shows a text in an error: control characters escaped, long ones cut.
func quote(s string) string {
	const limit = 60
	if len(s) > limit {
		cut := limit
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		return strconv.Quote(s[:cut]) + "..."
	}
	return strconv.Quote(s)
}

// measure walks an answer and refuses one that is too deep, too large or not
// plain data. A value that contains itself is too deep.
func measure(v any, caps Caps) error {
	if caps.Bytes <= 0 {
		caps.Bytes = DefaultBytes
	}
	if caps.Depth <= 0 {
		caps.Depth = DefaultDepth
	}
	if caps.Nodes <= 0 {
		caps.Nodes = DefaultNodes
	}
	g := gauge{caps: caps}
	return g.walk(v, 0)
}

type gauge struct {
	caps  Caps
	bytes int64
	nodes int
}

func (g *gauge) add(bytes int) error {
	g.bytes += int64(bytes)
	if g.nodes++; g.nodes > g.caps.Nodes {
		return fmt.Errorf("the answer has more than %d values", g.caps.Nodes)
	}
	if g.bytes > g.caps.Bytes {
		return fmt.Errorf("the answer is larger than %d bytes", g.caps.Bytes)
	}
	return nil
}

func (g *gauge) walk(v any, depth int) error {
	switch v := v.(type) {
	case nil, bool:
		return g.add(5)
	case int64:
		return g.add(8)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("the answer has the number %v in it, which is not plain data", v)
		}
		return g.add(8)
	case string:
		return g.add(len(v) + 2)
	case []any:
		if depth++; depth > g.caps.Depth {
			return g.tooDeep()
		}
		for _, e := range v {
			if err := g.walk(e, depth); err != nil {
				return err
			}
		}
		return g.add(2)
	case map[string]any:
		if depth++; depth > g.caps.Depth {
			return g.tooDeep()
		}
		for k, e := range v {
			if err := g.add(len(k) + 3); err != nil {
				return err
			}
			if err := g.walk(e, depth); err != nil {
				return err
			}
		}
		return g.add(2)
	default:
		return fmt.Errorf("the answer has in it %s", describe(v))
	}
}

func (g *gauge) tooDeep() error {
	return fmt.Errorf("the answer is nested deeper than %d levels, or contains itself", g.caps.Depth)
}
