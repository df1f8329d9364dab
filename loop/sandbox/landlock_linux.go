package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"agent-ls/loop/realpath"
)

// The first argument with which the program acts as a part of the floor.
const (
	superviseArg = "__agent-ls-sandbox-supervise"
	confineArg   = "__agent-ls-sandbox-confine"
)

// self is this very program, even if its file was replaced meanwhile.
const self = "/proc/self/exe"

// acting is set once Main was called: only then is it safe to start this very
// program as a part of the floor, since another would start over as itself.
var acting atomic.Bool

// spec is what the parts of the floor are told.
type spec struct {
	Line, Dir, Shell string
	Env              []string
	Read             []string // folders and files, whole
	Write            []string // folders, whole
	Make             []string // folders in which files may be made and written, but none read that no other rule names
	Network          bool
}

// Main makes the program act as a part of the floor when it was started as
// one; it does not return then. Call it first in main and in TestMain.
func Main() {
	acting.Store(true)
	if len(os.Args) != 2 {
		return
	}
	switch os.Args[1] {
	case superviseArg:
		os.Exit(supervise())
	case confineArg:
		err := confine()
		fmt.Fprintf(os.Stderr, "agent-ls: the sandbox could not be laid: %v\n", err)
		os.Exit(126)
	}
}

// landlockABI is the kernel's version of Landlock and, when it cannot be used,
// why not.
func landlockABI() (int, string) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno != 0:
		return 0, "this kernel does not offer it: " + errno.Error()
	case abi < 3:
		return int(abi), fmt.Sprintf("version %d of this kernel cannot keep files from being truncated", abi)
	case auditArch() == 0:
		return int(abi), "no system call filter for " + runtime.GOARCH
	case !acting.Load():
		return int(abi), "this program does not act as the sandbox"
	}
	return int(abi), ""
}

func (f *Floor) prepareLandlock(p *Process) error {
	var err error
	if p.temp, err = os.MkdirTemp("", "agent-ls-run-"); err != nil {
		return err
	}
	p.temp = realpath.Resolve(p.temp)
	hidden := f.hidden()
	secret, _ := f.secretFiles()
	unseen := append(slices.Clone(hidden), secret...)
	s := spec{
		Line: p.line, Dir: p.dir, Shell: p.shell, Network: f.config.Network,
		Env:  append(f.environment(os.Environ(), p.temp), p.Env...),
		Read: around("/", unseen),
	}
	for _, w := range append(f.writable(), p.temp) {
		s.Write = append(s.Write, around(w, unseen)...)
		if !slices.ContainsFunc(hidden, func(h string) bool { return realpath.Within(w, h) }) {
			s.Make = append(s.Make, between(w, secret)...)
		}
	}
	if f.dirs.Cache != "" {
		s.Write = append(s.Write, filepath.Join(f.dirs.Cache, "tools"))
	}
	if len(s.Make) > 0 {
		p.hint = "some files here may not be read, so in the folders that hold them a command can write new files but not read them back; the next command can"
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	p.host.lifeline = [2]*os.File{r, w}
	p.host.supervised = true
	p.host.told = text
	p.cmd = exec.Command(self, superviseArg)
	p.cmd.Dir = "/"
	p.cmd.Env = []string{"GOMAXPROCS=2"}
	p.cmd.ExtraFiles = []*os.File{r}
	p.host.group(p.cmd)
	return nil
}

// around lists the paths that together are all of a folder but for what is
// hidden: Landlock can only allow, and only whole folders. A link is left out,
// since it might lead to what is hidden; what it leads to is there by itself.
func around(folder string, hidden []string) []string {
	if slices.Contains(hidden, folder) {
		return nil
	}
	if !slices.ContainsFunc(hidden, func(h string) bool { return realpath.Within(folder, h) }) {
		return []string{folder}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			out = append(out, around(filepath.Join(folder, e.Name()), hidden)...)
		}
	}
	return out
}

// confine reads a spec from descriptor 3, lays the floor on this thread and
// becomes the shell. It returns only if it could not.
func confine() error {
	runtime.LockOSThread()
	in := os.NewFile(3, "spec")
	var s spec
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return err
	}
	_ = in.Close()
	if err := unix.Chdir(s.Dir); err != nil {
		return fmt.Errorf("%s: %w", s.Dir, err)
	}
	setLimits()
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := restrict(s); err != nil {
		return err
	}
	if err := filterCalls(s.Network); err != nil {
		return err
	}
	err := syscall.Exec(s.Shell, []string{s.Shell, "-c", s.Line}, s.Env)
	return fmt.Errorf("%s: %w", s.Shell, err)
}

func setLimits() {
	for what, max := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 16 << 30, unix.RLIMIT_NPROC: 8192} {
		var now unix.Rlimit
		if unix.Getrlimit(what, &now) == nil && now.Max > max {
			_ = unix.Setrlimit(what, &unix.Rlimit{Cur: max, Max: max})
		}
	}
}

// dropCapabilities leaves a root user's command without root's powers.
func dropCapabilities() error {
	if os.Geteuid() == 0 {
		for c := uintptr(0); c <= 63; c++ {
			if unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) != nil {
				break // no such capability: that was all of them
			}
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// makes are the rights in a folder that holds what may not be read: all that
// writing needs. A file that is made there can be read by the next command.
const makes = llsyscall.AccessFSWriteFile | llsyscall.AccessFSTruncate | llsyscall.AccessFSReadDir | llsyscall.AccessFSRemoveDir | llsyscall.AccessFSRemoveFile |
	llsyscall.AccessFSMakeDir | llsyscall.AccessFSMakeReg | llsyscall.AccessFSMakeSym | llsyscall.AccessFSMakeFifo | llsyscall.AccessFSMakeSock | llsyscall.AccessFSRefer

// restrict allows the files of the spec and nothing else.
func restrict(s spec) error {
	rules := []landlock.Rule{landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom").IgnoreIfMissing()}
	var folders, files []string
	for _, p := range s.Read {
		info, err := os.Lstat(p)
		switch {
		case err != nil:
		case info.IsDir():
			folders = append(folders, p)
		case info.Mode().IsRegular():
			files = append(files, p)
		}
	}
	rules = append(rules, landlock.RODirs(folders...).IgnoreIfMissing(), landlock.ROFiles(files...).IgnoreIfMissing())
	folders, files = nil, nil
	for _, p := range s.Write {
		if info, err := os.Lstat(p); err == nil && info.IsDir() {
			folders = append(folders, p)
		} else if err == nil && info.Mode().IsRegular() {
			files = append(files, p)
		}
	}
	rules = append(rules, landlock.RWDirs(folders...).WithRefer().IgnoreIfMissing(), landlock.RWFiles(files...).IgnoreIfMissing())
	if len(s.Make) > 0 {
		rules = append(rules, landlock.PathAccess(makes, s.Make...).IgnoreIfMissing())
	}
	if err := landlock.V11.BestEffort().RestrictPaths(rules...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	// No signals to what is outside, no abstract sockets, where the kernel can.
	if err := landlock.V11.BestEffort().RestrictScoped(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	// Proof, not hope: a place that no rule names must be closed now.
	if f, err := os.OpenFile("/agent-ls-probe", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = f.Close()
		_ = os.Remove("/agent-ls-probe")
		return errors.New("landlock: not in force although the kernel accepted it")
	}
	return nil
}
