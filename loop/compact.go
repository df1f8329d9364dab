package loop

import "fmt"

// RequestSize is about how many tokens the next request has: what the provider
// counted the last time, and four bytes a token for what was added since.
func (s *State) RequestSize() int64 {
	if s.Context <= 0 || s.ContextAt > s.History.Len() {
		return int64(s.History.bytes+3) / 4
	}
	added := 0
	for i := s.ContextAt; i < s.History.Len(); i++ {
		added += s.History.messages[i].size()
	}
	return s.Context + int64(added+3)/4
}

// SummaryUntil is where a summary of the older turns would end: before the
// newest turns that are kept, of which no more than most tokens stay. 0 is
// that there is nothing to sum up.
func (s *State) SummaryUntil(keepTurns, most int) int {
	messages := s.History.messages
	until, size := len(messages), 0
	for i := len(messages) - 1; i > 0 && keepTurns > 0; i-- {
		size += messages[i].size()
		if messages[i].Role != Assistant {
			continue
		}
		if most > 0 && size/4 > most {
			break
		}
		until = i
		keepTurns--
	}
	if until < 2 || !s.parts(until) {
		return 0 // one message is nothing to sum up
	}
	return until
}

// parts says whether the history can be parted there: no call would be parted
// from its result, and what stays begins with the model or with nothing.
func (s *State) parts(at int) bool {
	messages := s.History.messages
	if at <= 0 || at > len(messages) || len(calls(messages[at-1])) > 0 {
		return false
	}
	return at == len(messages) || messages[at].Role == Assistant
}

// SizeWith is about how many tokens the next request would have with a text in
// the place of the messages before until.
func (s *State) SizeWith(until int, text string) int64 {
	size := len(text) + len(s.Task)
	for _, m := range s.History.messages[min(until, s.History.Len()):] {
		size += m.size()
	}
	return int64(size+3) / 4
}

// wantsSummary says where a summary would end if one is due, else 0.
func (m *machine) wantsSummary() int {
	full := m.Course.Wire.Full
	if full <= 0 {
		return 0
	}
	size := int(m.RequestSize())
	if size < full || size < m.View.full+m.View.full/10 {
		return 0
	}
	return m.SummaryUntil(m.Course.Wire.KeepTurns, full/2)
}

func (m *machine) sumUp(until int) {
	m.Phase = Compacting
	m.ask(Command{Kind: SumUp, Until: until})
}

// compacted puts a summary in the place of the older turns. It comes in
// answer to SumUp, or from a user while no run is under way.
func (m *machine) compacted(e Event) {
	due := m.Phase == Compacting && e.Step == m.Step
	if !due && (m.Active() || e.Step != 0) {
		return
	}
	if e.Usage != nil {
		m.Usage = m.Usage.Plus(*e.Usage)
		m.tell(TellUsage, Command{Usage: *e.Usage})
	}
	if e.Kind == Compacted && e.Text != nil && m.parts(e.Until) {
		m.replaceOlder(e.Until, *e.Text)
		m.View.full = int(e.After)
	} else {
		m.View.full = int(m.RequestSize())
	}
	if due {
		m.assemble()
	}
}

func (m *machine) replaceOlder(until int, summary string) {
	blocks := []Block{}
	older := m.History.messages
	if m.TaskAt >= 0 && m.TaskAt < until {
		if m.Active() && m.Task != "" {
			blocks = append(blocks, Block{Kind: TextBlock, Text: m.Task})
		}
		m.TaskAt = 0
	} else {
		m.TaskAt -= until - 1
	}
	blocks = append(blocks, Block{Kind: ReminderBlock, Text: fmt.Sprintf("the older part of this conversation was summed up:\n%s", summary)})
	m.History = History{remade: m.History.remade + 1}.with(Message{Role: User, Blocks: blocks}).with(older[until:]...)
	m.View.shift(until, 1)
	m.Context, m.ContextAt = 0, 0
	m.Summaries++
}
