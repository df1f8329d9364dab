// Package server answers the protocol: one file per method, each with the same
// shape: find the document's snapshot, ask package feature, convert. Start at
// Server. What is built on top of it, the bridge to runs, comes in through
// Extension. A feature that fails never takes the server down.
package server
