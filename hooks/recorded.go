package hooks

import (
	"maps"
	"slices"
	"strings"
	"time"

	"agent-ls/hooks/check"
)

// RecordedDecisions is how many of a script's newest decisions say whether its
// functions are slow.
const RecordedDecisions = 200

// RecordedFindings are what recorded decisions say of a script with this text:
// where it failed in its last run, and which of its functions are slow. The
// decisions are oldest first; those of another file or another text than the
// present one do not count.
func RecordedFindings(path string, text []byte, decisions []Decision) []check.Finding {
	var found []check.Finding
	decisions = ofText(path, Digest(text), decisions)
	for _, d := range decisions {
		if f, failed := d.FailedFinding(); failed && d.RunID == decisions[len(decisions)-1].RunID {
			found = append(found, f)
		}
	}
	return append(found, slowOf(path, text, decisions)...)
}

// SlowFindings are those of RecordedFindings for functions that take long.
func SlowFindings(path string, text []byte, decisions []Decision) []check.Finding {
	return slowOf(path, text, ofText(path, Digest(text), decisions))
}

// FailedFinding is the finding for the place where the hook failed; ok is false
// when it did not fail, or in no script.
func (d *Decision) FailedFinding() (f check.Finding, ok bool) {
	if d.Error == nil {
		return f, false
	}
	loc := d.Error.At
	if loc == nil {
		loc = d.Hook.At
	}
	if loc == nil || loc.Path == "" {
		return f, false
	}
	span := check.Span{Start: loc.Start.Offset, End: max(loc.End.Offset, loc.Start.Offset)}
	// The finding stands at the place that the message begins with.
	return check.FailedAtRunTime(loc.Path, span, strings.TrimPrefix(d.Error.Message, at(loc)+": ")), true
}

// ofText keeps the decisions of one text of a script.
func ofText(path, digest string, decisions []Decision) []Decision {
	var kept []Decision
	for _, d := range decisions {
		if d.Hook.At != nil && d.Hook.At.Path == path && d.Hook.Digest == digest {
			kept = append(kept, d)
		}
	}
	return kept
}

func slowOf(path string, text []byte, decisions []Decision) []check.Finding {
	took := map[string][]time.Duration{}
	for _, d := range decisions {
		took[d.Function] = append(took[d.Function], time.Duration(d.DurationUs)*time.Microsecond)
	}
	var script *check.Analysis
	var found []check.Finding
	for _, function := range slices.Sorted(maps.Keys(took)) {
		p95, ok := most(took[function])
		if !ok || p95 <= check.SlowAfter {
			continue
		}
		if script == nil {
			script = check.Analyze(path, text, check.Options{})
		}
		s, ok := script.Function(function)
		if !ok {
			continue // of the script that imports this one
		}
		if f, slow := check.Slow(path, s.Selection, function, p95, len(took[function])); slow {
			found = append(found, f)
		}
	}
	return found
}

// most is the 95th percentile. The slowest firing never counts, however few
// there are: a script's first one may have compiled it.
func most(took []time.Duration) (p95 time.Duration, ok bool) {
	if len(took) < 2 {
		return 0, false
	}
	slices.Sort(took)
	return took[len(took)-1-max(1, len(took)/20)], true
}
