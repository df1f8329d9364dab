//go:build unix

package pool_test

// strangers are programs that speak no worker's language: one ends at once,
// one repeats what it hears.
var strangers = []string{"true", "cat"}
