package contract

import (
	"math"
	"reflect"
	"testing"
)

// What a hook gets and gives keeps its kind of number on the way through JSON.
func TestPlainDataComesBackAsItWas(t *testing.T) {
	v := map[string]any{
		"whole": int64(3), "float": 3.0, "small": 1e-9, "large": int64(9007199254740993), "text": "3", "no": nil,
		"list": []any{int64(1), 1.5, []any{}, map[string]any{"x": true}},
	}
	text, err := WritePlain(v)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"float":3.0,"large":9007199254740993,"list":[1,1.5,[],{"x":true}],"no":null,"small":1e-9,"text":"3","whole":3}`; string(text) != want {
		t.Errorf("written as %s\nwant %s", text, want)
	}
	got, err := ReadPlain(text)
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("read back as %#v, %v", got, err)
	}
	for beyond, want := range map[string]float64{"1e999": math.MaxFloat64, "-1e999": -math.MaxFloat64} {
		got, err := ReadPlain([]byte(beyond))
		if err != nil || got != want {
			t.Errorf("%s is read as %v, %v", beyond, got, err)
		}
		if text, err := WritePlain(got); err != nil {
			t.Errorf("%s cannot be written again: %q, %v", beyond, text, err)
		}
	}
	for _, bad := range []string{"", "{", "nil"} {
		if got, err := ReadPlain([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}
