package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// start reads the options of a command that starts another, and then that.
// An option that is not in the table may take a value or not, so that the
// command cannot be told for certain: what it looks like is listed, and one
// command of which nothing is known.
func (r *reader) start(name string, st starter, cmd Command, s scope) {
	var (
		assigns []Assign
		replace string // xargs -I
		unsure  bool
		args    = cmd.Args
	)
options:
	for len(args) > 0 {
		a := args[0]
		if !a.Known {
			r.lost(s)
			return
		}
		t := a.Text
		switch {
		case t == "--":
			args = args[1:]
			break options
		case name == "env" && (t == "-" || strings.HasPrefix(t, "-S") || strings.HasPrefix(t, "--split-string") || strings.HasPrefix(t, "-vS")):
			var ok bool
			if args, ok = split(args); !ok {
				r.lost(s)
				return
			}
		case strings.HasPrefix(t, "--"):
			key, _, attached := strings.Cut(t[2:], "=")
			args = args[1:]
			if key == "replace" {
				replace = "{}"
				if attached {
					replace = t[len("--replace="):]
				}
			}
			switch {
			case slices.Contains(st.longs, key) || attached:
			case key == "command" && st.script != "":
				if len(args) > 0 {
					r.word(args[0], s)
				}
				return
			case slices.Contains(st.longVals, key):
				args = args[min(1, len(args)):]
			case key == "help" || key == "version":
				return
			default:
				unsure = true
			}
			if attached && key == "command" && st.script != "" {
				r.word(Word{t[len("--command="):], true}, s)
				return
			}
		case len(t) > 1 && t[0] == '-' && st.numbers && strings.Trim(t[1:], "0123456789") == "":
			args = args[1:]
		case len(t) > 1 && t[0] == '-':
			next, verdict := cluster(name, st, args, &replace)
			switch verdict {
			case ends:
				return
			case scripted:
				if len(next) > 0 {
					r.word(next[0], s)
				} else {
					r.lost(s)
				}
				return
			case puzzling:
				unsure = true
			}
			args = next
		case st.assigns && assignment(t):
			k, v, _ := strings.Cut(t, "=")
			assigns = append(assigns, Assign{Name: k, Value: Word{v, true}})
			args = args[1:]
		default:
			break options
		}
	}
	// Options may follow the operands of su, script and flock.
	if st.script != "" {
		for i, a := range args {
			if a.Known && (a.Text == "-c" || a.Text == "--command") {
				if i+1 < len(args) {
					r.word(args[i+1], s)
				}
				return
			}
		}
	}
	for n := st.skip; n > 0 && len(args) > 0; n-- {
		args = args[1:]
	}
	for st.assigns && len(args) > 0 && args[0].Known && assignment(args[0].Text) {
		k, v, _ := strings.Cut(args[0].Text, "=")
		assigns = append(assigns, Assign{Name: k, Value: Word{v, true}})
		args = args[1:]
	}
	switch {
	case name == "xargs":
		args = fromInput(args, replace)
	case name == "parallel":
		r.lost(s) // it adds words and reads more of its own
	}
	if st.joined {
		r.joined(args, s)
	} else {
		r.command(args, assigns, cmd.Redirects, s)
	}
	if unsure {
		r.lost(s)
	}
}

// fromInput adds the words that xargs reads.
func fromInput(args []Word, replace string) []Word {
	if len(args) == 0 {
		return nil
	}
	if replace == "" {
		return append(slices.Clip(args), Word{})
	}
	out := slices.Clone(args)
	for i, a := range out {
		if a.Known && strings.Contains(a.Text, replace) {
			out[i] = Word{}
		}
	}
	return out
}

type verdict uint8

const (
	goesOn   verdict = iota
	ends             // no command is started
	scripted         // the next word is a shell script
	puzzling         // an option that is not known
)

// cluster reads one word of short options and the value that may follow.
func cluster(name string, st starter, args []Word, replace *string) ([]Word, verdict) {
	letters := args[0].Text[1:]
	args = args[1:]
	sure := goesOn
	for i := 0; i < len(letters); i++ {
		c := letters[i : i+1]
		rest := letters[i+1:]
		switch {
		case strings.Contains(st.stop, c):
			return nil, ends
		case strings.Contains(st.script, c):
			if rest != "" {
				return []Word{{rest, true}}, scripted
			}
			return args, scripted
		case strings.Contains(st.optional, c):
			if name == "xargs" && c == "i" {
				*replace = "{}"
				if rest != "" {
					*replace = rest
				}
			}
			return args, sure
		case strings.Contains(st.values, c):
			if rest == "" && len(args) > 0 {
				if args[0].Known {
					rest = args[0].Text
				}
				args = args[1:]
			}
			if name == "xargs" && (c == "I" || c == "J") {
				*replace = rest
			}
			return args, sure
		case strings.Contains(st.flags, c):
		default:
			sure = puzzling
		}
	}
	return args, sure
}

// split replaces env's -S text by its words.
func split(args []Word) ([]Word, bool) {
	t := args[0].Text
	args = args[1:]
	if t == "-" {
		return args, true
	}
	text := ""
	switch {
	case strings.HasPrefix(t, "--split-string="):
		text = t[len("--split-string="):]
	case t == "--split-string" || t == "-S" || t == "-vS":
		if len(args) == 0 || !args[0].Known {
			return nil, false
		}
		text, args = args[0].Text, args[1:]
	default:
		text = t[strings.IndexByte(t, 'S')+1:]
	}
	// Its quoting is that of a shell but for ${NAME}; anything more than
	// plain words cannot be told.
	if strings.ContainsAny(text, "$`|&;<>()#") {
		return nil, false
	}
	f, ok := parse(text)
	if !ok || len(f.Stmts) != 1 {
		return nil, false
	}
	call, ok := f.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return nil, false
	}
	var out []Word
	for _, a := range call.Assigns {
		w := assign(a)
		if !w.Value.Known {
			return nil, false
		}
		out = append(out, Word{w.Name + "=" + w.Value.Text, true})
	}
	for _, w := range call.Args {
		out = append(out, words(w)...)
	}
	return append(out, args...), true
}

// assignment tells whether env would read a word as NAME=VALUE.
func assignment(t string) bool {
	return strings.IndexByte(t, '=') > 0
}
