package loop

import "slices"

// Label says how secret something is, from open to secret. The zero value
// says that nothing is known to be secret.
type Label string

const (
	NoLabel  Label = ""
	Public   Label = "public"
	Internal Label = "internal"
	Private  Label = "private"
)

var labels = []Label{NoLabel, Public, Internal, Private}

// rank orders labels. One that is not known counts as the most secret.
func (l Label) rank() int {
	if i := slices.Index(labels, l); i >= 0 {
		return max(i, 1) // no label is as open as public
	}
	return len(labels)
}

// Above tells whether a label is more secret than another.
func (l Label) Above(other Label) bool { return l.rank() > other.rank() }

// With is the more secret of two labels.
func (l Label) With(other Label) Label {
	if other.Above(l) || l == NoLabel {
		return other
	}
	return l
}

// taint lets the conversation carry a label that something brought into it.
// It never gets lower: what was read stays read, compacted or not.
func (m *machine) taint(l Label) { m.Taint = m.Taint.With(l) }
