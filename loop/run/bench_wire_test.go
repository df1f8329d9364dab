package run

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"agent-ls/hooks/measured"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/model"
	"agent-ls/loop/report"
)

// BenchmarkTurnOverHTTP measures, at a model's server, the time from the end
// of an answer that calls a cheap tool to the next request that carries its
// result, read whole: for both protocols, on the loopback device. Beside it
// is what the same server sees of a client that asks again at once. Each run
// has wireTurns turns; a request carries all of those before.
func BenchmarkTurnOverHTTP(b *testing.B) {
	for _, d := range dialects() {
		b.Run(d.provider, func(b *testing.B) {
			runs := min(max(b.N/wireTurns, 2), 25)
			server := newGapServer(b, d)
			r := newRig(b)
			r.screen.deaf = true
			r.svc.opt.OpenModel = func(m manifest.Model) (loop.Model, error) {
				return model.Open(manifest.Model{Name: m.Name, Provider: d.provider, Model: "x", BaseURL: server.URL, APIKeyEnv: "KEY"}, model.Options{Getenv: func(string) string { return "x" }})
			}
			r.config.Agents[0].Stages[0].MaxTurns = wireTurns + 2
			for range runs {
				server.ended = time.Time{}
				s := r.start("go")
				end, err := r.svc.Wait(context.Background(), s.RunID)
				if err != nil || end.Status != report.Done {
					b.Fatal(end.Error, err)
				}
			}
			measured.Own(b)
			measured.Most(b, server.gaps.Millis(0.5), 1, "p50-ms/turn")
			b.ReportMetric(server.gaps.Millis(0.99), "p99-ms/turn")
			b.ReportMetric(float64(server.connections.Load()), "connections")
			server.plain(b, len(server.gaps))
			b.ReportMetric(server.gaps.Millis(0.5), "bare-client-p50-ms")
		})
	}
}

const wireTurns = 20

// gapServer answers requests one after another, and measures from the end of
// each answer to the next request.
type gapServer struct {
	*httptest.Server
	asked int
	ended time.Time
	gaps  measured.Sample

	connections atomic.Int64
}

func newGapServer(b *testing.B, d dialect) *gapServer {
	g := &gapServer{}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if !g.ended.IsZero() {
			g.gaps = append(g.gaps, time.Since(g.ended))
		}
		if g.asked++; g.asked%(wireTurns+1) == 0 {
			sendEvents(w, d.text("done"))
			return
		}
		answer := d.call("look", `{"at":"x"}`)
		sendEvents(w, answer[:len(answer)-1])
		g.ended = time.Now()
		sendEvents(w, answer[len(answer)-1:])
	}))
	g.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			g.connections.Add(1)
		}
	}
	g.Start()
	b.Cleanup(g.Close)
	return g
}

// plain asks the server as often without doing anything in between.
func (g *gapServer) plain(b *testing.B, turns int) {
	g.asked, g.ended, g.gaps = 0, time.Time{}, nil
	for range turns {
		answer, err := http.Post(g.URL, "application/json", http.NoBody)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			b.Fatal(err)
		}
		answer.Body.Close()
	}
}
