package trust

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func entry(root, name, digest string) Entry {
	return Entry{Root: root, Kind: MCP, Name: name, Digest: digest}
}

func TestTrustIsInOneContent(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	defer s.Close()
	state := func(root, name, digest string, want State) {
		t.Helper()
		got, err := s.State(t.Context(), root, MCP, name, digest)
		if err != nil || got != want {
			t.Errorf("State(%s, %s, %s) = %q, %v, want %q", root, name, digest, got, err, want)
		}
	}
	state("/w", "files", "a", Untrusted)
	if _, err := os.Stat(s.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("asking made the file: %v", err)
	}
	if err := s.Trust(t.Context(), entry("/w", "files", "a")); err != nil {
		t.Fatal(err)
	}
	state("/w", "files", "a", Trusted)
	state("/w", "files", "b", Changed)
	state("/w", "other", "a", Untrusted)
	state("/elsewhere", "files", "a", Untrusted)
	if got, err := s.State(t.Context(), "/w", Hook, "files", "a"); got != Untrusted || err != nil {
		t.Errorf("another kind is %q, %v", got, err)
	}
	state("/w", "files", "", Untrusted)
	if info, err := os.Stat(s.Path()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if list, err := s.List(t.Context(), "/w"); err != nil || len(list) != 1 || list[0].At.IsZero() {
		t.Errorf("List = %v, %v", list, err)
	}
	if had, err := s.Forget(t.Context(), "/w", MCP, "files"); !had || err != nil {
		t.Errorf("Forget = %v, %v", had, err)
	}
	state("/w", "files", "a", Untrusted)
}

func TestOldContentsFallAway(t *testing.T) {
	s := New(t.TempDir())
	defer s.Close()
	for i := range maxContents + 3 {
		if err := s.Trust(t.Context(), entry("/w", "files", string(rune('A'+i)))); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(t.Context(), "")
	if err != nil || len(list) != maxContents {
		t.Errorf("%d contents are trusted, %v; want %d", len(list), err, maxContents)
	}
}

func TestInsideTheSandboxNothingIsTrusted(t *testing.T) {
	t.Setenv("AGENT_LS_SANDBOX", "bubblewrap")
	s := New(t.TempDir())
	defer s.Close()
	if err := s.Trust(t.Context(), entry("/w", "files", "a")); !errors.Is(err, ErrSandboxed) {
		t.Errorf("Trust = %v", err)
	}
	if _, err := s.Forget(t.Context(), "/w", MCP, "files"); !errors.Is(err, ErrSandboxed) {
		t.Errorf("Forget = %v", err)
	}
}

func TestDamagedFileNamesItselfAndTrustsNothing(t *testing.T) {
	for name, text := range map[string]string{"garbage": strings.Repeat("no database\n", 500), "cut": "SQLite format 3\x00"} {
		t.Run(name, func(t *testing.T) {
			s := New(t.TempDir())
			defer s.Close()
			if err := os.WriteFile(s.Path(), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := s.State(t.Context(), "/w", MCP, "files", "a")
			if got != Untrusted || err == nil || !strings.Contains(err.Error(), s.Path()) {
				t.Errorf("State = %q, %v", got, err)
			}
			if err := s.Trust(t.Context(), entry("/w", "files", "a")); err == nil || !strings.Contains(err.Error(), s.Path()) {
				t.Errorf("Trust = %v", err)
			}
			if now, _ := os.ReadFile(s.Path()); string(now) != text {
				t.Error("the damaged file was written to")
			}
		})
	}
}

// Two programs with the same file open see each other's doing at once, and
// nothing is lost when they write at the same time.
func TestSeveralStoresOverOneFile(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for _, who := range []string{"a", "b", "c"} {
		wg.Go(func() {
			s := New(dir)
			defer s.Close()
			for i := range 10 {
				if err := s.Trust(t.Context(), entry("/w", who+string(rune('0'+i)), "d")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	one, other := New(dir), New(dir)
	defer one.Close()
	defer other.Close()
	if list, err := one.List(t.Context(), "/w"); err != nil || len(list) != 30 {
		t.Errorf("%d entries, %v", len(list), err)
	}
	if _, err := other.Forget(t.Context(), "/w", MCP, "a0"); err != nil {
		t.Fatal(err)
	}
	if got, err := one.State(t.Context(), "/w", MCP, "a0", "d"); got != Untrusted || err != nil {
		t.Errorf("after the other forgot it: %q, %v", got, err)
	}
}

func TestFilesThatACommandNames(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	for path, text := range map[string]string{
		"guard.sh": "1", "scripts/run.sh": "2", "conf/rules.json": "3", "server/index.js": "4", "server/other.js": "5", "bin/tool": "6", "pkg/__main__.py": "7", "a b.sh": "8", "hooks.d/a.sh": "9", "hooks.d/b.sh": "10",
		"package.json": `{"main":"lib/start"}`, "lib/start.js": "11",
	} {
		full := filepath.Join(root, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "x.sh"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "x.sh"), filepath.Join(root, "out.sh")); err != nil {
		t.Skip(err) // no links for this user on Windows
	}
	if err := os.Symlink("guard.sh", filepath.Join(root, "link.sh")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(root, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, c := range []struct {
		line string
		argv []string
		env  map[string]string
		want string
	}{
		{line: "./guard.sh", want: "guard.sh"},
		{line: "sh guard.sh --config=conf/rules.json", want: "conf/rules.json guard.sh"},
		{line: "cd scripts && ./run.sh", want: "scripts/run.sh"},
		{line: "bash -c 'exec ./guard.sh < conf/rules.json'", want: "conf/rules.json guard.sh"},
		{line: `RULES=conf/rules.json env X=1 timeout 5 ./gu"ard".sh`, want: "conf/rules.json guard.sh"},
		{line: "'./a b.sh'", want: "a b.sh"},
		{line: "sh link.sh", want: "guard.sh"},
		{line: "sh out.sh; sh ../x.sh; sh /etc/hostname", want: "OUT"},
		{line: "sh \"$PWD/guard.sh\"", want: "guard.sh"},
		{line: "sh ${PWD}/guard.sh", want: "guard.sh"},
		{line: "\"$(git rev-parse --show-toplevel)/guard.sh\"", want: "guard.sh"},
		{line: "D=.; sh $D/guard.sh", want: "guard.sh lib/start.js package.json"},
		{line: "D=$(cat conf/rules.json); sh $D/guard.sh", want: "conf/rules.json guard.sh"},
		{line: "sh hooks.d/*.sh", want: "hooks.d/a.sh hooks.d/b.sh"},
		{line: "sh ./guar?.sh", want: "guard.sh"},
		{line: "run-parts hooks.d", want: "hooks.d/a.sh hooks.d/b.sh"},
		{line: "cd hooks.d && sh ./a.sh", want: "hooks.d/a.sh"},
		{line: "in=$(cat); echo \"$in\" | grep -q rm && exit 2", want: ""},
		{line: "awk '{print $NF}' conf/rules.json", want: "conf/rules.json"},
		{line: "true", env: map[string]string{"BASH_ENV": "./guard.sh"}, want: "guard.sh"},
		{argv: []string{"node", "."}, want: "lib/start.js package.json"},
		{argv: []string{"node", "./lib/start"}, want: "lib/start.js"},
		{line: "tool --now", want: "bin/tool"},
		{line: "cat <(./guard.sh) | tee -a scripts/run.sh", want: "guard.sh scripts/run.sh"},
		{line: "echo 'unclosed ./guard.sh", want: "guard.sh"},
		{line: "ruff check .", want: "lib/start.js package.json"},
		{argv: []string{"node", "server"}, want: "server/index.js server/other.js"},
		{argv: []string{"python3", "-m", "pkg"}, want: "pkg/__main__.py"},
		{argv: []string{"sh", "-c", "cd scripts; ./run.sh"}, want: "scripts/run.sh"},
		{argv: []string{filepath.Join(root, "guard.sh")}, want: "guard.sh"},
	} {
		i := Item{Kind: Hook, Name: "x", Line: c.line, Argv: c.argv, Env: c.env}
		files, err := i.Files(root)
		if err != nil {
			t.Errorf("%q %v: %v", c.line, c.argv, err)
		}
		var got []string
		for _, f := range files {
			rel, _ := filepath.Rel(root, f.Path)
			if !filepath.IsLocal(rel) {
				rel = "OUT"
			}
			got = append(got, filepath.ToSlash(rel))
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q %v names %v, want %s", c.line, c.argv, got, c.want)
		}
	}
}

func TestDigestChangesWithWhateverWouldRun(t *testing.T) {
	root := t.TempDir()
	script := filepath.Join(root, "guard.sh")
	i := Item{Kind: Hook, Name: "pre_tool ./guard.sh", Entry: json.RawMessage(`{"command":"./guard.sh"}`), Line: "./guard.sh"}
	seen := map[string]string{}
	note := func(what string) {
		t.Helper()
		d, err := i.Digest(root)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", what, before)
		}
		seen[d] = what
	}
	note("no file")
	for _, text := range []string{"exit 0", "exit 1"} {
		if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		note(text)
	}
	i.Entry = json.RawMessage(`{"command":"./guard.sh","env":{"A":"b"}}`)
	note("another entry")
	i.Kind = MCP
	note("another kind")
}

// A word that only a running shell knows, and that leads to no file, keeps
// the entry from being trusted.
func TestWhatCannotBeKnownIsAnError(t *testing.T) {
	root := t.TempDir()
	for _, line := range []string{
		"sh $(cat where)", "sh $(f() { cat where; }; f)", "sh " + strings.Repeat("$PWD", 300), "$NOT_SET_ANYWHERE", "sh $NOT_SET_ANYWHERE/gone.sh", "read f < list; sh \"$f\"", "bash -c 'sh $(cat where)'", "for f in $(ls); do sh $f; done",
	} {
		if files, err := (Item{Kind: Hook, Name: "x", Line: line}).Files(root); err == nil || !strings.Contains(err.Error(), "cannot be known") {
			t.Errorf("%q: %v, %v", line, files, err)
		}
	}
	for _, line := range []string{
		"git ls-files | xargs sh", "git ls-files | xargs -I{} bash {}", "git ls-files '*.py' | xargs python3", "find . -name '*.sh' -exec sh {} \\;", "find . -exec {} \\;", "cat list | sh", "curl -s x | bash -s -- a",
		"sh", "echo a | python3 -", "ls | parallel sh", "sh <<< \"$IN\"", "cat a | sh /dev/stdin", "trap '$NOT_SET_ANYWHERE' EXIT", "trap 'sh $(cat where)' EXIT", "watch '$NOT_SET_ANYWHERE'", "env -S '$NOT_SET_ANYWHERE'", "cat list | sudo env sh -x",
	} {
		if files, err := (Item{Kind: Hook, Name: "x", Line: line}).Files(root); err == nil || !strings.Contains(err.Error(), "cannot be known") {
			t.Errorf("%q: %v, %v", line, files, err)
		}
	}
	for _, argv := range [][]string{{"sh", "-c", "git ls-files | xargs sh"}, {"xargs", "sh"}} {
		if files, err := (Item{Kind: MCP, Name: "x", Argv: argv}).Files(root); err == nil || !strings.Contains(err.Error(), "cannot be known") {
			t.Errorf("%q: %v, %v", argv, files, err)
		}
	}
	for _, line := range []string{
		"git ls-files | xargs cat", "git diff --name-only | xargs prettier --check", "find . -name '*.sh' -exec sh guard.sh {} \\;", "sh < guard.sh", "sh -s < guard.sh", "bash -euo pipefail guard.sh", "python3 -m black .", "node --version",
		"cat x | python3 guard.py", "trap 'rm -f tmp' EXIT; sh guard.sh", "ls | xargs python3 -m black", "jq -r '.a | $x' x.json", "sh -s <<EOF\n./guard.sh\nEOF", "exec sh \"$PWD/guard.sh\"", "perl -ne 'print if /x/' x", "sh -c './guard.sh'",
	} {
		if err := os.WriteFile(filepath.Join(root, "guard.sh"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := (Item{Kind: Hook, Name: "x", Line: line}).Files(root); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for i := range maxFiles + 1 {
		path := filepath.Join(root, "many", strconv.Itoa(i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (Item{Kind: Hook, Name: "x", Line: "run-parts many"}).Files(root); err == nil || !strings.Contains(err.Error(), "more than 512 files") {
		t.Errorf("many files: %v", err)
	}
}
