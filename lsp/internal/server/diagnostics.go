package server

import (
	"context"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"agent-ls/hooks/check"
	"agent-ls/lsp/internal/cache"
)

// How long a burst of changes is joined. A change that comes alone never
// waits: nobody types a burst.
const (
	burstQuiet = 5 * time.Millisecond
	burstMost  = 50 * time.Millisecond
	// starved is how long a document's diagnostics may be skipped because a
	// newer version is there already.
	starved = 300 * time.Millisecond
)

// diagnoser publishes diagnostics, or tells a client that pulls that there is
// something to pull. One goroutine does it, so that nothing older is ever
// published after something newer.
type diagnoser struct {
	server *Server
	wake   chan struct{}

	mu      sync.Mutex // guards what follows
	pending int        // changes since the last pass
	first   time.Time  // of the first of them
	last    time.Time  // of the last
	urgent  []string   // keys of the documents that changed
	others  bool       // other files than those may be concerned
	waiting []chan struct{}

	published map[string]publication // by key; the goroutine's own
	told      map[string]bool        // findings without a file, by message
}

// publication is what the client has of one document.
type publication struct {
	uri     string
	open    bool
	version int32
	basis   cache.Basis
	count   int
	at      time.Time
}

func newDiagnoser(s *Server) *diagnoser {
	return &diagnoser{server: s, wake: make(chan struct{}, 1), published: map[string]publication{}, told: map[string]bool{}}
}

// changed takes every change of the session, in order.
func (s *Server) changed(c cache.Change) {
	if s.diagnoser != nil {
		s.diagnoser.note(c)
	}
	if len(c.Roots) == 0 {
		return
	}
	if c.Cause == cache.FoldersChanged && s.extension.FoldersChanged != nil {
		s.extension.FoldersChanged()
	}
	if s.extension.ManifestChanged != nil {
		for _, root := range c.Roots {
			s.extension.ManifestChanged(root)
		}
	}
}

// note asks for a pass.
func (d *diagnoser) note(c cache.Change) {
	d.mu.Lock()
	now := time.Now()
	if d.pending == 0 {
		d.first = now
	}
	d.pending++
	d.last = now
	d.urgent = append(d.urgent, c.Keys...)
	d.others = d.others || len(c.Roots) > 0 || c.Cause == cache.RunFindingsChanged
	waiting := d.waiting
	d.waiting = nil
	d.mu.Unlock()
	for _, w := range waiting {
		close(w)
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// next returns a channel that is closed at the next change.
func (d *diagnoser) next() <-chan struct{} {
	w := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, w)
	return w
}

// run makes passes until ctx ends.
func (d *diagnoser) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		}
		if !d.settle(ctx) {
			return
		}
		d.mu.Lock()
		urgent, others := d.urgent, d.others
		d.pending, d.urgent, d.others = 0, nil, false
		d.mu.Unlock()
		d.pass(ctx, urgent, others)
	}
}

// settle waits for the end of a burst. It reports whether to go on.
func (d *diagnoser) settle(ctx context.Context) bool {
	for {
		d.mu.Lock()
		pending, first, last := d.pending, d.first, d.last
		d.mu.Unlock()
		if pending <= 1 {
			return true
		}
		wait := min(time.Until(last.Add(burstQuiet)), time.Until(first.Add(burstMost)))
		if wait <= 0 {
			return true
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// pass brings the client up to date.
func (d *diagnoser) pass(ctx context.Context, urgent []string, others bool) {
	snap := d.server.session.Snapshot()
	d.tell(ctx, snap)
	if d.server.caps.PullDiagnostics {
		if others && d.server.refreshes() {
			d.server.spawn(d.server.refresh)
		}
		return
	}
	conv := d.server.converter(snap)
	targets := snap.Targets()
	present := make(map[string]bool, len(targets))
	first := make(map[string]bool, len(urgent))
	for _, key := range urgent {
		first[key] = true
	}
	for _, early := range []bool{true, false} {
		for _, doc := range targets {
			present[doc.Key] = true
			if first[doc.Key] == early && ctx.Err() == nil {
				d.publish(ctx, conv, doc)
			}
		}
	}
	for key, p := range d.published {
		if !present[key] && ctx.Err() == nil {
			if p.count > 0 {
				d.send(ctx, p.uri, nil, []protocol.Diagnostic{})
			}
			delete(d.published, key)
		}
	}
}

// publish sends one document's diagnostics if the client does not have them.
func (d *diagnoser) publish(ctx context.Context, conv *converter, doc *cache.Document) {
	was, known := d.published[doc.Key]
	p := publication{uri: doc.URI, open: doc.Open, version: doc.Version, basis: conv.snap.Basis(doc), at: time.Now()}
	if known && was.uri == p.uri && was.open == p.open && was.version == p.version && was.basis == p.basis {
		return
	}
	if d.overtaken(doc) && known && time.Since(was.at) < starved {
		return // the newer version's pass is on its way
	}
	findings := conv.snap.Findings(doc)
	if d.overtaken(doc) && known && time.Since(was.at) < starved {
		return
	}
	p.count = len(findings)
	if known && was.uri != p.uri && was.count > 0 {
		d.send(ctx, was.uri, nil, []protocol.Diagnostic{})
	}
	d.published[doc.Key] = p
	if !doc.Open && p.count == 0 && was.count == 0 {
		return // nothing to say about a file that nobody looks at
	}
	var version *int32
	if doc.Open {
		version = &p.version
	}
	d.send(ctx, doc.URI, version, conv.diagnostics(doc, findings))
}

// overtaken reports whether the session has a newer version by now.
func (d *diagnoser) overtaken(doc *cache.Document) bool {
	if !doc.Open {
		return false
	}
	now := d.server.session.Snapshot().Open(doc.URI)
	return now != nil && now.Version != doc.Version
}

func (d *diagnoser) send(ctx context.Context, uri string, version *int32, diagnostics []protocol.Diagnostic) {
	params := &protocol.PublishDiagnosticsParams{URI: asURI(uri), Diagnostics: diagnostics}
	if version != nil {
		params.Version = protocol.NewOptional(*version)
	}
	if err := d.server.conn.Notify(ctx, protocol.MethodTextDocumentPublishDiagnostics, params); err != nil && ctx.Err() == nil {
		d.server.log.Warn("publishing diagnostics", "uri", uri, "error", err)
	}
}

// tell reports what no file can show, each once while it lasts.
func (d *diagnoser) tell(ctx context.Context, snap *cache.Snapshot) {
	now := map[string]bool{}
	for _, f := range snap.Elsewhere() {
		message := f.Path + ": " + visible(f.Message) + " [" + string(f.Code) + "]"
		now[message] = true
		if d.told[message] {
			continue
		}
		kind := protocol.MessageTypeWarning
		if f.Severity == check.Error {
			kind = protocol.MessageTypeError
		}
		_ = d.server.conn.Notify(ctx, protocol.MethodWindowLogMessage, &protocol.LogMessageParams{Type: kind, Message: message})
	}
	d.told = now
}
