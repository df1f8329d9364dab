package wire

import (
	"sync/atomic"
	"unsafe"
)

const (
	// PageSize is how much memory server and worker share, in bytes.
	PageSize = 4096
	// MaxFrames is how deep the page can tell where a script is; no call
	// depth limit may be larger.
	MaxFrames = 256
)

// Page is where a running script says where it is, so that the server can
// still tell after the worker was killed. The worker writes it, the server
// reads it once the worker is dead, and believes none of it without a check.
type Page struct {
	seq    uint32
	script uint32
	Depth  uint32 // the innermost frame
	_      uint32
	Ops    int64
	Frames [MaxFrames + 1]uint32 // points; the first is the top level
}

// NewPage is a page that nobody shares.
func NewPage() *Page { return &Page{} }

// PageAt makes a page of shared memory of PageSize bytes.
func PageAt(mem []byte) *Page {
	_ = mem[PageSize-1]
	return (*Page)(unsafe.Pointer(&mem[0]))
}

// Begin says that a firing or a load starts.
func (p *Page) Begin(script, seq uint32) {
	p.Depth, p.Ops, p.Frames[0] = 0, 0, 0
	atomic.StoreUint32(&p.script, script)
	atomic.StoreUint32(&p.seq, seq)
}

// Last is what the page says of a firing: its points, outermost first, and
// its operations. ok is false when it never got there.
func (p *Page) Last(script, seq uint32) (frames []uint32, ops int64, ok bool) {
	if atomic.LoadUint32(&p.seq) != seq || atomic.LoadUint32(&p.script) != script {
		return nil, 0, false
	}
	n := min(int(p.Depth)+1, len(p.Frames))
	return append([]uint32(nil), p.Frames[:n]...), max(p.Ops, 0), true
}
