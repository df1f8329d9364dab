package pool

import "os"

// removableInUse: a folder in use stays until its process is gone.
const removableInUse = false

func self() (string, error) { return os.Executable() }

// handOver: the child watches the process that started it instead.
func (p *process) handOver(*pipes) error { return nil }

// keepToOurselves: only the standard handles are handed on.
func keepToOurselves() {}
