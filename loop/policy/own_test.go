package policy

import (
	"os"
	"path/filepath"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// Where the user's config lies in the workspace, by itself or behind a link,
// neither a rule nor mode auto lets the agent write it.
func TestOwnSettingsAreAlwaysAsked(t *testing.T) {
	s := newScene(t)
	dotfiles := filepath.Join(s.root, "dotfiles", "agent-ls")
	must(t, os.MkdirAll(dotfiles, 0o755))
	linked := filepath.Join(s.home, "config-of-agent-ls")
	must(t, os.Symlink(dotfiles, linked))
	p := manifest.Policy{Default: "ask", Rules: []manifest.Rule{
		{Verdict: "allow", Text: "write_file(**)", Origin: manifest.Origin{Layer: "user"}},
		{Verdict: "allow", Text: "shell(echo *)", Origin: manifest.Origin{Layer: "user"}},
	}}
	r, findings := New(s.root, p, Options{Home: s.home, StateDir: s.state, Path: s.bin, Own: []string{linked}})
	for _, f := range findings {
		t.Fatal(f.Message)
	}
	for path, want := range map[string]loop.Verdict{
		"dotfiles/agent-ls/config.toml": loop.VerdictAsk,
		"dotfiles/agent-ls":             loop.VerdictAsk,
		"dotfiles/other.toml":           loop.VerdictAllow,
	} {
		full := filepath.Join(s.root, filepath.FromSlash(path))
		got := r.Judge(Request{Tool: "write_file", Mode: loop.ModeAuto, SandboxInForce: true,
			Plan: loop.Plan{Effect: loop.Write, Paths: []loop.PathAccess{{Path: full, Write: true}}}})
		if got.Verdict != want {
			t.Errorf("write_file %s: %s, want %s", path, got.Verdict, want)
		}
		if got := s.judge(r, "echo x > "+path, func(q *Request) { q.Mode = loop.ModeAuto }); got.Verdict != want {
			t.Errorf("echo x > %s: %s, want %s", path, got.Verdict, want)
		}
	}
}
