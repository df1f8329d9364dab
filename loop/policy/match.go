package policy

import (
	"strings"

	"agent-ls/hooks/shell"
)

// wordMatch matches one word; a star stands for any text.
func wordMatch(pattern, word string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == word
	}
	if !strings.HasPrefix(word, first) {
		return false
	}
	word = word[len(first):]
	for {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(word, part)
		}
		i := strings.Index(word, part)
		if i < 0 {
			return false
		}
		word, rest = word[i+len(part):], more
	}
}

// wordsMatch matches words in order; a star by itself stands for any number
// of words, none included.
func wordsMatch(pattern, words []string) bool {
	// reach[j]: the pattern so far can end before word j.
	reach := make([]bool, len(words)+1)
	reach[0] = true
	for _, p := range pattern {
		next := make([]bool, len(words)+1)
		for j, ok := range reach {
			switch {
			case !ok:
			case p == "*":
				for k := j; k <= len(words); k++ {
					next[k] = true
				}
			case j < len(words) && wordMatch(p, words[j]):
				next[j+1] = true
			}
		}
		reach = next
	}
	return reach[len(words)]
}

// chance is how sure a match is.
type chance uint8

const (
	no chance = iota
	maybe
	yes
)

// strict matches a command against the pattern of a deny or ask rule: by base
// name without case, however it is reached; options in any place and order;
// with or without more words at the end. A word that is not known may be
// anything.
func strict(pattern []string, c shell.Command) chance {
	if len(pattern) == 0 {
		return no
	}
	if !c.Name.Known {
		return maybe
	}
	name := strings.ToLower(c.Base())
	want := strings.ToLower(pattern[0])
	want = want[strings.LastIndexByte(want, '/')+1:]
	if !wordMatch(want, name) && !wordMatch(want, strings.TrimSuffix(name, ".exe")) {
		return no
	}
	var known []string
	unknown := false
	for _, a := range c.Args {
		if a.Known {
			known = append(known, a.Text)
		} else {
			unknown = true
		}
	}
	if argsMatch(pattern[1:], known) || argsMatch(pattern[1:], withoutGlobals(name, known)) {
		return yes
	}
	if unknown {
		return maybe
	}
	return no
}

// argsMatch holds the options of a pattern against all options, and its other
// words, in order, against the other words.
func argsMatch(pattern, args []string) bool {
	var wantOptions, wantWords []string
	for _, p := range pattern {
		if len(p) > 1 && p[0] == '-' {
			wantOptions = append(wantOptions, p)
		} else {
			wantWords = append(wantWords, p)
		}
	}
	var words []string
	letters := map[rune]bool{}
	plain := false
	for _, a := range args {
		switch {
		case len(a) < 2 || a[0] != '-' || plain:
			words = append(words, a)
		case a == "--":
			plain = true
		case a[1] != '-':
			for _, l := range a[1:] {
				letters[l] = true
			}
		}
	}
	for _, o := range wantOptions {
		if !hasOption(o, args, letters) {
			return false
		}
	}
	return wordsMatch(append(wantWords, "*"), words)
}

// hasOption finds an option however it is written: with its value attached,
// shortened, or among other letters.
func hasOption(option string, args []string, letters map[rune]bool) bool {
	for _, a := range args {
		key, _, _ := strings.Cut(a, "=")
		switch {
		case wordMatch(option, a), wordMatch(option, key):
			return true
		case strings.HasPrefix(option, "--") && len(key) > 4 && strings.HasPrefix(key, "--") && strings.HasPrefix(option, key):
			return true
		}
	}
	if strings.HasPrefix(option, "--") {
		return false
	}
	for _, l := range option[1:] {
		if !letters[l] {
			return false
		}
	}
	return true
}

// globals are the options that a command takes before its subcommand, with
// whether the next word is their value.
var globals = map[string]map[string]bool{
	"git":       {"-C": true, "-c": true, "--git-dir": true, "--work-tree": true, "--namespace": true, "--config-env": true, "--exec-path": false, "--super-prefix": true},
	"docker":    {"-H": true, "--host": true, "-c": true, "--context": true, "--config": true, "-l": true, "--log-level": true},
	"podman":    {"-c": true, "--connection": true, "--url": true, "--root": true},
	"kubectl":   {"-n": true, "--namespace": true, "--context": true, "--kubeconfig": true, "-s": true, "--server": true},
	"npm":       {"--prefix": true, "-C": true, "-w": true, "--workspace": true},
	"pnpm":      {"-C": true, "--dir": true, "--filter": true, "-F": true},
	"yarn":      {"--cwd": true},
	"go":        {"-C": true},
	"make":      {"-C": true, "-f": true},
	"cargo":     {"-C": true, "-Z": true, "--config": true, "--color": true},
	"gh":        {"-R": true, "--repo": true},
	"terraform": {"-chdir": false},
}

// withoutGlobals drops the options before a subcommand.
func withoutGlobals(name string, args []string) []string {
	values, ok := globals[name]
	if !ok {
		return args
	}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if values[args[0]] && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	return args
}
