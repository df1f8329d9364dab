package trust

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"agent-ls/hooks/lazyexp"
)

// expansion is what a shell puts another text for: $(…), `…`, ${…}, $NAME and
// the special parameters. Nested ones are replaced from the inside out.
var (
	expansion  = lazyexp.New("\\$\\([^()`]*\\)|`[^`]*`|\\$\\{[^{}]*\\}|\\$[A-Za-z_][A-Za-z0-9_]*|\\$[0-9?#@*!$-]")
	arithmetic = lazyexp.New(`\$\(\([^()]*\)\)`)
	special    = lazyexp.New(`^\$\{?[0-9?#@*!$-]\}?$`)
	here       = lazyexp.New(`^(\$\{?PWD\}?|\$\(\s*(pwd|git rev-parse --show-toplevel)\s*\)|` + "`\\s*(pwd|git rev-parse --show-toplevel)\\s*`)$")
	variable   = lazyexp.New(`^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$`)
	shellText  = lazyexp.New(`\b(ba|da|z|k)?sh\b.*\s-[a-z]*c\b|\b(eval|trap|watch|parallel|ssh|su|script|flock|entr|watchexec)\b|\benv\b.*\s-[a-z]*S`)
	between    = lazyexp.New(`[;|&(){}\n]+`)
)

// unseen stands for a part of a word that only a running shell knows.
const unseen = "\x01"

// maxExpansions bounds what is looked up in one text.
const maxExpansions = 256

// inert are commands that neither run nor read what their arguments name.
var inert = []string{"echo", "printf", "test", "[", "[[", "exit", "return", "grep", "jq", "sleep", "kill", "shift", "read", "true", "false", ":", "export", "local", "unset", "set"}

// opened is a text with a mark for each part that only a shell knows. What is
// known of it by now is put in its place.
func opened(text string, known func(string) (string, bool)) string {
	text = arithmetic.ReplaceAllString(text, "0")
	for range 16 {
		next := expansion.ReplaceAllStringFunc(text, func(e string) string {
			if v, ok := known(e); ok {
				return v
			}
			return unseen
		})
		if next == text {
			break
		}
		text = next
	}
	// What is left is nested in a way that is not read here.
	return strings.NewReplacer("$(", unseen+" ", "${", unseen+" ", "`", unseen).Replace(text)
}

// known gives the value of an expansion that is the same in each run: the
// folder that commands run in, and what the environment holds, unless the
// command sets it by itself. Special parameters name no file of their own.
func (i Item) known(text string) func(string) (string, bool) {
	return func(e string) (string, bool) {
		if here.MatchString(e) {
			return ".", true
		}
		if special.MatchString(e) {
			return "", true
		}
		m := variable.FindStringSubmatch(e)
		if m == nil {
			return "", false
		}
		name := m[1]
		if v, ok := i.Env[name]; ok && !expansion.MatchString(v) {
			return v, true
		}
		set := regexp.MustCompile(`(?:^|[^A-Za-z0-9_$])(` + name + `)(\+?=|\b)("[^"$` + "`" + `]*"|'[^']*'|[^\s"'$;&|()` + "`" + `]*)`)
		sets := set.FindAllStringSubmatch(strings.ReplaceAll(text, "${", "$"), -1)
		switch {
		case len(sets) == 1 && sets[0][2] == "=":
			if v := strings.Trim(sets[0][3], `"'`); v != "" {
				return v, true
			}
			return "", false
		case len(sets) > 0:
			return "", false
		}
		v, ok := os.LookupEnv(name)
		return v, ok && !strings.ContainsAny(v, "$`")
	}
}

// texts are the texts of the entry in which a shell may replace something.
func (i Item) texts() []string {
	out := append([]string{}, i.Argv...)
	if i.Line != "" {
		out = append(out, i.Line)
	}
	for _, v := range i.Env {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// openWords are the words with a part that only a shell knows, and each word
// that the known values make.
func (i Item) openWords() (words []string, open []openWord) {
	for _, text := range i.texts() {
		if strings.Count(text, "$")+strings.Count(text, "`") > maxExpansions {
			return nil, []openWord{{fmt.Sprintf("a text with more than %d variables", maxExpansions)}}
		}
		nothing := func(string) (string, bool) { return "", false }
		blind := opened(text, nothing)
		if blind == text && !strings.ContainsAny(text, "*?[") {
			continue
		}
		for _, w := range apart.Split(blind, -1) {
			words = append(words, candidates(w)...)
		}
		all := slices.Contains(i.Argv, text) && !shellText.MatchString(strings.Join(i.Argv, " "))
		if !shellText.MatchString(text) {
			text = withoutQuoted(text, all)
		}
		seen := opened(text, i.known(text))
		for _, segment := range between.Split(seen, -1) {
			fields := strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(segment))
			for n, w := range fields {
				words = append(words, candidates(w)...)
				_, value, assigns := strings.Cut(w, "=")
				if !assigns {
					value = w
				}
				lone := strings.Trim(value, unseen) == ""
				switch {
				case !strings.Contains(w, unseen):
				case lone && (assigns || slices.Contains(inert, fields[0]) || n > 0 && strings.HasSuffix(fields[n-1], "<<<")):
				case !strings.Contains(w, "/") && slices.Contains(inert, fields[0]):
				default:
					open = append(open, openWord{w})
				}
			}
		}
	}
	return words, open
}

type openWord struct{ text string }

// error says why the entry cannot be known.
func (w openWord) error(name string) error {
	return fmt.Errorf("what the command of %s runs cannot be known: %q depends on what only a running shell knows; write the path of the file in its place", name, strings.ReplaceAll(w.text, unseen, "$…"))
}

// candidates are the paths that a word with unseen parts may name: with the
// working folder in their place, and what stands between them.
func candidates(w string) []string {
	if !strings.Contains(w, unseen) {
		return []string{w}
	}
	if strings.Trim(w, unseen) == "" {
		return nil
	}
	out := []string{strings.ReplaceAll(w, unseen, "./")}
	for _, part := range strings.Split(w, unseen) {
		for _, p := range append([]string{part}, apart.Split(part, -1)...) {
			if p = strings.TrimLeft(p, "/"); p != "" && p != "." {
				out = append(out, p)
			}
		}
	}
	return out
}

// withoutQuoted leaves out what stands in single quotes, which no shell
// replaces anything in; everything, where no shell reads the text.
func withoutQuoted(text string, all bool) string {
	if all {
		return ""
	}
	var b strings.Builder
	double, single := false, false
	for n := 0; n < len(text); n++ {
		switch c := text[n]; {
		case c == '\\' && !single && n+1 < len(text):
			n++
			if text[n] != '$' && text[n] != '`' && text[n] != '"' {
				b.WriteByte(text[n])
			}
			continue
		case c == '"' && !single:
			double = !double
		case c == '\'' && !double:
			single = !single
			continue
		}
		if !single {
			b.WriteByte(text[n])
		}
	}
	if single {
		return text // it is not closed: a shell does not run this
	}
	return b.String()
}
