package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
)

// recorded answers hook.decide from the record, equal questions in the order in
// which they were asked. It is used by one firing.
type recorded struct {
	left    []hooks.Asked
	asked   int
	unknown string // the first question without an answer
	at      int    // which question that was
}

func (r *recorded) decide(_ context.Context, question string, schema any) map[string]any {
	n := r.asked
	r.asked++
	text, err := contract.WritePlain(schema)
	if err == nil {
		for i, a := range r.left {
			if a.Question != question || string(a.Schema) != string(text) {
				continue
			}
			told, err := contract.ReadPlain(a.Told)
			if m, ok := told.(map[string]any); ok && err == nil {
				r.left = slices.Delete(slices.Clone(r.left), i, i+1)
				return m
			}
		}
	}
	if r.unknown == "" {
		r.unknown, r.at = question, n
	}
	return nil // the script hears that there is no answer, and is not believed
}

// differences says what two decisions with the same action have that is not
// the same.
func differences(was, now contract.Verdict) []string {
	var out []string
	if was.Reason != now.Reason {
		out = append(out, fmt.Sprintf("the reason %s instead of %s", quoted(now.Reason), quoted(was.Reason)))
	}
	if !slices.Equal(was.Calls, now.Calls) {
		out = append(out, fmt.Sprintf("the calls %s instead of %s", calls(now.Calls), calls(was.Calls)))
	}
	if was.IsError != now.IsError {
		out = append(out, fmt.Sprintf("is_error %v instead of %v", now.IsError, was.IsError))
	}
	if at := hooks.Differing(was.Value, now.Value); len(at) > 0 {
		out = append(out, "another value at "+pointers(at))
	}
	if was.HasState != now.HasState || len(hooks.Differing(was.State, now.State)) > 0 {
		if at := hooks.Differing(was.State, now.State); len(at) > 0 {
			out = append(out, "another state at "+pointers(at))
		} else {
			out = append(out, fmt.Sprintf("state %s instead of %s", given(now.HasState), given(was.HasState)))
		}
	}
	return out
}

func given(has bool) string {
	if has {
		return "returned"
	}
	return "left out"
}

// told is an action with its reason, for people.
func told(action, reason string) string {
	if reason == "" {
		return action
	}
	return action + ": " + oneLine(reason)
}

func calls(ids []string) string {
	if len(ids) == 0 {
		return "all of the batch"
	}
	return strings.Join(ids, ", ")
}

// maxPointers is how many places one line names.
const maxPointers = 5

func pointers(at []string) string {
	for i, p := range at {
		if p == "" {
			at[i] = "/"
		}
	}
	if len(at) > maxPointers {
		return strings.Join(at[:maxPointers], ", ") + " and " + strconv.Itoa(len(at)-maxPointers) + " more"
	}
	return strings.Join(at, ", ")
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	text, err := json.Marshal(oneLine(s))
	if err != nil {
		return "none"
	}
	return string(text)
}

// maxShown bounds a text of somebody else's in a line of ours, in bytes.
const maxShown = 200

func clipped(s string) string {
	if len(s) <= maxShown {
		return s
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func oneLine(s string) string { return clipped(strings.Join(strings.Fields(s), " ")) }
