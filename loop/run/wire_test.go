package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/model"
	"agent-ls/loop/report"
)

// dialect is how one of the two protocols says things.
type dialect struct {
	provider string
	text     func(string) []string
	call     func(name, args string) []string
	half     []string // the beginning of a text, which is "half of it"
	broken   []string // an event that is no JSON
	overflow string
	alive    string // keeps the connection and says nothing
}

func dialects() []dialect {
	block := func(start, delta string) []string {
		return []string{
			named("content_block_start", `{"type":"content_block_start","index":0,"content_block":`+start+`}`),
			named("content_block_delta", `{"type":"content_block_delta","index":0,"delta":`+delta+`}`),
			named("content_block_stop", `{"type":"content_block_stop","index":0}`),
		}
	}
	begin := named("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"x","usage":{"input_tokens":10,"output_tokens":1}}}`)
	claude := func(reason string, events []string) []string {
		return append(append([]string{begin}, events...),
			named("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":7}}`), named("message_stop", `{"type":"message_stop"}`))
	}
	chunk := func(delta, finish string) string {
		return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
	}
	return []dialect{{
		provider: "anthropic",
		text: func(s string) []string {
			return claude("end_turn", block(`{"type":"text","text":""}`, `{"type":"text_delta","text":`+quoteJSON(s)+`}`))
		},
		call: func(name, args string) []string {
			return claude("tool_use", block(`{"type":"tool_use","id":"toolu_1","name":"`+name+`","input":{}}`, `{"type":"input_json_delta","partial_json":`+quoteJSON(args)+`}`))
		},
		half:     append([]string{begin}, block(`{"type":"text","text":""}`, `{"type":"text_delta","text":"half of it"}`)[:2]...),
		broken:   []string{begin, named("content_block_start", `{"type":"content_block_start","index":`)},
		overflow: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
		alive:    named("ping", `{"type":"ping"}`),
	}, {
		provider: "openai",
		text: func(s string) []string {
			return []string{chunk(`{"role":"assistant","content":`+quoteJSON(s)+`}`, "null"), chunk(`{}`, `"stop"`), "data: [DONE]"}
		},
		call: func(name, args string) []string {
			return []string{chunk(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"`+name+`","arguments":`+quoteJSON(args)+`}}]}`, `"tool_calls"`), "data: [DONE]"}
		},
		half:     []string{chunk(`{"content":"half of it"}`, "null")},
		broken:   []string{`data: {"id":"c","choices":[{"ind`},
		overflow: `{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		alive:    ": ping",
	}}
}

func named(kind, data string) string { return "event: " + kind + "\ndata: " + data }

func quoteJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// provided is a server that answers the n-th request, from 1, with what
// answers gives for it.
type provided struct {
	*httptest.Server
	mu     sync.Mutex // guards what follows
	bodies []string
	at     []time.Time
}

type wireAnswer func(w http.ResponseWriter, r *http.Request)

func serveModel(t *testing.T, answers func(n int) wireAnswer) *provided {
	p := &provided{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.bodies = append(p.bodies, string(body))
		p.at = append(p.at, time.Now())
		n := len(p.bodies)
		p.mu.Unlock()
		answers(n)(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provided) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.bodies...)
}

func streaming(events []string) wireAnswer {
	return func(w http.ResponseWriter, r *http.Request) { sendEvents(w, events) }
}

func sendEvents(w http.ResponseWriter, events []string) {
	w.Header().Set("content-type", "text/event-stream")
	for _, e := range events {
		io.WriteString(w, e+"\n\n")
		w.(http.Flusher).Flush()
	}
}

func refusing(code int, header, body string) wireAnswer {
	return func(w http.ResponseWriter, r *http.Request) {
		if name, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// fault is a way in which a model can fail.
type fault struct {
	answer   func(dialect) wireAnswer
	limits   manifest.Model // how long to try
	requests int            // for ever: how many are made behind the first
	stop     report.StopReason
	says     string // the error, for ever
	waits    int    // for ever: how often it was waited
}

var faults = map[string]fault{
	"429 with retry-after": {requests: 3, waits: 2, says: "429 (too many requests): slow down (3 attempts)",
		answer: func(dialect) wireAnswer {
			return refusing(429, "Retry-After: 2", `{"error":{"type":"rate_limit_error","message":"slow down"}}`)
		}},
	"429 for longer than one waits": {requests: 1, says: "waiting 1h0m0s more would exceed the limit of 5s",
		answer: func(dialect) wireAnswer {
			return refusing(429, "Retry-After: 3600", `{"error":{"type":"rate_limit_error","message":"slow down"}}`)
		}},
	"500": {requests: 3, waits: 2, says: "500 (internal server error): oops (3 attempts)",
		answer: func(dialect) wireAnswer { return refusing(500, "", "oops") }},
	"529": {requests: 3, waits: 2, says: "answered 529: Overloaded (3 attempts)",
		answer: func(dialect) wireAnswer {
			return refusing(529, "", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
		}},
	"cut in the stream": {requests: 3, waits: 2, says: "was cut",
		answer: func(d dialect) wireAnswer {
			return func(w http.ResponseWriter, r *http.Request) {
				sendEvents(w, d.half)
				panic(http.ErrAbortHandler)
			}
		}},
	"malformed event": {requests: 3, waits: 2, says: "was cut",
		answer: func(d dialect) wireAnswer { return streaming(d.broken) }},
	"broken JSON in place of a stream": {requests: 3, waits: 2, says: "in place of a stream: {broken (3 attempts)",
		answer: func(dialect) wireAnswer { return refusing(200, "", `{broken`) }},
	"context overflow": {requests: 2, says: "Nothing more can be left out of the request: the system prompt has about",
		answer: func(d dialect) wireAnswer { return refusing(400, "", d.overflow) }},
	"no answer at all": {requests: 3, waits: 2, says: "nothing came for 1s", limits: manifest.Model{Idle: time.Second},
		answer: func(dialect) wireAnswer {
			return func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		}},
	"nothing behind the headers": {requests: 3, waits: 2, says: "nothing came for 1s", limits: manifest.Model{Idle: time.Second},
		answer: func(dialect) wireAnswer {
			return func(w http.ResponseWriter, r *http.Request) {
				sendEvents(w, nil)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
		}},
	"slow drip of nothing": {requests: 2, waits: 1, says: "only 10 bytes of it came", limits: manifest.Model{Idle: time.Second, TotalWait: 2 * time.Second, Attempts: 2},
		answer: func(d dialect) wireAnswer {
			return func(w http.ResponseWriter, r *http.Request) {
				sendEvents(w, d.half)
				for r.Context().Err() == nil {
					time.Sleep(5 * time.Millisecond)
					sendEvents(w, []string{d.alive})
				}
			}
		}},
	"unknown tool": {requests: 3, says: "limit of 4 turns", stop: report.StopLimit,
		answer: func(d dialect) wireAnswer { return streaming(d.call("lok", `{"at":"x"}`)) }},
	"bad arguments": {requests: 3, says: "limit of 4 turns", stop: report.StopLimit,
		answer: func(d dialect) wireAnswer { return streaming(d.call("look", `{"at":`)) }},
}

// wired is a rig whose model is a real one behind a server.
func wired(t *testing.T, d dialect, limits manifest.Model, answers func(n int) wireAnswer) (*rig, *provided) {
	t.Helper()
	r := newRig(t)
	s := serveModel(t, answers)
	m := limits
	m.Name, m.Provider, m.Model, m.BaseURL = "m", d.provider, "some-model", s.URL
	m.Attempts, m.TotalWait, m.Idle = orDefault(m.Attempts, 3), orDefault(m.TotalWait, 5*time.Second), orDefault(m.Idle, 10*time.Second)
	r.config.Models["m"] = m
	r.config.Limits.Turns = 4
	r.svc.opt.OpenModel = func(m manifest.Model) (loop.Model, error) { return model.Open(m, model.Options{}) }
	return r, s
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Whatever a model does wrong once, the run recovers from it by itself and
// says nothing twice.
func TestRunRecoversFromOneFault(t *testing.T) {
	long := strings.Repeat("x", 400)
	for _, d := range dialects() {
		for name, f := range faults {
			if strings.HasPrefix(name, "429 for longer") {
				continue // it asks for more patience than there is
			}
			t.Run(d.provider+" "+name, func(t *testing.T) {
				t.Parallel()
				r, s := wired(t, d, f.limits, func(n int) wireAnswer {
					switch n {
					case 1:
						return streaming(d.call("look", `{"at":"`+long+`"}`))
					case 2:
						return f.answer(d)
					}
					return streaming(d.text("All is well."))
				})
				end := r.wait(r.start("go").RunID)
				if end.Status != report.Done || *end.Output != "All is well." {
					t.Fatalf("the run ended %s, %q: %s\n%s", end.Status, *end.Output, end.Error, r.screen.text())
				}
				if got := len(s.requests()); got != 3 {
					t.Errorf("%d requests, want 3", got)
				}
				var messages, looked []string
				for _, e := range r.screen.all() {
					switch {
					case e.Type == report.Message:
						messages = append(messages, e.Text)
					case e.Type == report.ToolStarted:
						looked = append(looked, e.Tool)
					}
				}
				if fmt.Sprint(messages) != "[All is well.]" || fmt.Sprint(looked) != "[look]" {
					t.Errorf("messages %q, calls %q", messages, looked)
				}
				last := s.requests()[2]
				if strings.Contains(last, "half of it") {
					t.Errorf("what was cut is in the history:\n%s", last)
				}
				if name == "context overflow" && (!strings.Contains(last, "is left out: the context was too full") || strings.Contains(last, "seen {")) {
					t.Errorf("the tool's output is no stub:\n%s", last)
				}
			})
		}
	}
}

// Whatever a model does wrong for ever, the run ends within its limits, says
// why, and asks no oftener than they let it.
func TestRunEndsOnALastingFault(t *testing.T) {
	long := strings.Repeat("x", 400)
	for _, d := range dialects() {
		for name, f := range faults {
			t.Run(d.provider+" "+name, func(t *testing.T) {
				t.Parallel()
				r, s := wired(t, d, f.limits, func(n int) wireAnswer {
					if n == 1 {
						return streaming(d.call("look", `{"at":"`+long+`"}`))
					}
					return f.answer(d)
				})
				end := r.wait(r.start("go").RunID)
				stop := f.stop
				if stop == "" {
					stop = report.StopModel
				}
				if end.Status != report.Failed || end.StopReason != stop || !strings.Contains(end.Error, f.says) {
					t.Errorf("the run ended %s, %s: %s; want it to say %q", end.Status, end.StopReason, end.Error, f.says)
				}
				if got := len(s.requests()) - 1; got != f.requests {
					t.Errorf("%d requests behind the first, want %d", got, f.requests)
				}
				if len(r.waits) != f.waits {
					t.Errorf("waited %v, want %d times", r.waits, f.waits)
				}
				for _, w := range r.waits {
					if name == "429 with retry-after" && w != 2*time.Second || w < 400*time.Millisecond {
						t.Errorf("waited %v", r.waits)
					}
				}
				for _, e := range r.screen.all() {
					if e.Type == report.Message {
						t.Errorf("a message %q without an answer", e.Text)
					}
				}
			})
		}
	}
}

// A cancel ends a run at once, whatever its model keeps it waiting for.
func TestCancelWhileAModelKeepsOneWaiting(t *testing.T) {
	for _, d := range dialects() {
		for _, name := range []string{"429 with retry-after", "no answer at all", "nothing behind the headers", "slow drip of nothing"} {
			t.Run(d.provider+" "+name, func(t *testing.T) {
				t.Parallel()
				asked := make(chan struct{}, 10)
				r, _ := wired(t, d, manifest.Model{Idle: time.Minute, TotalWait: time.Minute}, func(n int) wireAnswer {
					return func(w http.ResponseWriter, r *http.Request) {
						asked <- struct{}{}
						faults[name].answer(d)(w, r)
					}
				})
				waiting := make(chan struct{}, 10)
				r.svc.sleep = func(ctx context.Context, d time.Duration) error {
					waiting <- struct{}{}
					return sleep(ctx, d)
				}
				s := r.start("go")
				<-asked
				if strings.HasPrefix(name, "429") {
					<-waiting
				}
				began := time.Now()
				if _, err := r.svc.Cancel(context.Background(), s.RunID, ""); err != nil {
					t.Fatal(err)
				}
				if end := r.wait(s.RunID); end.Status != report.Cancelled {
					t.Errorf("the run ended %s: %s", end.Status, end.Error)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("the cancel took %v", took)
				}
			})
		}
	}
}
