package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/policy"
)

// question is what policy is asked about a call. It shares nothing with the
// call that changes, so that others may judge it while the call goes on.
type question struct {
	run     *activeRun
	request policy.Request // without grants
}

func (d *dispatched) question() question {
	return question{d.run, policy.Request{
		Tool: d.tool.Spec().Name, Arguments: d.args, Plan: d.plan, Mode: d.state.Course.Mode,
		Taint: d.state.Taint, Unheard: d.unheard, SandboxInForce: d.run.gear.inForce,
	}}
}

// judge is what policy says with these grants.
func (q *question) judge(grants []policy.Grant) loop.Judgement {
	req := q.request
	req.Grants = grants
	if req.Plan.Effect == loop.Execute {
		if req.Unwatched = q.run.gear.floor.Incomplete(); req.Unwatched == "" { // looks through the workspace once
			req.Unwatched = q.run.unwatchedTask(req.Plan.Command)
		}
		req.Exposed = q.run.gear.floor.Exposed()
	}
	return q.run.gear.judge(req)
}

// because joins what the layers that came to this verdict said.
func because(j loop.Judgement, v loop.Verdict) string {
	why := reasons(j, v)
	if len(why) == 0 {
		return "a rule says so"
	}
	return strings.Join(why, "; ")
}

func reasons(j loop.Judgement, v loop.Verdict) []string {
	var why []string
	for _, s := range j.Steps {
		if s.Outcome != v || !s.Fired {
			continue
		}
		switch {
		case s.Source != "" && s.Because != "" && !strings.Contains(s.Because, s.Source):
			why = append(why, s.Source+": "+s.Because)
		case s.Because != "":
			why = append(why, s.Because)
		default:
			why = append(why, s.Source)
		}
	}
	return why
}

// digest is of exactly what an approval shows: the tool, its arguments, the
// paths that they lead to, the command and, for edits, the bytes before and
// after.
func (d *dispatched) digest() string {
	h := sha256.New()
	put := func(b []byte) {
		fmt.Fprintf(h, "%d:", len(b))
		h.Write(b)
	}
	args := d.args
	if v, err := contract.ReadPlain(args); err == nil {
		if canonical, err := contract.WritePlain(v); err == nil {
			args = canonical
		}
	}
	put([]byte(d.tool.Spec().Name))
	put(args)
	for _, p := range d.plan.Paths {
		put([]byte(p.Path))
		fmt.Fprintf(h, "path %t;", p.Write)
	}
	if c := d.plan.Command; c != nil {
		put([]byte(c.Line))
		put([]byte(c.Dir))
		fmt.Fprintf(h, "command %t;", c.Background)
	}
	for _, e := range d.plan.Edits {
		put([]byte(e.Path))
		fmt.Fprintf(h, "%t", e.Before == nil)
		put(e.Before)
		put(e.After)
	}
	return hex.EncodeToString(h.Sum(nil))
}
