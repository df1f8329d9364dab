package run

import (
	"path/filepath"

	"agent-ls/loop"
)

// labelOf is the highest label of files that go into a run's context before
// any tool is called: those that it is started with, and those that its
// stages' regions begin with.
func (g *gear) labelOf(p *pinned, files ...string) loop.Label {
	if g.rules == nil {
		return loop.NoLabel
	}
	a := p.agent()
	for i := range a.Stages {
		for _, r := range a.Stages[i].Regions {
			if r.SeedPath != "" {
				files = append(files, r.SeedPath)
			}
		}
	}
	label := loop.NoLabel
	for _, f := range files {
		label = label.With(g.rules.LabelOf(real(f)))
	}
	return label
}

// real follows the links of a path that exists.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return filepath.Clean(path)
}

// reads notes the label of what a call is about to read, as far as its plan
// tells. It is called before the call runs: afterwards a file may be gone.
func (d *dispatched) reads() {
	rules := d.run.gear.rules
	if rules == nil {
		return
	}
	label := loop.NoLabel
	if c := d.plan.Command; c != nil {
		label = rules.CommandLabel(c.Line, c.Dir)
	}
	if t, ok := d.tool.(*serverTool); ok && t.server.config.URL == "" {
		label = label.With(rules.AnyCommandLabel()) // nobody knows what its program reads
	}
	for _, p := range d.plan.Paths {
		label = label.With(rules.LabelOf(p.Path))
	}
	d.carries(label)
}

// read is told by the tool of a file of which its result shows content.
func (d *dispatched) read(path string) {
	rules := d.run.gear.rules
	d.carries(rules.LabelOf(path).With(rules.LabelOf(real(path))))
}

// carries notes that the call's result carries a label.
func (d *dispatched) carries(label loop.Label) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.label = d.label.With(label)
}
