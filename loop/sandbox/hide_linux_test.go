package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/loop/manifest"
)

// denies tells what a set of rules would: .env files, secrets/** and *.pem.
func (p place) denies(path string) bool {
	rel, err := filepath.Rel(p.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return strings.HasSuffix(path, ".pem")
	}
	return strings.HasPrefix(filepath.Base(rel), ".env") || rel == "secrets" || strings.HasPrefix(rel, "secrets/") || strings.HasSuffix(rel, ".pem")
}

func (p place) secret(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(p.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCommandsDoNotSeeWhatMayNotBeRead(t *testing.T) {
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		p.secret(t, ".env", "hunter2\n")
		p.secret(t, "sub/.env.local", "hunter2\n")
		p.secret(t, "secrets/deep/key", "hunter2\n")
		p.secret(t, "sub/tool/a.pem", "hunter2\n")
		p.secret(t, "sub/plain.txt", "plain\n")
		outside := filepath.Join(p.home, "keys")
		p.secret(t, "../keys/b.pem", "hunter2\n")
		if err := os.Symlink(".env", filepath.Join(p.root, "innocent")); err != nil {
			t.Fatal(err)
		}
		f := p.floor(t, kind, manifest.Sandbox{}).Hide(p.denies, outside)
		if why := f.Exposed(); why != "" {
			t.Errorf("Exposed = %q", why)
		}
		for _, lines := range [][]string{
			{"cat .env", "cat innocent", "cat secrets/deep/key", "cd sub && cat .env.local", "grep -r hunter .", "tar cf - . | grep -a hunter", "sh -c 'exec 3<.env; cat <&3'",
				"while read -r l; do echo \"$l\"; done < .env", "cat " + filepath.Join(outside, "b.pem"), "cat /proc/self/root" + p.root + "/.env",
				"python3 -c 'print(open(\".env\").read())'", "umount .env; cat .env"},
			{"cp -r . ../work/copy; grep -r hunter copy", "ln .env hard; cat hard", "mv .env moved; cat moved", "mv secrets gone; cat gone/deep/key", "mv sub other; cat other/.env.local other/tool/a.pem"},
		} {
			out, _ := run(t, f, "{ ("+strings.Join(lines, "); (")+"); } 2>&1; true")
			if strings.Contains(out, "hunter2") {
				t.Errorf("%q show what may not be read:\n%s", lines, out)
			}
		}
		// What the attempts may have moved is put where it was.
		for _, made := range []string{"copy", "moved", "hard", "gone"} {
			_ = os.RemoveAll(filepath.Join(p.root, made))
		}
		if _, err := os.Stat(filepath.Join(p.root, "other")); err == nil {
			_ = os.Rename(filepath.Join(p.root, "other"), filepath.Join(p.root, "sub"))
		}
		p.secret(t, ".env", "hunter2\n")
		p.secret(t, "secrets/deep/key", "hunter2\n")
		// The rest of the workspace is as it was.
		out, exit := run(t, f, "cat sub/plain.txt main.go && echo new > made.txt && mkdir -p d && echo x > d/y && echo package mend > main.go && ls && rm made.txt")
		if hint := exit.Hint != ""; hint != (kind == Landlock) {
			t.Errorf("Hint = %q", exit.Hint)
		}
		if exit.Code != 0 || !strings.Contains(out, "plain\npackage main") {
			t.Errorf("work beside hidden files: %d\n%s", exit.Code, out)
		}
		if len(exit.Protected) > 0 {
			t.Errorf("protected files changed: %v", exit.Protected)
		}
		if b, err := os.ReadFile(filepath.Join(p.root, "main.go")); err != nil || !strings.Contains(string(b), "package mend") {
			t.Errorf("the edit is lost: %q, %v", b, err)
		}
		// What one command has made the next one can read.
		if out, _ := run(t, f, "cat d/y main.go"); out != "x\npackage mend\n" {
			t.Errorf("what the command before made: %q", out)
		}
		for _, name := range []string{".env", "secrets/deep/key"} {
			if b, err := os.ReadFile(filepath.Join(p.root, name)); err != nil || string(b) != "hunter2\n" {
				t.Errorf("%s itself is %q, %v afterwards", name, b, err)
			}
		}
	})
}

// A home folder that is the workspace holds folders that are hidden as such
// and protected by their names: hidden wins.
func TestHiddenWinsOverProtected(t *testing.T) {
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		p.root = p.home
		p.secret(t, ".claude/settings.json", "hunter2\n")
		p.secret(t, ".claude/hooks/AGENTS.md", "hunter2\n")
		p.secret(t, ".config/agent-ls/AGENTS.md", "hunter2\n")
		p.secret(t, ".ssh/repo/.git/config", "hunter2\n")
		p.secret(t, "AGENTS.md", "plain\n")
		out, _ := run(t, p.floor(t, kind, manifest.Sandbox{}), "cat .claude/settings.json .claude/hooks/AGENTS.md .config/agent-ls/AGENTS.md .ssh/repo/.git/config .ssh/id .netrc AGENTS.md 2>&1; true")
		if strings.Contains(out, "hunter2") || strings.Contains(out, "secret") || !strings.Contains(out, "plain") {
			t.Errorf("a command sees\n%s", out)
		}
	})
}

// Settings may be links into a folder of dotfiles, the workspace itself at
// times: neither name shows them, and no command replaces them.
func TestLinkedSettingsAreHidden(t *testing.T) {
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		target := p.secret(t, "dotfiles/agent.toml", "hunter2\n")
		folder := filepath.Dir(p.secret(t, "dotfiles/agents/x.toml", "hunter2\n"))
		p.secret(t, "dotfiles/vimrc", "plain\n")
		config := filepath.Join(p.home, ".config", "agent-ls")
		if err := os.MkdirAll(config, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]string{"config.toml": target, "agents": folder} {
			if err := os.Symlink(to, filepath.Join(config, name)); err != nil {
				t.Fatal(err)
			}
		}
		f := p.floor(t, kind, manifest.Sandbox{}).Own(config, filepath.Join(config, "config.toml"), "/etc/passwd")
		out, _ := run(t, f, "cat dotfiles/agent.toml dotfiles/agents/x.toml ../.config/agent-ls/config.toml 2>&1; (echo hacked > dotfiles/agent.toml) 2>&1; cat dotfiles/vimrc; test -s /etc/passwd && echo seen")
		if strings.Contains(out, "hunter2") || !strings.HasSuffix(out, "plain\nseen\n") {
			t.Errorf("a command sees\n%s", out)
		}
		if b, err := os.ReadFile(target); err != nil || string(b) != "hunter2\n" {
			t.Errorf("the settings are %q, %v", b, err)
		}
	})
}

func TestFilesWithOtherNamesAreExposed(t *testing.T) {
	p := newPlace(t)
	env := p.secret(t, ".env", "hunter2\n")
	if err := os.Link(env, filepath.Join(p.root, "plain")); err != nil {
		t.Skip("no hard links here")
	}
	f := p.floor(t, Bubblewrap, manifest.Sandbox{}).Hide(p.denies)
	if why := f.Exposed(); !strings.Contains(why, "1 other names") {
		t.Errorf("Exposed = %q, want the hard link", why)
	}
	if why := p.floor(t, Bubblewrap, manifest.Sandbox{}).Exposed(); why != "" {
		t.Errorf("with nothing to hide: %q", why)
	}
}
