package main

import (
	"os"
	"syscall"
)

// peakMemory is the most that an ended process had in memory, in bytes.
func peakMemory(s *os.ProcessState) int64 {
	if used, ok := s.SysUsage().(*syscall.Rusage); ok {
		return used.Maxrss * 1024
	}
	return 0
}
