package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks/syntax"
)

// marked reads the comments `//! code code` of a script: the codes by line.
func marked(text string) map[int][]string {
	want := map[int][]string{}
	for i, line := range strings.Split(text, "\n") {
		if _, codes, ok := strings.Cut(line, "//! "); ok {
			want[i+1] = strings.Fields(codes)
			slices.Sort(want[i+1])
		}
	}
	return want
}

// found gives the codes by line; hints and information only where the line is
// marked with them.
func found(a *Analysis, want map[int][]string) map[int][]string {
	got := map[int][]string{}
	for _, f := range a.Findings {
		line := a.Tree.Lines.Position(f.Span.Start).Line
		if f.Severity > Warning && !slices.Contains(want[line], string(f.Code)) {
			continue
		}
		got[line] = append(got[line], string(f.Code))
	}
	for _, codes := range got {
		slices.Sort(codes)
	}
	return got
}

func testFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.risor"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	return files
}

// variants are the same script with other line ends and other characters.
func variants(text string) map[string]string {
	astral := strings.Split(text, "\n")
	for i, line := range astral {
		// before the first word of the line, where a comment may stand
		body := strings.TrimLeft(line, " \t")
		if body != "" && !strings.HasPrefix(body, "/") {
			astral[i] = line[:len(line)-len(body)] + "/* 𝒳é */ " + body
		}
	}
	return map[string]string{
		"LF":     text,
		"CRLF":   strings.ReplaceAll(text, "\n", "\r\n"),
		"CR":     strings.ReplaceAll(text, "\n", "\r"),
		"mark":   "\ufeff" + text,
		"astral": strings.Join(astral, "\n"),
	}
}

func TestMarkers(t *testing.T) {
	for _, file := range testFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := marked(string(text))
		for name, v := range variants(string(text)) {
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				a := Analyze(file, []byte(v), Options{})
				if d := cmp.Diff(want, found(a, want)); d != "" {
					t.Errorf("codes by line (-want +got):\n%s", d)
					for _, f := range a.Findings {
						t.Log(show(a, f))
					}
				}
			})
		}
	}
}

func show(a *Analysis, f Finding) string {
	p := a.Tree.Lines.Position(f.Span.Start)
	return fmt.Sprintf("%d:%d: %s: %s [%s]", p.Line, p.Column, f.Severity, f.Message, f.Code)
}

// Every fix makes its finding go away and makes no error that was not there.
func TestFixes(t *testing.T) {
	for _, file := range testFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range variants(string(text)) {
			a := Analyze(file, []byte(v), Options{})
			for _, f := range a.Findings {
				for _, fix := range f.Fixes {
					fixed := apply(v, fix.Edits)
					after := Analyze(file, []byte(fixed), Options{})
					if n, m := count(a, f), count(after, f); m >= n {
						t.Errorf("%s %s: %s: the fix %q leaves %d of %d such findings", file, name, show(a, f), fix.Title, m, n)
					}
					if n, m := errorCount(a), errorCount(after); m > n {
						t.Errorf("%s %s: %s: the fix %q makes errors: %d, were %d", file, name, show(a, f), fix.Title, m, n)
					}
				}
			}
		}
	}
}

func apply(text string, edits []Edit) string {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b Edit) int { return b.Span.Start - a.Span.Start })
	for _, e := range edits {
		text = text[:e.Span.Start] + e.NewText + text[e.Span.End:]
	}
	return text
}

func count(a *Analysis, like Finding) int {
	n := 0
	for _, f := range a.Findings {
		if f.Code == like.Code {
			n++
		}
	}
	return n
}

func errorCount(a *Analysis) int {
	n := 0
	for _, f := range a.Findings {
		if f.Severity == Error {
			n++
		}
	}
	return n
}

// The tree of a script with an error is still read by Risor's rules.
func TestLinesAgree(t *testing.T) {
	text := "a\r\nb\rc\n"
	if got := syntax.NewLines(text).Count(); got != 4 {
		t.Errorf("%d lines, want 4", got)
	}
}
