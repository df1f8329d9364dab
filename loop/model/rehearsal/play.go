package rehearsal

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"

	"agent-ls/loop"
)

// Play chooses turns of a script.
//
// Which turn answers a request follows from the request alone, so that a run
// that was killed goes on where it was, in another process:
//
//   - The turns are a pool in the order of the script, each there Repeat times.
//     A request takes the first one left that its When fits; turns that do not
//     fit stay for later requests.
//   - ModelRequest.Turn says how many answers there are already. The choices
//     for those are made again, each against the messages that were there
//     before that answer, and what they took is gone.
//   - A turn with an error, or one that is cut, is a failed attempt. It goes to
//     the attempt that meets it; the next attempt at the same request finds
//     the turn behind it. Answers that came later have passed it.
//   - Attempts at the present request are counted in memory, by everything
//     that identifies the request. After a restart the request's failures play
//     again, then the same answer follows. ModelRequest.Failed adds the failures
//     that are on record, if the host keeps such.
type Play struct {
	script   *Script
	contains bool // some turn looks at the messages

	mu       sync.Mutex // guards what follows
	tracks   map[identity]*keptTrack
	attempts map[[32]byte]int
}

// identity is what When can ask of a request beside its messages.
type identity struct {
	agent string
	depth int
}

// NewPlay starts at the beginning. A Play may be used by several goroutines.
func NewPlay(s *Script) *Play {
	p := &Play{script: s, tracks: map[identity]*keptTrack{}, attempts: map[[32]byte]int{}}
	for i := range s.Turns {
		p.contains = p.contains || s.Turns[i].When.Contains != ""
	}
	return p
}

// track is a pool from which one kind of request takes.
type track struct {
	used []int // of each turn's Repeat
	low  int   // turns below are used up
}

// keptTrack is a pool after a number of answers.
type keptTrack struct {
	*track
	answers int
}

func (p *Play) fresh() *track { return &track{used: make([]int, len(p.script.Turns))} }

func (t *track) clone() *track { return &track{used: append([]int(nil), t.used...), low: t.low} }

// first is the first turn left that fits, -1 if there is none.
func (p *Play) first(t *track, id identity, messages func() string) int {
	for i := t.low; i < len(t.used); i++ {
		turn := &p.script.Turns[i]
		if t.used[i] >= turn.Repeat {
			if i == t.low {
				t.low++
			}
			continue
		}
		w := &turn.When
		if w.Depth != nil && *w.Depth != id.depth || w.Agent != "" && w.Agent != id.agent {
			continue
		}
		if w.Contains != "" && !strings.Contains(messages(), w.Contains) {
			continue
		}
		return i
	}
	return -1
}

// answered takes what one past answer took: the failures before it and itself.
func (p *Play) answered(t *track, id identity, messages func() string) {
	for {
		i := p.first(t, id, messages)
		if i < 0 {
			return
		}
		t.used[i]++
		if !p.script.Turns[i].fails() {
			return
		}
	}
}

// maxAttempts bounds the memory of requests that never got an answer.
const maxAttempts = 10_000

// Chosen is the turn for one attempt.
type Chosen struct {
	*Turn
	Number int // from 1, as it stands in the script
	done   func(failed bool)
}

// Done tells the play that the attempt is over. A failed one is not met again
// by the next attempt at the same request.
func (c Chosen) Done(failed bool) { c.done(failed) }

// Next chooses the turn for a request. The error says that there is none.
func (p *Play) Next(req loop.ModelRequest) (Chosen, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := identity{req.Agent, req.Depth}
	t := p.reach(req, id)
	key := digest(req)
	text := once(func() string { return Messages(req.Messages) })
	passed := p.attempts[key] + req.Failed
	for {
		i := p.first(t, id, text)
		if i < 0 {
			return Chosen{}, fmt.Errorf("the script has no turn left for answer %d (agent %q, depth %d): it has %d turns", req.Turn+1, req.Agent, req.Depth, len(p.script.Turns))
		}
		turn := &p.script.Turns[i]
		if turn.fails() && passed > 0 {
			passed--
			t.used[i]++
			continue
		}
		return Chosen{Turn: turn, Number: i + 1, done: func(failed bool) { p.over(key, failed) }}, nil
	}
}

func (p *Play) over(key [32]byte, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !failed {
		delete(p.attempts, key)
		return
	}
	if len(p.attempts) < maxAttempts {
		p.attempts[key]++
	}
}

// reach is the pool after the answers that a request has behind it, for the
// caller to take from.
func (p *Play) reach(req loop.ModelRequest, id identity) *track {
	if p.contains {
		return p.replay(req, id)
	}
	// No turn looks at messages: the pool after so many answers is always the
	// same. The last one is kept, since the next request is one answer on.
	kept := p.tracks[id]
	if kept == nil || kept.answers > req.Turn {
		kept = &keptTrack{track: p.fresh()}
		p.tracks[id] = kept
	}
	for ; kept.answers < req.Turn; kept.answers++ {
		p.answered(kept.track, id, func() string { return "" })
	}
	return kept.clone()
}

// replay makes each past choice again, against the messages that were there.
// The last assistant messages are the answers; for older ones that are gone
// from the history, a turn that asks for messages counts as fitting.
func (p *Play) replay(req loop.ModelRequest, id identity) *track {
	var answers []int
	for i, m := range req.Messages {
		if m.Role == loop.Assistant {
			answers = append(answers, i)
		}
	}
	t := p.fresh()
	missing := req.Turn - len(answers)
	for k := range req.Turn {
		if k < missing {
			p.answered(t, identity{id.agent, id.depth}, p.everything)
			continue
		}
		at := answers[len(answers)-req.Turn+k]
		p.answered(t, id, once(func() string { return Messages(req.Messages[:at]) }))
	}
	return t
}

// everything is a text that contains whatever a turn asks for.
func (p *Play) everything() string {
	var b strings.Builder
	for i := range p.script.Turns {
		b.WriteString(p.script.Turns[i].When.Contains)
		b.WriteByte('\n')
	}
	return b.String()
}

func once(make func() string) func() string {
	var text string
	made := false
	return func() string {
		if !made {
			text, made = make(), true
		}
		return text
	}
}

// digest identifies a request, so that attempts at it are counted together.
func digest(req loop.ModelRequest) [32]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %d %d %d\n", req.Agent, req.Depth, req.Turn, req.Failed, len(req.Messages))
	var size [8]byte
	for i := max(0, len(req.Messages)-2); i < len(req.Messages); i++ {
		text := Messages(req.Messages[i : i+1])
		binary.LittleEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:])
		h.Write([]byte(text))
	}
	return [32]byte(h.Sum(nil))
}

// Messages is the text of messages as expect and contains see it: what is
// said and shown, the calls' names and arguments, the results and their notes.
func Messages(messages []loop.Message) string {
	var b strings.Builder
	line := func(s string) {
		if s != "" {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	for _, m := range messages {
		for _, block := range m.Blocks {
			line(block.Text)
			if c := block.Call; c != nil {
				line(c.Name + " " + string(c.Arguments))
			}
			if r := block.Result; r != nil {
				line(r.Text)
				for _, n := range r.Notes {
					line(n)
				}
			}
		}
	}
	return b.String()
}
