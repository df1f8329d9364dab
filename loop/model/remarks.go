package model

import (
	"bytes"
	"cmp"
	"encoding/json"

	"agent-ls/loop"
)

// maxRemarks bounds what is kept of one answer.
const maxRemarks = 20

// anthropicRemarks is what the beginning and the end of a message say beside
// the answer. Reasoning that was dropped is reported where the user's headers
// ask for it.
type anthropicRemarks struct {
	Delta struct {
		StopDetails json.RawMessage `json:"stop_details"`
	} `json:"delta"`
	Diagnostics          json.RawMessage   `json:"diagnostics"`
	InputTransformations []json.RawMessage `json:"input_transformations"`
}

// remarked reads them from the text of a message_start's message or of a
// message_delta. What is not understood is no reason to lose an answer.
func (r *anthropicReader) remarked(raw string) {
	var said anthropicRemarks
	if json.Unmarshal([]byte(raw), &said) != nil {
		return
	}
	var stop struct{ Type, Category, Explanation string }
	if json.Unmarshal(said.Delta.StopDetails, &stop) == nil && stop != (struct{ Type, Category, Explanation string }{}) {
		r.remark(cmp.Or(stop.Category, stop.Type), cmp.Or(stop.Explanation, "the provider stopped the answer"), said.Delta.StopDetails)
	}
	var diagnostics struct {
		Miss *struct{ Type string } `json:"cache_miss_reason"`
	}
	if json.Unmarshal(said.Diagnostics, &diagnostics) == nil && diagnostics.Miss != nil {
		r.remark(diagnostics.Miss.Type, "the prompt cache could not be used whole", said.Diagnostics)
	}
	var dropped []json.RawMessage
	for _, one := range said.InputTransformations {
		var t struct{ Type string }
		if json.Unmarshal(one, &t) == nil && t.Type == "thinking_dropped" {
			dropped = append(dropped, one)
		}
	}
	if len(dropped) > 0 { // each report is of the whole request
		r.dropped = dropped
	}
}

func (r *anthropicReader) remark(code, message string, details json.RawMessage) {
	if len(r.remarks) < maxRemarks {
		r.remarks = append(r.remarks, loop.Remark{Code: code, Message: message, Details: details})
	}
}

// warned reads the warnings that some servers send along with a chunk: texts,
// or objects with a code and a message.
func (r *openAIReader) warned(raw string) {
	var warnings []json.RawMessage
	if json.Unmarshal([]byte(raw), &warnings) != nil {
		return
	}
	for _, w := range warnings {
		var text string
		var object struct{ Code, Type, Message string }
		var said loop.Remark
		switch {
		case json.Unmarshal(w, &text) == nil && text != "":
			said = loop.Remark{Message: text}
		case json.Unmarshal(w, &object) == nil && object.Message != "":
			said = loop.Remark{Code: cmp.Or(object.Code, object.Type), Message: object.Message, Details: w}
		default:
			continue
		}
		again := false // servers repeat themselves with every chunk
		for _, known := range r.remarks {
			again = again || known.Code == said.Code && known.Message == said.Message && bytes.Equal(known.Details, said.Details)
		}
		if !again && len(r.remarks) < maxRemarks {
			r.remarks = append(r.remarks, said)
		}
	}
}
