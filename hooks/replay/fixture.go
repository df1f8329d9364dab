package replay

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// A fixture is a TOML file beside a script: guard_test.toml holds cases for the
// functions of guard.risor. A case gives an event and what matters of its ctx,
// and what it wants of the script's decision.

const (
	fixtureEnding = "_test.toml"
	scriptEnding  = ".risor"

	maxFixture = 1 << 20 // bytes of a fixture's text
	maxCases   = 1000    // in one fixture
)

// IsFixture says whether a path is that of a fixture, and of which script.
func IsFixture(path string) (script string, ok bool) {
	stem, ok := strings.CutSuffix(filepath.Base(path), fixtureEnding)
	if !ok || stem == "" {
		return "", false
	}
	return filepath.Join(filepath.Dir(path), stem+scriptEnding), true
}

// FixtureOf is the path of the fixture of a script.
func FixtureOf(script string) string {
	return strings.TrimSuffix(script, scriptEnding) + fixtureEnding
}

// Fixture is what a fixture says.
type Fixture struct {
	Path  string
	Cases []Case
}

// Case is one moment and what is wanted of the script there.
type Case struct {
	Name  string
	Event string // of the contract
	At    time.Time
	Ctx   map[string]any // every field but event and state
	State map[string]any // nil is none
	// Decide are the answers to hook.decide, in the order of the questions.
	Decide []FixedAnswer
	Want   Want

	Span check.Span // of its header, or of the whole file's first key
}

// FixedAnswer answers one question of hook.decide.
type FixedAnswer struct {
	Question    string // must be this one, where HasQuestion
	HasQuestion bool
	Answers     any
	Refused     string // why there is no answer
	Span        check.Span
}

// Want is what a case wants of a decision; what is not given is not compared.
type Want struct {
	Action contract.Action // Failed is a broken script
	Given  map[string]bool // the keys that are compared

	Reason  string
	Value   any
	IsError bool
	Calls   []string
	State   map[string]any
	Error   string // part of the failure's message
	Printed string // part of what it printed

	spans map[string]check.Span
}

// defaultMoment is the clock of a case that names none.
var defaultMoment = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// The keys of a fixture, of a case, of what it wants and of an answer.
var (
	caseKeys   = []string{"name", "event", "at", "ctx", "ctx_json", "state", "decide", "want"}
	wantKeys   = []string{"action", "reason", "value", "value_json", "is_error", "calls", "state", "error", "printed"}
	answerKeys = []string{"question", "answers", "refused"}
)

// ReadFixture reads a fixture and checks it against the contract. script gives
// the text of the script beside it; false is that there is none. The fixture is
// nil when there is a finding of severity error.
func ReadFixture(path string, text []byte, script func(path string) ([]byte, bool)) (*Fixture, []check.Finding) {
	r := &fixtureReader{path: path, fixture: &Fixture{Path: path}}
	t, fault := readTOML(text)
	if fault != nil {
		r.add(check.CodeManifestSyntax, fault.span, "%s", fault.message)
		return nil, r.findings
	}
	r.toml = t
	r.script(script)
	r.cases()
	slices.SortStableFunc(r.findings, func(a, b check.Finding) int { return a.Span.Start - b.Span.Start })
	if slices.ContainsFunc(r.findings, func(f check.Finding) bool { return f.Severity == check.Error }) {
		return nil, r.findings
	}
	return r.fixture, r.findings
}
