// Package event has a Go type for the ctx of each hook event, made from the
// contract, for hooks that are written in Go. Start at hooks.On.
package event

import (
	"fmt"
	"reflect"
)

// Event is the ctx of one event.
type Event interface{ EventName() string }

// Decode fills an event from the ctx that scripts would see. Values that do
// not fit the contract are an error.
func Decode(ctx map[string]any, into Event) error {
	return decodeStruct(reflect.ValueOf(into).Elem(), ctx)
}

func decodeStruct(to reflect.Value, from map[string]any) error {
	for i := range to.NumField() {
		f := to.Type().Field(i)
		if f.Anonymous {
			if err := decodeStruct(to.Field(i), from); err != nil {
				return err
			}
			continue
		}
		name := f.Tag.Get("hook")
		if err := decode(to.Field(i), from[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func decode(to reflect.Value, from any) error {
	if from == nil {
		return nil // the zero value
	}
	switch to.Kind() {
	case reflect.Interface:
		to.Set(reflect.ValueOf(from))
		return nil
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return decode(to.Elem(), from)
	case reflect.Struct:
		if m, ok := from.(map[string]any); ok {
			return decodeStruct(to, m)
		}
	case reflect.Slice:
		if list, ok := from.([]any); ok {
			to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
			for i, v := range list {
				if err := decode(to.Index(i), v); err != nil {
					return fmt.Errorf("[%d]: %w", i, err)
				}
			}
			return nil
		}
	case reflect.Map:
		if m, ok := from.(map[string]any); ok {
			to.Set(reflect.MakeMapWithSize(to.Type(), len(m)))
			for k, v := range m {
				elem := reflect.New(to.Type().Elem()).Elem()
				if err := decode(elem, v); err != nil {
					return fmt.Errorf("[%q]: %w", k, err)
				}
				to.SetMapIndex(reflect.ValueOf(k), elem)
			}
			return nil
		}
	case reflect.Float64:
		if n, ok := from.(int64); ok {
			to.SetFloat(float64(n))
			return nil
		}
		fallthrough
	default:
		if v := reflect.ValueOf(from); v.Type() == to.Type() {
			to.Set(v)
			return nil
		}
	}
	return fmt.Errorf("is %T, not %s", from, to.Type())
}
