//go:build !windows

package policy

// executableEnds are what a command's file may end with.
var executableEnds = []string{""}
