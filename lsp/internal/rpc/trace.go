package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"agent-ls/hooks/lazyexp"
)

// LevelTrace is the level at which whole messages are logged, secrets masked.
const LevelTrace = slog.LevelDebug - 4

type direction string

const (
	received direction = "received"
	sent     direction = "sent"
)

// maxTraced is how much of a message goes to the log.
const maxTraced = 4 << 10

// tracer logs messages. It is ours because the library's own wrapper can
// deadlock after an error response, and because messages carry secrets.
type tracer struct{ log *slog.Logger }

func (t *tracer) message(dir direction, body []byte) {
	ctx := context.Background()
	if !t.log.Enabled(ctx, LevelTrace) {
		return
	}
	masked := mask(body)
	if len(masked) > maxTraced {
		masked = masked[:maxTraced] + "…"
	}
	t.log.Log(ctx, LevelTrace, "message", "direction", string(dir), "bytes", len(body), "body", masked)
}

// secretKey matches names whose values are never logged.
var secretKey = lazyexp.New(`(?i)token$|secret|password|passwd|authorization|api_?key$|credential|cookie|^headers$|^env$`)

// secretValue matches what looks like a key wherever it stands.
var secretValue = lazyexp.New(`\b(sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|xox[a-z]-[A-Za-z0-9-]{8,}|AKIA[0-9A-Z]{12,}|eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_.-]+)`)

// notSecret are names that end like a secret and are none.
var notSecret = map[string]bool{"workDoneToken": true, "partialResultToken": true}

const masked = "•••"

// mask replaces secrets in a message.
func mask(body []byte) string {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return secretValue.ReplaceAllString(string(body), masked)
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(maskValue(v, "")) != nil {
		return masked
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func maskValue(v any, key string) any {
	if v != nil && !notSecret[key] && secretKey.MatchString(key) {
		// `$/progress` has a token of its own that is a number or names a run;
		// it is masked as well, rather too much than too little.
		return masked
	}
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			v[k] = maskValue(member, k)
		}
		return v
	case []any:
		for i, member := range v {
			v[i] = maskValue(member, "")
		}
		return v
	case string:
		return secretValue.ReplaceAllString(v, masked)
	}
	return v
}
