//go:build unix

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
)

// plainFloor runs real shells, each in a process group of its own.
type plainFloor struct {
	dir     string
	permits chan struct{}
	most    atomic.Int64
	now     atomic.Int64
}

func newFloor(t *testing.T, permits int) *plainFloor {
	return &plainFloor{dir: t.TempDir(), permits: make(chan struct{}, permits)}
}

func (f *plainFloor) Permit(ctx context.Context) (func(), error) {
	select {
	case f.permits <- struct{}{}:
		return func() { <-f.permits }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *plainFloor) Run(ctx context.Context, c Call) Exit {
	if n := f.now.Add(1); n > f.most.Load() {
		f.most.Store(n)
	}
	defer f.now.Add(-1)
	cmd := exec.Command("sh", "-c", c.Line)
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), c.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 100 * time.Millisecond
	if err := cmd.Start(); err != nil {
		return Exit{Err: err}
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	stopped := !stop()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	var bad *exec.ExitError
	if err != nil && !errors.As(err, &bad) && !errors.Is(err, exec.ErrWaitDelay) {
		return Exit{Err: err, Stopped: stopped}
	}
	code := cmd.ProcessState.ExitCode()
	if code < 0 {
		code = 128 + int(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
	return Exit{Code: code, Stopped: stopped}
}

// session is a set of hooks with its runner.
func session(t *testing.T, floor Floor, list ...Hook) (*hooks.Set, *Runner) {
	t.Helper()
	for i := range list {
		list[i].ID = fmt.Sprint("hook.", i)
	}
	r := New(Options{Hooks: list, Floor: floor, ProcessTime: 700 * time.Millisecond, OuterTime: 1500 * time.Millisecond})
	t.Cleanup(r.Close)
	e := hooks.NewEngine(hooks.Options{})
	t.Cleanup(e.Close)
	set, _, err := e.Load(context.Background(), nil, hooks.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return set.With(nil, r), r
}

func names(list ...string) []any {
	var out []any
	for _, n := range list {
		out = append(out, n)
	}
	return out
}

func preTool() hooks.Firing {
	return hooks.Firing{Event: "pre_tool", CallID: "c1", Fields: map[string]any{
		"run_id": "r1", "session_id": "s1", "call_id": "c1", "name": "shell", "input": map[string]any{"command": "rm x"}, "tool_names": names("shell", "bash", "Bash", "sh"),
	}}
}

func postTool(result string) hooks.Firing {
	f := preTool()
	f.Event = "post_tool"
	f.Fields["result"] = result
	return f
}

// What a command answers to pre_tool, and what comes of it. A failure decides
// nothing, but says that the hook was not heard.
func TestAnswersToPreTool(t *testing.T) {
	for name, tc := range map[string]struct {
		command string
		action  contract.Action
		reason  string
		unheard string
		value   any
	}{
		"continue":                  {`echo '{"decision":"continue"}'`, contract.Allow, "", "", nil},
		"nothing":                   {`true`, contract.Allow, "", "", nil},
		"no JSON":                   {`echo all is well`, contract.Allow, "", "", nil},
		"deny":                      {`echo '{"decision":"deny","message":"not here"}'`, contract.Deny, "not here", "", nil},
		"rewrite":                   {`echo '{"decision":"rewrite","input":{"command":"ls","n":3}}'`, contract.Modify, "", "", map[string]any{"command": "ls", "n": int64(3)}},
		"Claude allow":              {`echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'`, contract.Allow, "", "", nil},
		"Claude deny":               {`echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}'`, contract.Deny, "no", "", nil},
		"Claude ask":                {`echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"is it safe?"}}'`, contract.Allow, "", "is it safe?", nil},
		"Claude block":              {`echo '{"decision":"block","reason":"no"}'`, contract.Deny, "no", "", nil},
		"deny and allow":            {`echo '{"decision":"deny","message":"no","hookSpecificOutput":{"permissionDecision":"allow"}}'`, contract.Deny, "no", "", nil},
		"approve and deny":          {`echo '{"decision":"approve","hookSpecificOutput":{"permissionDecision":"deny"}}'`, contract.Deny, "", "", nil},
		"ask and allow":             {`echo '{"decision":"ask","message":"safe?","hookSpecificOutput":{"permissionDecision":"allow"}}'`, contract.Allow, "", "safe?", nil},
		"one of two misspelt":       {`echo '{"decision":"allow","hookSpecificOutput":{"permissionDecision":"dney"}}'`, contract.Allow, "", `did you mean "deny"?`, nil},
		"a key in the wrong place":  {`echo '{"continue":true,"permissionDecision":"deny"}'`, contract.Allow, "", `did you mean "hookSpecificOutput.permissionDecision"?`, nil},
		"exit 2":                    {`echo "not on my watch" >&2; exit 2`, contract.Deny, "not on my watch", "", nil},
		"exit 1":                    {`echo broken >&2; exit 1`, contract.Allow, "", "exit status 1: broken", nil},
		"killed":                    {`kill -9 $$`, contract.Allow, "", "exit status 137", nil},
		"no such command":           {`/no/such/thing`, contract.Allow, "", "exit status 127", nil},
		"unknown decision":          {`echo '{"decision":"dney"}'`, contract.Allow, "", `did you mean "deny"?`, nil},
		"misspelt key":              {`echo '{"decison":"deny"}'`, contract.Allow, "", `did you mean "decision"?`, nil},
		"wrong type":                {`echo '{"decision":7}'`, contract.Allow, "", "malformed", nil},
		"a list":                    {`echo '[1]'`, contract.Allow, "", "no JSON object", nil},
		"JSON of another event":     {`echo '{"result":"x"}'`, contract.Allow, "", "another event", nil},
		"answers another event":     {`echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","permissionDecision":"deny"}}'`, contract.Allow, "", "PostToolUse", nil},
		"rewrite without input":     {`echo '{"decision":"rewrite"}'`, contract.Allow, "", "needs an input", nil},
		"input is a list":           {`echo '{"decision":"rewrite","input":[]}'`, contract.Allow, "", "object of arguments", nil},
		"never reads stdin":         {`exec 0<&-; sleep 0.05; echo '{"decision":"deny"}'`, contract.Deny, "", "", nil},
		"never closes stdout":       {`sleep 30`, contract.Allow, "", "took longer than", nil},
		"grandchild holds pipe":     {`sleep 30 & echo '{"decision":"deny","message":"m"}'`, contract.Deny, "m", "", nil},
		"65 KiB of output":          {`head -c 66560 /dev/zero | tr '\0' x`, contract.Allow, "", "more than 65536 bytes", nil},
		"endless output":            {`yes`, contract.Allow, "", "more than 65536 bytes", nil},
		"much on stderr":            {`head -c 900000 /dev/zero >&2; echo '{"decision":"deny"}'`, contract.Deny, "", "", nil},
		"identity is not its own":   {`test "$HOTL_HOOK_EVENT $AGENT_LS_HOOK_EVENT $MINE" = "pre_tool pre_tool yes" || exit 1`, contract.Allow, "", "", nil},
		"both names of the event":   {`grep -q '"event":"pre_tool".*"hookEventName":"PreToolUse"' || exit 1`, contract.Allow, "", "", nil},
		"each spelling of the tool": {`grep '"name":"shell"' | grep '"tool":"bash"' | grep -q '"tool_name":"Bash"' || exit 1`, contract.Allow, "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, _ := session(t, newFloor(t, 8), Hook{Event: "pre_tool", Command: tc.command,
				Env: map[string]string{"MINE": "yes", "HOTL_HOOK_EVENT": "post_tool", "AGENT_LS_HOOK_EVENT": "post_tool"}})
			began := time.Now()
			out := set.Fire(context.Background(), preTool())
			if out.Failure != nil || out.Action != tc.action || out.Reason != tc.reason {
				t.Errorf("outcome %v %q, failure %+v", out.Action, out.Reason, out.Failure)
			}
			if tc.unheard == "" && out.Unheard != "" || tc.unheard != "" && !strings.Contains(out.Unheard, tc.unheard) {
				t.Errorf("unheard %q, want %q", out.Unheard, tc.unheard)
			}
			if got := fmt.Sprint(out.Value); tc.value != nil && got != fmt.Sprint(tc.value) {
				t.Errorf("value %s, want %v", got, tc.value)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if d := out.Decisions; len(d) != 1 || d[0].Hook.Command != tc.command || d[0].Event != "pre_tool" || d[0].CallID != "c1" {
				t.Errorf("decisions %+v", d)
			}
		})
	}
}

// Several hooks run at once and fold in declared order, never by who is first.
func TestFoldInDeclaredOrder(t *testing.T) {
	deny, slow := `sleep 0.1; echo '{"decision":"deny","message":"slow no"}'`, `sleep 0.1; echo '{"decision":"rewrite","input":{"command":"one"}}'`
	fast := `echo '{"decision":"rewrite","input":{"command":"two"}}'`
	set, _ := session(t, newFloor(t, 8), Hook{Event: "pre_tool", Command: slow}, Hook{Event: "pre_tool", Command: fast})
	out := set.Fire(context.Background(), preTool())
	if out.Action != contract.Modify || out.Value.(map[string]any)["command"] != "one" || out.Decisions[0].HookID != "hook.0" {
		t.Errorf("outcome %+v", out)
	}
	set, _ = session(t, newFloor(t, 8), Hook{Event: "pre_tool", Command: fast}, Hook{Event: "pre_tool", Command: deny}, Hook{Event: "pre_tool", Command: "exit 1"})
	if out = set.Fire(context.Background(), preTool()); out.Action != contract.Deny || out.Reason != "slow no" || out.Unheard == "" || len(out.Decisions) != 3 {
		t.Errorf("outcome %+v", out)
	}
}

func TestMatchers(t *testing.T) {
	for matcher, want := range map[string]bool{"": true, "*": true, "bash,write": true, "shell": true, " Bash ": true, "sh": true, "write": false, "BASH": false, "bas": false} {
		set, _ := session(t, newFloor(t, 8), Hook{Event: "pre_tool", Matcher: matcher, Command: "exit 2"})
		if got := set.Fire(context.Background(), preTool()).Action == contract.Deny; got != want {
			t.Errorf("matcher %q: %t, want %t", matcher, got, want)
		}
	}
}

// post_tool commands are a chain: two redactions both hold.
func TestPostToolIsAChain(t *testing.T) {
	replace := func(from, to string) string {
		return fmt.Sprintf(`r=$(sed 's/.*"result":"\([^"]*\)".*/\1/' | sed s/%s/%s/); echo "{\"result\":\"$r\"}"`, from, to)
	}
	set, _ := session(t, newFloor(t, 8), Hook{Event: "post_tool", Command: replace("alice", "A")}, Hook{Event: "post_tool", Command: "exit 1"}, Hook{Event: "post_tool", Command: replace("bob", "B")})
	out := set.Fire(context.Background(), postTool("alice and bob"))
	if out.Action != contract.Modify || out.Value != "A and B" || len(out.Decisions) != 3 || out.Unheard != "" {
		t.Errorf("outcome %+v", out)
	}
	for _, command := range []string{`echo '{"decision":"deny"}'`, `echo '{}'`, `echo nothing`} {
		set, _ := session(t, newFloor(t, 8), Hook{Event: "post_tool", Command: command})
		if out := set.Fire(context.Background(), postTool("x")); out.Action != contract.Allow || out.Decisions[0].Action != "allow" {
			t.Errorf("%s: outcome %+v", command, out)
		}
	}
}

// A long result is cut and marked; coming back as it was shown, it is the
// whole original.
func TestALongResultComesBackWhole(t *testing.T) {
	long := strings.Repeat("é", 3000)
	echo := `r=$(sed 's/.*"result":"\([^"]*\)".*/\1/'); printf '{"result":"%s"}' "$r" >seen; cat seen`
	floor := newFloor(t, 8)
	set, _ := session(t, floor, Hook{Event: "post_tool", Command: echo})
	if out := set.Fire(context.Background(), postTool(long)); out.Action != contract.Allow {
		t.Errorf("outcome %v", out.Action)
	}
	seen, err := os.ReadFile(filepath.Join(floor.dir, "seen"))
	if err != nil || len(seen) > MaxResult+100 || !strings.Contains(string(seen), "6000 bytes") {
		t.Errorf("%v; it saw %d bytes", err, len(seen))
	}
	set, _ = session(t, newFloor(t, 8), Hook{Event: "post_tool", Command: `echo '{"result":"short"}'`})
	if out := set.Fire(context.Background(), postTool(long)); out.Value != "short" {
		t.Errorf("outcome %+v", out)
	}
	// The input of pre_tool is never cut.
	f := preTool()
	f.Fields["input"] = map[string]any{"command": strings.Repeat("x", 100_000)}
	set, _ = session(t, newFloor(t, 8), Hook{Event: "pre_tool", Command: `test $(wc -c) -gt 200000 || exit 1`})
	if out := set.Fire(context.Background(), f); out.Unheard != "" {
		t.Errorf("unheard %q", out.Unheard)
	}
}

func TestContextOfPromptsIsJoinedAndBounded(t *testing.T) {
	prompt := hooks.Firing{Event: "user_prompt", Fields: map[string]any{"prompt": "go"}}
	set, _ := session(t, newFloor(t, 8),
		Hook{Event: "user_prompt", Command: `sleep 0.05; echo '{"hookSpecificOutput":{"additionalContext":"one"}}'`},
		Hook{Event: "user_prompt", Command: `echo '{"additionalContext":"two"}'`},
		Hook{Event: "user_prompt", Command: `exit 1`})
	if out := set.Fire(context.Background(), prompt); out.Action != contract.Modify || out.Value != "one\n\ntwo" || out.Unheard != "" {
		t.Errorf("outcome %+v", out)
	}
	set, _ = session(t, newFloor(t, 8), Hook{Event: "user_prompt", Command: `printf '{"additionalContext":"'; head -c 20000 /dev/zero | tr '\0' x; printf '"}'`})
	if out := set.Fire(context.Background(), prompt); len(out.Value.(string)) != MaxContext {
		t.Errorf("%d characters", len(out.Value.(string)))
	}
}

func TestStop(t *testing.T) {
	for command, want := range map[string]contract.Action{
		`echo '{"decision":"block","reason":"run the tests"}'`: contract.Deny,
		`echo '{"decision":"allow"}'`:                          contract.Allow,
		`echo '{"result":"x"}'`:                                contract.Allow,
		`echo "run the tests" >&2; exit 2`:                     contract.Deny,
		`exit 1`:                                               contract.Allow,
		`grep -q '"outcome":"all done"' && exit 2`:             contract.Deny,
	} {
		set, _ := session(t, newFloor(t, 8), Hook{Event: "stop", Command: command})
		out := set.Fire(context.Background(), hooks.Firing{Event: "stop", Fields: map[string]any{"output": "all done"}})
		if out.Action != want || out.Failure != nil {
			t.Errorf("%s: %v %+v", command, out.Action, out.Failure)
		}
	}
}

// Three failures in a session evict a hook, and its neighbours go on; one that
// is required is never evicted and fails closed.
func TestEviction(t *testing.T) {
	floor := newFloor(t, 8)
	set, r := session(t, floor, Hook{Event: "pre_tool", Command: "echo x >>ran; exit 1"}, Hook{Event: "pre_tool", Command: `echo '{"decision":"deny","message":"still here"}'`})
	for range 5 {
		out := set.Fire(context.Background(), preTool())
		if out.Unheard == "" || out.Reason != "still here" {
			t.Errorf("outcome %+v", out)
		}
	}
	if ran, _ := os.ReadFile(filepath.Join(floor.dir, "ran")); strings.Count(string(ran), "x") != MaxStrikes || !r.o.Strikes.Evicted("hook.0") || r.o.Strikes.Evicted("hook.1") {
		t.Errorf("it ran %d times", strings.Count(string(ran), "x"))
	}
	set, _ = session(t, floor, Hook{Event: "pre_tool", Command: "echo y >>needed; exit 1", Required: true})
	for range 5 {
		if out := set.Fire(context.Background(), preTool()); out.Failure == nil || out.Action != contract.Failed || !strings.Contains(out.Failure.Message, "exit status 1") {
			t.Errorf("outcome %+v", out)
		}
	}
	if ran, _ := os.ReadFile(filepath.Join(floor.dir, "needed")); strings.Count(string(ran), "y") != 5 {
		t.Errorf("the required one ran %d times", strings.Count(string(ran), "y"))
	}
}

func TestAnUntrustedCommandDoesNotRun(t *testing.T) {
	floor := newFloor(t, 8)
	set, _ := session(t, floor, Hook{Event: "pre_tool", Command: "touch ran", Trusted: func(context.Context) error { return errors.New("it changed since it was trusted") }})
	if out := set.Fire(context.Background(), preTool()); !strings.Contains(out.Unheard, "changed since") {
		t.Errorf("outcome %+v", out)
	}
	if _, err := os.Stat(filepath.Join(floor.dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// A cancel ends it at once, and is no strike.
func TestCancelMeanwhile(t *testing.T) {
	set, r := session(t, newFloor(t, 8), Hook{Event: "pre_tool", Command: "sleep 30"})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	set.Fire(ctx, preTool())
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
	r.o.Strikes.mu.Lock()
	defer r.o.Strikes.mu.Unlock()
	if len(r.o.Strikes.counts) != 0 {
		t.Errorf("strikes %v", r.o.Strikes.counts)
	}
}

// A storm of notifications shares the permits and holds nobody up; a drain
// waits for them.
func TestAStormOfNotifications(t *testing.T) {
	floor := newFloor(t, 8)
	set, r := session(t, floor, Hook{Event: "notification", Command: "echo x >>rang"})
	r.o.OuterTime, r.o.ProcessTime = time.Minute, time.Minute
	began := time.Now()
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			set.Fire(context.Background(), hooks.Firing{Event: "notification", Fields: map[string]any{"kind": "blocked", "detail": "d"}})
		})
	}
	all.Wait()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the run was held up for %v", took)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r.Drain(ctx)
	rang, _ := os.ReadFile(filepath.Join(floor.dir, "rang"))
	if n := strings.Count(string(rang), "x"); n != 200 || floor.most.Load() > 8 {
		t.Errorf("%d rang, at most %d at once", n, floor.most.Load())
	}
}

// Whether a hook is trusted is asked when its process may start, not before a
// wait in which its files may change.
func TestTrustIsAskedBehindThePermit(t *testing.T) {
	floor := newFloor(t, 1)
	held := -1
	set, _ := session(t, floor, Hook{Event: "pre_tool", Command: "true", Trusted: func(context.Context) error {
		held = len(floor.permits)
		return nil
	}})
	if out := set.Fire(context.Background(), preTool()); out.Unheard != "" || held != 1 {
		t.Errorf("trust was asked with %d permits taken, want 1; unheard %q", held, out.Unheard)
	}
}
