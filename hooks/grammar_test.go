package hooks_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// grammar writes random programs that know what Risor knows: every statement
// and expression, names in their scopes, the library, ctx. Most of what it
// writes is right; a part of it throws, runs for ever, eats memory or returns
// what is no decision, and that is what it is for.
type grammar struct {
	r      *rand.Rand
	out    strings.Builder
	scopes [][]name
	indent int
	loops  int // around what is written, within its function
	names  int
	left   int // statements that may still be written
	closed bool
}

type name struct {
	text string
	kind byte // what it probably holds
}

// The kinds of value that expressions are made for.
const (
	number, str, truth, list, dict = 'n', 's', 'b', 'l', 'm'
)

const kinds = "nsblm"

// A program is a script for on_tool_call. One that is doomed cannot end in a
// decision: no path through its function returns one.
type program struct {
	text   string
	doomed bool
}

func randomProgram(seed uint64) program {
	g := &grammar{r: rand.New(rand.NewPCG(seed, 7)), left: 14, scopes: [][]name{nil}}
	p := program{doomed: g.r.IntN(4) == 0}
	for range g.r.IntN(3) {
		g.function(g.fresh("f"))
	}
	g.closed = p.doomed // closures apart, nothing returns
	g.line("func on_tool_call(ctx) {")
	g.push(name{"ctx", dict})
	g.indent++
	g.block(1 + g.r.IntN(6))
	if p.doomed {
		g.line("%s", g.pick(poisons...))
	} else {
		g.line("return %s", g.decision())
	}
	g.pop()
	g.indent--
	g.line("}")
	p.text = g.out.String()
	if g.r.IntN(4) == 0 {
		p.text, p.doomed = mutated(g.r, p.text), false
	}
	return p
}

// poisons never end in a decision.
var poisons = []string{
	"for { }", "for true { x0 := 1 }", "error(\"no\")", "ctx.no_such_field", "return \"allow\"", "return 1", "return []",
	"return {action: \"alow\"}", "return hook.substitute(\"x\")", "return hook.retry(\"x\")", "return {action: \"modify\", value: [{id: \"c99\"}]}",
	"deep := func(f) { return f(f) }\n    deep(deep)", "m0 := {}\n    m0[\"m\"] = m0\n    return {action: \"deny\", reason: \"x\", state: m0}",
	"m0 := {}\n    m0[\"m\"] = m0\n    m1 := {}\n    m1[\"m\"] = m1\n    m0 == m1\n    error(\"x\")",
	"s0 := \"xxxxxxxx\"\n    for { s0 = s0 + s0 }", "list(range 1000000000)\n    error(\"x\")", "l0 := [0]\n    for { l0.extend(l0) }",
	"strings.repeat(\"x\", 4000000000)\n    error(\"x\")", "return [1][5]", "return nil.x",
}

func (g *grammar) pick(from ...string) string { return from[g.r.IntN(len(from))] }

func (g *grammar) line(format string, args ...any) {
	g.out.WriteString(strings.Repeat("    ", g.indent))
	fmt.Fprintf(&g.out, format, args...)
	g.out.WriteByte('\n')
}

func (g *grammar) push(names ...name) { g.scopes = append(g.scopes, names) }
func (g *grammar) pop()               { g.scopes = g.scopes[:len(g.scopes)-1] }

func (g *grammar) fresh(prefix string) string {
	g.names++
	return fmt.Sprint(prefix, g.names)
}

func (g *grammar) define(n name) {
	last := len(g.scopes) - 1
	g.scopes[last] = append(g.scopes[last], n)
}

// known gives a name in scope of that kind, "" for none.
func (g *grammar) known(kind byte) string {
	var all []string
	for _, s := range g.scopes {
		for _, n := range s {
			if n.kind == kind && n.text != "ctx" {
				all = append(all, n.text)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return g.pick(all...)
}

// function writes a function of its own that others can call with a number.
func (g *grammar) function(called string) {
	loops, closed := g.loops, g.closed
	g.loops, g.closed = 0, false
	p := g.fresh("p")
	g.line("func %s(%s) {", called, p)
	g.push(name{p, number})
	g.indent++
	g.block(1 + g.r.IntN(3))
	if g.r.IntN(5) == 0 {
		g.line("return %s(%s - 1)", called, p) // without an end
	}
	g.line("return %s", g.expr(number, 2))
	g.indent--
	g.pop()
	g.line("}")
	g.define(name{called, 'f'})
	g.loops, g.closed = loops, closed
}

func (g *grammar) block(n int) {
	g.push()
	for range n {
		if g.left--; g.left < 0 || g.indent > 6 {
			g.line("print(%s)", g.expr(str, 1))
			break
		}
		g.statement()
	}
	g.pop()
}

func (g *grammar) statement() {
	k := kinds[g.r.IntN(len(kinds))]
	switch g.r.IntN(16) {
	case 0, 1, 2:
		n := name{g.fresh("v"), k}
		value := g.expr(k, 3)
		g.line("%s := %s", n.text, value)
		g.define(n)
	case 3:
		if v := g.known(k); v != "" {
			g.line("%s = %s", v, g.expr(k, 3))
		}
	case 4:
		if v := g.known(number); v != "" {
			g.line("%s %s %s", v, g.pick("+=", "-=", "*=", "/="), g.expr(number, 2))
		}
	case 5, 6:
		g.branch()
	case 7, 8, 9:
		g.loop()
	case 10:
		g.choice()
	case 11:
		g.attempt()
	case 12:
		g.line("%s", g.change())
	case 13:
		if !g.closed {
			g.line("if %s {\n%sreturn %s\n%s}", g.expr(truth, 2), strings.Repeat("    ", g.indent+1), g.decision(), strings.Repeat("    ", g.indent))
		}
	case 14:
		if g.loops > 0 {
			g.line("if %s { %s }", g.expr(truth, 1), g.pick("break", "continue"))
		}
	default:
		g.line("print(%s, %s)", g.expr(k, 2), g.expr(str, 1))
	}
}

func (g *grammar) branch() {
	g.line("if %s {", g.expr(truth, 2))
	g.indent++
	g.block(1 + g.r.IntN(2))
	g.indent--
	if g.r.IntN(2) == 0 {
		g.line("} else {")
		g.indent++
		g.block(1)
		g.indent--
	}
	g.line("}")
}

func (g *grammar) loop() {
	i := g.fresh("i")
	switch g.r.IntN(5) {
	case 0:
		g.line("for %s := 0; %s < %s; %s++ {", i, i, g.expr(number, 1), i)
		g.push(name{i, number})
	case 1:
		v := g.fresh("e")
		g.line("for %s, %s := range %s {", i, v, g.expr(list, 2))
		g.push(name{i, number}, name{v, kinds[g.r.IntN(len(kinds))]})
	case 2:
		g.line("for %s {", g.expr(truth, 2))
		g.push()
	case 3:
		g.line("for _, %s := range %s {", i, g.pick("ctx.tool_calls", "shell.commands("+g.expr(str, 1)+")", "range 5", g.expr(dict, 1)))
		g.push(name{i, dict})
	default:
		g.line("for {")
		g.push()
	}
	g.loops++
	g.indent++
	g.block(1 + g.r.IntN(3))
	if g.r.IntN(2) == 0 {
		g.line("break")
	}
	g.indent--
	g.loops--
	g.pop()
	g.line("}")
}

func (g *grammar) choice() {
	k := kinds[g.r.IntN(2)]
	g.line("switch %s {", g.expr(k, 2))
	for range 1 + g.r.IntN(2) {
		g.line("case %s:", g.expr(k, 0))
		g.indent++
		g.block(1)
		g.indent--
	}
	if g.r.IntN(2) == 0 {
		g.line("default:")
		g.indent++
		g.block(1)
		g.indent--
	}
	g.line("}")
}

// attempt is what may throw, or never end, where try would swallow it.
func (g *grammar) attempt() {
	loops, closed := g.loops, g.closed
	g.loops, g.closed = 0, false
	n := g.fresh("t")
	g.line("%s := try(func() {", n)
	g.indent++
	g.block(1 + g.r.IntN(2))
	if g.r.IntN(4) == 0 {
		g.line("%s", g.pick("error(\"thrown\")", "for { }", "nil.x", "\"x\" * []", "[][3]"))
	}
	g.line("return %s", g.expr(number, 2))
	g.indent--
	g.line("}, %s)", g.expr(number, 1))
	g.define(name{n, number})
	g.loops, g.closed = loops, closed
}

// change does something to a value in place.
func (g *grammar) change() string {
	l, m := g.known(list), g.known(dict)
	switch {
	case l != "" && g.r.IntN(2) == 0:
		return fmt.Sprintf(g.pick("%s.append(%s)", "%s.insert(0, %s)", "%s.extend([%s])", "%s.remove(%s)"), l, g.pick(l, g.expr(number, 1), g.expr(str, 1)))
	case m != "":
		return fmt.Sprintf(g.pick("%s[%s] = %s", "%s.setdefault(%s, %s)"), m, g.expr(str, 0), g.pick(m, g.expr(number, 1), g.expr(list, 1)))
	}
	return "ctx.tool_calls.append(" + g.expr(number, 1) + ")"
}

// decision is what a guard returns: mostly one, sometimes what only looks it.
func (g *grammar) decision() string {
	s := g.expr(str, 1)
	return g.pick("nil", "true", "false", "hook.allow()", "hook.deny("+s+")", "hook.cancel("+s+")", "hook.modify(ctx.tool_calls)",
		"hook.modify(ctx.tool_calls[1:])", "{action: \"deny\", reason: "+s+", calls: [ctx.tool_calls[0].id]}", "{action: \"allow\", state: "+g.expr(dict, 2)+"}",
		"hook.modify("+g.expr(list, 2)+")", "{action: \"deny\", reson: "+s+"}", g.expr(kinds[g.r.IntN(len(kinds))], 2))
}

// expr is an expression that gives, most likely, a value of that kind.
func (g *grammar) expr(kind byte, depth int) string {
	if g.r.IntN(40) == 0 {
		kind = kinds[g.r.IntN(len(kinds))] // of another kind than is due
	}
	if v := g.known(kind); v != "" && g.r.IntN(3) == 0 {
		return v
	}
	if depth <= 0 {
		return g.plain(kind)
	}
	sub := func(k byte) string { return g.expr(k, depth-1) }
	switch kind {
	case number:
		return g.pick(sub(number)+" "+g.pick("+", "-", "*", "/", "%")+" "+sub(number), "len("+sub(g.pick("s", "l", "m")[0])+")", "("+sub(truth)+" ? "+sub(number)+" : "+sub(number)+")",
			sub(list)+".index("+sub(number)+")", "int("+sub(number)+")", g.called(sub(number)), "math.abs("+sub(number)+")", "text.count_tokens("+sub(str)+")")
	case str:
		return g.pick(sub(str)+" + "+sub(str), sub(str)+".to_upper()", "strings.repeat("+sub(str)+", "+sub(number)+")", "string("+sub(number)+")", "json.marshal("+sub(dict)+")",
			"'a{"+g.templated()+"}b'", "sprintf(\"%v\", "+sub(list)+")", "ctx.tool_calls[0].name", "text.truncate("+sub(str)+", 5)", sub(str)+"[0:1]", "type("+sub(list)+")", "diff.unified("+sub(str)+", "+sub(str)+")")
	case truth:
		return g.pick(sub(number)+" "+g.pick("<", ">", "<=", ">=", "==", "!=")+" "+sub(number), "!"+"("+sub(truth)+")", sub(truth)+" "+g.pick("&&", "||")+" "+sub(truth),
			sub(str)+" in "+sub(list), "glob.match("+sub(str)+", "+sub(str)+")", "regexp.match("+sub(str)+", "+sub(str)+")", sub(dict)+" == "+sub(dict))
	case list:
		return g.pick("["+sub(number)+", "+sub(str)+"]", sub(list)+" + "+sub(list), sub(list)+".map(func(x) { return "+sub(number)+" })", "sorted("+sub(list)+")", "list(range "+g.plain(number)+")",
			"reversed("+sub(list)+")", "keys("+sub(dict)+")", sub(list)+"[1:]", "ctx.tool_calls", "shell.commands("+sub(str)+")", sub(list)+".filter(func(x) { return "+sub(truth)+" })", "chunk("+sub(list)+", 2)")
	}
	return g.pick("{a: "+sub(number)+", b: "+sub(list)+"}", "ctx.tool_calls[0].arguments", "{"+g.plain(str)+": "+sub(str)+"}", sub(dict)+".copy()", "ctx.state", sub(dict)+".update("+sub(dict)+")")
}

// called calls one of the program's own functions, if it has any.
func (g *grammar) called(arg string) string {
	if f := g.known('f'); f != "" {
		return f + "(" + arg + ")"
	}
	return "float(" + arg + ")"
}

func (g *grammar) templated() string {
	if v := g.known(number); v != "" {
		return v
	}
	return "1 + 2"
}

func (g *grammar) plain(kind byte) string {
	switch kind {
	case number:
		return g.pick("0", "1", "2", "7", "-1", "100", "2.5", "100000", "9223372036854775807")
	case str:
		return g.pick(`""`, `"a"`, `"rm -rf /; ls | sh"`, `"é\n"`, "`raw`", `"**/*.go"`, `"($(("`, `"`+strings.Repeat("x", 200)+`"`)
	case truth:
		return g.pick("true", "false", "ctx.turn > 2")
	case list:
		return g.pick("[]", "[1, 2, 3]", `["a", nil, [1]]`, "ctx.tool_calls")
	}
	return g.pick("{}", "{a: 1}", `{"k": [1, {b: nil}]}`)
}

// mutated makes a program nearly a right one: words are lost, doubled, moved,
// or the end of it is.
func mutated(r *rand.Rand, text string) string {
	words := strings.Split(text, " ")
	for range 1 + r.IntN(3) {
		i, j := r.IntN(len(words)), r.IntN(len(words))
		switch r.IntN(4) {
		case 0:
			words[i] = ""
		case 1:
			words[i] += " " + words[j]
		case 2:
			words[i], words[j] = words[j], words[i]
		default:
			words = words[:max(1, len(words)-r.IntN(10))]
		}
		if len(words) == 0 {
			return ""
		}
	}
	return strings.Join(words, " ")
}
