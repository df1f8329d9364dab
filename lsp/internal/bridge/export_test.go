package bridge

// What the tests from outside share with those from inside.
var (
	CheckAgainst = checkAgainst
	FileURI      = fileURI
	AgentFlags   = agentFlags
)
