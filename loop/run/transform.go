package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// options are what turn:before may change about the requests of a turn. Never
// the server, its key or the tools.
type options struct {
	maxTokens int // 0 = the model's own
	thinking  int // tokens, 0 = none
}

// turnBefore lets hooks tune the options, once for each answer that is wanted
// of a model.
func (q *asking) turnBefore(ctx context.Context, req *loop.ModelRequest) error {
	r, s := q.run, &q.state
	out := r.hear(ctx, s, "turn:before", "", func() map[string]any {
		names := make([]any, len(req.Tools))
		for i, t := range req.Tools {
			names[i] = t.Name
		}
		count, size := s.Size()
		return map[string]any{
			"model":    q.name,
			"options":  map[string]any{"max_tokens": int64(q.options.maxTokens), "thinking_budget": int64(q.options.thinking)},
			"messages": map[string]any{"count": int64(count), "bytes": int64(size)},
			"tools":    names,
		}
	})
	value, err := q.transformed(ctx, "turn:before", out)
	if err != nil || value == nil {
		return err
	}
	m, ok := value.(map[string]any)
	if !ok {
		return q.malformed("turn:before", fmt.Errorf("the value is %T, not a map of options", value))
	}
	for name, into := range map[string]*int{"max_tokens": &q.options.maxTokens, "thinking_budget": &q.options.thinking} {
		switch n := m[name].(type) {
		case nil: // it stays
		case int64:
			if n < 0 || n > 10_000_000 {
				return q.malformed("turn:before", fmt.Errorf("%s is %d, which is not between 0 and 10000000", name, n))
			}
			*into = int(n)
		default:
			return q.malformed("turn:before", fmt.Errorf("%s is %T, not a number", name, n))
		}
	}
	return nil
}

// transform lets hooks change what is sent of the conversation and of the
// system prompt, for this request only.
func (q *asking) transform(ctx context.Context, req *loop.ModelRequest) error {
	r, s := q.run, &q.state
	out := r.hear(ctx, s, "context:transform", "", func() map[string]any {
		return map[string]any{"messages": plainMessages(req.Messages)}
	})
	value, err := q.transformed(ctx, "context:transform", out)
	if err != nil {
		return err
	}
	if value != nil {
		if req.Messages, err = sentMessages(s, req.Messages, value); err != nil {
			return q.malformed("context:transform", err)
		}
	}
	out = r.hear(ctx, s, "system:transform", "", func() map[string]any {
		return map[string]any{"system": req.System}
	})
	if value, err = q.transformed(ctx, "system:transform", out); err != nil || value == nil {
		return err
	}
	text, ok := value.(string)
	if !ok {
		return q.malformed("system:transform", fmt.Errorf("the value is %T, not text", value))
	}
	req.System = text
	return nil
}

// transformed is the value that hooks gave, nil where they left all as it is.
// What is broken or wants to end the run ends it.
func (q *asking) transformed(ctx context.Context, event string, out hooks.Outcome) (any, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.Failure == nil && out.Action == contract.Modify:
		return out.Value, nil
	case out.Failure == nil && out.Action == contract.Allow:
		return nil, nil
	}
	q.run.endRun(event, out)
	return nil, errHookFailed
}

// malformed ends the run since a hook gave something that cannot be sent.
func (q *asking) malformed(event string, err error) error {
	q.run.endRun(event, hooks.Outcome{Failure: &hooks.Failure{Kind: hooks.Malformed, Message: "malformed: " + err.Error()}})
	return errHookFailed
}

// plainMessages are the messages as hooks see them. A part's ref says where it
// stands, so that one which comes back with it keeps what is not shown here.
func plainMessages(messages []loop.Message) []any {
	list := make([]any, len(messages))
	for i, m := range messages {
		parts := []any{}
		for k := range m.Blocks {
			if m.Blocks[k].Kind == loop.ServerBlock {
				continue // the provider's own form
			}
			p := plainPart(&m.Blocks[k])
			p["ref"] = fmt.Sprintf("%d.%d", i, k)
			parts = append(parts, p)
		}
		list[i] = map[string]any{"role": string(m.Role), "content": parts}
	}
	return list
}

// sentMessages makes the messages of a request from what hooks made of them.
// What they leave of them is well-formed again afterwards.
func sentMessages(s *loop.State, before []loop.Message, value any) ([]loop.Message, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("the value is %T, not a list of messages", value)
	}
	var messages []loop.Message
	for i, v := range list {
		m, ok := v.(map[string]any)
		parts, isList := m["content"].([]any)
		role, _ := m["role"].(string)
		if !ok || !isList || role != string(loop.User) && role != string(loop.Assistant) {
			return nil, fmt.Errorf("message %d is not {role, content}", i)
		}
		message := loop.Message{Role: loop.Role(role)}
		for k, part := range parts {
			p, ok := part.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("part %d of message %d is no map", k, i)
			}
			from, b := referred(before, p["ref"])
			if from != nil && message.Origin == "" {
				message.Origin = from.Origin
			}
			b, err := sentPart(s, b, p)
			if err != nil {
				return nil, fmt.Errorf("part %d of message %d: %w", k, i, err)
			}
			if b != nil {
				message.Blocks = append(message.Blocks, *b)
			}
		}
		if len(message.Blocks) > 0 {
			messages = append(messages, message)
		}
	}
	messages, _ = loop.Repair(messages)
	if len(messages) == 0 {
		return nil, errors.New("no message is left to send")
	}
	if messages[0].Role == loop.Assistant {
		note := loop.Message{Role: loop.User, Blocks: []loop.Block{{Kind: loop.ReminderBlock, Text: s.Framed("what was said before this is left out")}}}
		messages = slices.Insert(messages, 0, note)
	}
	return messages, nil
}

// referred finds the part that a ref names, nil if it names none.
func referred(messages []loop.Message, ref any) (*loop.Message, *loop.Block) {
	text, _ := ref.(string)
	var i, k int
	if n, err := fmt.Sscanf(text, "%d.%d", &i, &k); n != 2 || err != nil {
		return nil, nil
	}
	if i < 0 || i >= len(messages) || k < 0 || k >= len(messages[i].Blocks) {
		return nil, nil
	}
	return &messages[i], &messages[i].Blocks[k]
}

// sentPart makes one part: the former one where it is as it was, else what
// the hook wrote. nil is nothing to send.
func sentPart(s *loop.State, former *loop.Block, p map[string]any) (*loop.Block, error) {
	kind, _ := p["type"].(string)
	text, _ := p["text"].(string)
	same := former != nil && string(former.Kind) == kind
	switch loop.BlockKind(kind) {
	case loop.TextBlock, loop.ReminderBlock, loop.ThinkingBlock:
		switch {
		case same && former.Text == text:
			return former, nil
		case text == "" || kind == string(loop.ThinkingBlock): // what was thought cannot be put into words by others
			return nil, nil
		case kind == string(loop.ReminderBlock):
			return &loop.Block{Kind: loop.ReminderBlock, Text: s.Framed(text)}, nil
		}
		return &loop.Block{Kind: loop.TextBlock, Text: s.Clean(text)}, nil
	case loop.ImageBlock:
		if !same {
			return nil, errors.New("an image has to keep its ref")
		}
		return former, nil
	case loop.CallBlock:
		return sentCall(former, same, p)
	case loop.ResultBlock:
		result := loop.ToolResult{Outcome: loop.CallOK}
		if same {
			result = *former.Result
		}
		if id, ok := p["id"].(string); ok && id != "" {
			result.CallID = id
		}
		if result.CallID == "" {
			return nil, errors.New("a result without the id of its call")
		}
		if !same || text != former.Result.Text {
			result.Text = s.Clean(text)
		}
		if failed, ok := p["is_error"].(bool); ok {
			result.IsError = failed
		}
		return &loop.Block{Kind: loop.ResultBlock, Result: &result}, nil
	}
	return nil, fmt.Errorf("unknown type %q", kind)
}

func sentCall(former *loop.Block, same bool, p map[string]any) (*loop.Block, error) {
	var call loop.ToolCall
	if same {
		call = *former.Call
	}
	id, _ := p["id"].(string)
	name, _ := p["name"].(string)
	if id != "" {
		call.ID = id
	}
	if name != "" {
		call.Name = name
	}
	if call.ID == "" || call.Name == "" {
		return nil, errors.New("a call without id or name")
	}
	if args, ok := p["arguments"].(map[string]any); ok {
		text, err := contract.WritePlain(args)
		if err != nil {
			return nil, fmt.Errorf("the arguments: %w", err)
		}
		if !same || !sameJSON(text, call.Arguments) {
			call.Arguments = text
		}
	}
	if len(call.Arguments) == 0 {
		call.Arguments = []byte("{}")
	}
	return &loop.Block{Kind: loop.CallBlock, Call: &call}, nil
}
