package trust

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agent-ls/hooks/shell"
)

var (
	// shells run the file that their first operand names, or what they read.
	shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", ".", "source"}
	// interpreters do so, too, with a program that is no shell's.
	interpreters = []string{"python", "python2", "python3", "pypy3", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php", "lua", "Rscript", "pwsh", "osascript"}
	// feeders hand words to a command that nobody has written down.
	feeders = []string{"xargs", "gxargs", "find", "gfind", "fd", "fdfind", "parallel", "entr", "watchexec"}
	// programOptions come with the program itself, or name a module.
	programOptions = []string{"-c", "-e", "-E", "-m", "-p", "-r", "--eval", "--print", "-Command", "-File"}
)

// unread says that the command runs what is written in no file that it names:
// a shell that reads its program from a pipe, files that a list names. Nothing
// of that would be in the digest.
func (i Item) unread() error {
	lines := []string{i.Line}
	if len(i.Argv) > 0 {
		quoted := make([]string, len(i.Argv))
		for n, w := range i.Argv {
			quoted[n] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		lines = append(lines, strings.Join(quoted, " "))
	}
	for _, line := range lines {
		all := shell.Commands(line)
		for n, c := range all {
			what := ""
			switch {
			case (slices.Contains(interpreters, c.Base()) || slices.Contains(shells, c.Base())) && !programKnown(c):
				what = c.Base()
			case !c.Name.Known && len(c.Through) > 0 && !startKnown(all[:n], c.Through):
				what = strings.Join(c.Through, " ")
			default:
				continue
			}
			return fmt.Errorf("what the command of %s runs cannot be known: %q runs what no file of the command's own words says; write the path of the file in its place", i.Name, what)
		}
	}
	return nil
}

// startKnown says that what the last of the starters starts is a file that is
// named, or hangs on a word that is looked at as a word.
func startKnown(before []shell.Command, through []string) bool {
	last := len(through) - 1
	for n := len(before) - 1; n >= 0; n-- {
		c := before[n]
		if !slices.Equal(c.Through, through[:last]) || c.Base() != path.Base(through[last]) {
			continue
		}
		if slices.Contains(shells, c.Base()) {
			return programKnown(c)
		}
		// With all of its words known it is its text that a shell reads again,
		// or a list from elsewhere.
		return !fed(c) && slices.ContainsFunc(c.Args, func(w shell.Word) bool { return !w.Known })
	}
	return false
}

// programKnown says that a shell or interpreter has its program in its words,
// or in a file that they name. A word that hangs on a variable is judged
// elsewhere.
func programKnown(c shell.Command) bool {
	isShell := slices.Contains(shells, c.Base())
	for n := 0; n < len(c.Args); n++ {
		w := c.Args[n]
		switch t := w.Text; {
		case !w.Known:
			return !fed(c)
		case slices.Contains(programOptions, t) || isShell && len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.HasSuffix(t, "c"):
			return n+1 < len(c.Args) && (c.Args[n+1].Known || !fed(c))
		case isShell && (t == "-o" || t == "-O" || t == "+o" || t == "+O" || t == "--rcfile" || t == "--init-file"):
			n++
		case isShell && len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(t, "s"):
			return readsKnown(c)
		case t == "-" || t == "/dev/stdin" || strings.HasPrefix(t, "/dev/fd/") || strings.HasPrefix(t, "/proc/"):
			return readsKnown(c)
		case t == "--" || strings.HasPrefix(t, "+") && isShell:
		case !strings.HasPrefix(t, "-"):
			return true
		}
	}
	if !isShell && len(c.Args) > 0 {
		return true // --version and the like
	}
	return readsKnown(c)
}

// readsKnown says that the standard input is a file that is named, or a text
// that is written there.
func readsKnown(c shell.Command) bool {
	return slices.ContainsFunc(c.Redirects, func(r shell.Redirect) bool {
		return r.FD == 0 && strings.HasPrefix(r.Op, "<") && (r.Target.Known || strings.HasPrefix(r.Op, "<<") && r.Op != "<<<")
	})
}

// fed says that a command gets words from a list that is not written down.
func fed(c shell.Command) bool {
	return slices.Contains(feeders, c.Base()) || slices.ContainsFunc(c.Through, func(t string) bool { return slices.Contains(feeders, path.Base(t)) })
}
