package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// at takes the cursor ‸ out of a text.
func at(t *testing.T, text string) (*Analysis, int) {
	t.Helper()
	offset := strings.Index(text, "‸")
	if offset < 0 {
		t.Fatal("no cursor in", text)
	}
	return Analyze("x.risor", []byte(strings.Replace(text, "‸", "", 1)), Options{}), offset
}

func labels(list []Completion) []string {
	var l []string
	for _, c := range list {
		l = append(l, c.Label)
	}
	return l
}

func TestComplete(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string // these are offered
		not        []string // these are not
		only       bool
	}{
		{"fields of ctx by the function's name", "func on_tool_call(ctx) {\n    ctx.‸\n}", []string{"tool_calls", "run_id", "state", "keys"}, []string{"regions", "output"}, false},
		{"while a name is typed", "func on_error(ctx) {\n    x := ctx.er‸\n    return nil\n}", []string{"error", "output"}, []string{"tool_calls"}, false},
		{"a dot at the end of a line", "func on_error(ctx) {\n    x := ctx.‸\n    y := 1\n}", []string{"error"}, []string{"tool_calls"}, false},
		{"fields of an item", "func on_tool_call(ctx) {\n    ctx.tool_calls[0].‸\n}", []string{"id", "name", "arguments"}, []string{"tool_calls"}, false},
		{"fields in a loop", "func on_tool_call(ctx) {\n    for _, call := range ctx.tool_calls {\n        if call.‸ {\n        }\n    }\n}", []string{"id", "name", "arguments"}, []string{"tool_calls"}, false},
		{"fields through an alias", "func on_tool_call(ctx) {\n    c := ctx\n    l := c.tool_calls\n    l[0].‸\n}", []string{"id", "name", "arguments"}, nil, false},
		{"fields in a callback", "func on_tool_call(ctx) {\n    return ctx.tool_calls.map(func(c) { return c.‸ })\n}", []string{"id", "name"}, nil, false},
		{"regions", "func before_inference(ctx) {\n    ctx.regions.‸\n}", []string{"conversation", "task", "get"}, nil, false},
		{"in a hole", "func on_error(ctx) {\n    return hook.cancel('no {ctx.‸}')\n}", []string{"error", "stage"}, nil, false},
		{"nothing in the text of a template", "func on_error(ctx) {\n    return hook.cancel('no ctx.‸ {ctx.error}')\n}", nil, []string{"error", "len"}, true},
		{"methods of a string", "func on_error(ctx) {\n    ctx.error.‸\n}", []string{"trim_space", "split"}, []string{"append"}, false},
		{"members of a module", "x := strings.‸", []string{"split", "to_lower"}, []string{"len"}, false},
		{"our modules", "x := hook.‸", []string{"allow", "deny", "retry", "decide"}, nil, false},
		{"fields of an answer", "x := hook.decide(\"q\", nil)\ny := x.‸", []string{"ok", "reason", "answers", "usage"}, []string{"action"}, false},
		{"actions that are honoured", "func on_error(ctx) {\n    return {action: \"‸\"}\n}", []string{"allow", "modify", "cancel"}, []string{"deny", "retry", "substitute"}, true},
		{"actions without quotes", "func on_tool_call(ctx) {\n    return {action: ‸}\n}", []string{"allow", "deny"}, []string{"retry"}, false},
		{"keys of a decision", "func on_error(ctx) {\n    return {‸}\n}", []string{"action", "reason", "value", "state"}, []string{"len"}, true},
		{"keys after the first", "func on_tool_call(ctx) {\n    return {action: \"deny\", ‸}\n}", []string{"reason", "calls", "state"}, []string{"action", "value"}, true},
		{"values of a field", "func on_stage_exit(ctx) {\n    if ctx.outcome == \"‸\" { }\n}", []string{"finished", "max_turns"}, nil, true},
		{"nothing in a text", "x := \"le‸\"", nil, []string{"len"}, true},
		{"nothing in a comment", "// le‸\nx := 1", nil, []string{"len"}, true},
		{"nothing in a number", "x := 12‸", nil, []string{"len"}, true},
		{"names", "limit := 1\nfunc helper(a) { return a }\nfunc on_error(ctx) {\n    mine := 2\n    l‸\n    later := 3\n}", []string{"limit", "helper", "ctx", "mine", "len", "strings", "for"}, []string{"later", "on_error_x"}, false},
		{"hook functions at the top", "func on_error(ctx) { return nil }\n\non‸", []string{"on_tool_call", "before_inference", "len"}, []string{"on_error_"}, false},
		{"hook functions after func", "func ‸", []string{"on_tool_call"}, []string{"len"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, offset := at(t, tc.text)
			list := a.Complete(offset)
			got := labels(list)
			for _, w := range tc.want {
				if !slices.Contains(got, w) {
					t.Errorf("%s is not offered, only %v", w, got)
				}
			}
			for _, n := range tc.not {
				if slices.Contains(got, n) {
					t.Errorf("%s is offered", n)
				}
			}
			if tc.only && len(got) != len(tc.want) {
				t.Errorf("offered %v, want only %v", got, tc.want)
			}
			for _, c := range list {
				if c.Span.Start > c.Span.End || c.Span.End > len(a.Tree.Text) || c.Span.Start > offset {
					t.Errorf("%s replaces %v, cursor at %d", c.Label, c.Span, offset)
				}
			}
		})
	}
}

func TestCompletionReplacesTheWord(t *testing.T) {
	a, offset := at(t, "func on_error(ctx) {\n    return {action: \"ca‸n\"}\n}")
	for _, c := range a.Complete(offset) {
		if c.Label == "cancel" {
			if got := apply(a.Tree.Text, []Edit{{c.Span, c.Insert}}); !strings.Contains(got, `{action: "cancel"}`) {
				t.Errorf("inserted: %s", got)
			}
		}
	}
	a, offset = at(t, "func on_‸")
	for _, c := range a.Complete(offset) {
		if c.Label == "on_error" {
			if got := apply(a.Tree.Text, []Edit{{c.Span, c.Insert}}); got != "func on_error(ctx) {\n    return nil\n}" {
				t.Errorf("inserted: %s", got)
			}
		}
	}
}

func TestHover(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"func on_tool_call(ctx) {\n    ctx.tool_c‸alls\n}", "tool_calls: list of {id: string, name: string, arguments: map of any}"},
		{"func on_tool_call(ctx) {\n    ctx.tool_calls[0].na‸me\n}", "name: string"},
		{"func on_tool_‸call(ctx) {\n}", "Honours allow, modify, deny and cancel."},
		{"func on_error(ct‸x) {\n}", "the ctx of on_error"},
		{"x := le‸n(\"a\")", "len(value) int"},
		{"x := strings.sp‸lit(\"a\", \"b\")", "strings.split(s, sep) list of string"},
		{"x := time.RFC33‸39", "time.RFC3339: string"},
		{"x := hoo‸k.allow()", "module hook"},
		{"x := hook.dec‸ide(\"q\", nil)", "hook.decide(question, schema) {ok: bool, reason: string or nil, answers: any"},
		{"x := hook.dec‸ide(\"q\", nil)", "if asked.answers.outside {"},
		{"x := hook.decide(\"q\", nil)\nx.rea‸son", "reason: string or nil"},
		{"func on_error(ctx) {\n    return {action: \"can‸cel\"}\n}", "Ends the run"},
		{"func on_error(ctx) {\n    return {action: \"re‸try\"}\n}", "on_error does not honour it"},
		{"func on_error(ctx) {\n    return {action: \"modify\", val‸ue: \"x\"}\n}", "text that replaces the error shown"},
		{"func helper(a, b=1) { }\nhel‸per(1)", "func helper(a, b?)"},
		{"func on_error(ctx) {\n    e := ctx.error\n    return hook.cancel(‸e)\n}", "e: string"},
		{"x := o‸s.getenv(\"a\")", "Not available in hooks"},
		{"func on_error(ctx) {\n    return hook.cancel('{ctx.err‸or}')\n}", "what went wrong"},
	} {
		a, offset := at(t, tc.text)
		got, span, ok := a.Hover(offset)
		if !ok || !strings.Contains(strings.ToLower(got), strings.ToLower(tc.want)) {
			t.Errorf("Hover in %q = %q, want %q in it", tc.text, got, tc.want)
		}
		if ok && (span.Start > offset || span.End < offset) {
			t.Errorf("Hover in %q is about %v, cursor at %d", tc.text, span, offset)
		}
	}
	for _, text := range []string{"// x‸y", "‸", "x := 1‸2", "x := \"a‸b\""} {
		a, offset := at(t, text)
		if got, _, ok := a.Hover(offset); ok {
			t.Errorf("Hover in %q = %q, want nothing", text, got)
		}
	}
}

func TestSymbols(t *testing.T) {
	a := Analyze("x.risor", []byte("limit := 1\nconst k = \"a\"\nfunc helper(a) {\n    func inner() { }\n    x := func(b) { }\n}\nfunc on_error(ctx) { }\non_completion := func(ctx) { }\nimport math\n"), Options{})
	var got []string
	var walk func(list []Symbol, indent string)
	walk = func(list []Symbol, indent string) {
		for _, s := range list {
			if s.Selection.Start < s.Span.Start || s.Selection.End > s.Span.End {
				t.Errorf("%s: selection %v is not in %v", s.Name, s.Selection, s.Span)
			}
			got = append(got, indent+s.Kind.String()+" "+s.Name)
			walk(s.Children, indent+"  ")
		}
	}
	walk(a.Symbols(), "")
	want := []string{"variable limit", "constant k", "function helper", "  function inner", "  function x", "hook on_error", "hook on_completion", "module math"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, ok := a.Function("helper"); !ok {
		t.Error("helper is not found")
	}
}

func TestDefinitionAndReferences(t *testing.T) {
	text := "limit := 1\nfunc on_error(ctx) {\n    x := limit‸ + 1\n    limit = 2\n    f := func() { return limit }\n    for limit := range [1] { limit }\n    return 'a {limit}'\n}\n"
	a, offset := at(t, text)
	def, ok := a.Definition(offset)
	if !ok || a.Tree.Text[def.Start:def.End] != "limit" || def.Start != 0 {
		t.Errorf("Definition = %v %v, want the first word", def, ok)
	}
	var lines []int
	for _, s := range a.References(offset) {
		if a.Tree.Text[s.Start:s.End] != "limit" {
			t.Errorf("a reference to %q", a.Tree.Text[s.Start:s.End])
		}
		lines = append(lines, a.Tree.Lines.Position(s.Start).Line)
	}
	if d := cmp.Diff([]int{1, 3, 4, 5, 7}, lines); d != "" {
		t.Errorf("lines of the references: %s", d)
	}
	a, offset = at(t, "x := le‸n(\"a\")\ny := len(\"b\") + x.len\n")
	if got := len(a.References(offset)); got != 2 {
		t.Errorf("%d references to len, want 2", got)
	}
	if _, ok := a.Definition(offset); ok {
		t.Error("len has a definition in the script")
	}
	a, offset = at(t, "func f(n) {\n    return n == 0 ? 1 : f‸(n - 1)\n}\nf(3)\n")
	if got := len(a.References(offset)); got != 3 {
		t.Errorf("%d references to f, want 3", got)
	}
}
