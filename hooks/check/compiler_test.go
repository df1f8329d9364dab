package check

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/risor-io/risor/compiler"
	"github.com/risor-io/risor/parser"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/syntax"
)

// compiles asks Risor's own compiler, with the names of the script library.
func compiles(src string) (ok bool, why string) {
	defer func() {
		if r := recover(); r != nil {
			ok, why = false, "panic"
		}
	}()
	p, err := parser.Parse(context.Background(), src)
	if err != nil {
		return false, err.Error()
	}
	own := map[string]bool{}
	for _, s := range syntax.Parse([]byte(src)).Statements {
		switch s := s.(type) {
		case *syntax.Declare:
			for _, n := range s.Names {
				own[n.Name] = true
			}
		default:
			if name, _ := topFunction(s); name != nil {
				own[name.Name] = true
			}
		}
	}
	var globals []string
	for _, n := range contract.Library().Names() {
		if !own[n] {
			globals = append(globals, n)
		}
	}
	if _, err := compiler.Compile(p, compiler.WithGlobalNames(globals)); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// compileErrors are the findings that say that a script does not compile.
func compileErrors(src string) []string {
	a := Analyze("x.risor", []byte(src), Options{})
	var list []string
	for _, f := range a.Findings {
		switch f.Code {
		case CodeSyntax, CodeUndefined, CodeUnavailable:
			if f.Code == CodeUndefined && strings.Contains(f.Message, " has no ") || strings.Contains(f.Message, ".sleep") || strings.Contains(f.Message, "filepath.") ||
				strings.Contains(f.Message, "imported") || strings.HasPrefix(f.Message, "go ") || strings.HasPrefix(f.Message, "<-") ||
				strings.Contains(f.Message, "further out") {
				continue // these compile, and throw at run time
			}
			list = append(list, show(a, f))
		}
	}
	return list
}

// What Risor compiles has no finding that says it does not, and the other way
// round, on scripts that are nearly right.
func TestAgreesWithRisorsCompiler(t *testing.T) {
	var sources []string
	for _, f := range testFiles(t) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, string(b))
		if ok, why := compiles(string(b)); ok != (len(compileErrors(string(b))) == 0) {
			t.Errorf("%s: compiles %v (%s), findings %v", f, ok, why, compileErrors(string(b)))
		}
	}
	for _, e := range contract.Events() {
		sources = append(sources, e.Example)
	}
	r := rand.New(rand.NewPCG(3, 4))
	false1, false2 := 0, 0
	for range 1_500 {
		lines := strings.Split(sources[r.IntN(len(sources))], "\n")
		for range 1 + r.IntN(2) {
			i := r.IntN(len(lines))
			switch r.IntN(4) {
			case 0:
				lines = slices.Delete(slices.Clone(lines), i, i+1)
			case 1:
				lines = slices.Insert(slices.Clone(lines), r.IntN(len(lines)), lines[i])
			case 2:
				words := strings.Fields(lines[i])
				if len(words) > 0 {
					w := r.IntN(len(words))
					words = slices.Delete(words, w, w+1)
				}
				lines = slices.Clone(lines)
				lines[i] = strings.Join(words, " ")
			case 3:
				j := r.IntN(len(lines))
				lines = slices.Clone(lines)
				lines[i], lines[j] = lines[j], lines[i]
			}
			if len(lines) == 0 {
				lines = []string{""}
			}
		}
		src := strings.Join(lines, "\n")
		ok, why := compiles(src)
		found := compileErrors(src)
		switch {
		case ok && len(found) > 0:
			if false1++; false1 < 8 {
				t.Errorf("compiles, but: %v\n%s", found, src)
			}
		case !ok && len(found) == 0:
			if false2++; false2 < 8 {
				t.Errorf("does not compile (%s), and nothing is said:\n%s", why, src)
			}
		}
	}
}
