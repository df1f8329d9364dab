package model

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// leastThinking is the smallest budget that the provider takes, in tokens.
const leastThinking = 1024

// anthropicParams writes a request. Cache marks stand behind the parts that
// stay the same: tools and system prompt, the history before the last
// message, and the last message, which the next request repeats.
func anthropicParams(m manifest.Model, req loop.ModelRequest) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{Model: anthropic.Model(m.Model), MaxTokens: answerLimit(m, &req)}
	form := outputFormOf(&req)
	if budget := int64(req.ThinkingBudget); budget >= leastThinking && form == nil { // it does not go with a tool that has to be called
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(budget)
		p.MaxTokens = max(p.MaxTokens, budget+leastThinking)
	}
	if req.System != "" {
		p.System = []anthropic.TextBlockParam{{Text: req.System, CacheControl: anthropic.NewCacheControlEphemeralParam()}}
	}
	for _, t := range req.Tools {
		tool, err := anthropicTool(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = anthropic.NewCacheControlEphemeralParam()
	}
	if form != nil {
		if err := forceOutput(&p, form, req.Tools); err != nil {
			return p, err
		}
	}
	ids := wireIDs(req.Messages)
	for _, message := range req.Messages {
		blocks := anthropicBlocks(message, ids)
		if len(blocks) == 0 {
			continue // nothing that this provider can be told
		}
		role := anthropic.MessageParamRoleUser
		if message.Role == loop.Assistant {
			role = anthropic.MessageParamRoleAssistant
		}
		p.Messages = append(p.Messages, anthropic.MessageParam{Role: role, Content: blocks})
	}
	marked := 0
	for i := len(p.Messages) - 1; i >= 0 && marked < 2; i-- {
		if p.Messages[i].Role == anthropic.MessageParamRoleUser {
			content := p.Messages[i].Content
			if mark := content[len(content)-1].GetCacheControl(); mark != nil {
				*mark = anthropic.NewCacheControlEphemeralParam()
				marked++
			}
		}
	}
	return p, nil
}

// forceOutput has the model give its output as the arguments of a tool that it
// has to call: every model knows that, whatever the schema. The tool stands
// behind the cache mark of the others.
func forceOutput(p *anthropic.MessageNewParams, form *outputForm, tools []loop.ToolSpec) error {
	schema, err := json.Marshal(form.schema)
	if err != nil {
		return fmt.Errorf("the output schema: %w", err)
	}
	name := form.outputTool(tools)
	tool, err := anthropicTool(loop.ToolSpec{Name: name, Description: "Gives the final output.", Schema: schema})
	if err != nil {
		return err
	}
	p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	p.ToolChoice = anthropic.ToolChoiceParamOfTool(name)
	p.ToolChoice.OfTool.DisableParallelToolUse = param.NewOpt(true)
	return nil
}

// anthropicTool passes the schema through: what the SDK has no field for goes
// along as it is.
func anthropicTool(t loop.ToolSpec) (anthropic.ToolParam, error) {
	tool := anthropic.ToolParam{Name: t.Name}
	if t.Description != "" {
		tool.Description = param.NewOpt(t.Description)
	}
	var schema map[string]json.RawMessage
	if err := json.Unmarshal(t.Schema, &schema); err != nil && len(t.Schema) > 0 {
		return tool, fmt.Errorf("the schema of the tool %s is no JSON object: %w", t.Name, err)
	}
	for key, value := range schema {
		switch key {
		case "type":
		case "properties":
			tool.InputSchema.Properties = value
		case "required":
			if err := json.Unmarshal(value, &tool.InputSchema.Required); err != nil {
				return tool, fmt.Errorf("the schema of the tool %s: required: %w", t.Name, err)
			}
		default:
			if tool.InputSchema.ExtraFields == nil {
				tool.InputSchema.ExtraFields = map[string]any{}
			}
			tool.InputSchema.ExtraFields[key] = value
		}
	}
	if len(tool.InputSchema.ExtraFields) > 1 {
		// The SDK writes several of them in any order, and a request that
		// differs from the last one misses the cache.
		schema["type"] = json.RawMessage(`"object"`)
		ordered, err := json.Marshal(schema)
		if err != nil {
			return tool, fmt.Errorf("the schema of the tool %s: %w", t.Name, err)
		}
		tool.InputSchema = param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(ordered))
		return tool, nil
	}
	if tool.InputSchema.Properties == nil {
		tool.InputSchema.Properties = json.RawMessage("{}") // else the SDK leaves the whole schema out
	}
	return tool, nil
}

// anthropicBlocks writes one message; results come first, as the provider
// wants them.
func anthropicBlocks(m loop.Message, ids map[string]string) []anthropic.ContentBlockParamUnion {
	var results, rest []anthropic.ContentBlockParamUnion
	for _, b := range m.Blocks {
		switch b.Kind {
		case loop.TextBlock, loop.ReminderBlock:
			if strings.TrimSpace(b.Text) != "" {
				rest = append(rest, anthropic.NewTextBlock(b.Text))
			}
		case loop.ThinkingBlock:
			// Without a signature it is another provider's and would be refused.
			if data, ok := strings.CutPrefix(b.Signature, redacted); ok {
				rest = append(rest, anthropic.NewRedactedThinkingBlock(data))
			} else if b.Signature != "" {
				rest = append(rest, anthropic.NewThinkingBlock(b.Signature, b.Text))
			}
		case loop.ServerBlock:
			rest = append(rest, param.Override[anthropic.ContentBlockParamUnion](b.Raw))
		case loop.ImageBlock:
			rest = append(rest, anthropic.NewImageBlockBase64(b.MediaType, base64.StdEncoding.EncodeToString(b.Data)))
		case loop.CallBlock:
			rest = append(rest, anthropic.NewToolUseBlock(ids[b.Call.ID], object(b.Call.Arguments), b.Call.Name))
		case loop.ResultBlock:
			results = append(results, anthropicResult(b.Result, ids))
		}
	}
	return append(results, rest...)
}

func anthropicResult(r *loop.ToolResult, ids map[string]string) anthropic.ContentBlockParamUnion {
	out := anthropic.ToolResultBlockParam{ToolUseID: ids[r.CallID]}
	if out.ToolUseID == "" {
		out.ToolUseID = wireID(r.CallID)
	}
	if r.IsError {
		out.IsError = param.NewOpt(true)
	}
	text := func(s string) {
		if strings.TrimSpace(s) != "" {
			out.Content = append(out.Content, anthropic.ToolResultBlockParamContentUnion{OfText: &anthropic.TextBlockParam{Text: s}})
		}
	}
	text(r.Text)
	for _, image := range r.Images {
		block := anthropic.NewImageBlockBase64(image.MediaType, base64.StdEncoding.EncodeToString(image.Data))
		out.Content = append(out.Content, anthropic.ToolResultBlockParamContentUnion{OfImage: block.OfImage})
	}
	for _, n := range r.Notes {
		text(n)
	}
	return anthropic.ContentBlockParamUnion{OfToolResult: &out}
}

// object is a call's arguments as the wire wants them: an object, whatever
// the model wrote.
func object(arguments json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(arguments, &fields) != nil || fields == nil {
		return json.RawMessage("{}")
	}
	return arguments
}

// wireIDs gives each call the id that the provider knows it by: its own, or
// the host's where that is missing or came twice.
func wireIDs(messages []loop.Message) map[string]string {
	ids := map[string]string{}
	taken := map[string]bool{}
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Call == nil {
				continue
			}
			id := wireID(b.Call.ProviderID)
			if id == "" || taken[id] {
				id = wireID(b.Call.ID)
			}
			taken[id] = true
			ids[b.Call.ID] = id
		}
	}
	return ids
}

// wireID keeps to the letters that every provider takes.
func wireID(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
}
