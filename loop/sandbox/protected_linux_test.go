package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent-ls/loop/manifest"
)

// put writes files below the workspace, an hour ago.
func (p place) put(t testing.TB, files map[string]string) {
	t.Helper()
	ago := time.Now().Add(-time.Hour)
	for name, text := range files {
		file := filepath.Join(p.root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, ago, ago); err != nil {
			t.Fatal(err)
		}
	}
}

func (p place) text(name string) string {
	b, err := os.ReadFile(filepath.Join(p.root, name))
	if err != nil {
		return ""
	}
	return string(b)
}

func TestManyFoldersSwitchNothingOff(t *testing.T) {
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		for i := range 1600 {
			if err := os.MkdirAll(filepath.Join(p.root, ".0", fmt.Sprintf("%04d", i)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		p.put(t, map[string]string{
			"a/b/c/d/e/f/g/h/i/j/k/AGENTS.md": "deep", "build/AGENTS.md": "build", "vendor/v/CLAUDE.md": "vendor",
		})
		before := Snapshot(p.root)
		if why := before.Incomplete(); why != "" {
			t.Errorf("incomplete: %s", why)
		}
		names := ".agent-ls/agent.toml .git/hooks/pre-commit .git/config AGENTS.md sub/CLAUDE.md a/b/c/d/e/f/g/h/i/j/k/AGENTS.md build/AGENTS.md vendor/v/CLAUDE.md new/GEMINI.md"
		_, exit := run(t, p.floor(t, kind, manifest.Sandbox{}), "mkdir new; for f in "+names+"; do echo evil > $f; done")
		if left := exit.Protected.PutBack(); len(left) > 0 || len(exit.Protected) == 0 {
			t.Errorf("of %v was not put back: %v", exit.Protected, left)
		}
		if c := before.Compare(Snapshot(p.root)); len(c) > 0 {
			t.Errorf("changed for good: %v", c)
		}
	})
}

func TestWhatLiesAtTheRootIsFoundWhateverTheBounds(t *testing.T) {
	p := newPlace(t)
	p.put(t, map[string]string{".envrc.local": "x", "z/z/AGENTS.md": "x"})
	l := listWithin(p.root, 0, 0)
	for _, name := range []string{".agent-ls", ".git/hooks", ".git/config", "AGENTS.md", ".vscode", ".envrc.local"} {
		if !l.holds(filepath.Join(p.root, name)) {
			t.Errorf("%s is not on the list", name)
		}
	}
	deep := filepath.Join(p.root, "z/z/AGENTS.md")
	if !l.incomplete || l.holds(deep) || !l.unseen(deep) {
		t.Error("that a bound was reached is not said")
	}
	if d := (Digests{list: l}); !strings.Contains(d.Incomplete(), "too many files") {
		t.Errorf("Incomplete() = %q", d.Incomplete())
	}
	// What such a search finds later may have been there: it is not deleted.
	before := Digests{root: p.root, at: time.Now(), list: l, files: map[string]digest{}}
	for _, top := range l.tops {
		before.add(top)
	}
	if left := before.Compare(Snapshot(p.root)).PutBack(); len(left) > 0 || p.text("z/z/AGENTS.md.put-aside") != "x" {
		t.Errorf("left %v, %v", left, p.list(t))
	}
}

func TestTheFloorSaysThatTooMuchIsThere(t *testing.T) {
	p := newPlace(t)
	f := p.floor(t, Bubblewrap, manifest.Sandbox{})
	if why := f.Incomplete(); why != "" {
		t.Errorf("at the start: %q", why)
	}
	d := Digests{list: listWithin(p.root, 0, 0)}
	f.saw(&d)
	if why := f.Without("X").Incomplete(); !strings.Contains(why, "too many files") {
		t.Errorf("after a look that was cut short: %q", why)
	}
	run(t, f, "true")
	if why := f.Incomplete(); why != "" {
		t.Errorf("after a whole look: %q", why)
	}
}

func TestMovedAwayIsNeverDeleted(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 2<<20/16)
	onEach(t, func(t *testing.T, kind Kind) {
		for _, line := range []string{
			"mv sub sub2", "mv sub sub2; mkdir -p sub/.claude; echo impostor > sub/.claude/big",
			"mkdir n; mv sub/.claude/big n/; mkdir n/.claude; mv n/big n/.claude/big", "mv sub sub2; ln -s /tmp sub", "mkdir -p k/.claude; mv sub k/.claude/was",
		} {
			p := newPlace(t)
			p.put(t, map[string]string{"sub/.claude/big": big, "sub/.claude/small": "small", "sub/code.go": "code"})
			_, exit := run(t, p.floor(t, kind, manifest.Sandbox{}), line)
			if left := exit.Protected.PutBack(); len(left) > 0 {
				t.Errorf("%q: not put back: %v", line, left)
			}
			if p.text("sub/.claude/big") != big || p.text("sub/.claude/small") != "small" {
				t.Errorf("%q lost a protected file", line)
			}
			out, _ := run(t, p.floor(t, kind, manifest.Sandbox{}), "grep -rlx code . | wc -l | tr -d ' '")
			if out != "1\n" {
				t.Errorf("%q: the code is there %q times", line, out)
			}
		}
	})
}

func TestANewFileNeverTakesTheMissingOnesPlace(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 2<<20/16)
	p := newPlace(t)
	p.put(t, map[string]string{"sub/.claude/big": big})
	f := p.floor(t, Landlock, manifest.Sandbox{})
	_, exit := run(t, f, "mkdir k; rm sub/.claude/big; for i in 1 2 3 4 5 6 7 8; do mkdir -p k/$i/.claude; echo evil > k/$i/.claude/x; done")
	left := exit.Protected.PutBack()
	if len(left) != 1 || left[0].What != "removed" || p.text("sub/.claude/big") != "" {
		t.Errorf("left %v, big holds %q", left, p.text("sub/.claude/big"))
	}
	if p.text("k/1/.claude/x") != "" || p.text("k/1/.claude.put-aside/x") != "evil\n" {
		t.Errorf("what is new may be the missing one, and was not put aside: %v", p.list(t))
	}
}

func TestOlderFilesInANewFolderAreKept(t *testing.T) {
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		p.put(t, map[string]string{"notes/n.md": "mine", "clone/.git/config": "c", "clone/.git/HEAD": "ref", "clone/.git/objects/o": "history"})
		old := p.list(t)
		_, exit := run(t, p.floor(t, kind, manifest.Sandbox{}), "mv notes .cursor; mv clone clone2")
		if left := exit.Protected.PutBack(); len(left) > 0 {
			t.Errorf("not put back: %v", left)
		}
		if _, err := os.Lstat(filepath.Join(p.root, ".cursor")); err == nil {
			t.Error("the new .cursor is in force")
		}
		if p.text(".cursor.put-aside/n.md") != "mine" {
			t.Errorf("the notes are gone: %v, was %v", p.list(t), old)
		}
		if p.text("clone/.git/objects/o") != "history" || p.text("clone/.git/config") != "c" {
			t.Errorf("the history is gone: %v", p.list(t))
		}
	})
}

// list names all files of the workspace.
func (p place) list(t testing.TB) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(p.root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, strings.TrimPrefix(path, p.root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNewFoldersGoWhole(t *testing.T) {
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		before := p.list(t)
		_, exit := run(t, p.floor(t, kind, manifest.Sandbox{}), "git init -q n; mkdir sub/.vscode; echo x > sub/.vscode/a; mkdir -p sub/.zed/b")
		var said []string
		for _, u := range exit.Protected.Undo() {
			rel, _ := filepath.Rel(p.root, u.Path)
			said = append(said, u.Did+" "+rel)
		}
		if got := strings.Join(said, ", "); got != "removed again n/.git, removed again sub/.vscode, removed again sub/.zed" {
			t.Errorf("said %q", got)
		}
		if after := p.list(t); strings.Join(after, "\n") != strings.Join(before, "\n") {
			t.Errorf("left: %v", after)
		}
	})
}

func TestWhatProtectedThingsLeadToIsProtected(t *testing.T) {
	for name, c := range map[string]struct {
		setup, evil string
		target      string // relative: what Protected must know
	}{
		"a linked folder":       {"mv .agent-ls real; ln -s real .agent-ls", "mv real real2", "real/agent.toml"},
		"in a linked folder":    {"mv .agent-ls real; ln -s real .agent-ls", "echo evil > real/new", "real/new"},
		"behind a moved parent": {"mkdir conf; mv .agent-ls conf/real; ln -s conf/real .agent-ls", "mv conf conf2", "conf/real"},
		"a linked file":         {"mkdir docs; mv AGENTS.md docs/guide.md; ln -s docs/guide.md AGENTS.md", "echo evil > docs/guide.md", "docs/guide.md"},
		"a link to a link":      {"mkdir docs; mv AGENTS.md docs/guide.md; ln -s docs/guide.md mid; ln -s mid AGENTS.md; echo evil > other", "ln -sf other mid", "mid"},
		"a link in a folder":    {"mkdir tools; echo x > tools/pre; ln -s ../../tools/pre .git/hooks/pre-push", "echo evil > tools/pre", "tools/pre"},
		"a deep link":           {"mkdir -p docs; echo x > docs/g; ln -s ../docs/g sub/AGENTS.md", "echo evil > docs/g", "docs/g"},
		"a folder of git":       {"rm -rf .git; git init -q --separate-git-dir gd", "echo evil > gd/hooks/pre-commit", "gd/hooks/pre-commit"},
		"a config of git":       {"rm -rf .git; git init -q --separate-git-dir gd", "git --git-dir=gd config core.pager evil; echo evil >> gd/config", "gd/config"},
		"no hooks yet":          {"rm -rf .git; git init -q --separate-git-dir gd; rm -r gd/hooks", "mkdir gd/hooks; echo evil > gd/hooks/pre-commit", "gd/hooks"},
		"core.hooksPath":        {"printf '[core]\\n\\thooksPath = \"tools/hooks\" # ours\\n' > .git/config; mkdir -p tools/hooks; echo x > tools/hooks/a", "echo evil > tools/hooks/pre-commit; echo evil > tools/hooks/a", "tools/hooks/a"},
		"an included config":    {"printf '[include]\\npath=../inc\\n' > .git/config; echo x > inc", "echo evil > inc", "inc"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, kind Kind) {
				p := newPlace(t)
				off := detect(manifest.Sandbox{Off: true}, Dirs{Root: p.root})
				if _, yes := Protected(p.root, filepath.Join(p.root, c.target)); yes {
					t.Fatalf("%s is protected before anything leads there", c.target)
				}
				if out, exit := run(t, off, c.setup); exit.Code != 0 {
					t.Fatal(out)
				}
				if why, yes := Protected(p.root, filepath.Join(p.root, c.target)); !yes || why == "" {
					t.Errorf("%s is not protected", c.target)
				}
				before := Snapshot(p.root)
				_, exit := run(t, p.floor(t, kind, manifest.Sandbox{}), c.evil)
				if left := exit.Protected.PutBack(); len(left) > 0 {
					t.Errorf("not put back: %v", left)
				}
				if left := before.Compare(Snapshot(p.root)); len(left) > 0 {
					t.Errorf("changed for good: %v", left)
				}
			})
		})
	}
}

func TestWhatANewLinkLeadsToIsLeftAlone(t *testing.T) {
	p := newPlace(t)
	p.put(t, map[string]string{"docs/guide.md": "mine"})
	_, exit := run(t, p.floor(t, Bubblewrap, manifest.Sandbox{}), "ln -s ../docs/guide.md sub/AGENTS.md")
	if left := exit.Protected.PutBack(); len(left) > 0 || len(exit.Protected) != 1 {
		t.Errorf("%v, left %v", exit.Protected, left)
	}
	if p.text("docs/guide.md") != "mine" {
		t.Error("the guide is gone")
	}
	if _, yes := Protected(p.root, filepath.Join(p.root, "docs/guide.md")); yes {
		t.Error("the guide is still protected")
	}
}

func TestProtectedNames(t *testing.T) {
	for _, name := range []string{
		".zed/tasks.json", ".helix/config.toml", ".pre-commit-config.yaml", ".windsurfrules", ".clinerules", ".clinerules/a.md", ".cursorrules",
		".github/workflows/ci.yml", ".github/instructions/a.md", ".github/copilot-instructions.md", ".roo/rules/x", ".continue/config.yaml", ".kiro/steering/x.md",
		"opencode.json", "QWEN.md", "GEMINI.md", ".mise.toml", ".envrc", ".envrc.local", ".gdbinit", "sub/.gdbinit", "x/.Github/Workflows/a.yml",
	} {
		if _, yes := Protected("/w", filepath.Join("/w", name)); !yes {
			t.Errorf("%s is not protected", name)
		}
	}
	for _, name := range []string{".github/ISSUE_TEMPLATE/a.md", "workflows/a.yml", "zed/x", "README.md", ".env", "docs/agents.md.txt", ".gitignore"} {
		if why, yes := Protected("/w", filepath.Join("/w", name)); yes {
			t.Errorf("%s is protected: %s", name, why)
		}
	}
}

func BenchmarkSnapshotOfManyFiles(b *testing.B) {
	p := newPlace(b)
	for i := range 500 {
		for j := range 100 {
			p.put(b, map[string]string{fmt.Sprintf("d%d/f%d", i, j): ""})
		}
	}
	var out bytes.Buffer
	for b.Loop() {
		fmt.Fprint(&out, len(Snapshot(p.root).files))
	}
}
