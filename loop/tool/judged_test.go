package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/loop"
)

// What a call that cannot be done would say of a file is said behind the gate:
// its plan has the path to be judged, and neither it nor an error has a word of
// the file.
func TestNothingOfAFileIsShownBeforeTheGate(t *testing.T) {
	const text = "password = hunter2\npassword = hunter2\n"
	calls := map[string]struct {
		tool string
		args args
		says string
	}{
		"wrong symbol":  {"rename", args{"path": "env", "line": 1, "symbol": "nope", "new_name": "x"}, "hunter2"},
		"past the end":  {"rename", args{"path": "env", "line": 9, "symbol": "nope", "new_name": "x"}, "past its end"},
		"cannot rename": {"rename", args{"path": "env", "line": 1, "symbol": "password", "new_name": "x"}, "cannot rename"},
		"near":          {"edit", args{"path": "env", "old_string": "password = hunted", "new_string": "x"}, "hunter2"},
		"many":          {"edit", args{"path": "env", "old_string": "password", "new_string": "x"}, "hunter2"},
		"near, many":    {"multi_edit", args{"path": "env", "edits": []args{{"old_string": "password = hunted", "new_string": "x"}}}, "hunter2"},
		"a guess":       {"multi_edit", args{"path": "env", "edits": []args{{"old_string": "hunter2", "new_string": "x", "replace_all": true}, {"old_string": "other", "new_string": "x"}}}, "edit 2 of 2"},
	}
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"env": text}, func(o *Options) {
				o.Behavior.RequireReadBeforeEdit = false
				o.Editor = &pointing{}
			})
			raw := arguments(t, c.args)
			plan, err := b.tool(c.tool).Prepare(t.Context(), raw)
			if err != nil {
				t.Fatalf("said before the gate: %v", err)
			}
			env := filepath.Join(b.root, "env")
			if len(plan.Edits) > 0 || len(plan.Paths) != 1 || plan.Paths[0] != (loop.PathAccess{Path: env, Write: true}) || plan.Effect != loop.Write || strings.Contains(plan.Title, "hunter2") {
				t.Errorf("the gate judges %+v", plan)
			}
			r := b.tool(c.tool).Run(t.Context(), loop.Invocation{Arguments: raw, Judged: plan})
			b.wants(r, loop.CallError, c.says)
			if b.text("env") != text {
				t.Errorf("it wrote %q", b.text("env"))
			}
		})
	}
}

// A session that has read the file is told at once.
func TestWhatWasReadIsSaidAtOnce(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\n"}, nil)
	b.call("read_file", args{"path": "f"})
	b.wants(b.call("edit", args{"path": "f", "old_string": "ones", "new_string": "x"}), loop.CallInvalid, "old_string is not there")
}

// A call whose plan had no edits does not make one that fits by now.
func TestEditThatWasNotJudgedIsNotMade(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\n"}, func(o *Options) { o.Behavior.RequireReadBeforeEdit = false })
	raw := arguments(t, args{"path": "f", "old_string": "two", "new_string": "x"})
	plan, err := b.tool("edit").Prepare(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	b.put("f", "two\n")
	b.wants(b.tool("edit").Run(t.Context(), loop.Invocation{Arguments: raw, Judged: plan}), loop.CallError, "was not judged")
	if b.text("f") != "two\n" {
		t.Errorf("it wrote %q", b.text("f"))
	}
}

// Equal calls do not lend each other their judged paths.
func TestEachCallHasItsOwnJudgedPaths(t *testing.T) {
	b := newBench(t, map[string]string{"docs/a": "x\n", "secret/a": "hunter2\n"}, nil)
	link := filepath.Join(b.root, "link")
	point := func(to string) {
		t.Helper()
		_ = os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	raw := arguments(t, args{"path": "link/a"})
	read := b.tool("read_file")
	point("docs")
	harmless, err := read.Prepare(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	point("secret")
	if _, err := read.Prepare(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	b.wants(read.Run(t.Context(), loop.Invocation{Arguments: raw, Judged: harmless}), loop.CallError, "the path leads to secret/a now")
	b.wants(read.Run(t.Context(), loop.Invocation{Arguments: raw}), loop.CallError, "nobody has judged")
}
