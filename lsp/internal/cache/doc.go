// Package cache owns what the server knows: a Session has the workspace
// folders and the open documents, a Snapshot is all of it at one moment, and a
// View is one folder's configuration as the open documents have it. Start at
// Session. Every change goes through Session.update, with its cause; nothing
// that was published is changed again.
package cache
