// Command agent-ls is a language server that embeds a coding agent, and the
// same agent on the command line. main only sorts out which process this is:
// a script worker, a sandboxed command, or the program itself. Start at
// newRootCommand.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"agent-ls/hooks/worker"
	"agent-ls/loop/sandbox"
)

// version is set by the linker.
var version = "dev"

func main() {
	sandbox.Main() // does not return in a process that is part of the floor
	if len(os.Args) > 1 && os.Args[1] == worker.Subcommand {
		worker.Main()
		return
	}
	os.Exit(mainStatus(os.Args[1:]))
}

// mainStatus runs one command and says how it ended.
func mainStatus(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	root := newRootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var status *statusError
	if errors.As(err, &status) {
		if status.message != "" {
			fmt.Fprintln(os.Stderr, "agent-ls: "+status.message)
		}
		return status.code
	}
	fmt.Fprintf(os.Stderr, "agent-ls: %v\nSee 'agent-ls --help'.\n", err)
	return statusUsage
}

// The exit statuses, the same for every command.
const (
	statusFailed      = 1   // a broken hook or manifest, the model, a limit
	statusUsage       = 2   // wrong flags or arguments; check: it could not look
	statusDecided     = 3   // a hook's or the policy's decision ended the run
	statusInterrupted = 130 // the user stopped it
)

// statusError ends the program with a status. An empty message means that
// everything has been said already.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return e.message }

func failed(format string, args ...any) error {
	return &statusError{statusFailed, fmt.Sprintf(format, args...)}
}
