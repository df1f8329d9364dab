package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/risor-io/risor"
	"github.com/risor-io/risor/compiler"
	"github.com/risor-io/risor/object"
	"github.com/risor-io/risor/parser"
	"github.com/risor-io/risor/vm"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
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

func percentile(d []time.Duration, p int) float64 {
	d = slices.Clone(d)
	slices.Sort(d)
	return float64(d[len(d)*p/100].Nanoseconds()) / 1e3
}

// timed measures one call after another.
func timed(b *testing.B, n int, call func()) []time.Duration {
	b.Helper()
	out := make([]time.Duration, n)
	for i := range out {
		start := time.Now()
		call()
		out[i] = time.Since(start)
	}
	return out
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

// BenchmarkDecision is a hook decision's round trip through a worker, beside
// the same guard as a process of sh and of python3, as a call of a worker's
// runtime in this process, and as a call of Risor's own machine with nothing
// woven in and nothing decoded, in one run.
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
	timed(b, 200, ask)
	var worker []time.Duration
	for b.Loop() {
		start := time.Now()
		ask()
		worker = append(worker, time.Since(start))
	}
	b.StopTimer()
	if len(worker) < 2000 {
		worker = append(worker, timed(b, 2000, ask)...)
	}
	b.ReportMetric(percentile(worker, 50), "p50-µs")
	b.ReportMetric(percentile(worker, 99), "p99-µs")
	bare := timed(b, 2000, bareGuard(b, f))
	b.ReportMetric(percentile(bare, 50), "bare-vm-p50-µs")
	b.ReportMetric(percentile(worker, 50)/percentile(bare, 50), "times-bare-vm")
	b.ReportMetric(percentile(timed(b, 2000, inProcessGuard(b, f)), 50), "in-process-p50-µs")
	for _, command := range []struct {
		program, script string
		samples         int
	}{{"sh", guardCommand, 50}, {"python3", guardPython, 20}} {
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
		took := timed(b, command.samples, commandGuard(b, f, path, command.script))
		b.ReportMetric(percentile(took, 50), command.program+"-p50-µs")
		b.ReportMetric(percentile(took, 50)/percentile(worker, 50), "times-faster-than-"+command.program)
	}
}

// bareGuard calls the guard in Risor's machine as it is, again and again in
// the same one, with a ctx that is made already.
func bareGuard(b *testing.B, f hooks.Firing) func() {
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
	machine := vm.New(code, cfg.VMOpts()...)
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
	// As JSON has it: no types of ours.
	var fields any
	body, err := json.Marshal(f.Fields)
	if err == nil {
		err = json.Unmarshal(body, &fields)
	}
	if err != nil {
		b.Fatal(err)
	}
	args := []object.Object{object.FromGoType(fields)}
	return func() {
		if answer, err := machine.Call(ctx, fn, args); err != nil || answer != object.Nil {
			b.Fatal(answer, err)
		}
	}
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
func commandGuard(b *testing.B, f hooks.Firing, program, script string) func() {
	body, err := json.Marshal(f.Fields)
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		c := exec.Command(program, "-c", script)
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
	samples := timed(b, min(b.N, 30), func() {
		e := hooks.NewEngine(hooks.Options{})
		defer e.Close()
		set := load(b, e, hooks.Limits{}, on("on_tool_call", "guard.risor", guardScript))
		if o := set.Fire(context.Background(), f); o.Failure != nil {
			b.Fatal(o.Failure.Message)
		}
	})
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(percentile(samples, 50)/1000, "p50-ms")
}
