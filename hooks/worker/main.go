// Package worker is the process that hook scripts run in: a second start of
// the own binary that gives up the machine before it reads its first script.
// Start at Main. The server's side is package pool below it; what goes between
// them is package wire.
package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"agent-ls/hooks/script"
	"agent-ls/hooks/worker/wire"
)

// Subcommand is the first argument that makes the binary a worker. A main
// function, and the TestMain of every test that fires hooks, looks for it
// before anything else and calls Main.
const Subcommand = wire.Subcommand

const (
	maxStack    = 32 << 20 // bytes: ends endless comparisons and prints at once
	gcPercent   = 100
	exitSetup   = 3
	exitGarbled = 4
)

// Main is a worker's whole life. It never returns.
func Main() {
	memory, attempt := arguments()
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(gcPercent)
	debug.SetMaxStack(maxStack)
	debug.SetTraceback("none")
	time.Local = time.UTC // what the machine says must not matter

	var report wire.Report
	page, life := shared(&report)
	go func() { // ends with the process: the server is gone when this returns
		wait(life)
		os.Exit(0)
	}()
	rt := script.New(page)
	report.Environment = leftovers()
	report.Descriptors = inherited()
	grown := bound(memory, &report)
	confine(&report)
	report.Files = tryFiles()
	if attempt != "" {
		send(os.Stdout, append(make([]byte, wire.FrameHead), try(attempt)...))
		os.Exit(0)
	}
	send(os.Stdout, report.Append(make([]byte, wire.FrameHead)))
	serve(rt, os.Stdin, os.Stdout, grown)
	os.Exit(0)
}

// arguments are the memory limit in bytes and, for a probe, what to attempt.
func arguments() (memory int64, attempt string) {
	if len(os.Args) < 3 {
		fatal("this command is for agent-ls itself")
	}
	memory, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil || memory <= 0 {
		fatal("memory limit " + strconv.Quote(os.Args[2]) + " is no number of bytes")
	}
	if len(os.Args) > 3 {
		attempt = os.Args[3]
	}
	return memory, attempt
}

func fatal(msg string) {
	fmt.Fprintln(os.Stderr, "script worker: "+msg)
	os.Exit(exitSetup)
}

func send(w io.Writer, frame []byte) {
	if err := wire.WriteFrame(w, frame); err != nil {
		os.Exit(0) // the server is gone
	}
}

// serve answers one request after the other until the server closes its end.
func serve(rt *script.Runtime, in io.Reader, out io.Writer, grown func() bool) {
	rt.Answers((&host{in: in, out: out}).ask)
	var request, reply []byte
	for {
		var err error
		request, err = wire.ReadFrame(in, request, wire.MaxFrame)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			garbled(err)
		}
		reply = append(reply[:0], make([]byte, wire.FrameHead)...)
		reply, err = answer(rt, request, reply, grown)
		if err != nil {
			garbled(err)
		}
		send(out, reply)
		rt.Rest()
	}
}

func garbled(err error) {
	fmt.Fprintln(os.Stderr, "script worker: request:", err)
	os.Exit(exitGarbled)
}

// host is the server as a script sees it that asks something in the middle of
// its firing. Its buffer is its own: the request's still holds the ctx.
type host struct {
	in  io.Reader
	out io.Writer
	buf []byte
}

// keepBuffer is how large a buffer may be that is kept for the next question.
const keepBuffer = 1 << 20

// ask waits until the server tells, on the one goroutine that runs scripts.
func (h *host) ask(a wire.Ask) ([]byte, error) {
	send(h.out, a.Append(make([]byte, wire.FrameHead)))
	frame, err := wire.ReadFrame(h.in, h.buf, wire.MaxFrame)
	if h.buf = frame; cap(frame) > keepBuffer {
		h.buf = nil
	}
	if errors.Is(err, io.EOF) {
		os.Exit(0) // the server is gone
	}
	if err != nil {
		garbled(err)
	}
	r := wire.NewReader(frame)
	if op := wire.Op(r.Byte()); op != wire.OpTold {
		garbled(fmt.Errorf("a question is answered with %q", op))
	}
	told, err := wire.ReadTold(r)
	if err != nil {
		garbled(err)
	}
	return told, nil
}

// answer appends the reply to one request.
func answer(rt *script.Runtime, request, reply []byte, grown func() bool) ([]byte, error) {
	r := wire.NewReader(request)
	switch op := wire.Op(r.Byte()); op {
	case wire.OpLoad:
		l, err := wire.ReadLoad(r)
		if err != nil {
			return nil, err
		}
		ready, bad := rt.Load(l)
		if bad != nil {
			return bad.Append(reply), nil
		}
		return ready.Append(reply), nil
	case wire.OpFire:
		f, err := wire.ReadFire(r)
		if err != nil {
			return nil, err
		}
		return rt.Fire(f, reply, grown), nil
	default:
		return nil, fmt.Errorf("nothing is asked with %q", op)
	}
}

// leftovers says what is in the environment that should be empty.
func leftovers() string {
	for _, v := range os.Environ() {
		if runtime.GOOS == "windows" && len(v) > 11 && v[:11] == "SYSTEMROOT=" {
			continue // Go adds it: nothing starts without
		}
		return "there are variables"
	}
	return ""
}

// tryFiles says whether files can be opened.
func tryFiles() string {
	f, err := os.Open(string(os.PathSeparator))
	if err == nil {
		f.Close()
		return "files can be opened"
	}
	return ""
}
