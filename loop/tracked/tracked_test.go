package tracked

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// repo makes a repository with files in it, as a user's git does.
func repo(t *testing.T, version int) (dir string, git func(...string)) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("these tests need git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git = func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("config", "index.version", fmt.Sprint(version))
	write(t, dir, "a.txt", "one\n")
	write(t, dir, "b.txt", "two\n")
	write(t, dir, "sub/deep/c.txt", "three\n")
	write(t, dir, "sub/deep/d.txt", "four\n")
	git("add", ".")
	git("commit", "-qm", "first")
	return dir, git
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, dir string) *Before {
	t.Helper()
	b, err := Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func summary(dir string, changes []Change) []string {
	var out []string
	for _, c := range changes {
		rel, _ := filepath.Rel(dir, c.Path)
		line := fmt.Sprintf("%s %q→%q", filepath.ToSlash(rel), c.Before, c.After)
		if c.Gone {
			line += " gone"
		}
		if c.Created {
			line += " created"
		}
		out = append(out, line)
	}
	return out
}

func TestChanges(t *testing.T) {
	for _, version := range []int{2, 4} {
		t.Run(fmt.Sprint("index version ", version), func(t *testing.T) {
			dir, git := repo(t, version)
			write(t, dir, "b.txt", "two, mine\n") // not committed, and still to be put back
			remove(t, dir, "sub/deep/d.txt")
			write(t, dir, "untracked.txt", "x")
			b := look(t, dir)
			write(t, dir, "a.txt", "1\n")
			write(t, dir, "b.txt", "2\n")
			remove(t, dir, "sub/deep/c.txt")
			write(t, dir, "sub/deep/d.txt", "again\n")
			write(t, dir, "untracked.txt", "y")
			git("add", ".") // what the index says now does not count
			git("commit", "-qm", "second")
			changes, lost := b.Changes(context.Background())
			want := []string{
				`a.txt "one\n"→"1\n"`,
				`b.txt "two, mine\n"→"2\n"`,
				`sub/deep/c.txt "three\n"→"" gone`,
				`sub/deep/d.txt ""→"again\n" created`,
			}
			if got := summary(dir, changes); !slices.Equal(got, want) || len(lost) != 0 {
				t.Errorf("changes\n%s\nlost %v, want\n%s", strings.Join(got, "\n"), lost, strings.Join(want, "\n"))
			}
			if changes, lost := look(t, dir).Changes(context.Background()); len(changes)+len(lost) != 0 {
				t.Errorf("nothing happened: %v, %v", changes, lost)
			}
		})
	}
}

// A folder of a repository is looked at by itself, and from a linked work
// tree too.
func TestBelowRootOnly(t *testing.T) {
	dir, git := repo(t, 2)
	git("worktree", "add", "-q", filepath.Join(dir, "linked"))
	for _, top := range []string{dir, filepath.Join(dir, "linked")} {
		b := look(t, filepath.Join(top, "sub"))
		write(t, top, "a.txt", "1\n")
		write(t, top, "sub/deep/c.txt", "3\n")
		changes, _ := b.Changes(context.Background())
		if got := summary(top, changes); !slices.Equal(got, []string{`sub/deep/c.txt "three\n"→"3\n"`}) {
			t.Errorf("changes below sub: %v", got)
		}
	}
}

// Where git converts, nobody has the bytes that were in the file.
func TestConvertedFilesAreSaid(t *testing.T) {
	dir, git := repo(t, 2)
	git("config", "core.autocrlf", "true")
	remove(t, dir, "a.txt")
	git("checkout", "-q", "a.txt")
	git("update-index", "--refresh")
	old := look(t, dir)
	for i := range old.files {
		old.files[i].clean = old.files[i].name == "a.txt" // as it is a moment later
		if old.files[i].clean {
			old.files[i].bytes = nil
		}
	}
	write(t, dir, "a.txt", "1\n")
	changes, lost := old.Changes(context.Background())
	if len(changes) != 0 || len(lost) != 1 || filepath.Base(lost[0]) != "a.txt" {
		t.Errorf("changes %v, lost %v", summary(dir, changes), lost)
	}
}

func TestNoRepository(t *testing.T) {
	dir := t.TempDir()
	if changes, lost := look(t, dir).Changes(context.Background()); changes != nil || lost != nil {
		t.Errorf("%v, %v", changes, lost)
	}
	broken := filepath.Join(dir, ".git")
	if err := os.MkdirAll(broken, 0o755); err != nil {
		t.Fatal(err)
	}
	if b, err := Look(dir); b != nil || err != nil {
		t.Errorf("a repository without an index: %v, %v", b, err)
	}
	write(t, broken, "index", "nothing that git wrote")
	if b, err := Look(dir); b != nil || err == nil {
		t.Errorf("a broken index: %v, %v", b, err)
	}
	for name, text := range map[string]string{"empty": "", "short": "DIRC", "cut": "DIRC\x00\x00\x00\x02\x00\x00\x00\x09" + strings.Repeat("x", 60),
		"many": "DIRC\x00\x00\x00\x02\xff\xff\xff\xff" + strings.Repeat("x", 60), "version": "DIRC\x00\x00\x00\x09\x00\x00\x00\x00" + strings.Repeat("\x00", 20),
		"split": "DIRC\x00\x00\x00\x02\x00\x00\x00\x00link\x00\x00\x00\x00" + strings.Repeat("\x00", 20)} {
		if entries, err := parseIndex([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, entries)
		}
	}
}

// A git that knows no GIT_NO_LAZY_FETCH asks a promisor remote for a missing
// object, by the program that the repository names.
func TestAMissingObjectRunsNoProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the old git is made with a shell script")
	}
	dir, git := repo(t, 2)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(t.TempDir(), "ran")
	git("config", "core.repositoryformatversion", "1")
	git("config", "extensions.partialClone", "origin")
	git("config", "remote.origin.url", "ext::touch "+marker)
	git("config", "remote.origin.promisor", "true")
	git("config", "protocol.ext.allow", "always")
	out, err := exec.Command(real, "-C", dir, "rev-parse", "HEAD:a.txt").Output()
	if err != nil {
		t.Fatal(err)
	}
	blob := strings.TrimSpace(string(out))
	// Files count as unchanged if they are older than the index.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "a.txt"), old, old); err != nil {
		t.Fatal(err)
	}
	git("update-index", "--refresh")
	remove(t, dir, filepath.Join(".git", "objects", blob[:2], blob[2:]))
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec "+real+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	b := look(t, dir)
	write(t, dir, "a.txt", "changed\n")
	changes, lost := b.Changes(t.Context())
	if len(changes) != 0 || len(lost) != 1 {
		t.Errorf("changes %v, lost %v; want a.txt lost", summary(dir, changes), lost)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the program that the repository names ran")
	}
}
