package run

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/command"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/sandbox"
	"agent-ls/loop/tool"
	"agent-ls/loop/tool/toolname"
)

// commandFloor runs command hooks where shell commands run, within the same
// permits.
type commandFloor struct {
	floor   *sandbox.Floor
	permits *sandbox.Permits
	svc     *Service
	run     atomic.Pointer[activeRun] // that is told what was undone
}

// Permit waits for one of the permits that all processes share.
func (f *commandFloor) Permit(ctx context.Context) (func(), error) { return f.permits.Take(ctx) }

// Run runs one command to its end. What it did to protected files is undone,
// and makes it a failure.
func (f *commandFloor) Run(ctx context.Context, c command.Call) command.Exit {
	p, err := f.floor.Command(ctx, c.Line, f.svc.opt.Root)
	if err != nil {
		return command.Exit{Code: -1, Err: err}
	}
	p.Stdin, p.Stdout, p.Stderr, p.Env = c.Stdin, c.Stdout, c.Stderr, c.Env
	exit := p.Run()
	out := command.Exit{Code: exit.Code, Stopped: exit.Stopped, Err: exit.Err}
	if len(exit.Protected) > 0 {
		did := f.svc.setAside(exit.Protected)
		f.svc.log.Warn("files that are always asked about changed while a command hook ran", "command", c.Line, "did", did)
		if r := f.run.Load(); r != nil {
			// The loop itself may be what waits for this hook.
			go r.note(loop.Note{Level: "warning", Text: fmt.Sprintf("while the command hook %q ran, protected files changed: %s", bounded(c.Line), did)})
		}
		out.Err = fmt.Errorf("files that only a person may change were changed while it ran: %s", did)
	}
	return out
}

// commandHooks are the run's command hooks: those that the user trusts as they
// are. The others wait for that, and the editor says so.
func (s *Service) commandHooks(p *pinned, floor *sandbox.Floor) (*command.Runner, *commandFloor) {
	var list []command.Hook
	for _, c := range p.Config.Commands {
		if !c.Trusted {
			continue
		}
		list = append(list, command.Hook{
			ID: c.ID, Event: c.Event, Command: c.Command, Matcher: c.Matcher, Env: c.Env, Required: c.Required,
			Trusted: func(ctx context.Context) error { return s.stillTrusted(ctx, c.Trust) },
		})
	}
	if len(list) == 0 {
		return nil, nil
	}
	on := &commandFloor{floor: floor, permits: s.permits, svc: s}
	return command.New(command.Options{Hooks: list, Log: s.log, Off: s.hookOff, Floor: on}), on
}

func (s *Service) stillTrusted(ctx context.Context, t manifest.Trust) error {
	state, err := s.trusted(ctx, t)
	switch {
	case err != nil:
		return fmt.Errorf("whether it is trusted is not known: %w", err)
	case !state.Allows():
		return fmt.Errorf("it is not trusted any more (%s): something that it runs changed", state)
	}
	return nil
}

// commandSession is what a session's runs in this process share about command
// hooks.
type commandSession struct {
	strikes *command.Strikes
	set     hookSet // of the newest run
	runners []*command.Runner
	fields  map[string]any
}

// joinSession makes a run's command hooks those of its session: failures
// count over all its runs, and the newest run's hooks see the session end.
func (s *Service) joinSession(r *activeRun) {
	if r.gear == nil || r.gear.set == nil {
		return
	}
	s.commandsMu.Lock()
	defer s.commandsMu.Unlock()
	if s.commandSessions == nil {
		s.commandSessions = map[string]*commandSession{}
	}
	c := s.commandSessions[r.session]
	if c == nil {
		c = &commandSession{strikes: &command.Strikes{}}
		s.commandSessions[r.session] = c
	}
	c.set = r.gear.set
	c.fields = map[string]any{"session_id": r.session, "run_id": r.id, "agent": r.pin.agent().Name}
	if r.gear.commands != nil {
		r.gear.commands.Share(c.strikes)
		if r.gear.commandsOn != nil {
			r.gear.commandsOn.run.Store(r)
		}
		c.runners = append(c.runners, r.gear.commands)
		if len(c.runners) > keptRunners {
			c.runners = c.runners[1:]
		}
	}
}

// keptRunners bounds how many runs of a session are waited for at the end;
// older ones have nothing on their way any more.
const keptRunners = 16

// drainWithin is how long notifications that are on their way are waited for
// when the process ends.
const drainWithin = 10 * time.Second

// Drain waits for notifications of command hooks that are on their way, for
// about 10 s at most: a program that ends right behind a run calls it first.
func (s *Service) Drain() {
	ctx, cancel := context.WithTimeout(context.Background(), drainWithin)
	defer cancel()
	for _, c := range s.allCommandSessions() {
		for _, r := range c.runners {
			r.Drain(ctx)
		}
	}
}

func (s *Service) allCommandSessions() []*commandSession {
	s.commandsMu.Lock()
	defer s.commandsMu.Unlock()
	var all []*commandSession
	for _, c := range s.commandSessions {
		all = append(all, c)
	}
	return all
}

// endSessions lets hooks see that this process is done with its sessions, and
// waits for them.
func (s *Service) endSessions() {
	ctx, cancel := context.WithTimeout(context.Background(), command.OuterTime)
	defer cancel()
	for _, c := range s.allCommandSessions() {
		if c.set.Has("", sessionShutdown) {
			out := c.set.Fire(ctx, hooks.Firing{Event: sessionShutdown, At: s.now(), Fields: c.fields})
			for _, d := range out.Decisions {
				if d.Error != nil {
					s.log.Warn("a hook of session_end failed", "hook", d.HookID, "error", d.Error.Message)
				}
			}
		}
		for _, r := range c.runners {
			r.Close()
		}
	}
}

const sessionShutdown = "session_end"

// toolNames are a tool's names in each spelling that command hooks know.
func toolNames(name string) []any {
	var names []any
	for _, n := range toolname.Spellings(name) {
		names = append(names, n)
	}
	return names
}

func (d *dispatched) commandFields() map[string]any {
	f := d.callFields()
	f["tool_names"] = toolNames(tool.Canonical(d.call.Tool))
	return f
}
