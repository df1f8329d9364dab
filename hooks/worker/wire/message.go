package wire

import (
	"encoding/binary"
	"fmt"
)

// Subcommand is the hidden first argument that makes the binary a worker.
const Subcommand = "script-worker"

// The bounds of messages.
const (
	MaxFiles   = 64
	MaxPoints  = 1 << 20
	MaxNames   = 1 << 16
	MaxMessage = 64 << 10
	MaxPath    = 4 << 10
	MaxSource  = 64 << 20
)

// Op says what a message is.
type Op byte

const (
	OpHello Op = 'H' // worker → server, once: a report
	OpLoad  Op = 'L' // server → worker
	OpFire  Op = 'F' // server → worker
	OpReady Op = 'K' // the script is loaded
	OpBad   Op = 'E' // it does not compile
	OpAsk   Op = 'A' // worker → server, while a firing runs: a question
	OpTold  Op = 'T' // server → worker: what came of it
	OpReply Op = 'R' // how a firing ended
)

// File is one script text. Path is what errors name.
type File struct {
	Path string
	Name string // what a sibling is imported as; "" for the script itself
	Text []byte
}

// Load hands a script and its siblings over. The first file is the script.
type Load struct {
	ID    uint32
	Files []File
}

// Append adds the message.
func (l *Load) Append(b []byte) []byte {
	b = append(b, byte(OpLoad))
	b = binary.AppendUvarint(b, uint64(l.ID))
	b = binary.AppendUvarint(b, uint64(len(l.Files)))
	for _, f := range l.Files {
		b = AppendText(b, f.Path)
		b = AppendText(b, f.Name)
		b = AppendText(b, f.Text)
	}
	return b
}

// ReadLoad reads what follows OpLoad. Texts stay part of the message.
func ReadLoad(r *Reader) (Load, error) {
	l := Load{ID: uint32(r.Uint(1<<32 - 1))}
	n := r.Count(MaxFiles)
	for i := 0; i < n && r.Err() == nil; i++ {
		l.Files = append(l.Files, File{Path: r.Text(MaxPath), Name: r.Text(MaxPath), Text: r.Bytes(MaxSource)})
	}
	return l, r.Done()
}

// Point is a place that the running script can be at.
type Point struct {
	File int // index of Load.Files
	Line int // from 1
	Col  int // from 1, in runes
	Func int // index of Ready.Names
}

// Function is a top-level function of a script.
type Function struct {
	Name     string
	Min, Max int // arguments
	Line     int
	Col      int
}

// Ready says that a script is loaded and where it can be.
type Ready struct {
	Points    []Point // the first one means nowhere
	Names     []string
	Functions []Function
}

// Append adds the message.
func (m *Ready) Append(b []byte) []byte {
	b = append(b, byte(OpReady))
	b = binary.AppendUvarint(b, uint64(len(m.Names)))
	for _, n := range m.Names {
		b = AppendText(b, n)
	}
	b = binary.AppendUvarint(b, uint64(len(m.Points)))
	for _, p := range m.Points {
		for _, n := range []int{p.File, p.Line, p.Col, p.Func} {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(m.Functions)))
	for _, f := range m.Functions {
		b = AppendText(b, f.Name)
		for _, n := range []int{f.Min, f.Max, f.Line, f.Col} {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}

const maxColumn = 1 << 30

// ReadReady reads what follows OpReady.
func ReadReady(r *Reader) (Ready, error) {
	var m Ready
	n := r.Count(MaxNames)
	for i := 0; i < n && r.Err() == nil; i++ {
		m.Names = append(m.Names, r.Text(MaxMessage))
	}
	n = r.Count(MaxPoints)
	if r.Err() == nil {
		m.Points = make([]Point, 0, n)
	}
	for i := 0; i < n && r.Err() == nil; i++ {
		p := Point{File: r.Uint(MaxFiles), Line: r.Uint(maxColumn), Col: r.Uint(maxColumn), Func: r.Uint(MaxNames)}
		if p.Func >= len(m.Names) {
			r.Fail(fmt.Errorf("point %d is in function %d of %d", i, p.Func, len(m.Names)))
		}
		m.Points = append(m.Points, p)
	}
	n = r.Count(MaxNames)
	for i := 0; i < n && r.Err() == nil; i++ {
		m.Functions = append(m.Functions, Function{r.Text(MaxMessage), r.Uint(1 << 10), r.Uint(1 << 10), r.Uint(maxColumn), r.Uint(maxColumn)})
	}
	return m, r.Done()
}

// Bad says why a script does not load.
type Bad struct {
	Message   string
	File      int // index of Load.Files
	Line, Col int // from 1; 0 where it is not known
}

// Append adds the message.
func (m *Bad) Append(b []byte) []byte {
	b = AppendText(append(b, byte(OpBad)), Clip(m.Message))
	for _, n := range []int{m.File, m.Line, m.Col} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// ReadBad reads what follows OpBad.
func ReadBad(r *Reader) (Bad, error) {
	m := Bad{Message: r.Text(MaxMessage), File: r.Uint(MaxFiles), Line: r.Uint(maxColumn), Col: r.Uint(maxColumn)}
	return m, r.Done()
}

// Fire asks a function of a loaded script.
type Fire struct {
	ID         uint32
	Seq        uint32 // tells this firing's page from an older one's
	Function   string
	Operations int64
	CallDepth  int
	Printed    int64
	Value      int64
	At         int64  // the script's clock, in nanoseconds since 1970
	Ctx        []byte // a value, encoded
}

// AppendHead adds the message but for the ctx, which is to follow.
func (f *Fire) AppendHead(b []byte) []byte {
	b = append(b, byte(OpFire))
	b = binary.AppendUvarint(b, uint64(f.ID))
	b = binary.AppendUvarint(b, uint64(f.Seq))
	b = AppendText(b, f.Function)
	for _, n := range []int64{f.Operations, int64(f.CallDepth), f.Printed, f.Value} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return binary.AppendVarint(b, f.At)
}

const maxLimit = 1 << 50

// ReadFire reads what follows OpFire.
func ReadFire(r *Reader) (Fire, error) {
	f := Fire{ID: uint32(r.Uint(1<<32 - 1)), Seq: uint32(r.Uint(1<<32 - 1)), Function: r.Text(MaxMessage),
		Operations: int64(r.Uint(maxLimit)), CallDepth: r.Uint(MaxFrames), Printed: int64(r.Uint(MaxFrame)), Value: int64(r.Uint(MaxFrame)), At: r.Int()}
	f.Ctx = r.Rest()
	return f, r.Err()
}

// Ending says how a firing ended.
type Ending byte

const (
	Returned Ending = iota + 1 // with a value
	Threw                      // the script threw
	Limited                    // a limit stopped it
	NotData                    // what it returned is not plain data within bounds
)

// Reply is how a firing ended.
type Reply struct {
	Ending  Ending
	Ops     int64
	Return  uint32   // the point of the return that ended the function
	Frames  []uint32 // points, outermost first, where it failed
	Message string   // why it failed
	Printed string
	Cut     bool   // more was printed than is kept
	Grown   bool   // the worker's memory grew so that it should be replaced
	Value   []byte // encoded
}

// AppendHead adds the message but for the value, which is to follow.
func (m *Reply) AppendHead(b []byte) []byte {
	flags := byte(0)
	if m.Cut {
		flags |= 1
	}
	if m.Grown {
		flags |= 2
	}
	b = append(b, byte(OpReply), byte(m.Ending), flags)
	b = binary.AppendUvarint(b, uint64(m.Ops))
	b = binary.AppendUvarint(b, uint64(m.Return))
	b = binary.AppendUvarint(b, uint64(len(m.Frames)))
	for _, f := range m.Frames {
		b = binary.AppendUvarint(b, uint64(f))
	}
	b = AppendText(b, Clip(m.Message))
	return AppendText(b, m.Printed)
}

// ReadReply reads what follows OpReply. The value stays part of the message.
func ReadReply(r *Reader) (Reply, error) {
	m := Reply{Ending: Ending(r.Byte())}
	if r.Err() == nil && (m.Ending < Returned || m.Ending > NotData) {
		r.Fail(fmt.Errorf("no firing ends with %d", m.Ending))
	}
	flags := r.Byte()
	m.Cut, m.Grown = flags&1 != 0, flags&2 != 0
	m.Ops = int64(r.Uint(maxLimit))
	m.Return = uint32(r.Uint(MaxPoints))
	n := r.Count(MaxFrames)
	for i := 0; i < n && r.Err() == nil; i++ {
		m.Frames = append(m.Frames, uint32(r.Uint(MaxPoints)))
	}
	m.Message = r.Text(MaxMessage)
	m.Printed = r.Text(MaxFrame)
	m.Value = r.Rest()
	return m, r.Err()
}

// Clip keeps a text within MaxMessage.
func Clip(s string) string {
	const mark = " …"
	if len(s) <= MaxMessage {
		return s
	}
	n := MaxMessage - len(mark)
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + mark
}
