//go:build unix

package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks"
	"agent-ls/hooks/command"
	"agent-ls/hooks/contract"
)

// shells runs command hooks in real shells.
type shells struct{ dir string }

func (shells) Permit(context.Context) (func(), error) { return func() {}, nil }

func (s shells) Run(ctx context.Context, c command.Call) command.Exit {
	cmd := exec.CommandContext(ctx, "sh", "-c", c.Line)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), c.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	err := cmd.Run()
	var bad *exec.ExitError
	if err != nil && !errors.As(err, &bad) {
		return command.Exit{Err: err}
	}
	return command.Exit{Code: cmd.ProcessState.ExitCode(), Stopped: ctx.Err() != nil}
}

// saidByCommand is how a command says the case's answer, "" where it has no
// way to: a command neither answers in a call's place nor ends a run. reason
// says whether a reason goes with it.
func (c corpusCase) saidByCommand(t *testing.T) (says map[string]any, reason bool) {
	t.Helper()
	because := c.answer["reason"]
	switch c.event.Name + " " + c.action.String() {
	case "pre_tool allow", "post_tool allow", "user_prompt allow", "stop allow", "notification allow", "session_end allow":
		return map[string]any{"decision": "continue"}, false
	case "pre_tool deny":
		return map[string]any{"decision": "deny", "message": because}, true
	case "stop deny":
		return map[string]any{"decision": "block", "reason": because}, true
	case "pre_tool modify":
		return map[string]any{"decision": "rewrite", "message": because, "input": c.answer["value"]}, true
	case "post_tool modify":
		return map[string]any{"result": c.answer["value"]}, false
	case "user_prompt modify":
		return map[string]any{"hookSpecificOutput": map[string]any{"additionalContext": c.answer["value"]}}, false
	case "pre_tool substitute", "pre_tool cancel":
		return nil, false
	}
	if c.event.Honours(c.action) {
		t.Errorf("%s: how does a command say that?", c.name())
	}
	return nil, false
}

// byCommand fires the case at a command that prints what it is to say.
func byCommand(t *testing.T, e *hooks.Engine, says map[string]any, input hooks.Firing) hooks.Outcome {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(says)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "answer"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	runner := command.New(command.Options{Floor: shells{dir}, Hooks: []command.Hook{{ID: "hook.0", Event: input.Event, Command: "cat >seen; cat answer"}}})
	defer runner.Close()
	set, _, err := e.Load(context.Background(), nil, hooks.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return set.With(nil, runner).Fire(context.Background(), input)
}

// What a command can say to an event has the effect that the same answer of a
// Go handler has. What the event does not honour is an error that names both.
func TestCommandsAndHandlersHaveOneEffect(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	names, seen := contract.CommandEvents(), map[string]bool{}
	for _, c := range corpus() {
		if !slices.Contains(names, c.event.Name) {
			continue
		}
		seen[c.event.Name] = true
		if _, has := c.input.Fields["tool_names"]; has {
			c.input.Fields["tool_names"] = []any{"shell", "bash", "Bash"}
		}
		if c.event.Name == "user_prompt" {
			c.input.Fields["additional_context"] = "" // what commands add is joined to what is there
		}
		says, reason := c.saidByCommand(t)
		if !c.event.Honours(c.action) {
			checkCommandRefused(t, e, c)
			continue
		}
		if says == nil {
			continue
		}
		if !reason {
			c.answer = maps.Clone(c.answer)
			delete(c.answer, "reason")
		}
		set, _, err := e.Load(context.Background(), nil, hooks.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		inGo := set.With(c.handler(t), nil).Fire(context.Background(), c.input)
		inShell := byCommand(t, e, says, c.input)
		if d := cmp.Diff(effectOf(t, inGo), effectOf(t, inShell)); d != "" {
			t.Errorf("%s (-go +command):\n%s", c.name(), d)
		}
		if from := inShell.Decisions[0].Hook; from.Command == "" || from.ExitStatus != 0 || inShell.Decisions[0].HookID != "hook.0" {
			t.Errorf("%s: the command's record says that %+v decided", c.name(), from)
		}
	}
	if len(seen) != len(names) {
		t.Errorf("the corpus has %v, want all of %v", slices.Sorted(maps.Keys(seen)), names)
	}
}

// checkCommandRefused says to an event, in the plain way, what it does not
// honour. post_tool leaves a result and stop lets the model stop at anything
// that they do not know, as hotl's do; watchers' output is not read.
func checkCommandRefused(t *testing.T, e *hooks.Engine, c corpusCase) {
	t.Helper()
	o := byCommand(t, e, map[string]any{"decision": c.action.String(), "reason": "x"}, c.input)
	if o.Action != contract.Allow || o.Failure != nil {
		t.Errorf("%s in command form: outcome %+v", c.name(), o)
	}
	switch c.event.Name {
	case "post_tool", "stop", "notification", "session_end":
		return
	}
	if says := message(o); !strings.Contains(says, c.event.Name) || !strings.Contains(says, strconv.Quote(c.action.String())) {
		t.Errorf("%s in command form: the error %q names not both event and action", c.name(), says)
	}
	if c.event.PerCall && o.Unheard == "" {
		t.Errorf("%s in command form: rules may still allow the call", c.name())
	}
}
