package lazyexp

import "testing"

func TestAPatternIsCompiledOnceAndUsedAsOne(t *testing.T) {
	p := New(`(a)(b*)`)
	if p.re == nil {
		t.Error("a test has to find a bad pattern at once")
	}
	late := &Pattern{text: `(a)(b*)`}
	if !late.MatchString("xab") || late.Match([]byte("x")) || late.re == nil {
		t.Error("it does not match as it should")
	}
	if got := late.ReplaceAllString("ab", "$2$1"); got != "ba" {
		t.Errorf("replaced: %q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("New takes what is no pattern")
		}
	}()
	New(`(`)
}
