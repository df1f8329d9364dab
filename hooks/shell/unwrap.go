package shell

import (
	"slices"
	"strings"

	"agent-ls/hooks/lazyexp"
)

// starter describes a command that starts the command in its arguments.
type starter struct {
	flags    string   // short options without a value
	values   string   // short options with one
	optional string   // short options whose value can only be attached
	longs    []string // long options without a value
	longVals []string // long options with one
	skip     int      // operands before the command
	assigns  bool     // NAME=VALUE before the command are variables
	stop     string   // short options after which no command is started
	script   string   // short options whose value is a shell script
	joined   bool     // the operands are joined and given to a shell
	numbers  bool     // -N is an option
}

// starters are the commands whose arguments name another one.
var starters = map[string]starter{
	"sudo":              {flags: "AbBEHiKknNPSs", values: "ugpChrtTUDRa", stop: "eKlVv", assigns: true, longs: []string{"background", "bell", "preserve-env", "set-home", "login", "non-interactive", "preserve-groups", "stdin", "shell", "askpass", "reset-timestamp", "remove-timestamp"}, longVals: []string{"user", "group", "prompt", "close-from", "host", "role", "type", "chdir", "chroot", "other-user", "command-timeout", "login-class"}},
	"doas":              {flags: "Lns", values: "uCa"},
	"env":               {flags: "i0v", values: "uCPa", assigns: true, longs: []string{"ignore-environment", "null", "debug", "list-signal-handling"}, longVals: []string{"unset", "chdir", "argv0"}},
	"command":           {flags: "p", stop: "vV"},
	"builtin":           {},
	"exec":              {flags: "cl", values: "a"},
	"nohup":             {},
	"setsid":            {flags: "cfw", longs: []string{"ctty", "fork", "wait"}},
	"nice":              {values: "n", numbers: true, longVals: []string{"adjustment"}},
	"ionice":            {flags: "t", values: "cn", stop: "pPu", longs: []string{"ignore"}, longVals: []string{"class", "classdata"}},
	"chrt":              {flags: "abdfiorRv", values: "TPD", stop: "pm", skip: 1},
	"taskset":           {flags: "ac", stop: "p", skip: 1, longs: []string{"all-tasks", "cpu-list"}},
	"timeout":           {flags: "vfp", values: "sk", skip: 1, longs: []string{"foreground", "preserve-status", "verbose"}, longVals: []string{"signal", "kill-after"}},
	"time":              {flags: "apqv", values: "fo", longs: []string{"append", "portability", "quiet", "verbose"}, longVals: []string{"format", "output"}},
	"stdbuf":            {values: "ioe", longVals: []string{"input", "output", "error"}},
	"chroot":            {skip: 1, longs: []string{"skip-chdir"}, longVals: []string{"userspec", "groups"}},
	"flock":             {flags: "enosuxF", values: "wE", skip: 1, script: "c", longs: []string{"shared", "exclusive", "unlock", "nonblock", "nb", "close", "no-fork", "verbose"}, longVals: []string{"timeout", "wait", "conflict-exit-code"}},
	"unshare":           {flags: "muinpUCTfrc", values: "RwSG", longs: []string{"mount", "uts", "ipc", "net", "pid", "user", "cgroup", "time", "fork", "map-root-user", "map-current-user", "mount-proc", "kill-child"}, longVals: []string{"root", "wd", "setuid", "setgid", "propagation"}},
	"nsenter":           {flags: "amuinpUCTFZ", values: "tSGrw", longs: []string{"all"}, longVals: []string{"target", "setuid", "setgid"}},
	"strace":            {flags: "cCdfFhikqrtTvVwxyYzZnD", values: "abeEIoOpPsSuUX"},
	"ltrace":            {flags: "bcCfiLrStTV", values: "aADeFlnopsuwx"},
	"busybox":           {},
	"toybox":            {},
	"fakeroot":          {flags: "uh", values: "lsib"},
	"caffeinate":        {flags: "disum", values: "tw"},
	"xvfb-run":          {flags: "al", values: "efnpsw"},
	"systemd-run":       {flags: "dtPqrG", values: "HMpu", longs: []string{"user", "system", "scope", "wait", "pty", "pipe", "quiet", "collect", "same-dir", "shell"}, longVals: []string{"unit", "property", "slice", "description", "uid", "gid", "setenv", "service-type", "working-directory"}},
	"su":                {flags: "lmpfP", values: "gGsw", script: "c", longs: []string{"login", "preserve-environment", "pty", "fast"}, longVals: []string{"group", "supp-group", "shell", "whitelist-environment"}, skip: 1 << 20},
	"runuser":           {flags: "lmpf", values: "ugGsw", script: "c"},
	"script":            {flags: "aefqr", values: "BEIOTmot", script: "c", longs: []string{"append", "flush", "quiet", "return"}, skip: 1 << 20},
	"watch":             {flags: "bcdegprtwxCfS", values: "nqs", joined: true, longs: []string{"beep", "color", "no-color", "errexit", "chgexit", "exec", "precise", "no-title", "no-wrap", "differences"}, longVals: []string{"interval", "equexit"}},
	"xargs":             {flags: "0oprtx", values: "adEILnPsRSJ", optional: "iel", longs: []string{"null", "open-tty", "interactive", "no-run-if-empty", "verbose", "exit", "show-limits", "replace", "max-lines", "eof"}, longVals: []string{"arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"}},
	"parallel":          {flags: "0kmqtuvXn", values: "jaIdEPNSL", joined: true, numbers: true},
	"sg":                {script: "c", skip: 1 << 20},
	"exec-wrapper":      {},
	"proxychains":       {flags: "q", values: "f"},
	"proxychains4":      {flags: "q", values: "f"},
	"torsocks":          {flags: "di", values: "uPap"},
	"catchsegv":         {},
	"linux32":           {},
	"linux64":           {},
	"setarch":           {flags: "vRFZLXBISTKt3"},
	"eatmydata":         {},
	"setpriv":           {flags: "d", longs: []string{"clear-groups", "keep-groups", "init-groups", "no-new-privs", "nnp", "reset-env"}, longVals: []string{"ambient-caps", "inh-caps", "bounding-set", "ruid", "euid", "rgid", "egid", "reuid", "regid", "groups", "pdeathsig", "securebits", "selinux-label", "apparmor-profile", "ptracer", "landlock-access", "landlock-rule"}},
	"prlimit":           {stop: "p", flags: "v", values: "o", optional: "cdefilmnqrstuvxy", longs: []string{"noheadings", "raw", "verbose", "core", "data", "fsize", "nofile", "nproc", "stack", "cpu", "as", "rss", "memlock"}, longVals: []string{"output"}},
	"valgrind":          {flags: "dqv", longs: []string{"quiet", "verbose"}},
	"entr":              {flags: "acdnprsz"},
	"hyperfine":         {flags: "iN", values: "wmMrpcsuS", joined: true, longs: []string{"ignore-failure", "show-output"}, longVals: []string{"warmup", "min-runs", "max-runs", "runs", "prepare", "cleanup", "setup", "shell", "export-json", "export-markdown", "export-csv"}},
	"unbuffer":          {flags: "p"},
	"rlwrap":            {flags: "acimnoprRsvwW", values: "bCDfgHjlMPqStOAz"},
	"bwrap":             {},
	"firejail":          {},
	"numactl":           {flags: "al", values: "ipmNCP", stop: "sH"},
	"cpulimit":          {flags: "zifv", values: "lpe"},
	"pkexec":            {longs: []string{"disable-internal-agent", "keep-cwd"}, longVals: []string{"user"}},
	"run0":              {},
	"start-stop-daemon": {},
	"daemonize":         {flags: "av", values: "ceolpuEL"},
	"faketime":          {flags: "mpf", skip: 1},
	"dbus-launch":       {longs: []string{"exit-with-session", "sh-syntax"}},
	"ssh-agent":         {flags: "cDds", values: "aEOPt", stop: "k"},
	"aa-exec":           {flags: "dviI", values: "pn"},
	"runcon":            {flags: "c", skip: 1},
	"choom":             {values: "np"},
	"uclampset":         {flags: "asR", values: "mMp"},
	"coresched":         {},
	"gosu":              {skip: 1},
	"su-exec":           {skip: 1},
	"tini":              {flags: "sgwv", values: "pe"},
	"dumb-init":         {flags: "cv", values: "r"},
	"proot":             {},
	"fakechroot":        {flags: "s", values: "leCdb"},
	"dbus-run-session":  {longVals: []string{"config-file", "dbus-daemon"}},
}

// shells run the text after -c, or what they read.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "oksh", "yash", "hush"}

// unwrap reads the commands that cmd starts.
func (r *reader) unwrap(cmd Command, s scope) {
	if r.full || !cmd.Name.Known || cmd.Name.Text == "" {
		return
	}
	name := cmd.Base()
	inner := scope{through: append(slices.Clip(s.through), name), depth: s.depth + 1, piped: s.piped}
	switch {
	case inner.depth > MaxDepth:
		if _, ok := starterOf(name); ok || name == "git" || slices.Contains(shells, name) || name == "find" || name == "eval" || name == "trap" {
			r.lost(inner)
		}
	case slices.Contains(shells, name):
		r.shell(cmd, inner)
	case name == "eval":
		r.joined(cmd.Args, inner)
	case name == "trap":
		r.trap(cmd.Args, inner)
	case name == "find":
		r.find(cmd.Args, inner)
	case reads(name, cmd.Args):
		r.lost(inner)
	default:
		if st, ok := starterOf(name); ok {
			if name == "setarch" && len(cmd.Args) > 0 && !strings.HasPrefix(cmd.Args[0].Text, "-") {
				cmd.Args = cmd.Args[1:] // the architecture, before the options
			}
			r.start(name, st, cmd, inner)
		}
		if name == "perf" && len(cmd.Args) > 1 && cmd.Args[0].Known && slices.Contains(measuring, cmd.Args[0].Text) {
			cmd.Args = cmd.Args[1:]
			r.start(name, starter{flags: "adiSvqgRs", values: "reIopCtFcGMmD"}, cmd, inner)
		}
		r.scripts(name, cmd, inner)
	}
}

// measuring are the parts of perf that run a command.
var measuring = []string{"stat", "record", "trace", "mem", "c2c", "kvm", "lock", "sched", "ftrace", "top", "kmem", "timechart"}

var architecture = lazyexp.New(`^(i[3-6]86|athlon|x86_64|uname26|ppc(32|64)?(le)?|s390x?|sparc(32|64)?(bash)?|mips(32|64)?|arm|armv[678][lbh]|armh|aarch64|alpha|parisc(32|64)?)$`)

// starterOf finds a command in the table, or by what its name is like.
func starterOf(name string) (starter, bool) {
	st, ok := starters[name]
	switch {
	case ok:
	case strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || strings.HasPrefix(name, "ld.so") || strings.HasPrefix(name, "ld64.so") || strings.HasPrefix(name, "ld-2."):
		return starter{longs: []string{"inhibit-cache"}, longVals: []string{"library-path", "preload", "audit", "inhibit-rpath", "argv0", "glibc-hwcaps-prepend", "glibc-hwcaps-mask"}}, true
	case architecture.MatchString(name):
		return starter{flags: "vRFZLXBISTKt3", longs: []string{"verbose", "addr-no-randomize", "fdpic-funcptrs", "mmap-page-zero", "addr-compat-layout", "read-implies-exec", "32bit", "short-inode", "whole-seconds", "sticky-timeouts", "3gb", "4gb", "uname-2.6"}}, true
	}
	return st, ok
}

// command emits a command that another one starts, and what it starts.
func (r *reader) command(ws []Word, assigns []Assign, redirects []Redirect, s scope) {
	if len(ws) == 0 {
		return
	}
	c := Command{Name: ws[0], Args: ws[1:], Assigns: assigns, Through: s.through}
	r.emit(c)
	c.Redirects = redirects // its input, when it is a shell
	r.unwrap(c, s)
}

// joined reads words that are joined with spaces and given to a shell.
func (r *reader) joined(ws []Word, s scope) {
	parts := make([]string, len(ws))
	for i, w := range ws {
		if !w.Known {
			r.lost(s)
			return
		}
		parts[i] = w.Text
	}
	if len(parts) > 0 {
		r.script(strings.Join(parts, " "), s)
	}
}

func (r *reader) word(w Word, s scope) {
	if !w.Known {
		r.lost(s)
		return
	}
	r.script(w.Text, s)
}

func (r *reader) trap(args []Word, s scope) {
	if len(args) > 0 && args[0].Known && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) < 2 {
		return
	}
	if a := args[0]; a.Known && (a.Text == "-" || a.Text == "" || a.Text == "-l" || a.Text == "-p") {
		return
	}
	r.word(args[0], s)
}

// find reads the commands of -exec and its like.
func (r *reader) find(args []Word, s scope) {
	for i := 0; i < len(args); i++ {
		if !args[i].Known || !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, args[i].Text) {
			continue
		}
		var ws []Word
		for i++; i < len(args); i++ {
			w := args[i]
			if w.Known && (w.Text == ";" || w.Text == "+" && args[i-1].Known && args[i-1].Text == "{}") {
				break
			}
			if w.Known && strings.Contains(w.Text, "{}") {
				w = Word{}
			}
			ws = append(ws, w)
		}
		if len(ws) == 0 {
			r.lost(s)
		}
		r.command(ws, nil, nil, s)
	}
}

// shell reads what a shell is told to run: its -c text, or its input.
func (r *reader) shell(cmd Command, s scope) {
	script, stdin := false, false
	args := cmd.Args
	for len(args) > 0 {
		a := args[0]
		if !a.Known {
			r.lost(s)
			return
		}
		if a.Text == "--" || a.Text == "-" {
			args = args[1:]
			break
		}
		if len(a.Text) < 2 || a.Text[0] != '-' && a.Text[0] != '+' {
			break
		}
		args = args[1:]
		if strings.HasPrefix(a.Text, "--") {
			if a.Text == "--rcfile" || a.Text == "--init-file" {
				args = args[min(1, len(args)):]
			}
			continue
		}
		if a.Text[0] == '-' {
			script = script || strings.ContainsRune(a.Text, 'c')
			stdin = stdin || strings.ContainsRune(a.Text, 's')
		}
		if strings.ContainsAny(a.Text[1:], "oO") {
			args = args[min(1, len(args)):]
		}
	}
	switch {
	case script && len(args) > 0:
		s.piped = s.piped || len(cmd.Redirects) > 0
		r.word(args[0], s)
	case script:
		r.lost(s)
	case stdin || len(args) == 0:
		r.input(cmd.Redirects, s)
	}
}

// input reads what a shell reads from its standard input.
func (r *reader) input(redirects []Redirect, s scope) {
	for i := len(redirects) - 1; i >= 0; i-- {
		rd := redirects[i]
		if rd.FD != 0 {
			continue
		}
		switch rd.Op {
		case "<<", "<<-", "<<<":
			r.word(rd.Target, s)
		default:
			r.lost(s)
		}
		return
	}
	if s.piped {
		r.lost(s)
	}
}
