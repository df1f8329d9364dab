package contract

import "fmt"

var classNames = [...]string{NoClass: "none", Gate: "gate", Transform: "transform", Observe: "observe"}

// String gives the class as the reference page spells it.
func (c Class) String() string { return nameOf("class", classNames[:], int(c)) }

// ParseClass reads what String wrote.
func ParseClass(name string) (Class, error) {
	i, err := parseName("class", classNames[:], name)
	return Class(i), err
}

var actionNames = [...]string{NoAction: "none", Allow: "allow", Modify: "modify", Deny: "deny",
	Substitute: "substitute", Cancel: "cancel", Retry: "retry", Failed: "error"}

// String gives the action as a script spells it; Failed is "error".
func (a Action) String() string { return nameOf("action", actionNames[:], int(a)) }

// ParseAction reads an action as records spell it, "error" included. What a
// hook may answer is narrower: see Answers.
func ParseAction(name string) (Action, error) {
	i, err := parseName("action", actionNames[:], name)
	return Action(i), err
}

// Answers are the actions that a hook can give, in the order of the contract.
func Answers() []Action { return []Action{Allow, Modify, Deny, Substitute, Cancel, Retry} }

// answer reads an action that a hook gave.
func answer(name string) (Action, bool) {
	for _, a := range Answers() {
		if a.String() == name {
			return a, true
		}
	}
	return NoAction, false
}

var kindNames = [...]string{Any: "any", Nil: "nil", Bool: "bool", Int: "int", Float: "float",
	String: "string", List: "list", Map: "map", Object: "object"}

// String gives the kind as Risor's type() does, but for "any" and "object".
func (k Kind) String() string { return nameOf("kind", kindNames[:], int(k)) }

// ParseKind reads what String wrote.
func ParseKind(name string) (Kind, error) {
	i, err := parseName("kind", kindNames[:], name)
	return Kind(i), err
}

func nameOf(what string, names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("%s(%d)", what, i)
	}
	return names[i]
}

func parseName(what string, names []string, name string) (int, error) {
	for i, n := range names {
		if n == name && n != "none" {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q%s", what, name, DidYouMean(name, names))
}
