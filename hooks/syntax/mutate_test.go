package syntax_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"agent-ls/hooks/syntax"
)

// pieces are what the random programs are put together from.
var pieces = strings.Fields(`x y f ctx . . ( ( ) ) [ ] { } , ; : := = += ++ + - * / == != && || ! ? | in range if else for func return
 switch case default break var const import from as true nil 1 2.5 "s" 's' '{x}' <- go defer < > %`)

// On random programs that are nearly right, whatever Risor refuses is refused.
func TestRefusesWhatRisorRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	lines := strings.Split(strings.TrimSpace(agreement), "\n")
	looser, stricter := 0, 0
	for range 10_000 {
		words := strings.Fields(lines[r.IntN(len(lines))])
		for range 1 + r.IntN(3) {
			i := 0
			if len(words) > 0 {
				i = r.IntN(len(words))
			}
			switch r.IntN(4) {
			case 0:
				words = append(words[:i:i], append([]string{pieces[r.IntN(len(pieces))]}, words[i:]...)...)
			case 1:
				if len(words) > 0 {
					words = append(words[:i:i], words[i+1:]...)
				}
			case 2:
				if len(words) > 0 {
					words[i] = pieces[r.IntN(len(pieces))]
				}
			case 3:
				words = append(words[:i:i], append([]string{"⏎"}, words[i:]...)...)
			}
		}
		src := strings.ReplaceAll(strings.Join(words, " "), "⏎", "\n")
		want, why := risorAccepts(src)
		got, msg := accepts(src)
		switch {
		case got && !want:
			if looser++; looser < 10 {
				t.Errorf("accepted, Risor says %s:\n%s", why, src)
			}
		case want && !got:
			if stricter++; testing.Verbose() && stricter < 40 {
				t.Logf("refused (%s), Risor accepts:\n%s", msg, src)
			}
		}
	}
	if stricter > 150 {
		t.Errorf("refused %d of 10,000 that Risor accepts, want only the few odd ones that the package lists", stricter)
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range strings.Split(strings.TrimSpace(agreement), "\n") {
		f.Add(strings.ReplaceAll(line, `⏎`, "\n"))
	}
	for _, s := range []string{"\ufefffunc f() {}", "a\rb\r\nc", "\x00", "'{'{x}'}'", strings.Repeat("(", 400), strings.Repeat("if x {", 300), "a" + strings.Repeat(".b", 1200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		tree := syntax.Parse([]byte(src))
		for _, e := range tree.Errors {
			if e.Start < 0 || e.Start > e.End || e.End > len(src) || e.Message == "" {
				t.Fatalf("error %+v lies outside of %d bytes or says nothing", e, len(src))
			}
			tree.Lines.Position(e.Start)
		}
		for _, s := range tree.Statements {
			syntax.Inspect(s, func(n syntax.Node) bool {
				if p := n.Pos(); p.Start < 0 || p.Start > p.End || p.End > len(src) {
					t.Fatalf("%T %+v lies outside of %d bytes", n, p, len(src))
				}
				return true
			})
		}
		if len(tree.Errors) > 0 || len(src) > 10_000 {
			return // Risor's parser is not safe with what is refused
		}
		if ok, why := risorAccepts(src); !ok {
			t.Fatalf("accepted %q, Risor says %s", src, why)
		}
	})
}
