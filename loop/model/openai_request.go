package model

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// openAIParams writes a request.
func openAIParams(m manifest.Model, req loop.ModelRequest) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{
		Model:         shared.ChatModel(m.Model),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	// The provider's newer models refuse the old name, other servers know
	// only that one.
	if m.BaseURL == "" {
		p.MaxCompletionTokens = param.NewOpt(answerLimit(m, &req))
	} else {
		p.MaxTokens = param.NewOpt(answerLimit(m, &req))
	}
	if req.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(req.System))
	}
	ids := wireIDs(req.Messages)
	for _, message := range req.Messages {
		if message.Role == loop.Assistant {
			p.Messages = append(p.Messages, openAIAssistant(message, ids)...)
		} else {
			p.Messages = append(p.Messages, openAIUser(message, ids)...)
		}
	}
	for _, t := range req.Tools {
		var schema shared.FunctionParameters
		if err := json.Unmarshal(t.Schema, &schema); err != nil && len(t.Schema) > 0 {
			return p, fmt.Errorf("the schema of the tool %s is no JSON object: %w", t.Name, err)
		}
		function := shared.FunctionDefinitionParam{Name: t.Name, Parameters: schema}
		if t.Description != "" {
			function.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(function))
	}
	if form := outputFormOf(&req); form != nil {
		format := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: form.name, Schema: form.schema}
		if form.strict {
			format.Strict = param.NewOpt(true)
		}
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: format}
		if len(p.Tools) > 0 {
			p.ToolChoice.OfAuto = param.NewOpt("none")
		}
	}
	return p, nil
}

func openAIAssistant(m loop.Message, ids map[string]string) []openai.ChatCompletionMessageParamUnion {
	var out openai.ChatCompletionAssistantMessageParam
	var text []string
	for _, b := range m.Blocks {
		switch b.Kind {
		case loop.TextBlock:
			if b.Text != "" {
				text = append(text, b.Text)
			}
		case loop.CallBlock:
			out.ToolCalls = append(out.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID:       ids[b.Call.ID],
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: b.Call.Name, Arguments: string(object(b.Call.Arguments))},
			}})
		}
	}
	if len(text) == 0 && len(out.ToolCalls) == 0 {
		return nil
	}
	if len(text) > 0 {
		out.Content.OfString = param.NewOpt(strings.Join(text, "\n\n"))
	}
	return []openai.ChatCompletionMessageParamUnion{{OfAssistant: &out}}
}

// openAIUser writes results as messages of their own, then the rest. Images
// of results follow as the user's, since a result is text here.
func openAIUser(m loop.Message, ids map[string]string) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	var parts []openai.ChatCompletionContentPartUnionParam
	plain := true
	image := func(b loop.Block) {
		plain = false
		parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{
			URL: "data:" + b.MediaType + ";base64," + base64.StdEncoding.EncodeToString(b.Data),
		}))
	}
	for _, b := range m.Blocks {
		switch b.Kind {
		case loop.TextBlock, loop.ReminderBlock:
			if b.Text != "" {
				parts = append(parts, openai.TextContentPart(b.Text))
			}
		case loop.ImageBlock:
			image(b)
		case loop.ResultBlock:
			id := ids[b.Result.CallID]
			if id == "" {
				id = wireID(b.Result.CallID)
			}
			text := append([]string{b.Result.Text}, b.Result.Notes...)
			if text[0] == "" {
				text = text[1:]
			}
			out = append(out, openai.ToolMessage(strings.Join(text, "\n\n"), id))
			for _, i := range b.Result.Images {
				image(i)
			}
		}
	}
	switch {
	case len(parts) == 0:
	case plain: // text alone is what every server understands
		texts := make([]string, len(parts))
		for i := range parts {
			texts[i] = parts[i].OfText.Text
		}
		out = append(out, openai.UserMessage(strings.Join(texts, "\n\n")))
	default:
		out = append(out, openai.UserMessage(parts))
	}
	return out
}
