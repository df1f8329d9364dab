package hooks

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/worker/wire"
)

// The bounds of what is recorded of one firing, in bytes. What is larger is
// left out, and a replay says so.
const (
	MaxRecordedCtx    = 1 << 20
	MaxRecordedAnswer = 256 << 10
	MaxRecordedAsked  = 1 << 20 // all questions and answers together
)

// Record is what a script's firing was about, so that it can be played again
// with another text: what the script saw, what it returned and what it was told
// when it asked. It is exact; whoever shows it masks it first.
type Record struct {
	Script string    // the path of the script, as the hook was declared
	At     time.Time // the clock that the script saw
	// Ctx is what the script saw, state included, in the workers' encoding;
	// nil when it was larger than MaxRecordedCtx. ReadCtx reads it.
	Ctx []byte
	// Answer is what the function returned, as canonical JSON; nil when it
	// failed or the answer was larger than MaxRecordedAnswer.
	Answer json.RawMessage
	// Asked are the questions of hook.decide in their order.
	Asked []Asked
	// Partial says that questions are missing: they were larger than
	// MaxRecordedAsked.
	Partial bool
}

// Asked is one question of hook.decide and what the script was told.
type Asked struct {
	Question string          `json:"question"`
	Schema   json.RawMessage `json:"schema,omitempty"` // canonical JSON
	Told     json.RawMessage `json:"told"`             // canonical JSON
}

// ReadCtx gives the ctx that the script saw.
func (r *Record) ReadCtx() (map[string]any, error) {
	in := wire.NewReader(r.Ctx)
	v, err := wire.ReadValue(in)
	if err == nil {
		err = in.Done()
	}
	if err != nil {
		return nil, fmt.Errorf("read the recorded ctx: %w", err)
	}
	ctx, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("read the recorded ctx: it is %T, not a map", v)
	}
	return ctx, nil
}

// answered keeps what the function returned, if it is not too large.
func (r *Record) answered(value any) {
	if text, err := contract.WritePlain(value); err == nil && len(text) <= MaxRecordedAnswer {
		r.Answer = text
	}
}

// listening gives a Firing.Decide that keeps what is asked and told, nil for
// none. A script puts one question at a time.
func (r *Record) listening(decide func(context.Context, string, any) map[string]any) func(context.Context, string, any) map[string]any {
	if decide == nil {
		return nil
	}
	size := 0
	return func(ctx context.Context, question string, schema any) map[string]any {
		told := decide(ctx, question, schema)
		a := Asked{Question: question}
		var errSchema, errTold error
		a.Schema, errSchema = contract.WritePlain(schema)
		a.Told, errTold = contract.WritePlain(told)
		size += len(a.Question) + len(a.Schema) + len(a.Told)
		if errSchema != nil || errTold != nil || size > MaxRecordedAsked {
			r.Partial = true
		} else {
			r.Asked = append(r.Asked, a)
		}
		return told
	}
}

// recordVersion is the first byte of a record that is written down.
const recordVersion = 1

// AppendBinary writes the record for ReadRecord.
func (r *Record) AppendBinary(b []byte) ([]byte, error) {
	flags := byte(0)
	if r.Ctx != nil {
		flags |= 1
	}
	if r.Answer != nil {
		flags |= 2
	}
	if r.Partial {
		flags |= 4
	}
	b = binary.AppendVarint(append(b, recordVersion, flags), r.At.UnixNano())
	b = wire.AppendText(wire.AppendText(wire.AppendText(b, r.Script), r.Ctx), []byte(r.Answer))
	if len(r.Asked) == 0 {
		return b, nil
	}
	asked, err := json.Marshal(r.Asked)
	return append(b, asked...), err
}

// ReadRecord reads what AppendBinary wrote. The record refers to b.
func ReadRecord(b []byte) (*Record, error) {
	in := wire.NewReader(b)
	version, flags := in.Byte(), in.Byte()
	if in.Err() == nil && version != recordVersion {
		return nil, fmt.Errorf("the record is of version %d, which this program does not know", version)
	}
	r := &Record{At: time.Unix(0, in.Int()).UTC(), Script: in.Text(wire.MaxPath), Partial: flags&4 != 0}
	ctx, answer := in.Bytes(wire.MaxFrame), in.Bytes(wire.MaxFrame)
	if flags&1 != 0 {
		r.Ctx = ctx
	}
	if flags&2 != 0 {
		r.Answer = answer
	}
	rest := in.Rest()
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("the record is damaged: %w", err)
	}
	if len(rest) > 0 {
		if err := json.Unmarshal(rest, &r.Asked); err != nil {
			return nil, errors.New("the record's questions are damaged")
		}
	}
	return r, nil
}
