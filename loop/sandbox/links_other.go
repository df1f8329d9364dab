//go:build !unix

package sandbox

import "io/fs"

// links is how many names a file has; where it cannot be told, one.
func links(fs.FileInfo) int { return 1 }
