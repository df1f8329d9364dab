package loop

import (
	"fmt"
	"slices"
	"strings"
)

// useSkill takes a skill up or puts it down.
func (m *machine) useSkill(name string, up bool) {
	rest := slices.DeleteFunc(slices.Clone(m.ActiveSkills), func(n string) bool { return n == name })
	if up {
		rest = append(rest, name)
	}
	m.ActiveSkills = rest
}

// catalogue is what the system text says of skills: stable, in the order of
// their names.
func (s *State) catalogue() string {
	if len(s.Skills) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Skills: what is written down about how to do some tasks. When one fits, call the tool skill with its name first and do as it says.\n")
	for _, k := range s.Skills {
		fmt.Fprintf(&b, "- %s: %s\n", k.Name, s.Clean(k.Description))
	}
	return b.String()
}
