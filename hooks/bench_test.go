package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/risor-io/risor"
	"github.com/risor-io/risor/compiler"
	"github.com/risor-io/risor/object"
	"github.com/risor-io/risor/parser"
	"github.com/risor-io/risor/vm"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/measured"
	"agent-ls/hooks/script"
	"agent-ls/hooks/worker/wire"
)

// guardScript is a guard of ten lines as people write them.
const guardScript = `blocked := ["rm -rf", "sudo ", "curl "]
func on_tool_call(ctx) {
    for _, call := range ctx.tool_calls {
        if call.name != "shell" { continue }
        for _, b := range blocked {
            if strings.contains(call.arguments.command, b) { return {action: "deny", reason: 'refused: {b}'} }
        }
    }
    return nil
}
`

// guardCommand is the same guard as a command hook: JSON on standard input.
const guardCommand = `read -r line
case $line in
*'"name":"shell"'*'rm -rf'*|*'"name":"shell"'*'sudo '*|*'"name":"shell"'*'curl '*) echo '{"decision":"deny","reason":"refused"}' ;;
*) echo '{}' ;;
esac
`

// guardFiring has a ctx of about 1 KB.
func guardFiring() hooks.Firing {
	f := batch()
	calls := f.Fields["tool_calls"].([]any)
	for i, c := range calls {
		args := c.(map[string]any)["arguments"].(map[string]any)
		args["path"] = "internal/server/handler.go"
		args["command"] = "go test ./... -run TestHandler -count=1 && git status --short"
		args["description"] = strings.Repeat("x", 90+i)
	}
	return f
}

// guardPython is the same guard for python3, as people write command hooks.
const guardPython = `import json, sys
for call in json.load(sys.stdin)["tool_calls"]:
    if call["name"] == "shell":
        for blocked in ("rm -rf", "sudo ", "curl "):
            if blocked in call["arguments"]["command"]:
                print(json.dumps({"decision": "deny", "reason": "refused"}))
                sys.exit()
print("{}")
`

// guardNode is the same guard for node.
const guardNode = `let text = "";
process.stdin.on("data", d => text += d).on("end", () => {
  for (const call of JSON.parse(text).tool_calls)
    if (call.name === "shell" && ["rm -rf", "sudo ", "curl "].some(b => call.arguments.command.includes(b)))
      return console.log(JSON.stringify({decision: "deny", reason: "refused"}));
  console.log("{}");
});
`

// BenchmarkDecision is a hook decision's round trip through a worker, beside
// the same guard as a process of sh, of python3 and of node, as a call of a
// worker's runtime in this process, and as a call of Risor's own machine with
// nothing woven in and nothing decoded, in one run.
func BenchmarkDecision(b *testing.B) {
	e := newEngine(b, hooks.Options{})
	set := load(b, e, hooks.Limits{}, on("on_tool_call", "guard.risor", guardScript))
	f := guardFiring()
	ctx := context.Background()
	ask := func() {
		if o := set.Fire(ctx, f); o.Action != contract.Allow {
			b.Fatalf("%+v", o.Failure)
		}
	}
	measured.Take(200, ask)
	worker := measured.Take(max(b.N, 2000), ask)
	b.StopTimer()
	measured.Own(b)
	p50 := worker.Micros(0.5)
	measured.Most(b, p50, 80, "p50-µs")
	measured.Most(b, worker.Micros(0.99), 250, "p99-µs")
	bare := measured.Take(2000, bareGuard(b, f)).Micros(0.5)
	b.ReportMetric(bare, "bare-vm-p50-µs")
	b.ReportMetric(measured.Take(500, newMachineGuard(b, f)).Micros(0.5), "bare-vm-new-p50-µs")
	b.ReportMetric(p50/bare, "times-bare-vm")
	b.ReportMetric(measured.Take(2000, inProcessGuard(b, f)).Micros(0.5), "in-process-p50-µs")
	for _, command := range []struct {
		program, flag, script string
		samples               int
		faster                float64
	}{{"sh", "-c", guardCommand, 50, 10}, {"python3", "-c", guardPython, 20, 150}, {"node", "-e", guardNode, 10, 0}} {
		path, err := exec.LookPath(command.program)
		if err != nil {
			continue // not every machine has it
		}
		if command.program == "python3" {
			// Of a version manager's wrapper the start would count as well.
			if real, err := exec.Command(path, "-c", "import sys; sys.stdout.write(sys.executable)").Output(); err == nil {
				path = string(real)
			}
		}
		took := measured.Take(command.samples, commandGuard(b, f, path, command.flag, command.script)).Micros(0.5)
		b.ReportMetric(took, command.program+"-p50-µs")
		if unit := "times-faster-than-" + command.program; command.faster > 0 {
			measured.Least(b, took/p50, command.faster, unit)
		} else {
			b.ReportMetric(took/p50, unit)
		}
	}
}

// BenchmarkHooksOnEvent is what an event costs with so many hooks on it.
func BenchmarkHooksOnEvent(b *testing.B) {
	for _, n := range []int{0, 1, 10, 50} {
		b.Run(fmt.Sprint("hooks=", n), func(b *testing.B) {
			e := newEngine(b, hooks.Options{})
			var declared []hooks.Declaration
			for i := range n {
				declared = append(declared, on("on_tool_call", fmt.Sprintf("guard%d.risor", i), guardScript))
			}
			set := load(b, e, hooks.Limits{}, declared...)
			f := guardFiring()
			ask := func() {
				if o := set.Fire(context.Background(), f); o.Failure != nil || len(o.Decisions) != n {
					b.Fatalf("%d decisions, failure %+v", len(o.Decisions), o.Failure)
				}
			}
			measured.Take(20, ask)
			s := measured.Take(min(max(b.N, 100), 10_000/max(n, 1)), ask)
			measured.Own(b)
			switch n {
			case 0:
				b.ReportMetric(s.Micros(0.5), "p50-µs/event")
				measured.Most(b, testing.AllocsPerRun(100, ask), 0, "allocs/event")
			default:
				b.ReportMetric(s.Micros(0.5), "p50-µs/event")
				measured.Most(b, s.Micros(0.5)/float64(n), 80, "p50-µs/hook")
			}
		})
	}
}

// bareGuard calls the guard in Risor's machine as it is, again and again in
// the same one, with a ctx that is made already.
func bareGuard(b *testing.B, f hooks.Firing) func() {
	machine, args := bareMachine(b), bareArguments(b, f)
	call := machine()
	return func() { call(args) }
}

// newMachineGuard does so in a new machine each time.
func newMachineGuard(b *testing.B, f hooks.Firing) func() {
	machine, args := bareMachine(b), bareArguments(b, f)
	return func() { machine()(args) }
}

// bareMachine compiles the guard; what it gives makes a machine with it.
func bareMachine(b *testing.B) func() (call func(args []object.Object)) {
	ctx := context.Background()
	tree, err := parser.Parse(ctx, guardScript)
	if err != nil {
		b.Fatal(err)
	}
	cfg := risor.NewConfig()
	code, err := compiler.Compile(tree, cfg.CompilerOpts()...)
	if err != nil {
		b.Fatal(err)
	}
	options := cfg.VMOpts()
	return func() func([]object.Object) {
		machine := vm.New(code, options...)
		if err := machine.Run(ctx); err != nil {
			b.Fatal(err)
		}
		found, err := machine.Get("on_tool_call")
		if err != nil {
			b.Fatal(err)
		}
		fn, ok := found.(*object.Function)
		if !ok {
			b.Fatalf("on_tool_call is %s", found.Type())
		}
		return func(args []object.Object) {
			if answer, err := machine.Call(ctx, fn, args); err != nil || answer != object.Nil {
				b.Fatal(answer, err)
			}
		}
	}
}

// bareArguments is the ctx as JSON has it: no types of ours.
func bareArguments(b *testing.B, f hooks.Firing) []object.Object {
	var fields any
	body, err := json.Marshal(f.Fields)
	if err == nil {
		err = json.Unmarshal(body, &fields)
	}
	if err != nil {
		b.Fatal(err)
	}
	return []object.Object{object.FromGoType(fields)}
}

// inProcessGuard calls the guard in a worker's runtime in this process: woven,
// and its ctx decoded each time.
func inProcessGuard(b *testing.B, f hooks.Firing) func() {
	rt := script.New(wire.NewPage())
	if _, bad := rt.Load(wire.Load{ID: 1, Files: []wire.File{{Path: "guard.risor", Text: []byte(guardScript)}}}); bad != nil {
		b.Fatal(bad.Message)
	}
	m := wire.Fire{ID: 1, Function: "on_tool_call", Operations: 100_000, CallDepth: 64, Printed: 1 << 16, Value: 1 << 22, At: f.At.UnixNano()}
	var err error
	if m.Ctx, err = wire.AppendValue(nil, f.Fields, 1<<22); err != nil {
		b.Fatal(err)
	}
	var out []byte
	return func() { out = rt.Fire(m, out[:0], func() bool { return false }) }
}

// commandGuard runs the guard as a command hook without a sandbox.
func commandGuard(b *testing.B, f hooks.Firing, program, flag, script string) func() {
	body, err := json.Marshal(f.Fields)
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		c := exec.Command(program, flag, script)
		c.Stdin = bytes.NewReader(append(body, '\n'))
		if out, err := c.Output(); err != nil || string(bytes.TrimSpace(out)) != "{}" {
			b.Fatalf("%s %v", out, err)
		}
	}
}

// BenchmarkDecisionsAtOnce is what two callers get together.
func BenchmarkDecisionsAtOnce(b *testing.B) {
	e := newEngine(b, hooks.Options{})
	set := load(b, e, hooks.Limits{}, on("on_tool_call", "guard.risor", guardScript))
	b.SetParallelism(max(1, 2/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		f := guardFiring()
		for pb.Next() {
			if o := set.Fire(context.Background(), f); o.Failure != nil {
				b.Error(o.Failure.Message)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

// BenchmarkNoHooks is what an event costs where nothing is declared.
func BenchmarkNoHooks(b *testing.B) {
	e := newEngine(b, hooks.Options{})
	set := load(b, e, hooks.Limits{})
	f := guardFiring()
	b.ReportAllocs()
	for b.Loop() {
		if set.Has("build", "on_tool_call") {
			b.Fatal("there is a hook")
		}
		set.Fire(context.Background(), f)
	}
}

// BenchmarkColdStart is a new engine's first decision: a process is started
// and the script compiled. It takes a few dozen samples, however often it is
// to run.
func BenchmarkColdStart(b *testing.B) {
	f := guardFiring()
	samples := measured.Take(min(b.N, 30), func() {
		e := hooks.NewEngine(hooks.Options{})
		defer e.Close()
		set := load(b, e, hooks.Limits{}, on("on_tool_call", "guard.risor", guardScript))
		if o := set.Fire(context.Background(), f); o.Failure != nil {
			b.Fatal(o.Failure.Message)
		}
	})
	measured.Own(b)
	b.ReportMetric(samples.Millis(0.5), "p50-ms")
}
