package contract

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An attribute with the name of a method of maps would give the method.
var mapMethods = Library().MethodsOf(MapValue).Members()

func TestTableIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Events() {
		if seen[e.Name] || ByName(e.Name) != e {
			t.Errorf("%s is there twice", e.Name)
		}
		seen[e.Name] = true
		if e.Function != "" && ByFunction(e.Function) != e {
			t.Errorf("function %s is there twice", e.Function)
		}
		if want := strings.NewReplacer(":", "_", "-", "_").Replace(e.Name); e.Function != "" && e.Function != want {
			t.Errorf("%s has the function %s, want %s", e.Name, e.Function, want)
		}
		if e.Doc == "" || e.Fires == "" || e.Since < 1 || e.Since > Version || e.Class == NoClass || e.Example == "" {
			t.Errorf("%s lacks a doc, a moment, a class, an example or a version", e.Name)
		}
		if e.Honours(Modify) != (e.Value != nil) || e.Honours(Modify) != (e.ValueDoc != "") {
			t.Errorf("%s: modify and value do not agree", e.Name)
		}
		if _, ok := e.Field(e.ValueField); e.ValueField != "" && !ok {
			t.Errorf("%s replaces %s, which is no field", e.Name, e.ValueField)
		}
		if !slices.Contains(e.Actions, Allow) {
			t.Errorf("%s does not list allow", e.Name)
		}
		soundFields(t, e.Name, e.AllFields())
	}
	if len(seen) < 7 {
		t.Errorf("%d events, want the seven stage points at least", len(seen))
	}
}

func soundFields(t *testing.T, where string, fields []Field) {
	names := map[string]bool{}
	for _, f := range fields {
		if names[f.Name] {
			t.Errorf("%s.%s is there twice", where, f.Name)
		}
		names[f.Name] = true
		if f.Doc == "" || strings.ContainsAny(f.Doc, "\r\n") {
			t.Errorf("%s.%s has no one-line doc", where, f.Name)
		}
		if slices.Contains(mapMethods, f.Name) {
			t.Errorf("%s.%s is a method of maps", where, f.Name)
		}
		inner := &f.Type
		for inner.Elem != nil {
			inner = inner.Elem
		}
		soundFields(t, where+"."+f.Name, inner.Fields)
	}
}

func TestContextHasEveryField(t *testing.T) {
	for _, e := range Events() {
		ctx, err := e.Context(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range e.AllFields() {
			v, ok := ctx[f.Name]
			if !ok {
				t.Errorf("%s: ctx.%s is not there", e.Name, f.Name)
			}
			if len(f.Type.Values) > 0 {
				continue // what the caller must know
			}
			if err := Fits(v, &f.Type, f.Name); err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
		if ctx["event"] != e.Name {
			t.Errorf("ctx.event = %v, want %s", ctx["event"], e.Name)
		}
	}
	_, err := ByName("on_tool_call").Context(m{"tool_call": nil}, nil)
	if want := `on_tool_call has no ctx field "tool_call"; did you mean "tool_calls"?`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestApply(t *testing.T) {
	before := batchCtx()
	after := ByName("on_stage_enter").Apply(before, m{"notes": "new"})
	if d := cmp.Diff(m{"task": "t", "notes": "new", "conversation": "c"}, after["regions"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(batchCtx(), before); d != "" {
		t.Errorf("the ctx before changed: %s", d)
	}
	if got := ByName("on_error").Apply(before, "x")["error"]; got != "x" {
		t.Errorf("error = %v, want x", got)
	}
	if got := ByName("on_tool_call").Apply(before, []any{})["tool_calls"]; len(got.([]any)) != 0 {
		t.Errorf("tool_calls = %v, want none", got)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"tool_calls", "turn", "agent", "stage", "stage_index", "error"}
	for _, tc := range []struct{ name, want string }{
		{"tool_call", "tool_calls"}, {"toolcalls", "tool_calls"}, {"tool_clals", "tool_calls"}, {"TURN", "turn"},
		{"trun", "turn"}, {"stge", "stage"}, {"stageindex", "stage_index"}, {"zzz", ""}, {"", ""}, {"x", ""}, {"eror", "error"}, {"err", "error"}, {"too", "tool_calls"}, {"st", ""},
	} {
		if got := Nearest(tc.name, names); got != tc.want {
			t.Errorf("Nearest(%q) = %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestNamesOfEnums(t *testing.T) {
	for _, a := range append(Answers(), Failed) {
		if got, err := ParseAction(a.String()); err != nil || got != a {
			t.Errorf("ParseAction(%s) = %v, %v", a, got, err)
		}
	}
	for _, c := range []Class{Gate, Transform, Observe} {
		if got, err := ParseClass(c.String()); err != nil || got != c {
			t.Errorf("ParseClass(%s) = %v, %v", c, got, err)
		}
	}
	for k := Any; k <= Object; k++ {
		if got, err := ParseKind(k.String()); err != nil || got != k {
			t.Errorf("ParseKind(%s) = %v, %v", k, got, err)
		}
	}
	if _, err := ParseAction("cancle"); err == nil || !strings.Contains(err.Error(), `"cancel"`) {
		t.Errorf("ParseAction(cancle): %v, want the nearest", err)
	}
	if _, err := ParseAction("none"); err == nil {
		t.Error("ParseAction(none) passed, want an error")
	}
}
