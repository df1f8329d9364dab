package run

import (
	"strings"

	"agent-ls/loop"
)

// framed is the history as it is sent: reminders and notes in the frame that
// only the host can make, and only well-formed.
func (r *activeRun) framed(s loop.State) []loop.Message {
	messages, touched := r.sent.extend(s)
	if len(touched) > 0 {
		r.note(loop.Note{Level: "warning", Text: "the history was repaired: " + strings.Join(touched, ", ")})
	}
	return messages
}

// sent keeps the framed messages of the turns before, so that a turn checks
// and frames only what is new.
type sent struct {
	messages []loop.Message
	remade   int
}

func (c *sent) extend(s loop.State) (messages []loop.Message, touched []string) {
	all := s.History.Messages()
	if c.remade != s.History.Remade() || len(c.messages) > len(all) {
		c.messages, c.remade = nil, s.History.Remade()
	}
	fresh := all[len(c.messages):]
	if loop.WellFormed(fresh) != nil {
		// It cannot come to this by Apply; a journal that was tampered with
		// can. Nothing of it is kept for the next turn.
		fixed, touched := loop.Repair(all)
		for i := range fixed {
			fixed[i] = frame(s, fixed[i])
		}
		return fixed, touched
	}
	for _, m := range fresh {
		c.messages = append(c.messages, frame(s, m))
	}
	return c.messages[:len(c.messages):len(c.messages)], nil
}

func frame(s loop.State, m loop.Message) loop.Message {
	for i, b := range m.Blocks {
		switch {
		case b.Kind == loop.ReminderBlock:
			m = ownBlocks(m)
			m.Blocks[i].Text = s.Framed(b.Text)
		case b.Kind == loop.ResultBlock && len(b.Result.Notes) > 0:
			m = ownBlocks(m)
			result := *b.Result
			result.Notes = make([]string, len(b.Result.Notes))
			for k, n := range b.Result.Notes {
				result.Notes[k] = s.Framed(n)
			}
			m.Blocks[i].Result = &result
		}
	}
	return m
}

func ownBlocks(m loop.Message) loop.Message {
	m.Blocks = append([]loop.Block(nil), m.Blocks...)
	return m
}
