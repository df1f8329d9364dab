// Package rpc owns the connection to an editor: framing that survives broken
// messages, the order of handling, release, cancellation, life cycle, the
// codec and the trace. Start at Conn.Serve. It knows the protocol's methods
// but no feature.
//
// Every message goes through four layers, outermost first:
//
//	guard    recovers, answers, enforces the life cycle; no fault of a single
//	         message gets past it to the connection, which would die of it
//	cancel   ends the context of a request that `$/cancelRequest` names
//	release  lets a request run beside what follows, after it took its
//	         snapshot; notifications stay on the reading goroutine, in order
//	dispatch looks the method up in the handler's table
package rpc
