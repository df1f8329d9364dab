// Package contract owns the table of hook events: what each is called, when it
// fires, which fields its ctx has, which actions it honours and what shape a
// replacement value must have. Everything that needs to know an event reads
// it here: the run-time validator, the script checker, completion, hover and
// the generated reference. Start at Events.
package contract

// Version is the version of the table; a script may state `// contract: 1`.
const Version = 1

// Class says what a broken hook of an event means.
type Class uint8

const (
	NoClass   Class = iota
	Gate            // may refuse; fails closed
	Transform       // may replace a value; fails closed
	Observe         // only watches; never blocks, never fails the run
)

// Action is what a hook decided.
type Action uint8

const (
	NoAction Action = iota
	Allow
	Modify
	Deny
	Substitute
	Cancel
	Retry
	Failed // "error": the hook is broken; never an answer that a hook can give
)

// Kind is the outermost shape of a value.
type Kind uint8

const (
	Any Kind = iota
	Nil
	Bool
	Int
	Float
	String
	List   // of Elem
	Map    // string to Elem
	Object // exactly Fields
)

// Type is the shape of a ctx field or of a modify value. Plain data only:
// nil, bool, int64, float64, string, []any, map[string]any.
type Type struct {
	Kind     Kind
	Elem     *Type   // List, Map
	Fields   []Field // Object
	Nullable bool    // nil is also a value
	// Values are the only ones that a String can have; empty when any may be.
	Values []string
}

// Field is one named member of an object.
type Field struct {
	Name     string
	Type     Type
	Doc      string // one line
	Optional bool   // may be left out of a value; ctx fields are always present
}

// Event is one row of the table.
type Event struct {
	Name     string // "on_tool_call", "tool:gate", "pre_tool"
	Function string // the script function; "" when scripts cannot handle it
	Class    Class
	Stage    bool    // one of the seven stage points, declared per stage
	PerCall  bool    // honours deny and substitute for one call
	Doc      string  // one sentence: what it is for
	Fires    string  // when
	Fields   []Field // besides Common
	Actions  []Action
	// Value is the shape of a modify value, nil where modify is not honoured.
	Value    *Type
	ValueDoc string
	// ValueField is the ctx field that the value replaces (a map value merges
	// into it); "" when the value's own fields replace ctx fields one by one.
	ValueField string
	Since      int
	Example    string // a whole script that is right
}
