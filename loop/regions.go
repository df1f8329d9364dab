package loop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// The regions that every stage has.
const (
	Conversation = "conversation"
	TaskRegion   = "task"
)

// maxRegionText bounds what a hook sees of one region, in bytes.
const maxRegionText = 256 << 10

// Tokens estimates how many tokens a text has, the same way for every model:
// four bytes each.
func Tokens(text string) int { return (len(text) + 3) / 4 }

// seed gives the stage's regions their first text. What a former stage left in
// a pinned or sliding one stays.
func (m *machine) seed() {
	regions := maps.Clone(m.Regions)
	if regions == nil {
		regions = map[string]string{}
	}
	for _, r := range m.Current().Regions {
		if _, there := regions[r.Name]; !there || r.Kind == Temporary {
			regions[r.Name] = r.fit(r.Seed)
		}
	}
	m.Regions = regions
}

func (m *machine) dropTemporary() {
	regions := maps.Clone(m.Regions)
	for _, r := range m.Current().Regions {
		if r.Kind == Temporary {
			delete(regions, r.Name)
		}
	}
	m.Regions = regions
}

// fit cuts a sliding region from the front.
func (r *RegionCourse) fit(text string) string {
	limit := r.MaxTokens * 4
	if r.Kind != Sliding || r.MaxTokens <= 0 || len(text) <= limit {
		return text
	}
	start := len(text) - limit
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}

// CheckRegions says what is wrong with the regions that a hook wants to
// replace: a name that the stage does not have, or a text over its budget.
func (s *State) CheckRegions(replace map[string]string) error {
	stage := s.Current()
	for _, name := range slices.Sorted(maps.Keys(replace)) {
		if name == Conversation || name == TaskRegion {
			continue
		}
		r := stage.Region(name)
		if r == nil {
			return fmt.Errorf("stage %q has no region %q", s.Stage, name)
		}
		if n := Tokens(replace[name]); r.Kind != Sliding && r.MaxTokens > 0 && n > r.MaxTokens {
			return fmt.Errorf("region %q may have %d tokens, this text has about %d", name, r.MaxTokens, n)
		}
	}
	return nil
}

func (m *machine) replaceRegions(replace map[string]string) {
	if len(replace) == 0 {
		return
	}
	regions := maps.Clone(m.Regions)
	for name, text := range replace {
		switch name {
		case Conversation, TaskRegion:
		default:
			if r := m.Current().Region(name); r != nil {
				regions[name] = r.fit(text)
			}
		}
	}
	m.Regions = regions
	if text, ok := replace[TaskRegion]; ok {
		m.replaceTask(text)
	}
	if text, ok := replace[Conversation]; ok {
		m.replaceConversation(text)
	}
}

func (m *machine) replaceTask(text string) {
	m.Task = text
	if m.TaskAt < 0 || m.TaskAt >= m.History.Len() {
		return
	}
	blocks := []Block{{Kind: TextBlock, Text: text}}
	for _, b := range m.History.messages[m.TaskAt].Blocks {
		if b.Kind == ImageBlock || b.Kind == ReminderBlock {
			blocks = append(blocks, b)
		}
	}
	m.History = m.History.replaced(m.TaskAt, Message{Role: User, Blocks: blocks})
}

// replaceConversation leaves one message of the host with the text, after the
// task, which is a region of its own.
func (m *machine) replaceConversation(text string) {
	blocks := []Block{}
	if m.Task != "" {
		blocks = append(blocks, Block{Kind: TextBlock, Text: m.Task})
	}
	blocks = append(blocks, Block{Kind: ReminderBlock, Text: text})
	m.TaskAt = 0
	m.History = History{remade: m.History.remade + 1}.with(Message{Role: User, Blocks: blocks})
	m.forgetView()
}

// conversation is the text of the transcript, at most maxRegionText of it. A
// long one is read from both ends only, so that a hook's firing costs the same
// at turn 10,000 as at turn 1,000.
func (s *State) conversation() string {
	var text strings.Builder
	messages := s.History.messages
	first := 0
	for first < len(messages) && text.Len() <= maxRegionText {
		writeMessage(&text, &messages[first])
		first++
	}
	last, size := len(messages), 0
	for last > first && size <= maxRegionText {
		last--
		size += messages[last].size()
	}
	for i := last; i < len(messages); i++ {
		writeMessage(&text, &messages[i])
	}
	return shorten(text.String(), maxRegionText)
}

// size is how many bytes of text a message has.
func (m *Message) size() int {
	n := 0
	for _, b := range m.Blocks {
		n += len(b.Text) + len(b.Raw)
		if b.Call != nil {
			n += len(b.Call.Name) + len(b.Call.Arguments)
		}
		if b.Result != nil {
			n += len(b.Result.Text)
		}
	}
	return n
}

func writeMessage(w *strings.Builder, m *Message) {
	for _, b := range m.Blocks {
		switch b.Kind {
		case TextBlock:
			fmt.Fprintf(w, "%s: %s\n", m.Role, b.Text)
		case ReminderBlock:
			fmt.Fprintf(w, "host: %s\n", b.Text)
		case CallBlock:
			fmt.Fprintf(w, "call %s: %s\n", b.Call.Name, b.Call.Arguments)
		case ResultBlock:
			fmt.Fprintf(w, "result: %s\n", b.Result.Text)
		}
	}
}

// shorten keeps the head and the tail of a text and marks what it left out.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	half := (limit - 64) / 2
	head, tail := half, len(text)-half
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text[:head], tail-head, text[tail:])
}

// RegionTexts are the regions as a hook sees them.
func (s *State) RegionTexts() map[string]any {
	regions := map[string]any{
		Conversation: s.conversation(),
		TaskRegion:   shorten(s.Task, maxRegionText),
	}
	for _, r := range s.Current().Regions {
		regions[r.Name] = shorten(s.Regions[r.Name], maxRegionText)
	}
	return regions
}
