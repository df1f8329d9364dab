package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agent-ls/hooks/lazyexp"
)

// A shell reads some text a second time: arithmetic, the subscript in a
// variable's name, and the value behind a reference. Substitutions in it run
// then, quoted or not, and the text can come out of a variable. So a command
// that is not known is listed wherever such text is more than plain numbers.

var (
	number     = lazyexp.New(`^(0[xX][0-9a-fA-F]+|[0-9]+(#[0-9a-zA-Z]+)?)$`)
	signed     = lazyexp.New(`^[-+]?[0-9]+$`)
	identifier = lazyexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	subscript  = lazyexp.New(`^[A-Za-z_][A-Za-z0-9_]*\[`)
	setsPlain  = lazyexp.New(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)
)

// evaluated are variables whose values a shell evaluates by itself.
var evaluated = []string{"RANDOM", "SRANDOM", "SECONDS", "OPTIND", "HISTCMD", "BASHPID", "PPID", "LINENO", "EPOCHSECONDS"}

// look reads what is in a node: statements, in scope s, and what expansions
// hide.
func (r *reader) look(root syntax.Node, s scope) {
	inner := scope{through: s.through, depth: s.depth}
	said := false
	syntax.Walk(root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			r.stmt(n, s)
			return false
		case *syntax.CmdSubst:
			r.stmts(n.Stmts, inner)
			return false
		case *syntax.ProcSubst:
			r.stmts(n.Stmts, inner)
			return false
		}
		r.sets(n, inner)
		if !said && evaluates(n) {
			said = true
			r.lost(inner)
		}
		return true
	})
}

// sets lists the variables that loops and expansions set.
func (r *reader) sets(n syntax.Node, s scope) {
	var out []Assign
	switch n := n.(type) {
	case *syntax.WordIter:
		for _, item := range n.Items {
			for _, w := range words(item) {
				out = append(out, Assign{Name: n.Name.Value, Value: w})
			}
		}
		if len(n.Items) == 0 {
			out = append(out, Assign{Name: n.Name.Value})
		}
	case *syntax.ParamExp:
		if n.Exp == nil || n.Param == nil || n.Exp.Op != syntax.AssignUnset && n.Exp.Op != syntax.AssignUnsetOrNull {
			return
		}
		a := Assign{Name: n.Param.Value, Value: Word{Known: true}}
		if n.Exp.Word != nil {
			a.Value = single(n.Exp.Word)
		}
		out = append(out, a)
	case *syntax.Redirect: // {name}>file puts a descriptor's number there
		if n.N == nil || !strings.HasPrefix(n.N.Value, "{") {
			return
		}
		out = append(out, Assign{Name: strings.Trim(n.N.Value, "{}")})
	case *syntax.CoprocClause:
		if n.Name == nil {
			return
		}
		out = append(out, Assign{Name: single(n.Name).Text})
	}
	if len(out) > 0 {
		r.emit(Command{Name: Word{Known: true}, Assigns: out, Through: s.through})
	}
}

// evaluates tells whether a shell reads some text of a node once more. It
// does not look into the nodes below.
func evaluates(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.ArithmExp:
		return !plain(n.X)
	case *syntax.ArithmCmd:
		return !plain(n.X)
	case *syntax.CStyleLoop:
		return !plain(n.Init) || !plain(n.Cond) || !plain(n.Post)
	case *syntax.LetClause:
		return slices.ContainsFunc(n.Exprs, func(x syntax.ArithmExpr) bool { return !plain(x) })
	case *syntax.ParamExp:
		return !plainParam(n)
	case *syntax.Assign:
		return !plainIndex(n.Index)
	case *syntax.ArrayElem:
		return !plainIndex(n.Index)
	case *syntax.Word: // {a[…]}>file puts a descriptor there
		l, ok := first(n).(*syntax.Lit)
		return ok && strings.HasPrefix(l.Value, "{") && subscript.MatchString(l.Value[1:])
	case *syntax.Redirect:
		return n.N != nil && strings.Contains(n.N.Value, "[")
	case *syntax.UnaryTest:
		return (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) && !literal(n.X, identifier)
	case *syntax.BinaryTest:
		switch n.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			return !literal(n.X, signed) || !literal(n.Y, signed)
		}
	}
	return false
}

func first(w *syntax.Word) syntax.WordPart {
	if len(w.Parts) == 0 {
		return nil
	}
	return w.Parts[0]
}

// plain tells whether arithmetic is about numbers that the line itself says.
func plain(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case nil:
		return true
	case *syntax.BinaryArithm:
		return plain(x.X) && plain(x.Y)
	case *syntax.UnaryArithm:
		return plain(x.X)
	case *syntax.ParenArithm:
		return plain(x.X)
	case *syntax.Word:
		return literal(x, number)
	}
	return false
}

func plainIndex(x syntax.ArithmExpr) bool {
	if w, ok := x.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
		return true
	}
	return plain(x)
}

// plainParam tells whether an expansion gives a value without reading it.
func plainParam(p *syntax.ParamExp) bool {
	all := false // ${!a[@]} lists the keys
	if w, ok := p.Index.(*syntax.Word); ok {
		all = w.Lit() == "@" || w.Lit() == "*"
	}
	switch {
	case !plainIndex(p.Index):
		return false
	case p.Slice != nil && (!plain(p.Slice.Offset) || !plain(p.Slice.Length)):
		return false
	case p.Excl && p.Names == 0 && !all:
		return false
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		return p.Exp.Word != nil && p.Exp.Word.Lit() != "" && p.Exp.Word.Lit() != "P"
	}
	return true
}

// literal tells whether a word of a test or of arithmetic is what a pattern
// says, or a number that the shell itself keeps.
func literal(x syntax.Node, pattern *lazyexp.Pattern) bool {
	w, ok := x.(*syntax.Word)
	if !ok {
		return false
	}
	if t := single(w); t.Known {
		return pattern.MatchString(t.Text)
	}
	return len(w.Parts) == 1 && pattern != identifier && counts(w.Parts[0])
}

// counts tells whether a part of a word can only be a number.
func counts(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.DblQuoted:
		return len(p.Parts) == 1 && counts(p.Parts[0])
	case *syntax.ArithmExp:
		return true // by itself judged
	case *syntax.ParamExp:
		if p.Param == nil || !plainParam(p) || p.Excl || p.Exp != nil || p.Repl != nil || p.Slice != nil {
			return false
		}
		return p.Length || slices.Contains([]string{"?", "#", "$", "!"}, p.Param.Value)
	}
	return false
}

// splits tells whether a word may become several when it is expanded.
func splits(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		switch p := p.(type) {
		case *syntax.CmdSubst:
			return true
		case *syntax.ParamExp:
			return !counts(p)
		case *syntax.DblQuoted:
			return slices.ContainsFunc(p.Parts, func(q syntax.WordPart) bool {
				v, ok := q.(*syntax.ParamExp)
				return ok && v.Param != nil && (v.Param.Value == "@" || v.Index != nil)
			})
		}
		return false
	})
}

// testSplits tells whether an expansion could put an operator into test.
func testSplits(cmd Command, c *syntax.CallExpr) bool {
	isTest := func(w Word) bool { return w.Known && (w.Text == "test" || w.Text == "[") }
	if !isTest(cmd.Name) && (cmd.Base() != "command" && cmd.Base() != "builtin" || !slices.ContainsFunc(cmd.Args, isTest)) {
		return false
	}
	return slices.ContainsFunc(c.Args, splits)
}

// reads tells whether a builtin reads some of its words once more.
func reads(name string, args []Word) bool {
	subscripted := func(w Word) bool { return !w.Known || subscript.MatchString(strings.TrimLeft(w.Text, "-")) }
	switch name {
	case "test", "[":
		return testReads(name, args)
	case "let", "compgen", "complete", "bind":
		return true
	case "declare", "typeset", "local", "readonly", "export":
		return slices.ContainsFunc(args, declares)
	case "unset", "getopts":
		return slices.ContainsFunc(args, subscripted)
	case "wait":
		return slices.ContainsFunc(args, func(w Word) bool { return w.Known && hasOption(w.Text, "p") }) && optionNames(args, "p", subscripted)
	case "printf":
		return len(args) > 0 && (!args[0].Known && len(args) > 1 || strings.HasPrefix(args[0].Text, "-v")) && optionNames(args[:min(2, len(args))], "v", subscripted)
	case "read":
		return operandNames(args, "adinNptu", subscripted)
	case "mapfile", "readarray":
		return slices.ContainsFunc(args, func(w Word) bool { return !w.Known || hasOption(w.Text, "C") || subscripted(w) })
	}
	return false
}

func hasOption(t, letters string) bool {
	return len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.ContainsAny(t[1:], letters)
}

// optionNames tells whether the variable that an option names is like bad.
func optionNames(args []Word, letter string, bad func(Word) bool) bool {
	for i, a := range args {
		if !a.Known {
			return true
		}
		if !hasOption(a.Text, letter) {
			continue
		}
		_, rest, _ := strings.Cut(a.Text, letter)
		if rest != "" && bad(Word{rest, true}) || rest == "" && i+1 < len(args) && bad(args[i+1]) {
			return true
		}
	}
	return false
}

// operandNames tells whether a variable among the operands is like bad.
func operandNames(args []Word, values string, bad func(Word) bool) bool {
	for i := 0; i < len(args); i++ {
		t := args[i].Text
		if !args[i].Known || !hasOption(t, values) {
			if bad(args[i]) {
				return true
			}
			continue
		}
		if at := strings.IndexAny(t, values); at == len(t)-1 {
			if i++; t[at] == 'a' && i < len(args) && bad(args[i]) {
				return true
			}
		}
	}
	return false
}

// declares tells whether a word of declare makes values be evaluated, or
// could.
func declares(w Word) bool {
	return !w.Known || (w.Text != "" && (w.Text[0] == '-' || w.Text[0] == '+')) && strings.ContainsAny(w.Text, "in") && !strings.HasPrefix(w.Text, "--") || subscript.MatchString(w.Text)
}

// testReads tells whether test looks at a variable by a name that it reads,
// or might for a word that is not known.
func testReads(name string, args []Word) bool {
	if n := len(args); name == "[" && n > 0 && args[n-1].Known && args[n-1].Text == "]" {
		args = args[:n-1]
	}
	for i, a := range args {
		if a.Known && (a.Text == "-v" || a.Text == "-R") && i+1 < len(args) && (!args[i+1].Known || !identifier.MatchString(args[i+1].Text)) {
			return true
		}
	}
	for len(args) > 0 && args[0].Known && args[0].Text == "!" {
		args = args[1:]
	}
	known := func(i int) bool { return args[i].Known }
	switch len(args) {
	case 0, 1:
		return false
	case 2:
		return !known(0)
	case 3:
		return !known(1)
	}
	return slices.ContainsFunc(args, func(w Word) bool { return !w.Known })
}
