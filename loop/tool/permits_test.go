package tool

import (
	"context"
	"runtime"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/sandbox"
)

func TestCommandsTakePermits(t *testing.T) {
	permits := sandbox.NewPermits(1)
	b := newBench(t, nil, func(o *Options) { o.Permits = permits })
	b.wants(b.call("shell", args{"command": "echo one"}), loop.CallOK, "one")
	other, err := permits.Take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan loop.ToolResult, 1)
	go func() { ended <- b.callWith(ctx, "shell", args{"command": "echo never"}, func(*loop.Invocation) {}) }()
	for waiting := 0; waiting == 0; _, waiting = permits.Out() {
		runtime.Gosched()
		if len(ended) > 0 {
			t.Fatalf("the command did not wait: %v", <-ended)
		}
	}
	cancel()
	b.wants(<-ended, loop.CallCancelled)
	other()
	b.wants(b.call("shell", args{"command": "echo two"}), loop.CallOK, "two")
	if taken, waiting := permits.Out(); taken+waiting != 0 {
		t.Errorf("Out() = %d, %d at the end, want none", taken, waiting)
	}
}
