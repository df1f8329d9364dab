package run

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// findTools is the tool with which a model looks up tools of MCP servers: when
// there are too many to describe each with every request, and while servers
// are still starting.
const findTools = "find_tools"

//go:embed find_tools.md
var findToolsText string

const (
	foundAtOnce = 10               // tools that one look-up describes whole
	listedMost  = 400              // tools that one look-up names
	startsMost  = 30 * time.Second // that a look-up waits for servers
)

func (v *runServers) finderSpec() loop.ToolSpec {
	names := make([]string, len(v.all))
	for i, s := range v.all {
		names[i] = s.config.Name
	}
	return loop.ToolSpec{
		Name: findTools, Description: strings.TrimSpace(findToolsText) + " The servers: " + strings.Join(names, ", ") + ".",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","description":"words to look for in names and descriptions"},` +
			`"names":{"type":"array","items":{"type":"string"},"description":"whole names, mcp__SERVER__TOOL"}},"additionalProperties":false}`),
	}
}

type toolFinder struct{ servers *runServers }

func (f *toolFinder) Spec() loop.ToolSpec { return f.servers.finderSpec() }

func (f *toolFinder) Prepare(context.Context, json.RawMessage) (loop.Plan, error) {
	return loop.Plan{Effect: loop.Read, Title: "look up tools", ConcurrencySafe: true}, nil
}

func (f *toolFinder) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	var args struct {
		Query string   `json:"query"`
		Names []string `json:"names"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return *refusal(loop.CallError, err.Error())
	}
	v := f.servers
	limit := time.NewTimer(startsMost)
	defer limit.Stop()
	select {
	case <-v.settled:
	case <-limit.C:
	case <-ctx.Done():
		return loop.ToolResult{Text: "cancelled", IsError: true, Outcome: loop.CallCancelled}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	allowed := func(t loop.OfferedTool) bool {
		return slices.ContainsFunc(v.run.pin.agent().Stages, func(st manifest.Stage) bool { return v.run.pin.allowed(st.Name, t.Name) })
	}
	var all []loop.OfferedTool
	var text strings.Builder
	for _, s := range v.all {
		switch {
		case !s.known:
			fmt.Fprintf(&text, "The server %s is still starting.\n", s.config.Name)
		case s.err != nil:
			fmt.Fprintf(&text, "The server %s cannot be used: %s\n", s.config.Name, bounded(s.err.Error()))
		}
		for _, t := range s.tools {
			if allowed(t) {
				all = append(all, t)
			}
		}
	}
	found := all
	if args.Query != "" || len(args.Names) > 0 {
		found = matching(all, args.Query, args.Names)
	}
	if len(found) == 0 {
		fmt.Fprintf(&text, "No tool fits. There are %d tools; call %s without arguments for their names.\n", len(all), findTools)
	}
	for i, t := range found {
		if i >= listedMost {
			fmt.Fprintf(&text, "… and %d more\n", len(found)-i)
			break
		}
		if args.Query == "" && len(args.Names) == 0 && len(found) > foundAtOnce || i >= foundAtOnce {
			fmt.Fprintf(&text, "%s: %s\n", t.Name, firstLine(t.Description))
			continue
		}
		v.disclosed[t.Name] = true
		fmt.Fprintf(&text, "%s: %s\nIt takes: %s\n\n", t.Name, t.Description, t.Schema)
	}
	return loop.ToolResult{Text: strings.TrimSpace(text.String()), Outcome: loop.CallOK}
}

// matching are the tools that are named, then those that have all words of the
// query, then those that have some, best first.
func matching(all []loop.OfferedTool, query string, names []string) []loop.OfferedTool {
	words := strings.Fields(strings.ToLower(query))
	score := func(t loop.OfferedTool) int {
		if slices.Contains(names, t.Name) {
			return 1000
		}
		n := 0
		name, description := strings.ToLower(t.Name), strings.ToLower(t.Description)
		for _, w := range words {
			switch {
			case strings.Contains(name, w):
				n += 3
			case strings.Contains(description, w):
				n++
			}
		}
		return n
	}
	found := slices.DeleteFunc(slices.Clone(all), func(t loop.OfferedTool) bool { return score(t) == 0 })
	slices.SortStableFunc(found, func(a, b loop.OfferedTool) int { return score(b) - score(a) })
	return found
}
