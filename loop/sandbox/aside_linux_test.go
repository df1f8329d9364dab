package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/loop/manifest"
)

// during runs a line, and does something once the line has printed "up" and
// until it is given the file "go".
func during(t *testing.T, p place, kind Kind, line string, do func()) Exit {
	t.Helper()
	c, err := p.floor(t, kind, manifest.Sandbox{}).Command(t.Context(), "echo up; until [ -e go ]; do sleep 0.02; done; "+line, p.root)
	if err != nil {
		t.Fatal(err)
	}
	up := make(signalled, 1)
	c.Stdout = up
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-up
	do()
	p.write(t, "go", "")
	exit := c.Wait()
	if exit.Err != nil || exit.Stopped {
		t.Fatalf("%+v", exit)
	}
	return exit
}

type signalled chan bool

func (s signalled) Write(b []byte) (int, error) {
	select {
	case s <- true:
	default:
	}
	return len(b), nil
}

func (p place) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(p.root, name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.root, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace saves a file as some editors do: a new one in the old one's place.
func (p place) replace(t testing.TB, name, text string) {
	t.Helper()
	p.write(t, "saving~", text)
	if err := os.Rename(filepath.Join(p.root, "saving~"), filepath.Join(p.root, name)); err != nil {
		t.Fatal(err)
	}
}

func TestSetAsideDeletesNothing(t *testing.T) {
	p := newPlace(t)
	if err := os.Symlink("../main.go", filepath.Join(p.root, ".vscode", "link")); err != nil {
		t.Fatal(err)
	}
	before := Snapshot(p.root)
	p.write(t, "AGENTS.md", "saved by a person")
	p.replace(t, "sub/CLAUDE.md", "saved as a new file")
	p.write(t, ".envrc", "new")
	// An editor that keeps the old text under another name.
	if err := os.Rename(filepath.Join(p.root, ".agent-ls/agent.toml"), filepath.Join(p.root, ".agent-ls/agent.toml~")); err != nil {
		t.Fatal(err)
	}
	p.write(t, ".agent-ls/agent.toml", "saved with a backup")
	link := filepath.Join(p.root, ".vscode", "link")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	p.write(t, ".vscode/link", "was a link")
	if err := os.RemoveAll(filepath.Join(p.root, ".git/hooks")); err != nil {
		t.Fatal(err)
	}
	p.write(t, ".git/hooks", "a file now")
	for _, u := range before.Compare(Snapshot(p.root)).SetAside() {
		if !u.OK {
			t.Errorf("left: %s %s", u.What, u.Path)
		}
	}
	for name, want := range map[string]string{
		"AGENTS.md": "instructions", "AGENTS.md.put-aside": "saved by a person", "sub/CLAUDE.md": "more", "sub/CLAUDE.md.put-aside": "saved as a new file",
		".envrc": "", ".envrc.put-aside": "new", ".agent-ls/agent.toml": "guard", ".agent-ls/agent.toml.put-aside": "saved with a backup",
		".vscode/link.put-aside": "was a link", ".git/hooks/pre-commit": "hook", ".git/hooks.put-aside": "a file now",
	} {
		if got := p.text(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if to, err := os.Readlink(link); to != "../main.go" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// What a command had read-only somebody else has changed.
func TestWhatIsBoundReadOnlyIsNotTheCommandsDoing(t *testing.T) {
	p := newPlace(t)
	exit := during(t, p, Bubblewrap, "echo evil > AGENTS.md; echo evil > .vscode/tasks.json; echo evil > .vscode/evil; mv .vscode v; echo evil > .envrc; mv sub sub2; mkdir sub; echo evil > sub/CLAUDE.md", func() {
		p.write(t, "AGENTS.md", "saved")
		p.replace(t, ".vscode/tasks.json", "saved too")
		p.write(t, ".vscode/new.json", "new")
		p.write(t, ".git/hooks/pre-push", "mine")
	})
	var names []string
	for _, c := range exit.Protected {
		rel, _ := filepath.Rel(p.root, c.Path)
		names = append(names, c.What+" "+rel)
	}
	if got := strings.Join(names, ", "); got != "created .envrc, changed sub/CLAUDE.md, created sub2/CLAUDE.md" {
		t.Errorf("the command's doing: %s", got)
	}
	exit.Protected.SetAside()
	for name, want := range map[string]string{
		"AGENTS.md": "saved", ".vscode/tasks.json": "saved too", ".vscode/new.json": "new", ".git/hooks/pre-push": "mine",
		".envrc": "", ".envrc.put-aside": "evil\n", "sub/CLAUDE.md": "more",
	} {
		if got := p.text(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// A mount goes with the file that it is on: what was put there since, a
// command could write.
func TestAReplacedFileIsNotReadOnlyAnyMore(t *testing.T) {
	for name, setup := range map[string]func(p place){
		"replaced": func(p place) {},
		"linked": func(p place) {
			if err := os.Link(filepath.Join(p.root, "AGENTS.md"), filepath.Join(p.root, "other.md")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			setup(p)
			exit := during(t, p, Bubblewrap, "echo evil | tee AGENTS.md > other.md", func() {
				if name == "replaced" {
					p.replace(t, "AGENTS.md", "saved")
				}
			})
			exit.Protected.SetAside()
			if p.text("AGENTS.md") != "instructions" || p.text("AGENTS.md.put-aside") == "" {
				t.Errorf("AGENTS.md is %q, beside it %q", p.text("AGENTS.md"), p.text("AGENTS.md.put-aside"))
			}
		})
	}
}

func TestWithoutMountsEverythingMayBeTheCommandsDoing(t *testing.T) {
	p := newPlace(t)
	exit := during(t, p, Landlock, "true", func() { p.write(t, "AGENTS.md", "saved") })
	exit.Protected.SetAside()
	if p.text("AGENTS.md") != "instructions" || p.text("AGENTS.md.put-aside") != "saved" {
		t.Errorf("AGENTS.md is %q, beside it %q", p.text("AGENTS.md"), p.text("AGENTS.md.put-aside"))
	}
}
