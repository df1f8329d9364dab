package redact

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rules() *Rules {
	return New([]string{"MY_TOKEN=tok-in-env-1", "LONG_TOKEN=tok-in-env-1-and-more", "SHORT_TOKEN=abc", "KEY_FILE_TOKEN=/home/me/key", "HOME=/home/me", "PLAIN=plain-value-here"},
		func(name string) bool { return strings.HasSuffix(name, "TOKEN") })
}

func TestText(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"nothing to see", "nothing to see"},
		{"use sk-ant-REDACTED now", "use <redacted> now"},
		{"ghp_0123456789abcdefABCDEF github_pat_11ABCDEFG0123456789_x", "<redacted> <redacted>"},
		{"xoxb-123456789-abcdef", "<redacted>"},
		{"AKIAIOSFODNN7EXAMPLE", "<redacted>"},
		{"eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ", "<redacted>"},
		{"Authorization: Bearer abcdef.ghi", "Authorization: Bearer <redacted>"},
		{`curl -H "authorization: Basic dXNlcjpwdw=="`, `curl -H "authorization: Basic <redacted>"`},
		{"postgres://app:s3cret@db:5432/x", "postgres://app:<redacted>@db:5432/x"},
		{"https://example.org/a:b@c", "https://example.org/a:b@c"},
		{"export DB_PASSWORD=hunter2hunter2", "export DB_PASSWORD=<redacted>"},
		{`{"api_key": "abcdefgh"}`, `{"api_key": "<redacted>"}`},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "<redacted>\nrest"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----\ncut off", "<redacted>"},
		{"tok-in-env-1-and-more and tok-in-env-1", "<redacted> and <redacted>"},
		{"abc /home/me/key plain-value-here", "abc /home/me/key plain-value-here"},
		{"max_tokens: 16384 and a risk-free task-12345678", "max_tokens: 16384 and a risk-free task-12345678"},
		{"the token is used by func token() {}", "the token is used by func token() {}"},
	}
	for _, tt := range tests {
		got := rules().Text(tt.in)
		if got != tt.want {
			t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
		}
		if again := rules().Text(got); again != got {
			t.Errorf("Text(%q) = %q: masking again changes it", got, again)
		}
	}
}

func TestValue(t *testing.T) {
	in := map[string]any{"n": 1.5, "password": "x", "deep": []any{"sk-12345678abcd", map[string]any{"Api-Key": "k", "token": 7.0, "usage_tokens": "12"}}, "nil": nil}
	want := map[string]any{"n": 1.5, "password": Mask, "deep": []any{Mask, map[string]any{"Api-Key": Mask, "token": 7.0, "usage_tokens": "12"}}, "nil": nil}
	if diff := cmp.Diff(want, rules().Value(in)); diff != "" {
		t.Error(diff)
	}
	if in["password"] != "x" {
		t.Error("the value that was given changed")
	}
}

func TestHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(rules().Handler(slog.NewTextHandler(&out, nil))).With("base", "tok-in-env-1").WithGroup("g")
	log.Warn("asking with sk-12345678abcd", "error", errors.New("401 for xoxb-123456789-abcdef"), "token", "whatever", "n", 7,
		slog.Group("req", "header", "Authorization: Bearer abcdefgh"), "raw", []byte("ghp_0123456789abcdefABCDEF"))
	got := out.String()
	for _, secret := range []string{"tok-in-env", "sk-1234", "xoxb-", "whatever", "abcdefgh", "ghp_"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is in the log: %s", secret, got)
		}
	}
	if !strings.Contains(got, "g.n=7") || !strings.Contains(got, "asking with "+Mask) {
		t.Errorf("the log lost something: %s", got)
	}
}
