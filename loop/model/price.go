package model

import (
	"strings"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// known are prices, US dollars per million tokens, and context windows by the
// beginning of the provider's name for the model. The longest beginning wins.
// The configuration's price goes over it; a model that is in neither costs
// nothing that we could know, and no cost is reported.
var known = []struct {
	prefix string
	price  manifest.Price
	window int
}{
	{"claude-opus-4-5", manifest.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}, 200_000},
	{"claude-opus-4", manifest.Price{Input: 15, Output: 75, CacheRead: 1.5, CacheWrite: 18.75}, 200_000},
	{"claude-sonnet-4", manifest.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}, 200_000},
	{"claude-3-7-sonnet", manifest.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}, 200_000},
	{"claude-haiku-4-5", manifest.Price{Input: 1, Output: 5, CacheRead: 0.1, CacheWrite: 1.25}, 200_000},
	{"claude-3-5-haiku", manifest.Price{Input: 0.8, Output: 4, CacheRead: 0.08, CacheWrite: 1}, 200_000},
	{"gpt-5-mini", manifest.Price{Input: 0.25, Output: 2, CacheRead: 0.025}, 400_000},
	{"gpt-5-nano", manifest.Price{Input: 0.05, Output: 0.4, CacheRead: 0.005}, 400_000},
	{"gpt-5", manifest.Price{Input: 1.25, Output: 10, CacheRead: 0.125}, 400_000},
	{"gpt-4.1-mini", manifest.Price{Input: 0.4, Output: 1.6, CacheRead: 0.1}, 1_047_576},
	{"gpt-4.1-nano", manifest.Price{Input: 0.1, Output: 0.4, CacheRead: 0.025}, 1_047_576},
	{"gpt-4.1", manifest.Price{Input: 2, Output: 8, CacheRead: 0.5}, 1_047_576},
	{"gpt-4o-mini", manifest.Price{Input: 0.15, Output: 0.6, CacheRead: 0.075}, 128_000},
	{"gpt-4o", manifest.Price{Input: 2.5, Output: 10, CacheRead: 1.25}, 128_000},
	{"o4-mini", manifest.Price{Input: 1.1, Output: 4.4, CacheRead: 0.275}, 200_000},
	{"o3", manifest.Price{Input: 2, Output: 8, CacheRead: 0.5}, 200_000},
}

// lookup finds a model's row, nil if there is none.
func lookup(name string) (price *manifest.Price, window int) {
	longest := 0
	for i := range known {
		if k := &known[i]; len(k.prefix) > longest && strings.HasPrefix(name, k.prefix) {
			price, window, longest = &k.price, k.window, len(k.prefix)
		}
	}
	return price, window
}

func knownWindow(name string) int {
	_, window := lookup(name)
	return window
}

// Priced says whether what a model costs is known, so that a limit of cost can
// hold. A rehearsal costs nothing.
func Priced(m manifest.Model) bool {
	known, _ := lookup(m.Model)
	return m.Price != nil || known != nil || m.Provider == "rehearsal"
}

// cost adds what the usage costs, if the price is known. Input is what came
// neither from the cache nor went into it.
func cost(m manifest.Model, u loop.Usage) loop.Usage {
	p := m.Price
	if p == nil {
		p, _ = lookup(m.Model)
	}
	if p == nil {
		return u
	}
	amount := float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite
	u.Cost = &loop.Cost{Amount: amount / 1e6, Currency: "USD"}
	return u
}
