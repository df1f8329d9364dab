package run

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// real makes the rig's runs use the built-in tools, the real rules and real
// scripts in real workers.
func (r *rig) real(scripts map[string]string) *hooks.Engine {
	r.t.Helper()
	engine := hooks.NewEngine(hooks.Options{})
	r.t.Cleanup(engine.Close)
	r.svc.opt.Hooks = engine
	r.svc.equip = r.svc.realGear
	a := &r.config.Agents[0]
	a.Hooks = nil
	for place, text := range scripts {
		stage, point, _ := strings.Cut(place, "/")
		path := filepath.Join(r.dir, "ws", "hooks", stage+"_"+point+".risor")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
		a.Hooks = append(a.Hooks, hooks.Declaration{ID: "stages." + stage + ".hooks." + point, Event: point, Stage: stage, Path: path})
	}
	return engine
}

const guard = `func on_tool_call(ctx) {
    for _, call := range ctx.tool_calls {
        if call.name == "read_file" && call.arguments.path == "secret.txt" {
            return hook.deny("secrets stay secret")
        }
    }
    return hook.allow()
}
`

func TestRealScriptsRulesAndTools(t *testing.T) {
	r := newRig(t)
	engine := r.real(map[string]string{"work/on_tool_call": guard})
	r.config.Policy = manifest.Policy{Default: "ask", Rules: []manifest.Rule{{Verdict: "deny", Text: "read_file(denied*)"}}}
	r.file("calc.go", "package calc\n\nfunc Add(a, b int) int { return a - b }\n")
	r.file("secret.txt", "psst")
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	r.model.turns = []turn{
		{calls: []string{`read_file {"path":"secret.txt"}`}},
		{calls: []string{`read {"path":"calc.go"}`, `read_file {"path":"denied.txt"}`}},
		{calls: []string{`edit {"path":"calc.go","old_string":"a - b","new_string":"a + b"}`}},
		{text: "Fixed."},
	}
	s := r.start("fix it")
	end := r.wait(s.RunID)
	if end.Status != report.Done || *end.Output != "Fixed." {
		t.Fatalf("end %s %s; events:\n%s", end.Status, end.Error, r.screen.text())
	}
	if got := r.resultText(1); got != "denied by a hook: secrets stay secret" {
		t.Errorf("the guarded read: %q", got)
	}
	if got := r.content(filepath.Join(r.dir, "ws", "calc.go")); !strings.Contains(got, "a + b") {
		t.Errorf("calc.go is %q", got)
	}
	denied := r.model.requests()[2].Messages
	if got := denied[len(denied)-1].Blocks[1].Result; got.Outcome != loop.CallDenied {
		t.Errorf("the denied read: %+v", got)
	}
	if n := len(r.screen.shown); n != 1 || len(r.screen.shown[0].Hooks) != 1 || r.screen.shown[0].Hooks[0].Hook.At.Start.Line == 0 {
		t.Errorf("%d approvals: %+v", n, r.screen.shown)
	}
	if engine.Stats().WorkersStarted == 0 {
		t.Error("no worker was started for a stage with hooks")
	}
	list, err := r.svc.Hooks(context.Background())
	if err != nil || len(list) != 1 || list[0].Counts.Fired != 3 || list[0].Counts.Denied != 1 || list[0].LastRun == nil || list[0].Kind != "stage" {
		t.Errorf("hooks %+v, %v", list, err)
	}
	undone, err := r.svc.Undo(context.Background(), s.RunID, "", false)
	if err != nil || len(undone.Edits) != 1 || !strings.Contains(r.content(filepath.Join(r.dir, "ws", "calc.go")), "a - b") {
		t.Errorf("undo %+v, %v", undone, err)
	}
}

func TestAStageWithoutHooksStartsNoWorker(t *testing.T) {
	r := newRig(t)
	engine := r.real(nil)
	r.file("a.txt", "x")
	r.model.turns = []turn{{calls: []string{`read_file {"path":"a.txt"}`}}, {text: "ok"}}
	r.wait(r.start("x").RunID)
	if got := engine.Stats(); got.WorkersStarted != 0 || got.Firings != 0 {
		t.Errorf("stats %+v", got)
	}
}

// A failing hook never lets a call through, and says where it failed.
func TestBrokenScriptsFailClosed(t *testing.T) {
	few := hooks.Limits{Operations: 1000}
	short := hooks.Limits{Operations: 1 << 40, Time: 200 * time.Millisecond}
	tests := map[string]struct {
		script, want string
		limits       hooks.Limits
	}{
		"throws":            {"func on_tool_call(ctx) {\n    json.unmarshal(\"{\")\n    return hook.allow()\n}\n", "work_on_tool_call.risor:2:", few},
		"malformed":         {"func on_tool_call(ctx) {\n    x := json.unmarshal(\"[1]\")\n    return x\n}\n", "work_on_tool_call.risor:3:", few},
		"operation budget":  {"func on_tool_call(ctx) {\n    n := 0\n    for i := range 1000000 {\n        n += i\n    }\n    return hook.allow()\n}\n", "operation budget", few},
		"time":              {"func on_tool_call(ctx) {\n    n := 0\n    for {\n        n += 1\n    }\n}\n", "200ms", short},
		"an absent element": {"func on_tool_call(ctx) {\n    call := ctx.tool_calls[len(ctx.tool_calls)]\n    return hook.deny(call.name)\n}\n", "work_on_tool_call.risor:2:", few},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { failsClosed(t, tt.script, tt.want, tt.limits, func() {}) })
	}
}

var columned = regexp.MustCompile(`work_on_tool_call\.risor:\d+:\d+`)

// failsClosed runs a call through a hook that breaks. While it runs,
// meanwhile is called again and again.
func failsClosed(t *testing.T, script, want string, limits hooks.Limits, meanwhile func()) {
	r := newRig(t)
	r.real(map[string]string{"work/on_tool_call": script})
	r.config.HookLimits = limits
	r.model.turns = []turn{{calls: []string{`write_file {"path":"out.txt","content":"x"}`}}}
	ended := make(chan report.Event, 1)
	s := r.start("x")
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		e, err := r.svc.Wait(ctx, s.RunID)
		if err != nil {
			e.Error = err.Error()
		}
		ended <- e
	}()
	var end report.Event
	for over := false; !over; {
		select {
		case end = <-ended:
			over = true
		case <-time.After(100 * time.Millisecond):
			meanwhile()
		}
	}
	if end.Status != report.Failed || end.StopReason != report.StopHook || !strings.Contains(end.Error, want) || !columned.MatchString(end.Error) {
		t.Errorf("end %s %s %q, want %q and a place with its column", end.Status, end.StopReason, end.Error, want)
	}
	if got := r.content(filepath.Join(r.dir, "ws", "out.txt")); got != "<none>" {
		t.Error("the tool ran")
	}
}

func TestScriptsThatCannotRunStopTheStart(t *testing.T) {
	for name, script := range map[string]string{
		"missing function": "func on_tool_cal(ctx) {\n    return nil\n}\n",
		"syntax":           "func on_tool_call(ctx) {\n    return {\n",
		"unknown field":    "func on_tool_call(ctx) {\n    return ctx.tool_call\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.real(map[string]string{"work/on_tool_call": script})
			_, err := r.svc.Start(context.Background(), StartParams{Prompt: "x"})
			var cannot *CannotStart
			if !errors.As(err, &cannot) || len(cannot.Findings) == 0 || !strings.HasSuffix(cannot.Findings[0].Path, "work_on_tool_call.risor") {
				t.Errorf("error %v", err)
			}
			if len(r.model.requests()) > 0 {
				t.Error("the model was asked")
			}
		})
	}
}

func TestResumeWithPinnedScripts(t *testing.T) {
	r := newRig(t)
	r.real(map[string]string{"work/on_tool_call": guard})
	r.model.asking = make(chan struct{}, 1)
	r.model.turns = []turn{{calls: []string{`read_file {"path":"a.txt"}`}}, {hold: true}, {calls: []string{`read_file {"path":"secret.txt"}`}}, {calls: []string{`edit {"path":"a.txt","old_string":"x","new_string":"y"}`}}, {text: "ok"}}
	r.file("a.txt", "x")
	s := r.start("x")
	<-r.model.asking
	hooksOf := r.config.Agents[0].Hooks
	r.close()
	r.screen = newScreen()
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	r.open()
	r.svc.opt.Hooks = hooks.NewEngine(hooks.Options{})
	t.Cleanup(r.svc.opt.Hooks.Close)
	r.svc.equip = r.svc.realGear
	if err := os.WriteFile(hooksOf[0].Path, []byte("broken now"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.resume(s.SessionID)
	if end := r.wait(s.RunID); end.Status != report.Done {
		t.Fatalf("end %+v", end.Error)
	}
	if got := r.resultText(3); got != "denied by a hook: secrets stay secret" {
		t.Errorf("after the resume: %q", got)
	}
	// What the dead process had read counts as read.
	if got := r.content(filepath.Join(r.dir, "ws", "a.txt")); got != "y" {
		t.Errorf("a.txt is %q: %s", got, r.resultText(4))
	}
}

func TestExplain(t *testing.T) {
	r := newRig(t)
	r.real(map[string]string{"work/on_tool_call": guard})
	r.config.Policy = manifest.Policy{Default: "ask"}
	r.file("a.txt", "x")
	tests := map[string]struct {
		tool, args string
		outcome    loop.Verdict
		layer      loop.Layer
		because    string
	}{
		"allowed": {"read", `{"path":"a.txt"}`, loop.VerdictAllow, loop.LayerRule, ""},
		"guarded": {"read_file", `{"path":"secret.txt"}`, loop.VerdictDeny, loop.LayerHook, "secrets stay secret"},
		"invalid": {"read_file", `{"pth":1}`, loop.VerdictDeny, loop.LayerSchema, `did you mean "path"?`},
		"unknown": {"read_fil", `{}`, loop.VerdictDeny, loop.LayerSchema, `did you mean "read_file"?`},
		"asks":    {"write_file", `{"path":"new.txt","content":"x"}`, loop.VerdictAsk, loop.LayerApproval, "a person is asked"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			x, err := r.svc.Explain(context.Background(), tt.tool, json.RawMessage(tt.args), "")
			if err != nil {
				t.Fatal(err)
			}
			last := x.Steps[len(x.Steps)-1]
			if x.Outcome != tt.outcome || tt.outcome != loop.VerdictAllow && last.Layer != tt.layer || !strings.Contains(last.Because, tt.because) {
				t.Errorf("%s: %+v", x.Outcome, x.Steps)
			}
		})
	}
	r.svc.opt.Manifest = func(context.Context) (*manifest.Config, []check.Finding) {
		return r.config, []check.Finding{{Path: filepath.Join(r.dir, "ws", "agent.toml"), Severity: check.Error, Code: "missing-file", Message: "no such file: guard.risor"}}
	}
	x, err := r.svc.Explain(context.Background(), "read_file", json.RawMessage(`{"path":"a.txt"}`), "")
	if err != nil || x.Outcome != loop.VerdictDeny || len(x.Steps) != 1 || x.Steps[0].Because != "no run starts: no such file: guard.risor" || x.Steps[0].Source != "agent.toml" {
		t.Errorf("a broken agent: %+v, %v", x, err)
	}
	r.svc.opt.Manifest = func(context.Context) (*manifest.Config, []check.Finding) { return r.config, nil }
	if list, _, err := r.svc.Decisions(context.Background(), DecisionQuery{}); err != nil || len(list) != 0 {
		t.Errorf("explaining left decisions: %v, %v", list, err)
	}
	if _, err := r.svc.Explain(context.Background(), "read_file", nil, "wrk"); !errors.Is(err, ErrUnknownID) {
		t.Errorf("an unknown stage: %v", err)
	}
}
