package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	if os.Getenv(languageServerVariable) != "" {
		languageServer(os.Stdin, os.Stdout)
		return
	}
	if os.Getenv(programVariable) != "" {
		if n, err := strconv.ParseInt(os.Getenv(killVariable), 10, 64); err == nil && n > 0 {
			dieAtEvent(n)
		}
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
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": wantStatus},
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

// wantStatus is `status N PROGRAM ARGS…`: the program must end with just that
// exit status.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM ARGS…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}
