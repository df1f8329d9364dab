package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

var update = flag.Bool("update", false, "write the golden request bodies")

// wireServer speaks both protocols: it answers each request with the next
// reply and keeps what it was sent.
type wireServer struct {
	*httptest.Server
	mu       sync.Mutex
	replies  []reply
	requests []recorded
	gone     chan struct{} // a request's client went away
}

type recorded struct {
	path   string
	header http.Header
	body   []byte
}

// reply writes one answer. It may wait for the client to go.
type reply func(w http.ResponseWriter, r *http.Request)

func newWireServer(t *testing.T, replies ...reply) *wireServer {
	s := &wireServer{replies: replies, gone: make(chan struct{}, 8)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, recorded{r.URL.Path, r.Header.Clone(), body})
		if len(s.replies) == 0 {
			s.mu.Unlock()
			http.Error(w, "nothing left to answer", http.StatusTeapot)
			return
		}
		next := s.replies[0]
		s.replies = s.replies[1:]
		s.mu.Unlock()
		next(w, r)
		if r.Context().Err() != nil {
			s.gone <- struct{}{}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// sse streams events, each written and flushed by itself.
func sse(events ...string) reply {
	return func(w http.ResponseWriter, r *http.Request) { stream(w, events) }
}

func stream(w http.ResponseWriter, events []string) {
	w.Header().Set("content-type", "text/event-stream")
	for _, e := range events {
		io.WriteString(w, e+"\n\n")
		w.(http.Flusher).Flush()
	}
}

// broken streams events and then drops the connection.
func broken(events ...string) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		stream(w, events)
		panic(http.ErrAbortHandler)
	}
}

// stalled streams events and then says nothing until the client goes.
func stalled(events ...string) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		stream(w, events)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

func status(code int, header, body string) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		if name, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

func event(kind, data string) string { return "event: " + kind + "\ndata: " + data }

// claude is an Anthropic stream around the events of its blocks.
func claude(reason string, blocks ...string) []string {
	out := []string{event("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"x","usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":100,"cache_creation_input_tokens":20}}}`), event("ping", `{"type":"ping"}`)}
	out = append(out, blocks...)
	return append(out, event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":7}}`), event("message_stop", `{"type":"message_stop"}`))
}

func claudeBlock(i int, start string, deltas ...string) []string {
	out := []string{event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, start))}
	for _, d := range deltas {
		out = append(out, event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d)))
	}
	return append(out, event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i)))
}

func chunk(delta, finish string) string {
	return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

const (
	usageChunk = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[],"usage":{"prompt_tokens":130,"completion_tokens":7,"total_tokens":137,"prompt_tokens_details":{"cached_tokens":100}}}`
	doneChunk  = `data: [DONE]`
)

func flat(parts ...[]string) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// conversation has everything that a history may hold.
var conversation = loop.ModelRequest{
	System: "Be brief.",
	Messages: []loop.Message{
		{Role: loop.User, Blocks: []loop.Block{{Kind: loop.TextBlock, Text: "Fix <it> & go"}, {Kind: loop.ReminderBlock, Text: "[host] be careful"}}},
		{Role: loop.Assistant, Blocks: []loop.Block{
			{Kind: loop.ThinkingBlock, Text: "hm", Signature: "sig=="},
			{Kind: loop.ThinkingBlock, Text: "somebody else's"},
			{Kind: loop.ThinkingBlock, Signature: "redacted:opaque"},
			{Kind: loop.TextBlock, Text: "I look."},
			{Kind: loop.CallBlock, Call: &loop.ToolCall{ID: "c1", ProviderID: "call_0", Name: "read_file", Arguments: []byte(`{"path":"a<b>.go"}`)}},
			{Kind: loop.CallBlock, Call: &loop.ToolCall{ID: "c2", ProviderID: "toolu:2", Name: "shell", Arguments: []byte(`broken`)}},
		}},
		{Role: loop.User, Blocks: []loop.Block{
			{Kind: loop.ReminderBlock, Text: "[host] later"},
			{Kind: loop.ResultBlock, Result: &loop.ToolResult{CallID: "c1", Text: "package a", Notes: []string{"[host] a hook changed path"}, Images: []loop.Block{{Kind: loop.ImageBlock, MediaType: "image/png", Data: []byte{1, 2, 3}}}}},
			{Kind: loop.ResultBlock, Result: &loop.ToolResult{CallID: "c2", Text: "denied", IsError: true}},
		}},
		{Role: loop.Assistant, Blocks: []loop.Block{{Kind: loop.CallBlock, Call: &loop.ToolCall{ID: "c3", ProviderID: "call_0", Name: "grep", Arguments: []byte(`{}`)}}}},
		{Role: loop.User, Blocks: []loop.Block{{Kind: loop.ResultBlock, Result: &loop.ToolResult{CallID: "c3", Text: ""}}, {Kind: loop.ImageBlock, MediaType: "image/jpeg", Data: []byte{9}}}},
	},
	Tools: []loop.ToolSpec{
		{Name: "read_file", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"],"additionalProperties":false}`)},
		{Name: "grep", Schema: json.RawMessage(`{"type":"object"}`)},
	},
}

// provider is one of the two protocols for tests that hold for both.
type provider struct {
	name, path string
	model      manifest.Model
	text       reply // "Hello there"
	calls      reply // text and two calls at once
	half       []string
	malformed  reply
	overflow   reply
	overloaded reply // an error inside the stream
}

func providers() []provider {
	a := claudeBlock(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"Hello"}`, `{"type":"text_delta","text":" there"}`)
	twoCalls := flat(
		claudeBlock(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"hm"}`, `{"type":"signature_delta","signature":"sig=="}`),
		claudeBlock(1, `{"type":"text","text":""}`, `{"type":"text_delta","text":"I look."}`),
		claudeBlock(2, `{"type":"tool_use","id":"toolu_1","name":"read_file","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"path\":"}`, `{"type":"input_json_delta","partial_json":"\"a\"}"}`),
		claudeBlock(3, `{"type":"tool_use","id":"toolu_2","name":"grep","input":{}}`),
	)
	return []provider{{
		name: "anthropic", path: "/v1/messages", model: manifest.Model{Name: "m", Provider: "anthropic", Model: "claude-sonnet-4-5", APIKeyEnv: "KEY", MaxTokens: 1000},
		text: sse(claude("end_turn", a...)...), calls: sse(claude("tool_use", twoCalls...)...),
		half:       claude("end_turn", a...)[:4],
		malformed:  sse(claude("end_turn", event("content_block_start", `{"type":"content_block_start","index":0,`))...),
		overflow:   status(400, "", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`),
		overloaded: sse(append(claude("end_turn", a...)[:4], event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))...),
	}, {
		name: "openai", path: "/chat/completions", model: manifest.Model{Name: "m", Provider: "openai", Model: "gpt-4.1", APIKeyEnv: "KEY", MaxTokens: 1000},
		text: sse(chunk(`{"role":"assistant","content":""}`, "null"), chunk(`{"content":"Hello"}`, "null"), chunk(`{"content":" there"}`, "null"), chunk(`{}`, `"stop"`), usageChunk, doneChunk),
		calls: sse(
			chunk(`{"reasoning_content":"hm"}`, "null"), chunk(`{"content":"I look."}`, "null"),
			chunk(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read_file","arguments":""}}]}`, "null"),
			chunk(`{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"grep","arguments":"{"}}]}`, "null"),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}},{"index":1,"function":{"arguments":"}"}}]}`, "null"),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]}`, "null"), chunk(`{}`, `"tool_calls"`), usageChunk, doneChunk),
		half:       []string{chunk(`{"content":"Hello"}`, "null"), chunk(`{"content":" there"}`, "null")},
		malformed:  sse(chunk(`{"content":"Hel`, "null"), doneChunk),
		overflow:   status(400, "", `{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`),
		overloaded: sse(chunk(`{"content":"Hello"}`, "null"), `data: {"error":{"message":"Overloaded","type":"server_error"}}`),
	}}
}

func (p provider) open(t *testing.T, s *wireServer) loop.Model {
	t.Helper()
	m := p.model
	m.BaseURL = s.URL
	model, err := Open(m, Options{Getenv: func(name string) string { return map[string]string{"KEY": "secret-key"}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func ask(m loop.Model, req loop.ModelRequest) (loop.ModelAnswer, []loop.Delta, error) {
	var deltas []loop.Delta
	a, err := m.Stream(context.Background(), req, func(d loop.Delta) { deltas = append(deltas, d) })
	return a, deltas, err
}

func TestStreaming(t *testing.T) {
	for _, p := range providers() {
		t.Run(p.name, func(t *testing.T) {
			s := newWireServer(t, p.text)
			answer, deltas, err := ask(p.open(t, s), conversation)
			if err != nil {
				t.Fatal(err)
			}
			if want := []loop.Delta{{Kind: loop.TextDelta, Text: "Hello"}, {Kind: loop.TextDelta, Text: " there"}}; !cmp.Equal(want, deltas) {
				t.Errorf("deltas = %v, want %v", deltas, want)
			}
			if want := []loop.Block{{Kind: loop.TextBlock, Text: "Hello there"}}; !cmp.Equal(want, answer.Blocks) || answer.StopReason != "end" {
				t.Errorf("answer = %+v", answer)
			}
			u := answer.Usage
			if u.Output != 7 || u.CacheRead != 100 || u.Input+u.CacheWrite != 30 || u.Cost == nil || u.Cost.Amount <= 0 || u.Cost.Currency != "USD" {
				t.Errorf("usage = %+v %+v", u, u.Cost)
			}
			r := s.requests[0]
			if r.path != p.path {
				t.Errorf("path = %s, want %s", r.path, p.path)
			}
			if got := r.header.Get("authorization") + r.header.Get("x-api-key"); !strings.Contains(got, "secret-key") {
				t.Errorf("the key was not sent: %v", r.header)
			}
			golden(t, p.name+"_request.json", r.body)
		})
	}
}

func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), b.String()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestParallelCallsAndThinking(t *testing.T) {
	for _, p := range providers() {
		t.Run(p.name, func(t *testing.T) {
			answer, deltas, err := ask(p.open(t, newWireServer(t, p.calls)), loop.ModelRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if answer.StopReason != "tool_use" || len(answer.Blocks) != 4 {
				t.Fatalf("answer = %+v", answer)
			}
			if b := answer.Blocks[0]; b.Kind != loop.ThinkingBlock || b.Text != "hm" || p.name == "anthropic" && b.Signature != "sig==" {
				t.Errorf("thinking = %+v", b)
			}
			if deltas[0] != (loop.Delta{Kind: loop.ThinkingDelta, Text: "hm"}) {
				t.Errorf("first delta = %+v", deltas[0])
			}
			first, second := answer.Blocks[2].Call, answer.Blocks[3].Call
			if first.Name != "read_file" || string(first.Arguments) != `{"path":"a"}` || second.Name != "grep" || string(second.Arguments) != "{}" {
				t.Errorf("calls = %+v, %+v", first, second)
			}
			if first.ProviderID == "" || first.ProviderID == second.ProviderID || first.ID != "" {
				t.Errorf("ids = %+v, %+v", first, second)
			}
		})
	}
}

func TestWholeCallsUnderOneIndex(t *testing.T) {
	p := providers()[1]
	answer, _, err := ask(p.open(t, newWireServer(t, sse(
		chunk(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"grep","arguments":"{\"x\":1}"}}]}`, "null"),
		chunk(`{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"glob","arguments":"{}"}}]}`, `"stop"`), doneChunk))), loop.ModelRequest{})
	if err != nil || len(answer.Blocks) != 2 || answer.Blocks[1].Call.Name != "glob" || answer.StopReason != "tool_use" {
		t.Errorf("answer = %+v, %v", answer, err)
	}
}

func TestErrorsHaveClasses(t *testing.T) {
	type want struct {
		class  loop.ErrorClass
		status int
		after  time.Duration
	}
	for _, p := range providers() {
		for name, c := range map[string]struct {
			reply reply
			want  want
		}{
			"rate limit":        {status(429, "Retry-After: 7", `{"error":{"type":"rate_limit_error","message":"slow down"}}`), want{loop.Retryable, 429, 7 * time.Second}},
			"rate limit in ms":  {status(429, "Retry-After-Ms: 1500", `{}`), want{loop.Retryable, 429, 1500 * time.Millisecond}},
			"no quota":          {status(429, "", `{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}`), want{loop.Terminal, 429, 0}},
			"timeout":           {status(408, "", `{}`), want{loop.Retryable, 408, 0}},
			"server error":      {status(500, "", `oops`), want{loop.Retryable, 500, 0}},
			"bad gateway":       {status(502, "", `<html>`), want{loop.Retryable, 502, 0}},
			"unavailable":       {status(503, "Retry-After: Mon, 02 Jan 2006 15:04:05 GMT", `{}`), want{loop.Retryable, 503, 0}},
			"overloaded":        {status(529, "", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), want{loop.Retryable, 529, 0}},
			"bad key":           {status(401, "", `{"error":{"type":"authentication_error","message":"no"}}`), want{loop.Terminal, 401, 0}},
			"bad request":       {status(400, "", `{"error":{"type":"invalid_request_error","message":"no such model"}}`), want{loop.Terminal, 400, 0}},
			"not found":         {status(404, "", `404 page not found`), want{loop.Terminal, 404, 0}},
			"redirect":          {status(302, "Location: http://127.0.0.1:1/", ``), want{loop.Terminal, 302, 0}},
			"another server":    {status(200, "", `{"hello": "world"}`), want{loop.Terminal, 200, 0}},
			"too large":         {status(413, "", `{}`), want{loop.ContextOverflow, 413, 0}},
			"overlong":          {p.overflow, want{loop.ContextOverflow, 400, 0}},
			"malformed event":   {p.malformed, want{loop.Retryable, 0, 0}},
			"cut":               {broken(p.half...), want{loop.Retryable, 0, 0}},
			"ended early":       {sse(p.half...), want{loop.Retryable, 0, 0}},
			"nothing":           {sse(), want{loop.Retryable, 0, 0}},
			"broken off inside": {p.overloaded, want{loop.Retryable, 0, 0}},
		} {
			t.Run(p.name+" "+name, func(t *testing.T) {
				s := newWireServer(t, c.reply, p.text)
				answer, _, err := ask(p.open(t, s), conversation)
				var e *loop.ModelError
				if !errors.As(err, &e) {
					t.Fatalf("error = %v, want a ModelError", err)
				}
				if got := (want{e.Class, e.Status, e.RetryAfter}); got != c.want {
					t.Errorf("error = %+v %q, want %+v", got, e.Message, c.want)
				}
				if len(answer.Blocks) > 0 {
					t.Errorf("a failed request gave the answer %+v", answer)
				}
				if len(s.requests) != 1 {
					t.Errorf("%d requests were sent: only the driver retries", len(s.requests))
				}
				if strings.Contains(e.Message, "secret-key") || !strings.Contains(e.Message, `"m"`) {
					t.Errorf("message = %q", e.Message)
				}
			})
		}
	}
}

func TestRetryAfterDate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := http.Header{"Retry-After": {now.Add(90 * time.Second).Format(http.TimeFormat)}}
	if got := retryAfter(h, func() time.Time { return now }); got != 90*time.Second {
		t.Errorf("retryAfter = %v, want 90s", got)
	}
}

func TestIdleStreamCountsAsCut(t *testing.T) {
	for _, p := range providers() {
		for name, r := range map[string]reply{"in the middle": stalled(p.half...), "before the first byte": func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }} {
			t.Run(p.name+" "+name, func(t *testing.T) {
				s := newWireServer(t, r)
				p.model.Idle = 100 * time.Millisecond
				answer, _, err := ask(p.open(t, s), conversation)
				var e *loop.ModelError
				if !errors.As(err, &e) || e.Class != loop.Retryable || !strings.Contains(e.Message, "nothing came for 100ms") {
					t.Errorf("error = %v", err)
				}
				if len(answer.Blocks) > 0 {
					t.Errorf("answer = %+v", answer)
				}
				<-s.gone // the connection is not kept
			})
		}
	}
}

func TestCancelEndsAtOnce(t *testing.T) {
	for _, p := range providers() {
		t.Run(p.name, func(t *testing.T) {
			s := newWireServer(t, stalled(p.half...))
			ctx, cancel := context.WithCancel(context.Background())
			seen := false
			begin := time.Now()
			_, err := p.open(t, s).Stream(ctx, conversation, func(loop.Delta) {
				if !seen {
					seen = true
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) || !seen {
				t.Errorf("error = %v, want the context's", err)
			}
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
			<-s.gone
		})
	}
}

func TestUnreachable(t *testing.T) {
	for _, p := range providers() {
		s := newWireServer(t)
		model := p.open(t, s)
		s.Close()
		_, _, err := ask(model, conversation)
		var e *loop.ModelError
		if !errors.As(err, &e) || e.Class != loop.Retryable {
			t.Errorf("%s: error = %v", p.name, err)
		}
	}
}

func TestThinkingBudget(t *testing.T) {
	p := providers()[0]
	s := newWireServer(t, p.text)
	if _, _, err := ask(p.open(t, s), loop.ModelRequest{ThinkingBudget: 4096}); err != nil {
		t.Fatal(err)
	}
	var body struct {
		MaxTokens int `json:"max_tokens"`
		Thinking  struct {
			Type   string
			Budget int `json:"budget_tokens"`
		}
	}
	if err := json.Unmarshal(s.requests[0].body, &body); err != nil || body.Thinking.Budget != 4096 || body.MaxTokens <= 4096 {
		t.Errorf("body = %+v, %v", body, err)
	}
}
