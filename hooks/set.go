package hooks

import (
	"crypto/sha256"
	"encoding/hex"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/worker/pool"
	"agent-ls/hooks/worker/wire"
)

// Set is what one run has pinned: its hooks with the texts that they had when
// it was loaded. It is safe for use by several goroutines.
type Set struct {
	engine *Engine
	pool   *pool.Pool
	limits Limits
	hooks  []*hook
	// byPlace has the hooks of each stage and event in declared order, those
	// for every stage among them; byEvent those for every stage alone.
	byPlace  map[place][]*hook
	byEvent  map[string][]*hook
	bus      *Bus
	commands Commands
	off      func(id string) bool
}

// Without gives the set without the scripts and handlers that off names, by
// their ids, each time that an event fires.
func (s *Set) Without(off func(id string) bool) *Set {
	without := *s
	without.off = off
	return &without
}

// With gives the set with a program's handlers, which are asked before its
// scripts, and command hooks, which are asked behind them. Either may be nil.
func (s *Set) With(bus *Bus, commands Commands) *Set {
	with := *s
	with.bus, with.commands = bus, commands
	return &with
}

type place struct{ stage, event string }

// hook is one declaration that is ready to fire.
type hook struct {
	Declaration
	event   *contract.Event
	script  *pool.Script
	sources []*source // as the script's files
	start   *Location // of the function
}

// Pinned is a text that a Set holds on to.
type Pinned struct {
	Path   string
	Digest string // SHA-256, hex
	Text   []byte
}

// newSet arranges hooks that are in declared order.
func newSet(e *Engine, p *pool.Pool, l Limits, hooks []*hook) *Set {
	s := &Set{engine: e, pool: p, limits: l, hooks: hooks, byPlace: map[place][]*hook{}, byEvent: map[string][]*hook{}}
	for _, h := range hooks {
		if h.Stage == "" {
			s.byEvent[h.Event] = append(s.byEvent[h.Event], h)
			continue
		}
		at := place{h.Stage, h.Event}
		if s.byPlace[at] != nil {
			continue
		}
		for _, other := range hooks {
			if other.Event == h.Event && (other.Stage == h.Stage || other.Stage == "") {
				s.byPlace[at] = append(s.byPlace[at], other)
			}
		}
	}
	return s
}

// of gives the hooks of a moment.
func (s *Set) of(stage, event string) []*hook {
	if s == nil {
		return nil
	}
	if list, ok := s.byPlace[place{stage, event}]; ok {
		return list
	}
	return s.byEvent[event]
}

// Has says whether an event has hooks in a stage. It allocates nothing.
func (s *Set) Has(stage, event string) bool {
	return len(s.of(stage, event)) > 0 || s != nil && (len(s.bus.of(event)) > 0 || s.commands != nil && s.commands.Has(event))
}

// Declarations gives what the set was loaded from, every text filled in:
// loading them again, on resume, gives the same set, whatever is on the disk
// by then.
func (s *Set) Declarations() []Declaration {
	if s == nil {
		return nil
	}
	out := make([]Declaration, len(s.hooks))
	for i, h := range s.hooks {
		out[i] = h.Declaration
	}
	return out
}

// Texts gives the pinned texts by path, siblings included, so that an editor
// can tell what a position of a decision means in a file that has changed.
func (s *Set) Texts() map[string]Pinned {
	out := map[string]Pinned{}
	if s == nil {
		return out
	}
	for _, h := range s.hooks {
		for _, src := range h.sources {
			out[src.path] = Pinned{Path: src.path, Digest: src.digest, Text: []byte(src.text)}
		}
	}
	return out
}

// Text gives the pinned text of a file.
func (s *Set) Text(path string) (Pinned, bool) {
	if s == nil {
		return Pinned{}, false
	}
	for _, h := range s.hooks {
		for _, src := range h.sources {
			if src.path == path {
				return Pinned{Path: path, Digest: src.digest, Text: []byte(src.text)}, true
			}
		}
	}
	return Pinned{}, false
}

// Digest is how texts are named in decisions: SHA-256, hex.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func digestFiles(files []wire.File) string {
	h := sha256.New()
	var b []byte
	for _, f := range files {
		b = wire.AppendText(wire.AppendText(wire.AppendText(b[:0], f.Path), f.Name), f.Text)
		h.Write(b)
	}
	return string(h.Sum(nil))
}
