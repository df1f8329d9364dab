//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"agent-ls/loop/manifest"
)

// place is a home with secrets, a workspace with protected files, and state.
type place struct{ home, root, state, cache string }

func newPlace(t testing.TB) place {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{home: filepath.Join(top, "home"), state: filepath.Join(top, "home", ".local", "state", "agent-ls"), cache: filepath.Join(top, "home", ".cache", "agent-ls")}
	p.root = filepath.Join(p.home, "work")
	for name, text := range map[string]string{
		"home/.ssh/id": "ssh-secret", "home/.netrc": "netrc-secret", "home/.config/gh/hosts.yml": "gh-secret", "home/.bashrc": "plain",
		"home/.local/state/agent-ls/journal.db": "state-secret",
		"home/work/main.go":                     "package main\n", "home/work/.agent-ls/agent.toml": "guard", "home/work/.git/hooks/pre-commit": "hook",
		"home/work/.git/config": "config", "home/work/AGENTS.md": "instructions", "home/work/sub/CLAUDE.md": "more", "home/work/.vscode/tasks.json": "{}",
	} {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p place) floor(t testing.TB, kind Kind, config manifest.Sandbox) *Floor {
	t.Helper()
	f := detect(config, Dirs{Root: p.root, State: p.state, Cache: p.cache, Home: p.home}, kind)
	if !f.InForce() {
		t.Fatalf("%s is not in force here: %s", kind, f.Describe())
	}
	return f
}

// run runs a line and returns what it printed.
func run(t testing.TB, f *Floor, line string) (string, Exit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second)
	defer cancel()
	p, err := f.Command(ctx, line, f.dirs.Root)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p.Stdout, p.Stderr = &out, &out
	exit := p.Run()
	if exit.Err != nil || exit.Stopped {
		t.Fatalf("%q: %+v\n%s", line, exit, out.String())
	}
	return out.String(), exit
}

func onEach(t *testing.T, test func(t *testing.T, kind Kind)) {
	for _, kind := range []Kind{Bubblewrap, Landlock} {
		t.Run(string(kind), func(t *testing.T) { test(t, kind) })
	}
}

func TestCommandsWork(t *testing.T) {
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		t.Setenv("HOME", p.home)
		f := p.floor(t, kind, manifest.Sandbox{})
		for _, c := range []struct {
			line, want string
			code       int
		}{
			{"echo hi", "hi\n", 0},
			{"pwd", p.root + "\n", 0},
			{"exit 3", "", 3},
			{"kill -9 $$", "", 137},
			{"cat main.go", "package main\n", 0},
			{"echo x > new && cat new && rm new", "x\n", 0},
			{"mkdir -p a/b && echo x > a/b/c && mv a/b/c sub/c && cat sub/c", "x\n", 0},
			{"echo x > $TMPDIR/t && cat $TMPDIR/t", "x\n", 0},
			{"echo $HOME", p.home + "\n", 0},
			{"cat ~/.bashrc", "plain", 0},
			{"cat AGENTS.md", "instructions", 0},
			{"cat", "", 0},
			{"echo x > /dev/null; head -c 4 /dev/urandom | wc -c | tr -d ' '", "4\n", 0},
			{"[[ a == a ]] && echo bash", "bash\n", 0},
			{"ulimit -c", "0\n", 0},
			{"tty || true", "not a tty\n", 0},
			{"test -n \"$GOCACHE\" && mkdir -p $GOCACHE && echo x > $GOCACHE/x && echo ok", "ok\n", 0},
		} {
			if got, exit := run(t, f, c.line); got != c.want || exit.Code != c.code || len(exit.Protected) > 0 {
				t.Errorf("%q printed %q with status %d %v, want %q with %d", c.line, got, exit.Code, exit.Protected, c.want, c.code)
			}
		}
	})
}

func TestGoTestWithoutNetwork(t *testing.T) {
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(p.root, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("go.mod", "module calc\n\ngo 1.24\n")
		write("main.go", "package calc\n\nfunc Add(a, b int) int { return a + b }\n")
		write("main_test.go", "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n")
		// The machine's own build cache saves compiling the standard library.
		cache, err := exec.Command("go", "env", "GOCACHE").Output()
		if err != nil {
			t.Fatal(err)
		}
		compiled := strings.TrimSpace(string(cache))
		f := p.floor(t, kind, manifest.Sandbox{Writable: []string{".", compiled}})
		if out, exit := run(t, f, "GOCACHE="+compiled+" go test ./..."); exit.Code != 0 || !strings.Contains(out, "ok") {
			t.Errorf("go test: status %d\n%s", exit.Code, out)
		}
	})
}

func TestEscapes(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	socket := filepath.Join(t.TempDir(), "s")
	local, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	_, tcp, _ := net.SplitHostPort(listener.Addr().String())
	_, udp, _ := net.SplitHostPort(packets.LocalAddr().String())
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		for k, v := range map[string]string{"HOME": p.home, "SOME_API_KEY": "env-secret", "GITHUB_TOKEN": "env-secret", "MY_SECRET": "env-secret", "AWS_SECRET_ACCESS_KEY": "env-secret", "SSH_AUTH_SOCK": "/env-secret", "CUSTOM_KEY_NAME": "env-secret"} {
			t.Setenv(k, v)
		}
		f := p.floor(t, kind, manifest.Sandbox{}).Without("CUSTOM_KEY_NAME")
		for _, line := range []string{
			"cat ~/.ssh/id", "cat ~/.netrc", "cat ~/.config/gh/hosts.yml", "cat ~/.local/state/agent-ls/journal.db", "grep -r secret ~/.ssh ~/.local ~/.config",
			"cd ~/.ssh && cat id", "ln -s ~/.ssh l && cat l/id", "cat /proc/$PPID/environ /proc/1/environ | tr '\\0' '\\n'", "env", "cat /proc/self/environ",
			"cat /proc/" + strconv.Itoa(os.Getpid()) + "/environ", "cat /proc/1/root" + p.home + "/.ssh/id",
			"echo env-se''cret > /dev/tcp/127.0.0.1/" + tcp + " && echo out-secret", "echo x > /dev/udp/127.0.0.1/" + udp + " && echo out-secret-udp",
			"python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(\"" + socket + "\"); print(\"out\"+\"-secret\")'",
			"kill -0 " + strconv.Itoa(os.Getpid()) + " && echo out-secr''et",
			"touch ~/out && echo out-secr''et", "touch /usr/out && echo out-secr''et", "echo x >> ~/.bashrc && echo out-secr''et", "rm ~/.bashrc && echo out-secr''et",
			"mount -t tmpfs none /mnt && echo out-secr''et", "mount -o remount,rw / && echo out-secr''et", "umount .agent-ls && echo out-secr''et",
			"chroot / true && echo out-secr''et", "mknod d b 1 1 && echo out-secr''et",
		} {
			out, _ := run(t, f, line)
			if strings.Contains(out, "secret") && !strings.Contains(out, "out-secret-udp") {
				t.Errorf("%q got out:\n%s", line, out)
			}
		}
		_ = packets.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, _, err := packets.ReadFrom(make([]byte, 16)); err == nil {
			t.Errorf("a packet of %d bytes came out", n)
		}
		_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(50 * time.Millisecond))
		if c, err := listener.Accept(); err == nil {
			c.Close()
			t.Error("a connection came out")
		}
		if _, err := os.Stat(filepath.Join(p.home, "out")); err == nil {
			t.Error("a file was written outside the workspace")
		}
	})
}

func TestProtectedFiles(t *testing.T) {
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		f := p.floor(t, kind, manifest.Sandbox{})
		before := Snapshot(p.root)
		for _, line := range []string{
			"echo evil > .agent-ls/agent.toml", "echo evil > .agent-ls/new", "rm -rf .agent-ls", "mv .agent-ls x && mkdir .agent-ls && echo evil > .agent-ls/agent.toml",
			"echo evil > .git/hooks/pre-commit", "echo evil > .git/hooks/post-merge", "mv .git g && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit", "echo evil > .git/config",
			"chmod +x .git/hooks/pre-commit", "echo evil > .envrc", "echo evil > AGENTS.md", "rm AGENTS.md", "ln -sf /etc/passwd AGENTS.md", "echo evil > sub/CLAUDE.md",
			"mv sub s2 && mkdir sub && echo evil > sub/CLAUDE.md", "mkdir -p deep/er && echo evil > deep/er/AGENTS.md", "echo evil > .vscode/tasks.json", "echo evil > .vscode/new.json",
			// A link that leads elsewhere when it is used than when it was looked at.
			"ln -sfn sub l; (for i in 1 2 3 4 5 6 7 8 9; do ln -sfn .git/hooks l; ln -sfn sub l; done) & for i in 1 2 3 4 5 6 7 8 9; do echo evil > l/pre-commit; done; wait; ln -sfn .git/hooks l; echo evil > l/post-merge; rm -f l sub/pre-commit",
		} {
			_, exit := run(t, f, line)
			if left := exit.Protected.PutBack(); len(left) > 0 {
				t.Errorf("%q: not put back: %v", line, left)
			}
			if c := before.Compare(Snapshot(p.root)); len(c) > 0 {
				t.Fatalf("%q changed %v for good", line, c)
			}
			for _, moved := range []string{"x", "g", "s2"} {
				_ = os.RemoveAll(filepath.Join(p.root, moved))
			}
		}
	})
}

// alive counts processes whose environment carries a mark.
func alive(mark string) int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(mark)) {
			n++
		}
	}
	return n
}

func gone(t *testing.T, mark string, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for alive(mark) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d processes of %s are left after %s", alive(mark), mark, within)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestNothingIsLeft(t *testing.T) {
	for i, line := range []string{
		"sleep MARK",
		"sleep MARK & sleep MARK & wait",
		"setsid sleep MARK & sleep MARK",
		"(setsid sh -c 'sleep MARK; true' >/dev/null 2>&1 &) ; sleep MARK",
		"trap '' TERM INT HUP; sleep MARK; sleep MARK",
		"for i in 1 2 3 4 5; do (trap '' TERM; nohup setsid sh -c 'trap \"\" TERM; while :; do sleep MARK; done' >/dev/null 2>&1 &) ; done; sleep MARK",
		"yes MARK",
	} {
		onEach(t, func(t *testing.T, kind Kind) {
			p := newPlace(t)
			f := p.floor(t, kind, manifest.Sandbox{})
			mark := fmt.Sprintf("9%d%d%d", os.Getpid(), i, time.Now().UnixNano()%100000)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c, err := f.Command(ctx, strings.ReplaceAll(line, "MARK", mark), p.root)
			if err != nil {
				t.Fatal(err)
			}
			c.Stdout, c.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
			deadline := time.Now().Add(10 * time.Second)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			for alive("sleep\x00"+mark)+alive("yes\x00"+mark) == 0 {
				if alive(mark) == 0 && time.Now().After(deadline) {
					t.Fatal("it did not start")
				}
				time.Sleep(time.Millisecond)
			}
			start := time.Now()
			cancel()
			exit := c.Wait()
			gone(t, mark, 2*time.Second)
			took := time.Since(start)
			t.Logf("%q was gone after %s", line, took)
			// Half a second is the aim; two are the limit, on a busy machine.
			if took > 2*time.Second || !exit.Stopped {
				t.Errorf("%q: the cancel took %s, %+v", line, took, exit)
			}
		})
	}
}

func TestDaemonEndsWithTheCommand(t *testing.T) {
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		f := p.floor(t, kind, manifest.Sandbox{})
		mark := fmt.Sprintf("8%d%d", os.Getpid(), time.Now().UnixNano()%100000)
		start := time.Now()
		out, exit := run(t, f, "(setsid sleep "+mark+" &) ; sleep "+mark+" & echo done")
		if took := time.Since(start); took > 20*time.Second || exit.Code != 0 || out != "done\n" {
			t.Errorf("took %s, status %d, printed %q", took, exit.Code, out)
		}
		gone(t, mark, 2*time.Second)
	})
}

func TestNetworkWhereItIsAllowed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	onEach(t, func(t *testing.T, kind Kind) {
		p := newPlace(t)
		f := p.floor(t, kind, manifest.Sandbox{Network: true})
		out, exit := run(t, f, "exec 3<>/dev/tcp/127.0.0.1/"+port+" && echo in")
		if exit.Code != 0 || out != "in\n" {
			t.Errorf("status %d, printed %q", exit.Code, out)
		}
	})
}

func TestNoFloorSaysSo(t *testing.T) {
	p := newPlace(t)
	f := detect(manifest.Sandbox{Off: true}, Dirs{Root: p.root})
	if f.InForce() || !strings.Contains(f.Describe(), "every command asks") {
		t.Errorf("Describe() = %q, in force %v", f.Describe(), f.InForce())
	}
	if out, _ := run(t, f, "ulimit -c"); out != "0\n" {
		t.Errorf("a command without a floor may write core files: %q", out)
	}
	out, exit := run(t, f, "echo hi; exit 4")
	if out != "hi\n" || exit.Code != 4 {
		t.Errorf("printed %q, status %d", out, exit.Code)
	}
	mark := fmt.Sprintf("7%d%d", os.Getpid(), time.Now().UnixNano()%100000)
	start := time.Now()
	run(t, f, "sleep "+mark+" & echo done")
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("a background job that holds the output kept the command for %s", took)
	}
	gone(t, mark, 2*time.Second)
}

func TestReportNamesWhatIsMissing(t *testing.T) {
	p := newPlace(t)
	for _, l := range p.floor(t, Bubblewrap, manifest.Sandbox{}).Report() {
		if l.Name == "" || l.Text == "" {
			t.Errorf("an empty line: %+v", l)
		}
	}
	f := detect(manifest.Sandbox{}, Dirs{Root: p.root}, Kind("imaginary"))
	if f.InForce() || !strings.Contains(f.Describe(), "imaginary") {
		t.Errorf("Describe() = %q", f.Describe())
	}
}
