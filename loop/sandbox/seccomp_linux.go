package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// auditArch is the kernel's name for this processor, 0 where none is known.
func auditArch() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	case "riscv64":
		return unix.AUDIT_ARCH_RISCV64
	}
	return 0
}

// refusedCalls change the machine, look into other processes, or are ways
// round the rest of the floor.
var refusedCalls = []uintptr{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_MOUNT_SETATTR,
	unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
}

// missingCalls answer "no such call", so that programs use another way.
// io_uring opens sockets and files past a filter.
var missingCalls = []uintptr{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// filterCalls installs the filter on the calling thread.
func filterCalls(network bool) error {
	const (
		ld, jeq, jge, ret           = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, unix.BPF_RET | unix.BPF_K
		offNumber, offArch, offArg0 = 0, 4, 16
		allow                       = unix.SECCOMP_RET_ALLOW
	)
	refuse := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	prog := []unix.SockFilter{
		{Code: ld, K: offArch},
		{Code: jeq, Jt: 1, K: auditArch()},
		// Another architecture's calls have other numbers: none of them.
		{Code: ret, K: refuse(unix.ENOSYS)},
		{Code: ld, K: offNumber},
	}
	if runtime.GOARCH == "amd64" { // x32 calls
		prog = append(prog, unix.SockFilter{Code: jge, Jf: 1, K: 0x40000000}, unix.SockFilter{Code: ret, K: refuse(unix.ENOSYS)})
	}
	when := func(nr uintptr, answer uint32) {
		prog = append(prog, unix.SockFilter{Code: jeq, Jf: 1, K: uint32(nr)}, unix.SockFilter{Code: ret, K: answer})
	}
	for _, nr := range refusedCalls {
		when(nr, refuse(unix.EPERM))
	}
	for _, nr := range missingCalls {
		when(nr, refuse(unix.ENOSYS))
	}
	if network {
		// Any internet socket, but no local one: those reach daemons that act
		// for the user.
		prog = append(prog,
			unix.SockFilter{Code: jeq, Jf: 6, K: uint32(unix.SYS_SOCKET)},
			unix.SockFilter{Code: ld, K: offArg0},
			unix.SockFilter{Code: jeq, Jt: 2, K: unix.AF_INET},
			unix.SockFilter{Code: jeq, Jt: 1, K: unix.AF_INET6},
			unix.SockFilter{Code: ret, K: refuse(unix.EACCES)},
			unix.SockFilter{Code: ret, K: allow},
			unix.SockFilter{Code: ret, K: refuse(unix.EACCES)},
		)
	} else {
		when(unix.SYS_SOCKET, refuse(unix.EACCES))
	}
	prog = append(prog, unix.SockFilter{Code: ret, K: allow})
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog))); errno != 0 {
		return fmt.Errorf("system call filter: %w", errno)
	}
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
		_ = unix.Close(fd)
		return fmt.Errorf("system call filter: not in force although the kernel accepted it")
	}
	return nil
}
