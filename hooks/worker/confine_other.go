//go:build !linux

package worker

import (
	"os"
	"runtime"

	"agent-ls/hooks/worker/wire"
)

const (
	notHere = "not on " + runtime.GOOS
)

// shared: the server sees no page here, only what it is sent.
func shared(report *wire.Report) (*wire.Page, *os.File) {
	report.LastWords = notHere
	return wire.NewPage(), lifeline()
}

// inherited: nothing looks here; Go opens nothing that is handed on.
func inherited() string { return "not looked at on " + runtime.GOOS }

func hardLimit(int64) string { return notHere + ", a watch inside the worker only" }

// confine has nothing to confine with.
func confine(report *wire.Report) {
	report.Landlock, report.Seccomp = notHere, notHere
}

// try attempts what can be attempted anywhere, for a probe.
func try(what string) string {
	switch what {
	case "open":
		if msg := tryFiles(); msg == "" {
			return "refused"
		}
	case "environment":
		if leftovers() == "" {
			return "empty"
		}
	}
	return ""
}
