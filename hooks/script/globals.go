package script

import (
	"github.com/risor-io/risor/builtins"
	modbase64 "github.com/risor-io/risor/modules/base64"
	modfilepath "github.com/risor-io/risor/modules/filepath"
	modjson "github.com/risor-io/risor/modules/json"
	modmath "github.com/risor-io/risor/modules/math"
	modregexp "github.com/risor-io/risor/modules/regexp"
	modstrconv "github.com/risor-io/risor/modules/strconv"
	modstrings "github.com/risor-io/risor/modules/strings"
	modtime "github.com/risor-io/risor/modules/time"
	"github.com/risor-io/risor/object"
)

// pure are Risor's own built-ins that scripts have as they are.
var pure = []string{
	"all", "any", "bool", "buffer", "byte", "byte_slice", "call", "chr", "chunk", "coalesce", "decode", "delete",
	"encode", "error", "float", "float_slice", "getattr", "hash", "int", "is_hashable", "iter", "keys", "len", "list",
	"make", "map", "ord", "reversed", "set", "sprintf", "string", "type",
}

// purePaths are the path functions that look at no disk.
var purePaths = []string{"base", "clean", "dir", "ext", "is_abs", "join", "match", "rel", "split", "split_list"}

// layouts are the constants of the module time.
var layouts = []string{
	"ANSIC", "UnixDate", "RubyDate", "RFC822", "RFC822Z", "RFC850", "RFC1123", "RFC1123Z", "RFC3339", "RFC3339Nano",
	"Kitchen", "Stamp", "StampMilli", "StampMicro", "StampNano",
}

// globals is everything that a script finds, by name. Nothing is there that
// is not listed: the engine's own defaults reach files, network and processes.
func (r *Runtime) globals() map[string]any {
	g := map[string]any{
		"assert": object.NewBuiltin("assert", assert),
		"print":  object.NewBuiltin("print", r.print),
		"sorted": object.NewBuiltin("sorted", sorted),
		"try":    object.NewBuiltin("try", r.try),

		"base64":  modbase64.Module(),
		"json":    modjson.Module(),
		"math":    modmath.Module(),
		"regexp":  modregexp.Module(),
		"strconv": modstrconv.Module(),
		"strings": modstrings.Module(),

		"filepath": pick("filepath", modfilepath.Module(), purePaths),
		"time":     r.clock(),
		"glob":     globModule(),
		"hook":     r.hookModule(),
		"shell":    shellModule(),
		"text":     textModule(),
		"diff":     diffModule(),

		reporterName: r.reporter,
		orderedName:  orderedMap{},
		shelterName:  r.shelter,
		attemptName:  object.NewBuiltin("try", r.attempt),
	}
	all := builtins.Builtins()
	for _, name := range pure {
		g[name] = all[name]
	}
	return g
}

// pick makes a module of some members of another.
func pick(name string, from *object.Module, members []string) *object.Module {
	out := map[string]object.Object{}
	for _, m := range members {
		if o, ok := from.GetAttr(m); ok {
			out[m] = o
		}
	}
	return object.NewBuiltinsModule(name, out)
}

// clock is the module time with a clock that stands at the event's time.
func (r *Runtime) clock() *object.Module {
	real := modtime.Module()
	members := map[string]object.Object{
		"now":   object.NewBuiltin("now", r.now),
		"since": object.NewBuiltin("since", r.since),
	}
	for _, name := range append([]string{"parse", "unix"}, layouts...) {
		members[name], _ = real.GetAttr(name)
	}
	return object.NewBuiltinsModule("time", members)
}
