package contract

import (
	"strings"
	"unicode/utf8"
)

// Nearest gives the candidate that a misspelt name most likely stands for, ""
// when none is near: at most one slip (a letter wrong, missing, added, or two
// swapped) for every three letters of the longer word. A word that was cut
// short ("err") stands for the only candidate that begins with it. Case does
// not count. Of equals the first wins, so that the answer is always the same.
func Nearest(name string, candidates []string) string {
	best, bestCost := "", -1
	lower := strings.ToLower(name)
	size := utf8.RuneCountInString(lower)
	for _, c := range candidates {
		if c == "" || c == name {
			continue
		}
		longer := max(size, utf8.RuneCountInString(c))
		limit := max(1, longer/3)
		if bestCost >= 0 {
			limit = min(limit, bestCost-1)
		}
		if limit < 0 || longer > 64 {
			continue
		}
		if cost := slips([]rune(lower), []rune(strings.ToLower(c)), limit); cost <= limit && cost < longer {
			best, bestCost = c, cost
		}
	}
	if best == "" && size >= 3 {
		return only(lower, name, candidates)
	}
	return best
}

// only gives the one candidate that begins with the word.
func only(prefix, name string, candidates []string) string {
	found := ""
	for _, c := range candidates {
		if c == name || !strings.HasPrefix(strings.ToLower(c), prefix) {
			continue
		}
		if found != "" && found != c {
			return ""
		}
		found = c
	}
	return found
}

// DidYouMean gives `; did you mean "NEAREST"?`, or "" when nothing is near.
func DidYouMean(name string, candidates []string) string {
	if n := Nearest(name, candidates); n != "" {
		return `; did you mean "` + n + `"?`
	}
	return ""
}

// slips is the restricted Damerau-Levenshtein distance of a and b, or more
// than limit as soon as it is known to be.
func slips(a, b []rune, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := old[j-1]
			if a[i-1] != b[j-1] {
				cost = 1 + min(cost, old[j], row[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cost = min(cost, older[j-2]+1)
			}
			row[j] = cost
			least = min(least, cost)
		}
		if least > limit {
			return limit + 1
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}
