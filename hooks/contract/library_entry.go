package contract

import "strconv"

// The entries of the library are written with fn and its options, so that
// each is one line that reads like the signature.

type option func(*Function)

// fn describes a function. Every parameter is required unless optional says
// otherwise.
func fn(name, doc string, result Values, params []Param, more ...option) Function {
	f := Function{Name: name, Doc: doc, Result: result, Params: params, Min: len(params), Max: len(params), Like: -1}
	for _, o := range more {
		o(&f)
	}
	return f
}

func params(p ...Param) []Param           { return p }
func a(name string, accepts Values) Param { return Param{Name: name, Accepts: accepts} }

// optional makes the last n parameters optional.
func optional(n int) option { return func(f *Function) { f.Min -= n } }

// variadic lets the last parameter repeat, from min arguments in all to max.
func variadic(min, max int) option {
	return func(f *Function) { f.Min, f.Max = min, max }
}

func like(n int) option    { return func(f *Function) { f.Like = n } }
func shaped(t Type) option { return func(f *Function) { f.Shape = &t } }

func example(script string) option {
	return func(f *Function) { f.Example = script }
}

// strings is the shape of most lists that the library gives.
func stringsShape() option { return shaped(listOf(text())) }

func itoa(n int) string { return strconv.Itoa(n) }

func count(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return itoa(n) + " arguments"
}
