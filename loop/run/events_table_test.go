package run

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agent-ls/hooks/contract"
)

// causedBy names, for each event of the contract, the test that makes its real
// cause happen. A test of another package is written as folder:Test.
var causedBy = map[string]string{
	"on_stage_enter":   "../:TestPointsFireWhereThePictureSays",
	"before_inference": "../:TestPointsFireWhereThePictureSays",
	"after_inference":  "../:TestPointsFireWhereThePictureSays",
	"on_tool_call":     "TestRealScriptsRulesAndTools",
	"on_stage_exit":    "../:TestPointsFireWhereThePictureSays",
	"on_completion":    "../:TestPointsFireWhereThePictureSays",
	"on_error":         "../:TestPointsFireWhereThePictureSays",

	"session:start": "TestEventsOfARunInTheirOrder",
	"session:end":   "TestEventsOfARunInTheirOrder",
	"session:turns": "TestEventsOfARunInTheirOrder",
	"session:meta":  "TestEventsOfARunInTheirOrder",
	"session:save":  "TestEventsOfARunInTheirOrder",
	"system:before": "TestEventsOfARunInTheirOrder",
	"agent:start":   "TestEventsOfARunInTheirOrder",
	"agent:done":    "TestEventsOfARunInTheirOrder",
	"agent:abort":   "TestEventsOfARunThatIsCancelled",
	"turn:after":    "TestEventsOfARunInTheirOrder",
	"usage":         "TestEventsOfARunInTheirOrder",
	"notification":  "TestEventsOfARunInTheirOrder",

	"pre_tool":    "TestCommandHooksOfARun",
	"post_tool":   "TestCommandHooksOfARun",
	"user_prompt": "TestCommandHooksOfARun",
	"stop":        "TestCommandHooksOfARun",
	"session_end": "TestCommandHooksOfARun",

	"replay:done":              "TestHostEventsAreRaisedFromOutside",
	"oauth:refresh":            "TestHostEventsAreRaisedFromOutside",
	"content-ref:resolve":      "TestHostEventsAreRaisedFromOutside",
	"tool-state:commit-failed": "TestHostEventsAreRaisedFromOutside",
	"execution:ready":          "TestHostEventsAreRaisedFromOutside",
	"artifact:recorded":        "TestHostEventsAreRaisedFromOutside",

	"tool-batch:resumed":    "TestHooksSeeABatchTakenUpBeforeItsCallsRun",
	"resume:mismatch":       "TestARunWhoseStepsDoNotFitIsClosed",
	"tracing:redact":        "../../cmd/agent-ls:TestScripts", // sessions_redact.txtar
	"mcp:bootstrap:start":   "TestEventsOfServers",
	"mcp:bootstrap:end":     "TestEventsOfServers",
	"mcp:bootstrap:settled": "TestEventsOfServers",
	"mcp:tools:list":        "TestEventsOfServers",
	"mcp:connect":           "TestEventsOfServers",
	"mcp:tools:filter":      "TestEventsOfServers",
	"skills:resolve":        "TestASkillIsTakenUpAndPutDown",
	"skills:catalog":        "TestASkillIsTakenUpAndPutDown",
	"skills:activate":       "TestASkillIsTakenUpAndPutDown",
	"skills:deactivate":     "TestASkillIsTakenUpAndPutDown",
}

// notYet are the events that nothing raises yet, by what is to raise them. It
// shrinks to nothing: an event is moved to causedBy together with its test.
var notYet = map[string]string{
	"turn:before": "model requests", "context:transform": "model requests", "system:transform": "model requests",
	"stream:start": "streams", "stream:thinking": "streams", "stream:text": "streams", "stream:end": "streams", "stream:progress": "streams",
	"stream:server_tool_use": "tools of providers", "stream:server_tool_result": "tools of providers",
	"stream:error": "streams", "stream:retry": "streams", "model:fallback": "fallback", "context:overflow": "overflow",
	"compact:start": "compaction", "compact:progress": "compaction", "compact:end": "compaction",
	"steer:inject": "steering", "tool-results:after": "batches", "output": "structured output",
	"tool:gate": "the dispatcher", "tool:dispatched": "the dispatcher", "tool:before": "the dispatcher", "tool:unknown": "the dispatcher",
	"tool:transform": "the dispatcher", "tool:after": "the dispatcher", "tool:error": "the dispatcher", "tool:cancelled": "the dispatcher",
	"validation:reject": "the dispatcher", "validation:coerce": "the dispatcher",
	"budget:exceeded": "budgets", "tool-budget:exceeded": "budgets", "repeat-guard:exceeded": "budgets",
	"mcp:tool:gate": "MCP", "mcp:tool:before": "MCP", "mcp:tool:transform": "MCP", "mcp:tool:after": "MCP", "mcp:tool:error": "MCP",

	"mcp:error": "MCP", "mcp:warn": "MCP", "mcp:close": "MCP",
	"mcp:auth:required": "MCP", "mcp:auth:url": "MCP", "mcp:auth:success": "MCP", "mcp:auth:error": "MCP",

	"background:start": "background tasks", "background:exit": "background tasks", "background:stall": "background tasks",
	"background:reassign": "background tasks", "background:adopt": "background tasks", "background:reconcile": "background tasks",
	"decision:start": "decisions", "decision:end": "decisions",
	"cache:break": "cache telemetry", "cache:drift": "cache telemetry", "history:repair": "repairs", "pairing:repair": "repairs",
	"provider:input-transformations": "providers", "provider:diagnostic": "providers",
	"spawn:queued": "sub-agents", "spawn:before": "sub-agents", "spawn:complete": "sub-agents", "spawn:error": "sub-agents",
}

func TestEveryEventHasATest(t *testing.T) {
	for _, e := range contract.Events() {
		test, caused := causedBy[e.Name]
		why, waits := notYet[e.Name]
		if strings.HasPrefix(e.Name, "child:") && !caused {
			why, waits = "sub-agents", true
		}
		switch {
		case caused && notYet[e.Name] != "":
			t.Errorf("%s has a test and waits for %s", e.Name, why)
		case !caused && !waits:
			t.Errorf("%s has no test that makes it happen", e.Name)
		case caused && !testExists(t, test):
			t.Errorf("%s is caused by %s, which is no test", e.Name, test)
		}
	}
	for _, list := range []map[string]string{causedBy, notYet} {
		for name := range list {
			if contract.ByName(name) == nil {
				t.Errorf("%s is no event", name)
			}
		}
	}
}

func testExists(t *testing.T, name string) bool {
	t.Helper()
	dir := "."
	if folder, test, other := strings.Cut(name, ":"); other {
		dir, name = folder, test
	}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if want.Match(text) {
			return true
		}
	}
	return false
}
