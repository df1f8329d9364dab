package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervise starts the confined command and is the parent of all that it
// leaves behind, so that nothing outlives it. Descriptor 3 brings the spec and
// stays open as long as our own parent lives.
func supervise() int {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	lifeline := os.NewFile(3, "lifeline")
	text, err := readSpec(lifeline)
	if err != nil {
		fmt.Fprintf(os.Stderr, "agent-ls: the sandbox got no orders: %v\n", err)
		return 126
	}
	pid, err := startConfined(text)
	if err != nil {
		fmt.Fprintf(os.Stderr, "agent-ls: the sandbox could not start: %v\n", err)
		return 126
	}
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, lifeline)
		ended <- unix.SIGTERM
	}()
	go func() { // ends with the process
		<-ended
		sweep()
		os.Exit(128 + int(unix.SIGKILL))
	}()
	code := reap(pid)
	sweep()
	return code
}

// readSpec reads a length in decimal, a line end, and that many bytes.
func readSpec(r io.Reader) ([]byte, error) {
	n, one := 0, make([]byte, 1)
	for {
		if _, err := io.ReadFull(r, one); err != nil {
			return nil, err
		}
		if one[0] == '\n' {
			break
		}
		if one[0] < '0' || one[0] > '9' || n > 1<<24 {
			return nil, fmt.Errorf("malformed length")
		}
		n = n*10 + int(one[0]-'0')
	}
	text := make([]byte, n)
	_, err := io.ReadFull(r, text)
	return text, err
}

// startConfined starts this program as the confined part.
func startConfined(text []byte) (int, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	p, err := os.StartProcess(self, []string{self, confineArg}, &os.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=2"}, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, r},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL},
	})
	_ = r.Close()
	if err != nil {
		return 0, err
	}
	if _, err := io.Copy(w, bytes.NewReader(text)); err != nil {
		return 0, err
	}
	return p.Pid, w.Close()
}

// reap waits for children until the confined command has ended.
func reap(pid int) int {
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 126
		case got == pid && ws.Signaled():
			return 128 + int(ws.Signal())
		case got == pid && ws.Exited():
			return ws.ExitStatus()
		}
	}
}

// sweep kills every descendant. A killed one's children become ours, so that
// it ends when no child is left.
func sweep() {
	for range 1000 {
		children := descendants()
		for _, c := range children { // first none of them forks on
			_ = unix.Kill(c, unix.SIGSTOP)
		}
		for _, c := range children {
			_ = unix.Kill(c, unix.SIGKILL)
		}
		for {
			got, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err == unix.ECHILD {
				return
			}
			if err == nil && got > 0 || err == unix.EINTR {
				continue
			}
			break
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 500_000}, nil)
	}
}

// descendants are the processes below this one, as far as /proc tells.
func descendants() []int {
	var out []int
	queue := []int{os.Getpid()}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
		for _, t := range tasks {
			b, _ := os.ReadFile(t)
			for _, f := range strings.Fields(string(b)) {
				if c, err := strconv.Atoi(f); err == nil {
					out, queue = append(out, c), append(queue, c)
				}
			}
		}
	}
	return out
}
