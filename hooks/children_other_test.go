//go:build !linux

package hooks_test

import "testing"

func killBusyChild(*testing.T) {}
