package contract

import (
	"slices"
	"strings"
)

// The words in which the events of the turn loop are entered, so that a row
// reads as what is particular about it.

// FunctionName gives the name of the script function that handles an event:
// `tool:gate` is handled by tool_gate.
func FunctionName(event string) string {
	return strings.NewReplacer(":", "_", "-", "_").Replace(event)
}

// watched is a row of an event that hooks only observe. show is what its
// example prints, an expression over ctx.
func watched(name, doc, fires, show string, fields ...Field) *Event {
	return &Event{
		Name: name, Function: FunctionName(name), Class: Observe, Since: 1, Doc: doc, Fires: fires,
		Fields: fields, Actions: actions(),
		Example: "func " + FunctionName(name) + "(ctx) {\n    print(" + show + ")\n    return hook.allow()\n}\n",
	}
}

// about adds fields that rows share in front of a row's own.
func about(shared []Field, own ...Field) []Field { return slices.Concat(shared, own) }

// f is one field that is always there.
func f(name string, t Type, doc string) Field { return Field{Name: name, Type: t, Doc: doc} }

// maybe is a member of an object that a value may leave out; in ctx it is nil
// where there is nothing.
func maybe(name string, t Type, doc string) Field {
	return Field{Name: name, Type: nullable(t), Doc: doc, Optional: true}
}

// child is the row of an event of a sub-agent as it fires on the run that
// started it. Class, actions and value are the sub-agent's event's own.
func child(of *Event, doc string) *Event {
	e := *of
	e.Name, e.Doc = "child:"+of.Name, doc
	e.Function = FunctionName(e.Name)
	e.Fires = "In a sub-agent: " + strings.ToLower(of.Fires[:1]) + of.Fires[1:]
	e.Fields = about([]Field{f("child_id", text(), "the sub-agent's run; depth is the sub-agent's too")}, of.Fields...)
	e.Example = strings.Replace(of.Example, "func "+of.Function+"(", "func "+e.Function+"(", 1)
	return &e
}

// rowOf finds a row in families that are made already.
func rowOf(name string, in ...[]*Event) *Event {
	for _, rows := range in {
		for _, e := range rows {
			if e.Name == name {
				return e
			}
		}
	}
	panic("contract: no row " + name)
}

func boolean() Type   { return Type{Kind: Bool} }
func decimal() Type   { return Type{Kind: Float} }
func texts() Type     { return listOf(text()) }
func anyMap() Type    { return mapOf(anything()) }
func maybeText() Type { return nullable(text()) }

// Shapes that several families share.

var (
	costType = nullable(object(
		f("amount", decimal(), "how much"),
		f("currency", text(), "of what, such as USD"),
	))
	partType = object(
		f("type", oneOf("text", "thinking", "tool_call", "tool_result", "image", "reminder"), "what the part is; a reminder is text of the host"),
		maybe("text", text(), "the text of a text, thinking, reminder or tool_result part"),
		maybe("id", text(), "the call's id, of a tool_call or tool_result"),
		maybe("name", text(), "the tool's name, of a tool_call"),
		maybe("arguments", anyMap(), "the tool's arguments, of a tool_call"),
		maybe("is_error", boolean(), "whether a tool_result is an error"),
		maybe("media_type", text(), "of an image, such as image/png"),
		maybe("ref", text(), "names the part in the transcript: a part that keeps it keeps what is not shown here, such as an image's bytes"),
	)
	messageType = object(
		f("role", oneOf("user", "assistant"), "who says it; results of tools are the user's"),
		f("content", listOf(partType), "its parts in order"),
	)
	toolType = object(
		f("name", text(), "the tool's name on its server"),
		f("description", text(), "what the server says that it does"),
		f("input_schema", anything(), "the JSON schema of its arguments"),
	)
	skillType = object(
		f("name", text(), "the skill's name"),
		f("description", text(), "when to use it"),
		f("path", text(), "its SKILL.md"),
	)
	coercionType = object(
		f("path", text(), "JSON Pointer of the argument"),
		f("before", anything(), "as the model wrote it"),
		f("after", anything(), "as it was read"),
	)
	sizeType = object(
		f("count", number(), "how many messages"),
		f("bytes", number(), "how many bytes of text they have together"),
	)
	totalField    = f("total", usageType, "the tokens of the session so far")
	costField     = f("cost", costType, "what it cost, nil where no price is known")
	durationField = f("duration_ms", number(), "how long it took, in milliseconds")
	errorField    = f("error", text(), "what went wrong")
	httpStatus    = f("http_status", nullable(number()), "the provider's HTTP status, nil where none came")
	modelField    = f("model", text(), "the model's name in the manifest")
)
