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
	o := options{name: name, starter: st, args: cmd.Args}
	switch o.read() {
	case ends:
		return
	case lost:
		r.lost(s)
		return
	case scripted:
		r.word(o.args[0], s)
		return
	}
	// Options may follow the operands of su, script and flock.
	if st.script != "" {
		for i, a := range o.args {
			if a.Known && (a.Text == "-c" || a.Text == "--command") {
				if i+1 < len(o.args) {
					r.word(o.args[i+1], s)
				}
				return
			}
		}
	}
	o.args = o.args[min(st.skip, len(o.args)):]
	for st.assigns && len(o.args) > 0 && o.args[0].Known && assignment(o.args[0].Text) {
		o.assign()
	}
	switch {
	case name == "xargs":
		o.args = fromInput(o.args, o.replace)
	case name == "parallel":
		r.lost(s) // it adds words and reads more of its own
	}
	if st.joined {
		r.joined(o.args, s)
	} else {
		r.command(o.args, o.vars, cmd.Redirects, s)
	}
	if o.unsure {
		r.lost(s)
	}
}

// options are those of a command that starts another.
type options struct {
	name string
	starter
	args    []Word // what is left to read
	vars    []Assign
	replace string // xargs -I
	unsure  bool   // there was an option that is not known
}

// read reads up to the first operand. After scripted, the script is the first
// of args.
func (o *options) read() verdict {
	for len(o.args) > 0 {
		a := o.args[0]
		if !a.Known {
			return lost
		}
		t := a.Text
		v := goesOn
		switch {
		case t == "--":
			o.args = o.args[1:]
			return goesOn
		case o.name == "env" && (t == "-" || strings.HasPrefix(t, "-S") || strings.HasPrefix(t, "--split-string") || strings.HasPrefix(t, "-vS")):
			var ok bool
			if o.args, ok = split(o.args); !ok {
				return lost
			}
		case strings.HasPrefix(t, "--"):
			v = o.long(t)
		case len(t) > 1 && t[0] == '-' && o.numbers && strings.Trim(t[1:], "0123456789") == "":
			o.args = o.args[1:]
		case len(t) > 1 && t[0] == '-':
			if o.args, v = cluster(o.name, o.starter, o.args, &o.replace); v == scripted && len(o.args) == 0 {
				return lost
			}
		case o.starter.assigns && assignment(t):
			o.assign()
		default:
			return goesOn
		}
		switch v {
		case puzzling:
			o.unsure = true
		case ends, scripted:
			return v
		}
	}
	return goesOn
}

// long reads one option that starts with two dashes, and its value.
func (o *options) long(t string) verdict {
	key, value, attached := strings.Cut(t[2:], "=")
	o.args = o.args[1:]
	if key == "replace" {
		o.replace = "{}"
		if attached {
			o.replace = value
		}
	}
	script := key == "command" && o.script != ""
	switch {
	case script && attached:
		o.args = []Word{{value, true}}
		return scripted
	case slices.Contains(o.longs, key) || attached:
	case script && len(o.args) == 0:
		return ends
	case script:
		return scripted
	case slices.Contains(o.longVals, key):
		o.args = o.args[min(1, len(o.args)):]
	case key == "help" || key == "version":
		return ends
	default:
		return puzzling
	}
	return goesOn
}

// assign takes an assignment off the front.
func (o *options) assign() {
	k, v, _ := strings.Cut(o.args[0].Text, "=")
	o.vars = append(o.vars, Assign{Name: k, Value: Word{v, true}})
	o.args = o.args[1:]
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
	lost             // what is started cannot be told
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
