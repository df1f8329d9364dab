package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/loop/realpath"
)

// secretWords end the names of variables that hold a secret, after an
// underscore or as the whole name; secretEnds do so without one, too, since no
// ordinary name ends like that.
var (
	secretWords = []string{"KEY", "KEYS", "KEY_ID", "PAT", "AUTH", "PASS", "PWD", "DSN", "DATABASE_URL", "DB_URL", "REDIS_URL", "MONGO_URL", "MONGODB_URI", "POSTGRES_URL", "MYSQL_URL",
		"AMQP_URL", "CONNECTION_STRING", "WEBHOOK_URL", "COOKIE"}
	secretEnds = []string{"APIKEY", "APIKEYS", "AIKEY", "TOKEN", "TOKENS", "SECRET", "SECRETS", "SECRETKEY", "ACCESSKEY", "PRIVATEKEY", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE",
		"CREDENTIAL", "CREDENTIALS", "CREDS", "DATABASE_URL", "DATABASEURL"}
)

// dropped are variables that reach an agent of the user's, or make the shell
// run something before the line.
var dropped = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNUPGHOME", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
	"GNOME_KEYRING_CONTROL", "GNOME_KEYRING_PID", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST", "CONTAINER_HOST",
	"GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "KUBECONFIG", "TMUX", "STY", "NVIM", "NVIM_LISTEN_ADDRESS", "INVOCATION_ID", "NOTIFY_SOCKET",
	"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "IFS", "POSIXLY_CORRECT",
}

// Secret tells whether a variable's name says that it holds a secret.
func Secret(name string) bool {
	upper := strings.ToUpper(name)
	if upper == "PWD" {
		return false // the working directory
	}
	for _, w := range secretWords {
		if upper == w || strings.HasSuffix(upper, "_"+w) {
			return true
		}
	}
	return slices.ContainsFunc(secretEnds, func(w string) bool { return strings.HasSuffix(upper, w) })
}

// environment is what a command gets to see: the user's without keys and
// agent sockets, with the tools' caches in our cache folder.
func (f *Floor) environment(environ []string, temp string) []string {
	out := make([]string, 0, len(environ)+16)
	value := map[string]string{}
	for _, kv := range environ {
		name, v, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		value[name] = v
		switch {
		case Secret(name), slices.Contains(dropped, name), slices.Contains(f.without, name),
			strings.HasPrefix(name, "BASH_FUNC_"), strings.HasPrefix(name, "VSCODE_"), strings.HasPrefix(name, "AGENT_LS_"):
			continue
		}
		out = append(out, kv)
	}
	set := func(name, v string) {
		out = slices.DeleteFunc(out, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		out = append(out, name+"="+v)
	}
	if temp != "" {
		set("TMPDIR", temp)
		set("TMP", temp)
		set("TEMP", temp)
	}
	set("GIT_TERMINAL_PROMPT", "0")
	set("PAGER", "cat")
	set("GIT_PAGER", "cat")
	set("AGENT_LS_SANDBOX", string(f.kind))
	if f.dirs.Cache == "" || f.kind == None {
		return out
	}
	cache := filepath.Join(f.dirs.Cache, "tools")
	for name, dir := range map[string]string{
		"XDG_CACHE_HOME": "xdg", "GOCACHE": "go-build", "GOMODCACHE": "go-mod", "GOLANGCI_LINT_CACHE": "golangci-lint", "STATICCHECK_CACHE": "staticcheck",
		"npm_config_cache": "npm", "YARN_CACHE_FOLDER": "yarn", "PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv", "GRADLE_USER_HOME": "gradle", "CCACHE_DIR": "ccache",
	} {
		set(name, filepath.Join(cache, dir))
	}
	if !f.config.Network {
		// Modules that the user has already come from the user's own module
		// cache, which is read like a proxy: no network is needed.
		if mods := f.moduleCache(value); mods != "" {
			set("GOPROXY", "file://"+filepath.ToSlash(filepath.Join(mods, "cache", "download")))
			set("GONOPROXY", "none")
		}
	}
	slices.Sort(out)
	return out
}

// moduleCache is the user's Go module cache, "" when there is none.
func (f *Floor) moduleCache(env map[string]string) string {
	candidates := []string{env["GOMODCACHE"]}
	if p := filepath.SplitList(env["GOPATH"]); len(p) > 0 && p[0] != "" {
		candidates = append(candidates, filepath.Join(p[0], "pkg", "mod"))
	}
	if f.dirs.Home != "" {
		candidates = append(candidates, filepath.Join(f.dirs.Home, "go", "pkg", "mod"))
	}
	for _, c := range candidates {
		if c == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(c, "cache", "download")); err == nil && info.IsDir() {
			return c
		}
	}
	return ""
}

// credentials are the places below HOME that no command reads.
var credentials = []string{
	".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".config/gh", ".config/glab-cli", ".config/gcloud", ".config/hub", ".config/op", ".config/rclone",
	".config/containers", ".config/doctl", ".config/heroku", ".config/github-copilot", ".config/sops", ".config/age", ".config/agent-ls", ".config/anthropic", ".config/openai",
	".local/share/keyrings", ".local/share/kwalletd", ".local/share/agent-ls", ".local/state/agent-ls", ".password-store", ".mozilla", ".config/google-chrome", ".config/chromium", ".thunderbird",
	".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".vault-token", ".terraform.d", ".terraformrc",
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".composer/auth.json", ".config/composer/auth.json",
	".nuget/NuGet", ".config/NuGet", ".boto", ".s3cfg", ".databrickscfg", ".snowflake", ".claude", ".claude.json", ".codex", ".gemini", ".config/goose", ".oci",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".local/share/fish/fish_history", ".lesshst", ".viminfo",
	"Library/Keychains", "Library/Cookies", "AppData/Roaming/gcloud",
}

// hidden lists what commands do not see, existing paths only, resolved.
func (f *Floor) hidden() []string {
	var all []string
	if f.dirs.Home != "" {
		for _, c := range credentials {
			all = append(all, filepath.Join(f.dirs.Home, filepath.FromSlash(c)))
		}
	}
	all = append(all, f.dirs.State)
	if x := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(x) {
		for _, c := range []string{"gh", "gcloud", "agent-ls", "op"} {
			all = append(all, filepath.Join(x, c))
		}
	}
	all = append(all, f.ownLinks()...)
	var out []string
	for _, p := range all {
		if p == "" {
			continue
		}
		r, err := filepath.EvalSymlinks(p)
		if err != nil || slices.Contains(out, r) {
			continue
		}
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

// mostLinks bounds the entries that are looked at for links out of a folder.
const mostLinks = 2000

// Own makes the floor hide our own settings, absolute paths of files and
// folders, and what links in them lead to: people keep such files elsewhere,
// in the workspace as likely as not. What lies neither in the user's folder
// nor where commands write is left alone.
func (f *Floor) Own(paths ...string) *Floor {
	g := *f
	g.own = slices.Clone(paths)
	return &g
}

// ownLinks are our own settings and the targets of the links in them.
func (f *Floor) ownLinks() []string {
	reached := append(f.writable(), realpath.Resolve(f.dirs.Home))
	var out []string
	add := func(p string) {
		r, err := filepath.EvalSymlinks(p)
		if err != nil || r == realpath.Resolve(f.dirs.Root) {
			return
		}
		if slices.ContainsFunc(reached, func(top string) bool { return top != "" && realpath.Within(top, r) }) {
			out = append(out, r)
		}
	}
	seen := 0
	for _, own := range f.own {
		add(own)
		_ = filepath.WalkDir(realpath.Resolve(own), func(p string, e fs.DirEntry, err error) error {
			if seen++; seen > mostLinks {
				return filepath.SkipAll
			}
			if err == nil && e.Type()&fs.ModeSymlink != 0 {
				add(p)
			}
			return nil
		})
	}
	return out
}

// writable lists the folders that commands may write, existing ones only.
func (f *Floor) writable() []string {
	out := []string{}
	for _, w := range f.config.Writable {
		if !filepath.IsAbs(w) {
			w = filepath.Join(f.dirs.Root, w)
		}
		if r, err := filepath.EvalSymlinks(w); err == nil && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	if len(f.config.Writable) == 0 {
		out = append(out, f.dirs.Root)
	}
	return out
}
