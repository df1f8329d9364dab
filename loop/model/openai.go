package model

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// OpenAI asks a model through the chat completions protocol, of the provider
// itself or of any server that speaks it.
type OpenAI struct {
	model   manifest.Model
	options Options
	key     *secretKey
	headers map[string]string
}

func openOpenAI(m manifest.Model, o Options) (*OpenAI, error) {
	key, err := newKey(m, "OPENAI_API_KEY", o.Getenv)
	if err != nil {
		return nil, err
	}
	h, err := headers(m, o.Getenv)
	if err != nil {
		return nil, err
	}
	return &OpenAI{model: m, options: o, key: key, headers: h}, nil
}

// Info names the model.
func (o *OpenAI) Info() loop.ModelInfo { return info(o.model) }

// Stream asks once.
func (o *OpenAI) Stream(ctx context.Context, req loop.ModelRequest, onDelta func(loop.Delta)) (loop.ModelAnswer, error) {
	key, err := o.key.get(ctx)
	if err != nil {
		return loop.ModelAnswer{}, terminal(ctx, err)
	}
	params, err := openAIParams(o.model, req)
	if err != nil {
		return loop.ModelAnswer{}, terminal(ctx, err)
	}
	w := newWatch(ctx, o.model)
	defer w.stop()
	options := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithHTTPClient(o.options.HTTPClient), option.WithMaxRetries(0),
		option.WithMiddleware(w.middleware),
	}
	if o.model.BaseURL != "" {
		options = append(options, option.WithBaseURL(strings.TrimSuffix(o.model.BaseURL, "/")+"/"))
	}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	for name, value := range o.headers {
		options = append(options, option.WithHeader(name, value))
	}
	// Not the SDK's client: it would look for settings in the environment.
	service := openai.NewChatCompletionService(options...)
	begin := o.options.Now()
	stream := service.NewStreaming(w.ctx, params)
	defer stream.Close()
	r := openAIReader{model: o.model, onDelta: onDelta, came: w.came, form: outputFormOf(&req)}
	for stream.Next() {
		r.chunk(stream.Current())
	}
	o.options.Log.Debug("model answered", "model", o.model.Name, "ms", o.options.Now().Sub(begin).Milliseconds(), "complete", r.reason != "")
	if err := stream.Err(); err != nil || r.reason == "" {
		return loop.ModelAnswer{}, w.ended(ctx, o.model.Name, err, func(err error) error { return o.explain(r.started, err) })
	}
	return r.answer(), nil
}

// explain finds the class of what the SDK reports.
func (o *OpenAI) explain(started bool, err error) error {
	var api *openai.Error
	var broken *ssestream.StreamError
	switch {
	case err == nil:
		return cut(o.model.Name, "the stream ended before the message did")
	case errors.As(err, &api):
		header := http.Header{}
		if api.Response != nil {
			header = api.Response.Header
		}
		return statusError(o.model.Name, api.StatusCode, header, openAIBody(api), o.options.Now)
	case errors.As(err, &broken):
		kind, said := errorBody(broken.Event.Data)
		class := classify(0, kind, said)
		if class == loop.Terminal && kind != "invalid_request_error" && kind != "insufficient_quota" {
			class = loop.Retryable // a server that breaks off in the middle is in trouble itself
		}
		return &loop.ModelError{Class: class, Message: "the server of the model " + quoted(o.model.Name) + " broke off: " + said}
	}
	return streamEnd(o.model.Name, started, err)
}

// openAIBody is the error's body in the shape that errorBody reads: the SDK
// keeps only what is under "error".
func openAIBody(e *openai.Error) []byte {
	raw := e.RawJSON()
	if raw == "" && e.Response != nil && e.Response.Body != nil { // it was no JSON; the SDK keeps it there
		body, _ := io.ReadAll(io.LimitReader(e.Response.Body, 4*maxErrorText))
		return body
	}
	if !json.Valid([]byte(raw)) {
		return []byte(raw)
	}
	return []byte(`{"error":` + raw + `}`)
}

// openAIReader puts the chunks of one stream together.
type openAIReader struct {
	model    manifest.Model
	onDelta  func(loop.Delta)
	came     func(int) // counts bytes of the answer
	started  bool
	text     strings.Builder
	thinking strings.Builder
	refusal  strings.Builder
	calls    []*openAICall
	reason   string // why the message is complete; "" until it is
	usage    loop.Usage
	form     *outputForm // nil: the answer is free
	remarks  []loop.Remark
}

// openAICall is a call while it grows.
type openAICall struct {
	index     int64
	id, name  string
	arguments strings.Builder
}

func (r *openAIReader) chunk(c openai.ChatCompletionChunk) {
	r.started = true
	if u := c.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 {
		cached := u.PromptTokensDetails.CachedTokens
		r.usage = loop.Usage{Input: u.PromptTokens - cached, Output: u.CompletionTokens, CacheRead: cached}
	}
	if extra, ok := c.JSON.ExtraFields["warnings"]; ok {
		r.warned(extra.Raw())
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // one answer was asked for
		}
		d := choice.Delta
		for _, name := range []string{"reasoning_content", "reasoning"} {
			if extra, ok := d.JSON.ExtraFields[name]; ok {
				var piece string
				if json.Unmarshal([]byte(extra.Raw()), &piece) == nil && piece != "" {
					r.thinking.WriteString(piece)
					r.came(len(piece))
					r.onDelta(loop.Delta{Kind: loop.ThinkingDelta, Text: piece})
					break
				}
			}
		}
		if d.Content != "" {
			r.text.WriteString(d.Content)
			r.came(len(d.Content))
			r.onDelta(loop.Delta{Kind: loop.TextDelta, Text: d.Content})
		}
		if d.Refusal != "" {
			r.refusal.WriteString(d.Refusal)
			r.came(len(d.Refusal))
			r.onDelta(loop.Delta{Kind: loop.TextDelta, Text: d.Refusal})
		}
		for _, call := range d.ToolCalls {
			r.call(call)
		}
		if choice.FinishReason != "" {
			r.reason = choice.FinishReason
		}
		if choice.FinishReason == "content_filter" && len(r.remarks) < maxRemarks {
			said := loop.Remark{Code: "content_filter", Message: "the provider's filter stopped the answer"}
			if extra, ok := choice.JSON.ExtraFields["content_filter_results"]; ok {
				said.Details = json.RawMessage(extra.Raw())
			}
			r.remarks = append(r.remarks, said)
		}
	}
}

// call adds a piece to the call with its index. Servers that send whole calls
// may give all of them one index: another id is another call.
func (r *openAIReader) call(d openai.ChatCompletionChunkChoiceDeltaToolCall) {
	var at *openAICall
	for _, c := range r.calls {
		if c.index == d.Index {
			at = c
		}
	}
	if at == nil || d.ID != "" && at.id != "" && d.ID != at.id {
		at = &openAICall{index: d.Index}
		r.calls = append(r.calls, at)
	}
	if d.ID != "" {
		at.id = d.ID
	}
	if at.name == "" {
		at.name = d.Function.Name
	}
	at.arguments.WriteString(d.Function.Arguments)
	r.came(len(d.Function.Arguments))
}

func (r *openAIReader) answer() loop.ModelAnswer {
	out := loop.ModelAnswer{Usage: cost(r.model, r.usage), StopReason: "end", Remarks: r.remarks}
	if r.thinking.Len() > 0 {
		out.Blocks = append(out.Blocks, loop.Block{Kind: loop.ThinkingBlock, Text: r.thinking.String()})
	}
	if text := r.form.text(r.text.String()) + r.refusal.String(); text != "" {
		out.Blocks = append(out.Blocks, loop.Block{Kind: loop.TextBlock, Text: text})
	}
	for _, c := range r.calls {
		out.Blocks = append(out.Blocks, loop.Block{Kind: loop.CallBlock, Call: &loop.ToolCall{ProviderID: c.id, Name: c.name, Arguments: arguments(c.arguments.String())}})
	}
	switch {
	case r.reason == "length":
		out.StopReason = "max_tokens"
	case r.reason == "content_filter" || r.refusal.Len() > 0:
		out.StopReason = "refusal"
	case len(r.calls) > 0:
		out.StopReason = "tool_use"
	}
	return out
}
