package syntax_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks/syntax"
)

// errorsOf lists errors as line:column: message.
func errorsOf(src string) []string {
	t := syntax.Parse([]byte(src))
	var list []string
	for _, e := range t.Errors {
		p := t.Lines.Position(e.Start)
		list = append(list, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, e.Message))
	}
	return list
}

func TestSeveralErrors(t *testing.T) {
	for _, tc := range []struct {
		name, src string
		want      []string
	}{
		{"goes on with the next statement", "func f() {\n    a :=\n    b := (1 == )\n    return a b\n}\nx := 1 +\n",
			[]string{`2:7: a value is missing after ":="`, `3:16: expected a value, found ")"`, `4:14: unexpected "b" after a statement`, `6:8: a value is missing after "+"`}},
		{"goes on with the next function when a block has no end", "func f() {\n    if x {\n        a()\n}\n\nfunc g() {\n    b :=\n}\n",
			[]string{"1:10: this { is not closed: } is missing", `7:7: a value is missing after ":="`}},
		{"a brace too many", "func f() {\n}\n}\nx := )\n", []string{"3:1: this } closes nothing", `4:6: expected a value, found ")"`}},
		{"an if without a condition", "func f() {\n    if {\n        a()\n    }\n    b :=\n}\n", []string{"2:8: a condition is missing after if", `5:7: a value is missing after ":="`}},
		{"a string without end", "a := \"x\nb := 'y\nc := 1\n", []string{"1:6: this string has no end: \" is missing on its line", "2:6: this string has no end: ' is missing on its line"}},
		{"an escape", `a := "\q"`, []string{`1:7: "\q" is no escape; a backslash is written \\`}},
		{"a call that is not closed", "f(1, 2\ng(3)\n", []string{`1:6: expected ) to close the (, found the end of the line`}},
		{"a bracket in the wrong place", "if (a == b {\n    f(\n}\nx := 1\n", []string{`1:12: expected ) to close the (, found "{"`, `2:6: a value is missing after "("`}},
		{"a dot", "func f(ctx) {\n    x := ctx.\n    return x\n}\n", []string{"2:13: a name is missing after the dot"}},
		{"a word of another language", "while x { }\nif a and b { }\nx = not y\n", []string{`1:7: unexpected "x" after a statement; for "while" write for`, `2:6: expected { to begin what if does, found "and"`, `3:9: unexpected "y" after a statement; for "not" write !`}},
		{"holes", "a := '{x +} {y'\n", []string{`1:10: a value is missing after "+"`, `1:13: this hole has no end: } is missing; a { that is meant is written {{`}},
		{"numbers", "a := 1e3\nb := 09\nc := 1.\n", []string{`1:6: "1e3" is no number: write it out, there are no exponents`, `2:6: "09" is no number: hexadecimal numbers begin with 0x, octal ones with 0`, `3:6: "1." is no number`}},
		{"import", "import \"../x\"\nfrom a\n", []string{`1:8: "../x" is no import path: it is made of names and slashes`, `2:6: expected import after the module, found the end of the line`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, errorsOf(tc.src)); d != "" {
				t.Error(d)
			}
		})
	}
}

// The same text with other line ends, with a byte order mark, gives the same
// errors at the same places.
func TestLineEnds(t *testing.T) {
	src := "// c\nfunc f() {\n    a := \n}\n\nb := )"
	want := errorsOf(src)
	for _, tc := range []struct{ name, src string }{
		{"CRLF", strings.ReplaceAll(src, "\n", "\r\n")},
		{"CR", strings.ReplaceAll(src, "\n", "\r")},
		{"mark", "\ufeff" + src},
	} {
		if d := cmp.Diff(want, errorsOf(tc.src)); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
}

func TestHolesHaveTheirPlaces(t *testing.T) {
	src := "é := 'a\\t{ctx.name} {{x}} {g(\\'q\\', y)}'"
	var got []string
	tree := syntax.Parse([]byte(src))
	for _, e := range tree.Errors {
		t.Error(e.Message)
	}
	for _, s := range tree.Statements {
		syntax.Inspect(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Ident:
				got = append(got, src[n.Start:n.End])
			case *syntax.Attr:
				got = append(got, "attr "+src[n.Start:n.End])
			case *syntax.Call:
				got = append(got, "call "+src[n.Start:n.End])
			case *syntax.String:
				got = append(got, "text "+src[n.Start:n.End])
			}
			return true
		})
	}
	want := []string{"é", "attr ctx.name", "ctx", "name", "call g(\\'q\\', y)", "g", "text \\'q\\'", "y"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPosition(t *testing.T) {
	text := "\ufeffa\u0301𝒳b\r\n\rx\ny"
	lines := syntax.NewLines(text)
	for _, tc := range []struct {
		at   string
		want syntax.Position
	}{
		{"a", syntax.Position{Offset: 3, Line: 1, Column: 1, Byte: 3, UTF16: 1}},
		{"b", syntax.Position{Offset: 10, Line: 1, Column: 4, Byte: 10, UTF16: 5}},
		{"x", syntax.Position{Offset: 14, Line: 3, Column: 1}},
		{"y", syntax.Position{Offset: 16, Line: 4, Column: 1}},
	} {
		offset := strings.Index(text, tc.at)
		got := lines.Position(offset)
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", tc.at, d)
		}
		if back := lines.Offset(got.Line, got.Column); back != offset {
			t.Errorf("Offset(%d, %d) = %d, want %d", got.Line, got.Column, back, offset)
		}
	}
	if got := lines.Position(1000).Line; got != 4 {
		t.Errorf("a place past the end is on line %d, want 4", got)
	}
	if got, want := lines.Count(), 4; got != want {
		t.Errorf("Count() = %d, want %d", got, want)
	}
}

// Whatever a text does to tire the parser, it looks at each token at most
// twice and stops where a limit is passed.
func TestHostileTextIsCheap(t *testing.T) {
	nested, err := os.ReadFile("../check/testdata/hostile/on_tool_call.nested.risor")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, src string
		want      string
	}{
		{"nested 3,000 levels", string(nested), "nested deeper than 256 levels"},
		{"a million brackets", strings.Repeat("(", 1_000_000), "nested deeper than 256 levels"},
		{"a million lists", strings.Repeat("[", 1_000_000), "nested deeper than 256 levels"},
		{"a million maps", strings.Repeat("{a:", 300_000), "nested deeper than 256 levels"},
		{"a million prefixes", strings.Repeat("!", 1_000_000), "nested deeper than 256 levels"},
		{"2,000 else-ifs", "if x { }" + strings.Repeat(" else if x { }", 2_000), "nested deeper than 256 levels"},
		{"nested ifs", strings.Repeat("if x {\n", 100_000), "nested deeper than 256 levels"},
		{"loops in heads of loops", strings.Repeat("for ", 200_000), "nested deeper than 256 levels"},
		{"functions in functions", strings.Repeat("func() {", 100_000), "nested deeper than 256 levels"},
		{"operators", "x" + strings.Repeat("+1", 400_000), "more than 1000 operators, calls and attributes in a row"},
		{"attributes", "x" + strings.Repeat(".a", 400_000), "more than 1000 operators, calls and attributes in a row"},
		{"calls", "x" + strings.Repeat("()", 400_000), "more than 1000 operators, calls and attributes in a row"},
		{"pipes", "x" + strings.Repeat("|f", 400_000), "more than 1000 stages in a pipe"},
		{"functions without end", strings.Repeat("func f() {\n", 90_000), "nested deeper than 256 levels"},
		{"blocks without end", strings.Repeat("func f() {\nif x {\n}\n", 50_000), "nested deeper than 256 levels"},
		{"strings without end", strings.Repeat("\"a\n", 300_000), "this string has no end"},
		{"comments without end", strings.Repeat("/* ", 300_000), "this comment has no end"},
		{"larger than the limit", strings.Repeat("x\n", 600_000), "larger than 1048576 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tree := syntax.Parse([]byte(tc.src))
			if len(tree.Errors) == 0 || len(tree.Errors) > syntax.DefaultErrors {
				t.Fatalf("%d errors, want 1 to %d", len(tree.Errors), syntax.DefaultErrors)
			}
			found := false
			for _, e := range tree.Errors {
				found = found || strings.Contains(e.Message, tc.want)
			}
			if !found {
				t.Errorf("errors %v, want %q among them", tree.Errors[0].Message, tc.want)
			}
			if limit := 2*len(tc.src) + 100; tree.Steps > limit {
				t.Errorf("%d tokens looked at, want at most %d", tree.Steps, limit)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, lines := range []int{1_000, 2_000} {
		src := []byte(strings.Repeat("func on_tool_call(ctx) {\n    for _, call := range ctx.tool_calls {\n        if call.name == \"shell\" {\n            return hook.deny('no {call.name}')\n        }\n    }\n    return nil\n}\n", lines/8))
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				syntax.Parse(src)
			}
		})
	}
}
