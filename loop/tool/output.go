package tool

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// defaultOutput is how many bytes of a command's or a search's output the
// model gets of one call. behavior.tool_output_budget is about a turn's.
const defaultOutput = 32 << 10

// window keeps the head and the tail of what is written to it, within a
// budget. It is safe for use from several goroutines.
type window struct {
	mu    sync.Mutex
	most  int
	head  []byte
	tail  []byte // a ring once it is full
	at    int
	total int64
}

func newWindow(most int) *window {
	if most <= 0 {
		most = defaultOutput
	}
	return &window{most: most}
}

func (w *window) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(b)
	w.total += int64(n)
	if room := w.most/2 - len(w.head); room > 0 {
		k := min(room, len(b))
		w.head = append(w.head, b[:k]...)
		b = b[k:]
	}
	size := w.most - w.most/2
	if len(b) > size {
		b = b[len(b)-size:]
	}
	for len(b) > 0 {
		if len(w.tail) < size {
			k := min(size-len(w.tail), len(b))
			w.tail = append(w.tail, b[:k]...)
			b = b[k:]
			continue
		}
		k := copy(w.tail[w.at:], b)
		w.at = (w.at + k) % size
		b = b[k:]
	}
	return n, nil
}

// last is the end of what was written, at most n bytes, whole runes.
func (w *window) last(n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := append(append([]byte{}, w.tail[w.at:]...), w.tail[:w.at]...)
	if len(b) < n {
		b = append(append([]byte{}, w.head...), b...)
	}
	if len(b) > n {
		b = b[len(b)-n:]
		for len(b) > 0 && !utf8.RuneStart(b[0]) {
			b = b[1:]
		}
	}
	return visible(string(b))
}

// text is head and tail with a line between that says what is missing.
func (w *window) text() (text string, truncated bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tail := string(w.tail[w.at:]) + string(w.tail[:w.at])
	missing := w.total - int64(len(w.head)) - int64(len(tail))
	if missing <= 0 {
		return visible(string(w.head) + tail), false
	}
	head := string(w.head)
	// Whole lines on both sides, where there are some.
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		missing += int64(len(head) - i - 1)
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		missing += int64(i + 1)
		tail = tail[i+1:]
	}
	return visible(fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", strings.TrimSuffix(head, "\n"), missing, tail)), true
}
