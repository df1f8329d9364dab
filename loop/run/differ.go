package run

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// differ collects the JSON pointers at which two plain values differ.
func differ(at string, x, y any, out *[]string) {
	if mx, ok := x.(map[string]any); ok {
		if my, ok := y.(map[string]any); ok {
			keys := map[string]bool{}
			for k := range mx {
				keys[k] = true
			}
			for k := range my {
				keys[k] = true
			}
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				vx, inX := mx[k]
				vy, inY := my[k]
				p := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
				if inX != inY {
					*out = append(*out, p)
					continue
				}
				differ(p, vx, vy, out)
			}
			return
		}
	}
	if lx, ok := x.([]any); ok {
		if ly, ok := y.([]any); ok && len(lx) == len(ly) {
			for i := range lx {
				differ(at+"/"+strconv.Itoa(i), lx[i], ly[i], out)
			}
			return
		}
	}
	if !reflect.DeepEqual(x, y) {
		*out = append(*out, at)
	}
}

// didYouMean is the end of a sentence about a name that is not known.
func didYouMean(name string, known []string) string {
	best := nearest(name, known)
	switch {
	case best != "":
		return fmt.Sprintf(", did you mean %q?", best)
	case len(known) == 0:
		return ""
	case len(known) <= 12:
		return "; there are " + strings.Join(known, ", ")
	}
	return ""
}

// distance counts the single-letter edits between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// nearest is the name that is spelt most like another, "" when none is close.
func nearest(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least || d == least && best == "" {
			best, least = k, d
		}
	}
	if least < 3 && least < len(name) {
		return best
	}
	return ""
}
