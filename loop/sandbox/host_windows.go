package sandbox

import (
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// host is what a running process needs besides exec.Cmd: a job, which ends
// all that is in it when it is closed.
type host struct {
	job windows.Handle
}

func (h *host) group(*exec.Cmd) {}

func (h *host) started(cmd *exec.Cmd, err error) {
	if err != nil {
		return
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		var p windows.Handle
		p, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
		if err == nil {
			err = windows.AssignProcessToJobObject(job, p)
			_ = windows.CloseHandle(p)
		}
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return
	}
	h.job = job
}

func (h *host) stop(cmd *exec.Cmd) {
	if h.job != 0 {
		_ = windows.TerminateJobObject(h.job, 1)
	}
	_ = cmd.Process.Kill()
}

func (h *host) ended(*exec.Cmd) {
	if h.job != 0 {
		_ = windows.CloseHandle(h.job)
		h.job = 0
	}
}

func status(s *os.ProcessState) (int, string) { return s.ExitCode(), "" }

func (s *starting) serve() {
	for job := range s.jobs {
		job()
	}
}
