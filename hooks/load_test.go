package hooks_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// Everything that is wrong is said at once, and nothing starts.
func TestLoadReportsAll(t *testing.T) {
	e := newEngine(t, hooks.Options{ReadFile: func(string) ([]byte, error) { return nil, os.ErrNotExist }})
	unreadable := on("on_error", "gone.risor", "")
	unreadable.Text = nil
	unreadable.Declared = hooks.Location{Path: path("agent.toml"), Start: hooks.Position{Offset: 7}, End: hooks.Position{Offset: 9}}
	_, findings, err := e.Load(context.Background(), []hooks.Declaration{
		on("on_tool_call", "parse.risor", "func on_tool_call(ctx) {\n  return (\n}"),
		on("on_tool_call", "compile.risor", "func on_tool_call(ctx) {\n  return nothing\n}"),
		on("on_tool_call", "missing.risor", "func on_tool_cal(ctx) {\n  return nil\n}"),
		on("on_tool_call", "arity.risor", "func on_tool_call() {\n  return nil\n}"),
		on("on_tool_call", "deep.risor", strings.Repeat("(", 1_000_000)),
		on("on_tool_cal", "event.risor", "x := 1"),
		unreadable,
	}, hooks.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"parse.risor", "compile.risor", "missing.risor", "arity.risor", "deep.risor", "event.risor", "agent.toml"} {
		found := false
		for _, f := range findings {
			found = found || f.Path == path(name) && f.Severity == check.Error
		}
		if !found {
			t.Errorf("nothing is said about %s: %v", name, findings)
		}
	}
	for _, f := range findings {
		if f.Path == path("agent.toml") && (f.Code != check.CodeMissingFile || f.Span.Start != 7) {
			t.Errorf("finding on the manifest = %+v", f)
		}
	}
}

// The worker says the same as the checker where the checker is silent.
func TestLoadCompiles(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	huge := "func on_tool_call(ctx) {\n  for ctx.turn == 1 {\n" + strings.Repeat("    ctx.turn + 1\n", 8000) + "  }\n}"
	set, findings, err := e.Load(context.Background(), []hooks.Declaration{on("on_tool_call", "huge.risor", huge)}, hooks.Limits{})
	if err != nil || set != nil || len(findings) == 0 {
		t.Fatalf("a loop that is too long for the engine: %v, %v, %v", set, findings, err)
	}
}

func TestLowerLimits(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	text := "func on_tool_call(ctx) {\n  return ((((((((((nil))))))))))\n}"
	d := []hooks.Declaration{on("on_tool_call", "a.risor", text)}
	if set, _, err := e.Load(context.Background(), d, hooks.Limits{}); err != nil || set == nil {
		t.Fatalf("by the defaults: %v, %v", set, err)
	}
	for _, l := range []hooks.Limits{{Nesting: 5}, {Source: 20}} {
		if set, findings, err := e.Load(context.Background(), d, l); err != nil || set != nil || len(findings) == 0 {
			t.Errorf("%+v: %v, %v, %v; want it refused", l, set, findings, err)
		}
	}
}

// A run has the texts of its start, siblings too, whatever is on the disk.
func TestPinned(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("guard.risor", "import names\nfunc on_tool_call(ctx) {\n  return hook.deny(names.why())\n}")
	write("names.risor", "from more import reason\nfunc why() {\n  return reason\n}")
	write("more.risor", "reason := \"first\"")
	e := newEngine(t, hooks.Options{})
	d := hooks.Declaration{ID: "g", Event: "on_tool_call", Path: filepath.Join(dir, "guard.risor")}
	set := load(t, e, hooks.Limits{}, d)
	write("more.risor", "reason := \"second\"")
	if o := fire(t, set, batch()); o.Reason != "first" {
		t.Errorf("a loaded set says %q %+v", o.Reason, o.Failure)
	}
	if texts := set.Texts(); len(texts) != 3 || texts[filepath.Join(dir, "more.risor")].Digest != hooks.Digest([]byte("reason := \"first\"")) {
		t.Errorf("texts = %v", texts)
	}
	again := load(t, newEngine(t, hooks.Options{}), hooks.Limits{}, set.Declarations()...)
	if o := fire(t, again, batch()); o.Reason != "first" {
		t.Errorf("resumed, it says %q %+v", o.Reason, o.Failure)
	}
	if o := fire(t, load(t, e, hooks.Limits{}, d), batch()); o.Reason != "second" {
		t.Errorf("loaded anew, it says %q %+v", o.Reason, o.Failure)
	}
}

// A byte order mark and lone CRs mean the same here as in the editor.
func TestOddTexts(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	text := "\ufefffunc on_tool_call(ctx) {\r  // é\r  return hook.deny(\"no\")\r}"
	o := fire(t, load(t, e, hooks.Limits{}, on("on_tool_call", "a.risor", text)), batch())
	if o.Action != contract.Deny || o.Decisions[0].Hook.At.Start.Line != 3 || o.Decisions[0].Hook.At.Start.Offset != strings.Index(text, "return") {
		t.Errorf("outcome = %+v %+v", o.Failure, o.Decisions)
	}
}
