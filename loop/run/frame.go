package run

import (
	"fmt"
	"slices"

	"agent-ls/loop"
)

// sent keeps the messages of the turns before as they were sent, so that a
// turn checks and frames only what is new. A message is written anew only
// where the view moved over it, which for each message happens a few times at
// most.
type sent struct {
	messages []loop.Message
	remade   int
	view     loop.View
	origin   string // the model that they were framed for
	begun    bool
}

// extend gives the history as it is sent to the model of that origin:
// reminders and notes in the frame that only the host can make, stubs where
// the view says so, and no thinking that is another model's. moved says that
// something the model has seen before is a stub now. An error says that the
// history is not well-formed, which it cannot come to by Apply; a journal that
// was tampered with can.
func (c *sent) extend(s *loop.State, origin string) (messages []loop.Message, moved bool, err error) {
	all := s.History.Messages()
	remade := c.remade != s.History.Remade() || len(c.messages) > len(all)
	if !c.begun || remade || c.origin != origin || c.view.Moved != s.View.Moved {
		moved = c.begun && (remade || c.view.Moved != s.View.Moved)
		*c = sent{remade: s.History.Remade(), view: s.View, origin: origin, begun: true}
	}
	if err := loop.WellFormed(all[len(c.messages):]); err != nil {
		*c = sent{}
		return nil, false, err
	}
	old, next := &c.view, &s.View
	if old.Cutoff != next.Cutoff || old.Tail != next.Tail || old.Plain != next.Plain {
		from := len(c.messages)
		for _, edge := range [][2]int{{old.Cutoff, next.Cutoff}, {old.Tail, next.Tail}, {old.Plain, next.Plain}} {
			if edge[0] != edge[1] {
				from = min(from, edge[0])
			}
		}
		for i := from; i < min(len(c.messages), max(next.Cutoff, next.Tail, next.Plain)); i++ {
			c.messages[i] = frame(s, i, origin)
		}
		moved = moved || old.Cutoff != next.Cutoff || old.Tail != next.Tail
	}
	c.view = s.View
	for i := len(c.messages); i < len(all); i++ {
		c.messages = append(c.messages, frame(s, i, origin))
	}
	return c.messages[:len(c.messages):len(c.messages)], moved, nil
}

// frame gives one message of the history as it is sent.
func frame(s *loop.State, at int, origin string) loop.Message {
	m := s.History.Messages()[at]
	own := false
	set := func(i int, b loop.Block) {
		if !own {
			m.Blocks, own = slices.Clone(m.Blocks), true
		}
		m.Blocks[i] = b
	}
	foreign := false // there are parts that only their own model takes back
	for i, b := range m.Blocks {
		switch b.Kind {
		case loop.ReminderBlock:
			b.Text = s.Framed(b.Text)
			set(i, b)
		case loop.ImageBlock:
			if at < s.View.Cutoff {
				set(i, loop.Block{Kind: loop.ReminderBlock, Text: s.Framed(fmt.Sprintf("an image of %d bytes is left out here: the context was too full", len(b.Data)))})
			}
		case loop.ResultBlock:
			if r := frameResult(s, at, b.Result); r != b.Result {
				b.Result = r
				set(i, b)
			}
		case loop.ThinkingBlock, loop.ServerBlock:
			foreign = foreign || m.Origin != origin || b.Kind == loop.ThinkingBlock && at < s.View.Plain
		}
	}
	if foreign {
		m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b loop.Block) bool {
			return b.Kind == loop.ThinkingBlock || b.Kind == loop.ServerBlock && m.Origin != origin
		})
		if len(m.Blocks) == 0 {
			m.Blocks = []loop.Block{{Kind: loop.TextBlock, Text: "…"}} // it thought and said nothing
		}
	}
	return m
}

// leastStub is the size in bytes from which a stub is shorter than what it
// stands for.
const leastStub = 256

func frameResult(s *loop.State, at int, r *loop.ToolResult) *loop.ToolResult {
	path, stale := s.View.Stale[r.CallID]
	stub := at < s.View.Cutoff || at < s.View.Tail || stale
	if !stub && len(r.Notes) == 0 {
		return r
	}
	framed := *r
	framed.Notes = make([]string, len(r.Notes))
	for i, n := range r.Notes {
		framed.Notes[i] = s.Framed(n)
	}
	switch {
	case !stub || len(r.Text) < leastStub && len(r.Images) == 0:
	case stale:
		framed.Images = nil
		framed.Text = s.Framed(fmt.Sprintf("what was read here is left out: %q was edited since. Read it again if you need it", path))
	default:
		framed.Images = nil
		framed.Text = s.Framed(fmt.Sprintf("the output of this call, %d bytes, is left out: the context was too full. Call again if you need it", len(r.Text)))
	}
	return &framed
}
