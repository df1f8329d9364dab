// Package bridge puts the agent on the editor's connection: runs, approvals
// and decisions over the `agent/*` methods, and for an editor that knows
// nothing of them the same through the standard parts of the protocol. Start
// at New, which gives the server its extension; wire.go has every shape that
// crosses the connection, methods.go the table of methods. It decides nothing
// about a run: that is loop/run's, of which there is one Service per workspace
// folder, made when something first needs it.
package bridge
