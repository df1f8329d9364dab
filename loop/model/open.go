// Package model owns the models: the providers' wire protocols behind the
// official SDKs, the rehearsal that plays a script, the classes of their
// errors, and prices. Start at Open. Nothing here retries: the driver does, by
// the class of the error.
package model

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"agent-ls/hooks/lazyexp"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// Options are what models need of the outside.
type Options struct {
	// Getenv looks up the environment; nil = os.Getenv.
	Getenv func(string) string
	// HTTPClient sends requests; nil = one that follows no redirects, since
	// they would carry keys to other hosts.
	HTTPClient *http.Client
	// Log gets a line per request, never a key or a message; nil = none.
	Log *slog.Logger
	// Now is the clock that dates in retry-after are held against; nil = time.Now.
	Now func() time.Time
}

func (o Options) complete() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Open makes a model of its configuration. It makes no request and starts
// nothing; an error says what is missing and names it.
func Open(m manifest.Model, options Options) (loop.Model, error) {
	o := options.complete()
	switch m.Provider {
	case "rehearsal":
		return openRehearsal(m)
	case "anthropic":
		return openAnthropic(m, o)
	case "openai":
		return openOpenAI(m, o)
	case "":
		return nil, fmt.Errorf("the model %q has no provider", m.Name)
	}
	return nil, fmt.Errorf("the model %q has the unknown provider %q", m.Name, m.Provider)
}

// info is what every provider says about its model.
func info(m manifest.Model) loop.ModelInfo {
	window := m.ContextWindow
	if window == 0 {
		window = knownWindow(m.Model)
	}
	return loop.ModelInfo{
		Name: m.Name, Provider: m.Provider, Model: m.Model, ContextWindow: window, MaxTokens: maxTokens(m), Fallback: m.Fallback,
		Limits: loop.ModelLimits{Attempts: orElse(m.Attempts, 5), TotalWait: orElse(m.TotalWait, defaultTotalWait), Idle: idleLimit(m)},
	}
}

func orElse[T int | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// defaultTotalWait is limits.total_wait where it is not set.
const defaultTotalWait = 2 * time.Minute

func idleLimit(m manifest.Model) time.Duration { return orElse(m.Idle, 90*time.Second) }

func maxTokens(m manifest.Model) int { return orElse(m.MaxTokens, 16384) }

// answerLimit is the most tokens that the answer to a request may have.
func answerLimit(m manifest.Model, req *loop.ModelRequest) int64 {
	most := maxTokens(m)
	if req.MaxTokens > 0 {
		most = min(most, req.MaxTokens)
	}
	return int64(most)
}

var variable = lazyexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// headers fills in ${NAME} from the environment.
func headers(m manifest.Model, getenv func(string) string) (map[string]string, error) {
	out := map[string]string{}
	var missing []error
	for name, value := range m.Headers {
		out[name] = variable.ReplaceAllStringFunc(value, func(ref string) string {
			v := getenv(ref[2 : len(ref)-1])
			if v == "" {
				missing = append(missing, fmt.Errorf("the environment variable %s, which the header %s of the model %q needs, is not set", ref[2:len(ref)-1], name, m.Name))
			}
			return v
		})
		if strings.ContainsAny(out[name], "\r\n") {
			missing = append(missing, fmt.Errorf("the header %s of the model %q has a line break", name, m.Name))
		}
	}
	return out, errors.Join(missing...)
}
