package script

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks/worker/wire"
)

var clock = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// outcome is how a firing of a test script ended.
type outcome struct {
	wire.Reply
	value any
	stack []string // innermost first
	at    string   // of the return
}

// fired loads a script under the name h and calls its function f with ctx.
func fired(t testing.TB, text string, ctx any, siblings ...wire.File) outcome {
	t.Helper()
	return firedWithin(t, text, ctx, wire.Fire{Operations: 100_000, CallDepth: 64, Printed: 64, Value: 1 << 20}, siblings...)
}

func firedWithin(t testing.TB, text string, ctx any, f wire.Fire, siblings ...wire.File) outcome {
	t.Helper()
	r := New(wire.NewPage())
	ready, bad := r.Load(wire.Load{ID: 1, Files: append([]wire.File{{Path: "h", Text: []byte(text)}}, siblings...)})
	if bad != nil {
		t.Fatalf("load: %d:%d: %s", bad.Line, bad.Col, bad.Message)
	}
	return call(t, r, ready, f, ctx, siblings...)
}

func call(t testing.TB, r *Runtime, ready wire.Ready, f wire.Fire, ctx any, siblings ...wire.File) outcome {
	t.Helper()
	f.ID, f.Function, f.At = 1, "f", clock.UnixNano()
	var err error
	if f.Ctx, err = wire.AppendValue(nil, ctx, 1<<20); err != nil {
		t.Fatal(err)
	}
	reader := wire.NewReader(r.Fire(f, nil, func() bool { return false }))
	if op := wire.Op(reader.Byte()); op != wire.OpReply {
		t.Fatalf("reply starts with %c", op)
	}
	reply, err := wire.ReadReply(reader)
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{Reply: reply}
	if reply.Ending == wire.Returned {
		if o.value, err = wire.ReadValue(wire.NewReader(reply.Value)); err != nil {
			t.Fatal(err)
		}
	}
	where := func(id uint32) string {
		p := ready.Points[id]
		file := "h"
		if p.File > 0 {
			file = siblings[p.File-1].Path
		}
		return fmt.Sprintf("%s:%d:%d %s", file, p.Line, p.Col, ready.Names[p.Func])
	}
	for i := len(reply.Frames) - 1; i >= 0; i-- {
		if reply.Frames[i] != 0 {
			o.stack = append(o.stack, where(reply.Frames[i]))
		}
	}
	if reply.Return != 0 {
		o.at = where(reply.Return)
	}
	return o
}

// An error is where a reader would look for it.
func TestErrorPositions(t *testing.T) {
	for _, tc := range []struct{ name, text, msg, at string }{
		{"attribute", "func f(c) {\n  x := {a: 1}\n  return x.a + x.missing.y\n}", `attribute "missing" not found`, "h:3:18 f"},
		{"method", "func f(c) {\n  return c.name .no_such( 1)\n}", `attribute "no_such" not found`, "h:2:18 f"},
		{"call", "func f(c) {\n  x := 5\n  return x(1)\n}", "object is not callable", "h:3:10 f"},
		{"arguments", "func g(a) { a }\nfunc f(c) {\n  return 1 + g()\n}", "takes 1 argument", "h:3:14 f"},
		{"operator", "func f(c) {\n  return 1 + {}\n}", "unsupported operation", "h:2:12 f"},
		{"index", "func f(c) {\n  l := [1]\n  return l[3]\n}", "index", "h:3:11 f"},
		{"divide", "func f(c) {\n  d := 0\n  return 1 / d\n}", "division by zero", "h:3:12 f"},
		{"minus", "func f(c) {\n  return -{}\n}", "not a number", "h:2:10 f"},
		{"range", "func f(c) {\n  for _, x := range nil {\n  }\n}", "not iterable", "h:2:15 f"},
		{"postfix", "func f(c) {\n  for i := nil; true; i++ {\n    1\n  }\n}", "unsupported operation", "h:2:23 f"},
		{"unpack", "func f(c) {\n  a, b := [1]\n  return a\n}", "unpack count mismatch", "h:2:3 f"},
		{"assign", "func f(c) {\n  x := 1\n  x += {}\n}", "unsupported operation", "h:3:5 f"},
		{"item", "func f(c) {\n  x := 1\n  x[0] = 2\n}", "not a container", "h:3:4 f"},
		{"hole", "func f(c) {\n  return 'a {c.missing}'\n}", "attribute \"missing\"", "h:2:10 f"},
		{"thrown", "func f(c) {\n  error(\"no %d\", 5)\n}", "no 5", "h:2:3 f"},
		{"assert", "func f(c) {\n  assert(false, \"100% no\")\n}", "100% no", "h:2:3 f"},
		{"top level", "x := nil.y\nfunc f(c) { x }", "attribute \"y\"", "h:1:10 (top level)"},
		{"callback", "func f(c) {\n  return [1, 2].map(func(x) {\n    return x.y\n  })\n}", "attribute \"y\"", "h:3:14 func"},
		{"sorted", "func f(c) {\n  return sorted([2, 1], func(a, b) { return a.y })\n}", "attribute \"y\"", "h:2:47 func"},
		{"slice", "func f(c) {\n  return c[1:{}]\n}", "", "h:2:11 f"},
		{"comment", "func f(c) {\n  /* é */ x := /* a\n b */ nil.y\n}", "attribute \"y\"", "h:3:11 f"},
		{"in", "func f(c) {\n  return 1 in 5\n}", "not a container", "h:2:12 f"},
		{"pipe", "func f(c) {\n  return 1 | strings.to_lower\n}", "", "h:2:14 f"},
		{"crlf", "func f(c) {\r\n  return nil.x\r\n}", "attribute \"x\"", "h:2:14 f"},
		{"lone cr", "func f(c) {\r  // é😀\r  return \"é😀\" + nil.x\r}", "attribute \"x\"", "h:3:21 f"},
		{"byte order mark", "\ufefffunc f(c) { return nil.x }", "attribute \"x\"", "h:1:24 f"},
		{"switch", "func f(c) {\n  switch 1 {\n  case 1:\n    nil.x\n  default:\n    nil\n  }\n}", "attribute \"x\"", "h:4:9 f"},
		{"after try", "func f(c) {\n  x := 1 + try(func() { nil.y }, 2)\n  return x.z\n}", "attribute \"z\"", "h:3:12 f"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := fired(t, tc.text, map[string]any{"name": "n"})
			if o.Ending != wire.Threw || !strings.Contains(o.Message, tc.msg) {
				t.Fatalf("ended %d, %q, value %v; want it to throw %q", o.Ending, o.Message, o.value, tc.msg)
			}
			if len(o.stack) == 0 || o.stack[0] != tc.at {
				t.Errorf("thrown at %q (%s), want %q", o.stack, o.Message, tc.at)
			}
		})
	}
}

func TestStack(t *testing.T) {
	o := fired(t, "func g(x) {\n  return x.y\n}\nfunc h(x) {\n  z := g(x)\n  return z\n}\nfunc f(c) {\n  return h(1)\n}", nil)
	want := []string{"h:2:12 g", "h:5:8 h", "h:9:10 f"}
	if d := cmp.Diff(want, o.stack[:min(3, len(o.stack))]); d != "" {
		t.Errorf("stack (-want +got):\n%s", d)
	}
}

// A decision is where its return is.
func TestReturnPosition(t *testing.T) {
	for _, tc := range []struct{ text, at string }{
		{"func f(c) {\n  if true {\n    return {action: \"allow\"}\n  }\n}", "h:3:5 f"},
		{"func g() { return 1 }\nfunc f(c) {\n  return g()\n}", "h:3:3 f"},
		{"func f(c) {\n  x := 1\n  x\n}", "h:3:3 f"},
		{"func f(c) {\n  x := 1\n}", "h:2:3 f"},
		{"func f(c) { }", "h:1:1 f"},
		{"func f(c) {\n  return [1].map(func(x) { return x })\n}", "h:2:3 f"},
		{"f := func(c) {\n  return 1\n}", "h:2:3 func"},
	} {
		if o := fired(t, tc.text, nil); o.at != tc.at {
			t.Errorf("%q returned at %s, want %s (%s)", tc.text, o.at, tc.at, o.Message)
		}
	}
}

func TestValues(t *testing.T) {
	for _, tc := range []struct {
		text string
		want any
	}{
		{"return c", map[string]any{"n": int64(1 << 60), "f": 1.0, "s": "é", "l": []any{nil, true}}},
		{"return {b: 1, a: 2, b: 3}", map[string]any{"a": int64(2), "b": int64(3)}},
		{"l := []\nx := {z: l.append(1), \"a\": l.append(2), m: l.append(3)}\nreturn l", []any{int64(1), int64(2), int64(3)}},
		{"return 1 + try(func() { error(\"x\") }, 2)", int64(3)},
		{"return try(func() { nil.x }, func(e) { return e.message() })", `type error: attribute "x" not found on nil object`},
		{"x := 10 + try(func() { [1].map(func(x) { x.y }) }, func() { 5 }) + try(func() { nil.x }, 1)\nreturn x", int64(16)},
		{"return sorted([3, 1, 2], func(a, b) { return a > b })", []any{int64(3), int64(2), int64(1)}},
		{"return hook.deny(\"no\")", map[string]any{"action": "deny", "reason": "no"}},
		{"return hook.modify([1])", map[string]any{"action": "modify", "value": []any{int64(1)}}},
		{"return hook.allow()", map[string]any{"action": "allow"}},
		{"return time.now().format(time.RFC3339)", "2026-03-04T05:06:07Z"},
		{"return time.since(time.unix(time.now().unix() - 5, 0))", 5.0},
		{"return glob.match(\"**/*.go\", \"a/b.go\")", true},
		{"return shell.commands(\"/bin/rm -rf $X > out\")", []any{map[string]any{"name": "rm", "args": []any{"-rf", nil},
			"redirects": []any{map[string]any{"fd": int64(1), "op": ">", "target": "out"}}}}},
		{"return shell.commands(\"A=1\")", []any{}},
		{"return filepath.base(\"a/b\")", "b"},
		{"strings := 5\nreturn strings", int64(5)},
		{"switch 5 {\ncase 1: 2\ndefault: nil\n}", nil},
		{"defer print(\"late\")\nreturn 1", int64(1)},
		{"return [1, 2] | len", int64(2)},
		{"x := 5\nx++\nreturn x", int64(6)},
	} {
		o := fired(t, "func f(c) {\n"+tc.text+"\n}", map[string]any{"n": int64(1 << 60), "f": 1.0, "s": "é", "l": []any{nil, true}})
		if o.Ending != wire.Returned {
			t.Errorf("%s: %s at %v", tc.text, o.Message, o.stack)
			continue
		}
		if d := cmp.Diff(tc.want, o.value); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.text, d)
		}
	}
}

// What is not plain data never leaves a script.
func TestNotData(t *testing.T) {
	for _, tc := range []struct{ text, msg string }{
		{"v := {}\nv[\"x\"] = v\nreturn v", "refers to itself"},
		{"v := [1]\nv.append([v])\nreturn {action: v}", "refers to itself"},
		{"v := []\nfor i := 0; i < 70; i++ { v = [v] }\nreturn v", "nested deeper than 64 levels"},
		{"return func() { 1 }", "function"},
		{"return {1, 2}", "set"},
		{"return time.now()", "time"},
		{"return math.inf(1)", "not finite"},
		{"return strings", "module"},
		{"return strings.repeat(\"x\", 2000000)", "larger than 1 MiB"},
		{"return list(range 300000)", "more than 262144 values"},
		{"return byte_slice(\"x\")", "byte_slice"},
	} {
		o := fired(t, "func f(c) {\n"+tc.text+"\n}", nil)
		if o.Ending != wire.NotData || !strings.Contains(o.Message, tc.msg) {
			t.Errorf("%s: ended %d, %q; want not data: %q", tc.text, o.Ending, o.Message, tc.msg)
		}
		if len(o.stack) == 0 || !strings.HasPrefix(o.stack[0], "h:") {
			t.Errorf("%s: no position", tc.text)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, tc := range []struct{ name, text, msg string }{
		{"endless", "for {\n1\n}", "operation budget of 1000 exceeded"},
		{"empty body", "for { }", "operation budget of 1000 exceeded"},
		{"condition", "for true { }", "operation budget of 1000 exceeded"},
		{"range", "for range 100000 { }", "operation budget of 1000 exceeded"},
		{"swallowed", "return try(func() { for { 1 } }, 5)", "operation budget of 1000 exceeded"},
		{"swallowed twice", "for { try(func() { for { 1 } }, 5) }", "operation budget of 1000 exceeded"},
		{"in a callback", "return [1].map(func(x) { for { } })", "operation budget of 1000 exceeded"},
		{"in a comparison", "return sorted(list(range 5000), func(a, b) { return a < b })", "operation budget of 1000 exceeded"},
		{"recursion", "return f(c)", "call depth of 10 exceeded"},
		{"mutual", "g := func(x) { return f(x) }\nreturn g(c)", "call depth of 10 exceeded"},
		{"recursion in try", "return try(func() { f(c) }, 1)", "call depth of 10 exceeded"},
		{"too much at once", "return [" + strings.Repeat("1,", 1100) + "]", "too many values at once"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := firedWithin(t, "func f(c) {\n"+tc.text+"\n}", nil, wire.Fire{Operations: 1000, CallDepth: 10, Value: 1000})
			if o.Ending != wire.Limited || !strings.Contains(o.Message, tc.msg) || len(o.stack) == 0 {
				t.Errorf("ended %d, %q at %v, value %v; want limit %q", o.Ending, o.Message, o.stack, o.value, tc.msg)
			}
		})
	}
}

func TestPrinted(t *testing.T) {
	o := fired(t, "func f(c) {\nprint(1, \"é\", [2])\nprint()\n}", nil)
	if o.Printed != "1 é [2]\n\n" || o.Cut {
		t.Errorf("printed %q, cut %v", o.Printed, o.Cut)
	}
	o = fired(t, "func f(c) {\nprint(strings.repeat(\"é\", 40))\nprint(\"more\")\n}", nil)
	if o.Printed != strings.Repeat("é", 32) || !o.Cut {
		t.Errorf("printed %q, cut %v, want it cut at 64 bytes", o.Printed, o.Cut)
	}
	o = fired(t, "func f(c) {\nprint(\"before\")\nnil.x\n}", nil)
	if o.Printed != "before\n" {
		t.Errorf("printed %q before it threw", o.Printed)
	}
}

// Nothing is left over from one firing to the next.
func TestFirings(t *testing.T) {
	text := "seen := []\nn := 0\nm := {}\nfunc f(c) {\n  seen.append(1)\n  n++\n  m[\"a\"] = 1\n  strings := 1\n  return [len(seen), n, len(m)]\n}"
	r := New(wire.NewPage())
	ready, bad := r.Load(wire.Load{ID: 1, Files: []wire.File{{Path: "h", Text: []byte(text)}}})
	if bad != nil {
		t.Fatal(bad.Message)
	}
	limits := wire.Fire{Operations: 1000, CallDepth: 8, Printed: 10, Value: 1000}
	for range 3 {
		o := call(t, r, ready, limits, nil)
		if d := cmp.Diff([]any{int64(1), int64(1), int64(1)}, o.value); d != "" {
			t.Fatalf("(-want +got):\n%s%s", d, o.Message)
		}
	}
	// After a limit, the next firing starts afresh too.
	spin := New(wire.NewPage())
	ready, _ = spin.Load(wire.Load{ID: 1, Files: []wire.File{{Path: "h", Text: []byte("func f(c) {\n  for c == true { }\n  return 1\n}")}}})
	if o := call(t, spin, ready, limits, true); o.Ending != wire.Limited {
		t.Fatalf("ended %d", o.Ending)
	}
	if o := call(t, spin, ready, limits, false); o.value != int64(1) {
		t.Fatalf("after a limit: %v %s", o.value, o.Message)
	}
}

func TestImport(t *testing.T) {
	names := wire.File{Path: "names", Name: "names", Text: []byte("blocked := [\"rm\"]\nfunc has(x) {\n  return x in blocked\n}\nfunc bad(x) {\n  return x.y\n}")}
	o := fired(t, "import names\nfrom names import has\nfunc f(c) { return [names.has(\"rm\"), has(\"ls\"), names.blocked] }", nil, names)
	if d := cmp.Diff([]any{true, false, []any{"rm"}}, o.value); d != "" {
		t.Errorf("(-want +got):\n%s%s", d, o.Message)
	}
	o = fired(t, "import names\nfunc f(c) {\n  return names.bad(1)\n}", nil, names)
	if len(o.stack) < 2 || o.stack[0] != "names:6:12 bad" || o.stack[1] != "h:3:16 f" {
		t.Errorf("stack %v (%s)", o.stack, o.Message)
	}
	o = fired(t, "import os\nfunc f(c) { 1 }", nil)
	if o.Ending != wire.Threw || !strings.Contains(o.Message, `no script "os" beside`) {
		t.Errorf("import os: %d %s", o.Ending, o.Message)
	}
	a := wire.File{Path: "a", Name: "a", Text: []byte("import b\nx := 1")}
	b := wire.File{Path: "b", Name: "b", Text: []byte("import a\ny := 1")}
	o = fired(t, "import a\nfunc f(c) { 1 }", nil, a, b)
	if o.Ending != wire.Threw || !strings.Contains(o.Message, "while it is being imported") {
		t.Errorf("circle: %d %s", o.Ending, o.Message)
	}
}

func TestDoesNotCompile(t *testing.T) {
	for _, tc := range []struct{ text, msg, at string }{
		{"func f(c) {\n  return x\n}", `undefined variable "x"`, "2:10"},
		{"func f(c) {\n  os.exit(1)\n}", `undefined variable "os"`, "2:3"},
		{"func f(c) {\n  go f(c)\n}", "no concurrency", "2:3"},
		{"func f(c) {\n  break\n}", "outside of a loop", "2:3"},
		{"func f(c) {\n  spawn(f)\n}", `undefined variable "spawn"`, "2:3"},
		{"func f(c) {\n  \x00at\n}", "", ""},
		{"func f(c) {\n  return (\n}", "", ""},
		{"c := chan()", `undefined variable "chan"`, "1:6"},
		{"func f(c) { c <- 1 }", "", ""},
	} {
		_, bad := New(wire.NewPage()).Load(wire.Load{ID: 1, Files: []wire.File{{Path: "h", Text: []byte(tc.text)}}})
		if bad == nil {
			t.Errorf("%q loads", tc.text)
			continue
		}
		if got := fmt.Sprintf("%d:%d", bad.Line, bad.Col); !strings.Contains(bad.Message, tc.msg) || tc.at != "" && got != tc.at {
			t.Errorf("%q: %s at %s, want %q at %s", tc.text, bad.Message, got, tc.msg, tc.at)
		}
	}
}

func TestFunctions(t *testing.T) {
	ready, bad := New(wire.NewPage()).Load(wire.Load{ID: 1, Files: []wire.File{{Path: "h", Text: []byte("func a(x, y=1) { x }\nb := func() { 1 }\nconst k = 5")}}})
	if bad != nil {
		t.Fatal(bad.Message)
	}
	want := []wire.Function{{Name: "a", Min: 1, Max: 2, Line: 1, Col: 1}, {Name: "b", Line: 2, Col: 6}}
	if d := cmp.Diff(want, ready.Functions); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
