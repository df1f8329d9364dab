package rpc

import (
	"context"
	"time"
)

// processInterval is how often the client's process is looked for. The end of
// input is seen at once; this is for clients that leave the pipe open.
const processInterval = time.Second

// watchProcess calls gone once, when no process has this id any more. It ends
// with ctx. The first look is not at once: the answer to initialize comes
// before the end in any case.
func watchProcess(ctx context.Context, pid int, gone func()) {
	ticker := time.NewTicker(processInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !processAlive(pid) {
			gone()
			return
		}
	}
}
