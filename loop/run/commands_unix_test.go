//go:build unix

package run

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/event"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/sandbox"
	"agent-ls/loop/trust"
)

// command declares a command hook of the user's.
func (r *rig) command(hookEvent, line string, set ...func(*manifest.CommandHook)) {
	c := manifest.CommandHook{Event: hookEvent, Command: line, Trust: manifest.Trust{
		ID: "hook." + string(rune('0'+len(r.config.Commands))), Trusted: true, State: trust.NotNeeded,
	}}
	for _, s := range set {
		s(&c)
	}
	r.config.Commands = append(r.config.Commands, c)
}

// A whole run with all six: the call is refused, the result redacted, the
// prompt has its reminder, the model is kept from stopping once, the bell rings
// and the session is cleaned up before the process ends.
func TestCommandHooksOfARun(t *testing.T) {
	r := newRig(t)
	r.real(nil)
	r.file("a.txt", "the password is hunter2\n")
	r.command("user_prompt", `echo '{"hookSpecificOutput":{"additionalContext":"use pnpm"}}'`)
	r.command("pre_tool", `grep -q secret && echo '{"decision":"deny","message":"no secrets"}'; true`, func(c *manifest.CommandHook) { c.Matcher = "Read" })
	r.command("post_tool", `sed 's/.*//' >/dev/null; echo '{"result":"redacted"}'`)
	r.command("stop", `test -e told && exit 0; touch told; echo '{"decision":"block","reason":"run the tests"}'`)
	r.command("notification", `cat >rang`)
	r.command("session_end", `touch cleaned`)
	r.model.turns = []turn{{calls: []string{`read_file {"path":"secret.txt"}`, `read_file {"path":"a.txt"}`}}, {text: "done"}, {text: "really done"}}
	s := r.start("go")
	if end := r.wait(s.RunID); end.Status != report.Done || *end.Output != "really done" {
		t.Fatalf("end %+v; events:\n%s", end, r.screen.text())
	}
	asked := r.model.requests()
	if got := asked[0].Messages; len(got) != 2 || !strings.Contains(got[1].Blocks[0].Text, "use pnpm") {
		t.Errorf("the first request: %+v", got)
	}
	results := asked[1].Messages[len(asked[1].Messages)-1].Blocks
	if results[0].Result.Text != "denied by a hook: no secrets" || results[1].Result.Text != "redacted" {
		t.Errorf("results %q and %q", results[0].Result.Text, results[1].Result.Text)
	}
	if last := asked[2].Messages[len(asked[2].Messages)-1].Blocks; !strings.Contains(last[len(last)-1].Text, "run the tests") {
		t.Errorf("the reminder: %+v", last)
	}
	r.svc.Drain()
	if got := r.content(filepath.Join(r.dir, "ws", "rang")); !strings.Contains(got, `"hookEventName":"Notification"`) {
		t.Errorf("the bell heard %q", got)
	}
	r.close()
	r.open()
	if _, err := os.Stat(filepath.Join(r.dir, "ws", "cleaned")); err != nil {
		t.Error("session_end was not waited for")
	}
}

// After a pre_tool hook that failed no rule allows that call: it asks, and
// what would cover more than the call is not offered.
func TestACallWhoseHookFailedAsks(t *testing.T) {
	for name, line := range map[string]string{"fails": "exit 1", "asks": `echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}'`} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.real(nil)
			r.file("a.txt", "x")
			r.command("pre_tool", line)
			r.config.Policy = manifest.Policy{Default: "ask", Rules: []manifest.Rule{{Verdict: "allow", Text: "read_file(*)"}}}
			r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
			r.model.turns = []turn{{calls: []string{`read_file {"path":"a.txt"}`}}, {text: "done"}}
			r.wait(r.start("go").RunID)
			if len(r.screen.shown) != 1 {
				t.Fatalf("%d approvals; events:\n%s", len(r.screen.shown), r.screen.text())
			}
			a := r.screen.shown[0]
			if a.Covers.Session != "" || a.Covers.Always != "" || !strings.Contains(strings.Join(a.Why, " "), map[string]string{"fails": "exit status 1", "asks": "sure?"}[name]) {
				t.Errorf("approval %+v", a)
			}
		})
	}
}

func TestARequiredHookFailsClosed(t *testing.T) {
	r := newRig(t)
	r.real(nil)
	r.file("a.txt", "x")
	r.command("pre_tool", "exit 7", func(c *manifest.CommandHook) { c.Required = true })
	r.model.turns = []turn{{calls: []string{`read_file {"path":"a.txt"}`}}, {text: "done"}}
	if end := r.wait(r.start("go").RunID); end.Status != report.Failed || !strings.Contains(end.Error, "exit status 7") {
		t.Errorf("end %+v", end)
	}
}

// A rewrite goes through everything that the model's own arguments go through.
func TestARewriteIsJudgedLikeAnyCall(t *testing.T) {
	r := newRig(t)
	r.real(nil)
	r.file("a.txt", "x")
	r.command("pre_tool", `echo '{"decision":"rewrite","input":{"path":"denied.txt"}}'`)
	r.config.Policy = manifest.Policy{Default: "ask", Rules: []manifest.Rule{{Verdict: "deny", Text: "read_file(denied*)"}}}
	r.model.turns = []turn{{calls: []string{`read_file {"path":"a.txt"}`}}, {text: "done"}}
	r.wait(r.start("go").RunID)
	if got := r.resultText(1); !strings.Contains(got, "denied") {
		t.Errorf("the result is %q", got)
	}
}

// What a rule denies to read is hidden from command hooks as from every other
// command.
func TestCommandHooksSeeNoDeniedFile(t *testing.T) {
	r := newRig(t)
	r.real(nil)
	if !sandbox.Detect(r.config.Sandbox, sandbox.Dirs{Root: r.svc.opt.Root, State: r.svc.opt.StateDir, Cache: r.svc.opt.CacheDir}).InForce() {
		if runtime.GOOS == "linux" {
			t.Fatal("no sandbox here, and Linux has one")
		}
		t.Skip("this platform hides no files from commands; doctor says so")
	}
	r.file("denied.txt", "hunter2")
	r.file("a.txt", "plain")
	r.config.Policy = manifest.Policy{Default: "ask", Rules: []manifest.Rule{{Verdict: "deny", Text: "read_file(denied*)"}}}
	r.command("user_prompt", `cat a.txt denied.txt >seen 2>/dev/null; true`)
	r.model.turns = []turn{{text: "done"}}
	r.wait(r.start("go").RunID)
	if got := r.content(filepath.Join(r.dir, "ws", "seen")); got != "plain" {
		t.Errorf("the hook saw %q", got)
	}
}

// A workspace's command runs at no event before it is trusted.
func TestAnUntrustedCommandRunsAtNoEvent(t *testing.T) {
	r := newRig(t)
	r.real(nil)
	r.file("a.txt", "x")
	for _, e := range contract.CommandEvents() {
		r.command(e, "touch ran", func(c *manifest.CommandHook) {
			c.Trust = manifest.Trust{ID: c.ID, Workspace: true, State: trust.Untrusted}
		})
	}
	r.model.turns = []turn{{calls: []string{`read_file {"path":"a.txt"}`}}, {text: "done"}}
	r.wait(r.start("go").RunID)
	r.close()
	r.open()
	if _, err := os.Stat(filepath.Join(r.dir, "ws", "ran")); err == nil {
		t.Error("it ran")
	}
}

// The hooks of a program that embeds the service come before everything else.
func TestABusInARun(t *testing.T) {
	r := newRig(t)
	r.real(nil)
	r.file("a.txt", "x")
	bus := &hooks.Bus{}
	hooks.On(bus, "embedder", func(_ context.Context, e *event.ToolGate) (hooks.Answer, error) {
		return hooks.Answer{Action: contract.Substitute, Value: "from the host: " + e.Name}, nil
	})
	r.svc.opt.Bus = bus
	r.command("pre_tool", "touch ran")
	r.model.turns = []turn{{calls: []string{`read_file {"path":"a.txt"}`}}, {text: "done"}}
	r.wait(r.start("go").RunID)
	if got := r.resultText(1); got != "from the host: read_file" {
		t.Errorf("the result is %q", got)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "ws", "ran")); err == nil {
		t.Error("a command ran for a call that was answered already")
	}
}
