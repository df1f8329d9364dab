package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// Anthropic asks a model through the Messages protocol.
type Anthropic struct {
	model   manifest.Model
	options Options
	key     *secretKey
	headers map[string]string
}

func openAnthropic(m manifest.Model, o Options) (*Anthropic, error) {
	key, err := newKey(m, "ANTHROPIC_API_KEY", o.Getenv)
	if err != nil {
		return nil, err
	}
	h, err := headers(m, o.Getenv)
	if err != nil {
		return nil, err
	}
	return &Anthropic{model: m, options: o, key: key, headers: h}, nil
}

// Info names the model.
func (a *Anthropic) Info() loop.ModelInfo { return info(a.model) }

// Stream asks once.
func (a *Anthropic) Stream(ctx context.Context, req loop.ModelRequest, onDelta func(loop.Delta)) (loop.ModelAnswer, error) {
	key, err := a.key.get(ctx)
	if err != nil {
		return loop.ModelAnswer{}, terminal(ctx, err)
	}
	params, err := anthropicParams(a.model, req)
	if err != nil {
		return loop.ModelAnswer{}, terminal(ctx, err)
	}
	w := newWatch(ctx, a.model)
	defer w.stop()
	// The service is made without the SDK's client, which would look for keys
	// and addresses in the environment by itself.
	options := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithHTTPClient(a.options.HTTPClient), option.WithMaxRetries(0),
		option.WithMiddleware(w.middleware),
	}
	if a.model.BaseURL != "" {
		options = append(options, option.WithBaseURL(strings.TrimSuffix(a.model.BaseURL, "/")+"/"))
	}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	for name, value := range a.headers {
		options = append(options, option.WithHeader(name, value))
	}
	service := anthropic.NewMessageService(options...)
	begin := a.options.Now()
	stream := service.NewStreaming(w.ctx, params)
	defer stream.Close()
	r := anthropicReader{model: a.model, onDelta: onDelta, came: w.came}
	if r.form = outputFormOf(&req); r.form != nil {
		r.outputTool = r.form.outputTool(req.Tools)
	}
	for stream.Next() {
		if err := r.event(stream.Current()); err != nil {
			return loop.ModelAnswer{}, w.ended(ctx, a.model.Name, err, func(err error) error { return err })
		}
		if r.stopped {
			break
		}
	}
	a.options.Log.Debug("model answered", "model", a.model.Name, "ms", a.options.Now().Sub(begin).Milliseconds(), "complete", r.stopped)
	if !r.stopped {
		return loop.ModelAnswer{}, w.ended(ctx, a.model.Name, stream.Err(), func(err error) error { return a.explain(r.started, err) })
	}
	return r.answer()
}

// explain finds the class of what the SDK reports.
func (a *Anthropic) explain(started bool, err error) error {
	var api *anthropic.Error
	switch {
	case err == nil:
		return cut(a.model.Name, "the stream ended before the message did")
	case errors.As(err, &api):
		header := http.Header{}
		if api.Response != nil {
			header = api.Response.Header
		}
		status := api.StatusCode
		e := statusError(a.model.Name, status, header, []byte(api.RawJSON()), a.options.Now)
		if status == http.StatusOK { // an error in the middle of the stream
			_, said := errorBody([]byte(api.RawJSON()))
			e.Status, e.Message = 0, "the server of the model "+quoted(a.model.Name)+" broke off: "+said
		}
		return e
	}
	return streamEnd(a.model.Name, started, err)
}

func quoted(s string) string { return `"` + s + `"` }

// terminal is an error from before the request.
func terminal(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &loop.ModelError{Class: loop.Terminal, Message: err.Error()}
}

// anthropicReader puts the events of one stream together.
type anthropicReader struct {
	model   manifest.Model
	onDelta func(loop.Delta)
	came    func(int) // counts bytes of the answer
	started bool      // an event came
	stopped bool      // the message is complete
	blocks  []anthropicBlock
	usage   loop.Usage
	reason  anthropic.StopReason
	// outputTool is the tool whose arguments are the answer, in that form; ""
	// where the answer is free.
	outputTool string
	form       *outputForm
	remarks    []loop.Remark
	dropped    []json.RawMessage // reasoning that the provider left out of the request
}

// anthropicBlock is a content block while it grows.
type anthropicBlock struct {
	kind      string
	text      strings.Builder // text, thinking, or the call's arguments
	signature string
	id, name  string
	result    json.RawMessage // what a tool of the provider's found
	whole     bool
}

// redacted marks a signature that stands for thinking which only the provider
// can read.
const redacted = "redacted:"

func (r *anthropicReader) event(e anthropic.MessageStreamEventUnion) error {
	r.started = true
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		r.usage = loop.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens}
		r.remarked(e.Message.RawJSON())
	case "content_block_start":
		if e.Index != int64(len(r.blocks)) {
			return r.malformed("a block out of order")
		}
		b := e.ContentBlock
		next := anthropicBlock{kind: b.Type, id: b.ID, name: b.Name, signature: b.Signature}
		if b.Type == "redacted_thinking" {
			next.signature = redacted + b.Data
		}
		if strings.HasSuffix(b.Type, "_tool_result") {
			next.result = json.RawMessage(b.RawJSON())
			r.onDelta(loop.Delta{Kind: loop.ServerToolResult, ID: b.ToolUseID, Name: r.serverTool(b.ToolUseID), Data: b.JSON.Content.Raw(), IsError: strings.Contains(b.JSON.Content.Raw(), `_error"`)})
		}
		r.blocks = append(r.blocks, next)
		r.grow(len(r.blocks)-1, b.Text+b.Thinking)
	case "content_block_delta":
		if e.Index < 0 || e.Index >= int64(len(r.blocks)) {
			return r.malformed("a piece of a block that was not begun")
		}
		b := &r.blocks[e.Index]
		switch e.Delta.Type {
		case "text_delta":
			r.grow(int(e.Index), e.Delta.Text)
		case "thinking_delta":
			r.grow(int(e.Index), e.Delta.Thinking)
		case "signature_delta":
			b.signature += e.Delta.Signature
			r.came(len(e.Delta.Signature))
		case "input_json_delta":
			b.text.WriteString(e.Delta.PartialJSON)
			r.came(len(e.Delta.PartialJSON))
		}
	case "content_block_stop":
		if e.Index < 0 || e.Index >= int64(len(r.blocks)) {
			return r.malformed("the end of a block that was not begun")
		}
		b := &r.blocks[e.Index]
		b.whole = true
		if b.kind == "server_tool_use" {
			r.onDelta(loop.Delta{Kind: loop.ServerToolUse, ID: b.id, Name: b.name, Data: string(arguments(b.text.String()))})
		}
		if r.isOutput(b) {
			r.onDelta(loop.Delta{Kind: loop.TextDelta, Text: r.form.text(string(arguments(b.text.String())))})
		}
	case "message_delta":
		r.reason = e.Delta.StopReason
		r.count(e.Usage)
		r.remarked(e.RawJSON())
	case "message_stop":
		r.stopped = true
	}
	return nil
}

// count takes the totals of the end; those that are not sent stay.
func (r *anthropicReader) count(u anthropic.MessageDeltaUsage) {
	r.usage.Output = u.OutputTokens
	if u.JSON.InputTokens.Valid() {
		r.usage.Input = u.InputTokens
	}
	if u.JSON.CacheReadInputTokens.Valid() {
		r.usage.CacheRead = u.CacheReadInputTokens
	}
	if u.JSON.CacheCreationInputTokens.Valid() {
		r.usage.CacheWrite = u.CacheCreationInputTokens
	}
}

func (r *anthropicReader) grow(index int, piece string) {
	if piece == "" {
		return
	}
	b := &r.blocks[index]
	b.text.WriteString(piece)
	r.came(len(piece))
	switch b.kind {
	case "text":
		r.onDelta(loop.Delta{Kind: loop.TextDelta, Text: piece})
	case "thinking":
		r.onDelta(loop.Delta{Kind: loop.ThinkingDelta, Text: piece})
	}
}

// isOutput says that a block is the call that stands for the answer.
func (r *anthropicReader) isOutput(b *anthropicBlock) bool {
	return r.outputTool != "" && b.kind == "tool_use" && b.name == r.outputTool
}

// serverTool is the name of the provider's tool with that use.
func (r *anthropicReader) serverTool(id string) string {
	for i := range r.blocks {
		if r.blocks[i].kind == "server_tool_use" && r.blocks[i].id == id {
			return r.blocks[i].name
		}
	}
	return ""
}

func (r *anthropicReader) malformed(what string) error {
	return cut(r.model.Name, "the server sent "+what)
}

func (r *anthropicReader) answer() (loop.ModelAnswer, error) {
	out := loop.ModelAnswer{Usage: cost(r.model, r.usage), Remarks: r.remarks, Dropped: len(r.dropped)}
	if len(r.dropped) > 0 {
		details, err := json.Marshal(r.dropped)
		if err != nil {
			return out, r.malformed("a report that cannot be read")
		}
		out.DroppedDetails = details
	}
	for i := range r.blocks {
		b := &r.blocks[i]
		if !b.whole {
			return loop.ModelAnswer{}, r.malformed("the end of a message with an open block")
		}
		switch b.kind {
		case "text":
			if b.text.Len() > 0 {
				out.Blocks = append(out.Blocks, loop.Block{Kind: loop.TextBlock, Text: b.text.String()})
			}
		case "thinking", "redacted_thinking":
			out.Blocks = append(out.Blocks, loop.Block{Kind: loop.ThinkingBlock, Text: b.text.String(), Signature: b.signature})
		case "server_tool_use":
			if raw, err := json.Marshal(map[string]any{"type": b.kind, "id": b.id, "name": b.name, "input": json.RawMessage(object(arguments(b.text.String())))}); err == nil {
				out.Blocks = append(out.Blocks, loop.Block{Kind: loop.ServerBlock, Raw: raw})
			}
		case "tool_use":
			if r.isOutput(b) {
				out.Blocks = append(out.Blocks, loop.Block{Kind: loop.TextBlock, Text: r.form.text(string(arguments(b.text.String())))})
				continue
			}
			out.Blocks = append(out.Blocks, loop.Block{Kind: loop.CallBlock, Call: &loop.ToolCall{ProviderID: b.id, Name: b.name, Arguments: arguments(b.text.String())}})
		default:
			if b.result != nil {
				out.Blocks = append(out.Blocks, loop.Block{Kind: loop.ServerBlock, Raw: b.result})
			}
		}
	}
	switch r.reason {
	case anthropic.StopReasonToolUse:
		out.StopReason = "tool_use"
		if !slices.ContainsFunc(out.Blocks, func(b loop.Block) bool { return b.Kind == loop.CallBlock }) {
			out.StopReason = "end" // the call was the answer
		}
	case anthropic.StopReasonMaxTokens, "model_context_window_exceeded":
		out.StopReason = "max_tokens"
	case anthropic.StopReasonRefusal:
		out.StopReason = "refusal"
	default:
		out.StopReason = "end"
	}
	return out, nil
}

// arguments are as the model wrote them; nothing is an empty object.
func arguments(text string) []byte {
	if strings.TrimSpace(text) == "" {
		return []byte("{}")
	}
	return []byte(text)
}
