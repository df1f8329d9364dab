package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks/contract"
)

// lines shows findings as the command line would, without severity.
func lines(a *Analysis) []string {
	var list []string
	for _, f := range a.Findings {
		p, end := a.Tree.Lines.Position(f.Span.Start), a.Tree.Lines.Position(f.Span.End)
		list = append(list, fmt.Sprintf("%d:%d-%d: %s [%s]", p.Line, p.Column, end.Column, f.Message, f.Code))
	}
	return list
}

// Where findings start and what they say.
func TestPlaces(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"a field starts at its name", "func on_tool_call(ctx) {\n    return ctx.tool_call\n}",
			[]string{`2:16-25: ctx has no field "tool_call" in on_tool_call; did you mean tool_calls? [unknown-field]`}},
		{"also behind characters of more bytes", "func on_tool_call(ctx) {\n    return \"𝒳é\" == ctx.tool_call\n}",
			[]string{`2:24-33: ctx has no field "tool_call" in on_tool_call; did you mean tool_calls? [unknown-field]`}},
		{"a decision sits on the returned expression", "func on_error(ctx) {\n    d := {action: \"cancle\"}\n    return d\n}",
			[]string{`3:12-13: there is no action "cancle" on on_error; did you mean cancel? [unknown-action]`}},
		{"one fault one finding", "func on_error(ctx) {\n    strings.split(1)\n    ctx.err.trim_space().nothing\n    return nil\n}",
			[]string{"2:13-18: strings.split takes 2 arguments, 1 given: split(s, sep) list of string [arity]", `3:9-12: ctx has no field "err" in on_error; did you mean error? [unknown-field]`}},
		{"a hook without its parameter", "func on_error() {\n    ctx.error\n    return nil\n}", []string{"1:6-14: on_error takes one parameter, ctx; it has none [arity]"}},
		{"a hook with two", "func on_error(ctx, b) {\n    return ctx.err\n}",
			[]string{"1:6-14: on_error takes one parameter, ctx; it has 2 [arity]", `2:16-19: ctx has no field "err" in on_error; did you mean error? [unknown-field]`}},
		{"a function with an error keeps its names", "func on_error(ctx) {\n    x := )\n    y := mesage\n    for { }\n    return \"allow\"\n}",
			[]string{`2:10-11: expected a value, found ")" [syntax]`, "3:10-16: mesage is not defined [undefined]"}},
		{"a word of another language", "x := null", []string{"1:6-10: null is not defined; did you mean nil? [undefined]"}},
		{"defined further down", "func a() { return b() }\nfunc b() { return 1 }", []string{"1:19-20: b is defined further down, on line 2: move it above its use [undefined]"}},
		{"twice", "func on_error(ctx) { return nil }\nfunc on_error(ctx) { return nil }", []string{"2:6-14: on_error is defined twice in the same block [syntax]"}},
		{"a function in a function in try", "func a(x) {\n    return try(func() {\n        y := x\n        return try(func() { return [x, y] })\n    })\n}",
			[]string{"4:37-38: x is of a function two or more further out, and the engine could take another variable for it here: give it to a variable of the function in between first, such as mine := x [unavailable]"}},
		{"hook constructors", "func on_tool_call(ctx) {\n    return hook.retry(\"x\")\n}\nfunc on_error(ctx) {\n    return hook.modify(1)\n}",
			[]string{"2:12-27: on_tool_call does not honour retry: it cannot retry; it honours allow, modify, deny and cancel [action-not-honoured]",
				"5:12-26: value is a string, not an int; on on_error it is text that replaces the error shown [return-shape]"}},
		{"calls that are no ids", "func on_tool_call(ctx) {\n    if ctx.turn > 1 {\n        return {action: \"deny\", calls: [1]}\n    }\n    return {action: \"deny\", calls: ctx.tool_calls}\n}",
			[]string{"3:16-44: calls[] is a string, the id of a call, not an int [return-shape]",
				"5:12-51: calls[] is a string, the id of a call, not a map [return-shape]"}},
		{"a batch", "func on_tool_call(ctx) {\n    if ctx.turn > 1 {\n        return {action: \"modify\", value: [{id: \"a\", name: \"b\"}]}\n    }\n    return hook.modify(ctx.tool_calls.map(func(c) { return c.name }))\n}",
			[]string{"3:16-65: value[] lacks arguments; it has id, name and arguments; on on_tool_call it is the calls that remain, by their ids: a call left out is refused with a notice; name and arguments may change; no call can be added [return-shape]",
				"5:12-70: value[] is a map of id, name and arguments, not a string; on on_tool_call it is the calls that remain, by their ids: a call left out is refused with a notice; name and arguments may change; no call can be added [return-shape]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, lines(Analyze("x.risor", []byte(tc.text), Options{}))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRelated(t *testing.T) {
	a := Analyze("x.risor", []byte("func on_error(ctx) {\n    d := {action: \"cancle\"}\n    return d\n}"), Options{})
	if len(a.Findings) != 1 || len(a.Findings[0].Related) != 1 {
		t.Fatalf("findings %v, want one with one relation", lines(a))
	}
	if r := a.Findings[0].Related[0]; a.Tree.Lines.Position(r.Span.Start).Line != 2 || r.Path != "x.risor" {
		t.Errorf("related is %v, want the map in line 2", r)
	}
}

func TestPoints(t *testing.T) {
	text := []byte("func on_tool_cal(ctx) {\n    return nil\n}\n")
	point := Point{Event: "on_tool_call", Function: "on_tool_call", Path: "agent.toml", Span: Span{5, 9}}
	a := Analyze("x.risor", text, Options{Points: []Point{point}, ManifestKnown: true})
	var got *Finding
	for i, f := range a.Findings {
		if f.Code == CodeMissingFunction {
			got = &a.Findings[i]
		}
	}
	if got == nil {
		t.Fatalf("findings %v, want missing-function", lines(a))
	}
	if got.Severity != Error || got.Span != (Span{5, 16}) || len(got.Related) != 1 || got.Related[0].Path != "agent.toml" {
		t.Errorf("finding %+v, want it on the misspelt name and related to the manifest", got)
	}
	for _, fix := range got.Fixes {
		fixed := apply(string(text), fix.Edits)
		for _, f := range Script("x.risor", []byte(fixed), Options{Points: []Point{point}, ManifestKnown: true}) {
			if f.Severity == Error {
				t.Errorf("after %q: %s", fix.Title, f.Message)
			}
		}
	}
	hook := []byte("func on_error(ctx) {\n    return nil\n}\n")
	if fs := Script("x.risor", hook, Options{ManifestKnown: true}); len(fs) != 1 || fs[0].Code != CodeUnreferenced || fs[0].Severity != Information {
		t.Errorf("findings %v, want unreferenced", fs)
	}
	if fs := Script("x.risor", hook, Options{}); len(fs) != 0 {
		t.Errorf("findings %v without a manifest, want none", fs)
	}
	if fs := Script("x.risor", []byte("func helper() { return 1 }"), Options{ManifestKnown: true}); len(fs) != 0 {
		t.Errorf("findings %v in a file without hooks, want none", fs)
	}
}

func TestImports(t *testing.T) {
	sibling := func(name string) bool { return name == "helpers" }
	for _, tc := range []struct {
		text string
		want int
	}{
		{"import helpers\nhelpers.x", 0}, {"import other\nother.x", 1}, {"from other import x\nx", 1}, {"import math\nmath.PI", 0},
		{"import os\nos.x", 1}, {"from os import getenv\ngetenv(\"x\")", 1}, {"import \"http/client\"\nclient", 1},
	} {
		n := 0
		for _, f := range Script("x.risor", []byte(tc.text), Options{Sibling: sibling}) {
			if f.Code == CodeUnavailable {
				n++
			} else if f.Severity == Error {
				t.Errorf("%q: %s", tc.text, f.Message)
			}
		}
		if n != tc.want {
			t.Errorf("%q: %d findings of unavailable, want %d", tc.text, n, tc.want)
		}
	}
}

// The examples of the reference page are right.
func TestExamplesAreClean(t *testing.T) {
	for _, e := range contract.Events() {
		if e.Function == "" {
			continue // its example is a shell script
		}
		for _, f := range Script(e.Name, []byte(e.Example), Options{}) {
			t.Errorf("%s: %s", e.Name, f.Message)
		}
	}
	for _, m := range contract.Library().Modules {
		for _, fn := range m.Functions {
			for _, f := range Script(fn.Name, []byte(fn.Example), Options{}) {
				t.Errorf("%s.%s: %s", m.Name, fn.Name, f.Message)
			}
		}
	}
}

// Every code of the table is found by a test in this package, or made by hand.
func TestEveryCode(t *testing.T) {
	seen := map[Code]bool{CodeMissingFunction: true, CodeUnreferenced: true}
	for _, file := range testFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, codes := range marked(string(text)) {
			for _, c := range codes {
				seen[Code(c)] = true
			}
		}
	}
	for _, r := range Codes() {
		if r.Says == "" || r.Do == "" || r.Severity == NoSeverity || RuleOf(r.Code) == nil {
			t.Errorf("%s is not described", r.Code)
		}
		if !r.Manifest && !r.Recorded && !seen[r.Code] {
			t.Errorf("no test finds %s", r.Code)
		}
	}
	f, ok := Slow("x.risor", Span{1, 2}, "on_error", 20*time.Millisecond, 100)
	if !ok || f.Code != CodeSlow || f.Severity != Information {
		t.Errorf("Slow = %+v, %v", f, ok)
	}
	if _, ok := Slow("x.risor", Span{}, "on_error", time.Millisecond, 100); ok {
		t.Error("1 ms is slow")
	}
	if f := FailedAtRunTime("x.risor", Span{1, 2}, "boom"); f.Code != CodeFailedAtRunTime || f.Severity != Error {
		t.Errorf("FailedAtRunTime = %+v", f)
	}
}

// Opening a hostile script costs work in proportion to its size.
func TestHostileScriptsAreCheap(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "hostile", "*.risor"))
	if err != nil || len(files) == 0 {
		t.Fatal("no hostile files", err)
	}
	texts := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(b)
	}
	texts["2,000 else-ifs"] = "func on_error(ctx) {\nif ctx.turn == 1 { }" + strings.Repeat(" else if ctx.turn == 1 { }", 2000) + "\n}"
	texts["loops in loops"] = "func on_error(ctx) {\nx := 1\n" + strings.Repeat("for _, a := range ctx.state {\n x = [x]\n", 120) + strings.Repeat("}\n", 120) + "}"
	texts["functions in functions"] = strings.Repeat("func() {\n", 120) + "x := 1\n" + strings.Repeat("}\n", 120)
	texts["ifs beside ifs"] = "func on_error(ctx) {\nx := nil\n" + strings.Repeat("if x { x = {action: \"cancle\"} }\n", 20000) + "return x\n}"
	texts["deep and wide"] = "func on_error(ctx) {\n" + each(20000, "v%d := 1\n") + strings.Repeat("if v0 {\n", 200) + each(20000, "v%d = 2\n") + strings.Repeat("}\n", 200) + "}"
	texts["undefined names"] = each(20000, "v%d := 1\n") + each(20000, "w%d\n")
	texts["many names"] = strings.Repeat("a := 1\n", 60000)
	texts["nested maps"] = "func on_error(ctx) { return " + strings.Repeat("{value: ", 200) + "1" + strings.Repeat("}", 200) + " }"
	texts["callbacks in callbacks"] = "func on_tool_call(ctx) {\n" + strings.Repeat("ctx.tool_calls.map(func(c) { return ", 100) + "c" + strings.Repeat(" })", 100) + "\n}"
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			a := Analyze(name, []byte(text), Options{})
			if limit := 60*len(text) + 10_000; a.Steps > limit {
				t.Errorf("%d steps for %d bytes, want at most %d", a.Steps, len(text), limit)
			}
			for _, offset := range []int{0, len(text) / 2, len(text)} {
				a.Complete(offset)
				a.Hover(offset)
			}
		})
	}
}

// each writes a line with every number.
func each(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// script makes a realistic one of about that many lines.
func script(lines int) string {
	var b strings.Builder
	b.WriteString("blocked := [\"rm\", \"dd\"]\n")
	for i := 0; b.Len() < lines*28; i++ {
		fmt.Fprintf(&b, "func check_%d(calls, limit=3) {\n    found := []\n    for _, call := range calls {\n        if call.name == \"shell\" && len(call.arguments) > limit {\n            found.append('{call.name} {limit}')\n        }\n    }\n    return found\n}\n\n", i)
	}
	b.WriteString("func on_tool_call(ctx) {\n    for _, call := range ctx.tool_calls {\n        if call.name in blocked { return hook.deny(\"no\") }\n    }\n    return nil\n}\n")
	return b.String()
}

// Twice the script is about twice the work.
func TestWorkIsLinear(t *testing.T) {
	one, two := Analyze("x", []byte(script(1000)), Options{}), Analyze("x", []byte(script(2000)), Options{})
	if r := float64(two.Steps) / float64(one.Steps); r < 1.6 || r > 2.4 {
		t.Errorf("%d and %d steps: ratio %.2f, want about 2", one.Steps, two.Steps, r)
	}
	a1 := testing.AllocsPerRun(1, func() { Analyze("x", []byte(script(1000)), Options{}) })
	a2 := testing.AllocsPerRun(1, func() { Analyze("x", []byte(script(2000)), Options{}) })
	if r := a2 / a1; r < 1.6 || r > 2.4 {
		t.Errorf("%.0f and %.0f allocations: ratio %.2f, want about 2", a1, a2, r)
	}
}

func BenchmarkAnalyze(b *testing.B) {
	for _, n := range []int{1000, 2000} {
		text := []byte(script(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Analyze("x.risor", text, Options{})
			}
		})
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, file := range testFiles(f) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), 100)
	}
	f.Add("func on_error(ctx) { ctx. }", 25)
	f.Fuzz(func(t *testing.T, text string, offset int) {
		if len(text) > 20_000 {
			return
		}
		a := Analyze("x.risor", []byte(text), Options{ManifestKnown: true, Points: []Point{{Function: "on_error"}}})
		for _, x := range a.Findings {
			if x.Span.Start < 0 || x.Span.Start > x.Span.End || x.Span.End > len(text) || x.Message == "" || x.Severity == NoSeverity {
				t.Fatalf("finding %+v in %d bytes", x, len(text))
			}
			for _, fix := range x.Fixes {
				for _, e := range fix.Edits {
					if e.Span.Start < 0 || e.Span.Start > e.Span.End || e.Span.End > len(text) {
						t.Fatalf("edit %+v in %d bytes", e, len(text))
					}
				}
			}
		}
		for _, c := range a.Complete(offset) {
			if c.Span.Start < 0 || c.Span.Start > c.Span.End || c.Span.End > len(text) {
				t.Fatalf("completion %+v in %d bytes", c, len(text))
			}
		}
		a.Hover(offset)
		a.Definition(offset)
		a.References(offset)
		a.Symbols()
	})
}
