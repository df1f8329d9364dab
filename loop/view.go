package loop

import (
	"fmt"
	"maps"
	"slices"
)

// What happens to the request for an answer, and to what it carries.
const (
	Overflowed    EventKind = "overflowed"     // a request was too long, what it leaves out from now on: Cutoff
	Unthought     EventKind = "unthought"      // a provider refused thinking of the history, which is not sent any more
	Repaired      EventKind = "repaired"       // the history was not well-formed and is made so
	Compacted     EventKind = "compacted"      // answers SumUp: Until, Text, Usage, Before, After
	CompactFailed EventKind = "compact_failed" // answers SumUp: Error
)

// View says which parts of the history a request leaves out. It only ever
// moves forward, and only by events and by the turns themselves, so that a
// later turn, a later run and a resumed one send the same stubs: what a
// provider has in its cache stays what it was.
type View struct {
	// Cutoff: tool output and media of the messages before it are stubs,
	// since a request with them was too long.
	Cutoff int
	// Tail: tool output of the messages before it is a stub, since there was
	// more than compact_threshold of it.
	Tail int
	// Plain: thinking of the messages before it is not sent, since a provider
	// refused it.
	Plain int
	// Stale are the reads that a later edit made wrong, call id to path; kept
	// where elide_stale_reads is "stub". Moved counts their changes.
	Stale map[string]string
	Moved int

	kept  int               // bytes of tool output from Tail up to known
	known int               // messages that kept counts
	reads map[string]string // call id → path of the reads that are right still
	// full is the size in tokens at which a summary was tried in vain; it is
	// not tried again before the conversation has grown by a tenth.
	full int
}

// WireCourse is what of [behavior] decides about what is sent.
type WireCourse struct {
	Tail *TailCourse `json:"tail,omitempty"`
	// StaleReads is "", "notice" or "stub".
	StaleReads string `json:"staleReads,omitempty"`
	// Full is the size of a request, in tokens, at which older turns are
	// summed up; 0 is never.
	Full int `json:"full,omitempty"`
	// KeepTurns are the newest turns that no summary and no tail touches.
	KeepTurns int `json:"keepTurns,omitempty"`
}

// TailCourse is compact_strategy "tail".
type TailCourse struct {
	Threshold int     `json:"threshold"`          // bytes of tool output
	LowWater  float64 `json:"lowWater,omitempty"` // a part of Threshold; 0 = trim to Threshold
}

// leastStub is the size in bytes below which leaving something out saves
// nothing: the stub would be as long.
const leastStub = 256

// outputSize is how much of a message a stub of its tool output would save.
func (m *Message) outputSize() int {
	n := 0
	for i := range m.Blocks {
		if r := m.Blocks[i].Result; r != nil {
			n += r.stubSize()
		}
	}
	return n
}

func (r *ToolResult) stubSize() int {
	n := 0
	if len(r.Text) >= leastStub {
		n = len(r.Text)
	}
	for i := range r.Images {
		n += len(r.Images[i].Data)
	}
	return n
}

// mediaSize is how much of a message is media beside tool output.
func (m *Message) mediaSize() int {
	n := 0
	for i := range m.Blocks {
		if m.Blocks[i].Kind == ImageBlock {
			n += len(m.Blocks[i].Data)
		}
	}
	return n
}

// trim moves the tail where the tool output from it on has grown over the
// threshold. What it costs is what was added since the last turn.
func (m *machine) trim() {
	v, tail := &m.View, m.Course.Wire.Tail
	if tail == nil || tail.Threshold <= 0 {
		return
	}
	messages := m.History.messages
	for ; v.known < len(messages); v.known++ {
		v.kept += messages[v.known].outputSize()
	}
	if v.kept <= tail.Threshold {
		return
	}
	goal := tail.Threshold
	if tail.LowWater > 0 {
		goal = int(tail.LowWater * float64(tail.Threshold))
	}
	for last := m.keptFrom(m.Course.Wire.KeepTurns); v.Tail < last && v.kept > goal; v.Tail++ {
		v.kept -= messages[v.Tail].outputSize()
	}
}

// keptFrom is where the newest n turns begin: the n-th assistant message from
// the end. With fewer turns than that it is 0.
func (s *State) keptFrom(n int) int {
	messages := s.History.messages
	i := len(messages)
	for ; n > 0 && i > 0; i-- {
		if messages[i-1].Role == Assistant {
			n--
		}
	}
	if n > 0 {
		return 0
	}
	return i
}

// shift moves the view along when the first n messages were replaced by so
// many others.
func (v *View) shift(n, others int) {
	move := func(at int) int { return max(0, at-n+others) }
	kept := *v
	*v = View{
		Cutoff: move(kept.Cutoff), Tail: move(kept.Tail), Plain: move(kept.Plain),
		Stale: kept.Stale, reads: kept.reads, Moved: kept.Moved + 1,
	}
	// The count begins anew at the tail.
	v.known = v.Tail
}

// overflowed moves the cutoff.
func (m *machine) overflowed(e Event) {
	if m.Phase != Inferring || e.Step != m.Step || e.Cutoff <= m.View.Cutoff {
		return
	}
	m.Failed++
	m.View.Cutoff = min(e.Cutoff, m.History.Len())
}

// unthought leaves thinking out of what is sent from now on.
func (m *machine) unthought(e Event) {
	if m.Phase != Inferring || e.Step != m.Step {
		return
	}
	m.View.Plain = m.History.Len()
	m.Failed++
}

// repaired makes the history well-formed, for good.
func (m *machine) repaired(e Event) {
	if m.Phase != Inferring || e.Step != m.Step {
		return
	}
	fixed, touched := Repair(m.History.messages)
	if len(touched) == 0 && len(fixed) == len(m.History.messages) {
		return
	}
	m.History = History{remade: m.History.remade + 1}.with(fixed...)
	m.forgetView()
	m.TaskAt = min(m.TaskAt, len(fixed)-1)
}

// touched are the files that a finished call showed and those that it changed.
func touched(e Event) (read, changed []string) {
	for _, c := range e.Changes {
		changed = append(changed, c.Path)
	}
	for path := range e.Saw {
		if !slices.Contains(changed, path) {
			read = append(read, path)
		}
	}
	slices.Sort(read)
	return read, changed
}

// forgetView begins anew with a history that was replaced as a whole.
func (m *machine) forgetView() {
	m.View = View{Moved: m.View.Moved + 1}
	m.Context, m.ContextAt = 0, 0
}

// NextCutoff is how far the attempt, from 1, to shorten a request that was too
// long moves the cutoff, how many parts become stubs, and how many bytes that
// saves. The first
// takes half of what can be left out, the next ones half of the rest, the last
// all of it; ok is false when there is nothing left to leave out.
func (s *State) NextCutoff(attempt int) (cutoff, parts, saves int, ok bool) {
	messages := s.History.messages
	sizes := make([]int, len(messages))
	total := 0
	for i := s.View.Cutoff; i < len(messages); i++ {
		if i >= s.View.Tail {
			sizes[i] = messages[i].outputSize()
		}
		sizes[i] += messages[i].mediaSize()
		total += sizes[i]
	}
	if total == 0 {
		return s.View.Cutoff, 0, 0, false
	}
	goal := total
	if attempt < MaxShortenings {
		goal = (total + 1) / 2
	}
	for i := s.View.Cutoff; i < len(messages) && saves < goal; i++ {
		if sizes[i] > 0 {
			parts++
		}
		saves += sizes[i]
		cutoff = i + 1
	}
	return cutoff, parts, saves, true
}

// MaxShortenings is how often one request is made shorter before it counts as
// one that cannot be.
const MaxShortenings = 4

// Thoughts counts the parts of the history that are thinking and were sent.
func (s *State) Thoughts() int {
	n := 0
	for _, m := range s.History.messages[min(s.View.Plain, s.History.Len()):] {
		for _, b := range m.Blocks {
			if b.Kind == ThinkingBlock {
				n++
			}
		}
	}
	return n
}

// Forgot says that the calls in work were made by another model, or that what
// was thought before them is not sent: providers take thinking up again only
// where they get it back.
func (s *State) Forgot(origin string) bool {
	messages := s.History.messages
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == Assistant {
			return len(calls(messages[i])) > 0 && (messages[i].Origin != origin || i < s.View.Plain)
		}
	}
	return false
}

// TooLarge says what a request consists of, for an error that names what is
// too large: its parts in tokens, as far as they can be estimated.
func (s *State) TooLarge(sent []Message, tools []ToolSpec) string {
	toolBytes := 0
	for _, t := range tools {
		toolBytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	total, largest, at := 0, 0, -1
	for i := range sent {
		n := sent[i].size() + sent[i].mediaSize()
		total += n
		if n > largest {
			largest, at = n, i
		}
	}
	text := fmt.Sprintf("the system prompt has about %d tokens, the tools %d, the %d messages %d", len(s.System())/4, toolBytes/4, len(sent), total/4)
	if at >= 0 {
		text += fmt.Sprintf("; the largest message, the %s's number %d, has %d", sent[at].Role, at+1, largest/4)
	}
	return text
}

// staleReads notes reads and edits where the course asks for it; it is called
// for each result of a batch that is about to become part of the history. It
// returns what the model is to be told, "" if nothing.
func (m *machine) staleReads(c *Call) string {
	how := m.Course.Wire.StaleReads
	if how == "" || c.Result == nil || c.Result.Outcome != CallOK {
		return ""
	}
	var notices []string
	for _, path := range c.Changed {
		stale := 0
		for id, read := range m.View.reads {
			if read != path {
				continue
			}
			stale++
			m.View.reads = without(m.View.reads, id)
			if how == "stub" {
				m.View.Stale = with(m.View.Stale, id, path)
				m.View.Moved++
			}
		}
		if stale > 0 && how == "notice" {
			notices = append(notices, path)
		}
	}
	if len(c.Changed) == 0 {
		for _, path := range c.Read {
			m.View.reads = with(m.View.reads, c.ID, path)
		}
	}
	if len(notices) == 0 {
		return ""
	}
	slices.Sort(notices)
	return fmt.Sprintf("edited since it was read, so the text of the earlier read is out of date: %s", quoteAll(notices))
}

func quoteAll(names []string) string {
	text := ""
	for i, n := range names {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q", n)
	}
	return text
}

func without[K comparable, V any](m map[K]V, k K) map[K]V {
	next := maps.Clone(m)
	delete(next, k)
	return next
}
