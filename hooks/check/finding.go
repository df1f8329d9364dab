package check

// Severity of a finding, worst first. The zero value means none.
type Severity uint8

const (
	NoSeverity Severity = iota
	Error
	Warning
	Information
	Hint
)

// Span is a range of bytes in a source text, end exclusive.
type Span struct{ Start, End int }

// Code names a kind of finding; the codes are those of the protocol page.
type Code string

// Finding is one thing that is wrong with a script or a manifest.
type Finding struct {
	Path     string // the file it is in, as the caller named it
	Span     Span
	Code     Code
	Severity Severity
	Message  string // lower case, names the thing and the nearest right one
	Related  []Related
	Fixes    []Fix
	Tags     []Tag
	Trust    *TrustAsk // of a command that waits for a person's trust
}

// TrustAsk is what a person would trust to make a finding go away.
type TrustAsk struct {
	ID     string `json:"id"`     // of the entry
	Digest string `json:"digest"` // of its content
	Does   string `json:"does"`   // what it would run or reach, for people
}

// Related points at the other end of a finding.
type Related struct {
	Path    string
	Span    Span
	Message string
}

// Fix is a change that makes a finding go away.
type Fix struct {
	Title     string
	Edits     []Edit
	Preferred bool
}

// Edit replaces a span of the finding's own file.
type Edit struct {
	Span    Span
	NewText string
}

// Tag is how an editor may draw a finding.
type Tag uint8

const (
	NoTag Tag = iota
	Unnecessary
)
