package script

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/risor-io/risor/object"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/worker/wire"
)

// Scripts have exactly what the contract says, and what the checker,
// completion and hover therefore know.
func TestGlobalsAreTheLibrary(t *testing.T) {
	known := New(wire.NewPage()).known
	var have []string
	for name := range known {
		if !strings.HasPrefix(name, "\x00") {
			have = append(have, name)
		}
	}
	slices.Sort(have)
	want := contract.Library().Names()
	slices.Sort(want)
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("globals (-contract +script):\n%s", d)
	}
	for _, m := range contract.Library().Modules {
		module, ok := known[m.Name].(*object.Module)
		if !ok {
			t.Errorf("%s is no module", m.Name)
			continue
		}
		for _, name := range m.Members() {
			if _, ok := module.GetAttr(name); !ok {
				t.Errorf("%s.%s is in the contract and not here", m.Name, name)
			}
		}
		for _, name := range []string{"sleep", "abs", "walk_dir"} {
			if _, ok := module.GetAttr(name); ok && m.Function(name) == nil {
				t.Errorf("%s.%s is here and not in the contract", m.Name, name)
			}
		}
	}
}

// Nothing of Risor's that the contract names as absent is reachable.
func TestAbsentNames(t *testing.T) {
	for _, a := range contract.Library().Absent {
		if module, member, ok := strings.Cut(a.Name, "."); ok {
			if m, _ := New(wire.NewPage()).known[module].(*object.Module); m != nil {
				if _, there := m.GetAttr(member); there {
					t.Errorf("%s is there", a.Name)
				}
			}
			continue
		}
		_, bad := New(wire.NewPage()).Load(wire.Load{ID: 1, Files: []wire.File{{Path: "h", Text: []byte("func f(c) { return " + a.Name + " }")}}})
		if bad == nil {
			t.Errorf("%s is there", a.Name)
		}
		o := fired(t, "import "+a.Name+"\nfunc f(c) { return 1 }", nil)
		if o.Ending != wire.Threw {
			t.Errorf("import %s: %d %s", a.Name, o.Ending, o.Message)
		}
	}
	for _, text := range []string{"return len.spawn(1)", "g := func() { 1 }\nreturn g.spawn()", "return strings.__name__.spawn()"} {
		if o := fired(t, "func f(c) {\n"+text+"\n}", nil); o.Ending != wire.Threw {
			t.Errorf("%s: %d %v", text, o.Ending, o.value)
		}
	}
}

func TestStaysWithinArguments(t *testing.T) {
	for _, text := range []string{"hook.deny()", "hook.deny(1)", "hook.modify()", "hook.allow(1)", "hook.decide()", "hook.decide(\"q\")", "hook.decide(1, nil)", "hook.decide(\"q\", \"s\")", "hook.decide(\"q\", nil, 1)", "glob.match(\"[\", \"a\")", "glob.match(1, 2)", "shell.commands(1)",
		"time.now(1)", "time.since(1)", "sorted()", "sorted([1, {}])", "try()", "assert()", "print(error)\nnil.x"} {
		if o := fired(t, "func f(c) {\n"+text+"\n}", nil); o.Ending != wire.Threw || strings.Contains(o.Message, "script engine") {
			t.Errorf("%s: %d %s %v", text, o.Ending, o.Message, o.value)
		}
	}
}
