package pool_test

import (
	"context"
	"os"
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
