package rpc

import (
	"context"
	"time"
)

// processInterval is how often the client's process is looked for. The end of
// input is seen at once; this is for clients that leave the pipe open.
const processInterval = time.Second

// watchProcess calls gone once, when no process has this id any more. It ends
// with ctx.
func watchProcess(ctx context.Context, pid int, gone func()) {
	ticker := time.NewTicker(processInterval)
	defer ticker.Stop()
	for processAlive(pid) {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	gone()
}
