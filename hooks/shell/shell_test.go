package shell

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// show writes commands the way that testdata does.
func show(cs []Command) string {
	var out []string
	for _, c := range cs {
		var f []string
		for _, w := range c.Words() {
			f = append(f, showWord(w))
		}
		for _, r := range c.Redirects {
			fd := ""
			if usual := map[bool]int{true: 0, false: 1}[r.Op[0] == '<']; r.FD != usual {
				fd = strconv.Itoa(r.FD)
			}
			f = append(f, "<"+fd+r.Op+" "+strings.ReplaceAll(showWord(r.Target), "\n", "␤")+">")
		}
		if len(f) > 0 { // only assignments: no command
			out = append(out, strings.Join(f, " "))
		}
	}
	return strings.Join(out, " ; ")
}

func showWord(w Word) string {
	if !w.Known {
		return "?"
	}
	return w.Text
}

func TestCommands(t *testing.T) {
	for _, file := range []string{"testdata/commands.txt", "testdata/more.txt", "testdata/hidden.txt", "testdata/starters.txt"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range strings.Split(string(data), "\n") {
			if l == "" || strings.HasPrefix(l, "#") {
				continue
			}
			line, want, ok := strings.Cut(l, " =>")
			if !ok {
				t.Fatalf("%s:%d: no arrow", file, i+1)
			}
			line = strings.ReplaceAll(line, "␤", "\n")
			if got := show(Commands(line)); got != strings.TrimSpace(want) {
				t.Errorf("%s:%d: Commands(%q)\n got %s\nwant %s", file, i+1, line, got, want)
			}
		}
	}
}

func TestAssignsAndThrough(t *testing.T) {
	cs := Commands(`PATH=/tmp:$PATH A=1 sudo env B=2 C+=x rm y`)
	if len(cs) != 3 {
		t.Fatalf("got %d commands: %s", len(cs), show(cs))
	}
	if a := cs[0].Assigns; len(a) != 2 || a[0].Name != "PATH" || a[0].Value.Known || a[1].Value.Text != "1" {
		t.Errorf("assigns of the first = %+v", a)
	}
	if c := cs[2]; c.Base() != "rm" || strings.Join(c.Through, " ") != "sudo env" || len(c.Assigns) != 2 || c.Assigns[0].Name != "B" {
		t.Errorf("innermost = %+v", c)
	}
	if c := Commands("X=1"); len(c) != 1 || !c[0].Name.Known || c[0].Name.Text != "" || len(c[0].Assigns) != 1 {
		t.Errorf("assignment alone = %+v", c)
	}
}

// What a loop sets is set as by an assignment.
func TestLoopsAndExpansionsAssign(t *testing.T) {
	for line, want := range map[string]string{
		"for PATH in ./bin; do ls; done":                   "PATH=./bin",
		"for HOME in h {i,j} $k; do git status; done":      "HOME=h HOME=i HOME=j HOME=?",
		"for x; do a; done":                                "x=?",
		"select PATH in ./bin; do ls; done":                "PATH=./bin",
		`a() { for PATH in "b"; do :; done; }`:             "PATH=b",
		"echo ${CDPATH:=/tmp} \"${LESSOPEN=a$b}\" ${c:-d}": "CDPATH=/tmp LESSOPEN=?",
		"coproc PATH { a; }":                               "PATH=?",
		"ls {PATH}>x; ls 3>y":                              "PATH=?",
		"for ((;;)); do A=1; done":                         "A=1",
	} {
		var got []string
		for _, c := range Commands(line) {
			for _, a := range c.Assigns {
				got = append(got, a.Name+"="+showWord(a.Value))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Commands(%q) assigns %q, want %q", line, got, want)
		}
	}
}

// Lines that would take the parser's stack with them come back as unknown.
func TestHostileLines(t *testing.T) {
	old := debug.SetMaxStack(64 << 20)
	defer debug.SetMaxStack(old)
	many := func(s string) string { return strings.Repeat(s, MaxLine/len(s)-40) }
	for _, line := range []string{
		many("("), many("{ "), many("$("), many("`"), many("! "), many("if "), many("while "), many("$(("), "((" + many("-"), "((" + many("a?b:") + "c))",
		"((" + many("a=") + "1))", "echo $((" + many("1+") + "1))", many("a|") + "a", many("a&&") + "a", many("a;"), many("${a:-"), many("f()"), many("time "), many("<("),
		many("case x in a) "), "[[ " + many("! "), many("[[ "), many("sudo "), many("{a,b}"), many("\"$("), many("coproc "), many("a[") + "=1", "let " + many("-") + "1", many("$["),
		"if a; then b; " + many("elif a; then b; "), many("@("), "eval " + many("eval "), many("\\"), many("'"), many("<<a "), many("x <<a\n"), many("a[a["), "x=(" + many("[1]=2 "), many("function f "),
		many("sh -c '"), strings.Repeat("x", MaxLine+1), "a\x00b", many("${a["), many("declare -a a=(") + "1", many("env -S '"),
	} {
		start := time.Now()
		cs := Commands(line)
		if len(cs) > MaxCommands+1 {
			t.Errorf("%.20q: %d commands", line, len(cs))
		}
		if d := time.Since(start); d > 30*time.Second { // no measure: work that explodes takes hours
			t.Errorf("%.20q took %v", line, d)
		}
	}
	if cs := Commands(strings.Repeat("(", 5000)); len(cs) != 1 || cs[0].Name.Known {
		t.Errorf("nested brackets = %+v, want one unknown command", cs)
	}
}

func FuzzCommands(f *testing.F) {
	for _, s := range []string{"a", "a | b > c", "$(x)", "sh -c 'a b'", "find . -exec rm {} ;", "a <<E\nx\nE\n", "env -S 'a b' c", "{a,b{c,d}} $'\\x41'", "xargs -I{} rm {}", "su -c x", "timeout 5 rm", "(( a = 1 ))"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		cs := Commands(line)
		for _, c := range cs {
			if !c.Name.Known && c.Name.Text != "" {
				t.Errorf("Commands(%q): text %q of a word that is not known", line, c.Name.Text)
			}
			for _, r := range c.Redirects {
				if r.Op == "" {
					t.Errorf("Commands(%q): redirect without operator", line)
				}
			}
		}
		if again := show(Commands(line)); again != show(cs) {
			t.Errorf("Commands(%q) differs from one call to the next", line)
		}
	})
}
