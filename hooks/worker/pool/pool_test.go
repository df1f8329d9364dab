package pool_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agent-ls/hooks/worker"
	"agent-ls/hooks/worker/pool"
	"agent-ls/hooks/worker/wire"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Subcommand {
		worker.Main()
	}
	os.Exit(m.Run())
}

func open(t testing.TB, o pool.Options) *pool.Pool {
	t.Helper()
	p := pool.New(o)
	t.Cleanup(p.Close)
	return p
}

func text(s string) *pool.Script {
	return pool.NewScript([]wire.File{{Path: "h.risor", Text: []byte(s)}})
}

func request(ctx any) *pool.Request {
	return &pool.Request{Function: "f", Ctx: ctx, At: time.Unix(1, 0), Time: 5 * time.Second, Operations: 1000, CallDepth: 8, Context: 1 << 20, Value: 1 << 20, Printed: 1000}
}

func TestFire(t *testing.T) {
	p := open(t, pool.Options{Workers: 2})
	if n := p.Stats().Started; n != 0 {
		t.Fatalf("%d workers started before they are needed", n)
	}
	s := text("func f(c) {\n  print(\"hi\")\n  return c.n + 1\n}")
	a, f := p.Fire(context.Background(), s, request(map[string]any{"n": 41}))
	if f != nil {
		t.Fatal(f)
	}
	if a.Value != int64(42) || a.Printed != "hi\n" || a.Return.String() != "h.risor:3:3 in f" || a.Operations == 0 {
		t.Errorf("answer = %+v", a)
	}
	_, f = p.Fire(context.Background(), s, request(map[string]any{}))
	if f == nil || f.Kind != pool.Threw || !strings.HasPrefix(f.Error(), `h.risor:3:12: type error: attribute "n"`) {
		t.Errorf("failure = %v", f)
	}
}

func TestManyAtOnce(t *testing.T) {
	p := open(t, pool.Options{Workers: 2})
	s := text("func f(c) { return c }")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				n := int64(i*1000 + j)
				if a, f := p.Fire(context.Background(), s, request(n)); f != nil || a.Value != n {
					t.Errorf("f(%d) = %v, %v", n, a.Value, f)
					return
				}
			}
		})
	}
	all.Wait()
	if st := p.Stats(); st.Started > 3 || st.Firings != 400 {
		t.Errorf("stats %+v, want no more than two workers and a spare", st)
	}
}

// A worker that is killed while it does nothing is replaced, and nobody
// notices.
func TestKilledIdle(t *testing.T) {
	p := open(t, pool.Options{Workers: 1})
	s := text("func f(c) { return c }")
	for range 5 {
		if a, f := p.Fire(context.Background(), s, request(1)); f != nil || a.Value != int64(1) {
			t.Fatalf("%v, %v", a, f)
		}
		pool.KillAll(p)
	}
}

func TestTimeLimit(t *testing.T) {
	p := open(t, pool.Options{Workers: 1})
	s := text("func f(c) {\n  for c == 1 {\n    c\n  }\n  return c\n}")
	if _, f := p.Fire(context.Background(), s, request(2)); f != nil {
		t.Fatal(f)
	}
	q := request(1)
	q.Time, q.Operations = 100*time.Millisecond, 1<<40
	_, f := p.Fire(context.Background(), s, q)
	if f == nil || f.Kind != pool.Limit || !strings.Contains(f.Message, "time limit of 100ms exceeded") || len(f.Stack) == 0 || f.Operations == 0 {
		t.Fatalf("failure = %+v", f)
	}
	if a, f := p.Fire(context.Background(), s, request(2)); f != nil || a.Value != int64(2) {
		t.Errorf("afterwards %v, %v", a, f)
	}
	if st := p.Stats(); st.Killed != 1 {
		t.Errorf("stats = %+v", st)
	}
}

// A worker whose memory has grown is replaced before the next firing, and the
// firing that made it grow still counts.
func TestRecycled(t *testing.T) {
	p := open(t, pool.Options{Workers: 1, Memory: 128 << 20})
	s := text("func f(c) {\n  x := strings.repeat(\"x\", c)\n  return x != \"\"\n}")
	q := request(60 << 20)
	q.Time = time.Minute
	if a, f := p.Fire(context.Background(), s, q); f != nil || a.Value != true {
		t.Fatalf("%v, %v", a.Value, f)
	}
	if st := p.Stats(); st.Recycled != 1 {
		t.Errorf("stats = %+v, want it recycled", st)
	}
	if a, f := p.Fire(context.Background(), s, request(5)); f != nil || a.Value != true {
		t.Errorf("afterwards %v, %v", a, f)
	}
}

// Memory within the limit is given, time after time.
func TestMemoryWithinLimit(t *testing.T) {
	p := open(t, pool.Options{Workers: 1, Memory: 128 << 20})
	s := text("func f(c) {\n  x := strings.repeat(\"x\", c)\n  return x != \"\"\n}")
	for range 4 {
		q := request(100 << 20)
		q.Time = time.Minute
		if _, f := p.Fire(context.Background(), s, q); f != nil {
			t.Fatalf("100 of 128 MiB: %v", f)
		}
	}
	q := request(4 << 30)
	q.Time = time.Minute
	if _, f := p.Fire(context.Background(), s, q); f == nil || f.Kind != pool.Limit || !strings.Contains(f.Message, "memory limit of 128 MiB") {
		t.Errorf("4096 of 128 MiB: %v", f)
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	p := open(t, pool.Options{Workers: 1})
	s := text("func f(c) {\n  for c == 1 { c }\n  return c\n}")
	busy := request(1)
	busy.Time, busy.Operations = time.Minute, 1<<40
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan *pool.Failure)
	go func() {
		_, f := p.Fire(ctx, s, busy)
		done <- f
	}()
	waiting, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	for p.Stats().Firings == 0 {
		time.Sleep(time.Millisecond)
	}
	var f *pool.Failure
	for f == nil { // until the other one has the worker
		_, f = p.Fire(waiting, s, request(2))
	}
	if f.Kind != pool.Infrastructure {
		t.Errorf("failure of the one that waits = %+v", f)
	}
	stop()
	if f := <-done; f == nil || f.Kind != pool.Infrastructure || !strings.Contains(f.Message, "cancelled") {
		t.Errorf("failure of the one that runs = %+v", f)
	}
}

func TestCloseEndsAll(t *testing.T) {
	p := pool.New(pool.Options{Workers: 2})
	s := text("func f(c) {\n  for c == 1 { c }\n  return c\n}")
	if _, f := p.Fire(context.Background(), s, request(2)); f != nil {
		t.Fatal(f)
	}
	busy := request(1)
	busy.Time, busy.Operations = time.Minute, 1<<40
	done := make(chan *pool.Failure)
	go func() {
		_, f := p.Fire(context.Background(), s, busy)
		done <- f
	}()
	for p.Stats().Firings < 2 {
		time.Sleep(time.Millisecond)
	}
	p.Close()
	if f := <-done; f == nil || f.Kind != pool.Infrastructure {
		t.Errorf("failure = %+v", f)
	}
	if st := p.Stats(); st.Live != 0 {
		t.Errorf("%d workers live after closing", st.Live)
	}
	if _, f := p.Fire(context.Background(), s, request(2)); f == nil || f.Kind != pool.Infrastructure {
		t.Errorf("after closing: %+v", f)
	}
}

// Something else than a worker at the other end is an error, not a hang and
// not a crash.
func TestNotAWorker(t *testing.T) {
	notWorkers := []string{filepath.Join(t.TempDir(), "nothing")}
	for _, name := range strangers {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		notWorkers = append(notWorkers, program)
	}
	for _, executable := range notWorkers {
		p := open(t, pool.Options{Workers: 1, Executable: executable})
		if _, f := p.Fire(context.Background(), text("func f(c) { 1 }"), request(1)); f == nil || f.Kind != pool.Infrastructure || !strings.Contains(f.Message, "start a script worker") {
			t.Errorf("%s: %+v", executable, f)
		}
	}
}

// What a worker tries to reach, it does not reach; where the platform cannot
// see to that, it is said.
func TestProbe(t *testing.T) {
	got, err := worker.Probe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range got.Mechanisms {
		t.Logf("%-35s %v %s", m.Name, m.Active, m.Detail)
		if runtime.GOOS == "linux" && !m.Active && !strings.Contains(m.Detail, "the kernel has none") {
			t.Errorf("%s is not active: %s", m.Name, m.Detail)
		}
		if !m.Active && m.Detail == "" {
			t.Errorf("%s is not active and nothing says why", m.Name)
		}
	}
	for _, a := range got.Attempts {
		t.Logf("%-35s %v %s", a.Name, a.Stopped, a.How)
		if runtime.GOOS == "linux" && !a.Stopped {
			t.Errorf("a worker can %s: %s", a.Name, a.How)
		}
	}
	if runtime.GOOS != "linux" && got.Complete() {
		t.Error("it pretends")
	}
}

// A worker ends when the server does, however that ends.
func TestLifeline(t *testing.T) {
	p := open(t, pool.Options{Workers: 1})
	s := text("func f(c) {\n  for c == 1 { c }\n  return c\n}")
	if _, f := p.Fire(context.Background(), s, request(2)); f != nil {
		t.Fatal(f)
	}
	if !pool.CutLifelines(p, 10*time.Second) {
		t.Error("a worker lives on without its server")
	}
}
