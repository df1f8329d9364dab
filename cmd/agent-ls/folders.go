package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"agent-ls/hooks/check"
	"agent-ls/loop/agent"
	"agent-ls/loop/manifest"
	"agent-ls/loop/redact"
	"agent-ls/loop/run"
	"agent-ls/loop/sandbox"
	"agent-ls/loop/tool"
	"agent-ls/loop/trust"
)

// folders are the places that a command works with: the workspace, and the
// user's own state, cache and configuration.
type folders struct {
	root       string // "" = found from the current folder
	userConfig string
	state      string
	cache      string
	trust      *trust.Store // what the user trusts of workspaces, opened when it is asked
}

func (f *folders) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&f.root, "root", "C", "", "the workspace (default: the nearest folder upwards with .agent-ls, else the current one)")
	flags.StringVar(&f.userConfig, "config", "", "the user's configuration file (default: agent-ls/config.toml in the configuration folder)")
}

// resolve fills in what no flag has set.
func (f *folders) resolve() error {
	if f.root == "" {
		cwd, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find the current folder: %w", err)
		}
		f.root = workspaceOf(cwd)
	}
	root, err := filepath.Abs(f.root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return fmt.Errorf("workspace %s: %w", f.root, err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return fmt.Errorf("workspace %s: not a folder", f.root)
	}
	f.root = root
	return f.resolvePlaces()
}

// resolvePlaces fills in the user's folders, for commands that have no
// workspace of their own.
func (f *folders) resolvePlaces() error {
	home, err := os.UserHomeDir()
	if err != nil && !filepath.IsAbs(os.Getenv("XDG_STATE_HOME")) {
		return fmt.Errorf("find the state folder: %w", err)
	}
	if f.userConfig != "" {
		// Running without the rules of a file that was named would be a gate left open.
		if info, err := os.Stat(f.userConfig); err != nil {
			return &statusError{statusUsage, fmt.Sprintf("--config: %v", err)}
		} else if !info.Mode().IsRegular() {
			return &statusError{statusUsage, fmt.Sprintf("--config: %s is not a regular file", f.userConfig)}
		}
	} else {
		f.userConfig = filepath.Join(xdg("XDG_CONFIG_HOME", home, ".config"), "agent-ls", "config.toml")
		if _, err := os.Lstat(f.userConfig); err == nil {
			if _, err := os.Stat(f.userConfig); err != nil {
				return &statusError{statusUsage, fmt.Sprintf("the user's configuration is a link to nothing: %v", err)}
			}
		}
	}
	if f.state == "" {
		f.state = filepath.Join(xdg("XDG_STATE_HOME", home, ".local", "state"), "agent-ls")
	}
	f.trust = trust.New(f.state)
	if f.cache == "" {
		f.cache = filepath.Join(xdg("XDG_CACHE_HOME", home, ".cache"), "agent-ls")
	}
	return nil
}

// xdg returns the folder that a variable names; a relative one does not
// count, as the XDG base directory specification says.
func xdg(variable, home string, fallback ...string) string {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(append([]string{home}, fallback...)...)
}

// workspaceOf is the nearest folder upwards that has an agent, else dir.
func workspaceOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, ".agent-ls")); err == nil && info.IsDir() {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// sources are the layers of configuration for this workspace.
func (f *folders) sources() manifest.Sources {
	return manifest.Sources{
		Root:       f.root,
		UserConfig: f.userConfig,
		Environ:    os.Environ(),
		Trust:      f.trust,
	}
}

// open makes the agent of this workspace for a front end. Nothing runs until
// it is asked for.
func (f *folders) open(frontend run.Frontend, log *slog.Logger) (*agent.Agent, error) {
	return agent.Open(agent.Params{
		Root: f.root, StateDir: f.state, CacheDir: f.cache,
		Manifest: func(ctx context.Context) (*manifest.Config, []check.Finding) {
			return manifest.Load(ctx, f.sources())
		},
		Files: tool.Disk(f.root), Frontend: frontend, Version: version, Log: log,
	})
}

// quiet is the log of commands that talk to a person themselves: warnings on
// standard error, the rest only when AGENT_LS_LOG asks for it.
func quiet() *slog.Logger {
	level := slog.LevelWarn
	if text := os.Getenv("AGENT_LS_LOG"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			level = slog.LevelDebug
		}
	}
	return slog.New(masking(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
}

// masking keeps secrets out of what a log handler writes.
func masking(to slog.Handler) slog.Handler {
	return redact.New(os.Environ(), sandbox.Secret).Handler(to)
}
