package script

import (
	"reflect"
	"testing"

	"github.com/risor-io/risor/vm"

	"agent-ls/hooks/worker/wire"
)

// soiling leave as much as a script can in the machine that ran it: shadowed
// globals, deep frames, many locals, captured variables, a full stack, and an
// end in the middle of all that.
var soiling = map[string]string{
	"returns":           "func f(ctx) { return nil }",
	"shadows globals":   "glob := 5\nfunc f(ctx) { strings = 6\n glob = strings\n return glob }",
	"deep":              "func down(n) { if n == 0 { return 0 }\n return 1 + down(n-1) }\nfunc f(ctx) { return down(40) }",
	"many locals":       "func f(ctx) { a := 1; b := 2; c := 3; d := 4; e := 5; g := 6; h := 7; i := 8; j := 9; k := 10\n return func() { return a+b+c+d+e+g+h+i+j+k }() }",
	"keeps a closure":   "kept := nil\nfunc f(ctx) { n := 0\n kept = func() { n++\n return n }\n return kept() + kept() }",
	"throws deep down":  "func down(n) { if n == 0 { error(\"bottom\") }\n return [n, n, n, down(n-1)] }\nfunc f(ctx) { return down(30) }",
	"panics":            "func f(ctx) { return [1, 2, 3, [4, 1 / (ctx.n - ctx.n)]] }",
	"out of budget":     "func f(ctx) { for { x := [1, 2, 3] } }",
	"recurses for ever": "func f(ctx) { return f(ctx) }",
	"caught":            "func f(ctx) { return try(func() { error(\"x\") }, func(e) { return 7 }) }",
	"defers":            "func f(ctx) { defer func() { 1 / 0 }()\n return 1 }",
	"throws at the top": "error(\"at once\")\nfunc f(ctx) { return nil }",
}

// A machine that was used and cleared is the machine that the engine makes.
func TestClearedMachineIsANewOne(t *testing.T) {
	r := New(wire.NewPage())
	if r.arena == nil {
		t.Fatal("the engine's machine has other fields than are known: every firing would get a machine of its own")
	}
	id := uint32(0)
	for name, text := range soiling {
		id++
		if _, bad := r.Load(wire.Load{ID: id, Files: []wire.File{{Path: "s.risor", Text: []byte(text)}}}); bad != nil {
			t.Fatalf("%s: %s", name, bad.Message)
		}
		ctx, err := wire.AppendValue(nil, map[string]any{"n": int64(3)}, 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		r.Fire(wire.Fire{ID: id, Function: "f", Operations: 10_000, CallDepth: 64, Value: 1 << 10, Ctx: ctx}, nil, func() bool { return false })
		if reflect.DeepEqual(r.arena.machine, new(vm.VirtualMachine)) {
			t.Errorf("%s: nothing was left to clear, so this shows nothing", name)
		}
		p, from := r.programs[id], &importer{}
		fresh := vm.New(p.main, vm.WithGlobals(p.globals), vm.WithImporter(from))
		if got := r.arena.take(p, from); !reflect.DeepEqual(got, fresh) {
			t.Errorf("%s: the cleared machine differs from a new one", name)
		}
	}
}

// What one firing leaves in the engine, the next does not see, whichever
// script it is of.
func TestNothingIsLeftOverFromAFiring(t *testing.T) {
	r := New(wire.NewPage())
	scripts := []string{
		"n := 0\nglob := 0\nlen := 1\nfunc f(ctx) { n++\n glob++\n strings = 5\n return n + glob - len }",
		"func f(ctx) { return strings.to_upper(\"a\") }",
	}
	for i, text := range scripts {
		if _, bad := r.Load(wire.Load{ID: uint32(i), Files: []wire.File{{Path: "s.risor", Text: []byte(text)}}}); bad != nil {
			t.Fatal(bad.Message)
		}
	}
	want := []any{int64(1), "A"}
	for range 3 {
		for i := range scripts {
			reply := r.Fire(wire.Fire{ID: uint32(i), Function: "f", Operations: 1000, CallDepth: 64, Value: 1 << 10, Ctx: emptyMap(t)}, nil, func() bool { return false })
			in := wire.NewReader(reply)
			in.Byte()
			m, err := wire.ReadReply(in)
			if err != nil || m.Ending != wire.Returned {
				t.Fatalf("%v %s", err, m.Message)
			}
			if got, err := wire.ReadValue(wire.NewReader(m.Value)); err != nil || got != want[i] {
				t.Errorf("script %d gives %v, %v; want %v", i, got, err, want[i])
			}
		}
	}
}

func emptyMap(t *testing.T) []byte {
	b, err := wire.AppendValue(nil, map[string]any{}, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
