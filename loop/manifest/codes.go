package manifest

import "agent-ls/hooks/check"

// Codes of the findings about settings.
const (
	CodeSyntax           check.Code = "manifest-syntax"
	CodeUnknownKey       check.Code = "unknown-key"
	CodeWrongType        check.Code = "wrong-type"
	CodeMissingFile      check.Code = "missing-file"
	CodeMissingFunction  check.Code = "missing-function"
	CodeUnknownStage     check.Code = "unknown-stage"
	CodeUnknownTool      check.Code = "unknown-tool"
	CodeUnknownEvent     check.Code = "unknown-event"
	CodeUnreachableStage check.Code = "unreachable-stage"
	CodeNotAllowedHere   check.Code = "not-allowed-here"
	CodeSecret           check.Code = "secret-in-file"
	CodeUntrusted        check.Code = "untrusted"
	CodeUndefined        check.Code = "undefined"   // a model that nothing defines
	CodeUnavailable      check.Code = "unavailable" // a setting that this version does not act on
)

// Findings about values that come from no file bear one of these as path, and
// an empty span.
const (
	EnvironmentPath = "environment"
	ClientPath      = "client settings"
	FlagPath        = "flags"
)
