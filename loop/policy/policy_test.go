package policy

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// scene is a workspace with what the tables name, and a PATH of its own.
type scene struct{ root, bin, state, home string }

func newScene(t testing.TB) scene {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := scene{root: filepath.Join(top, "ws"), bin: filepath.Join(top, "bin"), state: filepath.Join(top, "state"), home: filepath.Join(top, "home")}
	for _, d := range []string{"ws/docs", "ws/sub", "ws/secrets", "ws/.git/hooks", "ws/bin", "ws/tree/docs", "ws/tree2/docs", "bin", "state", "home"} {
		must(t, os.MkdirAll(filepath.Join(top, d), 0o755))
	}
	for _, f := range []string{"main.go", "go.mod", ".env", "secrets/key", "bin/tool", "tree/docs/a.md", "tree2/docs/a.md"} {
		must(t, os.WriteFile(filepath.Join(s.root, f), []byte("x\n"), 0o755))
	}
	must(t, os.Symlink("/etc", filepath.Join(s.root, "link")))
	must(t, os.Symlink(".git/hooks", filepath.Join(s.root, "hooklink")))
	must(t, os.Symlink(".env", filepath.Join(s.root, "envlink")))
	must(t, os.Symlink("tree/docs", filepath.Join(s.root, "dirlink")))
	must(t, os.MkdirAll(filepath.Join(s.root, "p"), 0o755))
	must(t, os.Symlink("../tree/docs", filepath.Join(s.root, "p", "link")))
	for _, name := range strings.Fields("go git ls rm cat head grep find sed awk python3 tar xargs curl bash sh env make sort npm rg cp diff tee at timeout sudo nohup nice date mv ln install rsync rm mkdir patch unzip gzip dd split zip gofmt npx printf shuf basenc") {
		must(t, os.WriteFile(filepath.Join(s.bin, name), []byte("#!/bin/sh\n"), 0o755))
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rulesOf reads "allow shell(ls); deny …".
func (s scene) rulesOf(t testing.TB, text, layer string) *Rules {
	t.Helper()
	p := manifest.Policy{Default: "ask"}
	for one := range strings.SplitSeq(text, "; ") {
		verdict, rule, ok := strings.Cut(strings.TrimSpace(one), " ")
		if !ok {
			continue
		}
		p.Rules = append(p.Rules, manifest.Rule{Verdict: verdict, Text: rule, Origin: manifest.Origin{Layer: layer}})
	}
	r, findings := New(s.root, p, Options{Home: s.home, StateDir: s.state, Path: s.bin})
	for _, f := range findings {
		t.Fatalf("New(%q): %s", text, f.Message)
	}
	return r
}

func (s scene) judge(r *Rules, line string, change func(*Request)) loop.Judgement {
	req := Request{Tool: "shell", Mode: loop.ModeAsk, SandboxInForce: true, Plan: loop.Plan{Effect: loop.Execute, Command: &loop.CommandPlan{Line: line, Dir: s.root}}}
	if change != nil {
		change(&req)
	}
	return r.Judge(req)
}

func answerOf(j loop.Judgement) string {
	if j.MustAsk && j.Verdict == loop.VerdictAsk {
		return "must"
	}
	return string(j.Verdict)
}

func because(j loop.Judgement) string {
	var out []string
	for _, s := range j.Steps {
		out = append(out, string(s.Outcome)+": "+s.Because)
	}
	return strings.Join(out, "\n\t")
}

func TestShellLines(t *testing.T) {
	s := newScene(t)
	f, err := os.Open("testdata/shell.txt")
	must(t, err)
	defer f.Close()
	var rules *Rules
	set, n := "", 0
	in := bufio.NewScanner(f)
	for at := 1; in.Scan(); at++ {
		text := in.Text()
		if text == "" || text[0] == '#' {
			continue
		}
		if after, ok := strings.CutPrefix(text, "rules:"); ok {
			set = strings.TrimSpace(after)
			rules = s.rulesOf(t, set, "user")
			continue
		}
		want, line, ok := strings.Cut(text, " | ")
		if !ok {
			want, line, _ = strings.Cut(text, "|")
		}
		unquoted, err := strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`)
		if err != nil {
			t.Fatalf("line %d: %v", at, err)
		}
		unquoted = strings.NewReplacer("STATE", s.state, "ROOT", s.root).Replace(unquoted)
		n++
		j := s.judge(rules, unquoted, nil)
		if got := answerOf(j); got != strings.TrimSpace(want) {
			t.Errorf("line %d, with %q: Judge(%q) = %s, want %s\n\t%s", at, set, unquoted, got, strings.TrimSpace(want), because(j))
		}
		if j.Verdict != loop.VerdictDeny { // a grant never goes past that
			continue
		}
		if j := s.judge(rules, unquoted, func(r *Request) {
			r.Grants = []Grant{{Rule: "shell"}, {Rule: "shell(*)"}, {Rule: rules.lineRule(unquoted)}}
		}); j.Verdict != loop.VerdictDeny {
			t.Errorf("line %d: granted, Judge(%q) = %s, want deny", at, unquoted, j.Verdict)
		}
	}
	if n < 150 {
		t.Errorf("the table has %d lines, want 150 at least", n)
	}
}
