//go:build !linux

package sandbox

import "runtime"

func (f *Floor) try(k Kind) string {
	return "not available on " + runtime.GOOS
}

func (f *Floor) prepare(p *Process) error { return f.plain(p) }

// Main does nothing on this system: commands need no help from the program.
func Main() {}
