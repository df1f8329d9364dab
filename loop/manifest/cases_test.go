package manifest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agent-ls/hooks/check"
)

// The cases are whole workspaces. A comment `#! code "text" words` says that
// the line has a finding of that code on exactly that text, with a message
// that has those words; `#^` says it of the line before. Lines without one
// have no finding. Besides files, a case may have: env (a variable a line),
// client.json, flags.json, show (paths with what they come to and where that
// is from), other (findings without a file).
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		for _, ends := range []string{"\n", "\r\n"} {
			name := strings.TrimSuffix(filepath.Base(path), ".txtar")
			if ends != "\n" {
				name += "_crlf"
			}
			t.Run(name, func(t *testing.T) { runCase(t, path, ends) })
		}
	}
}

func runCase(t *testing.T, path, ends string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	s := Sources{Root: filepath.Join(root, "ws"), UserConfig: filepath.Join(root, "user", "config.toml"), OrgPolicy: filepath.Join(root, "org", "policy.toml"), Environ: []string{}}
	texts := map[string]string{}
	var show, other string
	for _, f := range archive.Files {
		text := string(f.Data)
		switch f.Name {
		case "env":
			s.Environ = strings.Split(strings.TrimSpace(text), "\n")
		case "client.json":
			must(t, json.Unmarshal(f.Data, &s.Client))
		case "flags.json":
			must(t, json.Unmarshal(f.Data, &s.Flags))
		case "show":
			show = text
		case "other":
			other = text
		default:
			text = strings.ReplaceAll(text, "\n", ends)
			full := filepath.Join(root, filepath.FromSlash(f.Name))
			must(t, os.MkdirAll(filepath.Dir(full), 0o755))
			if target, ok := strings.CutPrefix(strings.TrimSpace(text), "symlink "); ok {
				if err := os.Symlink(target, full); err != nil {
					t.Skip("no symlinks here")
				}
				continue
			}
			must(t, os.WriteFile(full, []byte(text), 0o644))
			texts[full] = text
		}
	}
	cfg, found := Load(context.Background(), s)
	compareFindings(t, root, texts, found, other)
	compareShown(t, root, cfg, show)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var marker = regexp.MustCompile(`(!|\^) ([a-z-]+) "((?:[^"\\]|\\.)*)"([^#]*)`)

type expected struct{ where, code, span, words string }

func compareFindings(t *testing.T, root string, texts map[string]string, found []check.Finding, other string) {
	t.Helper()
	var want []expected
	for full, text := range texts {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			at := strings.Index(line, "#!")
			if up := strings.Index(line, "#^"); at < 0 || up >= 0 && up < at {
				at = up
			}
			if at < 0 {
				continue
			}
			for _, m := range marker.FindAllStringSubmatch(line[at:], -1) {
				n := i + 1
				if m[1] == "^" {
					n = i
				}
				span, err := unquote(m[3])
				must(t, err)
				want = append(want, expected{fmt.Sprintf("%s:%d", short(root, full), n), m[2], span, strings.TrimSpace(m[4])})
			}
		}
	}
	var got []expected
	var rest []string
	for _, f := range found {
		text, ok := texts[f.Path]
		if !ok {
			rest = append(rest, fmt.Sprintf("%s: %s: %s", f.Path, f.Code, f.Message))
			continue
		}
		if f.Span.Start < 0 || f.Span.End > len(text) || f.Span.Start > f.Span.End {
			t.Fatalf("span %v of %q is outside the text", f.Span, f.Message)
		}
		for _, fix := range f.Fixes {
			for _, e := range fix.Edits {
				if e.Span.Start < 0 || e.Span.End > len(text) || e.NewText == "" {
					t.Errorf("fix %q edits %v", fix.Title, e)
				}
			}
		}
		line := fmt.Sprintf("%s:%d", short(root, f.Path), lineOf([]byte(text), f.Span.Start))
		got = append(got, expected{line, string(f.Code), text[f.Span.Start:f.Span.End], f.Message})
	}
	byPlace := func(list []expected) {
		sort.SliceStable(list, func(i, j int) bool {
			a, b := list[i], list[j]
			return a.where+a.code+a.span < b.where+b.code+b.span
		})
	}
	byPlace(want)
	byPlace(got)
	for i := range want {
		if i < len(got) && want[i].words != "" && strings.Contains(strings.ReplaceAll(got[i].words, root, "ROOT"), want[i].words) {
			got[i].words = want[i].words
		}
		if i < len(got) && want[i].words == "" {
			got[i].words = ""
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(expected{})); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	sort.Strings(rest)
	if got := strings.Join(rest, "\n"); got != strings.TrimSpace(other) {
		t.Errorf("findings without a file:\n%s\nwant:\n%s", got, other)
	}
}

func unquote(s string) (string, error) {
	return strings.ReplaceAll(strings.ReplaceAll(s, `\"`, `"`), `\\`, `\`), nil
}

func short(root, path string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// compareShown prints the paths that the case asks for, as config show does.
func compareShown(t *testing.T, root string, cfg *Config, show string) {
	t.Helper()
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(show), "\n") {
		name, _, _ := strings.Cut(line, " = ")
		if name == "" {
			continue
		}
		o, ok := cfg.Origins[name]
		if !ok {
			got = append(got, name+" = nothing")
			continue
		}
		from := o.Layer
		if o.Path != "" {
			from += fmt.Sprintf(" %s:%d", short(root, o.Path), o.Line)
		}
		got = append(got, fmt.Sprintf("%s = %v (%s)", name, o.Value, from))
	}
	if diff := cmp.Diff(strings.TrimSpace(show), strings.Join(got, "\n")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
