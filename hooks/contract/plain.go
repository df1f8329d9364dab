package contract

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
)

// ReadPlain reads JSON as plain data: a number that is written as an integer
// and fits is an int64, any other a float64.
func ReadPlain(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return Plain(v), nil
}

// Plain gives a decoded JSON value with the numbers that hooks know; the value
// itself stays as it is. A number too large for a float64 is the largest one,
// since JSON could not write an infinite one again.
func Plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return min(max(f, -math.MaxFloat64), math.MaxFloat64)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Plain(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = Plain(e)
		}
		return out
	}
	return v
}

// WritePlain writes plain data as JSON, the way ReadPlain reads it: keys sorted,
// and a float keeps a point, so that 3 and 3.0 stay two things.
func WritePlain(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	err := writePlain(&b, v)
	return b.Bytes(), err
}

func writePlain(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			key, err := json.Marshal(k)
			if err != nil {
				return err
			}
			b.Write(key)
			b.WriteByte(':')
			if err := writePlain(b, v[k]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writePlain(b, v[i]); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case float64:
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b.Write(text)
		if !bytes.ContainsAny(text, ".eE") {
			b.WriteString(".0")
		}
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b.Write(text)
	}
	return nil
}
