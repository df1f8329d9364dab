//go:build unix

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterruptEndsTheRun sends SIGINT while a command runs: status 130, the
// command is gone, the run is on record as cancelled.
func TestInterruptEndsTheRun(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "calc")
	files := map[string]string{
		".agent-ls/agent.toml": "[agent]\nname = \"a\"\nmodel = \"m\"\n\n[models.m]\nprovider = \"rehearsal\"\nscript = \"r.yaml\"\n\n[stages.work]\ntools = [\"*\"]\n",
		".agent-ls/r.yaml":     "turns:\n  - tool_calls:\n      - { name: shell, arguments: { command: \"sleep 300\" } }\n  - text: \"never said\"\n",
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-C", root, "run", "--mode", "auto", "--json", "sleep")
	cmd.Env = append(crashEnv(dir), programVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		last = lines.Text()
		if strings.Contains(last, `"type":"tool_started"`) {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != statusInterrupted {
		t.Errorf("the run ended with %v, want status %d", err, statusInterrupted)
	}
	if !strings.Contains(last, `"type":"run_finished"`) || !strings.Contains(last, `"status":"cancelled"`) {
		t.Errorf("the last event is %s, want a run_finished that was cancelled", last)
	}
}
