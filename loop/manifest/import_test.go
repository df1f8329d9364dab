package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImportMatchers(t *testing.T) {
	for _, c := range []struct{ matcher, want, remark string }{
		{"Bash", "shell", ""},
		{"Bash|Read", "shell,read_file", ""},
		{"Bash, Read", "shell,read_file", ""},
		{"*", "", ""},
		{".*", "", ""},
		{"", "", ""},
		{"Edit", "edit,multi_edit", "multi_edit is added"},
		{"Bash|Nope", "shell", `no tool "Nope"`},
		{"Bash.*", "shell,shell_output", "exact names"},
		{"mcp__files__read", "mcp__files__read", ""},
		{"Bash|mcp__files__.*", "shell", "one by one"},
		{"(Bash|Read", "-", "does not compile"},
		{"Nothing.*", "-", "matches no tool"},
		{"bash", "shell", ""},
	} {
		got, err := ImportHooks("settings.json", []byte(`{"hooks": {"PreToolUse": [{"matcher": `+quote(c.matcher)+`, "hooks": [{"type": "command", "command": "x"}]}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		matcher := "-"
		if len(got.Hooks) > 0 {
			matcher = got.Hooks[0].Matcher
		}
		var remarks []string
		for _, r := range got.Remarks {
			remarks = append(remarks, r.Text)
		}
		if all := strings.Join(remarks, "\n"); matcher != c.want || !strings.Contains(all, c.remark) || c.remark == "" && all != "" {
			t.Errorf("matcher %q = %q with remarks %q, want %q with %q", c.matcher, matcher, all, c.want, c.remark)
		}
	}
}

// What is imported reads back as it was, whatever is in it, and only once.
func TestAddHooks(t *testing.T) {
	hooks := []ImportedHook{
		{Event: "pre_tool", Command: "a \"b\" \\ \x7f <&> ü\n", Matcher: "shell", Env: map[string]string{"A.B": "1", "C": "\t"}, Line: 3},
		{Event: "stop", Command: "gate", Line: 9},
		{Event: "stop", Command: "gate", Line: 12},
	}
	for _, text := range []string{"", "[agent]\nname = \"x\"", "[agent]\r\nname = \"x\"\r\n"} {
		got, already, err := AddHooks("agent.toml", []byte(text), hooks, "a\n[[hook]]\nb.json")
		if err != nil || already != 1 {
			t.Fatalf("AddHooks = %d already, %v, want 1", already, err)
		}
		doc := parseTOML("agent.toml", got)
		if len(doc.findings) > 0 {
			t.Fatalf("%s\n%v", got, doc.findings)
		}
		want := []any{
			map[string]any{"event": "pre_tool", "command": hooks[0].Command, "matcher": "shell", "env": map[string]any{"A.B": "1", "C": "\t"}},
			map[string]any{"event": "stop", "command": "gate"},
		}
		if diff := cmp.Diff(want, doc.root.get("hook").plain()); diff != "" {
			t.Errorf("behind %q: %s", text, diff)
		}
		if again, already, err := AddHooks("agent.toml", got, hooks, "b.json"); err != nil || already != 3 || string(again) != string(got) {
			t.Errorf("the second time %d were there already, %v, want 3 and nothing added", already, err)
		}
	}
	for _, text := range []string{"hook = []\n", "[agent\n"} {
		if _, _, err := AddHooks("agent.toml", []byte(text), hooks, "x"); err == nil {
			t.Errorf("AddHooks took %q", text)
		}
	}
}

func TestMatcherThatNeverFires(t *testing.T) {
	for _, c := range []struct{ event, matcher, want string }{
		{"pre_tool", "bash,Read,mcp__a__b", ""},
		{"pre_tool", "*", ""},
		{"pre_tool", "AskUserQuestion,Skill", ""},
		{"pre_tool", "BASH", `no tool is spelt "BASH", so it would never match; did you mean "bash"?`},
		{"pre_tool", "bash,wrte", `no tool is called "wrte"; did you mean "write"?`},
		{"pre_tool", "Bash|Write", `no tool is called "Bash|Write"; names are separated by commas`},
		{"post_tool", " , ", "names no tool: it would never match"},
		{"stop", "bash", "this stop hook fires whatever it says"},
	} {
		text := "[[hook]]\nevent = " + quote(c.event) + "\ncommand = \"x\"\nmatcher = " + quote(c.matcher) + "\n"
		s := workspace(t, "-- ws/.agent-ls/agent.toml --\n"+text)
		_, found := Load(t.Context(), s)
		var got []string
		for _, f := range found {
			if f.Code == CodeUnknownTool || f.Code == CodeUnavailable {
				got = append(got, f.Message)
			}
		}
		if all := strings.Join(got, "\n"); !strings.Contains(all, c.want) || c.want == "" && all != "" {
			t.Errorf("%s with %q: %q, want %q", c.event, c.matcher, all, c.want)
		}
	}
}

func FuzzImportHooks(f *testing.F) {
	f.Add(`{"hooks": {"PreToolUse": [{"matcher": "Bash|(a", "hooks": [{"type": "command", "command": "x", "timeout": 3}]}]}}`, true)
	f.Add("[[hook]]\nevent = \"stop\"\ncommand = \"x\"\nenv = { A = 1 }\n", false)
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		name := "config.toml"
		if isJSON {
			name = "settings.json"
		}
		got, err := ImportHooks(name, []byte(text))
		if err != nil {
			return
		}
		added, already, err := AddHooks("agent.toml", nil, got.Hooks, name)
		if err != nil {
			t.Fatalf("what was imported cannot be written: %v", err)
		}
		list := parseTOML("agent.toml", added).root.get("hook")
		if n := len(got.Hooks) - already; n > 0 && (list == nil || len(list.items) != n) {
			t.Fatalf("%d entries came to\n%s", n, added)
		}
	})
}
