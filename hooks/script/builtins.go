package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/risor-io/risor/arg"
	"github.com/risor-io/risor/builtins"
	"github.com/risor-io/risor/errz"
	"github.com/risor-io/risor/object"

	"agent-ls/hooks/diff"
	"agent-ls/hooks/glob"
	"agent-ls/hooks/shell"
)

// try is Risor's: it calls each function until one does not throw. It runs in
// a frame of its own, see shelter.
func (r *Runtime) try(ctx context.Context, args ...object.Object) object.Object {
	if err := arg.RequireRange("try", 1, 64, args); err != nil {
		return err
	}
	call, ok := object.GetCallFunc(ctx)
	if !ok || r.shelter.fn == nil {
		return object.EvalErrorf("eval error: try is not ready yet")
	}
	depth := r.page.Depth
	r.shelter.args = args
	result, err := call(ctx, r.shelter.fn, nil)
	if err != nil {
		return object.NewError(err) // what cannot be caught: its frames stay for the error
	}
	r.page.Depth = depth
	return result
}

// attempt is what the shelter calls.
func (r *Runtime) attempt(ctx context.Context, _ ...object.Object) object.Object {
	attempts := r.shelter.args
	r.shelter.args = nil
	var caught *object.Error
	depth := r.page.Depth
	for _, a := range attempts {
		result, err := attemptOne(ctx, a, caught)
		if err == nil {
			return result
		}
		var kind errz.Error
		if errors.As(err, &kind) && kind.IsFatal() {
			return object.NewError(err)
		}
		r.page.Depth = depth // the frames of what failed are gone
		caught = object.NewError(err).WithRaised(false)
	}
	return object.Nil
}

// attemptOne calls one argument of try with what was thrown before it.
func attemptOne(ctx context.Context, a object.Object, caught *object.Error) (object.Object, error) {
	var args []object.Object
	switch f := a.(type) {
	case *object.Function:
		if caught != nil && len(f.Parameters()) > 0 {
			args = append(args, caught)
		}
		call, ok := object.GetCallFunc(ctx)
		if !ok {
			return nil, errz.EvalErrorf("eval error: functions cannot be called here")
		}
		return call(ctx, f, args)
	case object.Callable:
		if caught != nil {
			args = append(args, caught)
		}
		result := f.Call(ctx, args...)
		if thrown, ok := result.(*object.Error); ok && thrown.IsRaised() {
			return nil, thrown
		}
		return result, nil
	}
	return a, nil
}

// sorted is Risor's, but once the comparison has thrown it is not called
// again.
func sorted(ctx context.Context, args ...object.Object) object.Object {
	call, ok := object.GetCallFunc(ctx)
	if !ok || len(args) != 2 {
		return sortedByItself(ctx, args)
	}
	var thrown error
	once := func(ctx context.Context, f *object.Function, items []object.Object) (result object.Object, err error) {
		if thrown == nil {
			result, thrown = call(ctx, f, items)
		}
		return result, thrown
	}
	out := builtins.Sorted(object.WithCallFunc(ctx, once), args...)
	if thrown != nil {
		return object.NewError(thrown)
	}
	return out
}

// sortedByItself says what cannot be compared, where Risor's panics.
func sortedByItself(ctx context.Context, args []object.Object) (out object.Object) {
	defer func() {
		if recover() != nil {
			out = object.TypeErrorf("type error: sorted() cannot compare the items; give it a function that does")
		}
	}()
	return builtins.Sorted(ctx, args...)
}

// assert is Risor's, but does not take the message for a format.
func assert(_ context.Context, args ...object.Object) object.Object {
	if err := arg.RequireRange("assert", 1, 2, args); err != nil {
		return err
	}
	if args[0].IsTruthy() {
		return object.Nil
	}
	msg := "assertion failed"
	if len(args) == 2 {
		msg = fmt.Sprint(object.PrintableValue(args[1]))
	}
	return object.Errorf("%s", msg)
}

// print keeps a line with the decision, within a limit of bytes.
func (r *Runtime) print(_ context.Context, args ...object.Object) object.Object {
	for i, a := range args {
		if i > 0 {
			r.keep(" ")
		}
		r.keep(fmt.Sprint(object.PrintableValue(a)))
	}
	r.keep("\n")
	return object.Nil
}

func (r *Runtime) keep(s string) {
	if r.cut {
		return
	}
	if room := int(r.printLimit) - r.printed.Len(); len(s) > room {
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s, r.cut = s[:max(room, 0)], true
	}
	r.printed.WriteString(s)
}

func (r *Runtime) now(_ context.Context, args ...object.Object) object.Object {
	if err := arg.Require("time.now", 0, args); err != nil {
		return err
	}
	return object.NewTime(r.at)
}

func (r *Runtime) since(_ context.Context, args ...object.Object) object.Object {
	if err := arg.Require("time.since", 1, args); err != nil {
		return err
	}
	t, err := object.AsTime(args[0])
	if err != nil {
		return err
	}
	return object.NewFloat(r.at.Sub(t).Seconds())
}

// hookModule makes decisions, and asks for one.
func (r *Runtime) hookModule() *object.Module {
	decision := func(action, key string, text bool) *object.Builtin {
		want := 1
		if key == "" {
			want = 0
		}
		return object.NewBuiltin(action, func(_ context.Context, args ...object.Object) object.Object {
			if err := arg.Require("hook."+action, want, args); err != nil {
				return err
			}
			m := map[string]object.Object{"action": object.NewString(action)}
			if want == 1 {
				if _, ok := args[0].(*object.String); text && !ok {
					return object.TypeErrorf("type error: hook.%s() takes a reason as a string (%s given)", action, args[0].Type())
				}
				m[key] = args[0]
			}
			return object.NewMap(m)
		})
	}
	return object.NewBuiltinsModule("hook", map[string]object.Object{
		"allow":      decision("allow", "", false),
		"modify":     decision("modify", "value", false),
		"deny":       decision("deny", "reason", true),
		"substitute": decision("substitute", "value", false),
		"cancel":     decision("cancel", "reason", true),
		"retry":      decision("retry", "reason", true),
		"decide":     object.NewBuiltin("decide", r.decide),
	})
}

// onlyString takes a string and nothing else that could pass for one.
func onlyString(function string, o object.Object) (string, *object.Error) {
	s, ok := o.(*object.String)
	if !ok {
		return "", object.TypeErrorf("type error: %s() takes a string (%s given)", function, o.Type())
	}
	return s.Value(), nil
}

func globModule() *object.Module {
	match := func(_ context.Context, args ...object.Object) object.Object {
		if err := arg.Require("glob.match", 2, args); err != nil {
			return err
		}
		pattern, err := onlyString("glob.match", args[0])
		if err != nil {
			return err
		}
		path, err := onlyString("glob.match", args[1])
		if err != nil {
			return err
		}
		ok, failed := glob.Match(pattern, path)
		if failed != nil {
			return object.Errorf("value error: glob.match(): %s", failed.Error())
		}
		return object.NewBool(ok)
	}
	return object.NewBuiltinsModule("glob", map[string]object.Object{"match": object.NewBuiltin("match", match)})
}

// textModule measures and shortens text.
func textModule() *object.Module {
	tokens := func(_ context.Context, args ...object.Object) object.Object {
		if err := arg.Require("text.count_tokens", 1, args); err != nil {
			return err
		}
		s, err := onlyString("text.count_tokens", args[0])
		if err != nil {
			return err
		}
		return object.NewInt(int64((len(s) + 3) / 4))
	}
	truncate := func(_ context.Context, args ...object.Object) object.Object {
		if err := arg.Require("text.truncate", 2, args); err != nil {
			return err
		}
		s, err := onlyString("text.truncate", args[0])
		if err != nil {
			return err
		}
		n, err := object.AsInt(args[1])
		if err != nil {
			return err
		}
		if n < 0 {
			return object.Errorf("value error: text.truncate(): the number of characters must not be negative")
		}
		if int64(utf8.RuneCountInString(s)) <= n {
			return object.NewString(s)
		}
		if n == 0 {
			return object.NewString("")
		}
		end := 0
		for range n - 1 {
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
		}
		return object.NewString(s[:end] + "…")
	}
	return object.NewBuiltinsModule("text", map[string]object.Object{
		"count_tokens": object.NewBuiltin("count_tokens", tokens), "truncate": object.NewBuiltin("truncate", truncate),
	})
}

// diffModule compares texts.
func diffModule() *object.Module {
	unified := func(_ context.Context, args ...object.Object) object.Object {
		if err := arg.Require("diff.unified", 2, args); err != nil {
			return err
		}
		a, err := onlyString("diff.unified", args[0])
		if err != nil {
			return err
		}
		b, err := onlyString("diff.unified", args[1])
		if err != nil {
			return err
		}
		return object.NewString(diff.Unified(a, b))
	}
	return object.NewBuiltinsModule("diff", map[string]object.Object{"unified": object.NewBuiltin("unified", unified)})
}

func shellModule() *object.Module {
	commands := func(_ context.Context, args ...object.Object) object.Object {
		if err := arg.Require("shell.commands", 1, args); err != nil {
			return err
		}
		line, err := onlyString("shell.commands", args[0])
		if err != nil {
			return err
		}
		var out []object.Object
		for _, c := range shell.Commands(line) {
			if len(c.Words()) == 0 && len(c.Redirects) == 0 {
				continue // only sets variables
			}
			out = append(out, commandObject(c))
		}
		return object.NewList(out)
	}
	return object.NewBuiltinsModule("shell", map[string]object.Object{"commands": object.NewBuiltin("commands", commands)})
}

func commandObject(c shell.Command) object.Object {
	name := object.Object(object.Nil)
	if c.Name.Known {
		name = object.NewString(c.Base())
	}
	args := make([]object.Object, len(c.Args))
	for i, a := range c.Args {
		args[i] = wordObject(a)
	}
	redirects := make([]object.Object, len(c.Redirects))
	for i, r := range c.Redirects {
		fd := object.Object(object.Nil)
		if r.FD >= 0 {
			fd = object.NewInt(int64(r.FD))
		}
		redirects[i] = object.NewMap(map[string]object.Object{
			"fd": fd, "op": object.NewString(r.Op), "target": wordObject(r.Target),
		})
	}
	return object.NewMap(map[string]object.Object{"name": name, "args": object.NewList(args), "redirects": object.NewList(redirects)})
}

func wordObject(w shell.Word) object.Object {
	if !w.Known {
		return object.Nil
	}
	return object.NewString(strings.ToValidUTF8(w.Text, "\uFFFD"))
}
