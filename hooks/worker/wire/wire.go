// Package wire owns what goes between the server and its script workers:
// frames, messages, plain values, and the page of memory that both see. The
// other end of a pipe is never trusted: every decoder has bounds and is
// fuzzed. Start at Load, Fire and Reply. It knows nothing of scripts.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxFrame is the largest frame that either side reads, in bytes: the largest
// context or answer that limits allow, and what goes around it.
const MaxFrame = 96 << 20

// FrameHead is the size of a frame's length, which a sender leaves free at
// the start of its buffer.
const FrameHead = 4

var errTruncated = errors.New("message ends too early")

// WriteFrame sends b, whose first FrameHead bytes are overwritten.
func WriteFrame(w io.Writer, b []byte) error {
	n := len(b) - FrameHead
	if n > MaxFrame {
		return fmt.Errorf("frame of %d bytes is larger than %d", n, MaxFrame)
	}
	binary.LittleEndian.PutUint32(b, uint32(n))
	_, err := w.Write(b)
	return err
}

// ReadFrame reads one frame into buf, which it grows where needed.
func ReadFrame(r io.Reader, buf []byte, limit int) ([]byte, error) {
	if cap(buf) < FrameHead {
		buf = make([]byte, 4096)
	}
	head := buf[:FrameHead]
	if _, err := io.ReadFull(r, head); err != nil {
		return buf, err
	}
	n := int(binary.LittleEndian.Uint32(head))
	if n > min(limit, MaxFrame) {
		return buf, fmt.Errorf("frame of %d bytes is larger than %d", n, min(limit, MaxFrame))
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := io.ReadFull(r, buf)
	return buf, err
}

// Reader takes a message apart. After the first error it yields zero values,
// so that callers look at Err once, at the end.
type Reader struct {
	b   []byte
	err error
}

// NewReader reads from b, which must not change meanwhile.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Err is the first error.
func (r *Reader) Err() error { return r.err }

// Fail records an error unless there is one.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

// Len is how many bytes are left.
func (r *Reader) Len() int { return len(r.b) }

// Rest is what is left, undecoded.
func (r *Reader) Rest() []byte { b := r.b; r.b = nil; return b }

// Done is an error when there was one or when bytes are left over.
func (r *Reader) Done() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%d bytes too many in a message", len(r.b))
	}
	return r.err
}

func (r *Reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.Fail(errTruncated)
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint64 reads eight bytes.
func (r *Reader) Uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uint reads a varying-length number that is at most limit.
func (r *Reader) Uint(limit int) int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.Fail(errTruncated)
		return 0
	}
	if n > uint64(limit) {
		r.Fail(fmt.Errorf("number %d in a message is larger than %d", n, limit))
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

// Int reads a signed varying-length number.
func (r *Reader) Int() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.Fail(errTruncated)
		return 0
	}
	r.b = r.b[size:]
	return n
}

// Text reads a string of at most limit bytes.
func (r *Reader) Text(limit int) string { return string(r.take(r.Uint(limit))) }

// Bytes reads bytes that stay part of the message.
func (r *Reader) Bytes(limit int) []byte { return r.take(r.Uint(limit)) }

// Count reads how many items follow; each takes at least one byte.
func (r *Reader) Count(limit int) int {
	n := r.Uint(limit)
	if n > len(r.b) {
		r.Fail(errTruncated)
		return 0
	}
	return n
}

// AppendText adds what Text reads.
func AppendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
