package contract_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

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

	"agent-ls/hooks/contract"
)

// samples gives a fresh value of each kind that a script can hold.
func samples() map[contract.Values]object.Object {
	return map[contract.Values]object.Object{
		contract.NilValue:      object.Nil,
		contract.BoolValue:     object.True,
		contract.IntValue:      object.NewInt(1),
		contract.FloatValue:    object.NewFloat(1),
		contract.ByteValue:     object.NewByte(1),
		contract.StringValue:   object.NewString("1"),
		contract.ListValue:     object.NewList(nil),
		contract.MapValue:      object.NewMap(nil),
		contract.SetValue:      object.NewSetWithSize(0),
		contract.BytesValue:    object.NewByteSlice([]byte("1")),
		contract.BufferValue:   object.NewBufferFromBytes([]byte("1")),
		contract.FloatsValue:   object.NewFloatSlice([]float64{1}),
		contract.TimeValue:     object.NewTime(time.Unix(1, 0)),
		contract.RegexpValue:   modregexp.NewRegexp(regexp.MustCompile("1")),
		contract.ErrorValue:    object.Errorf("1").WithRaised(false),
		contract.FunctionValue: object.NewBuiltin("map", builtins.Map),
		contract.ModuleValue:   modregexp.Module(),
		contract.IteratorValue: object.NewList(nil).Iter(),
	}
}

var fromRisor = map[string]*object.Module{
	"strings": modstrings.Module(), "strconv": modstrconv.Module(), "regexp": modregexp.Module(), "json": modjson.Module(),
	"math": modmath.Module(), "base64": modbase64.Module(), "time": modtime.Module(), "filepath": modfilepath.Module(),
}

// subject is one function of the table with the real one.
type subject struct {
	name string
	f    *contract.Function
	get  func() object.Object
}

func subjects(t *testing.T) []subject {
	t.Helper()
	var list []subject
	lib := contract.Library()
	globals := builtins.Builtins()
	for i := range lib.Functions {
		f := &lib.Functions[i]
		if f.Name == "print" {
			continue // ours
		}
		list = append(list, subject{f.Name, f, func() object.Object { return globals[f.Name] }})
	}
	for mi := range lib.Modules {
		m := &lib.Modules[mi]
		real := fromRisor[m.Name]
		if real == nil {
			continue // ours
		}
		for i := range m.Functions {
			f := &m.Functions[i]
			list = append(list, subject{m.Name + "." + f.Name, f, func() object.Object { o, _ := real.GetAttr(f.Name); return o }})
		}
	}
	for mi := range lib.Methods {
		m := &lib.Methods[mi]
		for i := range m.Functions {
			f := &m.Functions[i]
			list = append(list, subject{m.Name + " value ." + f.Name, f, func() object.Object {
				for kind, v := range samples() {
					if kind.String() == m.Name {
						o, _ := v.GetAttr(f.Name)
						return o
					}
				}
				return nil
			}})
		}
	}
	return list
}

// call runs the real function; a panic counts as a throw of another kind.
func call(f object.Object, args []object.Object) (res object.Object) {
	defer func() {
		if r := recover(); r != nil {
			res = object.Errorf("panic: %v", r)
		}
	}()
	ctx := object.WithCallFunc(context.Background(), func(context.Context, *object.Function, []object.Object) (object.Object, error) {
		return object.Nil, nil
	})
	return f.(object.Callable).Call(ctx, args...)
}

func thrown(o object.Object) string {
	if e, ok := o.(*object.Error); ok && e.IsRaised() {
		return e.Message().Value()
	}
	return ""
}

func refusesCount(msg string) bool {
	return strings.Contains(msg, "args error") || strings.Contains(msg, "expected ") && strings.Contains(msg, "argument")
}

// A function of the table takes as many arguments as Risor's own, and no more.
func TestLibraryArityIsRisors(t *testing.T) {
	for _, s := range subjects(t) {
		if s.get() == nil {
			t.Errorf("%s: Risor has no such function", s.name)
			continue
		}
		given := func(n int) []object.Object {
			args := make([]object.Object, n)
			for i := range args {
				args[i] = accepted(s.f, i)
			}
			return args
		}
		most := min(s.f.Max, s.f.Min+3)
		if s.name == "call" || s.name == "sorted" {
			most = s.f.Min // the rest is up to the function, which a built-in one cannot be
		}
		for n := s.f.Min; n <= most; n++ {
			if msg := thrown(call(s.get(), given(n))); refusesCount(msg) {
				t.Errorf("%s with %d arguments: %s, want it taken", s.name, n, msg)
			}
		}
		for _, n := range []int{s.f.Min - 1, s.f.Max + 1} {
			if n < 0 || n > 100 {
				continue
			}
			if msg := thrown(call(s.get(), given(n))); !refusesCount(msg) {
				t.Errorf("%s with %d arguments: %q, want its number refused", s.name, n, msg)
			}
		}
	}
}

// accepted gives an argument that the function takes at that place.
func accepted(f *contract.Function, i int) object.Object {
	if len(f.Params) == 0 {
		return object.Nil
	}
	p := f.Params[min(i, len(f.Params)-1)]
	all := samples()
	for _, kind := range []contract.Values{contract.StringValue, contract.IntValue, contract.ListValue} {
		if p.Accepts.Has(kind) {
			return all[kind]
		}
	}
	for bit := contract.Values(1); bit <= contract.AnyValue; bit <<= 1 {
		if p.Accepts.Has(bit) {
			return all[bit]
		}
	}
	return object.Nil
}

// A kind of argument that the table does not accept throws in Risor: the
// checker calls it an error, so it must never work.
func TestLibraryRefusesOnlyWhatRisorRefuses(t *testing.T) {
	for _, s := range subjects(t) {
		for i, p := range s.f.Params {
			for bit := contract.Values(1); bit < contract.AnyValue; bit <<= 1 {
				args := make([]object.Object, max(s.f.Min, i+1))
				for j := range args {
					args[j] = accepted(s.f, j)
				}
				args[i] = samples()[bit]
				if args[i] == nil {
					continue
				}
				switch s.name {
				case "delete":
					args[0] = samples()[bit] // any key is refused by some container
					if i == 0 && bit == contract.ListValue {
						args[0], args[1] = object.NewList([]object.Object{object.Nil}), object.NewInt(0)
					}
				case "getattr":
					args[0] = object.NewMap(map[string]object.Object{"1": object.Nil})
				case "sorted":
					if i == 1 && bit == contract.FunctionValue {
						continue // only one of the script's own, which this test has none of
					}
				}
				msg := thrown(call(s.get(), args))
				isType := strings.Contains(msg, "type error") || strings.Contains(msg, "value error: ord() expected") || strings.Contains(msg, "panic: ")
				switch {
				case !p.Accepts.Has(bit) && msg == "":
					t.Errorf("%s refuses %s as %s, Risor takes it", s.name, bit, p.Name)
				case p.Accepts != contract.AnyValue && p.Accepts.Has(bit) && isType && !strings.Contains(msg, "unhashable"):
					t.Errorf("%s takes %s as %s, Risor says: %s", s.name, bit, p.Name, msg)
				}
			}
		}
	}
}

// Everything that Risor has is in the table or named as absent, so that no
// name falls between.
func TestLibraryIsComplete(t *testing.T) {
	lib := contract.Library()
	for name := range builtins.Builtins() {
		if _, absent := lib.AbsentName(name); lib.Function(name) == nil && !absent {
			t.Errorf("built-in %s is neither in the table nor absent", name)
		}
	}
	notOurs := map[string]bool{"time.sleep": true, "filepath.abs": true, "filepath.walk_dir": true}
	for name, real := range fromRisor {
		m := lib.Module(name)
		if m == nil {
			t.Errorf("module %s is not in the table", name)
			continue
		}
		for _, member := range []string{"sleep", "abs", "walk_dir"} {
			if notOurs[name+"."+member] && m.Function(member) != nil {
				t.Errorf("%s.%s must not be in the table", name, member)
			}
		}
		for _, c := range m.Constants {
			if o, ok := real.GetAttr(c.Name); !ok || string(o.Type()) != c.Value.String() {
				t.Errorf("%s.%s: Risor has %v, table says %s", name, c.Name, o, c.Value)
			}
		}
	}
	if !contract.Library().Module("regexp").Call.Params[0].Accepts.Has(contract.StringValue) {
		t.Error("regexp is callable with a pattern")
	}
}

func TestSignature(t *testing.T) {
	for _, tc := range []struct{ module, name, want string }{
		{"", "len", "len(value) int"},
		{"", "getattr", "getattr(object, name, default?) any"},
		{"", "print", "print(values...)"},
		{"strings", "split", "split(s, sep) list of string"},
		{"time", "now", "now() time"},
	} {
		lib := contract.Library()
		f := lib.Function(tc.name)
		if tc.module != "" {
			f = lib.Module(tc.module).Function(tc.name)
		}
		if got := f.Signature(); got != tc.want {
			t.Errorf("Signature of %s = %q, want %q", tc.name, got, tc.want)
		}
	}
}
