package check

import (
	"fmt"

	"agent-ls/hooks/syntax"
)

// report collects findings; at one place it keeps one of a code.
type report struct {
	path     string
	findings []Finding
	seen     map[place]bool
}

type place struct {
	start int
	code  Code
}

// maxFindings bounds what one script can fill an editor with.
const maxFindings = 500

// full says that no more findings are kept.
func (r *report) full() bool { return len(r.findings) >= maxFindings }

// add notes a finding and gives it for its fixes and relations, nil when it
// is already there.
func (r *report) add(code Code, at Span, format string, args ...any) *Finding {
	p := place{at.Start, code}
	if r.seen[p] || r.full() {
		return nil
	}
	r.seen[p] = true
	r.findings = append(r.findings, NewFinding(code, r.path, at, fmt.Sprintf(format, args...)))
	return &r.findings[len(r.findings)-1]
}

// relate points a finding at another place of the script.
func (f *Finding) relate(at Span, message string) {
	if f != nil {
		f.Related = append(f.Related, Related{f.Path, at, message})
	}
}

// fix offers a change.
func (f *Finding) fix(title string, edits ...Edit) {
	if f != nil {
		f.Fixes = append(f.Fixes, Fix{Title: title, Edits: edits, Preferred: len(f.Fixes) == 0})
	}
}

// fixTo offers to replace the finding's own words.
func (f *Finding) fixTo(word string) {
	if f != nil && word != "" {
		f.fix("Change to "+word, Edit{f.Span, word})
	}
}

func span(n syntax.Node) Span { return Span(n.Pos()) }
