package check

import (
	"strings"
	"unicode"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

// Completion is one thing that could stand at a place.
type Completion struct {
	Label  string
	Kind   CompletionKind
	Detail string // its type or signature
	Doc    string // one or more sentences
	Insert string // plain text that replaces Span
	// Snippet is the same with tab stops, "" when there are none.
	Snippet string
	Span    Span
}

// CompletionKind is what a Completion is.
type CompletionKind uint8

const (
	NoCompletionKind CompletionKind = iota
	FieldCompletion
	MethodCompletion
	FunctionCompletion
	ModuleCompletion
	VariableCompletion
	ConstantCompletion
	KeywordCompletion
	ActionCompletion
	KeyCompletion
	HookCompletion
)

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Complete lists what can stand at an offset, where the cursor is.
func (a *Analysis) Complete(offset int) []Completion {
	if offset < 0 || offset > len(a.Tree.Text) || a.inComment(offset) {
		return nil
	}
	c := completer{Analysis: a, offset: offset, path: a.path(offset), word: a.word(offset)}
	if text := a.Tree.Text[c.word.Start:c.word.End]; text != "" && text[0] >= '0' && text[0] <= '9' {
		return nil
	}
	c.hook, c.hasHook = a.hookAt(offset)
	switch {
	case c.afterDot():
	case c.inString():
	case c.inMap():
	case c.atTop():
	default:
		c.names()
	}
	return c.list
}

type completer struct {
	*Analysis
	offset  int
	word    Span
	path    []syntax.Node
	hook    hookFunction
	hasHook bool
	list    []Completion
}

func (c *completer) add(x Completion) {
	if x.Insert == "" {
		x.Insert = x.Label
	}
	if x.Span == (Span{}) {
		x.Span = c.word
	}
	c.list = append(c.list, x)
}

// before gives the text of this line up to the word.
func (c *completer) before() string {
	start := c.word.Start
	for start > 0 && c.Tree.Text[start-1] != '\n' && c.Tree.Text[start-1] != '\r' {
		start--
	}
	return c.Tree.Text[start:c.word.Start]
}

// afterDot offers what the value before a dot has.
func (c *completer) afterDot() bool {
	if c.word.Start == 0 || c.Tree.Text[c.word.Start-1] != '.' {
		return false
	}
	var found *syntax.Attr
	for _, n := range c.path {
		if at, ok := n.(*syntax.Attr); ok && at.Dot == c.word.Start-1 {
			found = at
		}
	}
	if found == nil {
		if s, ok := c.innermost().(*syntax.String); ok && s != nil {
			return false // a dot in a text
		}
		return !c.inTemplateText()
	}
	c.members(c.types().attrs[found])
	return true
}

func (c *completer) innermost() syntax.Node {
	if len(c.path) == 0 {
		return nil
	}
	return c.path[len(c.path)-1]
}

func (c *completer) members(x value) {
	lib := contract.Library()
	if x.mod != nil {
		for i := range x.mod.Functions {
			c.function(&x.mod.Functions[i], FunctionCompletion)
		}
		for _, k := range x.mod.Constants {
			c.add(Completion{Label: k.Name, Kind: ConstantCompletion, Detail: k.Value.String(), Doc: k.Doc})
		}
		return
	}
	if x.shape != nil && x.shape.Kind == contract.Object && x.kinds&contract.MapValue != 0 {
		for _, f := range x.shape.Fields {
			c.add(Completion{Label: f.Name, Kind: FieldCompletion, Detail: f.Type.String(), Doc: f.Doc})
		}
	}
	if x.shape != nil && x.shape.Kind == contract.Map && x.shape.Elem.Kind == contract.String && x.inCtx {
		for _, name := range []string{"conversation", "task"} { // regions
			c.add(Completion{Label: name, Kind: FieldCompletion, Detail: "string", Doc: "a region that every stage has"})
		}
	}
	for _, l := range x.lits {
		for _, k := range l.keys {
			if l.of == contract.NoAction && isName(k.name) {
				c.add(Completion{Label: k.name, Kind: FieldCompletion, Detail: k.value.String()})
			}
		}
	}
	kinds := x.kinds &^ contract.NilValue
	if x.isUnknown() {
		return
	}
	if m := lib.MethodsOf(kinds); m != nil {
		for i := range m.Functions {
			c.function(&m.Functions[i], MethodCompletion)
		}
	}
}

func isName(s string) bool {
	for i, r := range s {
		if !(r == '_' || unicode.IsLetter(r) || i > 0 && unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

// function offers a call; without parameters the brackets are complete.
func (c *completer) function(f *contract.Function, k CompletionKind) {
	x := Completion{Label: f.Name, Kind: k, Detail: f.Signature(), Doc: f.Doc, Insert: f.Name + "()", Snippet: f.Name + "($0)"}
	if f.Max == 0 {
		x.Snippet = f.Name + "()$0"
	}
	if after := c.Tree.Text[c.offset:]; strings.HasPrefix(after, "(") {
		x.Insert, x.Snippet = f.Name, ""
	}
	c.add(x)
}

// inString offers what a text can be: an action, a field in brackets, a value
// of a field of few values. In any other text there is nothing to offer.
func (c *completer) inString() bool {
	s, ok := c.innermost().(*syntax.String)
	if !ok || c.offset <= s.Start || c.offset >= s.End && c.offset != len(c.Tree.Text) && c.closed(s) {
		return c.inTemplateText()
	}
	inside := Span{s.Start + 1, s.End}
	if c.closed(s) {
		inside.End--
	}
	if len(c.path) < 2 {
		return true
	}
	switch p := c.path[len(c.path)-2].(type) {
	case *syntax.Map:
		for _, item := range p.Items {
			if name, _ := item.KeyName(); name == "action" && item.Value == syntax.Expr(s) {
				c.actions(inside, "")
			}
		}
	case *syntax.Index:
		if x := c.types().valueOf(p.X); x.shape != nil && x.shape.Kind == contract.Object {
			for _, f := range x.shape.Fields {
				c.add(Completion{Label: f.Name, Kind: FieldCompletion, Detail: f.Type.String(), Doc: f.Doc, Span: inside})
			}
		}
	case *syntax.Infix:
		other := p.X
		if other == syntax.Expr(s) {
			other = p.Y
		}
		if x := c.types().valueOf(other); x.shape != nil {
			for _, v := range x.shape.Values {
				c.add(Completion{Label: v, Kind: ConstantCompletion, Detail: "string", Span: inside})
			}
		}
	}
	return true
}

func (c *completer) closed(s *syntax.String) bool {
	return s.End-s.Start >= 2 && c.Tree.Text[s.End-1] == c.Tree.Text[s.Start]
}

// inTemplateText says whether the cursor is in a '…' but in none of its holes.
func (c *completer) inTemplateText() bool {
	t, ok := c.innermost().(*syntax.Template)
	if !ok || c.offset <= t.Start || c.offset >= t.End {
		return false
	}
	text := c.Tree.Text[t.Start:c.offset]
	return strings.Count(text, "{")-strings.Count(text, "{{")*2 <= strings.Count(text, "}")-strings.Count(text, "}}")*2
}

// valueOf gives what is known of an expression that was walked.
func (r *recording) valueOf(e syntax.Expr) value {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Ident:
		return r.idents[e]
	case *syntax.Attr:
		x := r.attrs[e]
		if f := field(x.shape, e.Name.Name); f != nil {
			return typed(&f.Type, x.inCtx)
		}
	case *syntax.Index:
		return r.valueOf(e.X).item()
	}
	return unknown
}

// actions offers those that the event honours, all outside of hook functions.
func (c *completer) actions(at Span, quote string) {
	for _, act := range contract.Answers() {
		if c.hasHook && !c.hook.event.Honours(act) {
			continue
		}
		c.add(Completion{Label: act.String(), Kind: ActionCompletion, Detail: "action", Doc: actionDocs[act], Insert: quote + act.String() + quote, Span: at})
	}
}

var actionDocs = map[contract.Action]string{
	contract.Allow:      "Goes on unchanged.",
	contract.Modify:     "Goes on with the value.",
	contract.Deny:       "The calls do not run; the model is told the reason, and the run goes on.",
	contract.Substitute: "The call does not run; the value is its result.",
	contract.Cancel:     "Ends the run, with the reason.",
	contract.Retry:      "Asks the model again, with the reason as a reminder.",
}

var keyDocs = map[string]string{
	"action":   "What is decided.",
	"reason":   "Why; the model or the user sees it.",
	"value":    "What to go on with.",
	"is_error": "Whether the substituted result is an error.",
	"calls":    "The ids of the calls to deny; without it the whole batch is denied.",
	"state":    "A map that the next firing of this hook in the run finds in ctx.state.",
}

// inMap offers the keys of a decision, and actions after `action:`.
func (c *completer) inMap() bool {
	var m *syntax.Map
	open := -1
	outer := 0
	for _, n := range c.path {
		switch n := n.(type) {
		case *syntax.Map:
			if n.Start < c.offset && c.offset < n.End || !strings.HasSuffix(c.Tree.Text[n.Start:n.End], "}") {
				m, open = n, n.Start
				outer++
			}
		case *syntax.Set:
			if n.Start < c.offset && c.offset < n.End && len(n.Items) == 1 {
				m, open = nil, n.Start
				outer++
			}
		case *syntax.Func, *syntax.Block:
			m, open, outer = nil, -1, 0
		}
	}
	if open < 0 {
		return false
	}
	before := strings.TrimRight(c.Tree.Text[open:c.word.Start], " \t\r\n")
	switch {
	case strings.HasSuffix(before, ":"):
		if strings.HasSuffix(strings.TrimRight(before[:len(before)-1], " \t"), "action") {
			c.actions(c.word, `"`)
			return true
		}
		return false
	case !strings.HasSuffix(before, "{") && !strings.HasSuffix(before, ","):
		return false
	case !c.hasHook && outer > 1:
		return false
	}
	if outer > 1 {
		c.valueKeys()
	} else {
		c.decisionKeys(m)
	}
	return true
}

// valueKeys offers the fields of what a modify value is made of.
func (c *completer) valueKeys() {
	t := c.hook.event.Value
	for t != nil && t.Elem != nil && t.Kind == contract.List {
		t = t.Elem
	}
	if t == nil || t.Kind != contract.Object {
		return
	}
	for _, f := range t.Fields {
		c.add(Completion{Label: f.Name, Kind: KeyCompletion, Detail: f.Type.String(), Doc: f.Doc, Insert: f.Name + ": "})
	}
}

func (c *completer) decisionKeys(m *syntax.Map) {
	keys := []string{"action", "reason", "value", "state"}
	has := map[string]bool{}
	if m != nil {
		for _, item := range m.Items {
			name, _ := item.KeyName()
			if id, ok := item.Key.(*syntax.Ident); !ok || !id.Contains(c.offset) {
				has[name] = true
			}
			s, isText := item.Value.(*syntax.String)
			if name != "action" || !isText || !c.hasHook {
				continue
			}
			if act, err := contract.ParseAction(s.Value); err == nil {
				keys = c.hook.event.Keys(act)
			}
		}
	}
	for _, k := range keys {
		if has[k] {
			continue
		}
		doc := keyDocs[k]
		if k == "value" && c.hasHook && c.hook.event.ValueDoc != "" {
			doc += " Here: " + c.hook.event.ValueDoc + "."
		}
		c.add(Completion{Label: k, Kind: KeyCompletion, Doc: doc, Insert: k + ": "})
	}
}

// atTop offers the hook functions that the script does not have yet, where a
// statement begins outside of every function.
func (c *completer) atTop() bool {
	for _, n := range c.path {
		switch n := n.(type) {
		case *syntax.Func:
			if n.Body != nil && n.Body.Start < c.offset && c.offset < n.Body.End {
				return false
			}
		case *syntax.Block:
			return false
		}
	}
	head := strings.TrimLeft(c.before(), " \t\ufeff")
	word := strings.TrimSpace(head)
	if word != "" && word != "func" {
		return false
	}
	for _, e := range contract.Events() {
		if e.Function == "" || c.defines(e.Function) {
			continue
		}
		lead := "func "
		if word == "func" {
			lead = ""
		}
		eol := lineEnd(c.Tree.Text)
		c.add(Completion{
			Label: e.Function, Kind: HookCompletion, Detail: "hook: " + e.Honoured(), Doc: e.Doc + " Fires: " + lowerFirst(e.Fires),
			Insert:  lead + e.Function + "(ctx) {" + eol + "    return nil" + eol + "}",
			Snippet: lead + e.Function + "(ctx) {" + eol + "    ${0:return nil}" + eol + "}",
		})
	}
	if word != "func" {
		c.names()
	}
	return true
}

// defines says whether the script defines that function already.
func (c *completer) defines(function string) bool {
	s, ok := c.Function(function)
	return ok && !(s.Selection.Start <= c.offset && c.offset <= s.Selection.End)
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// names offers what is defined here, the library and the words of the language.
func (c *completer) names() {
	seen := map[string]bool{}
	for s := c.scopeAt(c.offset); s != nil; s = s.parent {
		for _, sym := range s.order {
			if seen[sym.name] || sym.name == "_" || sym.decl.Start >= c.word.Start {
				continue
			}
			seen[sym.name] = true
			v := c.types().idents[sym.decl]
			x := Completion{Label: sym.name, Kind: VariableCompletion, Detail: v.String()}
			if sym.fn != nil {
				x.Kind, x.Detail = FunctionCompletion, signatureOf(sym.name, sym.fn)
				x.Insert, x.Snippet = sym.name+"()", sym.name+"($0)"
			} else if sym.kind == module {
				x.Kind = ModuleCompletion
			}
			if v.kinds == 0 && sym.fn == nil {
				x.Detail = ""
			}
			c.add(x)
		}
	}
	lib := contract.Library()
	for i := range lib.Functions {
		if f := &lib.Functions[i]; !seen[f.Name] {
			c.function(f, FunctionCompletion)
		}
	}
	for _, m := range lib.Modules {
		if !seen[m.Name] {
			c.add(Completion{Label: m.Name, Kind: ModuleCompletion, Detail: "module", Doc: m.Doc})
		}
	}
	for _, w := range syntax.Keywords() {
		if w != "go" && w != "struct" {
			c.add(Completion{Label: w, Kind: KeywordCompletion})
		}
	}
}
