package loop

// History is the transcript of a session. Adding to it takes constant time
// and gives a new History; older ones stay what they were, also when two
// different things are added to the same one.
type History struct {
	messages []Message
	// owned is how much of the shared array is in use by the longest History
	// over it. Whoever is that long may extend it in place; anybody else copies.
	owned *int
	bytes int // of text in all of them
	// remade counts how often something in the middle was replaced.
	remade int
}

// Len counts the messages.
func (h History) Len() int { return len(h.messages) }

// Messages gives all of them; do not change them.
func (h History) Messages() []Message { return h.messages[:len(h.messages):len(h.messages)] }

// Remade counts how often the history was changed other than by adding to it.
// While it stays the same, what was seen of it before is still there.
func (h History) Remade() int { return h.remade }

func (h History) with(m ...Message) History {
	if h.owned == nil || *h.owned != len(h.messages) {
		fresh := make([]Message, len(h.messages), 2*len(h.messages)+8)
		copy(fresh, h.messages)
		h = History{messages: fresh, owned: new(int), remade: h.remade, bytes: h.bytes}
	}
	for i := range m {
		h.bytes += m[i].size()
	}
	h.messages = append(h.messages, m...)
	*h.owned = len(h.messages)
	return h
}

// replaced gives a history in which message i is m.
func (h History) replaced(i int, m Message) History {
	fresh := make([]Message, len(h.messages), 2*len(h.messages)+8)
	copy(fresh, h.messages)
	fresh[i] = m
	n := len(fresh)
	return History{messages: fresh, owned: &n, remade: h.remade + 1, bytes: h.bytes - h.messages[i].size() + m.size()}
}
