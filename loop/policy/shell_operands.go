package policy

import (
	"slices"
	"strings"

	"agent-ls/hooks/shell"
)

// copying says how a command brings files from one place to another.
type copying uint8

const (
	none   copying = iota
	copies         // the sources stay as they are
	moves          // the sources go
	links          // what is written to the link changes the source
	syncs          // like copies, with many options that take a word
)

// fileCommand says which of a command's words are paths, and what it does
// with them. What it does not write it reads.
type fileCommand struct {
	write     bool    // what it names it writes
	shows     bool    // and it brings the content of that to light
	all       bool    // it may write all that is below a folder
	copies    copying // the last word, or that of -t, is written
	skip      int     // words before the first path that are none
	folders   bool    // what is below a folder counts as well
	recursive string  // options that make it look below folders
	last      bool    // the second path is written
	program   string  // options that take the place of the first word
	values    string  // letters of options with a value that is no path
	long      []string
	out       string   // letters of options that name a written file
	outLong   []string // long options that do, and whole words with one dash

	makesFolders bool                     // -d makes each word a folder
	inPlace      func(shell.Command) bool // it writes what it reads
}

var (
	gnuCopy = fileCommand{write: true, copies: copies, values: "S", long: []string{"suffix"}}
	grep    = fileCommand{skip: 1, recursive: "rR", program: "ef"}
	awk     = fileCommand{skip: 1, program: "f", inPlace: func(c shell.Command) bool { return hasLetter(c, "i") }}
	squeeze = fileCommand{write: true, shows: true, all: true}
	owner   = fileCommand{write: true, skip: 1, all: true}
	split   = fileCommand{write: true, shows: true}
	output  = fileCommand{out: "o", outLong: []string{"output"}}
	pager   = fileCommand{out: "oO", outLong: []string{"log-file", "LOG-FILE"}}
)

// fileCommands are commands whose words are known to be paths. A word that is
// no path in truth does no harm: it is then one inside the workspace.
var fileCommands = map[string]fileCommand{
	"cat": {}, "tac": {}, "head": {}, "tail": {}, "nl": {}, "less": pager, "more": pager, "bat": {}, "batcat": {}, "view": {}, "wc": {}, "cut": {}, "paste": {}, "join": {}, "rev": {}, "fold": {}, "fmt": {}, "column": {}, "expand": {}, "pr": {},
	"comm": {}, "cmp": {}, "od": {}, "hexdump": {}, "strings": {}, "file": {}, "base64": output, "base32": output, "basenc": output, "shuf": output, "tsort": {}, "ptx": {}, "sum": {}, "b2sum": {}, "sha224sum": {}, "sha384sum": {}, "xzless": pager, "zmore": pager, "md5sum": {}, "sha1sum": {}, "sha256sum": {}, "sha512sum": {}, "cksum": {}, "zcat": {}, "bzcat": {}, "xzcat": {}, "zless": pager, "readelf": {}, "objdump": {}, "nm": {}, "iconv": output,
	"sort": {out: "oT", outLong: []string{"output", "temporary-directory"}},
	"diff": {recursive: "r", outLong: []string{"output"}}, "uniq": {last: true}, "xxd": {last: true},
	"grep": grep, "egrep": grep, "fgrep": grep, "zgrep": grep,
	"rg": {skip: 1, folders: true, program: "ef"}, "ag": {skip: 1, folders: true}, "ack": {skip: 1, folders: true},
	"sed": {skip: 1, program: "ef", inPlace: func(c shell.Command) bool { return hasLetter(c, "i") || hasLong(c, "in-place") }}, "awk": awk, "gawk": awk, "mawk": awk, "jq": {skip: 1, program: "f"},
	"yq": {skip: 1, inPlace: func(c shell.Command) bool { return hasLetter(c, "i") || hasLong(c, "inplace", "in-place") }},
	"ls": {}, "tree": output, "du": {}, "stat": {}, "readlink": {}, "realpath": {},
	"find": {outLong: []string{"fprint", "fprint0", "fprintf", "fls"}, inPlace: func(c shell.Command) bool {
		return slices.ContainsFunc(c.Args, func(a shell.Word) bool { return a.Known && a.Text == "-delete" })
	}},
	"tee": {write: true}, "touch": {write: true}, "mkdir": {write: true}, "rmdir": {write: true}, "rm": {write: true, all: true}, "unlink": {write: true}, "shred": {write: true}, "truncate": {write: true}, "mkfifo": {write: true},
	"cp": gnuCopy, "mv": {write: true, copies: moves, values: "S", long: []string{"suffix"}}, "ln": {write: true, copies: links, values: "S", long: []string{"suffix"}},
	"install": {write: true, copies: copies, values: "Sgmo", long: []string{"suffix", "group", "mode", "owner", "strip-program"}, makesFolders: true},
	"rsync":   {write: true, copies: syncs, outLong: []string{"log-file", "backup-dir", "partial-dir", "temp-dir", "write-batch", "only-write-batch"}},
	"chmod":   owner, "chown": owner, "chgrp": owner, "split": split, "csplit": split, "dd": split,
	"patch": {write: true, shows: true, out: "ord", outLong: []string{"output", "reject-file", "directory"}}, "gzip": squeeze, "gunzip": squeeze, "bzip2": squeeze, "bunzip2": squeeze, "xz": squeeze, "unxz": squeeze, "zstd": squeeze, "unzstd": squeeze, "lz4": squeeze, "lzma": squeeze, "unlzma": squeeze, "compress": squeeze, "uncompress": squeeze,
}

// operands are the words of a call that may be paths.
type operands struct {
	words   []string // what is no option, in order
	target  string   // of -t: where the words go
	written []string // values of options that name what is written
	either  []string // attached to an option of unknown meaning
}

// operands takes a call's words apart as getopt would. What it cannot tell it
// counts as a path.
func (f fileCommand) operands(c shell.Command) operands {
	var out operands
	skip := f.skip
	if f.givesProgram(c) {
		skip = 0
	}
	plain := false
	for i := 0; i < len(c.Args); i++ {
		a := c.Args[i]
		t := a.Text
		next := func() string {
			if i++; i < len(c.Args) {
				return c.Args[i].Text // "" if not known, which is asked about
			}
			return ""
		}
		switch {
		case !a.Known:
			if skip > 0 && !plain {
				skip--
			}
		case t == "--" && !plain:
			plain = true
		case !plain && len(t) > 1 && t[0] == '-':
			f.option(t, next, &out)
		case skip > 0:
			skip--
		case c.Base() == "dd":
			if v, ok := strings.CutPrefix(t, "of="); ok {
				out.written = append(out.written, v)
			} else if v, ok := strings.CutPrefix(t, "if="); ok {
				out.words = append(out.words, v)
			}
		default:
			out.words = append(out.words, t)
		}
	}
	return out
}

// givesProgram tells whether the pattern or program comes with an option, so
// that the first word is a path already.
func (f fileCommand) givesProgram(c shell.Command) bool {
	return f.program != "" && slices.ContainsFunc(c.Args, func(a shell.Word) bool {
		t := a.Text
		return a.Known && (len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.ContainsAny(t[1:], f.program) ||
			hasPrefix(t, "--regexp", "--file", "--expression", "--from-file"))
	})
}

// option reads one option; next takes the word after it.
func (f fileCommand) option(t string, next func() string, out *operands) {
	word, value, attached := strings.Cut(t, "=")
	take := next
	if attached {
		take = func() string { return value }
	}
	name := strings.TrimLeft(word, "-")
	long := strings.HasPrefix(t, "--")
	switch {
	case long && f.targets() && abbreviates(name, "target-directory"):
		out.target = take()
	case long && abbreviates(name, f.outLong...), slices.Contains(f.outLong, name):
		out.writes(take())
	case long && abbreviates(name, f.long...):
		take()
	case long && (!attached || value == "" || slices.Contains([]string{"exclude", "include", "color"}, name)):
	case long && f.write:
		out.either = append(out.either, value)
	case long:
		out.words = append(out.words, value)
	default:
		f.letters(t, next, out)
	}
}

// targets tells whether -t names where the words go.
func (f fileCommand) targets() bool { return f.copies != none && f.copies != syncs }

// writes notes the value of an option that names a written file. It is a word
// as well, in case that was no value.
func (o *operands) writes(v string) {
	if v != "" {
		o.written = append(o.written, v)
		o.words = append(o.words, v)
	}
}

// letters reads a word of short options.
func (f fileCommand) letters(t string, next func() string, out *operands) {
	for i := 1; i < len(t); i++ {
		letter, take := t[i:i+1], next
		if rest := t[i+1:]; rest != "" {
			take = func() string { return rest }
		}
		switch {
		case f.targets() && letter == "t":
			out.target = take()
			return
		case strings.Contains(f.values, letter):
			take()
			return
		case strings.Contains(f.out, letter):
			out.writes(take())
			return
		}
	}
	if _, v, ok := strings.Cut(t, "="); ok && v != "" {
		out.words = append(out.words, v)
	} else if len(t) > 2 && (strings.Contains(t[2:], "/") || f.write && f.copies == none) {
		out.words = append(out.words, t[2:])
	}
}

// abbreviates tells whether a long option's name stands for one of these.
func abbreviates(name string, long ...string) bool {
	return name != "" && slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(l, name) })
}

// hasLong tells whether a long option is given, shortened or not.
func hasLong(c shell.Command, long ...string) bool {
	return slices.ContainsFunc(c.Args, func(a shell.Word) bool {
		name, _, _ := strings.Cut(a.Text, "=")
		return !a.Known || strings.HasPrefix(name, "--") && abbreviates(name[2:], long...)
	})
}

// hasLetter tells whether one of these short options is given, or a long one
// that makes a command go through folders.
func hasLetter(c shell.Command, letters string) bool {
	return slices.ContainsFunc(c.Args, func(a shell.Word) bool {
		if !a.Known {
			return true
		}
		if strings.HasPrefix(a.Text, "--") {
			return strings.ContainsAny(letters, "rRa") && hasPrefix(a.Text, "--r", "--de", "--a")
		}
		return len(a.Text) > 1 && a.Text[0] == '-' && strings.ContainsAny(a.Text[1:], letters)
	})
}
