package hooks

import (
	"log/slog"
	"runtime"
	"sync"
	"time"

	"agent-ls/hooks/syntax"
	"agent-ls/hooks/textfile"
	"agent-ls/hooks/worker/pool"
	"agent-ls/hooks/worker/wire"
)

// Options are what an Engine needs. Zero means the default.
type Options struct {
	Log *slog.Logger
	// ReadFile reads a script whose text a declaration does not carry, and
	// what scripts import; from the disk by default. An editor's open texts go in here.
	ReadFile func(path string) ([]byte, error)
	// Executable is started as a worker; the running binary. Its main must
	// call worker.Main when its first argument is worker.Subcommand.
	Executable string
}

// Engine keeps the script workers of a process. It starts none before a
// script is loaded.
type Engine struct {
	log        *slog.Logger
	readFile   func(string) ([]byte, error)
	executable string

	mu      sync.Mutex // guards what follows
	pools   map[poolKey]*pool.Pool
	scripts map[string]*pool.Script // by the digest of all their files
	closed  bool
}

// poolKey is what the workers of a pool have in common from their start.
type poolKey struct {
	workers int
	memory  int64
}

// maxScripts is how many scripts the engine remembers, so that a worker that
// has compiled one does so once.
const maxScripts = 1024

// Stats count what an Engine has done.
type Stats struct {
	WorkersStarted  int64 // ever
	WorkersLive     int64 // now
	WorkersKilled   int64 // by a limit or a cancelled firing
	WorkersRecycled int64 // replaced since they had grown
	Firings         int64 // of scripts
}

// NewEngine makes an engine. It starts nothing.
func NewEngine(o Options) *Engine {
	e := &Engine{log: o.Log, readFile: o.ReadFile, executable: o.Executable, pools: map[poolKey]*pool.Pool{}, scripts: map[string]*pool.Script{}}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.readFile == nil {
		e.readFile = func(path string) ([]byte, error) { return textfile.Read(path, textfile.Max) }
	}
	return e
}

// Stats counts so far.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out Stats
	for _, p := range e.pools {
		s := p.Stats()
		out.WorkersStarted += s.Started
		out.WorkersLive += s.Live
		out.WorkersKilled += s.Killed
		out.WorkersRecycled += s.Recycled
		out.Firings += s.Firings
	}
	return out
}

// Close ends every worker. Firings that are on their way fail, and so does
// every later one.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	pools := e.pools
	e.mu.Unlock()
	for _, p := range pools {
		p.Close()
	}
}

// pool gives the workers for these limits.
func (e *Engine) pool(l Limits) (*pool.Pool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, pool.ErrClosed
	}
	key := poolKey{l.Workers, l.Memory}
	p := e.pools[key]
	if p == nil {
		p = pool.New(pool.Options{Workers: l.Workers, Memory: l.Memory, Executable: e.executable, Log: e.log})
		e.pools[key] = p
	}
	return p, nil
}

// script gives the workers' name for these files.
func (e *Engine) script(files []wire.File) *pool.Script {
	key := digestFiles(files)
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.scripts[key]
	if s == nil {
		if len(e.scripts) >= maxScripts {
			clear(e.scripts)
		}
		s = pool.NewScript(files)
		e.scripts[key] = s
	}
	return s
}

// The defaults of Limits.
const (
	defaultOperations = 100_000
	defaultTime       = 2 * time.Second
	defaultCallDepth  = 64
	defaultContext    = 4 << 20
	defaultValue      = 4 << 20
	defaultPrinted    = 64 << 10
)

// filled gives the limits with their defaults, within what is possible.
func (l Limits) filled() Limits {
	l.Operations = within(l.Operations, defaultOperations, 1<<40)
	l.Time = within(l.Time, defaultTime, time.Hour)
	l.Memory = within(l.Memory, pool.DefaultMemory, 1<<40)
	l.CallDepth = within(l.CallDepth, defaultCallDepth, wire.MaxFrames-1)
	l.Context = within(l.Context, defaultContext, wire.MaxFrame/2)
	l.Value = within(l.Value, defaultValue, wire.MaxFrame/2)
	l.Printed = within(l.Printed, defaultPrinted, wire.MaxFrame/4)
	l.Source = within(l.Source, syntax.DefaultSource, syntax.DefaultSource)
	l.Nesting = within(l.Nesting, syntax.DefaultNesting, syntax.DefaultNesting)
	l.Workers = within(l.Workers, runtime.NumCPU(), 64)
	return l
}

func within[T int | int64 | time.Duration](n, usual, most T) T {
	if n <= 0 {
		n = usual
	}
	return min(n, most)
}
