// Package glob matches paths against patterns: * within a folder, ** for any
// number of folders, ?, [a-z] and {a,b}. Start at Match. It never looks at a
// disk.
package glob

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// The bounds of a pattern. Alternatives multiply the work of a match.
const (
	MaxPattern      = 4 << 10 // bytes
	MaxPath         = 64 << 10
	MaxAlternatives = 4 << 10 // ways to read {a,b}{c,d}…
	maxAnyFolders   = 32      // how many **
)

// Match says whether the whole path fits the pattern. Both are written with
// slashes. A pattern that is malformed or out of bounds is an error.
func Match(pattern, path string) (bool, error) {
	if err := Valid(pattern); err != nil {
		return false, err
	}
	if len(path) > MaxPath {
		return false, fmt.Errorf("path is longer than %d bytes", MaxPath)
	}
	ok, err := doublestar.Match(pattern, path)
	if err != nil {
		return false, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return ok, nil
}

// Valid says what is wrong with a pattern.
func Valid(pattern string) error {
	switch {
	case len(pattern) > MaxPattern:
		return fmt.Errorf("pattern is longer than %d bytes", MaxPattern)
	case alternatives(pattern) > MaxAlternatives:
		return fmt.Errorf("pattern %.60q… has more than %d alternatives", pattern, MaxAlternatives)
	case strings.Count(pattern, "**") > maxAnyFolders:
		return fmt.Errorf("pattern %.60q… has ** more than %d times", pattern, maxAnyFolders)
	case !doublestar.ValidatePattern(pattern):
		return fmt.Errorf("pattern %q is malformed", pattern)
	}
	return nil
}

// alternatives bounds in how many ways a pattern can be read, each of which a
// match may have to try.
func alternatives(pattern string) int {
	total, here, depth := 1, 1, 0
	for _, c := range pattern {
		switch c {
		case '{':
			depth++
		case ',':
			if depth > 0 {
				here++
			}
		case '}':
			depth = max(0, depth-1)
			if total *= here; total > MaxAlternatives {
				return total
			}
			here = 1
		}
	}
	return total
}
