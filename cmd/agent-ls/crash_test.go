package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/lsp/lsptest"
)

// crashRehearsal is the demo's run with a command whose effect can be counted
// and without expectations: an interrupted call answers differently.
const crashRehearsal = `turns:
  - text: "I look."
    tool_calls:
      - { name: read_file, arguments: { path: "calc_test.go" } }
      - { name: read_file, arguments: { path: "calc.go" } }
  - text: "Add subtracts."
  - text: "I clear the build output first."
    tool_calls:
      - { name: shell, arguments: { command: "sudo -n env A=1 rm -rf build" } }
  - text: "I change the operator."
    tool_calls:
      - { name: read_file, arguments: { path: "calc.go" } }
      - { name: edit, arguments: { path: "calc.go", old_string: "return a - b", new_string: "return a + b" } }
  - text: "I note it."
    tool_calls:
      - { name: shell, arguments: { command: "echo first >> effects.log" } }
  - text: "And again."
    tool_calls:
      - { name: shell, arguments: { command: "echo second >> effects.log" } }
  - text: "Fixed."
`

// TestKillAndResume kills the server with SIGKILL at twenty random moments of
// the demo's run, each in a workspace of its own, and resumes it: the history
// is well-formed, the run ends once, and nothing with effects ran twice.
func TestKillAndResume(t *testing.T) {
	// The first run also fills caches: the shorter of two is how long one takes.
	whole := min(crashRun(t, t.TempDir(), nil, true), crashRun(t, t.TempDir(), nil, true))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d; a run takes %s", seed, whole)
	random := rand.New(rand.NewPCG(seed, 1))
	interrupted := 0
	for i := range 20 {
		delay := time.Duration(random.Int64N(int64(whole)))
		t.Run(fmt.Sprintf("after %s (%d)", delay.Round(time.Millisecond), i), func(t *testing.T) {
			dir := t.TempDir()
			crashRun(t, dir, func(cmd *exec.Cmd) {
				<-time.After(delay) // the moment, not a wait for something
				cmd.Process.Kill()
			}, true)
			if crashRun(t, dir, nil, false) > 0 {
				interrupted++
			}
			checkHistory(t, dir)
		})
	}
	// A kill before the run was admitted or after its end proves nothing.
	if interrupted < 3 {
		t.Errorf("only %d of 20 kills cut a run off (seed %d)", interrupted, seed)
	}
}

// crashRun starts the server in dir and a run, or resumes the one that is
// there, and returns how long the run took. kill runs beside it, unless it is nil.
func crashRun(t *testing.T, dir string, kill func(*exec.Cmd), fresh bool) time.Duration {
	t.Helper()
	root := filepath.Join(dir, "calc")
	if fresh {
		writeCrashWorkspace(t, root)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--stdio")
	cmd.Env = append(crashEnv(dir), programVariable+"=1")
	cmd.Stderr = os.Stderr
	editor := lsptest.Command(t, cmd)
	editor.On("agent/approve", func(json.RawMessage) (any, error) {
		return map[string]any{"outcome": "allowOnce"}, nil
	})
	editor.On("agent/event", func(json.RawMessage) (any, error) { return nil, nil })
	editor.Initialize(map[string]any{"experimental": map[string]any{"agent": map[string]any{
		"version": 1, "approvals": true, "events": true, "decisions": true,
	}}}, lsptest.Folder((&url.URL{Scheme: "file", Path: root}).String()))
	begun := time.Now()
	if !fresh {
		if !resumeNewest(t, editor) {
			return 0
		}
	} else {
		// A kill may come before the answer does.
		pending := editor.Send("agent/start", map[string]any{"prompt": demoPrompt})
		go func() { _ = pending.Result(nil) }()
	}
	killed := make(chan struct{})
	if kill != nil {
		go func() { kill(cmd); close(killed) }()
	}
	deadline := time.After(lsptest.Patience)
	for !finished(editor) {
		select {
		case <-killed:
			_ = editor.Wait()
			return time.Since(begun)
		case <-time.After(2 * time.Millisecond):
		case <-deadline:
			t.Fatalf("the run has not ended; events: %s", lastEvents(editor))
		}
	}
	if kill != nil {
		<-killed
		_ = editor.Wait()
	}
	return time.Since(begun)
}

// crashEnv keeps everything of a test below dir.
func crashEnv(dir string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "NO_COLOR=1"}
	for _, name := range []string{"STATE", "CONFIG", "CACHE"} {
		env = append(env, "XDG_"+name+"_HOME="+filepath.Join(dir, strings.ToLower(name)))
	}
	return env
}

func writeCrashWorkspace(t *testing.T, root string) {
	t.Helper()
	for _, f := range txtar.Parse(demoArchive).Files {
		name, data := f.Name, f.Data
		switch name {
		case ".agent-ls/hooks/guard.risor":
			continue
		case fixedGuard:
			name = ".agent-ls/hooks/guard.risor"
		case ".agent-ls/rehearsal/fix-test.yaml":
			data = []byte(crashRehearsal)
		}
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// resumeNewest resumes the newest session and tells whether there is a run to
// wait for.
func resumeNewest(t *testing.T, editor *lsptest.Editor) bool {
	t.Helper()
	var list struct{ Sessions []report.Session }
	editor.Must("agent/sessions", map[string]any{"limit": 1}, &list)
	if len(list.Sessions) == 0 {
		return false // killed before the run was admitted: nothing is lost
	}
	var resumed struct{ RunID *string }
	editor.Must("agent/resume", map[string]any{"sessionId": list.Sessions[0].SessionID}, &resumed)
	return resumed.RunID != nil
}

func finished(editor *lsptest.Editor) bool {
	for _, m := range editor.Messages("agent/event") {
		var e report.Event
		if json.Unmarshal(m.Params, &e) == nil && e.Type == report.RunFinished {
			return true
		}
	}
	return false
}

func lastEvents(editor *lsptest.Editor) string {
	var b strings.Builder
	for _, m := range editor.Messages("agent/event") {
		b.Write(m.Params)
		b.WriteByte('\n')
	}
	return b.String()
}

// checkHistory reads what is on record after the resume.
func checkHistory(t *testing.T, dir string) {
	t.Helper()
	root := filepath.Join(dir, "calc")
	s, ok := recordedSession(t, dir)
	if !ok {
		return
	}
	started, ended := map[string]int{}, map[string]int{}
	for i, e := range s.Events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has seq %d", i, e.Seq)
		}
		switch e.Type {
		case report.ToolStarted:
			started[e.CallID]++
		case report.ToolFinished:
			ended[e.CallID]++
			if e.Outcome == string(loop.CallError) || e.Outcome == string(loop.CallInvalid) {
				t.Errorf("call %s ended as %s: %v", e.CallID, e.Outcome, e.Output)
			}
		case report.RunFinished:
			if i != len(s.Events)-1 {
				t.Errorf("run_finished is event %d of %d", i+1, len(s.Events))
			}
			if e.Status != report.Done {
				t.Errorf("the run ended %s: %s", e.Status, e.Error)
			}
		}
	}
	if last := s.Events[len(s.Events)-1]; last.Type != report.RunFinished {
		t.Errorf("the last event is %s", last.Type)
	}
	for call := range started {
		if ended[call] != 1 {
			t.Errorf("call %s ended %d times", call, ended[call])
		}
	}
	effects, _ := os.ReadFile(filepath.Join(root, "effects.log"))
	for _, line := range []string{"first", "second"} {
		if n := strings.Count(string(effects), line+"\n"); n > 1 {
			t.Errorf("the command that wrote %q ran %d times", line, n)
		}
	}
	code, err := os.ReadFile(filepath.Join(root, "calc.go"))
	if err != nil {
		t.Fatal(err)
	}
	if minus, plus := strings.Count(string(code), "return a - b"), strings.Count(string(code), "return a + b"); minus+plus != 1 {
		t.Errorf("calc.go is neither the old text nor the new one:\n%s", code)
	}
}

// recordedSession reads the newest session with the program itself; false if
// there is none.
func recordedSession(t *testing.T, dir string) (shown, bool) {
	t.Helper()
	var list []report.Session
	if err := json.Unmarshal(program(t, dir, "sessions", "list", "--json"), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return shown{}, false
	}
	var s shown
	if err := json.Unmarshal(program(t, dir, "sessions", "show", "--json", list[0].SessionID), &s); err != nil {
		t.Fatal(err)
	}
	return s, true
}

// program runs agent-ls in the test's workspace and returns what it prints.
func program(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"-C", filepath.Join(dir, "calc")}, args...)...)
	cmd.Env = append(crashEnv(dir), programVariable+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("agent-ls %s: %v", strings.Join(args, " "), err)
	}
	return out
}
