package run

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"agent-ls/loop"
)

// cachePrefix is what of a request a provider's cache depends on, as
// fingerprints, and what the provider read from its cache.
type cachePrefix struct {
	model    string
	system   uint64
	sections map[string]uint64
	tools    uint64
	messages []uint64
	thinking int
	read     int64
}

// drift is in what a request differs from the one before.
type drift struct {
	changed  []any // "system", "tools", "messages", "model", "thinking"
	sections []any
	at       any // the first message that differs; nil when none does
}

var cacheSeed = maphash.MakeSeed()

func fingerprint(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(cacheSeed)
	for _, p := range parts {
		fmt.Fprintf(&h, "%d:", len(p))
		h.WriteString(p)
	}
	return h.Sum64()
}

func prefixOf(s *loop.State, model string, req *loop.ModelRequest) *cachePrefix {
	p := &cachePrefix{model: model, system: fingerprint(req.System), sections: map[string]uint64{}, thinking: req.ThinkingBudget}
	for name, text := range s.SystemSections() {
		p.sections[name] = fingerprint(text)
	}
	var tools []string
	for _, t := range req.Tools {
		tools = append(tools, t.Name, t.Description, string(t.Schema))
	}
	p.tools = fingerprint(tools...)
	for _, m := range req.Messages {
		parts := []string{string(m.Role)}
		for _, b := range m.Blocks {
			parts = append(parts, string(b.Kind), b.Text, b.Signature, string(b.Data), string(b.Raw))
			if b.Call != nil {
				parts = append(parts, b.Call.ID, b.Call.Name, string(b.Call.Arguments))
			}
			if b.Result != nil {
				parts = append(parts, b.Result.CallID, b.Result.Text, strings.Join(b.Result.Notes, "\n"))
			}
		}
		p.messages = append(p.messages, fingerprint(parts...))
	}
	return p
}

// since says in what a request leaves the prefix that the one before had.
func (p *cachePrefix) since(before *cachePrefix) drift {
	d := drift{changed: []any{}, sections: []any{}}
	if p.model != before.model {
		d.changed = append(d.changed, "model")
	}
	if p.tools != before.tools {
		d.changed = append(d.changed, "tools")
	}
	if p.system != before.system {
		d.changed = append(d.changed, "system")
		for _, name := range loop.SystemSectionNames {
			if p.sections[name] != before.sections[name] {
				d.sections = append(d.sections, name)
			}
		}
		if len(d.sections) == 0 { // a hook changed it
			d.sections = append(d.sections, "host_dynamic")
		}
	}
	if p.thinking != before.thinking {
		d.changed = append(d.changed, "thinking")
	}
	for i := range before.messages {
		if i >= len(p.messages) || p.messages[i] != before.messages[i] {
			d.changed, d.at = append(d.changed, "messages"), int64(i)
			break
		}
	}
	return d
}

// maxBaselines bounds for how many sessions the last prefix is kept.
const maxBaselines = 256

// watchCache compares a request with the one before, where cache_telemetry
// asks for it, and tells hooks when it leaves the prefix of that one.
func (q *asking) watchCache(ctx context.Context, req *loop.ModelRequest) {
	r, s := q.run, &q.state
	if r.pin == nil || !r.pin.Config.Behavior.CacheTelemetry {
		return
	}
	before := r.prefix
	if before == nil && r.keepsBaseline(s) {
		r.svc.mu.Lock()
		before = r.svc.baselines[r.session]
		r.svc.mu.Unlock()
	}
	now := prefixOf(s, q.name, req)
	q.before, q.now, q.drift = before, now, drift{changed: []any{}, sections: []any{}}
	if before == nil {
		return
	}
	if q.drift = now.since(before); len(q.drift.changed) == 0 {
		return
	}
	d := q.drift
	r.hear(ctx, s, "cache:drift", "", func() map[string]any {
		return map[string]any{"model": q.name, "at_message": d.at, "changed": d.changed, "system_sections": d.sections}
	})
}

func (r *activeRun) keepsBaseline(s *loop.State) bool {
	return r.pin.Config.Behavior.SessionBaseline && s.Depth == 0
}

// leastRead is how many tokens a cache has to give for a loss to count.
const leastRead = 1024

// cacheRead takes what the provider read from its cache, and tells of a break:
// less than half of what it read the time before.
func (q *asking) cacheRead(ctx context.Context, u loop.Usage) {
	r, s := q.run, &q.state
	if q.now == nil {
		return
	}
	q.now.read = u.CacheRead
	r.prefix = q.now
	if r.keepsBaseline(s) {
		r.svc.keepBaseline(r.session, q.now)
	}
	if q.before == nil || q.before.read < leastRead || u.CacheRead >= q.before.read/2 {
		return
	}
	d := q.drift
	r.hear(ctx, s, "cache:break", "", func() map[string]any {
		return map[string]any{
			"model": q.name, "cache_read": u.CacheRead, "previous_cache_read": q.before.read,
			"changed": d.changed, "system_sections": d.sections,
		}
	})
	why := "nothing of the request explains it"
	if len(d.changed) > 0 {
		why = "changed: " + listed(d.changed)
		if len(d.sections) > 0 {
			why += " (" + listed(d.sections) + ")"
		}
	}
	r.note(loop.Note{Level: "info", Text: fmt.Sprintf("the prompt cache broke: %d tokens were read from it, %d the time before; %s", u.CacheRead, q.before.read, why)})
}

func listed(words []any) string {
	var text []string
	for _, w := range words {
		text = append(text, fmt.Sprint(w))
	}
	slices.Sort(text)
	return strings.Join(text, ", ")
}

// keepBaseline keeps a session's last prefix for its next run. Where there are
// too many, any other one goes: it costs that session one comparison.
func (s *Service) keepBaseline(session string, p *cachePrefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.baselines == nil {
		s.baselines = map[string]*cachePrefix{}
	}
	if _, there := s.baselines[session]; !there && len(s.baselines) >= maxBaselines {
		for other := range s.baselines {
			delete(s.baselines, other)
			break
		}
	}
	s.baselines[session] = p
}
