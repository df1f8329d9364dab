package loop

// Verdict is what a layer of the gate says about a call.
type Verdict string

const (
	VerdictNone  Verdict = ""
	VerdictAllow Verdict = "allow"
	VerdictAsk   Verdict = "ask"
	VerdictDeny  Verdict = "deny"
)

// Layer names a layer of the gate, in the order in which they are asked.
type Layer string

const (
	LayerSchema   Layer = "schema"
	LayerHook     Layer = "hook"
	LayerBuiltin  Layer = "builtin"
	LayerRule     Layer = "rule"
	LayerTaint    Layer = "taint"
	LayerApproval Layer = "approval"
)

// GateStep is what one layer said, for the record and for agent/explain.
type GateStep struct {
	Layer   Layer   `json:"layer"`
	Source  string  `json:"source,omitempty"` // the rule, the hook, the option
	Fired   bool    `json:"fired"`
	Outcome Verdict `json:"outcome"`
	Because string  `json:"because"`
}

// Judgement is what the rules say about one prepared call.
type Judgement struct {
	Verdict Verdict
	Steps   []GateStep
	// Session and Always are what such a grant would cover, as policy rules;
	// empty when that outcome cannot be offered.
	Session, Always string
	// MustAsk: nothing but a person's answer to this very call can allow it.
	MustAsk bool
}

// Mode is how a run treats what would ask.
type Mode string

const (
	ModeAsk  Mode = "ask"
	ModePlan Mode = "plan"
	ModeAuto Mode = "auto"
)

// Stricter is the stricter of two modes: plan before ask before auto.
func (m Mode) Stricter(other Mode) Mode {
	rank := func(m Mode) int {
		switch m {
		case ModePlan:
			return 0
		case ModeAuto:
			return 2
		}
		return 1
	}
	if rank(other) < rank(m) {
		return other
	}
	return m
}
