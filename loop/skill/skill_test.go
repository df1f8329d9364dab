package skill

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text, at, want string // where the finding is, what it says; no want is a good skill
		tools          []string
	}{
		"good":               {"---\nname: deploy\ndescription: Ships it.\n---\nDo this.\n", "", "", nil},
		"windows line ends":  {"---\r\nname: deploy\r\ndescription: Ships it.\r\n---\r\nDo this.\r\n", "", "", nil},
		"byte order mark":    {"\ufeff---\nname: deploy\ndescription: Ships it.\n---\n", "", "", nil},
		"folded description": {"---\nname: deploy\ndescription: >\n  Ships\n  it.\n---\n", "", "", nil},
		"a list of tools":    {"---\nname: deploy\ndescription: Ships it.\nallowed-tools: [Read, \"Bash(git add:*)\"]\n---\n", "", "", []string{"Read", "Bash(git add:*)"}},
		"words of tools":     {"---\nname: deploy\ndescription: Ships it.\nallowed-tools: Read, Grep Bash(git log:*)\n---\n", "", "", []string{"Read", "Grep", "Bash(git log:*)"}},
		"no tool at all":     {"---\nname: deploy\ndescription: Ships it.\nallowed-tools: []\n---\n", "", "", []string{}},
		"no head":            {"# Deploy\n", "# D", "does not begin with a head", nil},
		"not closed":         {"---\nname: deploy\n", "---", "is not closed", nil},
		"no YAML":            {"---\nname: [deploy\ndescription: x\n---\n", "", "no YAML", nil},
		"no keys":            {"---\n- a\n---\n", "", "no list of keys", nil},
		"a bad name":         {"---\nname: Deploy It\ndescription: x\n---\n", "Deploy It", "small letters", nil},
		"no description":     {"---\nname: deploy\n---\n", "", "no description", nil},
		"bad tools":          {"---\nname: deploy\ndescription: x\nallowed-tools: Bash(git\n---\n", "Bash(git", "cannot be read", nil},
		"empty":              {"", "", "does not begin", nil},
		"many brackets":      {"---\nname: deploy\ndescription: " + strings.Repeat("[", 60_000) + "\n---\n", "[", "has more than 16384 bytes", nil},
		"deep brackets":      {"---\nname: deploy\ndescription: " + strings.Repeat("[", 65) + "\n---\n", "[", "nests values more than 64 deep", nil},
		"deep marks":         {"---\n" + strings.Repeat("- ", 65) + "\n---\n", "-", "nests values more than 64 deep", nil},
		"a long head":        {"---\nname: deploy\ndescription: Ships it.\nnote: " + strings.Repeat("x", 17<<10) + "\n---\n", "x", "has more than 16384 bytes", nil},
		"brackets in turn":   {"---\nname: deploy\ndescription: Ships it.\nnote: \"" + strings.Repeat("[a] - b: ", 60) + "\"\n---\n", "", "", nil},
	} {
		s, found, ok := Parse("/skills/deploy/SKILL.md", []byte(c.text))
		if c.want == "" {
			if !ok || len(found) > 0 || s.Name != "deploy" || s.Description != "Ships it." || !slices.Equal(s.AllowedTools, c.tools) || (s.AllowedTools == nil) != (c.tools == nil) {
				t.Errorf("%s: %+v, %v", name, s, found)
			}
			continue
		}
		if ok || len(found) != 1 || !strings.Contains(found[0].Message, c.want) {
			t.Errorf("%s: ok %v, %v, want %q", name, ok, found, c.want)
			continue
		}
		if got := c.text[found[0].Span.Start:found[0].Span.End]; c.at != "" && got != c.at {
			t.Errorf("%s is marked at %q, want %q", name, got, c.at)
		}
	}
}

func TestDiscover(t *testing.T) {
	root, user := t.TempDir(), t.TempDir()
	good := func(name string) string {
		return "---\nname: " + name + "\ndescription: About " + name + ".\n---\nThe body of " + name + ".\n"
	}
	write(t, filepath.Join(root, "skills", "review", "SKILL.md"), good("review"))
	write(t, filepath.Join(root, "skills", "review", "scripts", "run.sh"), "x")
	write(t, filepath.Join(root, "skills", "broken", "SKILL.md"), "no head")
	write(t, filepath.Join(root, "skills", "none", "README.md"), "x")
	write(t, filepath.Join(user, "mine", "SKILL.md"), good("mine"))
	write(t, filepath.Join(root, "skills", "mine", "SKILL.md"), good("mine"))
	outside := filepath.Join(t.TempDir(), "out")
	write(t, filepath.Join(outside, "SKILL.md"), good("out"))
	if err := os.Symlink(outside, filepath.Join(root, "skills", "out")); err != nil {
		t.Skip(err) // no links for this user on Windows
	}
	skills, found := Discover([]Folder{{Path: user, Inside: user}, {Path: filepath.Join(root, "skills"), Inside: root, Workspace: true}, {Path: filepath.Join(root, "gone"), Inside: root}})
	var names []string
	for _, s := range skills {
		names = append(names, s.Name)
	}
	if strings.Join(names, " ") != "mine review" || skills[0].Workspace || !skills[1].Workspace {
		t.Fatalf("skills %+v", skills)
	}
	var says []string
	for _, f := range found {
		says = append(says, filepath.Base(filepath.Dir(f.Path))+": "+f.Message)
	}
	if all := strings.Join(says, "\n"); len(found) != 3 || !strings.Contains(all, "broken: the skill does not begin") || !strings.Contains(all, "mine: the skill \"mine\" is defined already") || !strings.Contains(all, "out: the skill is a link out of") {
		t.Errorf("findings:\n%s", all)
	}
	body, files, err := Body(skills[1])
	if err != nil || body != "The body of review." || !slices.Equal(files, []string{"scripts/run.sh"}) {
		t.Errorf("body %q, files %v, %v", body, files, err)
	}
}
