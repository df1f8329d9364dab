//go:build unix && !linux

package pool

import (
	"os"
	"syscall"
)

// removableInUse: a folder can be removed while a process is in it.
const removableInUse = true

func self() (string, error) { return os.Executable() }

// handOver gives the child one end of the lifeline, as descriptor 3.
func (p *process) handOver(ends *pipes) error {
	mine, theirs, err := ends.pair(false)
	if err != nil {
		return err
	}
	p.life = mine
	p.cmd.ExtraFiles = []*os.File{theirs}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

// keepToOurselves: Go marks what it opens, and there is no call for the rest.
func keepToOurselves() {}
