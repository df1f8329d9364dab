package contract

var commandShape = object(
	Field{Name: "name", Type: nullable(text()), Doc: "the command's name without its folder, nil when it cannot be known"},
	Field{Name: "args", Type: listOf(nullable(text())), Doc: "its arguments; nil for one that cannot be known"},
	Field{Name: "redirects", Type: listOf(object(
		Field{Name: "fd", Type: nullable(number()), Doc: "the descriptor"},
		Field{Name: "op", Type: text(), Doc: "the operator, such as \">\" or \">>\""},
		Field{Name: "target", Type: nullable(text()), Doc: "the file or descriptor, nil when it cannot be known"},
	)), Doc: "where its input and output go"},
)

var decisionShape = mapOf(anything())

var decidedShape = object(
	f("ok", boolean(), "whether there is an answer"),
	f("reason", maybeText(), "why there is none, nil when there is"),
	f("answers", anything(), "the answer, which fits the schema; nil when there is none"),
	f("usage", usageType, "the tokens that it took"),
)

const decideExample = `func tool_gate(ctx) {
    if ctx.name != "shell" {
        return hook.allow()
    }
    asked := hook.decide('Could this command change anything outside of this folder? {json.marshal(ctx.input)}', {
        type: "object",
        required: ["outside"],
        properties: {outside: {type: "boolean"}},
    })
    if !asked.ok {
        return hook.deny('nobody could say whether it is safe: {asked.reason}')
    }
    if asked.answers.outside {
        return hook.deny("it could change something outside of this folder")
    }
    return hook.allow()
}
`

// ownModules are ours; a script may shadow their names.
var ownModules = []Module{
	{Name: "hook", Doc: "makes decisions (return hook.deny(\"why\")) and asks the model (hook.decide)", Functions: []Function{
		fn("allow", "goes on unchanged", MapValue, nil, shaped(decisionShape)),
		fn("modify", "goes on with that value", MapValue, params(a("value", AnyValue)), shaped(decisionShape)),
		fn("deny", "the calls do not run; the model is told the reason", MapValue, params(a("reason", StringValue)), shaped(decisionShape)),
		fn("substitute", "the call does not run; the value is its result", MapValue, params(a("value", AnyValue)), shaped(decisionShape)),
		fn("cancel", "ends the run with that reason", MapValue, params(a("reason", StringValue)), shaped(decisionShape)),
		fn("retry", "asks the model again, with the reason as a reminder", MapValue, params(a("reason", StringValue)), shaped(decisionShape)),
		fn("decide", "asks the run's model beside the run for a value that fits the JSON schema, nil for any; it never throws for want of an answer",
			MapValue, params(a("question", StringValue), a("schema", MapValue|NilValue)), shaped(decidedShape), example(decideExample)),
	}},
	{Name: "shell", Doc: "reads shell lines", Functions: []Function{
		fn("commands", "every simple command in a shell line, with nil for what cannot be known", ListValue, params(a("text", StringValue)), shaped(listOf(commandShape))),
	}},
	{Name: "text", Doc: "measures and shortens text", Functions: []Function{
		fn("count_tokens", "about how many tokens the text has, estimated the same way for every model: four bytes each", IntValue, params(a("s", StringValue))),
		fn("truncate", "the text with at most n characters; one that is cut ends in …", StringValue, params(a("s", StringValue), a("n", WholeValue))),
	}},
	{Name: "diff", Doc: "compares texts", Functions: []Function{
		fn("unified", "what changed from a to b by lines, as a unified diff; empty when nothing did", StringValue, params(a("a", StringValue), a("b", StringValue))),
	}},
	{Name: "glob", Doc: "matches paths", Functions: []Function{
		fn("match", "whether the path fits the pattern; ** stands for any number of folders", BoolValue, params(a("pattern", StringValue), a("path", StringValue))),
	}},
}

var risorModules = []Module{
	{Name: "strings", Doc: "works on text", Functions: []Function{
		fn("compare", "-1, 0 or 1 as a sorts before, with or after b", IntValue, params(a("a", TextValue), a("b", TextValue))),
		fn("contains", "whether substr is in s", BoolValue, params(a("s", TextValue), a("substr", TextValue))),
		fn("count", "how often substr is in s", IntValue, params(a("s", TextValue), a("substr", TextValue))),
		fn("fields", "the words of s", ListValue, params(a("s", TextValue)), stringsShape()),
		fn("has_prefix", "whether s begins with prefix", BoolValue, params(a("s", TextValue), a("prefix", TextValue))),
		fn("has_suffix", "whether s ends with suffix", BoolValue, params(a("s", TextValue), a("suffix", TextValue))),
		fn("index", "the byte at which substr first begins in s, or -1", IntValue, params(a("s", TextValue), a("substr", TextValue))),
		fn("join", "the texts of the list with sep between", StringValue, params(a("list", ListValue), a("sep", TextValue))),
		fn("last_index", "the byte at which substr last begins in s, or -1", IntValue, params(a("s", TextValue), a("substr", TextValue))),
		fn("repeat", "s that many times", StringValue, params(a("s", TextValue), a("count", WholeValue))),
		fn("replace_all", "s with new for each old", StringValue, params(a("s", TextValue), a("old", TextValue), a("new", TextValue))),
		fn("split", "the parts of s between the seps", ListValue, params(a("s", TextValue), a("sep", TextValue)), stringsShape()),
		fn("to_lower", "s in lower case", StringValue, params(a("s", TextValue))),
		fn("to_upper", "s in upper case", StringValue, params(a("s", TextValue))),
		fn("trim", "s without characters of cutset at its ends", StringValue, params(a("s", TextValue), a("cutset", TextValue))),
		fn("trim_prefix", "s without that beginning", StringValue, params(a("s", TextValue), a("prefix", TextValue))),
		fn("trim_space", "s without white space at its ends", StringValue, params(a("s", TextValue))),
		fn("trim_suffix", "s without that end", StringValue, params(a("s", TextValue), a("suffix", TextValue))),
	}},
	{Name: "strconv", Doc: "reads numbers and booleans", Functions: []Function{
		fn("atoi", "the int that s spells", IntValue, params(a("s", TextValue))),
		fn("parse_bool", "the boolean that s spells", BoolValue, params(a("s", TextValue))),
		fn("parse_float", "the float that s spells", FloatValue, params(a("s", TextValue))),
		fn("parse_int", "the int that s spells in that base, at most that many bits", IntValue, params(a("s", TextValue), a("base", WholeValue), a("bits", WholeValue)), optional(2)),
	}},
	{Name: "regexp", Doc: "regular expressions in Go's syntax", Functions: []Function{
		fn("compile", "a pattern to use more than once", RegexpValue, params(a("pattern", TextValue))),
		fn("match", "whether the pattern matches somewhere in s", BoolValue, params(a("pattern", TextValue), a("s", TextValue))),
	}, Call: compileRegexp()},
	{Name: "json", Doc: "reads and writes JSON", Functions: []Function{
		fn("marshal", "the value as JSON, indented when indent is given", StringValue, params(a("value", AnyValue), a("indent", TextValue)), optional(1)),
		fn("unmarshal", "the value that the JSON text holds; all its numbers are floats", NilValue|BoolValue|FloatValue|StringValue|ListValue|MapValue, params(a("text", TextValue)), shaped(anything())),
		fn("valid", "whether the text is JSON", BoolValue, params(a("text", TextValue))),
	}},
	{Name: "math", Doc: "works on numbers", Functions: []Function{
		fn("abs", "x without its sign", IntValue|FloatValue, params(a("x", IntValue|FloatValue)), like(1)),
		fn("atan2", "the angle of the point x, y", FloatValue, params(a("y", NumberValue), a("x", NumberValue))),
		fn("ceil", "the least whole number not under x", IntValue|FloatValue, params(a("x", IntValue|FloatValue)), like(1)),
		fn("cos", "the cosine of x", FloatValue, params(a("x", IntValue|FloatValue))),
		fn("floor", "the greatest whole number not over x", IntValue|FloatValue, params(a("x", IntValue|FloatValue)), like(1)),
		fn("inf", "infinity, with that sign", FloatValue, params(a("sign", WholeValue)), optional(1)),
		fn("is_inf", "whether x is infinite", BoolValue, params(a("x", NumberValue))),
		fn("log", "the natural logarithm of x", FloatValue, params(a("x", NumberValue))),
		fn("log10", "the logarithm of x to the base 10", FloatValue, params(a("x", NumberValue))),
		fn("log2", "the logarithm of x to the base 2", FloatValue, params(a("x", NumberValue))),
		fn("max", "the greater of two, as a float", FloatValue, params(a("x", NumberValue), a("y", NumberValue))),
		fn("min", "the lesser of two, as a float", FloatValue, params(a("x", NumberValue), a("y", NumberValue))),
		fn("mod", "the remainder of x / y", FloatValue, params(a("x", NumberValue), a("y", NumberValue))),
		fn("pow", "x to the power of y", FloatValue, params(a("x", NumberValue), a("y", NumberValue))),
		fn("pow10", "10 to the power of n", FloatValue, params(a("n", NumberValue))),
		fn("round", "x rounded to a whole number", FloatValue, params(a("x", NumberValue))),
		fn("sin", "the sine of x", FloatValue, params(a("x", IntValue|FloatValue))),
		fn("sqrt", "the square root of x", FloatValue, params(a("x", IntValue|FloatValue))),
		fn("sum", "the sum of the numbers", FloatValue, params(a("numbers", ListValue|SetValue))),
		fn("tan", "the tangent of x", FloatValue, params(a("x", NumberValue))),
	}, Constants: []Constant{
		{"E", FloatValue, "the base of natural logarithms"},
		{"PI", FloatValue, "the ratio of a circle's circumference to its diameter"},
	}},
	{Name: "base64", Doc: "reads and writes base64", Functions: []Function{
		fn("decode", "the bytes that the text holds", BytesValue, params(a("text", TextValue), a("padding", BoolValue)), optional(1)),
		fn("encode", "the data as base64", StringValue, params(a("data", TextValue), a("padding", BoolValue)), optional(1)),
		fn("url_decode", "the bytes that the URL-safe text holds", BytesValue, params(a("text", TextValue), a("padding", BoolValue)), optional(1)),
		fn("url_encode", "the data as URL-safe base64", StringValue, params(a("data", TextValue), a("padding", BoolValue)), optional(1)),
	}},
	{Name: "time", Doc: "moments; the clock stands still at the event's time", Functions: []Function{
		fn("now", "the event's time, the same on replay", TimeValue, nil),
		fn("parse", "the moment that the text spells in that layout", TimeValue, params(a("layout", TextValue), a("text", TextValue))),
		fn("since", "the seconds from that moment to the event's time", FloatValue, params(a("moment", TimeValue))),
		fn("unix", "the moment that many seconds and nanoseconds after 1970", TimeValue, params(a("seconds", WholeValue), a("nanoseconds", WholeValue))),
	}, Constants: timeLayouts("ANSIC", "UnixDate", "RubyDate", "RFC822", "RFC822Z", "RFC850", "RFC1123", "RFC1123Z",
		"RFC3339", "RFC3339Nano", "Kitchen", "Stamp", "StampMilli", "StampMicro", "StampNano")},
	{Name: "filepath", Doc: "works on paths as text, and never looks at a disk", Functions: []Function{
		fn("base", "the last part of the path", StringValue, params(a("path", TextValue))),
		fn("clean", "the shortest path to the same place", StringValue, params(a("path", TextValue))),
		fn("dir", "all but the last part of the path", StringValue, params(a("path", TextValue))),
		fn("ext", "the file name's extension, with its dot", StringValue, params(a("path", TextValue))),
		fn("is_abs", "whether the path is absolute", BoolValue, params(a("path", TextValue))),
		fn("join", "the parts as one clean path", StringValue, params(a("parts", TextValue)), variadic(0, Unlimited)),
		fn("match", "whether the name fits the pattern; * stops at a slash", BoolValue, params(a("pattern", TextValue), a("name", TextValue))),
		fn("rel", "the path from base to target", StringValue, params(a("base", TextValue), a("target", TextValue))),
		fn("split", "the folder and the file name", ListValue, params(a("path", TextValue)), stringsShape()),
		fn("split_list", "the paths of a list as in PATH", ListValue, params(a("list", TextValue)), stringsShape()),
	}},
}

func compileRegexp() *Function {
	f := fn("regexp", "a pattern to use more than once", RegexpValue, params(a("pattern", TextValue)))
	return &f
}

func timeLayouts(names ...string) []Constant {
	list := make([]Constant, len(names))
	for i, n := range names {
		list[i] = Constant{n, StringValue, "a layout for time.parse and format"}
	}
	return list
}
