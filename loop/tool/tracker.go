package tool

import "sync"

// Tracker remembers which bytes of which files a session has seen. Editing
// needs it: what was not read, or is no longer what was read, is not edited.
// It is safe for use from several goroutines.
type Tracker struct {
	mu    sync.Mutex
	seen  map[string]string // path → digest of the whole file
	shown map[string]string // path and range → digest when it was shown
}

// NewTracker makes an empty one.
func NewTracker() *Tracker {
	return &Tracker{seen: map[string]string{}, shown: map[string]string{}}
}

// Saw records that the session has seen the file with these bytes.
func (t *Tracker) Saw(path string, content []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[path] = digestOf(content)
}

// Seen is the digest of what the session last saw of a file, "" if nothing.
func (t *Tracker) Seen(path string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen[path]
}

// shownBefore tells whether a range of a file was shown before and is the same
// still, and records that it is shown now.
func (t *Tracker) shownBefore(key, digest string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := t.shown[key] == digest
	t.shown[key] = digest
	return same
}

// touched forgets what was shown of a file, so that the next read has it whole.
func (t *Tracker) touched(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.shown {
		if len(k) > len(path) && k[:len(path)] == path && k[len(path)] == 0 {
			delete(t.shown, k)
		}
	}
}

// Forget drops what was shown, when the context no longer holds it: after a
// compaction the next read has to give the body again.
func (t *Tracker) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.shown)
}
