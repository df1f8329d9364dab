package policy

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// repository makes the scene's workspace one of git's, with these files added.
func (s scene) repository(t *testing.T, version string, add ...string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("git is not installed, and the policy reads its index:", err)
	}
	for _, args := range [][]string{{"init", "-q"}, append([]string{"add", "-f", "--"}, add...), {"update-index", "--index-version", version}} {
		cmd := exec.Command(git, append([]string{"-C", s.root, "-c", "core.hooksPath=/dev/null"}, args...)...)
		cmd.Env = []string{"HOME=" + s.home, "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

func TestGitShowsWhatIsTracked(t *testing.T) {
	const rules = "allow shell(git *); allow shell(ls *); deny read_file(.env*); deny read_file(secrets/**)"
	for _, version := range []string{"2", "4"} {
		clean := newScene(t)
		clean.repository(t, version, "main.go", "go.mod", "tree/docs/a.md", "tree2/docs/a.md", "docs")
		dirty := newScene(t)
		dirty.repository(t, version, "main.go", "tree/docs/a.md", "secrets/key", "go.mod")
		for line, want := range map[string][2]string{
			"git diff":                       {"allow", "must"},
			"git diff HEAD":                  {"allow", "must"},
			"git diff -- main.go":            {"allow", "must"},
			"git diff --cached":              {"allow", "must"},
			"git grep hunter2":               {"allow", "must"},
			"git grep -n hunter2 HEAD~2":     {"must", "must"},
			"git grep 'the key'":             {"allow", "must"},
			"git status":                     {"allow", "allow"},
			"git status -v":                  {"allow", "must"},
			"git commit -m 'a message'":      {"allow", "must"},
			"git log --oneline":              {"allow", "allow"},
			"git log --stat -3":              {"allow", "allow"},
			"git log -p":                     {"must", "must"},
			"git log -L1,3:main.go":          {"must", "must"},
			"git show":                       {"must", "must"},
			"git -C . show HEAD":             {"must", "must"},
			"git diff HEAD~3":                {"must", "must"},
			"git diff main..other":           {"must", "must"},
			"git cat-file -p HEAD":           {"must", "must"},
			"git archive HEAD":               {"must", "must"},
			"git stash show -p":              {"must", "must"},
			"git worktree add sub/x":         {"must", "must"},
			"git checkout other":             {"allow", "allow"},
			"git checkout other && ls":       {"must", "must"},
			"git format-patch -1":            {"must", "must"},
			"git push origin main":           {"allow", "allow"},
			"git branch -a":                  {"allow", "allow"},
			"git clone . sub/copy":           {"must", "must"},
			"git fast-export --all":          {"must", "must"},
			"git rev-list --all":             {"allow", "allow"},
			"git reset --hard && git status": {"must", "must"},
		} {
			for i, s := range []scene{clean, dirty} {
				j := s.judge(s.rulesOf(t, rules, "user"), line, nil)
				if got := answerOf(j); got != want[i] {
					t.Errorf("index %s, secret tracked %t: Judge(%q) = %s, want %s\n\t%s", version, i == 1, line, got, want[i], because(j))
				}
			}
		}
		if got := dirty.rulesOf(t, rules, "user").tracked(); got != "secrets/key" {
			t.Errorf("index %s: tracked() = %q, want secrets/key", version, got)
		}
		must(t, exec.Command("cp", filepath.Join(clean.root, "go.mod"), filepath.Join(clean.root, ".git", "index")).Run())
		if got := clean.rulesOf(t, rules, "user").tracked(); got == "" {
			t.Error("an index that cannot be read is taken for one without secrets")
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"))
	f.Add(append([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"), make([]byte, 100)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		indexPaths(b, func(name string) bool {
			if name == "" {
				t.Error("an empty name")
			}
			n++
			return n < 1000
		})
	})
}
