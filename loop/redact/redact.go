// Package redact owns what is masked before it leaves the journal: in exports,
// logs and traces. Start at New. What it finds are keys and passwords by their
// form, by the name that they are assigned to, and by the values that the
// environment of this process has for names that look secret. It cannot know a
// secret that looks like any other word.
package redact

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Mask stands where a secret was.
const Mask = "<redacted>"

// Rules find secrets. They may be used from many goroutines.
type Rules struct {
	values *strings.Replacer // of the environment, nil for none
}

// shortest is the length below which a value of the environment is not looked
// for: it would be found in ordinary words.
const shortest = 8

// New makes rules. environ has the form of os.Environ; secret says which names
// have values that nobody is to see.
func New(environ []string, secret func(name string) bool) *Rules {
	var values []string
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); len(value) >= shortest && secret(name) && !ordinary(value) {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return &Rules{}
	}
	// A value that contains another one goes first.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, v := range values {
		pairs = append(pairs, v, Mask)
	}
	return &Rules{values: strings.NewReplacer(pairs...)}
}

// ordinary are values that name a place, not a secret.
func ordinary(value string) bool {
	return strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~/")
}

// pattern is one form of secrets: what matches is masked, but for the groups
// "before" and "after".
type pattern struct {
	find func() *regexp.Regexp
	with string
	sign []string // one of these is in every text that can match, lower case; nil: none known
}

var patterns = []pattern{
	{later(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`), Mask, []string{"private key-----"}},
	{later(`\bsk-[A-Za-z0-9_-]{8,}`), Mask, []string{"sk-"}},
	{later(`\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,})`), Mask, []string{"gh", "glpat-", "npm_"}},
	{later(`\bxox[a-z]-[A-Za-z0-9-]{8,}`), Mask, []string{"xox"}},
	{later(`\b(?:AKIA|ASIA)[0-9A-Z]{12,}\b`), Mask, []string{"akia", "asia"}},
	{later(`\bAIza[0-9A-Za-z_-]{30,}`), Mask, []string{"aiza"}},
	{later(`\b[sr]k_(?:live|test)_[0-9A-Za-z]{12,}`), Mask, []string{"k_live_", "k_test_"}},
	{later(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), Mask, []string{"eyj"}},
	{later(`(?i)\b(authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)[A-Za-z0-9._~+/=-]{4,}`), "${1}" + Mask, []string{"authorization"}},
	{later(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}`), "${1}" + Mask, []string{"bearer"}},
	{later(`(://[^\s/:@"'<>]*:)[^\s/@"'<>]+@`), "${1}" + Mask + "@", []string{"://"}},
	{later(`(?i)([A-Z0-9_-]*(?:API[_-]?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|ACCESS[_-]?KEY|PRIVATE[_-]?KEY)["']?[ \t]*(?:=|:)[ \t]*["']?)[^\s"'` + "`" + `,;(){}\[\]<>]{6,}`), "${1}" + Mask,
		[]string{"key", "token", "secret", "passw", "passp"}},
}

// later compiles an expression when it is needed: every process of the program
// has this package, and few see a secret.
func later(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Text masks the secrets in a text.
func (r *Rules) Text(text string) string {
	if text == "" {
		return text
	}
	if r.values != nil {
		text = r.values.Replace(text)
	}
	lower := strings.ToLower(text)
	for _, p := range patterns {
		if p.sign != nil && !slices.ContainsFunc(p.sign, func(s string) bool { return strings.Contains(lower, s) }) {
			continue
		}
		text = p.find().ReplaceAllString(text, p.with)
	}
	return text
}

// Value masks the secrets in every text of a plain value: what encoding/json
// decodes into. Keys stay.
func (r *Rules) Value(v any) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.Value(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if text, ok := e.(string); ok && secretName().MatchString(k) && text != "" {
				out[k] = Mask
				continue
			}
			out[k] = r.Value(e)
		}
		return out
	}
	return v
}

// secretName matches names whose values are secrets whatever they look like.
var secretName = later(`(?i)^(?:.*[_-])?(?:api[_-]?key|token|secret|password|passwd|passphrase|authorization|cookie)$`)

// Handler gives a log handler before which secrets are masked.
func (r *Rules) Handler(to slog.Handler) slog.Handler { return &handler{rules: r, to: to} }

type handler struct {
	rules *Rules
	to    slog.Handler
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.to.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, rec slog.Record) error {
	masked := slog.NewRecord(rec.Time, rec.Level, h.rules.Text(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(h.attr(a))
		return true
	})
	return h.to.Handle(ctx, masked)
}

func (h *handler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		if secretName().MatchString(a.Key) && v.String() != "" {
			return slog.String(a.Key, Mask)
		}
		return slog.String(a.Key, h.rules.Text(v.String()))
	case slog.KindGroup:
		var members []any
		for _, m := range v.Group() {
			members = append(members, h.attr(m))
		}
		return slog.Group(a.Key, members...)
	case slog.KindAny:
		switch x := v.Any().(type) {
		case error:
			return slog.String(a.Key, h.rules.Text(x.Error()))
		case []byte:
			return slog.String(a.Key, h.rules.Text(string(x)))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = h.attr(a)
	}
	return &handler{rules: h.rules, to: h.to.WithAttrs(masked)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{rules: h.rules, to: h.to.WithGroup(name)}
}
