package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Tag is the first byte of a value.
type Tag byte

const (
	Nil Tag = iota
	False
	True
	Int
	Float
	String
	List
	Map
)

// The bounds of one value. Nodes count too: a million empty lists are few
// bytes and much memory.
const (
	MaxDepth = 64
	MaxNodes = 1 << 18
)

// Errors of values that are not within bounds. Texts are for people.
var (
	ErrDeep  = fmt.Errorf("nested deeper than %d levels", MaxDepth)
	ErrNodes = fmt.Errorf("has more than %d values in it", MaxNodes)
	ErrCycle = errors.New("refers to itself")
)

// ErrSize says that a value is larger than a limit of bytes.
type ErrSize int64

func (e ErrSize) Error() string { return fmt.Sprintf("larger than %s", Size(int64(e))) }

// Size writes a number of bytes for people.
func Size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// encoder writes one value within bounds.
type encoder struct {
	b     []byte
	end   int // len(b) must not pass it
	limit int64
	nodes int
}

// AppendValue adds plain data: nil, bool, integers, floats, strings, lists
// and maps with text keys, at most limit bytes of it.
func AppendValue(b []byte, v any, limit int64) ([]byte, error) {
	e := encoder{b: b, end: len(b) + int(limit), limit: limit}
	err := e.put(v, 0)
	return e.b, err
}

func (e *encoder) put(v any, depth int) error {
	if e.nodes++; e.nodes > MaxNodes {
		return ErrNodes
	}
	switch v := v.(type) {
	case nil:
		e.b = append(e.b, byte(Nil))
	case bool:
		t := False
		if v {
			t = True
		}
		e.b = append(e.b, byte(t))
	case string:
		if len(e.b)+len(v) > e.end {
			return ErrSize(e.limit)
		}
		e.b = AppendText(append(e.b, byte(String)), v)
	case int64:
		e.int(v)
	case int:
		e.int(int64(v))
	case int32:
		e.int(int64(v))
	case uint32:
		e.int(int64(v))
	case float64:
		return e.float(v)
	case float32:
		return e.float(float64(v))
	case json.Number:
		return e.number(v)
	case []any:
		return list(e, v, depth, (*encoder).put)
	case []string:
		return list(e, v, depth, func(e *encoder, s string, d int) error { return e.put(s, d) })
	case []map[string]any:
		return list(e, v, depth, func(e *encoder, m map[string]any, d int) error { return e.put(m, d) })
	case map[string]any:
		return dict(e, v, depth)
	case map[string]string:
		return dict(e, v, depth)
	default:
		return fmt.Errorf("a %T is no plain data", v)
	}
	if len(e.b) > e.end {
		return ErrSize(e.limit)
	}
	return nil
}

func (e *encoder) int(n int64) { e.b = binary.AppendVarint(append(e.b, byte(Int)), n) }

func (e *encoder) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errors.New("a number that is not finite is no plain data")
	}
	e.b = binary.LittleEndian.AppendUint64(append(e.b, byte(Float)), math.Float64bits(f))
	return nil
}

func (e *encoder) number(n json.Number) error {
	if i, err := n.Int64(); err == nil {
		e.int(i)
		return nil
	}
	f, err := n.Float64()
	if err != nil {
		return fmt.Errorf("the number %.40s is out of range", n)
	}
	return e.float(f)
}

func list[T any](e *encoder, items []T, depth int, put func(*encoder, T, int) error) error {
	if depth >= MaxDepth {
		return ErrDeep
	}
	e.b = binary.AppendUvarint(append(e.b, byte(List)), uint64(len(items)))
	for _, x := range items {
		if err := put(e, x, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func dict[T any](e *encoder, m map[string]T, depth int) error {
	if depth >= MaxDepth {
		return ErrDeep
	}
	e.b = binary.AppendUvarint(append(e.b, byte(Map)), uint64(len(m)))
	for k, x := range m {
		e.b = AppendText(e.b, k)
		if err := e.put(x, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// ReadValue reads one value as plain data: nil, bool, int64, float64, string,
// []any, map[string]any.
func ReadValue(r *Reader) (any, error) {
	nodes := 0
	v := readValue(r, 0, &nodes)
	return v, r.Err()
}

func readValue(r *Reader, depth int, nodes *int) any {
	if !Enter(r, depth, nodes) {
		return nil
	}
	switch t := Tag(r.Byte()); t {
	case Nil:
		return nil
	case False, True:
		return t == True
	case Int:
		return r.Int()
	case Float:
		return math.Float64frombits(r.Uint64())
	case String:
		return r.Text(MaxFrame)
	case List:
		n := r.Count(MaxNodes)
		out := make([]any, 0, n)
		for i := 0; i < n && r.Err() == nil; i++ {
			out = append(out, readValue(r, depth+1, nodes))
		}
		return out
	case Map:
		n := r.Count(MaxNodes)
		out := make(map[string]any, min(n, 1024))
		for i := 0; i < n && r.Err() == nil; i++ {
			k := r.Text(MaxFrame)
			out[k] = readValue(r, depth+1, nodes)
		}
		return out
	default:
		r.Fail(fmt.Errorf("no value starts with the byte %d", t))
		return nil
	}
}

// Enter counts a value that is about to be read against the bounds.
func Enter(r *Reader, depth int, nodes *int) bool {
	switch {
	case r.Err() != nil:
	case depth > MaxDepth:
		r.Fail(ErrDeep)
	default:
		if *nodes++; *nodes > MaxNodes {
			r.Fail(ErrNodes)
		}
	}
	return r.Err() == nil
}

// SortedKeys gives a map's keys in order.
func SortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
