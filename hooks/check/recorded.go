package check

import (
	"fmt"
	"time"
)

// SlowAfter is the time over which a hook's p95 makes a finding.
const SlowAfter = 10 * time.Millisecond

// FailedAtRunTime makes the finding for a place where a script failed in its
// last run; the caller drops it when the script is edited.
func FailedAtRunTime(path string, span Span, message string, related ...Related) Finding {
	f := NewFinding(CodeFailedAtRunTime, path, span, "failed in its last run: "+message)
	f.Related = related
	return f
}

// Slow makes the finding for a hook function whose recorded firings took
// longer than SlowAfter in one of twenty; ok is false when they did not.
func Slow(path string, span Span, function string, p95 time.Duration, firings int) (f Finding, ok bool) {
	if p95 <= SlowAfter {
		return Finding{}, false
	}
	return NewFinding(CodeSlow, path, span, fmt.Sprintf("%s took up to %s in 95 of 100 of %d recorded firings", function, p95.Round(100*time.Microsecond), firings)), true
}
