package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

const (
	// maxMessage is the largest body that is read into memory, unless Options
	// say otherwise.
	maxMessage = 64 << 20
	// maxDepth is how deep a message may be nested; decoders recurse.
	maxDepth = 512
	// maxHeaderLine bounds a line of a header, so that noise without a line
	// end takes no memory.
	maxHeaderLine = 8 << 10
)

// stream frames messages as the protocol does. Unlike the library's it
// survives what it cannot read: a broken header, a wrong length, a body that
// is no message or is too large are answered and logged, and reading goes on
// at the next header. Only the end of input and a broken pipe end it.
type stream struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader
	// again holds bytes that were read as part of a body but belong to the
	// frames after it.
	again []byte
	body  []byte
	most  int64 // the largest body
	trace *tracer

	closeOnce sync.Once
	closeErr  error
	gone      chan struct{} // closed at the end of input or the first failed write
	goneOnce  sync.Once

	writeMu sync.Mutex // guards out, then and the order of writes
	out     []byte
	then    func() // called after the next write, once
}

func newStream(conn io.ReadWriteCloser, trace *tracer) *stream {
	return &stream{
		conn:  conn,
		in:    bufio.NewReaderSize(conn, 64<<10),
		most:  maxMessage,
		trace: trace,
		gone:  make(chan struct{}),
	}
}

// errSkip says that what was read is no message and that reading goes on.
var errSkip = errors.New("skipped")

// lose notes that the client is gone. The connection itself would wait for
// every handler before it says so.
func (s *stream) lose() { s.goneOnce.Do(func() { close(s.gone) }) }

// ReadFrame returns the next well-formed message. The bytes are valid until
// the next call.
func (s *stream) ReadFrame(ctx context.Context) ([]byte, int64, error) {
	body, err := s.nextMessage(ctx)
	if err != nil {
		s.lose()
		return nil, 0, err
	}
	s.trace.message(received, body)
	return body, int64(len(body)), nil
}

func (s *stream) nextMessage(ctx context.Context) ([]byte, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		length, err := s.header()
		if err != nil {
			return nil, err
		}
		body, err := s.readBody(length)
		if errors.Is(err, errSkip) {
			continue
		}
		if err != nil {
			return nil, err
		}
		fault := checkMessage(body)
		if fault != nil && fault.code == jsonrpc2.ParseError {
			body, fault = s.salvage(body, fault)
		}
		if fault != nil {
			s.refuse(body, fault)
			continue
		}
		return body, nil
	}
}

// header reads up to the next usable header and returns its length. Lines that
// belong to no header are skipped; a header that begins in the middle of such
// a line counts.
func (s *stream) header() (int64, error) {
	length, skipped := int64(-1), 0
	for {
		line, err := s.line()
		if err != nil {
			if errors.Is(err, io.EOF) && (len(line) > 0 || length >= 0) {
				return 0, io.ErrUnexpectedEOF
			}
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if length >= 0 {
				if skipped > 0 {
					s.trace.log.Warn("skipped bytes that are no header", "bytes", skipped)
				}
				return length, nil
			}
			continue
		}
		switch n, at, ok := contentLength(line); {
		case ok:
			length, skipped = n, skipped+at
		case length >= 0 && bytes.IndexByte(line, ':') > 0:
			// Another field of the same header, such as Content-Type.
		default:
			length, skipped = -1, skipped+len(line)
		}
	}
}

var lengthField = []byte("content-length:")

// lower makes ASCII letters small and keeps every offset, which bytes.ToLower
// does not.
func lower(b []byte) []byte {
	out := bytes.Clone(b)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return out
}

// contentLength finds the field in a line and returns its value and where it
// begins.
func contentLength(line []byte) (n int64, at int, ok bool) {
	at = bytes.LastIndex(lower(line), lengthField)
	if at < 0 {
		return 0, 0, false
	}
	value := bytes.TrimSpace(line[at+len(lengthField):])
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, at, err == nil && n > 0
}

// line reads one line; of an overlong one the last part.
func (s *stream) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.slice()
		line = append(line, part...)
		if len(line) > maxHeaderLine {
			line = append(line[:0], line[len(line)-maxHeaderLine/2:]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return line, err
	}
}

// slice reads to the next line feed, from what was pushed back first.
func (s *stream) slice() ([]byte, error) {
	if len(s.again) == 0 {
		return s.in.ReadSlice('\n')
	}
	if i := bytes.IndexByte(s.again, '\n'); i >= 0 {
		part := s.again[:i+1]
		s.again = s.again[i+1:]
		return part, nil
	}
	part := s.again
	s.again = nil
	return part, bufio.ErrBufferFull
}

func (s *stream) reader() io.Reader {
	if len(s.again) == 0 {
		return s.in
	}
	return io.MultiReader(&pushedBack{s}, s.in)
}

// pushedBack reads what was pushed back, and consumes it.
type pushedBack struct{ s *stream }

func (p *pushedBack) Read(b []byte) (int, error) {
	if len(p.s.again) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.s.again)
	p.s.again = p.s.again[n:]
	return n, nil
}

// readBody reads a body, or skips one that is too large and answers it.
func (s *stream) readBody(length int64) ([]byte, error) {
	if length > s.most {
		head := make([]byte, min(length, 4<<10))
		if _, err := io.ReadFull(s.reader(), head); err != nil {
			return nil, midFrame(err)
		}
		if _, err := io.CopyN(io.Discard, s.reader(), length-int64(len(head))); err != nil {
			return nil, midFrame(err)
		}
		s.refuse(head, &fault{jsonrpc2.InvalidRequest,
			fmt.Sprintf("a message of %d bytes is larger than the limit of %d", length, s.most)})
		return nil, errSkip
	}
	// Grown as the bytes arrive: a length that lies takes no memory.
	var buf bytes.Buffer
	if int64(cap(s.body)) >= length || length <= 1<<20 {
		if int64(cap(s.body)) < length {
			s.body = make([]byte, length)
		}
		s.body = s.body[:length]
		if _, err := io.ReadFull(s.reader(), s.body); err != nil {
			return nil, midFrame(err)
		}
		return s.body, nil
	}
	if _, err := io.CopyN(&buf, s.reader(), length); err != nil {
		return nil, midFrame(err)
	}
	return buf.Bytes(), nil // not kept: one large message must not pin its size
}

func midFrame(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// fault is why a body is no message.
type fault struct {
	code jsonrpc2.Code
	text string
}

// checkMessage reports what is wrong with a body.
func checkMessage(body []byte) *fault {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) > 0 && trimmed[0] == '[' {
		return &fault{jsonrpc2.InvalidRequest, "the protocol has no batches"}
	}
	if depth(body) > maxDepth {
		return &fault{jsonrpc2.InvalidRequest, fmt.Sprintf("the message is nested deeper than %d levels", maxDepth)}
	}
	if !json.Valid(body) {
		return &fault{jsonrpc2.ParseError, "the message is not valid JSON"}
	}
	msg, err := jsonrpc2.DecodeMessage(body)
	if err != nil {
		return &fault{jsonrpc2.InvalidRequest, "the message is no JSON-RPC 2.0 request, notification or response"}
	}
	if _, ok := msg.(*jsonrpc2.Notification); ok && bytes.Contains(body, []byte("null")) && hasID(body) {
		// The library takes a request with the id null for a notification, and
		// its sender would wait for ever.
		return &fault{jsonrpc2.InvalidRequest, "the id of a request is a string or an integer"}
	}
	return nil
}

func hasID(body []byte) bool {
	var envelope struct {
		ID json.RawMessage `json:"id"`
	}
	return json.Unmarshal(body, &envelope) == nil && envelope.ID != nil
}

// depth is how deep brackets nest, outside of strings.
func depth(body []byte) int {
	now, most := 0, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			now++
			most = max(most, now)
		case '}', ']':
			now--
		case '"':
			for i++; i < len(body) && body[i] != '"'; i++ {
				if body[i] == '\\' {
					i++
				}
			}
		}
	}
	return most
}

// salvage deals with a length that was too large, so that the body runs into
// the next frames: what belongs to those is pushed back, and what is left may
// well be a message.
func (s *stream) salvage(body []byte, found *fault) ([]byte, *fault) {
	small := lower(body)
	for from := 0; ; {
		i := bytes.Index(small[from:], lengthField)
		if i < 0 {
			return body, found
		}
		i += from
		if rest := small[i:]; bytes.Contains(rest, []byte("\n\r\n")) || bytes.Contains(rest, []byte("\n\n")) || len(rest) < 64 {
			s.again = append(bytes.Clone(body[i:]), s.again...)
			body = bytes.Clone(body[:i])
			return body, checkMessage(body)
		}
		from = i + len(lengthField)
	}
}

// refuse answers a body that is no message. Responses get no answer. The
// answer is written beside the reading, which must not wait for the client.
func (s *stream) refuse(body []byte, f *fault) {
	s.trace.log.Warn("refused a message", "why", f.text, "bytes", len(body))
	var envelope struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &envelope) == nil && envelope.Method == nil && (envelope.Result != nil || envelope.Error != nil) {
		return
	}
	id := envelope.ID
	if id == nil {
		id = findID(body)
	}
	answer := jsonrpc2.AppendResponse(nil, messageID(id), nil, jsonrpc2.NewError(f.code, f.text))
	go func() { _, _ = s.WriteFrame(context.Background(), answer) }()
}

// messageID reads an id; anything else than a string or an integer is none.
func messageID(raw json.RawMessage) jsonrpc2.ID {
	var n int64
	if json.Unmarshal(raw, &n) == nil && !bytes.Equal(raw, []byte("null")) {
		return jsonrpc2.NewNumberID(n)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
		return jsonrpc2.NewStringID(text)
	}
	return jsonrpc2.ID{}
}

// findID looks for the id in the beginning of a message that cannot be
// decoded, so that the client learns which request failed.
func findID(body []byte) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(body[:min(len(body), 4<<10)]))
	level, key := 0, ""
	for {
		token, err := dec.Token()
		if err != nil {
			return nil
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				level++
			} else {
				level--
			}
			key = ""
		case string:
			if level == 1 && key == "" {
				key = t
				continue
			}
			if level == 1 && key == "id" {
				id, err := json.Marshal(t)
				if err != nil {
					return nil
				}
				return id
			}
			key = ""
		case float64:
			if level == 1 && key == "id" {
				return json.RawMessage(strconv.FormatInt(int64(t), 10))
			}
			key = ""
		default:
			key = ""
		}
	}
}

// Read implements jsonrpc2.Stream.
func (s *stream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	body, n, err := s.ReadFrame(ctx)
	if err != nil {
		return nil, 0, err
	}
	msg, err := jsonrpc2.DecodeMessage(bytes.Clone(body))
	return msg, n, err
}

// Write implements jsonrpc2.Stream.
func (s *stream) Write(_ context.Context, msg jsonrpc2.Message) (int64, error) {
	return s.write(func(out []byte) []byte { return jsonrpc2.AppendMessage(out, msg) })
}

// WriteFrame frames a body that is already encoded.
func (s *stream) WriteFrame(_ context.Context, body []byte) (int64, error) {
	return s.write(func(out []byte) []byte { return append(out, body...) })
}

// write composes header and body and writes them at once. It does not look at
// a context: half a frame would break everything after it.
func (s *stream) write(add func([]byte) []byte) (int64, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	const reserve = len("Content-Length: 12345678901234567890\r\n\r\n")
	if cap(s.out) < reserve {
		s.out = make([]byte, reserve, 4<<10)
	}
	out := add(s.out[:reserve])
	body := out[reserve:]
	s.trace.message(sent, body)
	head := strconv.AppendInt(append(make([]byte, 0, reserve), "Content-Length: "...), int64(len(body)), 10)
	head = append(head, "\r\n\r\n"...)
	from := reserve - len(head)
	copy(out[from:], head)
	if cap(out) <= 1<<20 {
		s.out = out[:0]
	} else {
		s.out = nil
	}
	n, err := s.conn.Write(out[from:])
	if err != nil {
		s.lose()
	}
	if then := s.then; then != nil {
		s.then = nil
		then()
	}
	return int64(n), err
}

// afterWrite calls f after the next write: a connection that is closing writes
// nothing any more, not even the answer that says why.
func (s *stream) afterWrite(f func()) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	s.then = f
}

// Close closes what carries the messages. It is safe to call twice.
func (s *stream) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.conn.Close() })
	return s.closeErr
}
