package check

import (
	"regexp"
	"strings"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

// partial walks a call that is not made here: a stage of a pipe, a defer.
func (c *checker) partial(e *syntax.Call) {
	c.expr(e.Fun)
	for _, a := range e.Args {
		c.expr(a)
	}
}

func (c *checker) callExpr(e *syntax.Call) value {
	var of, f value // what is before the dot, and what is called
	at, isAttr := e.Fun.(*syntax.Attr)
	if isAttr {
		of, f = c.attrOf(at)
	} else {
		f = c.expr(e.Fun)
	}
	c.called(e, of, f)
	if f.mod != nil && f.mod.Call != nil {
		f = value{kinds: contract.FunctionValue, lib: f.mod.Call}
	}
	args, result := c.arguments(e, f)
	broken := false
	for _, a := range e.Args {
		if _, bad := a.(*syntax.Bad); bad {
			broken = true
		}
	}
	if isAttr {
		c.commandCall(e, at, of, args)
	}
	switch {
	case f.lib != nil:
		return c.libraryCall(e, f, args, result, broken)
	case f.fn != nil:
		if !broken {
			c.ownCall(e, f.fn)
		}
		if v, ok := c.results[f.fn]; ok {
			return v
		}
		return unknown
	case f.kinds != 0 && f.kinds&(contract.FunctionValue|contract.ModuleValue) == 0, f.mod != nil:
		if c.speaks() {
			what := f.phrase()
			if f.mod != nil {
				what = "a module"
			}
			c.r.add(CodeNotAFunction, calleeAt(e), "%s is %s and cannot be called", c.short(e.Fun), what)
		}
	}
	if isAttr && keepsCommand[at.Name.Name] && of.command {
		return value{kinds: contract.AnyValue, command: true}
	}
	return unknown
}

// keepsCommand are methods whose result is still the command line.
var keepsCommand = map[string]bool{"to_lower": true, "to_upper": true, "trim_space": true, "trim": true, "trim_prefix": true, "trim_suffix": true}

// speaks says whether something that throws here is an error for certain.
func (c *checker) speaks() bool { return c.silent == 0 && !c.dead && c.trying == 0 }

// short shows an expression in a message.
func (c *checker) short(e syntax.Expr) string {
	s := e.Pos()
	text := c.tree.Text[s.Start:s.End]
	if len(text) > 40 || strings.ContainsAny(text, "\r\n") {
		return "this"
	}
	return text
}

// calleeAt is where a finding about a call sits: on the name.
func calleeAt(e *syntax.Call) Span {
	if a, ok := e.Fun.(*syntax.Attr); ok {
		return span(a.Name)
	}
	return span(e.Fun)
}

// arguments walks the arguments; functions among them see what the callee will
// give them. result is what such a function returns.
func (c *checker) arguments(e *syntax.Call, f value) (args []value, result value) {
	result = unknown
	for i, a := range e.Args {
		fn, isFunc := syntax.Unparen(a).(*syntax.Func)
		if !isFunc {
			args = append(args, c.expr(a))
			continue
		}
		given := c.callback(f, args, i, len(fn.Params))
		tries := f.lib != nil && f.lib.Name == "try" && f.recv == nil
		if tries {
			c.trying++
		}
		args = append(args, c.function(fn, given))
		if tries {
			c.trying--
		}
		result = c.results[fn]
	}
	return args, result
}

// callback says what the callee gives to a function that is its argument.
func (c *checker) callback(f value, before []value, i, params int) []value {
	if f.lib == nil {
		return nil
	}
	if f.recv != nil && f.recv.only(contract.ListValue) && i == 0 {
		item := f.recv.item()
		switch {
		case f.lib.Name == "map" && params == 2:
			return []value{kind(contract.IntValue), item}
		case f.lib.Name == "map", f.lib.Name == "filter", f.lib.Name == "each":
			return []value{item}
		}
	}
	if f.recv == nil && f.lib.Name == "sorted" && i == 1 && len(before) == 1 {
		return []value{before[0].item(), before[0].item()}
	}
	return nil
}

// ownCall holds a call of a function of the script against its parameters.
func (c *checker) ownCall(e *syntax.Call, fn *syntax.Func) {
	least := 0
	for _, p := range fn.Params {
		if p.Default == nil {
			least++
		}
	}
	n := len(e.Args)
	if n >= least && n <= len(fn.Params) || !c.speaks() || c.tree.ErrorIn(fn.Parens) {
		return
	}
	takes := contract.Function{Min: least, Max: len(fn.Params)}
	f := c.r.add(CodeArity, calleeAt(e), "%s takes %s, %d given", c.short(e.Fun), takes.Takes(), n)
	if fn.Name != nil {
		f.relate(span(fn.Name), "the definition")
	} else {
		f.relate(Span(fn.Keyword), "the definition")
	}
}

// libraryCall holds a call against the library's table and gives its result.
func (c *checker) libraryCall(e *syntax.Call, f value, args []value, result value, broken bool) value {
	name := c.short(e.Fun)
	n := len(args)
	switch {
	case broken || !c.speaks():
	case n < f.lib.Min || n > f.lib.Max:
		c.r.add(CodeArity, calleeAt(e), "%s takes %s, %d given: %s", name, f.lib.Takes(), n, f.lib.Signature())
		return c.resultOf(e, f, args, result)
	default:
		for i, a := range args {
			p := f.lib.Params[min(i, len(f.lib.Params)-1)]
			if a.kinds != 0 && a.kinds&p.Accepts == 0 {
				c.r.add(CodeBadArgument, span(e.Args[i]), "%s takes %s as %s, not %s", name, article(p.Accepts.String()), p.Name, a.phrase())
				break
			}
		}
		c.pattern(e, f, args)
	}
	return c.resultOf(e, f, args, result)
}

func article(s string) string {
	switch {
	case s == "nil" || s == "any":
		return s
	case strings.ContainsAny(s[:1], "aei"):
		return "an " + s
	}
	return "a " + s
}

// pattern compiles a regular expression that is known.
func (c *checker) pattern(e *syntax.Call, f value, args []value) {
	m := contract.Library().Module("regexp")
	if f.recv != nil || len(args) == 0 || !args[0].isText || f.lib != m.Call && f.lib != m.Function("match") && f.lib != m.Function("compile") {
		return
	}
	if _, err := regexp.Compile(args[0].text); err != nil {
		why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		c.r.add(CodeBadRegexp, span(e.Args[0]), "this pattern does not compile: %s", why)
	}
}

// resultOf gives what a call of the library returns.
func (c *checker) resultOf(e *syntax.Call, f value, args []value, result value) value {
	if m := contract.Library().Module("hook"); f.recv == nil && m.Function(f.lib.Name) == f.lib && makesDecision(f.lib) {
		return decisionOf(e, f.lib, args)
	}
	if f.recv != nil && f.recv.inCtx && f.recv.shape != nil {
		switch f.lib.Name {
		case "append", "insert", "extend", "update", "setdefault", "pop", "clear", "remove":
			c.opaque = true
		}
	}
	switch {
	case f.recv != nil && f.lib.Name == "map":
		return value{kinds: contract.ListValue, elem: &result}
	case f.recv != nil && (f.lib.Name == "get" || f.lib.Name == "pop") && f.recv.shape != nil && len(args) > 0:
		return c.got(f, args)
	case f.lib.Like == 0 && f.recv != nil:
		v := *f.recv
		v.kinds &= f.lib.Result
		if f.lib.Name != "filter" && f.lib.Name != "copy" && v.only(contract.ListValue) && !v.inCtx {
			v.elem = nil
		}
		return v
	case f.lib.Like > 0 && len(args) >= f.lib.Like:
		v := args[f.lib.Like-1]
		if v.kinds&f.lib.Result != 0 {
			return value{kinds: v.kinds & f.lib.Result, shape: v.shape, elem: v.elem}
		}
	case f.lib.Name == "sorted" && len(args) > 0 && args[0].only(contract.ListValue):
		return value{kinds: contract.ListValue, shape: args[0].shape, elem: args[0].elem}
	case f.lib.Shape != nil && f.lib.Shape.Kind != contract.Any:
		return typed(f.lib.Shape, false)
	case f.recv != nil && f.recv.command && keepsCommand[f.lib.Name]:
		return value{kinds: f.lib.Result, command: true}
	}
	if f.lib.Result == contract.NoValues {
		return unknown
	}
	return kind(f.lib.Result)
}

// got gives what ctx.get("name") holds.
func (c *checker) got(f value, args []value) value {
	if !args[0].isText || c.assigned[args[0].text] || f.recv.shape.Kind != contract.Object {
		return unknown
	}
	if d := field(f.recv.shape, args[0].text); d != nil {
		return c.fieldValue(d, *f.recv)
	}
	return unknown
}

// commandCall notices guards that look for a command by a piece of text.
func (c *checker) commandCall(e *syntax.Call, at *syntax.Attr, of value, args []value) {
	if len(args) == 0 {
		return
	}
	switch at.Name.Name {
	case "contains", "has_prefix", "has_suffix", "index", "last_index", "count":
	default:
		return
	}
	line, needle := at.X, args[0]
	if of.mod != nil {
		if len(args) < 2 || !args[0].command {
			return
		}
		line, needle = e.Args[0], args[1]
	} else if !of.command {
		return
	}
	if needle.isText {
		c.substringGuard(span(e), line, needle.text)
	}
}

func (c *checker) substringGuard(at Span, line syntax.Expr, needle string) {
	if c.silent > 0 || c.dead {
		return
	}
	f := c.r.add(CodeSubstringGuard, at, "this looks for %s as a piece of text, which is found in harmless lines and missed in others: shell.commands tells the commands of a line", quoted(needle))
	words := strings.Fields(needle)
	if f == nil || len(words) == 0 || strings.ContainsAny(words[0], "\"\\{}'") || at.End-at.Start == 0 {
		return
	}
	s := line.Pos()
	f.fix("Look for the command with shell.commands", Edit{at,
		`(` + `"` + words[0] + `" in shell.commands(` + c.tree.Text[s.Start:s.End] + `).map(func(command) { return command.name }))`})
}
