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

// BenchmarkDecision is a hook decision's round trip through a worker, beside
// the same guard as a process of sh and as a bare call of the machine in this
// process, in one run.
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
	if _, err := exec.LookPath("sh"); err != nil {
		return
	}
	sh := timed(b, 50, shGuard(b, f))
	b.ReportMetric(percentile(sh, 50), "sh-p50-µs")
	b.ReportMetric(percentile(sh, 50)/percentile(worker, 50), "times-faster-than-sh")
}

// bareGuard calls the guard in this process, with nothing around it.
func bareGuard(b *testing.B, f hooks.Firing) func() {
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

// shGuard runs the guard as a command hook without a sandbox.
func shGuard(b *testing.B, f hooks.Firing) func() {
	body, err := json.Marshal(f.Fields)
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		c := exec.Command("sh", "-c", guardCommand)
		c.Stdin = bytes.NewReader(append(body, '\n'))
		if out, err := c.Output(); err != nil || !bytes.Equal(out, []byte("{}\n")) {
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
