package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agent-ls/hooks/worker/wire"
)

const (
	startLimit = 20 * time.Second // from start to the first message
	maxStderr  = 8 << 10
	keepBuffer = 1 << 20 // a larger buffer is not kept for the next request
	maxLoaded  = 256     // scripts in one process; it is replaced then
)

// process is one worker. It is used by one caller at a time; killing it is
// safe from anywhere.
type process struct {
	cmd    *exec.Cmd
	in     *os.File // requests
	out    *os.File // replies
	life   *os.File // closed with the server, however it ends; nil on Windows
	page   *wire.Page
	unmap  func()
	dir    string // its empty folder, where that outlives its start
	stderr tail
	report wire.Report
	done   chan struct{} // closed once it is gone and reaped
	killed atomic.Pointer[ending]

	loaded map[uint32]wire.Ready
	seq    uint32
	buf    []byte // replies
	wbuf   []byte // requests
	worn   bool   // to be replaced
}

// ending is why the server killed a worker.
type ending struct {
	kind FailureKind
	msg  string
}

// tail keeps the first words of what a dying worker says.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := maxStderr - t.b.Len(); room > 0 {
		t.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// pipes are the ends that go to the child and are closed here once it runs.
type pipes struct{ mine, theirs []*os.File }

func (p *pipes) pair(read bool) (mine, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	mine, theirs = w, r
	if read {
		mine, theirs = r, w
	}
	p.mine = append(p.mine, mine)
	p.theirs = append(p.theirs, theirs)
	return mine, theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// launch starts the process without waiting for its first message.
func launch(o Options, attempt string) (*process, error) {
	var ends pipes
	p := &process{done: make(chan struct{}), loaded: map[uint32]wire.Ready{}}
	fail := func(err error) (*process, error) {
		closeAll(ends.mine)
		closeAll(ends.theirs)
		if p.unmap != nil {
			p.unmap()
		}
		if p.dir != "" {
			os.Remove(p.dir)
		}
		return nil, fmt.Errorf("start a script worker: %w", err)
	}
	var stdin, stdout *os.File
	var err error
	if p.in, stdin, err = ends.pair(false); err != nil {
		return fail(err)
	}
	if p.out, stdout, err = ends.pair(true); err != nil {
		return fail(err)
	}
	if p.dir, err = emptyFolder(); err != nil {
		return fail(err)
	}
	args := []string{wire.Subcommand, strconv.FormatInt(o.Memory, 10)}
	if attempt != "" {
		args = append(args, attempt)
	}
	p.cmd = exec.Command(o.Executable, args...)
	p.cmd.Env = []string{} // nil would hand ours on
	p.cmd.Dir = p.dir
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, &p.stderr
	if err = p.handOver(&ends); err != nil {
		return fail(err)
	}
	keepToOurselves()
	if err = p.cmd.Start(); err != nil {
		return fail(err)
	}
	closeAll(ends.theirs)
	if removableInUse && os.Remove(p.dir) == nil {
		p.dir = "" // it lives as long as it is somebody's folder
	}
	go func() { // ends with the process
		p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// emptyFolder makes a folder in which nothing is and nothing can be made.
func emptyFolder() (string, error) {
	dir, err := os.MkdirTemp("", "agent-ls-worker-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o500)
}

// start starts a worker and waits until it is ready.
func start(ctx context.Context, o Options) (*process, error) {
	p, err := launch(o, "")
	if err != nil {
		return nil, err
	}
	frame, err := p.exchange(ctx, nil, startLimit, ending{Infrastructure, "it did not answer in time"})
	if err == nil {
		r := wire.NewReader(frame)
		if wire.Op(r.Byte()) != wire.OpHello {
			err = errors.New("its first message is not its report")
		} else {
			p.report, err = wire.ReadReport(r)
		}
	}
	if err != nil {
		p.close()
		if k := p.killed.Load(); k != nil && k.msg != "" {
			err = errors.New(k.msg)
		}
		return nil, fmt.Errorf("start a script worker: %w%s", err, p.lastWords())
	}
	return p, nil
}

// lastWords are the first line of what a dead worker said, for a message.
func (p *process) lastWords() string {
	first, _, _ := strings.Cut(strings.TrimSpace(p.stderr.String()), "\n")
	if first == "" {
		return ""
	}
	return ": " + first
}

// kill ends the process. The first reason counts.
func (p *process) kill(why ending) {
	p.killed.CompareAndSwap(nil, &why)
	p.cmd.Process.Kill()
}

// dead tells whether the process is gone.
func (p *process) dead() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// close ends the process and gives back all that it holds.
func (p *process) close() {
	p.kill(ending{Infrastructure, ""})
	<-p.done
	p.in.Close()
	p.out.Close()
	if p.life != nil {
		p.life.Close()
	}
	if p.unmap != nil {
		p.unmap()
		p.page = nil
	}
	if p.dir != "" {
		os.Remove(p.dir)
	}
}

// timed is exchange for a request of several parts: it gives what is left of
// the limit.
func (p *process) timed(ctx context.Context, request []byte, limit time.Duration, late ending) ([]byte, time.Duration, error) {
	start := time.Now()
	frame, err := p.exchange(ctx, request, limit, late)
	return frame, limit - time.Since(start), err
}

// exchange sends a request, if there is one, and waits for the reply, no
// longer than the limit and the context. After an error the process is dead
// or dying.
func (p *process) exchange(ctx context.Context, request []byte, limit time.Duration, late ending) ([]byte, error) {
	timer := time.AfterFunc(limit, func() { p.kill(late) })
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, func() {
			p.kill(ending{Infrastructure, "cancelled: " + context.Cause(ctx).Error()})
		})
	}
	var err error
	if request != nil {
		err = wire.WriteFrame(p.in, request)
	}
	var frame []byte
	if err == nil {
		frame, err = wire.ReadFrame(p.out, p.buf, wire.MaxFrame)
		if p.buf = frame; cap(frame) > keepBuffer {
			p.buf = nil
		}
	}
	// Either may have run just now: the answer counts, the process does not.
	inTime, wanted := timer.Stop(), stop()
	if !inTime || !wanted {
		p.worn = true
	}
	return frame, err
}
