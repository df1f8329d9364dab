package manifest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseDuration reads Go's durations and whole days ("90d").
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 32); err == nil && n <= 36500 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`%q is no duration such as "90s", "2m" or "90d"`, s)
	}
	return d, nil
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1000}, {"MB", 1000_000}, {"GB", 1000_000_000}, {"B", 1},
}

// parseSize reads a number of bytes with a unit: "4MiB".
func parseSize(s string) (int64, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err == nil && n > 0 && n <= math.MaxInt64/u.bytes {
			return n * u.bytes, nil
		}
		break
	}
	return 0, fmt.Errorf(`%q is no size such as "64KiB" or "4MiB"`, s)
}

// typed turns a node that fits one of the shapes into what viper keeps: bool,
// int64, float64, string, []string; durations as Go writes them.
func typed(s *Setting, n *node) any {
	switch n.kind {
	case boolKind:
		return n.truth
	case intKind:
		if s.has(Number) && !s.has(Whole) {
			return float64(n.num)
		}
		return n.num
	case floatKind:
		return n.frac
	case listKind:
		return n.strings()
	case stringKind:
		switch {
		case s.has(Duration):
			if d, err := parseDuration(n.text); err == nil {
				return d.String()
			}
		case s.has(Size):
			if b, err := parseSize(n.text); err == nil {
				return b
			}
		case s.has(Texts):
			return n.strings()
		}
		return n.text
	}
	return nil
}

func (s *Setting) has(shape Shape) bool {
	for _, have := range s.Shapes {
		if have == shape {
			return true
		}
	}
	return false
}

// defaultValue is the setting's default in the form of typed.
func (s *Setting) defaultValue() any {
	switch d := s.Default.(type) {
	case nil:
		return nil
	case int:
		return int64(d)
	case string:
		return typed(s, &node{kind: stringKind, text: d})
	}
	return s.Default
}

// asStrict says whether a value is at least as strict as another.
func (s *Setting) asStrict(value, than any) bool {
	switch s.Stricter {
	case WhenFalse:
		return value != true || than == true
	case WhenTrue:
		return value == true || than != true
	case WhenLater:
		return place(s.Values, value) >= place(s.Values, than)
	case WhenNarrower:
		return true // decided folder by folder
	case WhenLower:
		a, b := magnitude(s, value), magnitude(s, than)
		return a <= b
	}
	return true
}

func place(values []string, v any) int {
	for i, have := range values {
		if have == v {
			return i
		}
	}
	return -1
}

func magnitude(s *Setting, v any) float64 {
	var f float64
	switch v := v.(type) {
	case int64:
		f = float64(v)
	case int:
		f = float64(v)
	case float64:
		f = v
	case string:
		d, err := time.ParseDuration(v)
		if err != nil {
			return math.Inf(1)
		}
		f = float64(d)
	default:
		return math.Inf(1)
	}
	if s.Off && f == 0 {
		return math.Inf(1)
	}
	return f
}
