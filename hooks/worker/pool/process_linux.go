package pool

import (
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"agent-ls/hooks/worker/wire"
)

// removableInUse: a folder can be removed while a process is in it.
const removableInUse = true

// self is the running binary, even when its file was replaced.
func self() (string, error) { return "/proc/self/exe", nil }

// handOver gives the child the page and one end of the lifeline, as the
// descriptors 3 and 4.
func (p *process) handOver(ends *pipes) error {
	fd, err := unix.MemfdCreate("script-worker", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return err
	}
	mem := os.NewFile(uintptr(fd), "page")
	ends.theirs = append(ends.theirs, mem)
	if err := mem.Truncate(wire.PageSize); err != nil {
		return err
	}
	// A worker that made it smaller would crash the server, which reads it.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return err
	}
	page, err := unix.Mmap(fd, 0, wire.PageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	p.page = wire.PageAt(page)
	p.unmap = func() { unix.Munmap(page) }
	mine, theirs, err := ends.pair(false)
	if err != nil {
		return err
	}
	p.life = mine
	p.cmd.ExtraFiles = []*os.File{mem, theirs}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is for the server
	return nil
}

// keepToOurselves marks every descriptor that this process was given so that
// no child gets it. Those that Go opened are marked already.
func keepToOurselves() {
	unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}
