package script

import (
	"context"
	"fmt"

	"github.com/risor-io/risor/arg"
	"github.com/risor-io/risor/object"

	"agent-ls/hooks/worker/wire"
)

// decide puts a question to the run's model, through the host, and waits. It
// throws for arguments that are none, and never for want of an answer: the map
// that it gives says why there is none.
func (r *Runtime) decide(_ context.Context, args ...object.Object) object.Object {
	if err := arg.Require("hook.decide", 2, args); err != nil {
		return err
	}
	question, ok := args[0].(*object.String)
	if !ok {
		return object.TypeErrorf("type error: hook.decide() takes a question as a string (%s given)", args[0].Type())
	}
	switch args[1].(type) {
	case *object.Map, *object.NilType:
	default:
		return object.TypeErrorf("type error: hook.decide() takes a schema as a map or nil (%s given)", args[1].Type())
	}
	if n := len(question.Value()); n > wire.MaxQuestion {
		return unanswered(fmt.Sprintf("the question has %d bytes, more than %d", n, wire.MaxQuestion))
	}
	schema, err := appendObject(nil, args[1], wire.MaxSchema)
	if err != nil {
		return unanswered("the schema cannot be sent: its " + err.Error())
	}
	if r.ask == nil {
		return unanswered("nobody can be asked here")
	}
	told, err := r.ask(wire.Ask{Question: question.Value(), Schema: schema})
	if err != nil {
		return unanswered(err.Error())
	}
	in := wire.NewReader(told)
	nodes := 0
	answer := readObject(in, 0, &nodes)
	if err := in.Done(); err != nil {
		return unanswered("the answer cannot be read: " + err.Error())
	}
	return answer
}

// unanswered is what a script is told without the host.
func unanswered(reason string) object.Object {
	// Clipped, it fits: nothing here can fail.
	b, _ := wire.AppendValue(nil, wire.Unanswered(wire.Clip(reason)), 2*wire.MaxMessage)
	nodes := 0
	return readObject(wire.NewReader(b), 0, &nodes)
}
