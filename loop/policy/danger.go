package policy

import (
	"slices"
	"strings"

	"agent-ls/hooks/lazyexp"
)

// danger says which arguments make a command execute or write something that
// its name does not tell. An allow rule covers such a call only if it names
// the argument.
type danger struct {
	words  []string // whole words, or what is before a "=": subcommands, -exec; "--" and "-" count alike
	long   []string // long options; shortened ones count as well
	short  string   // letters of short options, alone or among others
	equals bool     // NAME=VALUE words
	stdin  bool     // without an operand it runs what it reads
	code   bool     // what is dangerous is a program, which may read any file
	check  func(args []string) []string
	// letters says how the words of one letter can be written.
	letters lettering
}

// lettering says how a command reads a word of short options.
type lettering uint8

const (
	combined lettering = iota // several in one word, a value attached: -nxVALUE
	attached                  // one in a word, a value attached: -xVALUE
	apart                     // a word is one option: -x VALUE
)

// everywhere are long options that mean harm in any command.
var everywhere = []string{"exec", "exec-path", "execute", "eval", "command", "output", "output-file", "outfile", "output-dir", "config", "pre", "pager", "editor",
	"in-place", "inplace", "write", "plugin", "load", "load-extension", "require", "preload", "script", "init-file", "rcfile", "shell", "script-shell", "use-compress-program", "compress-program",
	"to-command", "checkpoint-action", "rsh", "rsync-path", "upload-pack", "receive-pack", "ext-diff", "textconv", "node-options", "wrapper", "runner", "interpreter"}

var interpreter = danger{code: true, words: []string{"-c", "-e", "-E", "-p", "-pe", "-ne", "-r", "-m", "-i", "-x", "-X", "-", "-Command", "-EncodedCommand", "-File"}, short: "ceErmMd", long: []string{"eval", "print", "import", "loader", "require", "exec", "command"}, stdin: true}

// dangerous is the table by base name. What is not in it is held against
// everywhere only.
var dangerous = map[string]danger{
	"find": {letters: apart, words: []string{"-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"}},
	"sed":  {code: true, short: "if", long: []string{"in-place", "file"}, check: sedScript},
	"awk":  {code: true, short: "fiElDdo", check: awkProgram},
	"go": {letters: apart, words: []string{"-exec", "-toolexec", "-vettool", "-overlay", "-modfile", "-ldflags", "-gccgoflags", "-gcflags", "-asmflags", "-pkgdir", "-o", "-outputdir", "-C", "-w", "-u", "-fix", "-n=false",
		"-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-trace", "-test.coverprofile", "-test.cpuprofile", "-test.memprofile", "-test.outputdir", "-test.trace", "generate", "tool"}, check: remotePackage},
	"git": {words: []string{"-c", "-C", "-O", "-x", "-o", "--no-index", "filter-branch", "difftool", "mergetool", "hook", "config", "credential", "daemon", "instaweb", "gui", "citool", "send-email", "svn", "p4", "fast-import", "foreach", "web--browse", "bisect", "worktree", "maintenance"},
		long: []string{"config-env", "exec-path", "output", "output-directory", "upload-pack", "receive-pack", "exec", "ext-diff", "textconv", "open-files-in-pager", "template", "git-dir", "work-tree", "extcmd", "tool", "unsafe-paths", "separate-git-dir", "contents", "edit-description", "paginate", "super-prefix", "namespace"}, check: gitArguments},
	"tar":     {short: "IFPxC", long: []string{"extract", "get", "directory", "to-command", "checkpoint-action", "use-compress-program", "rsh-command", "info-script", "new-volume-script", "rmt-command", "absolute-names", "one-top-level"}, check: oldTar},
	"rsync":   {short: "e", long: []string{"rsh", "rsync-path"}},
	"curl":    {short: "oOKTFDcJ", long: []string{"output", "remote-name", "remote-name-all", "config", "upload-file", "form", "form-string", "dump-header", "cookie-jar", "trace", "trace-ascii", "stderr", "libcurl", "unix-socket", "engine"}, check: curlData},
	"wget":    {short: "OoiPea", long: []string{"output-document", "output-file", "append-output", "input-file", "directory-prefix", "execute", "use-askpass", "post-file", "body-file"}},
	"sort":    {short: "oT", long: []string{"output", "compress-program", "temporary-directory", "files0-from"}},
	"rg":      {long: []string{"pre", "hostname-bin", "file"}},
	"fd":      {short: "xX", long: []string{"exec", "exec-batch"}},
	"ag":      {long: []string{"pager"}},
	"less":    {short: "oOkt", check: plusCommand},
	"vim":     {code: true, words: []string{"-c", "-S", "-s", "-es", "-u", "-w", "-W", "--cmd"}, check: plusCommand, stdin: true},
	"emacs":   {code: true, letters: apart, words: []string{"-f", "-l", "--eval", "--load", "--batch", "--script", "--funcall", "-Q"}, stdin: true},
	"man":     {short: "PH", long: []string{"pager", "html"}},
	"npm":     {words: []string{"exec", "x", "explore", "publish", "-c", "-C", "config", "set-script", "edit", "login", "token"}, long: []string{"script-shell", "prefix", "node-options", "userconfig", "globalconfig", "call", "shell"}},
	"npx":     {words: []string{"-c", "-p", "-y"}, long: []string{"call", "package", "shell", "yes"}},
	"make":    {short: "fCEI", long: []string{"file", "makefile", "directory", "eval", "include-dir"}, equals: true},
	"cmake":   {letters: attached, words: []string{"-P", "-E", "-C", "-S", "-B"}},
	"cargo":   {words: []string{"-Z", "-C", "install", "publish", "login"}, long: []string{"config", "manifest-path", "target-dir"}, check: plusCommand},
	"gcc":     {letters: attached, words: []string{"-o", "-wrapper", "-B", "-Xlinker"}, check: compilerPlugin},
	"gofmt":   {letters: apart, words: []string{"-w", "-cpuprofile"}},
	"eslint":  {words: []string{"-c", "-f", "-o"}, long: []string{"fix", "config", "rulesdir", "plugin", "resolve-plugins-relative-to", "format", "output-file", "parser"}},
	"pytest":  {words: []string{"-p", "-c", "-o"}, long: []string{"basetemp", "rootdir", "confcutdir", "override-ini", "pdbcls", "junitxml", "config-file"}},
	"sqlite3": {letters: apart, words: []string{"-cmd", "-init"}, check: clientEscape},
	"psql":    {short: "oLf", long: []string{"output", "log-file", "file"}, check: clientEscape},
	"mysql":   {long: []string{"pager", "tee", "init-command"}, check: clientEscape},
	"ssh":     {short: "oFESI", check: nil},
	"nc":      {short: "ec", long: []string{"exec", "sh-exec", "lua-exec"}},
	"zip":     {words: []string{"-T", "-TT"}, long: []string{"unzip-command", "test"}},
	"patch":   {short: "oed", long: []string{"output", "ed", "directory"}},
	"date":    {short: "sf", long: []string{"set", "file"}},
	"openssl": {letters: apart, words: []string{"-engine", "-out", "-config", "-provider-path"}},
	"docker":  {words: []string{"run", "exec", "cp", "-v", "-H", "--privileged", "--volume", "--mount"}},
	"kubectl": {words: []string{"exec", "cp", "run", "debug", "attach"}},
	"gh":      {words: []string{"alias", "extension", "api", "auth", "codespace"}},
	"pip":     {words: []string{"-r", "-c", "-e", "-t"}, long: []string{"target", "prefix", "root", "config-settings", "global-option", "install-option", "index-url", "editable"}},
	"black":   {words: []string{"-c"}},
	"ruff":    {long: []string{"fix", "config", "output-file"}},
	"printf":  {words: []string{"-v"}},
	"xxd":     {short: "r"},
	"strip":   {short: "o"},
	"objcopy": {short: "o"},
	"tsc":     {long: []string{"outdir", "outfile", "outDir", "outFile", "build"}},
	"node":    interpreter, "python": interpreter, "perl": interpreter, "ruby": interpreter, "php": interpreter, "lua": interpreter, "sh": interpreter,
}

// sameAs maps a command to the row that it shares.
var sameAs = map[string]string{
	"gawk": "awk", "mawk": "awk", "nawk": "awk", "gsed": "sed", "gmake": "make", "bsdtar": "tar", "gtar": "tar", "pnpm": "npm", "yarn": "npm", "bunx": "npx", "pip3": "pip",
	"fdfind": "fd", "more": "less", "most": "less", "vi": "vim", "nvim": "vim", "view": "vim", "ex": "vim", "ed": "vim", "gvim": "vim", "emacsclient": "emacs",
	"cc": "gcc", "g++": "gcc", "c++": "gcc", "clang": "gcc", "clang++": "gcc", "ld": "gcc", "goimports": "gofmt", "gofumpt": "gofmt", "py.test": "pytest", "scp": "ssh", "sftp": "ssh", "ncat": "nc", "netcat": "nc", "podman": "docker", "mariadb": "mysql",
	"nodejs": "node", "deno": "node", "bun": "node", "python2": "python", "python3": "python", "pypy": "python", "pypy3": "python", "ipython": "python", "luajit": "lua", "tclsh": "lua", "expect": "lua", "wish": "lua", "Rscript": "lua", "R": "lua", "julia": "lua", "osascript": "lua", "pwsh": "lua", "powershell": "lua", "irb": "ruby", "ghci": "lua", "groovy": "lua", "racket": "lua", "guile": "lua", "elixir": "lua", "iex": "lua", "erl": "lua", "ts-node": "node", "tsx": "node",
	"bash": "sh", "dash": "sh", "zsh": "sh", "ksh": "sh", "fish": "sh", "ash": "sh", "mksh": "sh",
}

var versioned = lazyexp.New(`^([a-z+]+)-?[0-9][0-9.]*$`)

// dangerOf is the row of a command.
func dangerOf(name string) danger {
	if spec, ok := dangerous[name]; ok {
		return spec
	}
	other := sameAs[name]
	if m := versioned.FindStringSubmatch(name); other == "" && m != nil {
		if other = m[1]; sameAs[other] != "" {
			other = sameAs[other]
		}
	}
	return dangerous[other]
}

// dangers lists the arguments of a call that an allow rule must name.
func dangers(name string, args []string) []string {
	spec := dangerOf(name)
	var out []string
	operand := false
	for _, a := range args {
		if spec.found(a) {
			out = append(out, a)
			continue
		}
		if !strings.HasPrefix(a, "-") || a == "-" {
			operand = true
		}
	}
	if spec.check != nil {
		out = append(out, spec.check(args)...)
	}
	if spec.stdin && !operand && len(out) == 0 && !slices.Equal(args, []string{"--version"}) && !slices.Equal(args, []string{"-V"}) && !slices.Equal(args, []string{"-v"}) && !slices.Equal(args, []string{"--help"}) {
		out = append(out, "(its input)") // no rule can name that
	}
	return out
}

// onlyWrite are arguments that make a command write a file, and execute
// nothing.
var onlyWrite = map[string][]string{
	"sort":  {"-o", "--output", "-T", "--temporary-directory"},
	"go":    {"-o", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-trace", "-outputdir"},
	"gofmt": {"-w"},
	"curl":  {"-o", "-O", "-D", "--output", "--remote-name", "--dump-header"},
	"wget":  {"-O", "-o", "-P", "--output-document", "--output-file", "--directory-prefix"},
	"git":   {"-o", "--output", "--output-directory"},
	"gcc":   {"-o"},
	"find":  {"-delete", "-fprint", "-fprint0", "-fls"},
	"sed":   {"-i", "--in-place"},
	"tar":   {"-x", "-C", "--extract", "--directory"},
}

// executes tells whether one of the dangerous arguments may make a command
// execute something else.
func executes(name string, args []string) bool {
	if _, ok := dangerous[name]; !ok && sameAs[name] != "" {
		name = sameAs[name]
	}
	return slices.ContainsFunc(args, func(a string) bool {
		key, _, _ := strings.Cut(a, "=")
		switch {
		case slices.Contains(onlyWrite[name], key):
			return false
		case name == "tar" && !strings.HasPrefix(a, "--"):
			return strings.ContainsAny(a, "IF")
		case name == "awk" && !strings.HasPrefix(a, "-"):
			return awkRuns.MatchString(a)
		}
		return true
	})
}

// found tells whether one argument is dangerous.
func (d danger) found(a string) bool {
	key, _, assigned := strings.Cut(a, "=")
	for _, w := range d.words {
		if d.letter(w, key) || key == w || strings.HasPrefix(w, "-") && key == "-"+w {
			return true
		}
	}
	if d.equals && assigned && !strings.HasPrefix(a, "-") {
		return true
	}
	if strings.HasPrefix(key, "--") {
		name := key[2:]
		short := func(l string) bool { return len(name) > 1 && strings.HasPrefix(l, name) }
		return slices.Contains(everywhere, name) || slices.ContainsFunc(d.long, short)
	}
	if len(key) > 1 && key[0] == '-' && d.short != "" {
		return strings.ContainsAny(key[1:], d.short)
	}
	return false
}

// letter tells whether a word of short options holds an option of one letter.
func (d danger) letter(option, word string) bool {
	if len(option) != 2 || option[0] != '-' || option[1] == '-' || len(word) < 2 || word[0] != '-' || word[1] == '-' {
		return false
	}
	switch d.letters {
	case apart:
		return false
	case attached:
		return word[1] == option[1]
	}
	return strings.IndexByte(word[1:], option[1]) >= 0
}

var (
	sedPlain = lazyexp.New(`^\s*(?:(?:[0-9]+|\$|/(?:[^/\\]|\\.)*/)(?:\s*,\s*(?:[0-9]+|\$|\+[0-9]+|/(?:[^/\\]|\\.)*/))?\s*!?\s*)?(?:[pdqQ=nNgGhHxD]\s*|s(?:/(?:[^/\\]|\\.)*/(?:[^/\\]|\\.)*/|\|(?:[^|\\]|\\.)*\|(?:[^|\\]|\\.)*\||#(?:[^#\\]|\\.)*#(?:[^#\\]|\\.)*#)[gpiI0-9]*\s*)$`)
	awkRuns  = lazyexp.New(`system|getline|[|@]`)
	awkWords = lazyexp.New(`system|getline|[|>@]|ENVIRON|close|fflush|-f`)
)

// sedScript flags a script that is more than printing, deleting and replacing.
func sedScript(args []string) []string {
	script, next, seen := "", false, false
	var out []string
	judge := func(s string) {
		for part := range strings.SplitSeq(s, "\n") {
			if strings.TrimSpace(part) != "" && !sedPlain.MatchString(part) && !allPlain(part) {
				out = append(out, s)
				return
			}
		}
	}
	for _, a := range args {
		switch {
		case next:
			judge(a)
			next, seen = false, true
		case a == "-e" || a == "--expression":
			next = true
		case strings.HasPrefix(a, "--expression="):
			judge(strings.TrimPrefix(a, "--expression="))
			seen = true
		case strings.HasPrefix(a, "-") && len(a) > 1 && a[1] != '-' && strings.Contains(a, "e"):
			if i := strings.IndexByte(a, 'e'); i+1 < len(a) {
				judge(a[i+1:])
			} else {
				next = true
			}
			seen = true
		case strings.HasPrefix(a, "-"):
		case script == "" && !seen:
			script, seen = a, true
			judge(a)
		}
	}
	return out
}

// allPlain splits a script at ";" where each part is plain by itself.
func allPlain(s string) bool {
	parts := strings.Split(s, ";")
	if len(parts) < 2 {
		return false
	}
	for _, p := range parts {
		if strings.TrimSpace(p) != "" && !sedPlain.MatchString(p) {
			return false
		}
	}
	return true
}

// awkProgram flags a program that can run, read or write other things.
func awkProgram(args []string) []string {
	var out []string
	for _, a := range args {
		if awkWords.MatchString(a) {
			out = append(out, a)
		}
	}
	return out
}

func remotePackage(args []string) []string {
	var out []string
	for i, a := range args {
		if i > 0 && strings.Contains(a, "@") && !strings.HasPrefix(a, "-") {
			out = append(out, a)
		}
	}
	return out
}

// gitArguments flags addresses that name a program, and what only some
// subcommands take for one.
func gitArguments(args []string) []string {
	var out []string
	rest := withoutGlobals("git", args)
	remote := len(rest) > 0 && slices.Contains([]string{"clone", "ls-remote", "fetch-pack", "submodule"}, rest[0])
	for _, a := range args {
		if strings.Contains(a, "::") || remote && len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "u") {
			out = append(out, a)
		}
	}
	return out
}

// oldTar flags letters of tar's first word, which needs no dash.
func oldTar(args []string) []string {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && strings.ContainsAny(args[0], "IFPxC") {
		return args[:1]
	}
	return nil
}

func curlData(args []string) []string {
	var out []string
	for _, a := range args {
		if strings.HasPrefix(a, "@") || strings.HasPrefix(a, "-d@") || strings.HasPrefix(a, "--data") && strings.Contains(a, "@") || strings.HasPrefix(a, "file:") {
			out = append(out, a)
		}
	}
	return out
}

func plusCommand(args []string) []string {
	var out []string
	for _, a := range args {
		if strings.HasPrefix(a, "+") {
			out = append(out, a)
		}
	}
	return out
}

func compilerPlugin(args []string) []string {
	var out []string
	for _, a := range args {
		if hasPrefix(a, "-fplugin", "-specs", "-Wl,", "-Wa,", "-Wp,", "@", "-plugin", "-dynamic-linker", "-load", "-o", "-B") {
			out = append(out, a)
		}
	}
	return out
}

// clientEscape flags what leads out of a database client.
func clientEscape(args []string) []string {
	var out []string
	for _, a := range args {
		low := strings.ToLower(a)
		if strings.Contains(a, `\`) || strings.HasPrefix(strings.TrimSpace(a), ".") || strings.Contains(low, "load_extension") || strings.Contains(low, "writefile") || strings.Contains(low, "edit(") || strings.Contains(low, "system ") || strings.Contains(low, "outfile") || strings.Contains(low, " program ") {
			out = append(out, a)
		}
	}
	return out
}
