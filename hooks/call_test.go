package hooks

import (
	"context"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks/check"
)

const dedupScript = `func dedup_key(input) {
    q := input.get("query", nil)
    if q == nil || strings.contains(q, "now()") {
        return nil
    }
    if q == "spin" {
        for {
            q = q + "x"
        }
    }
    return strings.to_lower(strings.trim_space(q))
}
`

func TestAPlainFunctionIsCalled(t *testing.T) {
	e := NewEngine(Options{})
	t.Cleanup(e.Close)
	ctx := context.Background()
	f, found, err := e.LoadFunction(ctx, Declaration{Path: "/hooks/dedup.risor", Text: []byte(dedupScript)}, "dedup_key", Limits{})
	if err != nil || f == nil {
		t.Fatalf("LoadFunction: %v, %v", err, found)
	}
	for query, want := range map[any]any{" SELECT 1 ": "select 1", "select now()": nil, nil: nil} {
		input := map[string]any{}
		if query != nil {
			input["query"] = query
		}
		if got, failure := f.Call(ctx, input, time.Now()); failure != nil || got != want {
			t.Errorf("dedup_key(%v) = %v, %v; want %v", input, got, failure, want)
		}
	}
	_, failure := f.Call(ctx, map[string]any{"query": "spin"}, time.Now())
	if failure == nil || failure.Kind != LimitFailure || !strings.Contains(failure.Message, "/hooks/dedup.risor:") {
		t.Errorf("a function without an end: %+v", failure)
	}
	_, failure = f.Call(ctx, map[string]any{"query": int64(3)}, time.Now())
	if failure == nil || failure.Kind != ScriptFailure {
		t.Errorf("a function that throws: %+v", failure)
	}
	if d := f.Declaration(); string(d.Text) != dedupScript {
		t.Errorf("the declaration has the text %q", d.Text)
	}
}

func TestAPlainFunctionIsCheckedFirst(t *testing.T) {
	e := NewEngine(Options{})
	t.Cleanup(e.Close)
	for text, code := range map[string]check.Code{
		"func dedup(input) { return nil }":         check.CodeMissingFunction,
		"func dedup_key() { return nil }":          check.CodeArity,
		"func dedup_key(input) { return nope(1) }": check.CodeUndefined,
		"func dedup_key(input) { return":           check.CodeSyntax,
	} {
		f, found, err := e.LoadFunction(context.Background(), Declaration{Path: "/hooks/dedup.risor", Text: []byte(text)}, "dedup_key", Limits{})
		if err != nil || f != nil {
			t.Errorf("%q: function %v, %v", text, f, err)
			continue
		}
		said := false
		for _, one := range found {
			said = said || one.Code == code && one.Severity == check.Error
		}
		if !said {
			t.Errorf("%q: findings %v, want %s", text, found, code)
		}
	}
	if _, found, _ := e.LoadFunction(context.Background(), Declaration{Path: "/no/such.risor"}, "dedup_key", Limits{}); len(found) != 1 || found[0].Code != check.CodeMissingFile {
		t.Errorf("a script that is not there: %v", found)
	}
}
