package policy

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agent-ls/hooks/shell"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// file is a prepared call of a file tool.
func (s scene) file(tool, path string, write bool) Request {
	effect := loop.Read
	if write {
		effect = loop.Write
	}
	p, _ := resolve(s.root, path)
	return Request{Tool: tool, Mode: loop.ModeAsk, SandboxInForce: true, Plan: loop.Plan{Effect: effect, Paths: []loop.PathAccess{{Path: p, Write: write}}}}
}

func TestFileCalls(t *testing.T) {
	s := newScene(t)
	for _, c := range []struct {
		rules, tool, path string
		write             bool
		want              string
	}{
		{"", "read_file", "main.go", false, "allow"},
		{"", "edit", "main.go", true, "ask"},
		{"allow edit(docs/**)", "edit", "docs/a.md", true, "allow"},
		{"allow edit(docs/**)", "edit", "docs/../main.go", true, "ask"},
		{"allow edit(docs/**)", "write_file", "docs/a.md", true, "ask"},
		{"allow edit", "edit", "main.go", true, "allow"},
		{"allow edit(main.go)", "edit", "sub/main.go", true, "ask"},
		{"deny read_file(.env*)", "read_file", ".env", false, "deny"},
		{"deny read_file(.env*)", "Read", "sub/.env.local", false, "deny"},
		{"deny read_file(.env*)", "read_file", "envlink", false, "deny"},
		{"deny read_file(.env*)", "grep", ".env", false, "deny"},
		{"deny read_file(.env*)", "edit", ".env", true, "deny"},
		{"deny write_file(go.mod)", "edit", "go.mod", true, "deny"},
		{"deny edit(go.mod)", "write_file", "sub/go.mod", true, "deny"},
		{"deny edit(docs)", "edit", "docs/a/b.md", true, "deny"},
		{"deny write(docs/**)", "write_file", "DOCS/a", true, "deny"},
		{"ask read(secrets/**)", "read_file", "secrets/key", false, "ask"},
		{"deny read_file(/etc/**)", "read_file", "link/passwd", false, "deny"},
		{"deny read_file(~/x/**)", "read_file", s.home + "/x/y", false, "deny"},
		{"allow edit; allow write_file", "edit", ".git/hooks/pre-commit", true, "must"},
		{"allow edit; allow write_file", "edit", "hooklink/pre-commit", true, "must"},
		{"allow write_file", "write_file", ".agent-ls/hooks/guard.risor", true, "must"},
		{"allow write_file", "write_file", ".Agent-LS/agent.toml", true, "must"},
		{"allow write_file", "write_file", "AGENTS.md", true, "must"},
		{"allow write_file", "write_file", "sub/deep/CLAUDE.md", true, "must"},
		{"allow write_file", "write_file", ".vscode/tasks.json", true, "must"},
		{"allow write_file", "write_file", ".envrc", true, "must"},
		{"allow write_file", "write_file", ".git/config", true, "must"},
		{"allow write_file", "write_file", ".git", true, "must"},
		{"allow write_file", "write_file", "sub/.git/modules/x/hooks/y", true, "must"},
		{"allow write_file", "write_file", "../out", true, "must"},
		{"allow read_file", "read_file", "../other/x", false, "must"},
		{"allow read_file", "read_file", "link/passwd", false, "must"},
		{"allow read_file(/etc/**)", "read_file", "/etc/passwd", false, "must"},
		{"allow read_file", "read_file", s.state + "/grants.toml", false, "deny"},
		{"deny edit(docs/**); allow edit(docs/a.md)", "edit", "docs/a.md", true, "deny"},
	} {
		j := s.rulesOf(t, c.rules, "user").Judge(s.file(c.tool, c.path, c.write))
		if got := answerOf(j); got != c.want {
			t.Errorf("with %q: Judge(%s %s) = %s, want %s\n\t%s", c.rules, c.tool, c.path, got, c.want, because(j))
		}
	}
}

func TestModes(t *testing.T) {
	s := newScene(t)
	r := s.rulesOf(t, "allow edit(docs/**); deny edit(go.mod); allow shell(ls *)", "user")
	for _, c := range []struct {
		mode loop.Mode
		path string
		want string
	}{
		{loop.ModePlan, "docs/a.md", "deny"},
		{loop.ModePlan, "main.go", "deny"},
		{loop.ModeAuto, "main.go", "allow"},
		{loop.ModeAuto, "go.mod", "deny"},
		{loop.ModeAuto, ".envrc", "must"},
		{loop.ModeAuto, "../x", "must"},
	} {
		req := s.file("edit", c.path, true)
		req.Mode = c.mode
		if got := answerOf(r.Judge(req)); got != c.want {
			t.Errorf("mode %s: edit %s = %s, want %s", c.mode, c.path, got, c.want)
		}
	}
	for line, want := range map[string]string{"make": "allow", "ls": "allow", "echo x > .envrc": "must", "cat ../x": "must", "echo x > $F": "must"} {
		j := s.judge(r, line, func(r *Request) { r.Mode = loop.ModeAuto })
		if got := answerOf(j); got != want {
			t.Errorf("mode auto: %q = %s, want %s\n\t%s", line, got, want, because(j))
		}
	}
	if got := answerOf(s.judge(r, "ls", func(r *Request) { r.Mode = loop.ModePlan })); got != "deny" {
		t.Errorf("mode plan: ls = %s, want deny", got)
	}
}

func TestFailedHookAndMissingSandboxAsk(t *testing.T) {
	s := newScene(t)
	r := s.rulesOf(t, "allow shell(ls *); allow edit; deny shell(rm *)", "user")
	grants := []Grant{{Rule: "shell"}, {Rule: "shell(=ls)"}}
	for name, change := range map[string]func(*Request){
		"hook failed": func(r *Request) { r.Unheard = "a hook failed"; r.Grants = grants; r.Mode = loop.ModeAuto },
		"unwatched":   func(r *Request) { r.Unwatched = "too many files"; r.Grants = grants; r.Mode = loop.ModeAuto },
		"no sandbox":  func(r *Request) { r.SandboxInForce = false; r.Grants = grants; r.Mode = loop.ModeAuto },
	} {
		j := s.judge(r, "ls", change)
		if answerOf(j) != "must" || j.Session != "" || j.Always != "" {
			t.Errorf("%s: ls = %s covering %q, want must covering nothing", name, answerOf(j), j.Session)
		}
		if got := answerOf(s.judge(r, "rm x", change)); got != "deny" {
			t.Errorf("%s: rm = %s, want deny", name, got)
		}
	}
}

func TestWorkspaceCannotAllow(t *testing.T) {
	s := newScene(t)
	for _, layer := range []string{"workspace", "client"} {
		r := s.rulesOf(t, "allow shell(ls *); allow edit(docs/**); deny shell(rm *)", layer)
		if got := answerOf(s.judge(r, "ls", nil)); got != "ask" {
			t.Errorf("%s allow shell(ls *): ls = %s, want ask", layer, got)
		}
		if got := answerOf(r.Judge(s.file("edit", "docs/a", true))); got != "ask" {
			t.Errorf("%s allow edit(docs/**): edit docs/a = %s, want ask", layer, got)
		}
		if got := answerOf(s.judge(r, "rm x", nil)); got != "deny" {
			t.Errorf("%s deny: rm x = %s, want deny", layer, got)
		}
	}
	p := manifest.Policy{Rules: []manifest.Rule{
		{Verdict: "allow", Text: "shell(ls *)", Origin: manifest.Origin{Layer: "workspace"}},
		{Verdict: "allow", Text: "shell(ls *)", Origin: manifest.Origin{Layer: "user"}},
	}}
	r, _ := New(s.root, p, Options{Path: s.bin})
	if got := answerOf(s.judge(r, "ls", nil)); got != "allow" {
		t.Errorf("allowed by both: ls = %s, want allow", got)
	}
}

func TestOrganisationAsksWhateverIsGranted(t *testing.T) {
	s := newScene(t)
	r := s.rulesOf(t, "ask shell(git push *); ask edit(docs/**)", "organisation")
	j := s.judge(r, "git push", func(r *Request) {
		r.Mode = loop.ModeAuto
		r.Grants = []Grant{{Rule: "shell(git push)"}, {Rule: "shell(=git push)"}}
	})
	if answerOf(j) != "must" {
		t.Errorf("git push = %s, want must\n\t%s", answerOf(j), because(j))
	}
	req := s.file("edit", "docs/a", true)
	req.Grants = []Grant{{Rule: "edit(docs/a)"}}
	if got := answerOf(r.Judge(req)); got != "must" {
		t.Errorf("edit docs/a = %s, want must", got)
	}
}

func TestCoversExactlyWhatItSays(t *testing.T) {
	s := newScene(t)
	r := s.rulesOf(t, "ask shell(git push *); deny shell(rm *)", "user")
	for _, c := range []struct{ line, cover, other string }{
		{"go test ./...", "shell(go test ./...)", "go test ./... -v"},
		{"git push origin main", "shell(git push origin main)", "git push origin main --force"},
		{"make && go test", "shell(=make && go test)", "make"},
		{"FOO=1 make", "shell(=FOO=1 make)", "FOO=2 make"},
		{`git commit -m "a b"`, `shell(=git commit -m "a b")`, "git commit -m x"},
		{"./run.sh", "shell(=./run.sh)", "./run.sh x"},
		{"sort -o a b", "shell(sort -o a b)", "sort -o a c"},
		{"echo x > out.txt", "shell(=echo x > out.txt)", "echo x > main.go"},
	} {
		j := s.judge(r, c.line, nil)
		if j.Session != c.cover || j.Always != c.cover {
			t.Errorf("%q covers %q and %q, want %q", c.line, j.Session, j.Always, c.cover)
			continue
		}
		granted := func(r *Request) { r.Grants = []Grant{{Rule: j.Session}} }
		if j := s.judge(r, c.line, granted); answerOf(j) != "allow" {
			t.Errorf("granted %s: %q = %s, want allow\n\t%s", c.cover, c.line, answerOf(j), because(j))
		}
		if got := answerOf(s.judge(r, c.other, granted)); got != "ask" {
			t.Errorf("granted %s: %q = %s, want ask", c.cover, c.other, got)
		}
	}
	for _, line := range []string{"rm x", "$X", "ls *", "echo x > .envrc", "eval ls", "ls\nmake", "cat /etc/passwd"} {
		if j := s.judge(r, line, nil); j.Session != "" || j.Always != "" {
			t.Errorf("%q offers to cover %q", line, j.Session)
		}
	}
	must(t, os.WriteFile(filepath.Join(s.root, "a[1]*.go"), nil, 0o644))
	j := r.Judge(s.file("edit", "a[1]*.go", true))
	if j.Session != `edit(a\[1\]\*.go)` {
		t.Errorf("edit a[1]*.go covers %q", j.Session)
	}
	for path, want := range map[string]string{"a[1]*.go": "allow", "a1x.go": "ask", "sub/a[1]*.go": "ask"} {
		req := s.file("edit", path, true)
		req.Grants = []Grant{{Rule: j.Session}}
		if got := answerOf(r.Judge(req)); got != want {
			t.Errorf("granted %s: edit %s = %s, want %s", j.Session, path, got, want)
		}
	}
	mcp := r.Judge(Request{Tool: "mcp__files__read", Plan: loop.Plan{Effect: loop.Execute}, SandboxInForce: true})
	if answerOf(mcp) != "ask" || mcp.Session != "mcp__files__read" {
		t.Errorf("an mcp tool = %s covering %q", answerOf(mcp), mcp.Session)
	}
}

func TestBadRules(t *testing.T) {
	s := newScene(t)
	for _, c := range []struct{ verdict, text, want string }{
		{"allow", "shel(ls)", `did you mean "shell"`},
		{"deny", "read_fil(.env)", `did you mean "read_file"`},
		{"deny", "shell(rm *", "parenthesis is missing"},
		{"deny", "shell()", "pattern is empty"},
		{"allow", "shell(ls | cat)", "no meaning in a command pattern"},
		{"ask", "edit([)", "not a valid glob"},
		{"perhaps", "edit", "no verdict"},
		{"allow", "shell(./x *)", "bare command name"},
		{"deny", "ask_user(x)", "take no pattern"},
	} {
		r, findings := New(s.root, manifest.Policy{Rules: []manifest.Rule{{Verdict: c.verdict, Text: c.text, Origin: manifest.Origin{Layer: "user", Path: "/c", Line: 3}}}}, Options{Path: s.bin})
		if len(findings) != 1 || !strings.Contains(findings[0].Message, c.want) {
			t.Errorf("New(%s %s): findings %v, want one with %q", c.verdict, c.text, findings, c.want)
		}
		if c.verdict == "deny" {
			j := s.judge(r, "ls", func(r *Request) { r.Mode = loop.ModeAuto })
			if answerOf(j) != "must" {
				t.Errorf("with the broken rule %s %s: ls = %s, want must", c.verdict, c.text, answerOf(j))
			}
		}
	}
}

func TestGrantsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	root, other := t.TempDir(), t.TempDir()
	if g, err := LoadAlways(dir, root); err != nil || g != nil {
		t.Fatalf("LoadAlways of nothing = %v, %v", g, err)
	}
	var wg sync.WaitGroup
	for _, rule := range []string{"shell(go test ./...)", "edit(calc.go)", "shell(=FOO=1 make \"x\")"} {
		wg.Go(func() {
			if err := AppendAlways(dir, root, rule); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	must(t, AppendAlways(dir, root, "edit(calc.go)"))
	must(t, AppendAlways(dir, other, "edit(x)"))
	g, err := LoadAlways(dir, root)
	if err != nil || len(g) != 3 || !g[0].Always {
		t.Errorf("LoadAlways = %v, %v, want three", g, err)
	}
	info, err := os.Stat(filepath.Join(dir, "grants.toml"))
	must(t, err)
	if os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
		t.Errorf("grants.toml has mode %v, want 0600", info.Mode())
	}
	if err := AppendAlways(dir, root, "shel(ls)"); err == nil {
		t.Error("a rule that cannot be read was granted")
	}
	must(t, os.WriteFile(filepath.Join(dir, "grants.toml"), []byte("workspace = 3 ["), 0o600))
	if _, err := LoadAlways(dir, root); err == nil {
		t.Error("a broken grants.toml was read without an error")
	}
	if err := AppendAlways(dir, root, "edit(y)"); err == nil {
		t.Error("a broken grants.toml was written over")
	}
}

// FuzzAllowed holds the one promise: what is allowed is made of commands that
// the rule names, all of them known.
func FuzzAllowed(f *testing.F) {
	for _, line := range []string{"ls", "ls; rm x", "ls $(rm x)", "ls\nrm", "l\\s && r''m x", "cd sub && ls > f", "f(){ ls; }; f", "ls <<E\n$(rm)\nE", "ls 'a", "ls #\nrm", "a=1 ls", "{ls,-l}", "ls&rm"} {
		f.Add(line)
	}
	s := newScene(f)
	r := s.rulesOf(f, "allow shell(ls *); deny shell(rm *)", "user")
	f.Fuzz(func(t *testing.T, line string) {
		j := s.judge(r, line, nil)
		if j.Verdict == "" {
			t.Fatalf("Judge(%q) says nothing", line)
		}
		commands := shell.Commands(line)
		for _, c := range commands {
			if c.Base() == "rm" && j.Verdict != loop.VerdictDeny {
				t.Fatalf("Judge(%q) = %s, want deny", line, j.Verdict)
			}
			if _, known := knownWords(c); j.Verdict == loop.VerdictAllow && c.Name.Text != "ls" && !(known && neutral(c, true)) && c.Name.Text != "" {
				t.Fatalf("Judge(%q) = allow for %s", line, shown(c))
			}
		}
		if j.Verdict == loop.VerdictAllow && len(commands) == 0 {
			t.Fatalf("Judge(%q) = allow for nothing", line)
		}
	})
}
