package model

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

func TestOpenNamesWhatIsMissing(t *testing.T) {
	none := func(string) string { return "" }
	for _, c := range []struct {
		model manifest.Model
		want  string
	}{
		{manifest.Model{Name: "a", Provider: "anthropic", APIKeyEnv: "MY_KEY"}, `the environment variable MY_KEY, which holds the key of the model "a", is not set`},
		{manifest.Model{Name: "a", Provider: "anthropic"}, `ANTHROPIC_API_KEY`},
		{manifest.Model{Name: "a", Provider: "openai"}, `OPENAI_API_KEY`},
		{manifest.Model{Name: "a", Provider: "openai", BaseURL: "http://127.0.0.1:1/v1", Headers: map[string]string{"X": "${TEAM}"}}, `the environment variable TEAM, which the header X`},
		{manifest.Model{Name: "a", Provider: "gemini"}, `unknown provider "gemini"`},
		{manifest.Model{Name: "a"}, `has no provider`},
		{manifest.Model{Name: "a", Provider: "rehearsal", Script: "s.yaml", ScriptText: []byte("turns:\n  - txt: a\n")}, `s.yaml:2: unknown key "txt" in a turn; did you mean "text"?`},
	} {
		_, err := Open(c.model, Options{Getenv: none})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%+v) = %v, want %s", c.model, err, c.want)
		}
	}
	if _, err := Open(manifest.Model{Name: "a", Provider: "openai", BaseURL: "http://127.0.0.1:1/v1"}, Options{Getenv: none}); err != nil {
		t.Errorf("a local server needs no key, but: %v", err)
	}
}

// The environment's keys and addresses must not reach another server.
func TestTheEnvironmentStaysOut(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "the-real-one")
	t.Setenv("ANTHROPIC_API_KEY", "the-real-one")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "the-real-one")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")
	for _, p := range providers() {
		s := newWireServer(t, p.text)
		m := p.model
		m.BaseURL, m.APIKeyEnv, m.Headers = s.URL+"/", "", map[string]string{"X-Team": "${TEAM}!"}
		model, err := Open(m, Options{Getenv: func(name string) string { return map[string]string{"TEAM": "red"}[name] }})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ask(model, loop.ModelRequest{}); err != nil {
			t.Fatal(err)
		}
		for name, values := range s.requests[0].header {
			if strings.Contains(strings.Join(values, " "), "the-real-one") {
				t.Errorf("%s: the header %s carries the environment's key", p.name, name)
			}
		}
		if got := s.requests[0].header.Get("X-Team"); got != "red!" {
			t.Errorf("%s: X-Team = %q", p.name, got)
		}
	}
}

func TestKeyFromACommand(t *testing.T) {
	for _, p := range providers() {
		s := newWireServer(t, p.text, p.text)
		m := p.model
		m.BaseURL, m.APIKeyEnv, m.APIKeyCommand = s.URL, "", []string{"go", "env", "GOOS"}
		model, err := Open(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, _, err := ask(model, loop.ModelRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		if r := s.requests[1].header; r.Get("authorization")+r.Get("x-api-key") == "" {
			t.Errorf("%s: no key in %v", p.name, r)
		}
		m.APIKeyCommand = []string{"go", "no-such-command"}
		model, _ = Open(m, Options{})
		_, _, err = ask(model, loop.ModelRequest{})
		var e *loop.ModelError
		if !errors.As(err, &e) || e.Class != loop.Terminal || !strings.Contains(e.Message, "the command for the key") {
			t.Errorf("%s: error = %v", p.name, err)
		}
	}
}

func TestCost(t *testing.T) {
	u := loop.Usage{Input: 1_000_000, Output: 1_000_000, CacheRead: 1_000_000, CacheWrite: 1_000_000}
	if got := cost(manifest.Model{Model: "claude-sonnet-4-5-20250929"}, u).Cost; got == nil || got.Amount != 3+15+0.3+3.75 {
		t.Errorf("built-in price: %+v", got)
	}
	if got := cost(manifest.Model{Model: "gpt-4.1-mini"}, u).Cost; got == nil || got.Amount != 0.4+1.6+0.1 {
		t.Errorf("longest name: %+v", got)
	}
	if got := cost(manifest.Model{Model: "gpt-4.1", Price: &manifest.Price{Input: 1}}, u).Cost; got == nil || got.Amount != 1 {
		t.Errorf("own price: %+v", got)
	}
	if got := cost(manifest.Model{Model: "qwen3-coder"}, u).Cost; got != nil {
		t.Errorf("unknown price: %+v, want no cost", got)
	}
}

func TestInfo(t *testing.T) {
	m, err := Open(manifest.Model{Name: "m", Provider: "openai", Model: "gpt-4.1", BaseURL: "http://127.0.0.1:1", Fallback: []string{"b"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := loop.ModelInfo{Name: "m", Provider: "openai", Model: "gpt-4.1", ContextWindow: 1_047_576, MaxTokens: 16384, Fallback: []string{"b"},
		Limits: loop.ModelLimits{Attempts: 5, TotalWait: 2 * time.Minute, Idle: 90 * time.Second}}
	if diff := cmp.Diff(want, m.Info()); diff != "" {
		t.Error(diff)
	}
}

func rehearse(t *testing.T, script string) loop.Model {
	t.Helper()
	m, err := Open(manifest.Model{Name: "r", Provider: "rehearsal", Script: "s.yaml", ScriptText: []byte(script)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRehearsalPlaysATurn(t *testing.T) {
	m := rehearse(t, `turns: [{text: "Grüße, Welt", thinking: hm, chunks: 3, usage: {input: 5, output: 2}, tool_calls: [{name: grep, arguments: {pattern: x}}, {name: glob}]}]`)
	answer, deltas, err := ask(m, loop.ModelRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, d := range deltas {
		text = append(text, d.Text)
	}
	if diff := cmp.Diff([]string{"hm", "Grüß", "e, W", "elt"}, text); diff != "" {
		t.Error(diff)
	}
	want := loop.ModelAnswer{StopReason: "tool_use", Usage: loop.Usage{Input: 5, Output: 2}, Blocks: []loop.Block{
		{Kind: loop.ThinkingBlock, Text: "hm"}, {Kind: loop.TextBlock, Text: "Grüße, Welt"},
		{Kind: loop.CallBlock, Call: &loop.ToolCall{ProviderID: "rehearsal_1_1", Name: "grep", Arguments: []byte(`{"pattern":"x"}`)}},
		{Kind: loop.CallBlock, Call: &loop.ToolCall{ProviderID: "rehearsal_1_2", Name: "glob", Arguments: []byte(`{}`)}},
	}}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Error(diff)
	}
}

func TestRehearsalFails(t *testing.T) {
	user := []loop.Message{{Role: loop.User, Blocks: []loop.Block{{Kind: loop.TextBlock, Text: "hello world"}}}}
	for name, c := range map[string]struct {
		script string
		class  loop.ErrorClass
		after  time.Duration
		want   string
		deltas int
	}{
		"expectation": {"turns: [{expect: 'want \\d+', text: a}]", loop.RehearsalFailure, 0, "s.yaml:1 expects /want \\d+/ in the messages, which are:\nhello world", 0},
		"out":         {"turns: []", loop.RehearsalFailure, 0, "the script has no turn left", 0},
		"status":      {"turns: [{error: {status: 429, retry_after: 1.5, body: '{\"error\": {\"message\": \"slow down\"}}'}}]", loop.Retryable, 1500 * time.Millisecond, "429 (too many requests): slow down", 0},
		"terminal":    {"turns: [{error: {status: 400, body: no}}]", loop.Terminal, 0, "400 (bad request): no", 0},
		"overflow":    {"turns: [{error: {status: 400, body: prompt is too long}}]", loop.ContextOverflow, 0, "prompt is too long", 0},
		"cut":         {"turns: [{text: abcdef, chunks: 3, cut_after: 2}]", loop.Retryable, 0, "breaks off after 2 pieces", 2},
		"window":      {"turns: [{text: a}]\ncontext_window: 1", loop.ContextOverflow, 0, "the context window of the model", 0},
	} {
		t.Run(name, func(t *testing.T) {
			answer, deltas, err := ask(rehearse(t, c.script), loop.ModelRequest{Messages: user})
			var e *loop.ModelError
			if !errors.As(err, &e) || e.Class != c.class || e.RetryAfter != c.after || !strings.Contains(e.Message, c.want) {
				t.Errorf("error = %#v, want class %d and %q", err, c.class, c.want)
			}
			if len(deltas) != c.deltas || len(answer.Blocks) > 0 {
				t.Errorf("deltas = %v, answer = %+v", deltas, answer)
			}
		})
	}
}

func TestRehearsalRetryTakesTheNextTurn(t *testing.T) {
	m := rehearse(t, "turns: [{error: {status: 500}}, {text: half, cut_after: 0}, {text: a}, {text: b}]")
	var got []string
	req := loop.ModelRequest{}
	for range 4 {
		a, _, err := ask(m, req)
		if err != nil {
			got = append(got, "error")
			continue
		}
		got = append(got, a.Blocks[0].Text)
		req.Turn++
	}
	if diff := cmp.Diff([]string{"error", "error", "a", "b"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRehearsalDelayEndsWithTheContext(t *testing.T) {
	m := rehearse(t, "turns: [{text: a, delay_ms: 3600000}, {text: b}]")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := m.Stream(ctx, loop.ModelRequest{}, func(loop.Delta) {})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestRehearsalFixedAnswers(t *testing.T) {
	r := rehearse(t, "summaries: [short]\ndecisions: [{answer: true}]").(*Rehearsal)
	if r.Summary(0) != "short" || r.Summary(1) == "" || string(r.Decision(0)) != `{"answer":true}` || r.Decision(1) != nil {
		t.Errorf("%q %q %s %s", r.Summary(0), r.Summary(1), r.Decision(0), r.Decision(1))
	}
}
