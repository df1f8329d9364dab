package contract

// What Risor 1.8.1 takes, checked against it by a test of the script runtime:
// Accepts lists exactly the kinds of argument that do not throw for their kind.

const (
	iterable  = StringValue | ListValue | MapValue | SetValue | BytesValue | FloatsValue | IntValue | IteratorValue
	container = StringValue | ListValue | MapValue | SetValue | BytesValue | FloatsValue
	removable = ListValue | MapValue | SetValue
	callable  = FunctionValue | ModuleValue
)

var builtins = []Function{
	fn("all", "true when every item is truthy", BoolValue, params(a("items", iterable|BufferValue))),
	fn("any", "true when an item is truthy", BoolValue, params(a("items", iterable|BufferValue))),
	fn("assert", "throws unless the condition is truthy", NilValue, params(a("condition", AnyValue), a("message", AnyValue)), optional(1)),
	fn("bool", "whether the value is truthy", BoolValue, params(a("value", AnyValue)), optional(1)),
	fn("buffer", "a buffer of bytes, from a value or of a size", BufferValue, params(a("value", TextValue|IntValue)), optional(1)),
	fn("byte", "the value as a byte", ByteValue, params(a("value", NumberValue|StringValue)), optional(1)),
	fn("byte_slice", "a list of bytes, from a value or of a size", BytesValue, params(a("value", TextValue|IntValue|ListValue)), optional(1)),
	fn("call", "calls a function with the arguments that follow", AnyValue, params(a("function", callable), a("arguments", AnyValue)), variadic(1, 64)),
	fn("chr", "the character with that code point", StringValue, params(a("code", IntValue))),
	fn("chunk", "the list cut into lists of that size", ListValue, params(a("list", ListValue), a("size", IntValue))),
	fn("coalesce", "the first value that is not nil", AnyValue, params(a("values", AnyValue)), variadic(0, 64)),
	fn("decode", "decodes base64, base32, hex, json, csv, urlquery or gzip", AnyValue, params(a("value", TextValue), a("codec", TextValue))),
	fn("delete", "removes the item with that key", NilValue, params(a("container", removable), a("key", AnyValue))),
	fn("encode", "encodes as base64, base32, hex, json, csv, urlquery or gzip", StringValue|BytesValue, params(a("value", AnyValue), a("codec", TextValue))),
	fn("error", "throws an error; further arguments fill its format", ErrorValue, params(a("message", StringValue|ErrorValue), a("arguments", AnyValue)), variadic(1, 64)),
	fn("float", "the value as a float", FloatValue, params(a("value", NumberValue|StringValue)), optional(1)),
	fn("float_slice", "a list of floats, from a list or of a size", FloatsValue, params(a("value", FloatsValue|IntValue|ListValue)), optional(1)),
	fn("getattr", "the attribute with that name, or the default", AnyValue, params(a("object", AnyValue), a("name", TextValue), a("default", AnyValue)), optional(1)),
	fn("hash", "the digest of the data: sha256, sha512, sha1 or md5", BytesValue, params(a("data", TextValue), a("algorithm", TextValue)), optional(1)),
	fn("int", "the value as an int", IntValue, params(a("value", NumberValue|StringValue)), optional(1)),
	fn("is_hashable", "whether the value can be in a set", BoolValue, params(a("value", AnyValue))),
	fn("iter", "an iterator over the items", IteratorValue, params(a("items", iterable&^IteratorValue))),
	fn("keys", "the keys of a map, the indexes of a list or the items of a set", ListValue, params(a("container", iterable))),
	fn("len", "how many items, characters or bytes there are", IntValue, params(a("value", container|BufferValue))),
	fn("list", "a list of the items, or that many nils", ListValue, params(a("items", iterable)), optional(1)),
	fn("make", "an empty list, map or set with room for that many", ListValue|MapValue|SetValue, params(a("type", FunctionValue|ListValue|MapValue|SetValue), a("size", IntValue)), optional(1)),
	fn("map", "a map from [key, value] lists or from items", MapValue, params(a("items", iterable)), optional(1)),
	fn("ord", "the code point of a character", IntValue, params(a("character", StringValue))),
	fn("print", "keeps a line with the decision; the editor shows it", NilValue, params(a("values", AnyValue)), variadic(0, Unlimited)),
	fn("reversed", "the items in reverse order", ListValue|StringValue|BytesValue, params(a("items", ListValue|StringValue|BytesValue)), like(1)),
	fn("set", "a set of the items", SetValue, params(a("items", iterable)), optional(1)),
	fn("sorted", "the items in order, or in the order of a function of two items", ListValue, params(a("items", ListValue|MapValue|SetValue|StringValue|BytesValue), a("less", FunctionValue)), optional(1)),
	fn("sprintf", "text made from a format as in Go's fmt", StringValue, params(a("format", TextValue), a("values", AnyValue)), variadic(1, 64)),
	fn("string", "the value as text", StringValue, params(a("value", AnyValue)), optional(1)),
	fn("try", "calls each function until one does not throw; a value that is no function is itself", AnyValue, params(a("attempts", AnyValue)), variadic(1, 64)),
	fn("type", "the name of the value's type", StringValue, params(a("value", AnyValue))),
}

const (
	noFiles       = "hooks have no file system"
	noNetwork     = "hooks have no network"
	noProcesses   = "hooks start no processes"
	noEnv         = "hooks see no environment"
	noConcurrency = "hooks have no concurrency"
	noChance      = "hooks must come out the same when they are replayed"
)

var absent = []Absent{
	{"os", "hooks have no file system, environment or processes"},
	{"exec", noProcesses}, {"http", noNetwork}, {"net", noNetwork}, {"dns", noNetwork}, {"rand", noChance},
	{"fetch", noNetwork}, {"nslookup", noNetwork},
	{"cat", noFiles}, {"cd", noFiles}, {"cp", noFiles}, {"ls", noFiles}, {"open", noFiles},
	{"getenv", noEnv}, {"setenv", noEnv}, {"unsetenv", noEnv},
	{"spawn", noConcurrency}, {"chan", noConcurrency}, {"close", noConcurrency},
	{"bytes", "hooks have no module bytes; byte_slice values have its methods"},
	{"errors", "hooks have no module errors; error(message) throws one"},
	{"fmt", "hooks have no module fmt; use print and sprintf"},
	{"printf", "use print(sprintf(...))"},
	{"errorf", "use error(message, ...), which throws"},
	{"time.sleep", "the clock of a hook stands still"},
	{"filepath.abs", noFiles}, {"filepath.walk_dir", noFiles},
}
