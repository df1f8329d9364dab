package contract

import "slices"

// Family is a part of the table that belongs together.
type Family struct {
	Title  string
	Doc    string // one sentence
	Events []*Event
}

// families holds the table, a file per topic. A new event is one entry in one
// of them; nothing else in the program lists events.
var families = []Family{
	{"Stage points", "Declared per stage, under `[stages.NAME.hooks]`.", stagePoints},
	{"Turn and stream", "Declared under `[hooks]`, as all events with a colon are.", turnEvents},
	{"Tools", "Calls, their validation, and what budgets and guards say of them.", toolEvents},
	{"MCP connections and skills", "Servers and skills, at the start and later.", connectionEvents},
	{"Session", "A run in its session, and what is kept of it.", sessionEvents},
	{"Background tasks", "Commands that run on while the agent does something else.", backgroundEvents},
	{"Decisions", "Questions put to the model beside the run.", decisionEvents},
	{"Provider, cache and repair", "What providers do to requests, and what resuming brings.", providerEvents},
	{"Sub-agents", "The run's own calls of spawn.", spawnEvents},
	{"In sub-agents", "Events of a sub-agent as they fire on the run that started it.", childEvents},
	{"Commands", "Declared as `[[hook]]`; Go handlers take them too, scripts do not.", commandEvents},
}

var (
	all        = allOf(families)
	byName     = indexBy(func(e *Event) string { return e.Name })
	byFunction = indexBy(func(e *Event) string { return e.Function })
)

func allOf(families []Family) []*Event {
	var list []*Event
	for _, f := range families {
		list = append(list, f.Events...)
	}
	return list
}

// Families gives the table in the parts of the reference page. What is in
// them is shared: do not change it.
func Families() []Family { return slices.Clone(families) }

func indexBy(key func(*Event) string) map[string]*Event {
	m := make(map[string]*Event, len(all))
	for _, e := range all {
		if k := key(e); k != "" {
			m[k] = e
		}
	}
	return m
}

// Events gives every event in the order of the reference page. The events are
// shared: do not change them.
func Events() []*Event { return slices.Clone(all) }

// ByName gives the event with that name ("tool:gate"), nil when there is none.
func ByName(name string) *Event { return byName[name] }

// ByFunction gives the event that a script function handles ("tool_gate"),
// nil when there is none.
func ByFunction(function string) *Event { return byFunction[function] }

// Honours says whether the event does something with that action. Allow is
// honoured by all.
func (e *Event) Honours(a Action) bool { return a == Allow || slices.Contains(e.Actions, a) }

// Field gives the ctx field with that name.
func (e *Event) Field(name string) (Field, bool) {
	for _, fields := range [][]Field{e.Fields, common} {
		for _, f := range fields {
			if f.Name == name {
				return f, true
			}
		}
	}
	return Field{}, false
}

// AllFields gives every field that the event's ctx has: its own, then the
// common ones.
func (e *Event) AllFields() []Field { return slices.Concat(e.Fields, common) }

// Common gives the fields that every ctx has.
func Common() []Field { return slices.Clone(common) }

var common = []Field{
	{Name: "event", Type: text(), Doc: "the event's name, such as \"on_tool_call\""},
	{Name: "run_id", Type: text(), Doc: "the run that fired it"},
	{Name: "session_id", Type: text(), Doc: "the session that the run belongs to"},
	{Name: "agent", Type: text(), Doc: "the agent's name in the manifest"},
	{Name: "stage", Type: text(), Doc: "the stage's name in the manifest"},
	{Name: "stage_index", Type: number(), Doc: "which stage of the run this is, from 0"},
	{Name: "turn", Type: number(), Doc: "the turn in the run, from 1; 0 before the first model call"},
	{Name: "depth", Type: number(), Doc: "0 in the run that the user started, 1 in its sub-agents, and so on"},
	{Name: "parent_run_id", Type: nullable(text()), Doc: "the run that started this sub-agent, nil in the user's own run"},
	{Name: "parent_call_id", Type: nullable(text()), Doc: "the tool call that started this sub-agent, nil in the user's own run"},
	{Name: "loop_count", Type: number(), Doc: "how often this event has fired in this run before"},
	{Name: "state", Type: mapOf(anything()), Doc: "what this hook returned as state the last time that it fired in this run; empty at first"},
}

// The shapes of the table, short so that an event reads as one entry.

func anything() Type               { return Type{Kind: Any} }
func text() Type                   { return Type{Kind: String} }
func oneOf(v ...string) Type       { return Type{Kind: String, Values: v} }
func number() Type                 { return Type{Kind: Int} }
func listOf(elem Type) Type        { return Type{Kind: List, Elem: &elem} }
func mapOf(elem Type) Type         { return Type{Kind: Map, Elem: &elem} }
func object(f ...Field) Type       { return Type{Kind: Object, Fields: f} }
func nullable(t Type) Type         { t.Nullable = true; return t }
func value(t Type) *Type           { return &t }
func actions(a ...Action) []Action { return append([]Action{Allow}, a...) }
