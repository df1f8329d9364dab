package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
)

// answer is everything that a command may answer, to any event, in both ways
// of saying it. What is not of the event that runs is no answer to it.
type answer struct {
	Decision *string         `json:"decision"`
	Message  *string         `json:"message"`
	Reason   *string         `json:"reason"`
	Input    json.RawMessage `json:"input"`
	Result   json.RawMessage `json:"result"`
	Context  *string         `json:"additionalContext"`
	Continue *bool           `json:"continue"`
	Stopped  *string         `json:"stopReason"`
	Specific *specific       `json:"hookSpecificOutput"`
}

// specific is the nested half of Claude Code's answers.
type specific struct {
	Event      *string         `json:"hookEventName"`
	Permission *string         `json:"permissionDecision"`
	Reason     *string         `json:"permissionDecisionReason"`
	Updated    json.RawMessage `json:"updatedInput"`
	Context    *string         `json:"additionalContext"`
}

// read makes a verdict of what a command answered. ask is the reason for which
// a person is to be asked.
func read(e *contract.Event, fields map[string]any, out output) (v contract.Verdict, ask string, failure *hooks.Failure) {
	allow := contract.Verdict{Action: contract.Allow}
	if out.code == 2 {
		return contract.Verdict{Action: contract.Deny, Reason: shorten(out.stderr)}, "", nil
	}
	text := bytes.TrimSpace(out.stdout)
	if e.Class == contract.Observe || !json.Valid(text) {
		return allow, "", nil // nothing, or no JSON: go on
	}
	malformed := func(format string, args ...any) (contract.Verdict, string, *hooks.Failure) {
		return contract.Verdict{}, "", &hooks.Failure{Kind: hooks.Malformed, Message: "malformed: " + e.Name + ": " + fmt.Sprintf(format, args...)}
	}
	var a answer
	if text[0] != '{' {
		if e.PerCall {
			return malformed("its answer is no JSON object")
		}
		return allow, "", nil
	}
	if key, near := misspelt(text); near != "" {
		return malformed("%q is no key of an answer; did you mean %q?", key, near)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return malformed("%v", err)
	}
	if a.Specific != nil && a.Specific.Event != nil && *a.Specific.Event != claudeNames[e.Name] {
		return malformed("the answer is one to %s", *a.Specific.Event)
	}
	switch e.Name {
	case "pre_tool":
		v, ask, err := a.preTool(e)
		if err != nil {
			return malformed("%v", err)
		}
		return v, ask, nil
	case "post_tool":
		return a.postTool(fields, malformed)
	case "user_prompt":
		if a.Decision != nil && *a.Decision != "continue" && *a.Decision != "allow" {
			return malformed("decision %q is not honoured: it can add context, not decide about the prompt", *a.Decision)
		}
		if len(a.Result) > 0 || len(a.Input) > 0 {
			return malformed("the answer is one to another event: this one can only add context")
		}
		if added := first(a.Specific.context(), a.Context); added != "" {
			return contract.Verdict{Action: contract.Modify, Value: shorten(added), HasValue: true}, "", nil
		}
	case "stop":
		if a.Decision != nil && *a.Decision == "block" {
			return contract.Verdict{Action: contract.Deny, Reason: shorten(first(a.Reason, a.Message))}, "", nil
		}
	}
	return allow, "", nil
}

// misspelt finds a key that is close to one that counts: a guard whose deny is
// misspelt must not pass for one that had nothing to say.
func misspelt(text []byte) (key, near string) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return "", ""
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.Contains(answerKeys, key) {
			continue
		}
		if slices.Contains(specificKeys, key) {
			return key, "hookSpecificOutput." + key
		}
		if near := contract.Nearest(key, answerKeys[:counting]); near != "" {
			return key, near
		}
	}
	return "", ""
}

// answerKeys are the keys of answers: those that count, and those that other
// programs know.
var answerKeys = []string{
	"decision", "message", "reason", "input", "result", "additionalContext", "hookSpecificOutput", "continue", "stopReason",
	"suppressOutput", "systemMessage", "async", "asyncTimeout",
}

const counting = 9

// specificKeys count within hookSpecificOutput only; beside it they would be a
// gate that looks closed.
var specificKeys = []string{"permissionDecision", "permissionDecisionReason", "updatedInput"}

func (s *specific) context() *string {
	if s == nil {
		return nil
	}
	return s.Context
}

func first(texts ...*string) string {
	for _, t := range texts {
		if t != nil && *t != "" {
			return *t
		}
	}
	return ""
}

// preToolWords are the decisions about a call, the strictest first.
var preToolWords = []string{"deny", "block", "ask", "rewrite", "approve", "allow", "continue"}

// words are the decisions that an answer names: one, or one in each style.
func (a *answer) words() []string {
	var words []string
	if a.Decision != nil {
		words = append(words, *a.Decision)
	}
	if a.Specific != nil && a.Specific.Permission != nil {
		words = append(words, *a.Specific.Permission)
	}
	return words
}

// preTool reads an answer about a call. Nothing in it approves anything: allow
// means that the hook has nothing against it.
func (a *answer) preTool(e *contract.Event) (contract.Verdict, string, error) {
	word, reason, input := "continue", first(a.Message, a.Reason), a.Input
	for _, given := range a.words() {
		if !slices.Contains(preToolWords, given) {
			return contract.Verdict{}, "", fmt.Errorf("unknown decision %q%s", given, contract.DidYouMean(given, preToolWords))
		}
		// Who says two things means the stricter one: an answer never undoes its own deny.
		if slices.Index(preToolWords, given) < slices.Index(preToolWords, word) {
			word = given
		}
	}
	if s := a.Specific; s != nil {
		if s.Reason != nil {
			reason = *s.Reason
		}
		if len(s.Updated) > 0 {
			input = s.Updated
		}
	}
	if a.Continue != nil && !*a.Continue {
		word = "deny"
		reason = first(a.Stopped, &reason)
	}
	if len(a.Result) > 0 || a.Context != nil {
		return contract.Verdict{}, "", fmt.Errorf("the answer is one to another event")
	}
	switch word {
	case "deny", "block":
		return contract.Verdict{Action: contract.Deny, Reason: shorten(reason)}, "", nil
	case "ask":
		if reason == "" {
			reason = "a command hook wants somebody to be asked"
		}
		return contract.Verdict{Action: contract.Allow}, shorten(reason), nil
	case "rewrite":
		if len(input) == 0 {
			return contract.Verdict{}, "", fmt.Errorf("rewrite needs an input")
		}
	case "continue", "allow", "approve":
		if len(input) == 0 || string(input) == "null" {
			return contract.Verdict{Action: contract.Allow}, "", nil
		}
	}
	value, err := contract.ReadPlain(input)
	if err != nil {
		return contract.Verdict{}, "", err
	}
	if _, ok := value.(map[string]any); !ok {
		return contract.Verdict{}, "", fmt.Errorf("the input must be an object of arguments")
	}
	v, err := e.Judge(map[string]any{"action": "modify", "value": value}, nil, contract.Caps{})
	v.Reason = reason
	return v, "", err
}

// postTool reads a replacement of a result. A result that was cut and comes
// back as it was shown is no replacement: the whole one stays.
func (a *answer) postTool(fields map[string]any, malformed func(string, ...any) (contract.Verdict, string, *hooks.Failure)) (contract.Verdict, string, *hooks.Failure) {
	if len(a.Result) == 0 || string(a.Result) == "null" {
		return contract.Verdict{Action: contract.Allow}, "", nil
	}
	var text string
	if err := json.Unmarshal(a.Result, &text); err != nil {
		return malformed("the result must be a string")
	}
	was, _ := fields["result"].(string)
	if text == was || text == cut(was) {
		return contract.Verdict{Action: contract.Allow}, "", nil
	}
	return contract.Verdict{Action: contract.Modify, Value: text, HasValue: true}, "", nil
}
