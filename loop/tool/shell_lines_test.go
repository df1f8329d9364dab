package tool

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestWhichLinesRunBesideOthers(t *testing.T) {
	safe := []string{
		"ls", "ls -la src", "cat a.go b.go", "head -n 5 'a b.txt'", "git status", "git log --oneline -5", "git diff HEAD~1", "rg foo src",
		"grep -rn foo .", "find . -name '*.go'", "sort a", "wc -l a", "pwd", "echo hi", "tail -n 3 a", "git grep foo", "  ls  ",
	}
	alone := []string{
		"", "rm a", "npm install", "ls | wc", "ls > out", "ls >/dev/null", "ls 2>&1", "ls; rm a", "ls && ls", "(ls)", "{ ls; }", "ls &", "! ls",
		"ls $(rm a)", "ls `rm a`", "cat <(ls)", "X=1 ls", "env ls", "sudo ls", "/bin/ls", "./ls", "ls $DIR", "ls *", "cat <<E\nx\nE",
		"find . -delete", "find . -exec rm {} +", "find . -fprintf x y", "sort -o a a", "sort -uo a a", "sort --out=a a", "sort --outp a a", "tree -o x", "tail -f a", "tail -fn3 a",
		"git", "git push", "git -c core.pager=x log", "git diff --ext-diff", "git diff --output=x", "git diff --outp=x", "git log --textc", "git grep -O foo", "git branch x", "git stash",
		"rg --pre sh foo", "rg -z foo", "sed -i s/a/b/ f", "awk 1 f", "python3 -c 1", "bash -c ls", "xargs ls", "ls \\\n; rm a", "eval ls", "command ls", "if true; then ls; fi",
	}
	for _, line := range safe {
		if got := readOnly(line); !got {
			t.Errorf("readOnly(%q) = false", line)
		}
	}
	for _, line := range alone {
		if readOnly(line) {
			t.Errorf("readOnly(%q) = true", line)
		}
	}
	if readOnly("cat " + strings.Repeat("a ", 40<<10)) {
		t.Error("an oversized line is safe")
	}
}

func TestWhichFilesALineShows(t *testing.T) {
	tests := map[string]string{
		"cat a":                       "a",
		"cat -n a b":                  "a b",
		"cat -- a":                    "a",
		"head -n 3 a":                 "a",
		"head -3 a":                   "a",
		"tail -c 3 a":                 "a",
		"nl a":                        "a",
		"sed -n 1,3p a":               "a",
		"sed -n '2p;5,$p' a b":        "a b",
		"sed -n -i 1p a":              "",
		"sed -n 1,3p -i a":            "",
		"sed -n 's/x/y/p' a":          "",
		"sed -n 1w a":                 "",
		"sed 1p a":                    "",
		"cat a && cat b":              "a b",
		"cat a; echo; cat b":          "a b",
		"cat a\ncat b":                "a b",
		"cat a || cat b":              "a",
		"cat a | grep x":              "",
		"grep x | cat a":              "a",
		"cat a > b":                   "",
		"cat a 2>/dev/null":           "a",
		"cat a >&2":                   "",
		"cat a &":                     "",
		"if true; then cat a; fi":     "",
		"for f in a; do cat $f; done": "",
		"for f in a; do cat b; done":  "",
		"cat $F":                      "",
		"cat *.go":                    "",
		"cd src && cat a":             "src/a",
		"cd src; cd ..; cat a":        "src/../a",
		"(cd src; cat a); cat b":      "src/a b",
		"cd $X; cat a":                "",
		"cd -; cat a":                 "",
		"bash -c 'cat a; cat b'":      "a b",
		"cd src && sh -c 'cat a'":     "src/a",
		"bash -c \"bash -c 'cat a'\"": "a",
		"bash -lc 'cat a'":            "",
		"sudo cat a":                  "",
		"env cat a":                   "",
		"xargs cat a":                 "",
		"eval x; cat a":               "",
		"{ cat a; }":                  "a",
		"{ cat a; } > b":              "",
		"cat a $(cat b)":              "",
		"echo cat a":                  "",
		"cat 'a":                      "",
		"! cat a":                     "",
		"less a":                      "",
	}
	for line, want := range tests {
		var got []string
		for _, f := range shownFiles(line, ".", 0) {
			got = append(got, strings.TrimPrefix(filepath.ToSlash(f), "./"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("shownFiles(%q) = %q, want %q", line, got, want)
		}
	}
}

// A file that a command showed can be edited; one that it only may have shown
// cannot.
func TestAFileThatAShellShowedCanBeEdited(t *testing.T) {
	for line, want := range map[string]bool{"cd src && cat a.txt": true, "cat src/a.txt | true": false, "cat src/a.txt; false": false} {
		for _, tracked := range []bool{true, false} {
			b := newBench(t, map[string]string{"src/a.txt": "one\n"}, func(o *Options) { o.Behavior.TrackShellReads = tracked })
			b.call("shell", args{"command": line})
			r := b.call("edit", args{"path": "src/a.txt", "old_string": "one", "new_string": "two"})
			if got := !r.IsError; got != (want && tracked) {
				t.Errorf("after %q, tracked %v: the edit ran: %v (%s)", line, tracked, got, r.Text)
			}
		}
	}
}
