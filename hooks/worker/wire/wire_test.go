package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func nested(n int) any {
	var v any = "x"
	for range n {
		v = []any{v}
	}
	return v
}

func TestValueRoundTrip(t *testing.T) {
	for _, tc := range []struct{ in, want any }{
		{nil, nil}, {true, true}, {false, false}, {1, int64(1)}, {int64(-1 << 62), int64(-1 << 62)}, {int32(5), int64(5)}, {uint32(7), int64(7)},
		{1.5, 1.5}, {float32(0.5), 0.5}, {"é\x00\xff", "é\x00\xff"}, {[]any{}, []any{}}, {map[string]any{}, map[string]any{}},
		{[]string{"a"}, []any{"a"}}, {map[string]string{"a": "b"}, map[string]any{"a": "b"}}, {[]map[string]any{{"a": nil}}, []any{map[string]any{"a": nil}}},
		{json.Number("9007199254740993"), int64(9007199254740993)}, {json.Number("0.5"), 0.5}, {nested(MaxDepth), nested(MaxDepth)},
	} {
		b, err := AppendValue(nil, tc.in, 1<<20)
		if err != nil {
			t.Errorf("%v: %v", tc.in, err)
			continue
		}
		r := NewReader(b)
		got, err := ReadValue(r)
		if err == nil {
			err = r.Done()
		}
		if err != nil || !reflect.DeepEqual(tc.want, got) {
			t.Errorf("%v: %v, got %v", tc.in, err, got)
		}
	}
}

func TestValueBounds(t *testing.T) {
	many := make([]any, MaxNodes)
	for i := range many {
		many[i] = []any{}
	}
	for _, tc := range []struct {
		name string
		in   any
		want error
	}{
		{"deep", nested(MaxDepth + 1), ErrDeep},
		{"many", many, ErrNodes},
		{"large", strings.Repeat("x", 200), ErrSize(100)},
		{"large list", []any{strings.Repeat("x", 60), strings.Repeat("x", 60)}, ErrSize(100)},
	} {
		limit := int64(100)
		if tc.want == ErrNodes {
			limit = 1 << 30
		}
		if _, err := AppendValue(nil, tc.in, limit); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	if _, err := AppendValue(nil, struct{}{}, 100); err == nil {
		t.Error("a struct is encoded")
	}
	if _, err := AppendValue(nil, json.Number("1e999"), 100); err == nil {
		t.Error("a number out of range is encoded")
	}
}

func TestMessages(t *testing.T) {
	load := Load{ID: 7, Files: []File{{Path: "/a", Text: []byte("x := 1")}, {Path: "/b", Name: "b", Text: []byte{}}}}
	r := NewReader(load.Append(nil))
	if op := Op(r.Byte()); op != OpLoad {
		t.Errorf("op %c", op)
	}
	got, err := ReadLoad(r)
	if d := cmp.Diff(load, got); err != nil || d != "" {
		t.Errorf("load: %v\n%s", err, d)
	}
	ready := Ready{Points: []Point{{}, {1, 2, 3, 0}}, Names: []string{"f"}, Functions: []Function{{"f", 1, 2, 3, 4}}}
	r = NewReader(ready.Append(nil))
	r.Byte()
	if got, err := ReadReady(r); err != nil || cmp.Diff(ready, got) != "" {
		t.Errorf("ready: %v\n%s", err, cmp.Diff(ready, got))
	}
	fire := Fire{ID: 7, Seq: 1 << 31, Function: "f", Operations: 5, CallDepth: 64, Printed: 1, Value: 2, At: -3, Ctx: []byte{0}}
	r = NewReader(append(fire.AppendHead(nil), fire.Ctx...))
	r.Byte()
	if got, err := ReadFire(r); err != nil || cmp.Diff(fire, got) != "" {
		t.Errorf("fire: %v\n%s", err, cmp.Diff(fire, got))
	}
	reply := Reply{Ending: Threw, Ops: 9, Return: 3, Frames: []uint32{1, 2}, Message: "no", Printed: "p", Cut: true, Grown: true, Value: []byte{}}
	r = NewReader(reply.AppendHead(nil))
	r.Byte()
	if got, err := ReadReply(r); err != nil || cmp.Diff(reply, got) != "" {
		t.Errorf("reply: %v\n%s", err, cmp.Diff(reply, got))
	}
	ask := Ask{Question: "is é safe?", Schema: []byte{byte(Nil)}}
	r = NewReader(ask.Append(nil))
	r.Byte()
	if got, err := ReadAsk(r); err != nil || cmp.Diff(ask, got) != "" {
		t.Errorf("ask: %v\n%s", err, cmp.Diff(ask, got))
	}
	told, err := AppendTold(nil, map[string]any{"ok": true, "answers": []any{int64(1)}}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	r = NewReader(told)
	r.Byte()
	b, err := ReadTold(r)
	if err != nil {
		t.Errorf("told: %v", err)
	}
	if got, err := ReadValue(NewReader(b)); err != nil || cmp.Diff(map[string]any{"ok": true, "answers": []any{int64(1)}}, got) != "" {
		t.Errorf("told: %v, %v", err, got)
	}
	bad := Bad{Message: strings.Repeat("é", MaxMessage), File: 1, Line: 2, Col: 3}
	r = NewReader(bad.Append(nil))
	r.Byte()
	if got, err := ReadBad(r); err != nil || got.Line != 2 || !strings.HasSuffix(got.Message, "é …") {
		t.Errorf("bad: %v %d", err, len(got.Message))
	}
	report := Report{Seccomp: "none", LastWords: "x"}
	r = NewReader(report.Append(nil))
	r.Byte()
	if got, err := ReadReport(r); err != nil || got != report {
		t.Errorf("report: %v %+v", err, got)
	}
}

// A question has bounds, whoever sends it, and an answer is never nothing.
func TestAskBounds(t *testing.T) {
	for name, m := range map[string]Ask{
		"question": {Question: strings.Repeat("x", MaxQuestion+1)},
		"schema":   {Question: "q", Schema: make([]byte, MaxSchema+1)},
	} {
		if _, err := ReadAsk(NewReader(m.Append(nil)[1:])); err == nil {
			t.Errorf("a %s that is too long is read", name)
		}
	}
	if _, err := ReadTold(NewReader(nil)); err == nil {
		t.Error("an answer without a value is read")
	}
	if _, err := AppendTold(nil, strings.Repeat("x", 200), 100); !errors.Is(err, ErrSize(100)) {
		t.Errorf("an answer over its limit: %v", err)
	}
}

func TestFrames(t *testing.T) {
	var pipe bytes.Buffer
	if err := WriteFrame(&pipe, append(make([]byte, FrameHead), "hello"...)); err != nil {
		t.Fatal(err)
	}
	whole := pipe.String()
	if b, err := ReadFrame(strings.NewReader(whole), nil, 100); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := ReadFrame(strings.NewReader(whole), nil, 4); err == nil {
		t.Error("a frame over the limit is read")
	}
	if _, err := ReadFrame(strings.NewReader(whole[:6]), nil, 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut frame: %v", err)
	}
	if _, err := ReadFrame(strings.NewReader(""), nil, 100); !errors.Is(err, io.EOF) {
		t.Errorf("no frame: %v", err)
	}
}

// A page is only believed as far as it makes sense.
func TestPage(t *testing.T) {
	mem := make([]byte, PageSize)
	p := PageAt(mem)
	if _, _, ok := p.Last(1, 1); ok {
		t.Error("a page that nobody wrote says something")
	}
	p.Begin(1, 2)
	p.Depth, p.Ops = 1<<31, -5
	frames, ops, ok := p.Last(1, 2)
	if !ok || len(frames) != MaxFrames+1 || ops != 0 {
		t.Errorf("%d frames, %d operations, %v", len(frames), ops, ok)
	}
	if _, _, ok := p.Last(1, 1); ok {
		t.Error("the page of another firing is believed")
	}
}

// FuzzRequests reads what a worker is sent.
func FuzzRequests(f *testing.F) {
	l := Load{ID: 1, Files: []File{{Path: "a", Text: []byte("b")}}}
	f.Add(l.Append(nil))
	r := Fire{ID: 1, Function: "f"}
	b, _ := AppendValue(r.AppendHead(nil), map[string]any{"a": []any{1, "b", nil, 1.5, true}}, 1000)
	f.Add(b)
	told, _ := AppendTold(nil, Unanswered("nobody"), 1000)
	f.Add(told)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		switch Op(r.Byte()) {
		case OpTold:
			if b, err := ReadTold(r); err == nil {
				ReadValue(NewReader(b))
			}
		case OpLoad:
			if l, err := ReadLoad(r); err == nil && len(l.Files) > MaxFiles {
				t.Error("too many files")
			}
		case OpFire:
			if m, err := ReadFire(r); err == nil {
				ReadValue(NewReader(m.Ctx))
			}
		}
	})
}

// FuzzReplies reads what the server is sent.
func FuzzReplies(f *testing.F) {
	ready := Ready{Points: []Point{{}, {0, 2, 3, 0}}, Names: []string{"f"}, Functions: []Function{{"f", 1, 1, 1, 1}}}
	f.Add(ready.Append(nil))
	bad := Bad{Message: "m"}
	f.Add(bad.Append(nil))
	report := Report{}
	f.Add(report.Append(nil))
	reply := Reply{Ending: Returned, Frames: []uint32{1}}
	b, _ := AppendValue(reply.AppendHead(nil), nested(5), 1000)
	f.Add(b)
	ask := Ask{Question: "q", Schema: []byte{byte(Nil)}}
	f.Add(ask.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		switch Op(r.Byte()) {
		case OpAsk:
			m, err := ReadAsk(r)
			if err != nil {
				return
			}
			if len(m.Question) > MaxQuestion || len(m.Schema) > MaxSchema {
				t.Error("a question that is too long")
			}
			ReadValue(NewReader(m.Schema))
		case OpReady:
			if m, err := ReadReady(r); err == nil {
				for _, p := range m.Points {
					if p.Func >= len(m.Names) {
						t.Error("a point in no function")
					}
				}
			}
		case OpBad:
			ReadBad(r)
		case OpHello:
			ReadReport(r)
		case OpReply:
			m, err := ReadReply(r)
			if err != nil {
				return
			}
			if len(m.Frames) > MaxFrames {
				t.Error("too many frames")
			}
			v, err := ReadValue(NewReader(m.Value))
			if err != nil {
				return
			}
			if again, err := AppendValue(nil, v, MaxFrame); err == nil {
				if _, err := ReadValue(NewReader(again)); err != nil {
					t.Errorf("what was read cannot be read again: %v", err)
				}
			}
		}
	})
}
