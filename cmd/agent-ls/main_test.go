package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agent-ls/hooks/worker"
	"agent-ls/loop/sandbox"
)

// programVariable makes the test binary the program.
const programVariable = "AGENT_LS_TEST_PROGRAM"

// TestMain lets the test binary be the program too: a worker, a sandboxed
// command, or agent-ls itself in scripts.
func TestMain(m *testing.M) {
	sandbox.Main()
	if len(os.Args) > 1 && os.Args[1] == worker.Subcommand {
		worker.Main()
		return
	}
	if os.Getenv(programVariable) != "" {
		os.Exit(mainStatus(os.Args[1:]))
	}
	testscript.Main(m, map[string]func(){"agent-ls": main})
}

// TestScripts runs testdata/*.txtar: what a user types and what they see.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setupScript,
	})
}

// setupScript gives each script a home of its own, and the caches of Go that
// its commands need.
func setupScript(env *testscript.Env) error {
	for name, dir := range map[string]string{
		"HOME":            "home",
		"XDG_CONFIG_HOME": "home/.config",
		"XDG_STATE_HOME":  "home/.local/state",
		"XDG_CACHE_HOME":  "home/.cache",
	} {
		path := filepath.Join(env.WorkDir, filepath.FromSlash(dir))
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		env.Setenv(name, path)
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"} {
		env.Setenv(name, "")
	}
	return nil
}
