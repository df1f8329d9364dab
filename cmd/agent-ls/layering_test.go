package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "agent-ls"

// layer is one row of the table in ARCHITECTURE.md.
type layer struct {
	pkg       string
	forbidden []string
	stdOnly   bool
}

// TestLayering holds the layering table against the imports of the code.
func TestLayering(t *testing.T) {
	layers := readLayers(t)
	if len(layers) < 15 {
		t.Fatalf("ARCHITECTURE.md has %d layering rows, want the whole table", len(layers))
	}
	deps := goDeps(t)
	for _, l := range layers {
		path := module + "/" + l.pkg
		found, ok := deps[path]
		if !ok {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", l.pkg)
			continue
		}
		for _, dep := range found {
			if l.stdOnly && strings.Contains(strings.Split(dep, "/")[0], ".") {
				t.Errorf("%s imports %s, which is outside the standard library", l.pkg, dep)
			}
			if l.stdOnly && strings.HasPrefix(dep, module+"/") && !strings.HasPrefix(dep, path) {
				t.Errorf("%s imports %s", l.pkg, dep)
			}
			for _, f := range l.forbidden {
				if dep == f || dep == module+"/"+f || strings.HasPrefix(dep, module+"/"+f+"/") || strings.HasPrefix(dep, f+"/") {
					t.Errorf("%s must not import %s", l.pkg, dep)
				}
			}
		}
	}
}

// TestOnlyImporters: some libraries have one room in the house.
func TestOnlyImporters(t *testing.T) {
	for library, allowed := range map[string][]string{
		"github.com/risor-io/risor": {"hooks/script"},
		"github.com/spf13/viper":    {"loop/manifest"},
		"github.com/spf13/cobra":    {"cmd/agent-ls"},
		"modernc.org/sqlite":        {"loop/journal", "loop/trust"},
	} {
		out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", module+"/...").Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			pkg, imports, _ := strings.Cut(line, " ")
			pkg = strings.TrimPrefix(pkg, module+"/")
			for _, dep := range strings.Fields(imports) {
				if (dep == library || strings.HasPrefix(dep, library+"/")) && !slices.Contains(allowed, pkg) {
					t.Errorf("%s imports %s; only %v may", pkg, dep, allowed)
				}
			}
		}
	}
}

// TestCoreHasNoClock: package loop is a pure function of what it is told.
func TestCoreHasNoClock(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{range .GoFiles}}{{$.Dir}}/{{.}}\n{{end}}", module+"/loop").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	impure := regexp.MustCompile(`\btime\.(Now|Since|After|NewTimer|Sleep)\b|\bgo func\b|\brand\.`)
	for _, file := range strings.Fields(string(out)) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if at := impure.Find(text); at != nil {
			t.Errorf("%s uses %s", file, at)
		}
	}
}

func readLayers(t *testing.T) []layer {
	t.Helper()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "<!-- layering:")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no layering table")
	}
	names := regexp.MustCompile("`([^`]+)`")
	var layers []layer
	for _, line := range strings.Split(table, "\n")[3:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		found := names.FindAllStringSubmatch(cells[0], -1)
		if len(cells) != 2 || len(found) != 1 {
			t.Fatalf("layering row %q: want a package and what it must not import", line)
		}
		l := layer{pkg: found[0][1], stdOnly: strings.Contains(cells[1], "outside the standard library")}
		if !l.stdOnly {
			for _, m := range names.FindAllStringSubmatch(cells[1], -1) {
				if m[1] != "time.Now" { // TestCoreHasNoClock
					l.forbidden = append(l.forbidden, m[1])
				}
			}
		}
		layers = append(layers, l)
	}
	return layers
}

// goDeps lists what each package of the module imports: of others' packages
// the direct imports only, of our own everything below.
func goDeps(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	direct := map[string][]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		direct[pkg.ImportPath] = pkg.Imports
	}
	all := map[string][]string{}
	for pkg := range direct {
		seen := map[string]bool{}
		var walk func(string)
		walk = func(p string) {
			for _, dep := range direct[p] {
				if !seen[dep] {
					seen[dep] = true
					walk(dep)
				}
			}
		}
		walk(pkg)
		for dep := range seen {
			all[pkg] = append(all[pkg], dep)
		}
	}
	return all
}
