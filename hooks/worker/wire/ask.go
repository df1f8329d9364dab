package wire

import "fmt"

// The bounds of what a script asks the host in the middle of a firing.
const (
	MaxAsks     = 32        // of one firing
	MaxQuestion = 64 << 10  // bytes
	MaxSchema   = 256 << 10 // bytes, encoded
)

// Ask is a question of the script that runs. The firing goes on when the
// server has told what came of it.
type Ask struct {
	Question string
	Schema   []byte // a value, encoded
}

// Append adds the message.
func (m *Ask) Append(b []byte) []byte {
	b = AppendText(append(b, byte(OpAsk)), m.Question)
	return append(b, m.Schema...)
}

// ReadAsk reads what follows OpAsk. The schema stays part of the message.
func ReadAsk(r *Reader) (Ask, error) {
	m := Ask{Question: r.Text(MaxQuestion)}
	if r.Len() > MaxSchema {
		r.Fail(fmt.Errorf("a schema of %d bytes is larger than %d", r.Len(), MaxSchema))
	}
	m.Schema = r.Rest()
	return m, r.Err()
}

// AppendTold adds the message that answers an Ask: a value of at most limit
// bytes.
func AppendTold(b []byte, v any, limit int64) ([]byte, error) {
	return AppendValue(append(b, byte(OpTold)), v, limit)
}

// ReadTold reads what follows OpTold: a value, encoded, which stays part of
// the message.
func ReadTold(r *Reader) ([]byte, error) {
	if r.Err() == nil && r.Len() == 0 {
		r.Fail(errTruncated)
	}
	return r.Rest(), r.Err()
}

// Unanswered is what a script is told that gets no answer.
func Unanswered(reason string) map[string]any {
	return map[string]any{"ok": false, "reason": reason, "answers": nil,
		"usage": map[string]any{"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}}
}
