package check

// Rule is one row of the table of codes: what a finding with it means and what
// to do about it. docs/diagnostics.md is generated from the table.
type Rule struct {
	Code     Code
	Severity Severity
	Tags     []Tag
	Says     string // one line
	Do       string // one or two sentences
	Manifest bool   // about agent.toml, not about a script
	Recorded bool   // from runs that were recorded; needs --recorded
}

// The codes of findings in scripts.
const (
	CodeSyntax            Code = "syntax"
	CodeUndefined         Code = "undefined"
	CodeMissingFunction   Code = "missing-function"
	CodeArity             Code = "arity"
	CodeUnavailable       Code = "unavailable"
	CodeUnknownAction     Code = "unknown-action"
	CodeActionNotHonoured Code = "action-not-honoured"
	CodeReturnShape       Code = "return-shape"
	CodeUnknownField      Code = "unknown-field"
	CodeContextMutation   Code = "context-mutation"
	CodeNotAFunction      Code = "not-a-function"
	CodeBadArgument       Code = "bad-argument"
	CodeBadRegexp         Code = "bad-regexp"
	CodeEndlessLoop       Code = "endless-loop"
	CodeUnused            Code = "unused"
	CodeUnreachable       Code = "unreachable"
	CodeShadowed          Code = "shadowed"
	CodeNoDecision        Code = "no-decision"
	CodeLostDecision      Code = "lost-decision"
	CodeSubstringGuard    Code = "substring-guard"
	CodeUnreferenced      Code = "unreferenced"
	CodeFailedAtRunTime   Code = "failed-at-run-time"
	CodeSlow              Code = "slow"
)

// The codes of findings in a manifest.
const (
	CodeManifestSyntax   Code = "manifest-syntax"
	CodeUnknownKey       Code = "unknown-key"
	CodeWrongType        Code = "wrong-type"
	CodeMissingFile      Code = "missing-file"
	CodeUnknownStage     Code = "unknown-stage"
	CodeUnknownTool      Code = "unknown-tool"
	CodeUnknownEvent     Code = "unknown-event"
	CodeUnreachableStage Code = "unreachable-stage"
	CodeNotAllowedHere   Code = "not-allowed-here"
	CodeSecretInFile     Code = "secret-in-file"
	CodeUntrusted        Code = "untrusted"
	CodeSkillFile        Code = "skill-file"
	CodeCannotStart      Code = "cannot-start"
)

var rules = []Rule{
	{Code: CodeSyntax, Severity: Error, Says: "The script does not parse or compile here.",
		Do: "Correct what the message names. After an error the checker goes on with the next statement or top-level function, so every message is about a place of its own."},
	{Code: CodeUndefined, Severity: Error, Says: "A name that nothing defines, or that is defined further down only.",
		Do: "Use the name that the message offers, define it, or move the definition above its use: a function sees only what stands before it."},
	{Code: CodeMissingFunction, Severity: Error, Says: "The manifest names this script for a point whose function the script does not define.",
		Do: "Define the function, rename the one that is misspelt, or take the script out of the manifest."},
	{Code: CodeArity, Severity: Error, Says: "A hook function with other than one parameter, or a call with a wrong number of arguments.",
		Do: "Give a hook function exactly one parameter, ctx. Give a call the arguments that the message names."},
	{Code: CodeUnavailable, Severity: Error, Says: "Something of Risor's that hooks do not have: files, network, environment, processes, concurrency. In agent.toml: a setting that this version does not act on, a warning unless it is a gate.",
		Do: "Decide from ctx alone. What a hook should know, put into ctx.state or into a region. In agent.toml: take the setting out until it is in force."},
	{Code: CodeUnknownAction, Severity: Error, Says: "A returned action that does not exist.",
		Do: "Use one of allow, modify, deny, substitute, cancel and retry, as far as the event honours it."},
	{Code: CodeActionNotHonoured, Severity: Error, Says: "A returned action that this event does not honour.",
		Do: "Use one of the actions that the message names; the hook reference lists them for each event."},
	{Code: CodeReturnShape, Severity: Error, Says: "A returned value that is no decision, or a modify value of another shape than the event takes.",
		Do: "Return nil, true, false or {action: ...}. Remember that a function without return gives its last expression."},
	{Code: CodeUnknownField, Severity: Error, Says: "A field or attribute that the value does not have; reading it throws.",
		Do: "Use the name that the message offers. ctx has only the fields of its own event."},
	{Code: CodeContextMutation, Severity: Warning, Says: "An assignment to ctx or to something in it, which changes nothing.",
		Do: "Return a decision instead: ctx is a copy."},
	{Code: CodeNotAFunction, Severity: Error, Says: "A call of something that cannot be called.",
		Do: "Take the brackets away, or call the function that was meant."},
	{Code: CodeBadArgument, Severity: Error, Says: "An argument of a type that the function refuses.",
		Do: "Convert it, for example with string() or int(), or give another."},
	{Code: CodeBadRegexp, Severity: Error, Says: "A regular expression that does not compile.",
		Do: "Correct the pattern; its syntax is that of Go's regexp package."},
	{Code: CodeEndlessLoop, Severity: Warning, Says: "A loop without condition, break or return.",
		Do: "Give it a way out. The operation budget would stop it, and the run with it."},
	{Code: CodeUnused, Severity: Hint, Tags: []Tag{Unnecessary}, Says: "A name that is never read.",
		Do: "Remove it, or call it _."},
	{Code: CodeUnreachable, Severity: Hint, Tags: []Tag{Unnecessary}, Says: "Statements that never run.",
		Do: "Remove them, or the return, break or continue before them."},
	{Code: CodeShadowed, Severity: Hint, Says: "A name that hides another one of an outer block or of the library.",
		Do: "Choose another name if both are needed."},
	{Code: CodeNoDecision, Severity: Information, Says: "A path through the function that ends without returning anything, which allows.",
		Do: "Write return nil where that is meant."},
	{Code: CodeLostDecision, Severity: Error, Says: "A decision that is made and not returned, so that it decides nothing.",
		Do: "Write return before it."},
	{Code: CodeSubstringGuard, Severity: Information, Says: "A guard that looks for a command by a piece of text.",
		Do: "Use shell.commands: a piece of text is found in harmless lines and missed in others, such as r\"\"m or $(echo rm)."},
	{Code: CodeUnreferenced, Severity: Information, Says: "A script with hook functions that no stage and no event names.",
		Do: "Name it in agent.toml under [stages.NAME.hooks], or remove it: a guard that never fires looks like one that allows."},
	{Code: CodeFailedAtRunTime, Severity: Error, Recorded: true, Says: "Where this script failed in its last run.",
		Do: "Correct it; the finding goes when the script is edited."},
	{Code: CodeSlow, Severity: Information, Recorded: true, Says: "A hook that took more than 10 ms in one of twenty recorded firings.",
		Do: "Do less in it: every decision waits for it."},

	{Code: CodeManifestSyntax, Severity: Error, Manifest: true, Says: "The manifest is no TOML.", Do: "Correct what the message names."},
	{Code: CodeUnknownKey, Severity: Error, Manifest: true, Says: "A key that the manifest does not have there.",
		Do: "Use the key that the message offers; a point of a stage is one of the seven stage points."},
	{Code: CodeWrongType, Severity: Error, Manifest: true, Says: "A value of another type than the key takes.", Do: "Write the value as the message says."},
	{Code: CodeMissingFile, Severity: Error, Manifest: true, Says: "A file that is not there, or that lies outside the folder of the manifest.",
		Do: "Create it, or correct the path: it is relative to the folder of .agent-ls."},
	{Code: CodeUnknownStage, Severity: Error, Manifest: true, Says: "A stage that the manifest does not define.", Do: "Use the name that the message offers, or define the stage."},
	{Code: CodeUnknownTool, Severity: Error, Manifest: true, Says: "A tool that does not exist.", Do: "Use the name that the message offers."},
	{Code: CodeUnknownEvent, Severity: Error, Manifest: true, Says: "An event that the hook contract does not have.", Do: "Use the name that the message offers; the hook reference lists all."},
	{Code: CodeUnreachableStage, Severity: Warning, Manifest: true, Says: "A stage that nothing leads to.", Do: "Name it as next, in a transition or as entry, or remove it."},
	{Code: CodeNotAllowedHere, Severity: Warning, Manifest: true, Says: "A setting that a workspace cannot make; it has no effect.", Do: "Move it to your own config file."},
	{Code: CodeSecretInFile, Severity: Error, Manifest: true, Says: "A literal key in a file.", Do: "Name a variable with api_key_env or a command with api_key_command, and replace the key: it has been seen."},
	{Code: CodeUntrusted, Severity: Warning, Manifest: true, Says: "A command that waits for your trust and does not run until then.", Do: "Read it, then trust it in the editor or with agent-ls hooks trust."},
	{Code: CodeSkillFile, Severity: Warning, Manifest: true, Says: "A SKILL.md that cannot be used; the other skills can.",
		Do: "Begin it with a line ---, name and description as YAML, and a line ---, as the message says."},
	{Code: CodeCannotStart, Severity: Error, Manifest: true, Says: "A run that cannot start as a whole: no such agent or model, a model that cannot be used, a stage that is missing. Only a start says it; agent-ls check does not.",
		Do: "Correct what the message names: the flag, the agent's model or entry, the key or the price of the model."},
}

// Codes gives the table of all codes, in the order of the reference page.
func Codes() []Rule { return append([]Rule(nil), rules...) }

var ruleByCode = func() map[Code]*Rule {
	m := make(map[Code]*Rule, len(rules))
	for i := range rules {
		m[rules[i].Code] = &rules[i]
	}
	return m
}()

// RuleOf gives the row of a code, nil when there is none.
func RuleOf(c Code) *Rule { return ruleByCode[c] }

var severityNames = [...]string{NoSeverity: "none", Error: "error", Warning: "warning", Information: "information", Hint: "hint"}

// String gives the severity as the command line prints it.
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return "none"
}

// NewFinding makes a finding with the severity and tags of its code. Callers
// that find things elsewhere, such as in a manifest, use it too.
func NewFinding(code Code, path string, span Span, message string) Finding {
	f := Finding{Path: path, Span: span, Code: code, Message: message}
	if r := ruleByCode[code]; r != nil {
		f.Severity = r.Severity
		f.Tags = append([]Tag(nil), r.Tags...)
	}
	return f
}
