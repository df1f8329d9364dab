package script

import (
	"strings"
	"testing"

	"agent-ls/hooks/worker/wire"
)

// The machine cannot share variables with a function in a function in try. It
// says so; it never takes another variable for the one that is meant.
func TestNestedFunctionsInTryFindNoWrongVariable(t *testing.T) {
	for _, text := range []string{
		"func f(c) {\n  return try(func() {\n    g := func() { return c }\n    return g()\n  })\n}",
		"func f(c) {\n  a := 1\n  b := 2\n  return try(func() {\n    return try(func() { return b })\n  }, 3)\n}",
	} {
		o := fired(t, text, nil)
		if o.Ending != wire.Threw || !strings.Contains(o.Message, "script engine") {
			t.Errorf("%s\n%d %s %v", text, o.Ending, o.Message, o.value)
		}
	}
	for _, text := range []string{
		"func f(c) {\n  a := 1\n  b := 7\n  return try(func() { return nil.x }, func() { return b })\n}",
		"func f(c) {\n  b := 7\n  g := func() { return func() { return b } }\n  return g()()\n}",
		"func f(c) {\n  return 3 + try(func() { error(\"x\") }, func(e) { return try(func() { error(\"y\") }, 4) })\n}",
	} {
		if o := fired(t, text, nil); o.Ending != wire.Returned || o.value != any(int64(7)) {
			t.Errorf("%s\n%d %s %v, want 7", text, o.Ending, o.Message, o.value)
		}
	}
}
