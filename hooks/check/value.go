package check

import (
	"slices"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

// value is what is known of what an expression may hold. The zero value means
// that it never has one; see unknown.
type value struct {
	kinds contract.Values
	// shape is the contract's type of plain data, nil where it is not known.
	shape *contract.Type
	// elem is what is in a list that the script made, nil where not known.
	elem *value
	// lits are map literals and decisions that it may be, each on some path.
	lits []*literal
	fn   *syntax.Func       // exactly this function of the script
	lib  *contract.Function // exactly this one of the library
	mod  *contract.Module
	// recv is the receiver of a method.
	recv *value
	// text is the string that it is, when it is exactly that.
	text   string
	isText bool
	flag   bool // the boolean that it is, when kinds is bool and isFlag
	isFlag bool
	// inCtx says that it is ctx or lies in it.
	inCtx bool
	// arguments says that it is the arguments of a call.
	arguments bool
	// command says that it is the command line of a call.
	command bool
}

// literal is a decision or another map as the script writes it.
type literal struct {
	at   Span
	node syntax.Expr
	keys []literalKey
	// open says that it may get other keys, or that not all are known.
	open bool
	// of is set for hook.deny(…) and the like.
	of contract.Action
}

type literalKey struct {
	name  string
	at    Span
	node  syntax.Expr
	value value
}

func (l *literal) key(name string) *literalKey {
	for i := range l.keys {
		if l.keys[i].name == name {
			return &l.keys[i]
		}
	}
	return nil
}

var unknown = value{kinds: contract.AnyValue}

func kind(k contract.Values) value { return value{kinds: k} }

func (v value) isUnknown() bool {
	return v.kinds == contract.AnyValue && v.shape == nil && len(v.lits) == 0
}

// only says that the value is of one of those kinds and no other.
func (v value) only(k contract.Values) bool { return v.kinds != 0 && v.kinds&^k == 0 }

// with says of a type of the contract what a value of it is.
func typed(t *contract.Type, inCtx bool) value {
	v := value{shape: t, inCtx: inCtx}
	switch t.Kind {
	case contract.Nil:
		v.kinds = contract.NilValue
	case contract.Bool:
		v.kinds = contract.BoolValue
	case contract.Int:
		v.kinds = contract.IntValue
	case contract.Float:
		v.kinds = contract.FloatValue
	case contract.String:
		v.kinds = contract.StringValue
	case contract.List:
		v.kinds = contract.ListValue
	case contract.Map, contract.Object:
		v.kinds = contract.MapValue
	default:
		return value{kinds: contract.AnyValue, inCtx: inCtx}
	}
	if t.Nullable {
		v.kinds |= contract.NilValue
	}
	return v
}

// join is what holds of a value that is one or the other.
func join(a, b value) value {
	switch {
	case a.kinds == 0:
		return b
	case b.kinds == 0:
		return a
	}
	j := value{kinds: a.kinds | b.kinds, inCtx: a.inCtx && b.inCtx, command: a.command && b.command, arguments: a.arguments && b.arguments}
	const rich = contract.ListValue | contract.MapValue | contract.StringValue
	switch {
	case a.shape == b.shape:
		j.shape = a.shape
	case a.kinds&rich == 0:
		j.shape = b.shape
	case b.kinds&rich == 0:
		j.shape = a.shape
	}
	switch {
	case a.elem == b.elem:
		j.elem = a.elem
	case a.kinds&contract.ListValue == 0:
		j.elem = b.elem
	case b.kinds&contract.ListValue == 0:
		j.elem = a.elem
	}
	j.lits = a.lits
	for _, l := range b.lits {
		if len(j.lits) < 16 && !slices.Contains(j.lits, l) {
			j.lits = append(slices.Clip(j.lits), l)
		}
	}
	if a.fn == b.fn {
		j.fn = a.fn
	}
	if a.lib == b.lib {
		j.lib, j.recv = a.lib, a.recv
	}
	if a.mod == b.mod {
		j.mod = a.mod
	}
	if a.isText && b.isText && a.text == b.text {
		j.isText, j.text = true, a.text
	}
	if a.isFlag && b.isFlag && a.flag == b.flag {
		j.isFlag, j.flag = true, a.flag
	}
	return j
}

// same says whether joining b into a told nothing new.
func same(a, b value) bool {
	return a.kinds == b.kinds && a.shape == b.shape && a.elem == b.elem && a.fn == b.fn && a.lib == b.lib && a.mod == b.mod &&
		a.isText == b.isText && a.text == b.text && a.isFlag == b.isFlag && len(a.lits) == len(b.lits) && a.inCtx == b.inCtx && a.command == b.command
}

// opened marks every literal in the value as one that may change.
func opened(v value) {
	for _, l := range v.lits {
		if l.open {
			continue
		}
		l.open = true
		for _, k := range l.keys {
			opened(k.value)
		}
	}
}

// String says what the value is, for hover and messages.
func (v value) String() string {
	switch {
	case v.fn != nil:
		return "function"
	case v.lib != nil:
		return "function " + v.lib.Signature()
	case v.mod != nil:
		return "module " + v.mod.Name
	case v.shape != nil && v.kinds&^contract.NilValue == typed(v.shape, false).kinds&^contract.NilValue:
		return v.shape.String()
	case v.elem != nil && v.only(contract.ListValue) && !v.elem.isUnknown():
		return "list of " + v.elem.String()
	}
	return v.kinds.String()
}

// phrase names the value in a message, with its article.
func (v value) phrase() string {
	if v.isText {
		return "the string " + quoted(v.text)
	}
	if v.isFlag {
		if v.flag {
			return "true"
		}
		return "false"
	}
	s := v.kinds.String()
	switch {
	case s == "nil" || s == "any":
		return s
	case s[0] == 'a' || s[0] == 'e' || s[0] == 'i':
		return "an " + s
	}
	return "a " + s
}

func quoted(s string) string {
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return `"` + s + `"`
}

// ctxTypes are the types of ctx by event.
var ctxTypes = func() map[*contract.Event]*contract.Type {
	m := map[*contract.Event]*contract.Type{}
	for _, e := range contract.Events() {
		m[e] = &contract.Type{Kind: contract.Object, Fields: e.AllFields()}
	}
	return m
}()

// field finds a field of an object.
func field(t *contract.Type, name string) *contract.Field {
	if t == nil || t.Kind != contract.Object {
		return nil
	}
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	return nil
}

func fieldNames(t *contract.Type) []string {
	list := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		list[i] = f.Name
	}
	return list
}

// item gives what is in a list.
func (v value) item() value {
	if !v.only(contract.ListValue | contract.NilValue) {
		return unknown
	}
	switch {
	case v.shape != nil && v.shape.Kind == contract.List:
		return typed(v.shape.Elem, v.inCtx)
	case v.elem != nil:
		return *v.elem
	}
	return unknown
}
