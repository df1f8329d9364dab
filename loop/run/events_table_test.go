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
	"on_error":         "../:TestHookDecisions",

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
	"compact:start":         "TestAutoCompact",
	"compact:end":           "TestAutoCompact",
	"skills:deactivate":     "TestASkillIsTakenUpAndPutDown",

	"provider:input-transformations": "TestProvidersRemarks",
	"provider:diagnostic":            "TestProvidersRemarks",
	"output":                         "TestARunWithAnOutputSchema",
	"turn:before":                    "TestBrokenTransformsEndTheRun",
	"system:transform":               "TestBrokenTransformsEndTheRun",
	"context:transform":              "TestHooksChangeARequest",
	"stream:start":                   "TestStreamEvents",
	"stream:text":                    "TestStreamEvents",
	"stream:end":                     "TestStreamEvents",
	"stream:progress":                "TestStreamEvents",
	"stream:error":                   "TestStreamEvents",
	"stream:retry":                   "TestStreamEvents",
	"model:fallback":                 "TestStreamEvents",
	"context:overflow":               "TestOverflowCutoffStays",
	"steer:inject":                   "TestSteeringSkipsTheRestOfABatch",
	"tool-results:after":             "TestOrderOfTheEventsAboutCalls",
	"tool:gate":                      "TestOrderOfTheEventsAboutCalls",
	"tool:dispatched":                "TestOrderOfTheEventsAboutCalls",
	"tool:before":                    "TestOrderOfTheEventsAboutCalls",
	"tool:unknown":                   "TestOrderOfTheEventsAboutCalls",
	"tool:transform":                 "TestOrderOfTheEventsAboutCalls",
	"tool:after":                     "TestOrderOfTheEventsAboutCalls",
	"validation:reject":              "TestOrderOfTheEventsAboutCalls",
	"validation:coerce":              "TestOrderOfTheEventsAboutCalls",
	"tool:error":                     "TestScriptsOfTheEventsAboutCalls",
	"budget:exceeded":                "TestOutputBudget",
	"tool-budget:exceeded":           "TestToolBudgets",
	"repeat-guard:exceeded":          "TestRepeatGuard",
	"background:start":               "TestBackgroundTask",
	"background:exit":                "TestBackgroundTask",
	"background:stall":               "TestAStalledTaskIsSaid",
	"background:reassign":            "TestASubAgentsTaskGoesToItsParent",
	"child:background:start":         "TestASubAgentsTaskGoesToItsParent",
	"background:adopt":               "TestATaskOutlivesARunThatIsDone",
	"background:reconcile":           "TestATaskOutlivesARunThatIsDone",
	"decision:start":                 "TestDecideAsksTheModelBesideTheRun",
	"decision:end":                   "TestDecideAsksTheModelBesideTheRun",
	"cache:break":                    "TestCacheTelemetry",
	"cache:drift":                    "TestCacheTelemetry",
	"history:repair":                 "TestThinkingIsSentBackToItsModelOnly",
	"spawn:queued":                   "TestSpawnEventsOfTheParent",
	"spawn:before":                   "TestSpawnEventsOfTheParent",
	"spawn:complete":                 "TestSpawnEventsOfTheParent",
	"spawn:error":                    "TestTheTopHearsOfEverySubAgent",
	"child:spawn:complete":           "TestTheParentHearsItsChildsEvents",
	"child:spawn:error":              "TestTheTopHearsOfEverySubAgent",
	"child:tool:after":               "TestTheParentHearsItsChildsEvents",
	"child:tool:before":              "TestTheParentHearsItsChildsEvents",
	"child:tool:dispatched":          "TestTheParentHearsItsChildsEvents",
	"child:turn:after":               "TestTheParentHearsItsChildsEvents",
	"child:validation:reject":        "TestTheParentHearsItsChildsEvents",
	"child:tool:gate":                "TestTheParentGatesItsChildsCalls",
	"child:tool:transform":           "TestTheParentGatesItsChildsCalls",

	"mcp:tool:gate":                   "TestEventsOfTheCallsOfAServersTools",
	"mcp:tool:before":                 "TestEventsOfTheCallsOfAServersTools",
	"mcp:tool:transform":              "TestEventsOfTheCallsOfAServersTools",
	"mcp:tool:after":                  "TestEventsOfTheCallsOfAServersTools",
	"mcp:tool:error":                  "TestEventsOfTheCallsOfAServersTools",
	"child:mcp:tool:gate":             "TestHooksOfTheCallsOfAServersTools",
	"child:mcp:tool:transform":        "TestHooksOfTheCallsOfAServersTools",
	"mcp:error":                       "TestEventsOfAConnectionThatBreaks",
	"mcp:warn":                        "TestEventsOfAConnectionThatBreaks",
	"mcp:close":                       "TestEventsOfAConnectionThatBreaks",
	"tool:cancelled":                  "TestACallThatIsCancelledByItselfIsHeard",
	"child:tool:error":                "TestTheParentHearsOfASubAgentsTrouble",
	"child:repeat-guard:exceeded":     "TestTheParentHearsOfASubAgentsTrouble",
	"child:artifact:recorded":         "TestTheParentHearsOfASubAgentAtWork",
	"child:tool:cancelled":            "TestTheParentHearsOfASubAgentAtWork",
	"child:spawn:before":              "TestTheTopHearsOfEverySubAgent",
	"child:spawn:queued":              "TestTheTopHearsOfEverySubAgent",
	"stream:thinking":                 "TestEventsOfThinkingAndOfTheProvidersTools",
	"stream:server_tool_use":          "TestEventsOfThinkingAndOfTheProvidersTools",
	"stream:server_tool_result":       "TestEventsOfThinkingAndOfTheProvidersTools",
	"child:stream:end":                "TestTheParentHearsItsChildsStream",
	"child:stream:error":              "TestTheParentHearsItsChildsStream",
	"child:stream:retry":              "TestTheParentHearsItsChildsStream",
	"child:stream:server_tool_result": "TestTheParentHearsItsChildsStream",
	"child:stream:server_tool_use":    "TestTheParentHearsItsChildsStream",
	"child:stream:text":               "TestTheParentHearsItsChildsStream",
	"child:stream:thinking":           "TestTheParentHearsItsChildsStream",
	"compact:progress":                "TestASummaryTellsHowFarItIs",
	"child:background:exit":           "TestTheParentHearsOfItsChildsTask",
	"child:background:stall":          "TestTheParentHearsOfItsChildsTask",
	"child:background:adopt":          "TestTheParentHearsItsChildTakeUpATask",
	"child:background:reassign":       "TestTheTopHearsWhoseATaskIs",
	"child:background:reconcile":      "TestTheParentHearsOfATaskThatIsGone",
	"pairing:repair":                  "TestADamagedPairIsRepairedAndHeard",
	"mcp:auth:required":               "TestEventsOfALogin",
	"mcp:auth:url":                    "TestEventsOfALogin",
	"mcp:auth:success":                "TestEventsOfALogin",
	"mcp:auth:error":                  "TestEventsOfALogin",
}

// notYet are the events that no test here makes happen, with the reason. It
// shrinks to nothing: an event is moved to causedBy together with its test.
var notYet = map[string]string{}

func TestEveryEventHasATest(t *testing.T) {
	for _, e := range contract.Events() {
		test, caused := causedBy[e.Name]
		why, waits := notYet[e.Name]
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
