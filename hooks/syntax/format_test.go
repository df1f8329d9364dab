package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"levels": {"func on_tool_call(ctx){\nfor _,c:=range ctx.tool_calls {\n\tif c.name==\"shell\"{\n return hook.deny(\"no\")   \n}\n}\n\n\n\nreturn nil\n}",
			"func on_tool_call(ctx) {\n    for _, c := range ctx.tool_calls {\n        if c.name == \"shell\" {\n            return hook.deny(\"no\")\n        }\n    }\n\n    return nil\n}\n"},
		"comments stay":   {"\n\n# a guard   \nx:=1 // one\n  /* two\n     lines */\ny := 2", "# a guard\nx := 1 // one\n/* two\n     lines */\ny := 2\n"},
		"strings stay":    {"x := `a  \n   b  `\ny   := \"a,b==c\"\nz := 'v {x==1} '\n", "x := `a  \n   b  `\ny := \"a,b==c\"\nz := 'v {x==1} '\n"},
		"maps and lists":  {"m := {\n\"a\":1,\n\"b\" : [1,2 ,3],\n}\nf( 1 , {} )\n", "m := {\n    \"a\":1,\n    \"b\" : [1, 2, 3],\n}\nf(1, {})\n"},
		"switch":          {"switch x {\ncase 1:\nprint(1)\ndefault:\n   print(2)\n}\n", "switch x {\ncase 1:\n    print(1)\ndefault:\n    print(2)\n}\n"},
		"line ends":       {"x := 1\r\ny := 2\r\n", "x := 1\r\ny := 2\r\n"},
		"byte order mark": {"\ufeffx:=1", "\ufeffx := 1\n"},
		"signs":           {"x := -1\ny := x - -1\nz := a[1:-1]\nb := !x\n", "x := -1\ny := x - -1\nz := a[1:-1]\nb := !x\n"},
		"nothing":         {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Format([]byte(tt.in))
			if err != nil || string(got) != tt.want {
				t.Fatalf("Format(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
			if again, err := Format(got); err != nil || string(again) != string(got) {
				t.Errorf("formatted again: %q, %v", again, err)
			}
		})
	}
}

func TestFormatLeavesWhatDoesNotParse(t *testing.T) {
	got, err := Format([]byte("x := 1\nfunc f( {\n"))
	if err == nil || got != nil || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("Format = %q, %v", got, err)
	}
}

// Every script of the tests that parses is formatted without a change of what
// it says, and formatting it again changes nothing.
func TestFormatAllScripts(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			if err == nil {
				return filepath.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != ".risor" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || len(Parse(text).Errors) > 0 {
			return err
		}
		once, err := Format(text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		twice, err := Format(once)
		if err != nil || string(twice) != string(once) {
			t.Errorf("%s: formatted twice it is another: %v", path, err)
		}
		n++
		return nil
	})
	if err != nil || n < 10 {
		t.Errorf("%d scripts, %v", n, err)
	}
}
