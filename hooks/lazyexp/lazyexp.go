// Package lazyexp has regular expressions of a package that are compiled
// when they are used first. Every process of the program starts with the same
// packages, and a script worker or a language server needs few of their
// expressions, late. Start at New.
package lazyexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Pattern is a regular expression. It may be used from many goroutines.
type Pattern struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

// underTest says that this is a test's program, which compiles every pattern
// at once: one that is none does not wait for its first use to be found out.
var underTest = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New gives the pattern of a text in the syntax of package regexp. A text that
// is none makes its first use panic, and every test of the package that has it.
func New(text string) *Pattern {
	p := &Pattern{text: text}
	if underTest {
		p.get()
	}
	return p
}

func (p *Pattern) get() *regexp.Regexp {
	p.once.Do(func() { p.re = regexp.MustCompile(p.text) })
	return p.re
}

// MatchString is that of regexp.Regexp, as are the methods below.
func (p *Pattern) MatchString(s string) bool { return p.get().MatchString(s) }

// Match says whether a part of b matches.
func (p *Pattern) Match(b []byte) bool { return p.get().Match(b) }

// FindStringSubmatch gives the leftmost match and its groups.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.get().FindStringSubmatch(s) }

// FindAllStringSubmatch gives at most n matches with their groups, all for -1.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.get().FindAllStringSubmatch(s, n)
}

// ReplaceAllString puts what with makes of its groups in place of each match.
func (p *Pattern) ReplaceAllString(s, with string) string { return p.get().ReplaceAllString(s, with) }

// ReplaceAllStringFunc puts what with makes of each match in its place.
func (p *Pattern) ReplaceAllStringFunc(s string, with func(string) string) string {
	return p.get().ReplaceAllStringFunc(s, with)
}

// Split cuts s at the matches into at most n parts, into all for -1.
func (p *Pattern) Split(s string, n int) []string { return p.get().Split(s, n) }
