package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

// decisionOf is what hook.deny(reason) and the like give.
func decisionOf(e *syntax.Call, f *contract.Function, args []value) value {
	l := &literal{at: span(e), node: e}
	l.of, _ = contract.ParseAction(f.Name)
	l.keys = []literalKey{{name: "action", at: calleeAt(e), node: e, value: value{kinds: contract.StringValue, text: f.Name, isText: true}}}
	for i, a := range args {
		if i < len(f.Params) {
			l.keys = append(l.keys, literalKey{f.Params[i].Name, span(e.Args[i]), e.Args[i], a})
		}
	}
	return value{kinds: contract.MapValue, lits: []*literal{l}}
}

// makesDecision says whether a function of the module hook is named after the
// action that it makes.
func makesDecision(f *contract.Function) bool {
	_, err := contract.ParseAction(f.Name)
	return err == nil
}

// body walks a function's statements; the last one gives its result unless
// one of them is a return.
func (c *checker) body(b *syntax.Block) {
	explicit := slices.ContainsFunc(b.Statements, func(s syntax.Stmt) bool { _, ok := s.(*syntax.Return); return ok })
	if explicit {
		c.statements(b.Statements)
		return
	}
	c.tailBlock(b)
}

// tailBlock walks a block whose last statement gives the function's result.
func (c *checker) tailBlock(b *syntax.Block) {
	if b == nil {
		if c.tailOf != nil {
			c.ends(*c.tailOf)
		}
		return
	}
	for i, s := range b.Statements {
		if c.dead {
			c.unreachable(b.Statements[i:])
			return
		}
		if i == len(b.Statements)-1 {
			c.tail(s)
			return
		}
		c.statement(s)
	}
	c.ends(Span{b.End, b.End})
}

func (c *checker) tail(s syntax.Stmt) {
	x, ok := s.(*syntax.ExprStmt)
	if !ok {
		c.statement(s)
		if !c.dead {
			c.ends(span(s))
		}
		return
	}
	c.steps++
	outer := c.tailOf
	at := span(x)
	c.tailOf = &at
	switch e := x.X.(type) {
	case *syntax.If:
		c.condition(e, c.tailBlock)
	case *syntax.Switch:
		c.switches(e, c.tailBlock)
	default:
		v := c.expr(e)
		if call, ok := e.(*syntax.Call); ok && c.throws(call) {
			c.dead = true
			break
		}
		if _, literal := e.(*syntax.Nil); v.only(contract.NilValue) && !literal {
			c.ends(at)
			break
		}
		c.result(e, v)
	}
	c.tailOf = outer
}

// ends notes that a path ends here without a return.
func (c *checker) ends(at Span) {
	if c.dead {
		return
	}
	c.frame.ends = append(c.frame.ends, at)
	c.frame.result = join(c.frame.result, kind(contract.NilValue))
	c.dead = true
}

func (c *checker) returns(s *syntax.Return) {
	if s.Value == nil {
		c.frame.result = join(c.frame.result, kind(contract.NilValue))
		c.dead = true
		return
	}
	c.result(s.Value, c.expr(s.Value))
}

// result notes what a function returns, and judges it if an event takes it.
func (c *checker) result(e syntax.Expr, v value) {
	c.frame.result = join(c.frame.result, v)
	if c.frame.hook != nil && c.silent == 0 && !c.dead {
		c.decide(e, v)
	}
	c.dead = true
}

// decide judges a returned value as a decision of the event.
func (c *checker) decide(e syntax.Expr, v value) {
	if t, ok := syntax.Unparen(e).(*syntax.Ternary); ok {
		c.silent++
		then, other := c.expr(t.Then), c.expr(t.Else)
		c.silent--
		c.decide(t.Then, then)
		c.decide(t.Else, other)
		return
	}
	d := &decision{checker: c, event: c.frame.hook.event, at: span(e), expr: e, broken: c.frame.broken}
	const valid = contract.NilValue | contract.BoolValue | contract.MapValue
	switch {
	case v.kinds == 0:
	case v.kinds&valid == 0:
		d.noDecision(v)
	case v.only(contract.BoolValue) && v.isFlag && !v.flag && d.event.Refusal() == contract.NoAction:
		d.shape("false refuses, and %s cannot refuse; it honours %s", d.event.Name, d.event.Honoured())
	case v.only(contract.MapValue) && v.shape != nil && v.shape.Kind == contract.Object && field(v.shape, "action") == nil && !c.assigned["action"]:
		d.shape("%s is no decision: it has no action", c.short(e))
	}
	for _, l := range v.lits {
		c.later = append(c.later, func() { d.literal(l) })
	}
}

// decision is one returned expression of a hook function.
type decision struct {
	*checker
	event  *contract.Event
	at     Span
	expr   syntax.Expr
	broken bool
}

// shape reports a return-shape, but not in a function that does not parse.
func (d *decision) shape(format string, args ...any) *Finding {
	if d.broken {
		return nil
	}
	return d.r.add(CodeReturnShape, d.at, "%s", fmt.Sprintf(format, args...))
}

func (d *decision) noDecision(v value) {
	what := v.phrase()
	if v.fn != nil {
		what = "a function"
	}
	hint := ""
	if v.isText && slices.Contains(answers(), v.text) {
		hint = fmt.Sprintf("; did you mean {action: %q}?", v.text)
	}
	f := d.shape("%s is no decision: return {action: …}, true, false or nil%s", what, hint)
	if hint != "" && isString(d.expr) {
		f.fix(fmt.Sprintf("Return {action: %q}", v.text), Edit{d.at, fmt.Sprintf("{action: %q}", v.text)})
	}
}

func answers() []string {
	var list []string
	for _, a := range contract.Answers() {
		list = append(list, a.String())
	}
	return list
}

// literal judges one map that the expression may be.
func (d *decision) literal(l *literal) {
	if l.open {
		return
	}
	k := l.key("action")
	if k == nil {
		f := d.shape("this map has no action: one of %s belongs in it", d.event.Honoured())
		if f == nil {
			return
		}
		d.related(f, l)
		var given []string
		for _, k := range l.keys {
			given = append(given, k.name)
		}
		if near := contract.Nearest("action", given); near != "" {
			f.fix("Change "+near+" to action", Edit{l.key(near).at, "action"})
		}
		return
	}
	if !k.value.isText {
		if k.value.kinds != 0 && k.value.kinds&contract.StringValue == 0 {
			d.related(d.shape("action is a string, not %s", k.value.phrase()), l)
		}
		return
	}
	action, err := contract.ParseAction(k.value.text)
	switch {
	case err != nil || !slices.Contains(contract.Answers(), action):
		d.unknownAction(l, k)
	case !d.event.Honours(action):
		d.notHonoured(l, action)
	default:
		d.keys(l, action)
	}
}

// related points at the map that a returned variable or call came from.
func (d *decision) related(f *Finding, l *literal) {
	if f != nil && l.at != d.at && !(d.at.Start <= l.at.Start && l.at.End <= d.at.End) {
		f.relate(l.at, "it is made here")
	}
}

func (d *decision) unknownAction(l *literal, k *literalKey) {
	near := contract.Nearest(k.value.text, d.honoured())
	if near == "" {
		near = contract.Nearest(k.value.text, answers())
	}
	hint := "; it honours " + d.event.Honoured()
	if near != "" {
		hint = "; did you mean " + near + "?"
	}
	f := d.r.add(CodeUnknownAction, d.at, "there is no action %s on %s%s", quoted(k.value.text), d.event.Name, hint)
	d.related(f, l)
	if s, ok := k.node.(*syntax.String); ok && near != "" {
		f.fix("Change to "+near, Edit{span(s), strconv.Quote(near)})
	}
}

func (d *decision) honoured() []string {
	var list []string
	for _, a := range d.event.Actions {
		list = append(list, a.String())
	}
	return list
}

func (d *decision) notHonoured(l *literal, a contract.Action) {
	hint := ""
	if a == contract.Retry {
		hint = ": it cannot retry"
	}
	f := d.r.add(CodeActionNotHonoured, d.at, "%s does not honour %s%s; it honours %s", d.event.Name, a, hint, d.event.Honoured())
	d.related(f, l)
}

// keys judges what stands beside the action.
func (d *decision) keys(l *literal, a contract.Action) {
	keys := d.event.Keys(a)
	for _, k := range l.keys {
		if slices.Contains(keys, k.name) {
			continue
		}
		near := contract.Nearest(k.name, keys)
		hint := "; it takes " + joinNames(keys)
		if near != "" {
			hint = "; did you mean " + near + "?"
		}
		f := d.shape("the action %s takes no %s%s", a, k.name, hint)
		d.related(f, l)
		if near != "" {
			f.fix("Change to "+near, Edit{k.at, near})
		}
		return
	}
	for _, want := range []struct {
		name  string
		kinds contract.Values
		what  string
	}{
		{"reason", contract.StringValue, "a string"}, {"state", contract.MapValue, "a map"},
		{"is_error", contract.BoolValue, "true or false"}, {"calls", contract.ListValue, "a list of call ids"},
	} {
		if k := l.key(want.name); k != nil && k.value.kinds != 0 && k.value.kinds&want.kinds == 0 {
			d.related(d.shape("%s is %s, not %s", want.name, want.what, k.value.phrase()), l)
			return
		}
	}
	if k := l.key("calls"); k != nil && k.value.kinds != 0 {
		if id := k.value.item(); id.kinds != 0 && id.kinds&contract.StringValue == 0 {
			d.related(d.shape("calls[] is a string, the id of a call, not %s", id.phrase()), l)
			return
		}
	}
	if a != contract.Modify && a != contract.Substitute {
		return
	}
	v := l.key("value")
	if v == nil {
		what := "the result that the call is to have"
		if a == contract.Modify {
			what = d.event.ValueDoc
		}
		d.related(d.shape("the action %s needs a value: %s", a, what), l)
		return
	}
	if a == contract.Modify && d.event.Value != nil {
		if why := d.mismatch(v.value, d.event.Value, "value"); why != "" {
			d.related(d.shape("%s; on %s it is %s", why, d.event.Name, d.event.ValueDoc), l)
		}
	}
}

// mismatch says why a value cannot have that shape, "" when it may.
func (d *decision) mismatch(v value, t *contract.Type, at string) string {
	if v.kinds == 0 || v.kinds == contract.AnyValue || t.Kind == contract.Any {
		return ""
	}
	want := typed(t, false).kinds
	if t.Kind == contract.Float {
		want |= contract.IntValue
	}
	if v.kinds&want == 0 {
		return fmt.Sprintf("%s is %s, not %s", at, t.Phrase(), v.phrase())
	}
	switch t.Kind {
	case contract.List:
		if v.only(contract.ListValue) {
			if item := v.item(); !item.isUnknown() {
				return d.mismatch(item, t.Elem, at+"[]")
			}
		}
	case contract.Map, contract.Object:
		return d.mapMismatch(v, t, at)
	}
	return ""
}

func (d *decision) mapMismatch(v value, t *contract.Type, at string) string {
	for _, l := range v.lits {
		if l.open {
			continue
		}
		for _, k := range l.keys {
			inner := t.Elem
			if t.Kind == contract.Object {
				f := field(t, k.name)
				if f == nil {
					return fmt.Sprintf("%s has no field %s; it has %s", at, k.name, joinNames(fieldNames(t)))
				}
				inner = &f.Type
			}
			if why := d.mismatch(k.value, inner, at+"."+k.name); why != "" {
				return why
			}
		}
		if t.Kind == contract.Object && l.of == contract.NoAction {
			for _, f := range t.Fields {
				if l.key(f.Name) == nil && !f.Optional {
					return fmt.Sprintf("%s lacks %s; it has %s", at, f.Name, joinNames(fieldNames(t)))
				}
			}
		}
	}
	if s := v.shape; s != nil && s != t && v.only(contract.MapValue) && len(v.lits) == 0 {
		switch {
		case s.Kind == contract.Map && t.Kind == contract.Map:
			return d.mismatch(typed(s.Elem, false), t.Elem, at+"[]")
		case s.Kind == contract.Object && t.Kind == contract.Object:
			for _, f := range t.Fields {
				if field(s, f.Name) == nil && !f.Optional && !d.assigned[f.Name] {
					return fmt.Sprintf("%s lacks %s; it has %s", at, f.Name, joinNames(fieldNames(t)))
				}
			}
		}
	}
	return ""
}

// noDecision tells of paths that end without a return.
func (c *checker) noDecision(h *hookFunction) {
	if len(c.frame.ends) == 0 || c.frame.broken || c.silent > 0 || h.fn.Body == nil {
		return
	}
	f := c.r.add(CodeNoDecision, span(h.name), "a path through %s ends without returning anything, which allows", h.name.Name)
	f.relate(c.frame.ends[0], "the path ends here")
	c.returnNil(f, h.fn.Body)
}

// returnNil offers to end a function with a return.
func (c *checker) returnNil(f *Finding, body *syntax.Block) {
	text := c.tree.Text
	closing := body.End - 1
	if closing <= body.Start || text[closing] != '}' {
		return
	}
	line := c.lineStart(closing)
	n := len(body.Statements)
	switch {
	case line > body.Start && (n == 0 || body.Statements[n-1].Pos().End <= line):
		indent := "    "
		if n > 0 {
			at := body.Statements[n-1].Pos().Start
			before := text[c.lineStart(at):at]
			indent = before[:len(before)-len(strings.TrimLeft(before, " \t"))]
		}
		f.fix("Return nil at the end", Edit{Span{line, line}, indent + "return nil" + lineEnd(text)})
	case n == 0:
		f.fix("Return nil at the end", Edit{Span{closing, closing}, " return nil "})
	default:
		f.fix("Return nil at the end", Edit{Span{closing, closing}, "; return nil "})
	}
}

func (c *checker) lineStart(offset int) int {
	return c.tree.Lines.Span(c.tree.Lines.Position(offset).Line).Start
}

// lineEnd gives the line end that a text uses.
func lineEnd(text string) string {
	i := strings.IndexAny(text, "\r\n")
	switch {
	case i < 0 || text[i] == '\n':
		return "\n"
	case i+1 < len(text) && text[i+1] == '\n':
		return "\r\n"
	}
	return "\r"
}
