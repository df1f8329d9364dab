package worker

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"agent-ls/hooks/worker/wire"
)

// The descriptors that the server hands over, beside the standard ones.
const (
	pageFD = 3
	lifeFD = 4
)

// shared gives the page that the server sees and the pipe that ends with it.
func shared(report *wire.Report) (*wire.Page, *os.File) {
	life := os.NewFile(lifeFD, "lifeline")
	mem, err := unix.Mmap(pageFD, 0, wire.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		report.LastWords = "no shared memory: " + err.Error()
		return wire.NewPage(), life
	}
	unix.Close(pageFD)
	return wire.PageAt(mem), life
}

func wait(life *os.File) {
	var b [1]byte
	life.Read(b[:])
}

// inherited names a descriptor that the server should not have left open.
func inherited() string {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err.Error()
	}
	for _, e := range list {
		n, _ := strconv.Atoi(e.Name())
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if n <= lifeFD || err != nil || ofRuntime(to) {
			continue
		}
		return "descriptor " + e.Name() + " is " + to
	}
	return ""
}

// ofRuntime tells the descriptors of the Go runtime: its poller, the processor
// quota that it watches, and the list that is being read.
func ofRuntime(to string) bool {
	for _, prefix := range []string{"anon_inode:", "/sys/fs/cgroup/", "/proc/"} {
		if strings.HasPrefix(to, prefix) {
			return true
		}
	}
	return false
}

// hardLimit bounds the data segment: what the kernel refuses beyond it ends
// the process at once.
func hardLimit(limit int64) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err.Error()
	}
	_, rest, ok := strings.Cut(string(status), "VmData:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return "the kernel does not tell the size of the process"
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return err.Error()
	}
	return rlimit(unix.RLIMIT_DATA, uint64(kib<<10+limit))
}

func rlimit(resource int, n uint64) string {
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		return fmt.Sprintf("limit %d: %v", resource, err)
	}
	return ""
}

// confine gives up files, network and processes for good.
func confine(report *wire.Report) {
	rlimit(unix.RLIMIT_CORE, 0)
	rlimit(unix.RLIMIT_FSIZE, 0)
	rlimit(unix.RLIMIT_MEMLOCK, 0)
	rlimit(unix.RLIMIT_NOFILE, 16)
	report.Landlock = noFiles()
	report.Seccomp = fewCalls()
}

func noFiles() string {
	const askVersion = 1
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, askVersion)
	if errno != 0 {
		return "the kernel has none: " + errno.Error()
	}
	if err := landlock.V9.BestEffort().Restrict(); err != nil {
		return fmt.Sprintf("version %d: %v", abi, err)
	}
	return ""
}

// allowed is what the Go runtime needs once it runs, and what the pipes need.
var allowed = []string{
	"read", "write", "close", "futex", "munmap", "madvise", "mincore", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
	"sigaltstack", "sched_yield", "nanosleep", "clock_nanosleep", "clock_gettime", "getpid", "gettid", "tgkill", "exit",
	"exit_group", "epoll_pwait", "epoll_wait", "epoll_ctl", "epoll_create1", "eventfd2", "fcntl", "getrandom",
	"sched_getaffinity", "restart_syscall", "rseq", "set_robust_list", "timer_create", "timer_settime", "timer_delete",
}

// deadly is what no mistake of ours calls: who does is ended.
var deadly = []string{
	"socket", "socketpair", "connect", "bind", "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv",
	"process_vm_writev", "mount", "unshare", "setns", "bpf", "io_uring_setup",
}

// fewCalls loads the filter of system calls. What is not named is refused.
func fewCalls() string {
	info, err := arch.GetInfo("")
	if err != nil {
		return err.Error()
	}
	has := func(names []string) (out []string) {
		for _, n := range names {
			if _, ok := info.SyscallNames[n]; ok {
				out = append(out, n)
			}
		}
		return out
	}
	notExecutable := seccomp.ArgumentConditions{{Argument: 2, Operation: seccomp.BitsNotSet, Value: unix.PROT_EXEC}}
	thread := seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}}
	filter := seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno,
			Syscalls: []seccomp.SyscallGroup{
				{Action: seccomp.ActionAllow, Names: has(allowed), NamesWithCondtions: []seccomp.NameWithConditions{
					{Name: "clone", Conditions: thread},
					{Name: "mmap", Conditions: notExecutable},
					{Name: "mprotect", Conditions: notExecutable},
				}},
				// A C library falls back to clone for this answer only.
				{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: has([]string{"clone3"})},
				{Action: seccomp.ActionKillProcess, Names: has(deadly)},
			},
		},
	}
	// The filter is loaded by one thread for all.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := seccomp.LoadFilter(filter); err != nil {
		return err.Error()
	}
	return ""
}

// try attempts one thing that a script must never reach, for a probe.
func try(what string) string {
	var err error
	switch what {
	case "open":
		_, err = os.Open("/etc/passwd")
	case "stat":
		_, err = os.Stat("/etc/passwd")
	case "create":
		_, err = os.Create("left-behind")
	case "list":
		_, err = os.ReadDir(".")
	case "limits":
		if msg := rlimit(unix.RLIMIT_NOFILE, 64); msg != "" {
			return msg
		}
	case "signal":
		err = unix.Kill(unix.Getppid(), 0)
	case "code":
		_, err = unix.Mmap(-1, 0, wire.PageSize, unix.PROT_EXEC|unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE)
	case "environment":
		if len(os.Environ()) == 0 {
			return "empty"
		}
	case "memory":
		for i := 0; i < 1<<10; i++ {
			hoard = append(hoard, make([]byte, 1<<20))
			for j := 0; j < 1<<20; j += 4096 {
				hoard[i][j] = 1
			}
		}
	case "socket":
		_, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	case "datagram":
		_, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	case "process":
		_, err = syscall.ForkExec("/bin/true", []string{"true"}, nil)
	case "exec":
		err = unix.Exec("/bin/true", []string{"true"}, nil)
	default:
		return "unknown attempt"
	}
	if err != nil {
		return err.Error()
	}
	return "" // it worked
}

var hoard [][]byte
